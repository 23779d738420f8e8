//! The code of all builds with rows, CFI and what was seen at each instruction.
//!
//! Many builds have the same functions. Each text, each function and each
//! course of a function is kept once.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use serde::Serialize;
use sframe_engine::{InstructionPointer, PcType};

use crate::cfi::CfiRow;
use crate::disassembly::Instruction;
use crate::examine::Examination;
use crate::finding::Finding;
use crate::observed::Observed;
use crate::spec::Verdict;
use crate::target::{Module, Target};

/// So many different instructions are listed. Behind that, functions are left
/// out that are not the same as a listed one, unless something in them is wrong.
pub(super) const MOST_INSTRUCTIONS: usize = 1_500_000;

/// Listed whatever else there is, for what is wrong in them: so many instructions more.
const MOST_WRONG: usize = 100_000;

/// Collects listings, from many threads.
#[derive(Debug, Default)]
pub struct Listings {
    pool: Mutex<Pool>,
}

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceLine {
    /// The file's name without its folder.
    pub(super) file: String,
    /// The line, from 1.
    pub(super) line: u64,
}

/// What is kept of all builds. Numbers are positions in the lists; in flat
/// lists, what belongs together comes one behind the other.
#[derive(Debug, Default, Serialize)]
pub(super) struct Pool {
    /// Names, instructions, rules, frames and reasons.
    texts: Interned<String>,
    /// Functions.
    bodies: Interned<Body>,
    /// What was seen in functions.
    courses: Interned<Course>,
    /// The functions of each case.
    cases: BTreeMap<String, CaseListing>,
    #[serde(skip)]
    instructions: usize,
    /// Where findings are in the sources, by case, library and address.
    #[serde(skip)]
    lines: FxHashMap<(String, Option<String>, u64), SourceLine>,
}

#[derive(Debug, Default, Serialize)]
struct CaseListing {
    /// Library or 0, start in hexadecimal digits, body, course.
    functions: Vec<(u32, String, u32, u32)>,
    /// Names of functions that are left out, for there are too many.
    left_out: Vec<u32>,
}

/// A function, wherever it lies.
#[derive(Debug, Default, PartialEq, Eq, Hash, Serialize)]
struct Body {
    name: u32,
    /// Rows that cover something.
    row_count: u32,
    /// Length and text of each instruction.
    code: Vec<u32>,
    /// Instruction, start and rules of each row; from there on it holds.
    /// Where there is none, the rules are 0.
    rows: Vec<u32>,
    /// Instruction and rules of each row of CFI, likewise.
    cfi: Vec<u32>,
}

/// What was seen in a function.
#[derive(Debug, Default, PartialEq, Eq, Hash, Serialize)]
struct Course {
    /// So many instructions were executed so often.
    hits: Vec<u64>,
    /// Instruction and true frame, which is 0 where none was seen; from there on it holds.
    frames: Vec<u32>,
    /// Instruction, and what of its row is wrong: 1 CFA, 2 RA, 4 FP, 8 something else.
    wrong: Vec<u32>,
}

/// Different values by the order in which they were first seen.
#[derive(Debug)]
struct Interned<T> {
    numbers: FxHashMap<T, u32>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { numbers: FxHashMap::default() }
    }
}

impl<T: Eq + Hash> Interned<T> {
    fn number(&mut self, value: T) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(value).or_insert(next)
    }
}

impl<T: Serialize> Serialize for Interned<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut values: Vec<_> = self.numbers.iter().collect();
        values.sort_unstable_by_key(|(_, number)| **number);
        serializer.collect_seq(values.into_iter().map(|(value, _)| value))
    }
}

/// A function with its texts.
struct Draft<'t> {
    image: Option<&'t str>,
    /// Without the load bias.
    start: u64,
    name: String,
    row_count: u32,
    code: Vec<(u32, String)>,
    rows: Vec<(u32, u32, String)>,
    cfi: Vec<(u32, String)>,
    hits: Vec<u64>,
    frames: Vec<(u32, String)>,
    wrong: Vec<(u32, u32)>,
}

impl Listings {
    /// Adds the builds of a case, with what was seen in them.
    pub fn add(&self, case: &str, target: &Target<'_>, examination: &Examination) {
        let wrong = wrong_places(&examination.findings);
        let mut drafts = Vec::new();
        let mut lines = Vec::new();
        for module in &target.modules {
            drafts.extend(Reader::new(target, module, &examination.observed, &wrong).read());
            lines.extend(source_lines(case, module, &examination.findings));
        }
        // What matters most first, for there may not be room for all.
        drafts.sort_by_key(|draft| {
            (draft.wrong.is_empty(), draft.hits.iter().all(|hits| *hits == 0), draft.image, draft.start)
        });
        let mut pool = self.pool();
        pool.texts.number(String::new());
        let listing = pool.take(drafts);
        pool.cases.insert(case.to_owned(), listing);
        pool.lines.extend(lines);
    }

    pub(super) fn pool(&self) -> std::sync::MutexGuard<'_, Pool> {
        // A panic of another case leaves nothing half done here.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What of a finding's row is wrong.
const fn wrong_part(verdict: Verdict) -> u32 {
    match verdict {
        Verdict::WrongCfa | Verdict::BadMemory | Verdict::NoProgress => 1,
        Verdict::WrongRa => 2,
        Verdict::WrongFp => 4,
        _ => 8,
    }
}

/// The places of findings by library and address, and what is wrong there.
fn wrong_places(findings: &[Finding]) -> FxHashMap<(Option<&str>, u64), u32> {
    let mut places: FxHashMap<_, u32> = FxHashMap::default();
    for finding in findings {
        let Some(pc) = finding.pc else { continue };
        // Of a caller's frame, the call is meant.
        let address = if finding.frame > Some(0) { pc.0.wrapping_sub(1) } else { pc.0 };
        *places.entry((finding.image.as_deref(), address)).or_default() |= wrong_part(finding.verdict);
    }
    places
}

type Line = ((String, Option<String>, u64), SourceLine);

/// The lines of the sources that findings in a module are about.
fn source_lines(case: &str, module: &Module<'_>, findings: &[Finding]) -> Vec<Line> {
    let mut here = findings.iter().filter(|finding| finding.image == module.name).peekable();
    if here.peek().is_none() {
        return Vec::new();
    }
    let Ok(lines) = module.subject.lines() else { return Vec::new() };
    let start = |address: u64| module.subject.symbols.at(address).map(|(_, offset)| address - offset);
    here.filter_map(|finding| {
        let pc = finding.pc?.0;
        let address = if finding.frame > Some(0) { pc.wrapping_sub(1) } else { pc };
        let (file, line, from) = lines.at(address)?;
        // Behind the end of what has lines, the last one says nothing.
        let is_of_function = start(address).is_some() && start(address) == start(from);
        let line = SourceLine { file: file.to_owned(), line };
        is_of_function.then(|| ((case.to_owned(), module.name.clone(), pc), line))
    })
    .collect()
}

impl Pool {
    fn take(&mut self, drafts: Vec<Draft<'_>>) -> CaseListing {
        let mut listing = CaseListing::default();
        for draft in drafts {
            let (len, is_right) = (draft.code.len(), draft.wrong.is_empty());
            let name = self.texts.number(draft.name.clone());
            let image = self.texts.number(draft.image.unwrap_or_default().to_owned());
            let start = format!("{:x}", draft.start);
            let most = if is_right { MOST_INSTRUCTIONS } else { MOST_INSTRUCTIONS + MOST_WRONG };
            if self.instructions.saturating_add(len) > most {
                listing.left_out.push(name);
                continue;
            }
            let (body, course) = self.number(draft, name);
            let known = self.bodies.numbers.len();
            let body = self.bodies.number(body);
            if self.bodies.numbers.len() > known {
                self.instructions += len;
            }
            let course = self.courses.number(course);
            listing.functions.push((image, start, body, course));
        }
        listing
    }

    fn number(&mut self, draft: Draft<'_>, name: u32) -> (Body, Course) {
        let texts = &mut self.texts;
        let mut body = Body { name, row_count: draft.row_count, ..Body::default() };
        for (len, text) in draft.code {
            body.code.extend([len, texts.number(text)]);
        }
        for (line, start, rules) in draft.rows {
            body.rows.extend([line, start, texts.number(rules)]);
        }
        for (line, rules) in draft.cfi {
            body.cfi.extend([line, texts.number(rules)]);
        }
        let mut course = Course::default();
        for hits in draft.hits {
            match course.hits[..] {
                [.., ref mut count, last] if last == hits => *count += 1,
                _ => course.hits.extend([1, hits]),
            }
        }
        for (line, frame) in draft.frames {
            course.frames.extend([line, texts.number(frame)]);
        }
        course.wrong.extend(draft.wrong.into_iter().flat_map(|(line, part)| [line, part]));
        (body, course)
    }

    /// Where a finding of a case is in the sources.
    pub(super) fn line(&self, case: &str, finding: &Finding) -> Option<&SourceLine> {
        self.lines.get(&(case.to_owned(), finding.image.clone(), finding.pc?.0))
    }

    /// How many functions are left out.
    pub(super) fn left_out(&self) -> usize {
        self.cases.values().map(|case| case.left_out.len()).sum()
    }
}

/// Reads the functions of a module.
struct Reader<'r, 'a> {
    target: &'r Target<'a>,
    module: &'r Module<'a>,
    observed: &'r [Observed],
    wrong: &'r FxHashMap<(Option<&'r str>, u64), u32>,
    code: Vec<Range<u64>>,
    /// Rows of CFI in a range of addresses.
    cfi: (Range<u64>, Vec<CfiRow>),
}

/// What was written last, so that it is written again only where it changes.
#[derive(Default)]
struct Last {
    row: Option<Option<(u32, Option<u32>)>>,
    cfi: Option<Option<u64>>,
    frame: Option<Option<crate::observed::TrueFrame>>,
}

impl<'r, 'a> Reader<'r, 'a> {
    fn new(
        target: &'r Target<'a>,
        module: &'r Module<'a>,
        observed: &'r [Observed],
        wrong: &'r FxHashMap<(Option<&'r str>, u64), u32>,
    ) -> Self {
        let loaded = module.image.range();
        let first = observed.partition_point(|instruction| instruction.pc < loaded.start);
        let end = observed.partition_point(|instruction| instruction.pc < loaded.end);
        let code = module.subject.code();
        let code = code.map(|(start, code)| start..start.saturating_add(code.len() as u64)).collect();
        let observed = observed.get(first..end).unwrap_or_default();
        Self { target, module, observed, wrong, code, cfi: (0..0, Vec::new()) }
    }

    fn read(mut self) -> Vec<Draft<'r>> {
        let module = self.module;
        let mut drafts: Vec<Draft<'r>> = Vec::new();
        let mut last = Last::default();
        let mut function = None;
        let mut row_counts = self.row_counts();
        for (loaded, instruction) in module.code().iter() {
            let plain = loaded.wrapping_sub(module.image.bias);
            let symbol = module.subject.symbols.at(plain);
            let fde = self.target.sections.lookup_fde(InstructionPointer(loaded)).ok().flatten();
            let start = symbol.map(|(_, offset)| plain - offset);
            let start = start.or_else(|| Some(fde.as_ref()?.start.wrapping_sub(module.image.bias)));
            let is_observed = self.seen(loaded).is_some();
            // Between functions there is padding.
            if start.is_none() && !is_observed {
                continue;
            }
            if function != Some(start) || drafts.is_empty() {
                function = Some(start);
                last = Last::default();
                let name = symbol.map_or_else(|| format!("{plain:#x}"), |(name, _)| name.to_owned());
                drafts.push(Draft {
                    image: module.name.as_deref(),
                    start: plain,
                    name,
                    row_count: 0,
                    code: Vec::new(),
                    rows: Vec::new(),
                    cfi: Vec::new(),
                    hits: Vec::new(),
                    frames: Vec::new(),
                    wrong: Vec::new(),
                });
            }
            if let Some(draft) = drafts.last_mut() {
                if let Some(fde) = fde {
                    draft.row_count += row_counts.remove(&fde.index).unwrap_or_default();
                }
                self.line(draft, &mut last, loaded, instruction);
            }
        }
        drafts
    }

    /// The rows of each FDE that cover something.
    fn row_counts(&self) -> FxHashMap<u32, u32> {
        let Some(section) = &self.module.section else { return FxHashMap::default() };
        let count = |fde: &sframe_engine::Fde| {
            let rows = section.rows(fde).flatten();
            let rows =
                rows.filter(|row| !row.is_empty() && (fde.pc_type != PcType::Inc || row.start < fde.size));
            u32::try_from(rows.count()).unwrap_or(u32::MAX)
        };
        section.fdes().flatten().map(|fde| (fde.index, count(&fde))).collect()
    }

    fn seen(&self, loaded: u64) -> Option<&'r Observed> {
        let index = self.observed.binary_search_by_key(&loaded, |instruction| instruction.pc).ok()?;
        self.observed.get(index)
    }

    fn line(&mut self, draft: &mut Draft<'r>, last: &mut Last, loaded: u64, instruction: &Instruction) {
        let line = u32::try_from(draft.code.len()).unwrap_or(u32::MAX);
        let bias = self.module.image.bias;
        let plain = loaded.wrapping_sub(bias);
        let end = plain.saturating_add(instruction.len);
        draft.code.push((u32::try_from(instruction.len).unwrap_or(u32::MAX), self.named(instruction)));

        let found = self.target.sections.lookup(InstructionPointer(loaded));
        let row = found
            .as_ref()
            .ok()
            .and_then(|found| Some((found.as_ref()?.fde.index, found.as_ref()?.row_index)));
        if last.row != Some(row) {
            last.row = Some(row);
            draft.rows.push(match found {
                Ok(Some(found)) => (line, found.row.start, found.row.to_string()),
                Ok(None) => (line, 0, String::new()),
                Err(error) => (line, 0, error.to_string()),
            });
        }
        let cfi = self.cfi_row(plain).map(|row| row.range.start);
        if last.cfi != Some(cfi) {
            last.cfi = Some(cfi);
            let module = self.module;
            let rules = self.cfi_row(plain).zip(module.cfi());
            let rules = rules.map_or_else(String::new, |(row, cfi)| cfi.rules(row, plain).to_string());
            // Compilers write rows that change nothing that is shown.
            if draft.cfi.last().is_none_or(|(_, last)| *last != rules) {
                draft.cfi.push((line, rules));
            }
        }
        let observed = self.seen(loaded);
        draft.hits.push(observed.map_or(0, |observed| observed.hits));
        let frame = observed.and_then(|observed| observed.frame);
        if last.frame != Some(frame) {
            last.frame = Some(frame);
            draft.frames.push((line, frame.map_or_else(String::new, |frame| frame.to_string())));
        }
        if !self.wrong.is_empty() {
            let image = self.module.name.as_deref();
            let part =
                (plain..end).filter_map(|address| self.wrong.get(&(image, address))).fold(0, |a, b| a | b);
            if part != 0 {
                draft.wrong.push((line, part));
            }
        }
    }

    fn cfi_row(&mut self, plain: u64) -> Option<&CfiRow> {
        if !self.cfi.0.contains(&plain) {
            let cfi = self.module.cfi()?;
            let fde = cfi.fde_at(plain)?;
            self.cfi = (fde.range.clone(), cfi.rows(fde).unwrap_or_default());
        }
        self.cfi.1.iter().find(|row| row.range.contains(&plain))
    }

    /// An instruction with names for addresses of code: functions that are the
    /// same then read the same wherever they lie.
    fn named(&self, instruction: &Instruction) -> String {
        let text = instruction.text.as_str();
        let Some(at) = text.find("0x") else { return text.to_owned() };
        let digits = text[at + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
        let behind = at + 2 + digits;
        let Ok(loaded) = u64::from_str_radix(&text[at + 2..behind], 16) else { return text.to_owned() };
        let address = loaded.wrapping_sub(self.module.image.bias);
        if !self.code.iter().any(|code| code.contains(&address)) {
            return text.to_owned();
        }
        let Some((name, offset)) = self.module.subject.symbols.at(address) else { return text.to_owned() };
        let offset = if offset == 0 { String::new() } else { format!("+{offset:#x}") };
        let before = text[..at].trim_end_matches('#');
        format!("{before}{name}{offset}{}", &text[behind..])
    }
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashSet;

    use super::*;

    #[test]
    fn what_is_the_same_is_kept_once() {
        let draft = |start, hits| Draft {
            image: None,
            start,
            name: "f".to_owned(),
            row_count: 1,
            code: vec![(1, "push rbp".to_owned()), (1, "ret".to_owned())],
            rows: vec![(0, 0, "CFA = SP+8".to_owned())],
            cfi: Vec::new(),
            hits,
            frames: Vec::new(),
            wrong: Vec::new(),
        };
        let mut pool = Pool::default();
        let first = pool.take(vec![draft(0x10, vec![3, 3]), draft(0x20, vec![3, 1])]);
        let second = pool.take(vec![draft(0x30, vec![3, 3])]);
        let numbers = |listing: &CaseListing| -> Vec<(u32, u32)> {
            listing.functions.iter().map(|(.., body, course)| (*body, *course)).collect()
        };
        assert_eq!(numbers(&first), [(0, 0), (0, 1)]);
        assert_eq!(numbers(&second), [(0, 0)]);
        assert_eq!(pool.instructions, 2);
        let courses: FxHashSet<_> = pool.courses.numbers.keys().map(|course| course.hits.clone()).collect();
        assert_eq!(courses, FxHashSet::from_iter([vec![2, 3], vec![1, 3, 1, 1]]));
    }

    #[test]
    fn functions_are_left_out_by_name_unless_something_in_them_is_wrong() {
        let draft = |name: &str, wrong| Draft {
            image: None,
            start: 0,
            name: name.to_owned(),
            row_count: 0,
            code: vec![(1, "nop".to_owned()); 10],
            rows: Vec::new(),
            cfi: Vec::new(),
            hits: Vec::new(),
            frames: Vec::new(),
            wrong,
        };
        let mut pool = Pool { instructions: MOST_INSTRUCTIONS - 5, ..Pool::default() };
        let listing = pool.take(vec![draft("right", Vec::new()), draft("wrong", vec![(0, 1)])]);
        assert_eq!(
            (listing.functions.len(), listing.left_out.len(), pool.instructions),
            (1, 1, MOST_INSTRUCTIONS + 5)
        );
    }
}
