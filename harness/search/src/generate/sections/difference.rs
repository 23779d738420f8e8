//! Where the answers of a reader differ from those that follow from the plan.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Display};

use serde::Serialize;
use sframe_judge::external::{ExternalError, SectionReply};
use sframe_vectors::{Fde, Header, Reject, RejectKind, Row, Rules, SectionAnswer, SectionPart};

use super::case::{Case, CaseError};
use super::plan::SectionPlan;
use super::reader::Reader;

/// What is different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// There is no answer.
    Process,
    /// Whether the section can be opened.
    Opening,
    /// The header.
    Header,
    /// A function, or a row of it.
    Fde,
    /// A look-up.
    Lookup,
    /// A step.
    Step,
}

impl Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "process",
            Self::Opening => "opening",
            Self::Header => "header",
            Self::Fde => "FDE",
            Self::Lookup => "look-up",
            Self::Step => "step",
        })
    }
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What is different.
    pub part: Part,
    /// The field.
    pub field: &'static str,
    /// Where a process ended in its source, if it said so.
    pub site: Option<String>,
    /// The function, by its index.
    pub function: Option<usize>,
    /// The row of the function.
    pub row: Option<usize>,
    /// What is expected, and what the reader says.
    pub message: String,
}

/// The field of a reader that gives no answer in time.
pub(super) const TIMED_OUT: &str = "timed out";

/// What is demanded of a reader where a section breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It rejects what is broken, for the right reason.
    Exact,
    /// It answers. Whether it notices what is broken is counted, and not judged.
    Answers,
}

/// What a reader is asked, and what is demanded of its answers.
#[derive(Clone, Debug)]
pub struct Demands {
    /// Whether it is asked for what the specification leaves to the reader.
    pub open: bool,
    /// The parts that it answers.
    pub parts: Vec<SectionPart>,
    /// What is demanded where a section breaks a rule.
    pub strictness: Strictness,
}

/// The differences of a section.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    /// The differences, without those that follow from others.
    pub found: Vec<Difference>,
    /// Answers that were compared.
    pub compared: u64,
    /// Why the reader can't read the section.
    pub unsupported: Option<String>,
    /// Whether a broken rule was not noticed.
    pub unnoticed: bool,
}

/// Makes a section of a plan, and asks a reader about it.
pub(super) fn ask(
    reader: &mut dyn Reader,
    plan: SectionPlan,
    demands: &Demands,
) -> Result<Result<(Case, Differences), CaseError>, ExternalError> {
    let case = match Case::new(plan, "generated/section", demands.open) {
        Ok(case) => case,
        Err(error) => return Ok(Err(error)),
    };
    let reply = reader.ask(&case.vector.question())?;
    let differences = differences(&case, &reply, demands);
    Ok(Ok((case, differences)))
}

/// Compares a reply with the answers that follow from the plan.
#[must_use]
pub fn differences(case: &Case, reply: &SectionReply, demands: &Demands) -> Differences {
    let (result, wrong) = (Differences::default(), BTreeSet::new());
    let mut all = Comparison { case, strictness: demands.strictness, result, wrong };
    match reply {
        SectionReply::Unsupported(reason) => all.result.unsupported = Some(reason.clone()),
        SectionReply::Fault(fault) => {
            let field = match fault.verdict {
                sframe_judge::vocabulary::Verdict::Crashed => "crashed",
                sframe_judge::vocabulary::Verdict::TimedOut => TIMED_OUT,
                _ => "no answer of the protocol",
            };
            all.add(Part::Process, field, (None, None), fault.message.clone());
        }
        SectionReply::Answer(answer) => all.compare(answer, &demands.parts),
        SectionReply::Partly(_, unreadable) => {
            let why = unreadable.values().next().cloned().unwrap_or_default();
            all.add(Part::Process, "an answer that can't be read", (None, None), why);
        }
    }
    all.result
}

/// A function and a row of it, as far as they are known.
type Place = (Option<usize>, Option<usize>);

pub(super) struct Comparison<'c> {
    pub(super) case: &'c Case,
    strictness: Strictness,
    pub(super) result: Differences,
    /// Functions of which a part before is wrong: what follows from that is not reported again.
    pub(super) wrong: BTreeSet<usize>,
}

impl Comparison<'_> {
    pub(super) fn add(&mut self, part: Part, field: &'static str, place: Place, message: String) {
        let (function, row) = place;
        let same = |known: &Difference| (known.part, known.field, known.function) == (part, field, function);
        if !self.result.found.iter().any(same) {
            let site = (part == Part::Process).then(|| site(&message)).flatten();
            self.result.found.push(Difference { part, field, site, function, row, message });
        }
    }

    pub(super) fn differ(
        &mut self,
        part: Part,
        field: &'static str,
        place: Place,
        expected: &dyn Debug,
        got: &dyn Debug,
    ) {
        let at = match place {
            (Some(function), Some(row)) => format!("FDE {function}, row {row}: "),
            (Some(function), None) => format!("FDE {function}: "),
            (None, _) => String::new(),
        };
        self.add(part, field, place, format!("{at}{field}: expected {expected:?}, got {got:?}"));
    }

    fn compare(&mut self, answer: &SectionAnswer, parts: &[SectionPart]) {
        self.result.compared += 1;
        let vector = &self.case.vector;
        match (&answer.reject, &vector.reject) {
            (None, None) => {}
            (Some(got), Some(expected)) => {
                if !self.is_rejected(Some(got), expected) {
                    self.differ(
                        Part::Opening,
                        "kind of rejection",
                        (None, None),
                        &shown(expected),
                        &shown(got),
                    );
                }
                return;
            }
            (Some(got), None) => {
                // Whether one broken function spoils the section is up to the reader.
                if self.strictness == Strictness::Exact || !self.case.plan.is_broken() {
                    self.differ(Part::Opening, "rejected", (None, None), &"a section", &shown(got));
                }
                return;
            }
            (None, Some(expected)) => {
                if !self.is_rejected(None, expected) {
                    self.differ(Part::Opening, "not rejected", (None, None), &shown(expected), &"a section");
                }
                return;
            }
        }
        if parts.contains(&SectionPart::Header) {
            self.header(answer.header.as_ref(), vector.header.as_ref());
        }
        if parts.contains(&SectionPart::Fdes) {
            self.fdes(answer.fdes.as_deref(), &vector.fdes);
        }
        if parts.contains(&SectionPart::Lookups) {
            self.lookups(answer.lookups.as_deref(), &vector.lookups);
        }
        if parts.contains(&SectionPart::Steps) {
            self.steps(answer.steps.as_deref(), &vector.steps);
        }
    }

    /// Returns whether a rejection is what is demanded of the reader.
    pub(super) fn is_rejected(&mut self, got: Option<&Reject>, expected: &Reject) -> bool {
        match (self.strictness, got) {
            (Strictness::Answers, Some(_)) => true,
            (Strictness::Answers, None) => {
                self.result.unnoticed = true;
                true
            }
            (Strictness::Exact, None) => false,
            (Strictness::Exact, Some(got)) => {
                let offset = got.offset.zip(expected.offset).is_none_or(|(got, expected)| got == expected);
                got.kind == RejectKind::Unspecified || got.kind == expected.kind && offset
            }
        }
    }

    fn header(&mut self, got: Option<&Header>, expected: Option<&Header>) {
        let (Some(got), Some(expected)) = (got, expected) else {
            self.differ(Part::Header, "missing", (None, None), &"a header", &got);
            return;
        };
        self.result.compared += 1;
        if got == expected {
            return;
        }
        let fields: [(&str, &dyn Debug, &dyn Debug); 11] = [
            ("version", &expected.version, &got.version),
            ("ABI", &expected.abi, &got.abi),
            ("flags", &expected.flags, &got.flags),
            ("fixed FP", &expected.fixed_fp, &got.fixed_fp),
            ("fixed RA", &expected.fixed_ra, &got.fixed_ra),
            ("auxiliary length", &expected.aux_len, &got.aux_len),
            ("number of FDEs", &expected.num_fdes, &got.num_fdes),
            ("number of rows", &expected.num_fres, &got.num_fres),
            ("length of rows", &expected.fre_len, &got.fre_len),
            ("offset of FDEs", &expected.fdeoff, &got.fdeoff),
            ("offset of rows", &expected.freoff, &got.freoff),
        ];
        self.fields(Part::Header, (None, None), &fields);
    }

    /// Compares fields by how they are written.
    fn fields(
        &mut self,
        part: Part,
        place: Place,
        fields: &[(&'static str, &dyn Debug, &dyn Debug)],
    ) -> bool {
        for (field, expected, got) in fields {
            if format!("{expected:?}") != format!("{got:?}") {
                self.differ(part, field, place, expected, got);
                // A reader that is wrong about where something is misreads all that follows.
                if part != Part::Header {
                    return false;
                }
            }
        }
        true
    }

    /// Returns the pairs of answers and questions, if there is an answer to each.
    pub(super) fn pairs<'p, T: Debug, U>(
        &mut self,
        part: Part,
        got: Option<&'p [T]>,
        expected: &'p [U],
    ) -> Vec<(&'p T, &'p U)> {
        let count = got.map(<[T]>::len);
        match got {
            Some(got) if got.len() == expected.len() => got.iter().zip(expected).collect(),
            _ => {
                self.differ(part, "number of answers", (None, None), &expected.len(), &count);
                Vec::new()
            }
        }
    }

    fn fdes(&mut self, got: Option<&[Fde]>, expected: &[Fde]) {
        for (index, (got, expected)) in self.pairs(Part::Fde, got, expected).into_iter().enumerate() {
            self.result.compared += 1;
            if !self.fde(index, got, expected) {
                self.wrong.insert(index);
            }
        }
    }

    fn fde(&mut self, index: usize, got: &Fde, expected: &Fde) -> bool {
        if got == expected {
            return true;
        }
        let place = (Some(index), None);
        if let Some(reject) = &expected.reject {
            let right = self.is_rejected(got.reject.as_ref(), reject);
            if !right {
                self.differ(Part::Fde, "not rejected", place, &shown(reject), &shown(&got.reject));
            }
            return right;
        }
        if let Some(reject) = &got.reject {
            let broken = self.case.plan.functions.get(index).is_some_and(|function| function.is_broken());
            if broken && self.strictness == Strictness::Answers {
                return true;
            }
            self.differ(Part::Fde, "rejected", place, &"a function", &shown(reject));
            return false;
        }
        let fields: [(&str, &dyn Debug, &dyn Debug); 9] = [
            ("start", &shown(&expected.start), &shown(&got.start)),
            ("size", &expected.size, &got.size),
            ("FRE type", &expected.fre_type, &got.fre_type),
            ("PC type", &expected.pc_type, &got.pc_type),
            ("FDE type", &expected.fde_type, &got.fde_type),
            ("key", &expected.pauth_key, &got.pauth_key),
            ("signal", &expected.signal, &got.signal),
            ("block size", &expected.rep_size, &got.rep_size),
            ("outermost", &expected.outermost, &got.outermost),
        ];
        if !self.fields(Part::Fde, place, &fields) {
            return false;
        }
        let mut same = true;
        for (row, pair) in expected.rows.iter().enumerate() {
            let place = (Some(index), Some(row));
            match (pair, got.rows.get(row)) {
                (Row::Reject(expected), got) => {
                    let reject = match got {
                        Some(Row::Reject(reject)) => Some(reject),
                        _ => None,
                    };
                    if !self.is_rejected(reject, expected) {
                        self.differ(Part::Fde, "row not rejected", place, &shown(expected), &shown(&got));
                        same = false;
                    }
                    return same;
                }
                (Row::Rules(expected), Some(Row::Rules(got))) => same &= self.rules(place, expected, got),
                (_, Some(Row::Reject(reject))) => {
                    self.differ(Part::Fde, "row rejected", place, &shown(pair), &shown(reject));
                    return false;
                }
                (_, None) => {
                    self.differ(Part::Fde, "number of rows", place, &expected.rows.len(), &got.rows.len());
                    return false;
                }
            }
        }
        if got.rows.len() != expected.rows.len() {
            self.differ(Part::Fde, "number of rows", place, &expected.rows.len(), &got.rows.len());
            return false;
        }
        same
    }

    fn rules(&mut self, place: Place, expected: &Rules, got: &Rules) -> bool {
        if expected == got {
            return true;
        }
        let fields: [(&str, &dyn Debug, &dyn Debug); 5] = [
            ("row start", &expected.start, &got.start),
            ("CFA", &shown(&expected.cfa), &shown(&got.cfa)),
            ("RA", &shown(&expected.ra), &shown(&got.ra)),
            ("FP", &shown(&expected.fp), &shown(&got.fp)),
            ("mangled", &expected.mangled, &got.mangled),
        ];
        self.fields(Part::Fde, place, &fields)
    }
}

impl Difference {
    /// Returns whether it is the same thing that is wrong.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (self.part, self.field, &self.site) == (other.part, other.field, &other.site)
    }
}

/// A value as the vectors write it.
pub(super) fn shown(value: &impl Serialize) -> Shown {
    Shown(super::vector::flow_of(value))
}

pub(super) struct Shown(String);

impl Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The first place in a source file that a message names: `name.c:123`.
fn site(message: &str) -> Option<String> {
    let of = |word: &str| {
        let mut parts = word.trim_matches(['(', ')', ',']).split(':');
        let file = parts.next().filter(|file| {
            file.rsplit_once('.').is_some_and(|(name, kind)| {
                !name.is_empty() && !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphabetic())
            })
        })?;
        let line =
            parts.next().filter(|line| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()))?;
        let file = file.rsplit('/').next().unwrap_or(file);
        Some(format!("{file}:{line}"))
    };
    message.split_whitespace().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_sources_are_found_in_messages() {
        let said = "exit status: 101; standard error: panicked at simple-0.3.0/src/v3.rs:271:23: | range";
        assert_eq!(site(said).as_deref(), Some("v3.rs:271"));
        assert_eq!(site("it: lib/sframe.c:443: f: Assertion `0' failed.").as_deref(), Some("sframe.c:443"));
        assert_eq!(site("exit status: 1 at 12:30, 0x12:3 and a.b:c"), None);
    }
}
