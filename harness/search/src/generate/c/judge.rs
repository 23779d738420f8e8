//! What a run, an exploration and a comparison say of a program, and where they contradict one another.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Serialize, Serializer};
use sframe_inspect::diff::{DiffReport, Difference, Field, Uncovered, diff_file};
use sframe_judge::finding::{Address, Evidence, Finding};
use sframe_judge::target::files::Files;
use sframe_judge::target::{MadeSections, SectionSource, Target, TargetError};
use sframe_judge::vocabulary::LayoutFact;
use sframe_kit::Blame;

use super::contradictions::{Contradiction, blames};
use super::oracle::{Item, NotJudged, Seen, Spot, Witness, ask};
use super::shape::{Cause, Section, operation_before};
use sframe_corpus::signs::{SeenPlace, without_numbers};

/// An instruction of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whether the finding is about it.
    pub is_wrong: bool,
    /// Its address.
    pub pc: Address,
    /// As an assembler writes it.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_wrong { "=>" } else { "  " };
        write!(f, "{mark} {}: {}", self.pc, self.text)
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Something that is wrong at a place, and in which section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// What seems to be its cause.
    #[serde(skip)]
    pub cause: Cause,
    /// Who says so.
    pub witness: Witness,
    /// The function.
    pub function: String,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The instructions there.
    pub listing: Vec<Line>,
    /// The instruction before the row's first one, in the text; `None` if there is no row.
    #[serde(skip)]
    pub before_row: Option<String>,
    /// What other witnesses say.
    pub evidence: Vec<String>,
    /// How wrong it is, and where in the row.
    #[serde(skip)]
    pub place: SeenPlace,
    /// What the layout of the file shows.
    #[serde(skip)]
    pub layout: Vec<LayoutFact>,
    /// The section of the code, if linkers make it.
    #[serde(skip)]
    pub code_in: Option<String>,
    /// The place, and the row; `None` if it is not about a row.
    #[serde(skip)]
    pub spot: Option<Spot>,
}

impl Fault {
    /// One that nothing else is known of.
    fn new(cause: Cause, witness: Witness, function: &str, message: String) -> Self {
        Self {
            cause,
            witness,
            function: function.to_owned(),
            message,
            listing: Vec::new(),
            before_row: None,
            evidence: Vec::new(),
            place: SeenPlace::default(),
            layout: Vec::new(),
            code_in: None,
            spot: None,
        }
    }

    /// One of a function, for tests.
    #[cfg(test)]
    pub(super) fn of(function: &str, wrong: &str) -> Self {
        let cause = Cause {
            wrong: wrong.to_owned(),
            section: Section::Both,
            blame: Blame::CompilerOrCfi,
            row: "CFA = SP+N".to_owned(),
            after: "pop".to_owned(),
        };
        Self::new(cause, Witness::Run, function, String::new())
    }
}

/// What is known of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// What it has computed.
    pub checksum: Option<u64>,
    /// What is wrong, at each place.
    pub faults: Vec<Fault>,
    /// Where the bench contradicts itself.
    pub contradictions: Vec<Contradiction>,
    /// Rows of `.sframe`.
    pub rows: u64,
    /// Those that the run has used.
    pub exercised: u64,
    /// Those that exploring judges.
    pub explored: u64,
    /// Functions that `.sframe` leaves out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// The same functions, by name.
    pub without_fde: BTreeSet<String>,
    /// Instructions at which the run compared.
    pub comparisons: u64,
}

/// Judges a program.
///
/// # Errors
/// What can't be judged: it is the bench's fault, or the program does not run.
pub fn judge(bytes: &[u8]) -> Result<Judged, NotJudged> {
    let files = Files { executable: bytes.to_vec(), ..Files::default() };
    let mut judged = Judged::default();
    let target = match Target::open_files(&files) {
        Err(TargetError::NoSection(_)) => None,
        opened => {
            Some(opened.map_err(|error| NotJudged::Bench(format!("the program can't be opened: {error}")))?)
        }
    };
    let made = MadeSections::of(&files, SectionSource::EhFrame);
    let of_cfi = match Target::open_made(&files, &made) {
        Err(TargetError::NoSection(_) | TargetError::NotMade(_)) => None,
        opened => {
            Some(opened.map_err(|error| NotJudged::Bench(format!("its .eh_frame can't be used: {error}")))?)
        }
    };
    let sframe = target.as_ref().map(ask).transpose()?;
    let cfi = of_cfi.as_ref().map(ask).transpose()?;
    let difference = target.is_some().then(|| diff_file(bytes, "program").ok()).flatten();
    if let Some(seen) = &sframe {
        judged.checksum = seen.checksum;
        (judged.rows, judged.exercised) = (seen.total, seen.exercised);
        (judged.explored, judged.comparisons) = (seen.explored, seen.comparisons);
        judged.contradictions.extend(seen.contradictions(".sframe"));
    }
    if let Some(seen) = &cfi {
        judged.checksum = judged.checksum.or(seen.checksum);
        judged.contradictions.extend(seen.contradictions(".eh_frame"));
    }
    if let (Some(sframe), Some(cfi), Some(of_cfi)) = (&sframe, &cfi, &of_cfi) {
        judged.contradictions.extend(blames(sframe, cfi, of_cfi));
    }
    judged.faults = faults(sframe.as_ref(), cfi.as_ref(), difference.as_ref());
    for left_out in difference.iter().flat_map(|difference| &difference.uncovered) {
        let reason = left_out.reason.map_or("nothing in its CFI says why", |reason| reason.text());
        *judged.left_out.entry(reason.to_owned()).or_default() += 1;
        judged.without_fde.insert(left_out.extent.function.clone());
    }
    Ok(judged)
}

/// What is wrong, once for each place, verdict and section. What is wrong at the same instruction in both is
/// wrong in both.
fn faults(sframe: Option<&Seen>, cfi: Option<&Seen>, difference: Option<&DiffReport>) -> Vec<Fault> {
    let mut faults = Vec::new();
    // Each fault of a section as a whole is one.
    let whole = |item: &Item| item.finding.pc.is_none().then(|| item.finding.expected.clone());
    let key = |item: &Item| (item.function().to_owned(), item.finding.verdict, whole(item));
    let place = |item: &Item| (key(item), item.pc());
    let places = |seen: Option<&Seen>| -> BTreeSet<_> { items_of(seen).map(place).collect() };
    let (of_sframe, of_cfi) = (places(sframe), places(cfi));
    let mut add = |seen: Option<&Seen>, is_cfi: bool| {
        let mut items: Vec<&Item> = items_of(seen).collect();
        // A run's are surer, and have the values.
        items.sort_by_key(|item| (item.pc(), item.witness));
        let mut known = BTreeSet::new();
        for item in items {
            let section = match (is_cfi, of_cfi.contains(&place(item))) {
                (true, _) if of_sframe.contains(&place(item)) => continue,
                (true, _) => Section::EhFrame,
                (false, true) => Section::Both,
                (false, false) => Section::Sframe,
            };
            if known.insert(place(item)) {
                faults.push(fault(item, section));
            }
        }
    };
    add(sframe, false);
    add(cfi, true);
    let ran = |found: &Difference| {
        let compared = |seen: Option<&Seen>| seen.is_some_and(|seen| seen.compared.contains(&found.pc.0));
        compared(sframe) && compared(cfi)
    };
    let mut known: BTreeSet<String> =
        of_sframe.into_iter().chain(of_cfi).map(|((name, ..), _)| name).collect();
    for found in difference.iter().flat_map(|difference| &difference.findings) {
        // A section that can't be read is a finding of the run, too.
        if found.field == Field::Section || !known.insert(found.function.clone()) {
            continue;
        }
        let before = found.instructions.iter().rfind(|line| !line.differs);
        let after = before.and_then(|line| line.text.split_whitespace().next()).unwrap_or("the entry");
        let cause = Cause {
            wrong: format!(
                "different {}{}",
                found.field,
                if ran(found) { ", and right in a run" } else { "" }
            ),
            section: Section::Sframe,
            blame: found.blame,
            row: without_numbers(&found.sframe),
            after: after.to_owned(),
        };
        faults.push(Fault {
            listing: listing(found.instructions.iter().map(|line| (line.pc, &line.text)), Some(found.pc)),
            evidence: evidence(found.evidence.iter().map(|it| (&it.witness, &it.says))),
            ..Fault::new(cause, Witness::Comparison, &found.function, found.message.clone())
        });
    }
    let uncovered = difference.iter().flat_map(|difference| &difference.uncovered);
    faults.extend(uncovered.filter(|function| function.reason.is_none()).map(left_out));
    faults
}

/// What a run finds, and what exploring proves, at each place.
fn items_of(seen: Option<&Seen>) -> impl Iterator<Item = &Item> {
    seen.into_iter().flat_map(|seen| seen.items.iter().filter(|item| item.is_run()).chain(&seen.proved))
}

/// What the layout says of a function that linkers make.
const PLT_LAYOUT: &str = "layout: the code lies in a PLT, which linkers make";

/// A function that `.sframe` leaves out for no reason.
fn left_out(function: &Uncovered) -> Fault {
    let name = &function.extent.function;
    // Linkers make their tables, and what describes them.
    let is_of_linker = name.starts_with(".plt") || name.starts_with(".iplt") || name.ends_with("@plt");
    let cause = Cause {
        wrong: "left out".to_owned(),
        section: Section::Sframe,
        blame: if is_of_linker { Blame::ProducerLinker } else { Blame::Unknown },
        row: "none".to_owned(),
        after: "the entry".to_owned(),
    };
    let message = format!("{name} ({}): {}", function.extent.start, function.message);
    Fault {
        evidence: is_of_linker.then(|| PLT_LAYOUT.to_owned()).into_iter().collect(),
        layout: is_of_linker.then_some(LayoutFact::LinkageTable).into_iter().collect(),
        ..Fault::new(cause, Witness::Comparison, name, message)
    }
}

/// Instructions, of which one may be what a finding is about.
fn listing<'l>(lines: impl Iterator<Item = (Address, &'l String)>, wrong: Option<Address>) -> Vec<Line> {
    lines.map(|(pc, text)| Line { is_wrong: Some(pc) == wrong, pc, text: text.clone() }).collect()
}

/// What witnesses say.
fn evidence<W: fmt::Display, S: fmt::Display>(said: impl Iterator<Item = (W, S)>) -> Vec<String> {
    said.map(|(witness, says)| format!("{witness}: {says}")).collect()
}

fn fault(item: &Item, section: Section) -> Fault {
    let Finding { verdict, blame, row, message, .. } = &item.finding;
    let cause = Cause {
        wrong: verdict.as_str().to_owned(),
        section,
        blame: *blame,
        row: row.as_ref().map_or_else(|| "none".to_owned(), |row| without_numbers(&row.rules.to_string())),
        after: operation_before(&item.finding, item.is_entry),
    };
    let said = &item.finding.evidence;
    Fault {
        listing: listing(item.finding.listing.iter().map(|line| (line.pc, &line.text)), item.finding.pc),
        before_row: item.before_row.clone(),
        evidence: evidence(said.iter().map(|it| (&it.witness, &it.says))),
        place: SeenPlace::of(&item.finding),
        layout: said.iter().filter_map(Evidence::layout).collect(),
        code_in: item.code_in.clone(),
        spot: item.spot.clone(),
        ..Fault::new(cause, item.witness, item.function(), message.to_string())
    }
}
