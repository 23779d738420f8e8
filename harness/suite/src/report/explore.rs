//! `explore --json`: the result of exploring a file.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use sframe_corpus::spec::{Fault, Known, KnownFile};
use sframe_elf::link::{Module, Unapplied};
use sframe_engine::Abi;
use sframe_judge::explore::{
    Certainty, Doubt, Exploration, ExploredFinding, ExploredForm, FunctionRows, RowCounts, Undecided,
};
use sframe_judge::finding::{Finding, Group};
use sframe_judge::target::{Linked, Loaded, Module as Image, Origin, Target};
use sframe_kit::Address;
use sframe_kit::percent::Percent;
use sframe_kit::text::{Text, counted, first_of, grouped};
use sha2::{Digest as _, Sha256};

use super::diagnostic::{Described, Style, help, not_shown, note, quoted, with_option};
use super::document::{JudgedImage, SCHEMA, named_by};
use super::file_name;
use super::known::located;
use super::no_result::NoResult;
use super::summary::{IN_FULL, SHOWN, show_accepted};
use crate::case::{Outcome, SeenKnown, Settled, settle};
use crate::provenance::Provenance;

/// The result of exploring a file. Its fields are the keys of the document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExploreReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Where the report comes from.
    pub provenance: Option<Provenance>,
    /// The file, as named on the command line.
    pub file: String,
    /// The patterns of the functions that were to be explored, if not all were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only_functions: Vec<String>,
    /// Its ABI.
    pub abi: Abi,
    /// Version of its section.
    pub sframe_version: u8,
    /// The section that was judged.
    pub section: JudgedImage,
    /// SHA-256 of the file's code, in hexadecimal.
    pub code: String,
    /// The relocations that were not applied, if the file is relocatable: its addresses are made up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unapplied: Option<Vec<Unapplied>>,
    /// What loading the file as a module has done, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<Module>,
    /// The other forms of a kernel's code that were explored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<ExploredForm>,
    /// What could not be read of a kernel's tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread_tables: Vec<String>,
    /// The functions that have no FDE, and whose call frame information the section's version can express.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_fde: Vec<WithoutFde>,
    /// Why what was checked proves too little, if it does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub too_little: Vec<String>,
    /// Whether the exploration was ended early: then nothing is known of some functions.
    pub interrupted: bool,
    /// The numbers.
    pub summary: ExploreSummary,
    /// The command that reproduces the findings, with all options of the exploration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// The rows that are wrong, and not known to be, and those that may be.
    pub findings: Vec<ExploredFinding>,
    /// What is known to be wrong.
    pub known: Vec<SeenKnown>,
    /// How many entries of known findings are about functions that were not to be explored.
    #[serde(skip)]
    pub known_not_looked_at: u64,
    /// The names of the functions that were to be explored, and of the others, if not all were.
    #[serde(skip)]
    asked: Option<[BTreeSet<String>; 2]>,
    /// The share of rows that has to be checked.
    #[serde(skip)]
    least: Percent,
    /// Where the system starts it: nothing calls the function there.
    #[serde(skip)]
    entry: Address,
    /// The pages of the faults that this comes from, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, Fault>,
    /// The rows of each function.
    pub functions: Vec<FunctionRows>,
}

/// A function without an FDE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WithoutFde {
    /// Its address in the file.
    pub pc: Address,
    /// Its name, or its address if no symbol names it.
    pub function: String,
}

/// An exploration in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExploreSummary {
    /// Functions explored.
    pub functions: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Rows that cover something, of the functions that were to be explored, and of those that led to.
    pub rows_total: u64,
    /// Rows of the other functions.
    #[serde(default)]
    pub rows_left_out: u64,
    /// Rows with which something was compared.
    pub rows_checked: u64,
    /// Rows that agree at all their instructions.
    pub rows_agree: u64,
    /// Rows that agree wherever they were compared, which is not at all their instructions.
    pub rows_partly: u64,
    /// Rows that are proved to be wrong, known ones included.
    pub rows_wrong: u64,
    /// Rows that may be wrong.
    pub rows_possible: u64,
    /// The rows with which nothing was compared, by reason.
    pub undecided: BTreeMap<Undecided, u64>,
    /// Number of proved findings by verdict, without known ones.
    pub verdicts: BTreeMap<String, u64>,
    /// Number of findings that are not proved, by each reason why not.
    pub possible: BTreeMap<Doubt, u64>,
}

/// At most this many assumptions of a finding are shown.
const ASSUMPTIONS: usize = 6;

/// A digest of all code of a file.
fn code_of(module: &Image<'_>) -> String {
    let mut digest = Sha256::new();
    for (_, code) in module.subject.code() {
        digest.update((code.len() as u64).to_le_bytes());
        digest.update(code);
    }
    format!("{:x}", digest.finalize())
}

impl WithoutFde {
    fn at(start: Linked, module: &Image<'_>, target: &Target<'_>) -> Self {
        Self { pc: Address(start.0), function: target.frame_name(module.loaded(start)) }
    }
}

impl ExploreReport {
    /// Makes the document. What faults findings come from is to be said before, of each of their places.
    #[must_use]
    pub fn new(file: String, target: &Target<'_>, exploration: Exploration) -> Self {
        let findings = exploration.findings();
        let Exploration { functions, instructions, rows, of_functions, was_interrupted, .. } = exploration;
        let RowCounts { total, checked, agree, partly, wrong, possible, undecided } = rows;
        let module = target.executable();
        let mut report = Self {
            schema: SCHEMA,
            provenance: None,
            file,
            only_functions: Vec::new(),
            abi: module.image.cpu.abi,
            sframe_version: target.sframe_version(),
            section: JudgedImage::of(module),
            code: code_of(module),
            unapplied: None,
            module: None,
            forms: Vec::new(),
            unread_tables: Vec::new(),
            without_fde: module
                .without_fde()
                .into_iter()
                .map(|at| WithoutFde::at(at, module, target))
                .collect(),
            too_little: Vec::new(),
            least: Percent::NINE_TENTHS,
            entry: Address(module.linked(Loaded(module.image.entry)).0),
            interrupted: was_interrupted,
            summary: ExploreSummary {
                functions,
                instructions,
                rows_total: total,
                rows_checked: checked,
                rows_agree: agree,
                rows_partly: partly,
                rows_wrong: wrong,
                rows_possible: possible,
                undecided,
                ..ExploreSummary::default()
            },
            reproduce: None,
            findings,
            known: Vec::new(),
            known_not_looked_at: 0,
            asked: None,
            faults: BTreeMap::new(),
            functions: of_functions,
        };
        report.count();
        report
    }

    /// Leaves out the functions that were not to be explored, unless a path from others has led there.
    #[must_use]
    pub fn only(mut self, is_wanted: impl Fn(Option<&str>, &str) -> bool) -> Self {
        let is_of_wanted = |it: &FunctionRows| is_wanted(it.function.as_deref(), &it.pc.to_string());
        let names = |are_wanted: bool| -> BTreeSet<String> {
            let functions = self.functions.iter().filter(|it| is_of_wanted(it) == are_wanted);
            functions.filter_map(|it| it.function.clone()).collect()
        };
        self.asked = Some([names(true), names(false)]);
        let (functions, left_out): (Vec<_>, Vec<_>) =
            self.functions.into_iter().partition(|it| it.rows.checked > 0 || is_of_wanted(it));
        self.functions = functions;
        for FunctionRows { rows, .. } in left_out {
            self.summary.rows_total = self.summary.rows_total.saturating_sub(rows.total);
            self.summary.rows_left_out += rows.total;
            for (reason, count) in rows.undecided {
                if let Some(rows) = self.summary.undecided.get_mut(&reason) {
                    *rows = rows.saturating_sub(count);
                }
            }
        }
        self.summary.undecided.retain(|_, count| *count > 0);
        let is_asked = |it: &WithoutFde| is_wanted(Some(&it.function), &it.pc.to_string());
        self.without_fde.retain(is_asked);
        self
    }

    /// Says that the file is relocatable, and which relocations were not applied.
    #[must_use]
    pub fn of_relocatable(mut self, unapplied: Option<&[Unapplied]>) -> Self {
        self.unapplied = unapplied.map(<[Unapplied]>::to_vec);
        self
    }

    /// Says that the file was loaded as a module, and what that has done.
    #[must_use]
    pub fn of_module(self, module: Option<&Module>) -> Self {
        Self { module: module.cloned(), ..self }
    }

    pub(super) fn count(&mut self) {
        let Self { summary, findings, .. } = self;
        (summary.verdicts, summary.possible) = (BTreeMap::new(), BTreeMap::new());
        for found in findings {
            if found.certainty == Certainty::Proved {
                *summary.verdicts.entry(found.finding.verdict.to_string()).or_default() += 1;
            }
            for doubt in &found.doubts {
                *summary.possible.entry(*doubt).or_default() += 1;
            }
        }
        self.too_little = self.why_too_little().into_iter().collect();
    }

    /// The functions with rows that say that there is no caller, or with no row, which says the same, and how many of that.
    fn outermost(&self) -> impl Iterator<Item = (&FunctionRows, u64)> {
        let of = |it: &FunctionRows| it.rows.undecided.get(&Undecided::Outermost).copied();
        self.functions.iter().filter_map(move |it| Some((it, of(it)?)))
    }

    /// Those of them that the system does not start: somebody calls them, or they begin a context.
    #[must_use]
    pub fn outermost_elsewhere(&self) -> Vec<String> {
        let elsewhere = self.outermost().filter(|(it, _)| it.pc != self.entry);
        elsewhere.map(|(it, _)| it.function.clone().unwrap_or_else(|| it.pc.to_string())).collect()
    }

    /// Why so few rows were checked that it proves too little, if so. Where the system starts a program, there is no caller.
    /// A function whose call frame information can't be read would have a row at least.
    fn why_too_little(&self) -> Option<String> {
        let ExploreSummary { rows_total, rows_checked, .. } = &self.summary;
        let at_entry = self.outermost().filter(|(it, _)| it.pc == self.entry).map(|(_, count)| count).sum();
        let all = rows_total.saturating_sub(at_entry);
        let is_enough = self.least.is_reached_by(*rows_checked, all);
        let malformed = self.summary.undecided.get(&Undecided::Malformed).copied().unwrap_or_default();
        if malformed > 0 && *rows_checked > 0 && self.least > Percent::NONE {
            return Some(format!(
                "{} can't be decoded, and so it is not known how many rows there are (`lint` says why; --coverage 0 accepts \
                 that)",
                counted(malformed, "FDE")
            ));
        }
        if let Some(lacks) = self.section.lacks.as_ref().filter(|_| *rows_checked > 0 && self.asked.is_none())
        {
            let with_unread = all.saturating_add(lacks.unread_functions);
            let is_lost = !lacks.unread.is_empty() || !self.least.is_reached_by(*rows_checked, with_unread);
            if let Some(what) = lacks.what_is_unread().filter(|_| is_lost && self.least > Percent::NONE) {
                return Some(format!(
                    "{what}, and so there are no rows of it to check (--coverage 0 accepts that)"
                ));
            }
        }
        (*rows_checked > 0 && !is_enough).then(|| {
            format!(
                "{} of {} that have a caller checked, less than {} (--coverage)",
                grouped(*rows_checked),
                counted(all, "row"),
                self.least
            )
        })
    }

    /// Has it demand that another share of rows is checked than nine tenths.
    #[must_use]
    pub fn demanding(mut self, share: Percent) -> Self {
        self.least = share;
        self.too_little = self.why_too_little().into_iter().collect();
        self
    }

    /// The findings that are proved, and not known.
    pub fn proved(&self) -> impl Iterator<Item = &ExploredFinding> {
        self.findings.iter().filter(|found| found.certainty == Certainty::Proved)
    }

    /// Separates the proved findings that are failures from what the format can't express, and what a file explains.
    /// Its entries that are gone or have changed become findings, unless not all that they are about was explored.
    #[must_use]
    pub fn with_known(mut self, file: Option<&KnownFile>) -> Self {
        let (proved, possible): (Vec<_>, Vec<_>) = std::mem::take(&mut self.findings)
            .into_iter()
            .partition(|found| found.certainty == Certainty::Proved);
        let plain: Vec<Finding> = proved.iter().map(|found| found.finding.clone()).collect();
        let entries = file.into_iter().flat_map(KnownFile::entries);
        let Settled { known, unexpected, changed, not_looked_at } =
            settle(entries, plain, |known| self.is_asked_for(known), Some(self.abi));
        self.known_not_looked_at = if self.interrupted { 0 } else { not_looked_at };
        let is_left = |found: &ExploredFinding| unexpected.contains(&found.finding);
        let mut findings: Vec<ExploredFinding> = proved.into_iter().filter(is_left).collect();
        findings.extend(located(changed, file).map(ExploredFinding::of_no_row));
        findings.extend(possible);
        self.findings = findings;
        self.faults = file.map(|file| named_by(known.iter(), file.faults())).unwrap_or_default();
        self.known = known;
        self.count();
        self
    }

    /// Whether all that an entry is about was explored.
    fn is_asked_for(&self, known: &Known) -> bool {
        let is_in = |names: &BTreeSet<String>| names.iter().any(|name| known.is_in(None, Some(name)));
        !self.interrupted && self.asked.as_ref().is_none_or(|[asked, others]| is_in(asked) && !is_in(others))
    }

    /// The outcome, as of a case.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match (self.proved().next(), self.known.is_empty()) {
            (Some(_), _) => Outcome::Unexpected,
            _ if self.without_result().is_some() => Outcome::Broken,
            (None, false) => Outcome::Known,
            (None, true) => Outcome::Agree,
        }
    }

    /// Why there is no result, or only a part of one, in a few words.
    #[must_use]
    pub fn without_result(&self) -> Option<NoResult> {
        match () {
            () if self.interrupted => Some(NoResult::Interrupted),
            () if self.proved().next().is_some() => None,
            () if self.summary.rows_checked == 0 => Some(NoResult::NothingJudged),
            () => (!self.too_little.is_empty()).then_some(NoResult::TooLittleJudged),
        }
    }

    /// Adds the command that reproduces the findings.
    #[must_use]
    pub fn reproduced_by(self, command: String) -> Self {
        Self { reproduce: Some(command), ..self }
    }

    /// The command that repeats the exploration.
    pub(super) fn command(&self) -> String {
        if let Some(command) = &self.reproduce {
            return command.clone();
        }
        let from = if self.section.section == Origin::EhFrame { " --from eh-frame" } else { "" };
        format!("sframe-testbench explore {}{from}", quoted(&self.file))
    }

    /// The version, and what the section was made from if it is not the file's own.
    pub(super) fn version(&self) -> String {
        super::summary::version(self.section.section == Origin::EhFrame, self.sframe_version)
    }

    /// Describes the section, if it is not the file's own.
    pub(super) fn section_line(&self) -> Option<String> {
        let is_own = self.section.section == Origin::Sframe;
        (!is_own).then(|| self.section.line(file_name(&self.file)))
    }

    /// What all results suppose, line by line.
    fn caveats(&self) -> Vec<String> {
        let Self { interrupted, unapplied, module, .. } = self;
        let mut lines = Vec::new();
        if let Some(unapplied) = unapplied {
            lines.push("the file is relocatable: the addresses of its sections are made up".to_owned());
            lines.extend(unapplied.iter().map(|unapplied| format!("not relocated: {unapplied}")));
        }
        lines.extend(module.iter().flat_map(Module::lines));
        lines.extend(self.forms.iter().map(|form| {
            format!(
                "{}: {} of {}; {} checked, {} wrong",
                form.form.says(),
                counted(form.places, "place"),
                counted(form.functions, "function"),
                counted(form.rows_checked, "row"),
                grouped(form.rows_wrong)
            )
        }));
        lines.extend(self.unread_tables.iter().map(|what| format!("not explored: {what}")));
        if *interrupted {
            lines.push(
                "it was interrupted: functions without any checked row may not have been explored".to_owned(),
            );
        }
        lines
    }

    /// What was not decided, line by line.
    pub(super) fn open_lines(&self) -> Vec<String> {
        let Self { summary, .. } = self;
        let mut lines = self.caveats();
        let possible = self.findings.iter().filter(|found| found.certainty == Certainty::Possible).count();
        if possible > 0 {
            lines.push(format!(
                "may be wrong: {}, each for one or more of these reasons:",
                counted(possible as u64, "finding")
            ));
        }
        let doubts = summary.possible.iter();
        lines.extend(doubts.map(|(doubt, count)| format!("    {}: {}", grouped(*count), doubt.says())));
        let undecided = summary.undecided.iter();
        // What was not reached any more has no path yet.
        let or = if self.interrupted { "interrupted before, or " } else { "" };
        lines.extend(undecided.map(|(reason, count)| {
            let which = if *reason == Undecided::UnknownInstruction { self.unknown() } else { String::new() };
            format!("not checked: {}: {or}{}{which}", grouped(*count), reason.says())
        }));
        lines
    }

    /// The instructions that were neither executed nor stepped over.
    fn unknown(&self) -> String {
        let unknown = self.functions.iter().filter_map(|it| Some((it, it.unknown_instruction.as_ref()?)));
        let unknown = unknown.map(|(it, unknown)| {
            let function = it.function.clone().unwrap_or_else(|| it.pc.to_string());
            format!("{} at {} in {function}", unknown.instruction, unknown.pc)
        });
        let unknown: Vec<String> = unknown.collect();
        format!(": {}", first_of(&unknown.iter().map(String::as_str).collect::<Vec<_>>(), ASSUMPTIONS))
    }

    /// The numbers, in a line.
    pub(super) fn numbers(&self) -> String {
        let ExploreSummary { functions, instructions, rows_total, rows_checked, .. } = self.summary;
        let partly = match self.summary.rows_partly {
            0 => String::new(),
            partly => format!("{} in part, ", grouped(partly)),
        };
        format!(
            "{} explored, {} executed; {} of {} checked: {} agree, {partly}{} wrong, {} possibly wrong",
            counted(functions, "function"),
            counted(instructions, "instruction"),
            grouped(rows_checked),
            counted(rows_total, "row"),
            grouped(self.summary.rows_agree),
            grouped(self.summary.rows_wrong),
            grouped(self.summary.rows_possible),
        )
    }

    /// Shows the result to people. With `all`, also what is not proved.
    #[must_use]
    pub fn text(&self, all: bool, style: Style) -> Text {
        self.text_with(all, self.has_open_rows(), style)
    }

    /// Whether there are rows of which nothing was judged, and `--verbose` says more about them.
    #[must_use]
    pub const fn has_open_rows(&self) -> bool {
        self.summary.rows_checked < self.summary.rows_total && !self.interrupted
    }

    /// As [`Self::text`], with or without the hint at `--verbose`, which several files need once.
    #[must_use]
    pub fn text_with(&self, all: bool, hint: bool, style: Style) -> Text {
        let mut text = Text::default();
        if !style.is_brief() {
            text.line(format!("{}: {}, {}", self.file, self.abi, self.version()));
        }
        if let Some(section) = self.section_line().filter(|_| style.is_full()) {
            text.line(format!("section     {section}"));
        }
        self.show_findings(&mut text, style);
        let possible = self.findings.iter().filter(|found| all && found.certainty == Certainty::Possible);
        for found in possible {
            Group::alone(&found.finding).line(&mut text, "    ", style);
            text.line(format!("        may be wrong: {}", found.doubts_text()));
        }
        if style.is_full() {
            self.open_lines().iter().for_each(|line| text.wrap_line(&format!("    {line}")));
            text.line(self.numbers());
        }
        if !style.is_brief() && !style.is_full() {
            self.caveats().iter().for_each(|line| text.wrap_line(&format!("    {line}")));
        }
        show_accepted(&mut text, &self.known, style);
        if !style.is_brief() {
            let mut conclusion = self.conclusion();
            if hint && !style.is_full() {
                conclusion.facts.push("`--verbose` says why the others were not".to_owned());
            }
            conclusion.show(&mut text);
        }
        text
    }

    /// Shows the proved findings: the first ones in full.
    pub(super) fn show_findings(&self, text: &mut Text, style: Style) {
        let proved: Vec<&ExploredFinding> = self.proved().collect();
        for (index, found) in proved.iter().take(SHOWN).enumerate() {
            let group = Group::alone(&found.finding);
            if index >= IN_FULL {
                group.line(text, "    ", style);
                continue;
            }
            group.diagnostic(text, &self.file, style);
            let assumed = found.assumptions.iter().rev().take(ASSUMPTIONS).rev();
            let left_out = found.assumptions.len().saturating_sub(ASSUMPTIONS);
            if left_out > 0 {
                note(text, style, "assumed: ", &format!("{left_out} more, and"));
            }
            assumed.for_each(|assumed| note(text, style, "assumed: ", assumed));
            text.blank();
        }
        for line in not_shown(proved.len(), SHOWN, &BTreeMap::new()) {
            text.line(format!("    {line}"));
        }
        if !proved.is_empty() {
            help(text, &with_option(&self.command(), "--report DIR"), style);
        }
    }
}
