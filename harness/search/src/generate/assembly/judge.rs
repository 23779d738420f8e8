//! Compares what sections, a run and an exploration say of a generated program with what is true.

use std::collections::{BTreeMap, BTreeSet};

use object::{Object as _, ObjectSection as _};
use sframe_elf::cfi::{CallFrameInfo, CfiSection, Rules};
use sframe_elf::object_file::ObjectFile;
use sframe_engine::{InstructionPointer, Version};
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::explore::{Certainty, ExploreOptions, Roots, explore};
use sframe_judge::finding::Finding;
use sframe_judge::target::{Linked, Loaded, Target, TargetError};
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::{End, Options};

use super::difference::{self, Said, SiteSaid};
use super::directive::Directive;
use super::model::Model;
use super::state::{Claim, Kind, Source, Wrong};
use super::writer::{Program, SITES, parts};
use crate::generate::outcome::is_of_value;

/// Something that is wrong in a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which section.
    pub source: Source,
    /// The function, by its number.
    pub function: u32,
    /// The instruction, by its position in the program.
    pub site: usize,
    /// What is wrong there.
    pub wrong: Wrong,
    /// What the section says.
    pub says: String,
    /// At how many instructions it is wrong in this way.
    pub places: u32,
}

/// What is known of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// What is wrong in sections: the first instruction of each function and kind.
    pub faults: Vec<Fault>,
    /// The functions that `.sframe` leaves out.
    pub left_out: BTreeSet<u32>,
    /// The functions whose CFI is wrong on purpose, of which a run has found that.
    pub noticed: BTreeSet<u32>,
    /// Where the bench contradicts itself.
    pub contradictions: Vec<String>,
    /// Instructions that were compared.
    pub compared: u64,
    /// The version of `.sframe`.
    pub version: Option<Version>,
    /// What sections say of functions, by instruction.
    pub said: BTreeMap<(Source, u32), Vec<(usize, Claim)>>,
}

/// Judges a program of which the bytes are given.
///
/// # Errors
/// What can't be judged, in a sentence: it is the bench's fault.
pub fn judge(program: &Program, bytes: &[u8]) -> Result<Judged, String> {
    judge_by(program, bytes, &ExamineOptions::default())
}

/// Judges a program by a run that is examined in some way.
#[doc(hidden)]
pub fn judge_by(program: &Program, bytes: &[u8], look: &ExamineOptions) -> Result<Judged, String> {
    let addresses = addresses(bytes)?;
    if addresses.len() != program.sites.len() {
        return Err(format!("{} addresses of {} instructions", addresses.len(), program.sites.len()));
    }
    let mut judge = Judge { program, judged: Judged::default(), rows: BTreeMap::new(), sites: Vec::new() };
    let target = match Target::open(bytes) {
        Ok(target) => target,
        // What the bench can't use is the toolchain's fault: each program has code to describe.
        Err(error @ (TargetError::NoSection(_) | TargetError::Section(_))) => {
            judge.without_section(&error.to_string());
            let file = ObjectFile::parse(bytes).map_err(|error| error.to_string())?;
            let cfi = file.call_frame_info();
            let cfi = readable(cfi.as_ref())?;
            for (site, address) in addresses.iter().enumerate() {
                judge.cfi(cfi, site, *address, &mut SiteSaid::at(*address))?;
            }
            return Ok(judge.judged);
        }
        Err(error) => return Err(format!("the program can't be opened: {error}")),
    };
    let cfi = readable(target.executable().cfi())?;
    for (site, address) in addresses.iter().enumerate() {
        let mut said = SiteSaid::at(*address);
        judge.sframe(&target, site, &mut said)?;
        judge.cfi(cfi, site, *address, &mut said)?;
        judge.sites.push(said);
    }
    judge.left_out(&target);
    judge.run(&target, look)?;
    judge.explore(&target)?;
    judge.judged.contradictions.extend(difference::contradictions(bytes, &judge.sites));
    Ok(judge.judged)
}

/// Call frame information, if all of it can be read.
fn readable(cfi: Option<&CallFrameInfo>) -> Result<Option<&CallFrameInfo>, String> {
    match cfi.map_or(&[][..], CallFrameInfo::errors).first() {
        Some(error) => Err(error.to_string()),
        None => Ok(cfi),
    }
}

/// The addresses of the instructions.
fn addresses(bytes: &[u8]) -> Result<Vec<u64>, String> {
    let file = object::File::parse(bytes).map_err(|error| format!("the program is no ELF file: {error}"))?;
    let section = file.section_by_name(SITES).ok_or_else(|| format!("the program has no {SITES}"))?;
    let data = section.uncompressed_data().map_err(|error| format!("{SITES} can't be read: {error}"))?;
    let words = data.as_chunks::<8>().0.iter();
    let is_little = file.is_little_endian();
    Ok(words
        .map(|word| if is_little { u64::from_le_bytes(*word) } else { u64::from_be_bytes(*word) })
        .collect())
}

/// A row: its function, and where it begins.
type RowKey = (String, u64);

/// How a row fares by construction.
#[derive(Clone, Copy, Debug, Default)]
struct OfRow {
    right: u32,
    wrong: u32,
    /// Instructions of which a run can't say what is right.
    unjudged: u32,
}

impl OfRow {
    const fn is_right(self) -> bool {
        self.wrong == 0 && self.unjudged == 0
    }

    const fn is_wrong(self) -> bool {
        self.right == 0 && self.unjudged == 0
    }
}

/// What a section says at an address.
fn row_of(
    cfi: Option<&CallFrameInfo>,
    section: CfiSection,
    address: u64,
) -> Result<Option<(Rules, Claim)>, String> {
    let Some(cfi) = cfi else { return Ok(None) };
    let fde = cfi.fdes().iter().find(|fde| fde.section == section && fde.range.contains(&address));
    let Some(fde) = fde else { return Ok(None) };
    let rows = cfi.executed_rows(fde).map_err(|error| format!("{section} can't be read: {error}"))?;
    let row = rows.iter().find(|row| row.range.contains(&address));
    Ok(row.map(|row| {
        let rules = cfi.rules(row, address);
        let claim = Claim { signal: fde.says_signal(), key_b: fde.says_key_b(), ..Claim::from(&rules) };
        (rules, claim)
    }))
}

struct Judge<'p> {
    program: &'p Program,
    judged: Judged,
    rows: BTreeMap<RowKey, OfRow>,
    sites: Vec<SiteSaid>,
}

impl Judge<'_> {
    /// What `.sframe` says of an instruction.
    fn sframe(&mut self, target: &Target<'_>, index: usize, said: &mut SiteSaid) -> Result<(), String> {
        let site = &self.program.sites[index];
        let loaded = target.executable().loaded(Linked(said.address));
        self.judged.compared += 1;
        let section = target.sections.lookup_fde(InstructionPointer(loaded.0));
        let Some(fde) = section.map_err(|error| format!(".sframe can't be read: {error}"))? else {
            self.judged.left_out.insert(site.function);
            return Ok(());
        };
        said.has_fde = true;
        let found = target.sections.lookup(InstructionPointer(loaded.0));
        let Some(found) = found.map_err(|error| format!(".sframe can't be read: {error}"))? else {
            self.add(Source::Sframe, index, Wrong::Row, "no row");
            return Ok(());
        };
        let claim = Claim::of(&found.row, &fde);
        let wrong = site.state.judge(&claim);
        self.say(Source::Sframe, index, claim);
        said.sframe = Some(Said { claim, wrong: wrong.clone() });
        let function = target.place(Loaded(fde.start)).function.unwrap_or_default().to_owned();
        let of_row = self.rows.entry((function, u64::from(found.row.start))).or_default();
        let Kind { outermost, signal, .. } = site.state.kind();
        if outermost || signal || wrong == [Wrong::Key] {
            // Its caller has called it, whatever it says; and keys do not matter to a run.
            of_row.unjudged += 1;
        } else if wrong.is_empty() {
            of_row.right += 1;
        } else {
            of_row.wrong += 1;
        }
        for wrong in wrong {
            self.add(Source::Sframe, index, wrong, &found.row.to_string());
        }
        Ok(())
    }

    /// What the call frame information says of an instruction.
    fn cfi(
        &mut self,
        cfi: Option<&CallFrameInfo>,
        index: usize,
        address: u64,
        said: &mut SiteSaid,
    ) -> Result<(), String> {
        let site = &self.program.sites[index];
        let sections = self.program.sections;
        for (source, section, is_asked) in [
            (Source::Cfi, CfiSection::EhFrame, sections.eh_frame),
            (Source::DebugFrame, CfiSection::DebugFrame, sections.debug_frame),
        ] {
            match row_of(cfi, section, address)? {
                // What is not asked for may be there, and is right then.
                None if is_asked => self.add(source, index, Wrong::Row, "no row"),
                None => {}
                Some((rules, claim)) => {
                    self.say(source, index, claim);
                    let wrong = site.state.judge(&claim);
                    for wrong in &wrong {
                        self.add(source, index, *wrong, &rules.to_string());
                    }
                    said.cfi.get_or_insert(Said { claim, wrong });
                }
            }
        }
        Ok(())
    }

    /// Without a section, all functions are left out.
    fn without_section(&mut self, why: &str) {
        let functions: Vec<u32> = self.program.sites.iter().map(|site| site.function).collect();
        self.judged.left_out.extend(functions);
        self.add(Source::Sframe, 0, Wrong::Section, why);
    }

    /// Parts of functions that `.sframe` leaves out, wholly or up to some instruction, though it can express
    /// what they declare.
    fn left_out(&mut self, target: &Target<'_>) {
        self.judged.version = Version::from_number(target.sframe_version());
        let Some(version) = self.judged.version else { return };
        for part in parts(self.program) {
            let lacking = part.clone().find(|site| !self.sites[*site].has_fde);
            let Some(lacking) = lacking else { continue };
            if part.clone().any(|site| self.sites[site].has_fde) {
                self.add(Source::Sframe, lacking, Wrong::Row, "the function does not reach it");
                continue;
            }
            let is_expressible =
                !Model::new(self.program.abi, &[]).may_be_left_out(self.program, &part, version);
            if is_expressible {
                self.add(Source::Sframe, part.start, Wrong::LeftOut, "no function");
            }
            // Which of them assemblers read byte by byte is nobody's rule.
            let declared = self.program.sites[part.clone()].iter().flat_map(|site| &site.declared);
            let is_known = !declared.into_iter().any(Directive::is_escape);
            // What the CFI says of it otherwise than it should, diff can't know.
            let is_right = |said: &SiteSaid| said.cfi.as_ref().is_some_and(|cfi| cfi.wrong.is_empty());
            let is_known = is_known && self.sites[part.clone()].iter().all(is_right);
            for site in &mut self.sites[part] {
                site.is_expressible = Some(is_expressible).filter(|_| is_known);
            }
        }
    }

    fn say(&mut self, source: Source, index: usize, claim: Claim) {
        let function = self.program.sites[index].function;
        self.judged.said.entry((source, function)).or_default().push((index, claim));
    }

    fn add(&mut self, source: Source, index: usize, wrong: Wrong, says: &str) {
        let Some(site) = self.program.sites.get(index) else { return };
        let function = site.function;
        if self.program.misdeclared.contains(&function) && wrong.is_of_value() {
            return;
        }
        let known = self.judged.faults.iter_mut().find(|fault| {
            (fault.source, fault.function, fault.wrong) == (source, function, wrong) && fault.says == says
        });
        match known {
            Some(fault) => fault.places += 1,
            None => self.judged.faults.push(Fault {
                source,
                function,
                site: index,
                wrong,
                says: says.to_owned(),
                places: 1,
            }),
        }
    }

    /// What a run finds is wrong by construction, and the other way round for rows that it exercises.
    fn run(&mut self, target: &Target<'_>, look: &ExamineOptions) -> Result<(), String> {
        let mut unwinder = sframe_unwinder(target);
        let examination = examine(target, &mut *unwinder, look, &Options::default())
            .map_err(|error| format!("the program can't be run: {error}"))?;
        if !matches!(examination.end, End::SelfJump(_)) {
            return Err(format!(
                "the program ends otherwise than by its jump to itself: {:?}",
                examination.end
            ));
        }
        let mut found = BTreeSet::new();
        for finding in &examination.findings {
            let (Some(function), Some(row)) = (&finding.function, &finding.row) else { continue };
            let key = (function.clone(), row.start.0);
            if self.rows.get(&key).is_some_and(|row| row.is_right()) && is_of_value(finding.verdict) {
                self.judged.contradictions.push(format!("a run refutes a right row: {}", finding.message));
            }
            found.insert(key);
        }
        // Each function returns to its caller: nothing excuses what its rows say.
        let aside = examination.excluded.iter().map(|excluded| format!("a run has {}", excluded.line()));
        self.judged.contradictions.extend(aside);
        self.notice(&examination.findings);
        let unexercised = examination.coverage.unexercised.iter();
        let idle: BTreeSet<RowKey> = unexercised.map(|row| (row.function.clone(), row.row.start.0)).collect();
        for (key, row) in &self.rows {
            if row.is_wrong() && !idle.contains(key) && !found.contains(key) {
                let message = format!("a run finds nothing in a wrong row: {} +{:#x}", key.0, key.1);
                self.judged.contradictions.push(message);
            }
        }
        Ok(())
    }

    /// Which functions that are wrong on purpose a run has found, and which it should have.
    fn notice(&mut self, findings: &[Finding]) {
        let (program, sites) = (self.program, &self.sites);
        let found: BTreeSet<u64> = findings.iter().filter_map(|finding| Some(finding.pc?.0)).collect();
        let functions = |is_meant: &dyn Fn(&SiteSaid) -> bool| -> BTreeSet<u32> {
            let meant = program.sites.iter().zip(sites).filter(|(_, said)| is_meant(said));
            let functions = meant.map(|(site, _)| site.function);
            functions.filter(|function| program.misdeclared.contains(function)).collect()
        };
        let is_wrong = |said: &SiteSaid| {
            said.sframe.as_ref().is_some_and(|sframe| sframe.wrong.iter().any(|wrong| wrong.is_of_value()))
        };
        self.judged.noticed = functions(&|said| found.contains(&said.address));
        for missed in functions(&is_wrong).difference(&self.judged.noticed) {
            let message = format!("a run finds nothing in f{missed}, which is wrong on purpose");
            self.judged.contradictions.push(message);
        }
    }

    /// What exploring proves is wrong by construction.
    fn explore(&mut self, target: &Target<'_>) -> Result<(), String> {
        let explored = explore(target, &Roots::of(target), &ExploreOptions::default())
            .map_err(|error| format!("the program can't be explored: {error}"))?;
        for found in explored.findings().iter().filter(|found| found.certainty == Certainty::Proved) {
            let (Some(function), Some(row)) = (&found.finding.function, &found.finding.row) else { continue };
            if self.rows.get(&(function.clone(), row.start.0)).is_some_and(|row| row.is_right())
                && is_of_value(found.finding.verdict)
            {
                let message = format!("exploring refutes a right row: {}", found.finding.message);
                self.judged.contradictions.push(message);
            }
        }
        Ok(())
    }
}
