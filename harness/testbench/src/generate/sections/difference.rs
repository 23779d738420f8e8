//! Where the answers of a reader differ from those that follow from the plan.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Display};

use serde::Serialize;
use sframe_vectors::{
    Answer, Fde, Header, Lookup, PcKind, Question, Reject, RejectKind, Row, Rules, SectionAnswer,
    SectionPart, Step, StepAnswer,
};

use super::case::Case;
use crate::external::SectionReply;

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
    /// The function, by its index.
    pub function: Option<usize>,
    /// The row of the function.
    pub row: Option<usize>,
    /// What is expected, and what the reader says.
    pub message: String,
}

/// What is demanded of a reader where a section breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It rejects what is broken, for the right reason.
    Exact,
    /// It answers. Whether it notices what is broken is counted, and not judged.
    Answers,
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

/// Compares a reply with the answers that follow from the plan. Parts that are not in `parts` are not asked
/// for.
#[must_use]
pub fn differences(
    case: &Case,
    reply: &SectionReply,
    parts: &[SectionPart],
    strictness: Strictness,
) -> Differences {
    let mut all = Comparison { case, strictness, result: Differences::default(), wrong: BTreeSet::new() };
    match reply {
        SectionReply::Unsupported(reason) => all.result.unsupported = Some(reason.clone()),
        SectionReply::Fault(fault) => {
            let field = match fault.verdict {
                crate::spec::Verdict::Crashed => "crashed",
                crate::spec::Verdict::TimedOut => "timed out",
                _ => "no answer of the protocol",
            };
            all.add(Part::Process, field, (None, None), fault.message.clone());
        }
        SectionReply::Answer(answer) => all.compare(answer, parts),
    }
    all.result
}

/// A function and a row of it, as far as they are known.
type Place = (Option<usize>, Option<usize>);

struct Comparison<'c> {
    case: &'c Case,
    strictness: Strictness,
    result: Differences,
    /// Functions of which a part before is wrong: what follows from that is not reported again.
    wrong: BTreeSet<usize>,
}

impl Comparison<'_> {
    fn add(&mut self, part: Part, field: &'static str, place: Place, message: String) {
        let (function, row) = place;
        let same = |known: &Difference| (known.part, known.field, known.function) == (part, field, function);
        if !self.result.found.iter().any(same) {
            self.result.found.push(Difference { part, field, function, row, message });
        }
    }

    fn differ(
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
                    self.differ(Part::Opening, "kind of rejection", (None, None), expected, got);
                }
                return;
            }
            (Some(got), None) => {
                // Whether one broken function spoils the section is up to the reader.
                if self.strictness == Strictness::Exact || !self.case.plan.is_broken() {
                    self.differ(Part::Opening, "rejected", (None, None), &"a section", got);
                }
                return;
            }
            (None, Some(expected)) => {
                if !self.is_rejected(None, expected) {
                    self.differ(Part::Opening, "not rejected", (None, None), expected, &"a section");
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
    fn is_rejected(&mut self, got: Option<&Reject>, expected: &Reject) -> bool {
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
        let mut same = true;
        for (field, expected, got) in fields {
            if format!("{expected:?}") != format!("{got:?}") {
                self.differ(part, field, place, expected, got);
                same = false;
            }
        }
        same
    }

    /// Returns the pairs of answers and questions, if there is an answer to each.
    fn pairs<'p, T: Debug, U>(
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
        let place = (Some(index), None);
        if let Some(reject) = &expected.reject {
            let right = self.is_rejected(got.reject.as_ref(), reject);
            if !right {
                self.differ(Part::Fde, "not rejected", place, reject, &got.reject);
            }
            return right;
        }
        if let Some(reject) = &got.reject {
            let broken = self.case.plan.functions.get(index).is_some_and(|function| function.is_broken());
            if broken && self.strictness == Strictness::Answers {
                return true;
            }
            self.differ(Part::Fde, "rejected", place, &"a function", reject);
            return false;
        }
        let fields: [(&str, &dyn Debug, &dyn Debug); 9] = [
            ("start", &expected.start, &got.start),
            ("size", &expected.size, &got.size),
            ("FRE type", &expected.fre_type, &got.fre_type),
            ("PC type", &expected.pc_type, &got.pc_type),
            ("FDE type", &expected.fde_type, &got.fde_type),
            ("key", &expected.pauth_key, &got.pauth_key),
            ("signal", &expected.signal, &got.signal),
            ("block size", &expected.rep_size, &got.rep_size),
            ("outermost", &expected.outermost, &got.outermost),
        ];
        let mut same = self.fields(Part::Fde, place, &fields);
        for (row, pair) in expected.rows.iter().enumerate() {
            let place = (Some(index), Some(row));
            match (pair, got.rows.get(row)) {
                (Row::Reject(expected), got) => {
                    let reject = match got {
                        Some(Row::Reject(reject)) => Some(reject),
                        _ => None,
                    };
                    if !self.is_rejected(reject, expected) {
                        self.differ(Part::Fde, "row not rejected", place, expected, &got);
                        same = false;
                    }
                    return same;
                }
                (Row::Rules(expected), Some(Row::Rules(got))) => same &= self.rules(place, expected, got),
                (_, Some(Row::Reject(reject))) => {
                    self.differ(Part::Fde, "row rejected", place, pair, reject);
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
            ("CFA", &expected.cfa, &got.cfa),
            ("RA", &expected.ra, &got.ra),
            ("FP", &expected.fp, &got.fp),
            ("mangled", &expected.mangled, &got.mangled),
        ];
        self.fields(Part::Fde, place, &fields)
    }

    fn lookups(&mut self, got: Option<&[Lookup]>, expected: &[Lookup]) {
        let mut wrong = BTreeSet::new();
        for (got, expected) in self.pairs(Part::Lookup, got, expected) {
            self.result.compared += 1;
            let (found, answer) = (&got.answer, &expected.answer);
            if (got.pc, got.return_address) != (expected.pc, expected.return_address) {
                self.differ(Part::Lookup, "PC", (None, None), &expected.pc, &got.pc);
            }
            if let Answer::Reject(reject) = answer {
                let rejected = match found {
                    Answer::Reject(reject) => Some(reject),
                    _ => None,
                };
                if !self.is_rejected(rejected, reject) {
                    self.differ(Part::Lookup, "not rejected", (None, None), reject, found);
                }
                continue;
            }
            if found == answer {
                continue;
            }
            let field = match (answer, found) {
                (_, Answer::Reject(_)) => "rejected",
                (Answer::NoFde, _) => "a function where there is none",
                (_, Answer::NoFde) => "no function",
                _ if function_of(answer) != function_of(found) => "another function",
                (Answer::Outermost(_), _) => "not outermost",
                (Answer::NoRow(_), _) => "a row where there is none",
                (_, Answer::NoRow(_)) => "no row",
                _ => "another row",
            };
            let function = function_of(answer).or(function_of(found));
            if function.is_some_and(|function| self.wrong.contains(&function)) {
                continue;
            }
            wrong.extend(function);
            let row = match answer {
                Answer::Row(_, row) => Some(*row),
                _ => None,
            };
            let kind = if expected.return_address { " as a return address" } else { "" };
            let message = format!("{}{kind}: expected {answer:?}, got {found:?}", expected.pc);
            self.add(Part::Lookup, field, (function, row), message);
        }
        self.wrong.extend(wrong);
    }

    fn steps(&mut self, got: Option<&[StepAnswer]>, expected: &[Step]) {
        for (got, expected) in self.pairs(Part::Step, got, expected) {
            self.result.compared += 1;
            if (got.caller, got.end) == (expected.caller, expected.end) {
                continue;
            }
            let pc = expected.frame.pc;
            let question = Question { pc, return_address: expected.frame.kind == PcKind::Return };
            let place = match self.case.plan.look_up(question) {
                Some(Answer::Row(function, row)) => (Some(function), Some(row)),
                Some(answer) => (function_of(&answer), None),
                None => (None, None),
            };
            if place.0.is_some_and(|function| self.wrong.contains(&function)) {
                continue;
            }
            let field = match (expected.caller, got.caller) {
                (Some(_), None) => "no caller",
                (None, Some(_)) => "a caller where there is none",
                (None, None) => "another end",
                (Some(expected), Some(got)) if expected.cfa != got.cfa => "CFA",
                (Some(expected), Some(got)) if expected.pc != got.pc => "caller's PC",
                (Some(expected), Some(got)) if expected.kind != got.kind => "kind of PC",
                (Some(expected), Some(got)) if expected.sp != got.sp => "caller's SP",
                (Some(_), Some(_)) => "caller's FP",
            };
            let told = |caller: &dyn Debug, end: &dyn Debug| format!("{caller:?}, {end:?}");
            let message = format!(
                "from {pc}: expected {}, got {}",
                told(&expected.caller, &expected.end),
                told(&got.caller, &got.end)
            );
            self.add(Part::Step, field, place, message);
        }
    }
}

fn function_of(answer: &Answer) -> Option<usize> {
    match answer {
        Answer::NoFde | Answer::Reject(_) => None,
        Answer::NoRow(function) | Answer::Outermost(function) | Answer::Row(function, _) => Some(*function),
    }
}
