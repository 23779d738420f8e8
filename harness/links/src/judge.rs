//! What is wrong with what a tool has made.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_elf::merge_faults::MergeFault;
use sframe_elf::object_file::ObjectFile;
use sframe_engine::lint::Severity;
use sframe_engine::{Header, Section};
use sframe_inspect::diff::{Difference, diff_file};
use sframe_inspect::lint::lint_file;
use sframe_judge::explore::{Certainty, ExploreError, ExploreOptions, ExploredFile, Root, Roots, explore};
use sframe_judge::finding::Finding;
use sframe_judge::target::{Linked, Loaded, SectionSource};
use sframe_judge::vocabulary::named;
use sframe_kit::text::{counted, first_of};
use sframe_kit::{Blame, FindingRow};

use crate::case::{Expected, LinkCase, Tool};
use crate::code::Text;
use crate::functions::{Functions, Rows, Table};
use crate::wanted::{Inputs, Wanted};

named! {
    /// A kind of fault in what a tool has made of `.sframe`.
    pub enum LinkFault, "kind of finding" {
        /// It has ended by a signal, or by a failed check of its own.
        Crashed = "crashed",
        /// It refuses what it can link without `.sframe`.
        Refused = "refused",
        /// It refuses, with or without `.sframe`, what it can do by its description.
        Unable = "unable",
        /// It has made a file, with status 0, of what no output can be right for.
        Accepted = "accepted",
        /// It says nothing of garbage in its input.
        Silent = "silent",
        /// It has made nothing, with status 0.
        NoOutput = "no-output",
        /// What was to be removed still describes functions.
        KeptRows = "kept-rows",
        /// The output has no `.sframe`, although objects have some.
        NoSection = "no-section",
        /// The sections of the objects follow one another, each with its header, of which readers see the first.
        Concatenated = "concatenated",
        /// A function of the output has no rows, although its object has some; or code that the linker has made has none.
        MissingFde = "missing-fde",
        /// The section describes the code as it was before this program moved it.
        Stale = "stale",
        /// Rows describe code where no function starts, as those of removed functions do.
        DeadFde = "dead-fde",
        /// The rows of a function are not those of its object.
        WrongRows = "wrong-rows",
        /// A function is described twice.
        DuplicateFde = "duplicate-fde",
        /// A function has rows that its object does not have.
        BorrowedRows = "borrowed-rows",
        /// The header does not say what those of the objects say.
        WrongHeader = "wrong-header",
        /// The section can't be read.
        Unreadable = "unreadable",
        /// A rule of the format for sections, or for the file around them.
        Lint = "lint",
        /// The rows of code that the linker has made are wrong.
        LinkerMade = "linker-made",
        /// Rows are wrong where the program was executed.
        Run = "run",
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct LinkFinding {
    /// Its kind.
    pub kind: LinkFault,
    /// The functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// The rule of the linter that is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the section says of them that is wrong, or what the linter says; or, of a finding about the whole file, what is
    /// wrong, or what the tool says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// What is wrong, in a sentence.
    pub message: String,
    /// Its known cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

impl LinkFinding {
    pub(super) fn new(kind: LinkFault, functions: Vec<String>, message: impl Into<String>) -> Self {
        Self { kind, functions, rule: None, says: None, message: message.into(), known: None }
    }

    /// That rows are wrong, and what they say.
    pub(super) fn of_rows(kind: LinkFault, function: String, says: String, message: String) -> Self {
        Self { says: Some(says), ..Self::new(kind, vec![function], message) }
    }

    /// That a rule of the linter is broken.
    pub(super) fn of_rule(rule: &str, says: String, message: impl Into<String>) -> Self {
        let finding = Self::new(LinkFault::Lint, Vec::new(), message);
        Self { rule: Some(rule.to_owned()), says: Some(says), ..finding }
    }

    /// That something is wrong with the whole file, or that a tool has not made it.
    pub(super) fn of_file(kind: LinkFault, says: String, message: String) -> Self {
        Self { says: Some(says), ..Self::new(kind, Vec::new(), message) }
    }

    /// What it names: functions, with what the section says of them if that is wrong, a rule of the linter with what is
    /// said, or what is said of the whole file.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let of_file = self.says.clone().filter(|_| self.functions.is_empty() && self.rule.is_none());
        let says = self.says.as_ref().map(|says| format!(": {says}")).unwrap_or_default();
        self.functions.iter().chain(&self.rule).map(move |name| format!("{name}{says}")).chain(of_file)
    }
}

/// The rules of the linter that say the same as the comparison of functions, or nothing of the linker: see
/// `specs/lints.md`.
const NOT_OF_LINKERS: [&str; 8] = [
    "stale-fdes",
    "uncovered-function",
    "partly-covered-function",
    "obsolete-version",
    "first-row-start",
    "fixed-ra-offset",
    "fixed-fp-offset",
    // GNU ld breaks it in each file that it links, which hides nothing: one case is about it.
    SEGMENT_LONGER,
];
/// The rule that says that the segment ends after the section.
const SEGMENT_LONGER: &str = "segment-longer";

/// Compares an output with the objects that it was made of.
pub(super) fn judge(case: &LinkCase, inputs: Inputs<'_>, output: &[u8]) -> Result<Vec<LinkFinding>, String> {
    let own = Functions::read(output)?;
    let is_relocatable = is_relocatable(output);
    let mut findings = Vec::new();
    if let Some(why) = &own.unreadable {
        let message = format!(".sframe can't be read: {why}");
        findings.push(LinkFinding::of_file(LinkFault::Unreadable, why.to_string(), message));
    }
    let subject = ObjectFile::parse(output).map_err(|error| error.to_string())?;
    let has_no_bytes = subject.sframe.is_some_and(|section| section.data.is_empty());
    let is_empty = own.rows.is_empty() && (own.unreadable.is_none() || has_no_bytes);
    if case.expected == Expected::NoRows && is_empty {
        // An empty section breaks no rule that matters to anybody.
        return Ok(Vec::new());
    }
    if case.expected == Expected::NoRows && !own.rows.is_empty() {
        let message = "the section was to be removed, and still describes functions";
        return Ok(vec![LinkFinding::new(LinkFault::KeptRows, Vec::new(), message)]);
    }
    let loses_all = |kind, message: String| Ok(vec![LinkFinding::new(kind, Vec::new(), message)]);
    let has_rows = inputs.files.iter().any(|file| !file.rows.is_empty());
    if subject.sframe.is_none() && has_rows {
        return loses_all(LinkFault::NoSection, "there is no .sframe".to_owned());
    }
    let mut rules = lint_rules(output, &case.name);
    let is_linker_made = |address| !is_relocatable && subject.linker_made(address).is_some();
    if let Some(broken) = rules.remove(CONCATENATED) {
        let mut findings = of_first(case, inputs, &own, &is_linker_made);
        let message = broken.message(CONCATENATED);
        findings.insert(0, LinkFinding::new(LinkFault::Concatenated, Vec::new(), message));
        retain_own(&mut rules, case, inputs);
        findings.extend(of_lint(rules));
        return Ok(findings);
    }
    findings.extend(of_functions(case, inputs, &own, &is_linker_made));
    let stale = stale(&subject);
    if let Some(stale) = &stale {
        // It is why these have none, and others that are no more have some.
        findings.retain(|finding| !matches!(finding.kind, LinkFault::DeadFde | LinkFault::MissingFde));
        findings.push(LinkFinding::new(LinkFault::Stale, Vec::new(), stale.to_string()));
    }
    if !is_empty {
        findings.extend(of_header(inputs, &own, is_relocatable));
        retain_own(&mut rules, case, inputs);
        findings.extend(of_lint(rules));
    }
    if !is_relocatable {
        findings.extend(of_linker_made(output, &own, &is_linker_made));
        // A stale section is why.
        if own.unreadable.is_none() && stale.is_none() {
            findings.extend(of_bare_tables(case.last_tool(), inputs, &own));
        }
    }
    Ok(findings)
}

/// What shows that a program has moved code, and not its rows.
fn stale(subject: &ObjectFile<'_>) -> Option<MergeFault> {
    let bytes = subject.sframe?;
    let section = Section::parse(bytes.data, bytes.address).ok()?;
    subject.merge_faults(&section).into_iter().find(|fault| fault.blame().0 == Blame::Rewriter)
}

/// Whether a file is to be linked again.
pub(super) fn is_relocatable(output: &[u8]) -> bool {
    ElfFile64::<Endianness>::parse(output).is_ok_and(|elf| elf.kind() == ObjectKind::Relocatable)
}

/// What is wrong with the first of several sections, which readers see: it is that of the first object that has one, or of all
/// of them, with a header left behind.
fn of_first(
    case: &LinkCase,
    inputs: Inputs<'_>,
    own: &Functions,
    is_linker_made: &dyn Fn(u64) -> bool,
) -> Vec<LinkFinding> {
    let of = |inputs: Inputs<'_>| {
        let mut findings = of_functions(case, inputs, own, is_linker_made);
        findings.extend(of_header(inputs, own, false));
        findings
    };
    let first = inputs.files.iter().find(|file| file.header.is_some());
    let alone = first.map(|file| Inputs { files: std::slice::from_ref(file), ..inputs });
    let of_each = alone.into_iter().chain([inputs]).map(of);
    of_each.min_by_key(Vec::len).unwrap_or_default()
}

fn of_functions(
    case: &LinkCase,
    inputs: Inputs<'_>,
    own: &Functions,
    is_linker_made: &dyn Fn(u64) -> bool,
) -> Vec<LinkFinding> {
    if own.unreadable.is_some() {
        return Vec::new();
    }
    let wanted = Wanted::of(case, inputs, own);
    let (mut missing, mut borrowed, mut twice) = (Vec::new(), Vec::new(), Vec::new());
    let absent: Vec<String> = wanted.absent.iter().map(|name| (*name).to_owned()).collect();
    let mut findings = Vec::new();
    for (address, (names, rows)) in &wanted.rows {
        let found = own.rows.get(address).map(Vec::as_slice).unwrap_or_default();
        let name = || names.join(" = ");
        // An FDE of no code may be left out, or be where another is.
        let of_code = |rows: &&&Rows| !rows.is_empty();
        let needed: Vec<&&Rows> = rows.iter().filter(of_code).collect();
        let has: Vec<&Rows> = found.iter().filter(|rows| !rows.is_empty()).collect();
        match (needed.is_empty(), has.is_empty()) {
            (true, true) => {}
            (false, true) => missing.push(name()),
            (true, false) => borrowed.push(name()),
            (false, false) => {
                if let (Some(wrong), Some(right)) =
                    (has.iter().find(|rows| !needed.contains(rows)), needed.first())
                {
                    let (has, needs) = wrong.difference(right);
                    let message = format!("{} ({address:#x}): it has {has}, not {needs}", name());
                    findings.push(LinkFinding::of_rows(LinkFault::WrongRows, name(), has, message));
                } else if has.len() > needed.len() {
                    twice.push(name());
                } else if has.len() < needed.len() {
                    missing.push(name());
                }
            }
        }
    }
    let dead: Vec<String> = own
        .rows
        .iter()
        .filter(|(address, rows)| {
            !wanted.rows.contains_key(address) && rows.iter().any(|rows| !rows.is_empty())
        })
        .filter(|(address, _)| !is_linker_made(**address))
        // Without a section table, nothing tells code that the linker has made.
        .filter(|(address, _)| own.has_sections || Text::with(&own.texts, **address).is_none())
        .map(|(address, _)| format!("{address:#x}"))
        .collect();
    twice.extend(overlaps(own, is_linker_made));
    let mut say = |kind, functions: Vec<String>, what: &str| {
        if !functions.is_empty() {
            let message = format!(
                "{} {what}: {}",
                counted(functions.len() as u64, "function"),
                first_of(&functions, LISTED)
            );
            findings.push(LinkFinding::new(kind, functions, message));
        }
    };
    say(LinkFault::MissingFde, missing, "without rows that the objects have");
    say(LinkFault::MissingFde, absent, "that neither names nor code nor rows of the output show");
    say(LinkFault::BorrowedRows, borrowed, "with rows that the objects do not have");
    say(LinkFault::DuplicateFde, twice, "described more than once");
    say(LinkFault::DeadFde, dead, "described where none starts");
    say(
        LinkFault::DeadFde,
        beyond_tables(own, is_linker_made),
        "of the linker described beyond the end of its table",
    );
    findings
}

/// The code that the linker has made and that has more than one FDE.
fn overlaps(own: &Functions, is_linker_made: &dyn Fn(u64) -> bool) -> Vec<String> {
    let (mut end, mut found) = (0, Vec::new());
    for (start, size) in of_tables(own, is_linker_made).filter(|(_, size)| *size > 0) {
        if start < end {
            found.push(format!("{start:#x}"));
        }
        end = end.max(start.saturating_add(size));
    }
    found
}

/// The FDEs that begin in code that the linker has made and end in other code.
fn beyond_tables(own: &Functions, is_linker_made: &dyn Fn(u64) -> bool) -> Vec<String> {
    let is_beyond = |(start, size): &(u64, u64)| {
        let last = start.saturating_add(size.saturating_sub(1));
        // Between two tables may be nothing.
        !is_linker_made(last) && Text::with(&own.texts, last).is_some()
    };
    of_tables(own, is_linker_made).filter(is_beyond).map(|(start, _)| format!("{start:#x}")).collect()
}

/// The FDEs that begin in code that the linker has made: where, and their sizes.
fn of_tables<'o>(
    own: &'o Functions,
    is_linker_made: &'o dyn Fn(u64) -> bool,
) -> impl Iterator<Item = (u64, u64)> + 'o {
    let all = own.rows.iter().filter(|(start, _)| is_linker_made(**start));
    all.flat_map(|(start, all)| all.iter().map(move |rows| (*start, rows.size())))
}

/// How many functions a sentence lists.
const LISTED: usize = 6;

/// What the header must say (2.1, 2.2).
fn of_header(inputs: Inputs<'_>, own: &Functions, is_relocatable: bool) -> Vec<LinkFinding> {
    let Some(header) = own.header else { return Vec::new() };
    let headers: Vec<Header> =
        inputs.files.iter().filter(|file| !file.rows.is_empty()).filter_map(|file| file.header).collect();
    let mut wrong = Vec::new();
    let mut differ = |what: &str, own: String, all: Vec<String>| {
        let all: BTreeSet<String> = all.into_iter().collect();
        if !all.is_empty() && !all.contains(&own) {
            wrong.push(format!("{what} is {own}, not {}", all.into_iter().collect::<Vec<_>>().join(" or ")));
        }
    };
    let each = |of: &dyn Fn(&Header) -> String| headers.iter().map(of).collect::<Vec<_>>();
    differ(
        "the version",
        header.version.number().to_string(),
        each(&|header| header.version.number().to_string()),
    );
    differ("the ABI", header.abi.to_string(), each(&|header| header.abi.to_string()));
    let offset = |offset: Option<i8>| offset.map_or_else(|| "unset".to_owned(), |offset| offset.to_string());
    differ(
        "the fixed offset of RA",
        offset(header.fixed_ra_offset),
        each(&|header| offset(header.fixed_ra_offset)),
    );
    differ(
        "the fixed offset of FP",
        offset(header.fixed_fp_offset),
        each(&|header| offset(header.fixed_fp_offset)),
    );
    if header.flags.frame_pointer() && !headers.iter().all(|header| header.flags.frame_pointer()) {
        wrong.push("all functions are said to keep FP, which not all objects say".to_owned());
    }
    // Relocations, which are left as they were, are applied to such starts (2.1.3). In a linked file, both forms are right.
    let is_pcrel = |header: &Header| header.flags.func_start_pcrel();
    if is_relocatable && !headers.is_empty() && headers.iter().all(is_pcrel) && !is_pcrel(&header) {
        wrong.push("starts are not said to be relative to their fields, which all objects say".to_owned());
    }
    let finding = |message: String| LinkFinding::of_file(LinkFault::WrongHeader, message.clone(), message);
    wrong.into_iter().map(finding).collect()
}

/// The rule that says that sections follow one another.
const CONCATENATED: &str = "concatenated-sections";

/// What the linter says of a rule.
pub(super) struct Broken {
    number: &'static str,
    /// Its first finding.
    says: String,
    count: u64,
}

impl Broken {
    fn message(&self, rule: &str) -> String {
        let more = if self.count > 1 { format!(" ({} times)", self.count) } else { String::new() };
        format!("{} ({rule}): {}{more}", self.number, self.says)
    }
}

/// What the linter says, by rule.
pub(super) fn lint_rules(output: &[u8], name: &str) -> BTreeMap<&'static str, Broken> {
    let mut rules: BTreeMap<&str, Broken> = BTreeMap::new();
    let report = lint_file(output, name).map(|report| report.findings).unwrap_or_default();
    for finding in &report {
        if finding.severity() != Severity::Note {
            let first = || Broken { number: finding.rule, says: finding.message.to_string(), count: 0 };
            rules.entry(finding.name).or_insert_with(first).count += 1;
        }
    }
    rules
}

/// Leaves the rules that a tool has broken.
fn retain_own(rules: &mut BTreeMap<&'static str, Broken>, case: &LinkCase, inputs: Inputs<'_>) {
    // What was so before is not of this tool.
    rules.retain(|rule, _| {
        !inputs.broken.contains(rule)
            && (!NOT_OF_LINKERS.contains(rule) || *rule == SEGMENT_LONGER && case.exact_segment)
    });
}

fn of_lint(rules: BTreeMap<&str, Broken>) -> impl Iterator<Item = LinkFinding> {
    rules.into_iter().map(|(rule, broken)| {
        let message = broken.message(rule);
        LinkFinding::of_rule(rule, broken.says, message)
    })
}

/// What `.eh_frame`, and the code itself, say of the rows of the code that the linker has made.
fn of_linker_made(output: &[u8], own: &Functions, is_linker_made: &dyn Fn(u64) -> bool) -> Vec<LinkFinding> {
    let place = |found: &Difference| format!("{}+{:#x}", found.function, found.offset.0);
    let finding = |place, row: Option<&FindingRow>, message| {
        LinkFinding::of_rows(LinkFault::LinkerMade, place, rules_of(row), message)
    };
    // There may be nothing to compare with.
    let compared = diff_file(output, "output").map(|report| report.findings).unwrap_or_default();
    let of_tables = compared.iter().filter(|finding| is_linker_made(finding.pc.0));
    let mut wrong: Vec<LinkFinding> =
        of_tables.map(|found| finding(place(found), found.row.as_ref(), found.message.clone())).collect();
    // A section that can't be read, and one that is not there, are other findings.
    for found in proved(output, own, is_linker_made).unwrap_or_default() {
        if found.pc.is_some_and(|pc| is_linker_made(pc.0)) {
            let place = found.message.place.as_ref().map(ToString::to_string).unwrap_or_default();
            let place = place.split(" (").next().unwrap_or_default().to_owned();
            let other = finding(place, found.row.as_ref(), found.message.to_string());
            if !wrong.iter().any(|known| known.functions == other.functions) {
                wrong.push(other);
            }
        }
    }
    wrong
}

/// What a row says.
pub(super) fn rules_of(row: Option<&FindingRow>) -> String {
    row.map_or_else(|| "no row".to_owned(), |row| row.rules.to_string())
}

/// What exploring such functions of a file proves of their rows.
fn proved(
    output: &[u8],
    own: &Functions,
    is_wanted: &dyn Fn(u64) -> bool,
) -> Result<Vec<Finding>, ExploreError> {
    let file = ExploredFile::of(output.to_vec(), SectionSource::Sframe)?;
    let target = file.open()?;
    let mut roots = Roots::of(&target);
    roots.retain(|entry| is_wanted(target.place(Loaded(entry)).address.0));
    if target.executable().image.cpu.abi.has_link_register() {
        // The common part of a table, and its entry for TLS descriptors, are entered with SP and the return address as calls
        // leave them, from code that no path leads out of.
        for start in own.rows.keys().filter(|start| is_wanted(**start)) {
            let entry = target.executable().loaded(Linked(*start)).0;
            if roots.entries.insert(entry) {
                roots.roots.push(Root { entry, is_certain: true, link: None });
            }
        }
        roots.roots.sort_unstable();
    }
    let explored = explore(&target, &roots, &ExploreOptions::default())?;
    let proved = explored.findings().into_iter().filter(|found| found.certainty == Certainty::Proved);
    Ok(proved.map(|found| found.finding).collect())
}

/// The code that a linker has made and that has no rows, or, after what rewrites files, has none any more. SFrame can
/// describe each form of it, and no assembler can.
fn of_bare_tables(last: Tool, inputs: Inputs<'_>, own: &Functions) -> impl Iterator<Item = LinkFinding> {
    let size = |parts: &[Range<u64>]| parts.iter().map(|part| part.end - part.start).sum::<u64>();
    let was_described = move |name: &str, bare: u64| {
        let tables = inputs.files.iter().flat_map(|file| file.tables.iter().map(move |table| (file, table)));
        let mut same = tables.filter(|(_, table)| table.name == name);
        same.any(|(file, table)| size(&file.bare_parts(table)) < bare)
    };
    own.tables.iter().filter_map(move |table| {
        let Table { name, range } = table;
        let parts = own.bare_parts(table);
        let bare = size(&parts);
        if bare == 0 || last != Tool::Ld && !was_described(name, bare) {
            return None;
        }
        let within = range.end - range.start;
        if bare == within {
            let message = format!("{} of {name} without a row", counted(bare, "byte"));
            return Some(LinkFinding::new(LinkFault::MissingFde, vec![name.clone()], message));
        }
        let offsets = |part: &Range<u64>| {
            format!("{name}+{:#x}..{:#x}", part.start - range.start, part.end - range.start)
        };
        let message = format!("{} of {within} of {name} without a row", counted(bare, "byte"));
        Some(LinkFinding::new(LinkFault::MissingFde, parts.iter().map(offsets).collect(), message))
    })
}

impl LinkFault {
    /// Whether findings of this kind name functions, sections of linker-made code, rules, or what is said of the file.
    pub(super) const fn names(self) -> bool {
        match self {
            Self::Accepted
            | Self::NoOutput
            | Self::KeptRows
            | Self::NoSection
            | Self::Concatenated
            | Self::Stale => false,
            Self::Crashed
            | Self::Refused
            | Self::Unable
            | Self::WrongHeader
            | Self::Unreadable
            | Self::Silent
            | Self::MissingFde
            | Self::DeadFde
            | Self::WrongRows
            | Self::DuplicateFde
            | Self::BorrowedRows
            | Self::Lint
            | Self::LinkerMade
            | Self::Run => true,
        }
    }

    /// Whether it says of the whole section that it is lost, so that nothing else is worth saying.
    pub(super) const fn is_total(self) -> bool {
        matches!(self, Self::NoSection | Self::Concatenated)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sframe_elf::replace_section::embed;
    use sframe_engine::write;
    use sframe_inspect::lint::all_rules;

    use super::*;
    use crate::case::LinkCases;
    use crate::wanted::Placement;

    /// What changes code where it is keeps the rows of PLTs as well: none is lost, and none is cut.
    #[test]
    fn what_rewrites_files_keeps_the_rows_of_tables() {
        let cases = LinkCases::load(Path::new("../../corpus/links")).expect("the cases");
        let case = cases.cases.iter().find(|case| case.name == "bolt_in_place").expect("a case");
        let linked = cases.object("v3/amd64/linked").expect("an object");
        let subject = ObjectFile::parse(linked).expect("an ELF file");
        let bytes = subject.sframe.expect("a section");
        let read = Section::parse(bytes.data, bytes.address).expect("a section that can be read");
        let of_table = |function: &write::Function| subject.linker_made(function.start).is_some();
        let inputs = [Functions::read(linked).expect("functions")];
        let broken = BTreeSet::new();
        let inputs = Inputs { files: &inputs, broken: &broken, placement: Placement::of(Tool::Bolt) };
        let named = |change: &dyn Fn(&mut write::Section)| {
            let mut section = write::Section::from_read(&read).expect("a section that can be written");
            change(&mut section);
            let output = embed(linked, object::elf::SHT_GNU_SFRAME, |at| section.write(at));
            let output = output.expect("room for the section");
            let findings = judge(case, inputs, &output).expect("an output that can be checked");
            let missing = findings.into_iter().filter(|finding| finding.kind == LinkFault::MissingFde);
            missing.flat_map(|finding| finding.functions).collect::<Vec<_>>()
        };
        assert_eq!(named(&|_| {}), [""; 0]);
        assert_eq!(named(&|section| section.functions.retain(|function| !of_table(function))), [".plt"]);
        let cut = named(&|section| {
            let last = section.functions.iter_mut().filter(|function| of_table(function));
            last.max_by_key(|function| function.start).expect("an FDE of a table").size -= 16;
        });
        assert_eq!(cut, [".plt+0x20..0x30"]);
    }

    /// Nothing of the program leads to the common part of a table, since the addresses that it jumps to are loaded.
    #[test]
    fn rows_of_the_common_part_of_a_table_are_judged() {
        let right = std::fs::read("../../corpus/builds/gnu-2.47/s390x/plt.O2-shared").expect("a build");
        let wrong = |bytes: &[u8]| {
            let subject = ObjectFile::parse(bytes).expect("an ELF file");
            let own = Functions::read(bytes).expect("its functions");
            let proved =
                proved(bytes, &own, &|address| subject.linker_made(address).is_some()).expect("explored");
            proved.len()
        };
        assert_eq!(wrong(&right), 0);
        let subject = ObjectFile::parse(&right).expect("an ELF file");
        let found = subject.sframe.expect("a section");
        let section = Section::parse(found.data, found.address).expect("a section that can be read");
        let fdes = section.fdes().flatten();
        let common = fdes.filter(|fde| subject.linker_made(fde.start).is_some()).min_by_key(|fde| fde.start);
        let common = common.expect("the FDE of the common part");
        let cfa = |data: &[u8]| {
            let section = Section::parse(data, found.address).expect("a section that can be read");
            section.rows(&common).flatten().next().and_then(|row| row.cfa)
        };
        // The byte of its row that holds the offset of the CFA.
        let at = right.windows(found.data.len()).position(|bytes| bytes == found.data).expect("its bytes");
        let own = cfa(found.data).expect("a CFA");
        let changed = (common.rows_offset..).map(|place| {
            let mut bytes = right.clone();
            bytes[at + place] ^= 1;
            bytes
        });
        let is_other = |bytes: &Vec<u8>| {
            cfa(&bytes[at..at + found.data.len()])
                .is_some_and(|cfa| cfa.base == own.base && cfa.offset != own.offset)
        };
        let bytes = changed.into_iter().find(is_other).expect("the offset of the CFA");
        assert!(wrong(&bytes) > 0);
    }

    #[test]
    fn rules_that_are_named_exist() {
        for name in NOT_OF_LINKERS.iter().chain(&[CONCATENATED]) {
            assert!(all_rules().any(|rule| rule.name == *name), "{name}");
        }
    }
}
