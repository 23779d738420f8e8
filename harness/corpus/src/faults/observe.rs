//! What a check of an example's build shows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sframe_elf::find_sframe::find_sframe;
use sframe_elf::sframe_section::Input;
use sframe_engine::{Fde, InstructionPointer};
use sframe_inspect::dump::{Dump, text};
use sframe_judge::examine::coverage::RowUse;
use sframe_judge::examine::{ExamineOptions, broken_reason, examine};
use sframe_judge::explore::ExploreError;
use sframe_judge::finding::{Finding, FindingRow, Witness};
use sframe_judge::target::files::{Files, FilesError, LibraryFolders};
use sframe_judge::target::{MadeSections, SectionSource, Target, TargetError};
use sframe_judge::triage::triage_place;
use sframe_judge::truth::cross_check::Traces;
use sframe_judge::unwind::sframe_unwinder;
use sframe_judge::vocabulary::Verdict;
use sframe_kit::text::counted;
use sframe_machine::{MachineError, Options};

use super::explored::explored;
use crate::spec::{Blame, Example, FaultySection, NO_ROW};

/// The witness that is the run itself.
const RUN: &str = "run";

/// The witness that has explored the build.
const EXPLORE: &str = "explore";

/// The most instructions of an example.
const BUDGET: u64 = 1_000_000;

/// Why an example's build can't be judged.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// A file is missing or can't be loaded.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A file can't be read.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The machine can't be set up.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// It can't be explored.
    #[error(transparent)]
    Explore(#[from] ExploreError),
    /// The program did not run to its end.
    #[error("the program did not run to its end: {0}")]
    Broken(String),
}

/// What a check shows.
#[derive(Debug, Default)]
pub struct Observed {
    findings: Vec<Finding>,
    /// What exploring says of the example's row.
    explored: Option<String>,
    /// Functions that executed without an FDE.
    uncovered: BTreeMap<String, u64>,
    /// Functions of the program with rows that were not exercised.
    unexercised: BTreeSet<String>,
    /// What `dump` prints of the example's function.
    dump: Vec<String>,
    /// The row that a section made from `.eh_frame` has where the function starts.
    first_of_cfi: Option<FindingRow>,
}

impl Observed {
    /// Checks an example's build at every instruction, judged by one section. A build without
    /// that section shows nothing.
    ///
    /// # Errors
    /// It can't be judged: see [`ObserveError`].
    pub fn of(program: &Path, example: &Example, section: FaultySection) -> Result<Self, ObserveError> {
        let files = Files::find(program, LibraryFolders::default())?;
        let source = match section {
            FaultySection::Sframe => SectionSource::Sframe,
            FaultySection::EhFrame => SectionSource::EhFrame,
        };
        let made = MadeSections::of(&files, source);
        // Assemblers write an empty section where they can express no function.
        let section_of = find_sframe(&files.executable);
        let is_empty = section_of.is_ok_and(|found| found.is_none_or(|found| found.data.is_empty()));
        if is_empty && section == FaultySection::Sframe {
            return Ok(Self::default());
        }
        let target = Target::open_made(&files, &made)?;
        let look = ExamineOptions {
            traces: Traces::of_abi(target.executable().image.cpu.abi),
            ..ExamineOptions::default()
        };
        let options = Options { budget: BUDGET, ..Options::default() };
        let mut unwinder = sframe_unwinder(&target);
        let examination = examine(&target, &mut *unwinder, &look, &options)?;
        if let Some(broken) = broken_reason(&examination, &target, None) {
            return Err(ObserveError::Broken(broken.to_string()));
        }
        let dump = match section {
            FaultySection::Sframe => dumped(&target, &files.executable, &example.function),
            // There is nothing to dump: the section was made in memory.
            FaultySection::EhFrame => None,
        };
        let mut findings = examination.findings;
        if example.verdict == Verdict::NoFde {
            let uncovered = &examination.coverage.uncovered;
            findings.extend(without_fde(&target, &example.function, uncovered));
        }
        Ok(Self {
            dump: dump.unwrap_or_default(),
            explored: explored(program, example, source)?,
            first_of_cfi: first_of_cfi(&files, &example.function),
            unexercised: examination
                .coverage
                .unexercised
                .into_iter()
                .filter(|row| row.image.is_none() && row.used != RowUse::WithoutCaller)
                .map(|row| row.function)
                .collect(),
            uncovered: examination.coverage.uncovered,
            findings,
        })
    }

    /// What `dump` prints of the example's function, line by line. Empty if it has no FDE.
    #[must_use]
    pub fn dump(&self) -> &[String] {
        &self.dump
    }

    /// The functions of the program with rows that were not exercised.
    pub const fn unexercised(&self) -> &BTreeSet<String> {
        &self.unexercised
    }

    /// All that was found.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The row at the start of the example's function, according to its CFI.
    pub(super) const fn first_of_cfi(&self) -> Option<&FindingRow> {
        self.first_of_cfi.as_ref()
    }

    /// The first finding in a function of the program that blames a component and is wanted.
    pub(super) fn finding_in(
        &self,
        function: &str,
        blame: Blame,
        is_wanted: &dyn Fn(&Finding) -> bool,
    ) -> Option<&Finding> {
        let is_there = |finding: &&Finding| {
            finding.function.as_deref() == Some(function)
                && finding.image.is_none()
                && finding.may_be_blamed_on(blame)
                && is_wanted(finding)
        };
        self.findings.iter().find(is_there)
    }

    /// Returns the finding that an example is about.
    #[must_use]
    pub fn finding(&self, example: &Example) -> Option<&Finding> {
        let start = |finding: &Finding| finding.row.as_ref().map(|row| row.start.0);
        self.alike(example).find(|finding| start(finding) == example.row.map(|row| row.0))
    }

    /// Whether there is such a finding, in whatever row of the function: where that is depends on
    /// the compiler.
    #[must_use]
    pub fn shows(&self, example: &Example) -> bool {
        self.alike(example).next().is_some()
    }

    fn alike<'o>(&'o self, example: &Example) -> impl Iterator<Item = &'o Finding> {
        let Example { function, verdict, wrong, .. } = example;
        let is_missing = *wrong == NO_ROW && self.uncovered.contains_key(function) && !example.is_crash();
        let has_row = |finding: &Finding| {
            let rules = finding.row.map(|row| row.rules.to_string());
            rules.as_ref() == Some(wrong)
                && finding.function.as_ref() == Some(function)
                && finding.image.is_none()
        };
        self.findings
            .iter()
            .filter(move |finding| finding.verdict == *verdict && (is_missing || has_row(finding)))
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// What it shows of the example's function, in a line each.
    pub(super) fn lines(&self, example: &Example) -> Vec<String> {
        let here = |finding: &&Finding| {
            finding.function.as_ref().is_none_or(|function| *function == example.function)
        };
        let line = |finding: &Finding| format!("{}: {}", finding.verdict, finding.message);
        let mut lines: Vec<String> = self.findings.iter().filter(here).map(line).collect();
        if self.uncovered.contains_key(&example.function) {
            lines.push(format!("{} has no FDE", example.function));
        }
        lines
    }
}

/// The finding that a function was executed, and has no FDE though its CFI has one. Findings of a check do
/// not have it: whether a function should have an FDE is what specs say.
fn without_fde(target: &Target<'_>, function: &str, uncovered: &BTreeMap<String, u64>) -> Option<Finding> {
    let count = uncovered.get(function)?;
    let start = InstructionPointer(target.addresses_of(&format!("!{function}")).first()?.0);
    let (blame, confidence, evidence) = triage_place(Verdict::NoFde, start.into(), target);
    let is_described = evidence.iter().any(|evidence| evidence.witness == Witness::Cfi);
    // Without CFI, nobody says what the rows should be; and where it says why there is none, nothing is wrong.
    if matches!(blame, Blame::CompilerOrCfi | Blame::ProducerAssembler) || !is_described {
        return None;
    }
    let executed = counted(*count, "instruction");
    let message = format!("{executed} of {function} executed without an FDE");
    let finding = Finding::of_spec(Verdict::NoFde, "an FDE", "none", message);
    Some(Finding { function: Some(function.to_owned()), blame, confidence, evidence, ..finding })
}

/// What each witness says of a finding, as pages have it.
pub(super) fn witnesses(observed: &Observed, finding: &Finding) -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([(RUN.to_owned(), finding.message.says.to_string())]);
    all.extend(observed.explored.clone().map(|says| (EXPLORE.to_owned(), says)));
    for evidence in &finding.evidence {
        // The section's row is the wrong one.
        if evidence.witness == Witness::Reader && finding.row.is_some() {
            continue;
        }
        let side = evidence.side().map_or_else(String::new, |side| format!("{side}: "));
        let says = format!("{side}{}", evidence.says);
        let of_it = all.entry(evidence.witness.to_string()).or_default();
        *of_it = if of_it.is_empty() { says } else { format!("{of_it}; {says}") };
    }
    all
}

/// What `dump` prints of a function of the executable.
fn dumped(target: &Target<'_>, bytes: &[u8], function: &str) -> Option<Vec<String>> {
    let start = target.executable().linked(*target.addresses_of(&format!("!{function}")).first()?).0;
    let input = Input::open(bytes, None).ok()?;
    let dump = Dump::decode(&input.data, input.address).ok()?;
    // A signal frame's FDE begins before its function.
    let has_it = |fde: &Fde| start.checked_sub(fde.start).is_some_and(|offset| offset < u64::from(fde.size));
    let fde = dump.functions()?.filter_map(|function| function.fde.ok()).find(has_it)?;
    let head = format!("func idx [{}]:", fde.index);
    let part = text("", input.format, &dump).skip(1).find(|part| part.contains(&head))?;
    Some(part.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect())
}

fn first_of_cfi(files: &Files, function: &str) -> Option<FindingRow> {
    let made = MadeSections::of(files, SectionSource::EhFrame);
    let target = Target::open_made(files, &made).ok()?;
    let start = *target.addresses_of(&format!("!{function}")).first()?;
    let found = target.sections.lookup(InstructionPointer(start.0)).ok().flatten()?;
    Some(FindingRow::new(&found.row))
}
