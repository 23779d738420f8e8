//! The code of all builds with rows, CFI and what was seen at each instruction.
//!
//! A [`Listing`] is about one case, and can be serialized: into the journal of a
//! run, or by a worker. [`Listings`] combine those of all cases. Many builds have
//! the same functions: each text, function and course of a function is kept once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sframe_elf::cfi::CfiRow;
use sframe_engine::{InstructionPointer, PcType};
use sframe_isa::Instruction;

use crate::examine::Examination;
use crate::examine::observed::Observed;
use crate::finding::{Blame, Finding};
use crate::target::{Linked, Loaded, Module, Target};
use crate::vocabulary::Verdict;

/// The maximum number of different instructions listed. Beyond it, functions are
/// left out unless they equal a listed one or something in them is wrong.
pub const MOST_INSTRUCTIONS: usize = 1_500_000;

/// The additional instructions that are listed because something in them is wrong.
const MOST_WRONG: usize = 100_000;

/// Of programs with more instructions, functions in which nothing is wrong are listed by their rows alone, and those that
/// did not run by their names.
const MOST_IN_FULL: usize = 20_000;

/// A listing that unpacks to more bytes is refused.
const MOST_BYTES: usize = 256 << 20;

/// The compression level of listings: higher levels take more time than they save.
const LEVEL: u8 = 3;

/// The code of a case's images with rows, CFI and what was seen at each
/// instruction, compressed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Listing(String);

/// Why a listing can't be unpacked: it was written or changed by something else.
#[derive(Debug, thiserror::Error)]
#[error("the listing of {case} can't be read: {fault}")]
pub struct ListingError {
    /// The case.
    case: String,
    /// The fault.
    fault: ListingFault,
}

/// What is wrong with a listing.
#[derive(Debug, thiserror::Error)]
enum ListingFault {
    #[error(transparent)]
    Base64(#[from] base64::DecodeError),
    #[error("{0}")]
    Deflate(miniz_oxide::inflate::DecompressError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("it refers to what it doesn't have")]
    Dangling,
}

/// The listings of all cases. Numbers are shared: the same listings in the same
/// order give the same page.
#[derive(Debug, Default)]
pub struct Listings {
    pool: Pool,
}

/// The content of a [`Listing`]. Texts are referred to by their indices.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Content {
    texts: Vec<String>,
    functions: Vec<Function>,
    /// Names of functions that are left out because there are too many.
    left_out: Vec<u32>,
    lines: Vec<FindingLine>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Function {
    /// The library, or an empty text.
    image: u32,
    /// The start without the load bias.
    start: u64,
    body: FunctionCode,
    course: FunctionVisits,
}

/// The source line of a finding.
#[derive(Debug, Deserialize, Serialize)]
struct FindingLine {
    image: Option<String>,
    pc: u64,
    at: SourceLine,
}

/// A line of source code.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct SourceLine {
    /// The file name without its folder.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
}

/// What is kept for all builds. Numbers are indices into the lists; flat lists have
/// the items of a group one after another.
#[derive(Debug, Default, Serialize)]
pub struct Pool {
    /// Names, instructions, rules, frames and reasons.
    texts: Interned<String>,
    /// Functions.
    bodies: Interned<FunctionCode>,
    /// What was seen in functions.
    courses: Interned<FunctionVisits>,
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
    /// Names of functions that are left out because there are too many.
    left_out: Vec<u32>,
}

/// A function, independent of its address.
#[derive(Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
struct FunctionCode {
    name: u32,
    /// Rows that cover something.
    row_count: u32,
    /// Length and text of each instruction.
    code: Vec<u32>,
    /// Instruction, start and rules of each row, valid from there on. Without a
    /// row, the rules are 0.
    rows: Vec<u32>,
    /// Instruction and rules of each row of CFI, likewise.
    cfi: Vec<u32>,
}

/// What was seen in a function.
#[derive(Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
struct FunctionVisits {
    /// Pairs: a number of instructions, and how often they were executed.
    hits: Vec<u64>,
    /// Instruction and true frame, 0 if none was seen; valid from there on.
    frames: Vec<u32>,
    /// Instruction, and what is wrong in its row: 1 CFA, 2 RA, 4 FP, 8 something else.
    wrong: Vec<u32>,
    /// If the instructions are those at which rows begin, or none is listed: how many have executed, and how many
    /// there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folded: Option<[u32; 2]>,
}

/// Different values in the order in which they were first seen.
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

impl<T> Interned<T> {
    /// Returns the values in the order of their numbers.
    fn into_values(self) -> Vec<T> {
        let mut values: Vec<_> = self.numbers.into_iter().collect();
        values.sort_unstable_by_key(|(_, number)| *number);
        values.into_iter().map(|(value, _)| value).collect()
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
struct FunctionDraft<'t> {
    image: Option<&'t str>,
    /// The start without the load bias.
    start: u64,
    name: String,
    row_count: u32,
    code: Vec<(u32, String)>,
    rows: Vec<(u32, u32, String)>,
    cfi: Vec<(u32, String)>,
    hits: Vec<u64>,
    frames: Vec<(u32, String)>,
    wrong: Vec<(u32, u32)>,
    /// See [`FunctionVisits::folded`].
    folded: Option<[u32; 2]>,
}

impl FunctionDraft<'_> {
    /// Leaves the instructions at which rows, or rules of CFI, begin. Each stands for those up to the next one, and
    /// has executed as often as the one that did most often. Of a function that did not run, one stands for all.
    fn fold(self) -> Self {
        if !self.wrong.is_empty() {
            return self;
        }
        let count = |hits: &[u64]| u32::try_from(hits.len()).unwrap_or(u32::MAX);
        let ran: Vec<u64> = self.hits.iter().copied().filter(|hits| *hits > 0).collect();
        let folded = Some([count(&ran), count(&self.hits)]);
        let (rows, cfi) = if ran.is_empty() { (Vec::new(), Vec::new()) } else { (self.rows, self.cfi) };
        let begin = rows.iter().map(|row| row.0).chain(cfi.iter().map(|row| row.0));
        let begin: BTreeSet<u32> = begin.chain([0]).collect();
        // The number of the line that stands for one.
        let line_of = |line: u32| u32::try_from(begin.range(..=line).count().saturating_sub(1)).unwrap_or(0);
        let mut code: Vec<(u32, String)> = Vec::new();
        let mut hits: Vec<u64> = Vec::new();
        for ((line, (len, text)), executed) in (0..).zip(self.code).zip(self.hits) {
            match (code.last_mut(), hits.last_mut()) {
                (Some(last), Some(most)) if !begin.contains(&line) => {
                    last.0 = last.0.saturating_add(len);
                    *most = (*most).max(executed);
                }
                _ => {
                    code.push((len, if ran.is_empty() { String::new() } else { text }));
                    hits.push(executed);
                }
            }
        }
        let mut frames: Vec<(u32, String)> = Vec::new();
        for (line, frame) in self.frames {
            let line = line_of(line);
            match frames.last_mut() {
                Some((last, seen)) if *last == line && seen.is_empty() => *seen = frame,
                Some((last, _)) if *last == line => {}
                _ => frames.push((line, frame)),
            }
        }
        let rows = rows.into_iter().map(|(line, start, rules)| (line_of(line), start, rules)).collect();
        let cfi = cfi.into_iter().map(|(line, rules)| (line_of(line), rules)).collect();
        Self { code, rows, cfi, hits, frames, folded, ..self }
    }
}

impl Listing {
    /// Returns the listing of a program, with what was seen in it.
    ///
    /// # Errors
    /// It can't be written as JSON.
    pub fn of(target: &Target<'_>, examination: &Examination) -> Result<Self, serde_json::Error> {
        let wrong = wrong_places(&examination.findings);
        let mut drafts = Vec::new();
        let mut lines = Vec::new();
        for module in &target.modules {
            drafts.extend(Reader::new(target, module, &examination.observed, &wrong).read());
            lines.extend(source_lines(module, &examination.findings));
        }
        // Most important first, because there may not be room for all.
        drafts.sort_by_key(|draft| {
            (draft.wrong.is_empty(), draft.hits.iter().all(|hits| *hits == 0), draft.image, draft.start)
        });
        let is_large = drafts.iter().map(|draft| draft.code.len()).sum::<usize>() > MOST_IN_FULL;
        if is_large {
            drafts = drafts.into_iter().map(FunctionDraft::fold).collect();
        }
        let json = serde_json::to_vec(&Content::of(drafts, lines))?;
        Ok(Self(STANDARD.encode(compress_to_vec_zlib(&json, LEVEL))))
    }

    fn unpack(&self) -> Result<Content, ListingFault> {
        let packed = STANDARD.decode(&self.0)?;
        let json = decompress_to_vec_zlib_with_limit(&packed, MOST_BYTES).map_err(ListingFault::Deflate)?;
        Ok(serde_json::from_slice(&json)?)
    }
}

impl Listings {
    /// Adds the listing of a case.
    ///
    /// # Errors
    /// It is not a valid listing.
    pub fn add(&mut self, case: &str, listing: &Listing) -> Result<(), ListingError> {
        let error = |fault| ListingError { case: case.to_owned(), fault };
        let content = listing.unpack().map_err(error)?;
        self.pool.take(case, content).ok_or_else(|| error(ListingFault::Dangling))
    }

    /// Returns the listings of cases, in their order, for cases that have one.
    ///
    /// # Errors
    /// One can't be read.
    pub fn of<'i>(
        ids: impl IntoIterator<Item = &'i str>,
        mut listings: HashMap<String, Listing>,
    ) -> Result<Self, ListingError> {
        let mut all = Self::default();
        for id in ids {
            if let Some(listing) = listings.remove(id) {
                all.add(id, &listing)?;
            }
        }
        Ok(all)
    }

    /// The instructions, each once.
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }
}

/// Returns which part of a finding's row is wrong.
const fn wrong_part(verdict: Verdict) -> u32 {
    match verdict {
        Verdict::WrongCfa | Verdict::BadMemory | Verdict::NoProgress => 1,
        Verdict::WrongRa => 2,
        Verdict::WrongFp => 4,
        _ => 8,
    }
}

/// Returns the places of findings by library and address, and what is wrong there. What the format can't express is not.
fn wrong_places(findings: &[Finding]) -> FxHashMap<(Option<&str>, u64), u32> {
    let mut places: FxHashMap<_, u32> = FxHashMap::default();
    for finding in findings.iter().filter(|finding| finding.blame != Blame::Format) {
        let Some(pc) = finding.pc else { continue };
        // For a caller's frame, the call is meant.
        let address = if finding.frame > Some(0) { pc.0.wrapping_sub(1) } else { pc.0 };
        *places.entry((finding.image.as_deref(), address)).or_default() |= wrong_part(finding.verdict);
    }
    places
}

/// Returns the source lines of the findings in a module.
fn source_lines(module: &Module<'_>, findings: &[Finding]) -> Vec<FindingLine> {
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
        // After the end of code with lines, the last line is meaningless.
        let is_of_function = start(address).is_some() && start(address) == start(from);
        let at = SourceLine { file: file.to_owned(), line };
        is_of_function.then(|| FindingLine { image: module.name.clone(), pc, at })
    })
    .collect()
}

/// Whether there is room for another function in the list.
const fn has_room(listed: usize, len: usize, is_right: bool) -> bool {
    let most = if is_right { MOST_INSTRUCTIONS } else { MOST_INSTRUCTIONS + MOST_WRONG };
    listed.saturating_add(len) <= most
}

impl Content {
    fn of(drafts: Vec<FunctionDraft<'_>>, lines: Vec<FindingLine>) -> Self {
        let mut content = Self { lines, ..Self::default() };
        let mut texts = Interned::default();
        let mut listed = 0;
        for draft in drafts {
            let len = draft.code.len();
            if !has_room(listed, len, draft.wrong.is_empty()) {
                content.left_out.push(texts.number(draft.name));
                continue;
            }
            listed += len;
            content.functions.push(Function::of(draft, &mut texts));
        }
        content.texts = texts.into_values();
        content
    }
}

impl Function {
    fn of(draft: FunctionDraft<'_>, texts: &mut Interned<String>) -> Self {
        let image = texts.number(draft.image.unwrap_or_default().to_owned());
        let mut body = FunctionCode {
            name: texts.number(draft.name),
            row_count: draft.row_count,
            ..FunctionCode::default()
        };
        for (len, text) in draft.code {
            body.code.extend([len, texts.number(text)]);
        }
        for (line, start, rules) in draft.rows {
            body.rows.extend([line, start, texts.number(rules)]);
        }
        for (line, rules) in draft.cfi {
            body.cfi.extend([line, texts.number(rules)]);
        }
        let mut course = FunctionVisits { folded: draft.folded, ..FunctionVisits::default() };
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
        Self { image, start: draft.start, body, course }
    }

    /// Renumbers its texts. Returns `None` if it refers to a missing text, or its
    /// lists are truncated.
    fn renumber(&mut self, mut number: impl FnMut(u32) -> Option<u32>) -> Option<()> {
        let Self { image, body, course, .. } = self;
        for text in [image, &mut body.name] {
            *text = number(*text)?;
        }
        // The group size in each list; the text is the last of a group.
        let lists = [(&mut body.code, 2), (&mut body.rows, 3), (&mut body.cfi, 2), (&mut course.frames, 2)];
        for (list, len) in lists {
            let mut entries = list.chunks_exact_mut(len);
            for entry in &mut entries {
                let text = entry.last_mut()?;
                *text = number(*text)?;
            }
            if !entries.into_remainder().is_empty() {
                return None;
            }
        }
        (course.hits.len() % 2 == 0 && course.wrong.len() % 2 == 0).then_some(())
    }
}

impl Pool {
    /// Takes the listing of a case. Returns `None` if it refers to texts that it
    /// doesn't have.
    fn take(&mut self, case: &str, content: Content) -> Option<()> {
        let Content { texts, functions, left_out, lines } = content;
        // Number 0 stands for nothing.
        self.texts.number(String::new());
        let mut numbers = vec![None; texts.len()];
        let mut listing = CaseListing::default();
        let interned = &mut self.texts;
        let mut number = |text: u32| {
            let index = usize::try_from(text).ok()?;
            let known = numbers.get_mut(index)?;
            if known.is_none() {
                *known = Some(interned.number(texts.get(index)?.clone()));
            }
            *known
        };
        for mut function in functions {
            let (len, is_right) = (function.body.code.len() / 2, function.course.wrong.is_empty());
            if !has_room(self.instructions, len, is_right) {
                listing.left_out.push(number(function.body.name)?);
                continue;
            }
            function.renumber(&mut number)?;
            let Function { image, start, body, course } = function;
            let known = self.bodies.numbers.len();
            let body = self.bodies.number(body);
            if self.bodies.numbers.len() > known {
                self.instructions += len;
            }
            let course = self.courses.number(course);
            listing.functions.push((image, format!("{start:x}"), body, course));
        }
        for name in left_out {
            listing.left_out.push(number(name)?);
        }
        self.cases.insert(case.to_owned(), listing);
        let key = |line: &FindingLine| (case.to_owned(), line.image.clone(), line.pc);
        self.lines.extend(lines.into_iter().map(|line| (key(&line), line.at)));
        Some(())
    }

    /// Returns the source line of a finding of a case.
    pub fn line(&self, case: &str, finding: &Finding) -> Option<&SourceLine> {
        self.lines.get(&(case.to_owned(), finding.image.clone(), finding.pc?.0))
    }

    /// Returns how many functions are left out.
    pub fn left_out(&self) -> usize {
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
}

/// What was written last: only changes are written.
#[derive(Default)]
struct Last {
    row: Option<Option<(u32, Option<u32>)>>,
    cfi: Option<Option<u64>>,
    frame: Option<Option<crate::examine::observed::TrueFrame>>,
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
        Self { target, module, observed, wrong, code }
    }

    fn read(mut self) -> Vec<FunctionDraft<'r>> {
        let module = self.module;
        let mut drafts: Vec<FunctionDraft<'r>> = Vec::new();
        let mut last = Last::default();
        let mut function = None;
        let mut row_counts = self.row_counts();
        for (loaded, instruction) in module.code().iter() {
            let Linked(plain) = module.linked(Loaded(loaded));
            let symbol = module.subject.symbols.at(plain);
            let fde = self.target.sections.lookup_fde(InstructionPointer(loaded)).ok().flatten();
            let start = symbol.map(|(_, offset)| plain - offset);
            let start = start.or_else(|| Some(module.linked(Loaded(fde.as_ref()?.start)).0));
            let is_observed = self.seen(loaded).is_some();
            // Between functions there is padding.
            if start.is_none() && !is_observed {
                continue;
            }
            if function != Some(start) || drafts.is_empty() {
                function = Some(start);
                last = Last::default();
                let name = symbol.map_or_else(|| format!("{plain:#x}"), |(name, _)| name.to_owned());
                drafts.push(FunctionDraft {
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
                    folded: None,
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

    /// Returns the number of rows of each FDE that cover something.
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

    fn line(
        &mut self,
        draft: &mut FunctionDraft<'r>,
        last: &mut Last,
        loaded: u64,
        instruction: &Instruction,
    ) {
        let line = u32::try_from(draft.code.len()).unwrap_or(u32::MAX);
        let Linked(plain) = self.module.linked(Loaded(loaded));
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
        let cfi_row = self.cfi_row(plain);
        let start = cfi_row.as_ref().map(|row| row.range.start);
        if last.cfi != Some(start) {
            last.cfi = Some(start);
            let rules = cfi_row.zip(self.module.cfi());
            let rules = rules.map_or_else(String::new, |(row, cfi)| cfi.rules(&row, plain).to_string());
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

    fn cfi_row(&self, plain: u64) -> Option<CfiRow> {
        self.module.cfi()?.row_at(plain).ok()?
    }

    /// Returns an instruction with names for code addresses, so that equal
    /// functions read the same at any address.
    fn named(&self, instruction: &Instruction) -> String {
        let text = instruction.text.as_str();
        let Some(at) = text.find("0x") else { return text.to_owned() };
        let digits = text[at + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
        let behind = at + 2 + digits;
        let Ok(loaded) = u64::from_str_radix(&text[at + 2..behind], 16) else { return text.to_owned() };
        let Linked(address) = self.module.linked(Loaded(loaded));
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
    fn equal_functions_are_kept_once() {
        let draft = |start, hits| FunctionDraft {
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
            folded: None,
        };
        let mut pool = Pool::default();
        pool.take("first", Content::of(vec![draft(0x10, vec![3, 3]), draft(0x20, vec![3, 1])], Vec::new()));
        pool.take("second", Content::of(vec![draft(0x30, vec![3, 3])], Vec::new()));
        let numbers = |case: &str| -> Vec<(u32, u32)> {
            pool.cases[case].functions.iter().map(|(.., body, course)| (*body, *course)).collect()
        };
        assert_eq!(numbers("first"), [(0, 0), (0, 1)]);
        assert_eq!(numbers("second"), [(0, 0)]);
        assert_eq!(pool.instructions, 2);
        let courses: FxHashSet<_> = pool.courses.numbers.keys().map(|course| course.hits.clone()).collect();
        assert_eq!(courses, FxHashSet::from_iter([vec![2, 3], vec![1, 3, 1, 1]]));
    }

    #[test]
    fn a_folded_function_has_a_line_for_each_row() {
        let text = |text: &str| text.to_owned();
        let draft = |hits: Vec<u64>, wrong| FunctionDraft {
            image: None,
            start: 0x10,
            name: text("f"),
            row_count: 2,
            code: ["push", "mov", "nop", "pop", "ret"].map(|name| (1, text(name))).to_vec(),
            rows: vec![(0, 0, text("first")), (1, 1, text("second")), (4, 4, text("first"))],
            cfi: vec![(0, text("first")), (3, text("other"))],
            frames: vec![(0, text("a")), (1, String::new()), (2, text("b")), (4, text("c"))],
            hits,
            wrong,
            folded: None,
        };
        let ran = draft(vec![1, 0, 7, 2, 2], Vec::new()).fold();
        assert_eq!(ran.code, [(1, text("push")), (2, text("mov")), (1, text("pop")), (1, text("ret"))]);
        assert_eq!((ran.hits, ran.folded), (vec![1, 7, 2, 2], Some([4, 5])));
        assert_eq!(ran.rows.iter().map(|row| row.0).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(ran.cfi, [(0, text("first")), (2, text("other"))]);
        assert_eq!(ran.frames, [(0, text("a")), (1, text("b")), (3, text("c"))]);
        let idle = draft(vec![0; 5], Vec::new()).fold();
        assert_eq!((idle.code, idle.folded, idle.rows.len()), (vec![(5, String::new())], Some([0, 5]), 0));
        let wrong = draft(vec![1; 5], vec![(1, 1)]).fold();
        assert_eq!((wrong.code.len(), wrong.folded), (5, None));
    }

    #[test]
    fn functions_are_left_out_by_name_unless_something_in_them_is_wrong() {
        let draft = |name: &str, wrong| FunctionDraft {
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
            folded: None,
        };
        let mut pool = Pool { instructions: MOST_INSTRUCTIONS - 5, ..Pool::default() };
        let drafts = vec![draft("right", Vec::new()), draft("wrong", vec![(0, 1)])];
        pool.take("case", Content::of(drafts, Vec::new()));
        let listing = &pool.cases["case"];
        assert_eq!(
            (listing.functions.len(), listing.left_out.len(), pool.instructions),
            (1, 1, MOST_INSTRUCTIONS + 5)
        );
    }

    #[test]
    fn a_listing_that_somebody_has_changed_is_refused() {
        let packed = |json: &str| Listing(STANDARD.encode(compress_to_vec_zlib(json.as_bytes(), LEVEL)));
        let content = |name: u32, code: &str| {
            format!(
                r#"{{"texts":["f","nop"],"functions":[{{"image":0,"start":0,"body":{{"name":{name},"row_count":0,
                   "code":{code},"rows":[],"cfi":[]}},"course":{{"hits":[],"frames":[],"wrong":[]}}}}],
                   "left_out":[],"lines":[]}}"#
            )
        };
        let add = |listing: &Listing| {
            Listings::default().add("case", listing).map_err(|error| error.fault.to_string())
        };
        assert_eq!(add(&packed(&content(0, "[1,1]"))), Ok(()));
        for changed in [content(7, "[1,1]"), content(0, "[1,7]"), content(0, "[1,1,1]")] {
            assert_eq!(add(&packed(&changed)), Err("it refers to what it doesn't have".to_owned()));
        }
        for other in [packed("[]"), packed(""), Listing("AAAA".to_owned()), Listing("?".to_owned())] {
            assert!(add(&other).is_err(), "{other:?}");
        }
    }
}
