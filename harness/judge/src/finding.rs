//! Findings: what is wrong, and what each witness says about it.
//!
//! Everything that is decided about a finding is decided by types: verdict, place, rules, values, what a witness
//! answers. Sentences are [`Prose`], which nothing can read back.

use std::fmt;

pub use crate::target::FunctionCode;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use sframe_kit::{Address, Blame, Confidence, FindingRow, Witness};

use sframe_engine::{RecoveryRule, RowRules};

use crate::unwind::Bases;
use crate::vocabulary::{End, LayoutFact, Prose, Verdict};

/// Which side a witness agrees with about the subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// With the call stack.
    CallStack,
    /// With the section under test.
    Section,
    /// With neither.
    Neither,
}

/// A witness's statement.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Evidence {
    /// The witness.
    pub witness: Witness,
    /// Its statement, in a sentence.
    pub says: Prose,
    /// The side it agrees with; `None` if that is unknown.
    pub agrees_with: Option<Side>,
    /// What the statement says of the frame, as far as the format can express it. It is not in documents.
    #[serde(skip)]
    pub answer: Option<Answer>,
}

/// What a witness says of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The rules that the row should have.
    Rules(RowRules),
    /// It does not know the CFA.
    NoCfa,
    /// Who has made something.
    Layout(LayoutFact),
}

impl Evidence {
    /// A statement of which only the words are kept.
    #[must_use]
    pub fn new(witness: Witness, says: impl Into<Prose>, agrees_with: Option<Side>) -> Self {
        Self { witness, says: says.into(), agrees_with, answer: None }
    }

    /// What it says of who has made something.
    #[must_use]
    pub const fn layout(&self) -> Option<LayoutFact> {
        match self.answer {
            Some(Answer::Layout(fact)) => Some(fact),
            _ => None,
        }
    }

    /// The rules that a witness gives which agrees with the call stack.
    #[must_use]
    pub fn right_rules(&self) -> Option<RowRules> {
        match self.answer {
            Some(Answer::Rules(rules)) if self.agrees_with == Some(Side::CallStack) => Some(rules),
            _ => None,
        }
    }

    /// Says with whom the witness agrees, if that is known.
    #[must_use]
    pub fn side(&self) -> Option<String> {
        let agrees = match self.witness {
            Witness::FramePointers | Witness::Instructions => "agree",
            Witness::Reader | Witness::Cfi | Witness::Layout | Witness::Exploration => "agrees",
        };
        match self.agrees_with? {
            Side::CallStack => Some(format!("{agrees} with the call stack")),
            // The section agrees with itself.
            Side::Section if self.witness == Witness::Reader => None,
            Side::Section => Some(format!("{agrees} with the section")),
            Side::Neither => Some(format!("{agrees} with neither")),
        }
    }
}

/// An instruction near the one that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ListedInstruction {
    /// Its address, without the load bias.
    pub pc: Address,
    /// As an assembler writes it.
    pub text: String,
    /// Start of its row, in bytes from the start of the function. `None`
    /// without FDE or row.
    pub row: Option<Address>,
}

/// A word of the stack.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Slot {
    /// Its address.
    pub address: Address,
    /// Its contents; `None` if it can't be read.
    pub value: Option<Address>,
    /// What it is: `SP`, `RA`, and any claims about it.
    pub marks: Vec<String>,
}

/// The stack at the moment when a finding was first seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct StackView {
    /// The frame's SP.
    pub sp: Address,
    /// The frame's FP.
    pub fp: Address,
    /// Words of the frame and around it, by ascending addresses. Words that are
    /// left out show as gaps in the addresses.
    pub slots: Vec<Slot>,
}

impl StackView {
    /// What a rule gives there, for a CFA if that is known; `None` if it needs another register, or a word that is
    /// not shown.
    #[must_use]
    pub fn evaluate(&self, rule: RecoveryRule, cfa: Option<u64>) -> Option<u64> {
        let bases = Bases { cfa, sp: Some(self.sp.0), fp: Some(self.fp.0) };
        let address = bases.address(&rule, |_| None)?;
        if !rule.dereference {
            return Some(address);
        }
        self.slots.iter().find(|slot| slot.address.0 == address)?.value.map(|value| value.0)
    }
}

/// A value, as the call stack, a spec, an unwinder or a run has it. Documents have it as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(from = "WrittenValue", into = "WrittenValue")]
pub enum Said {
    /// An address, or the contents of a register.
    Address(Address),
    /// The ways in which backtraces end.
    Ends(Vec<End>),
    /// A backtrace up to the entry function, however it ends there.
    WholeBacktrace,
    /// Another end than the one that was seen.
    AnotherEnd,
    /// Anything else, for people.
    Words(Prose),
}

impl Said {
    const WHOLE_BACKTRACE: &str = "a whole backtrace";
    const ANOTHER_END: &str = "another end";

    /// Words for people.
    #[must_use]
    pub fn words(words: impl Into<Prose>) -> Self {
        Self::Words(words.into())
    }

    /// The address, if it is one.
    #[must_use]
    pub const fn address(&self) -> Option<u64> {
        match self {
            Self::Address(address) => Some(address.0),
            _ => None,
        }
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Ends(ends) => {
                let names: Vec<&str> = ends.iter().map(|end| end.as_str()).collect();
                f.write_str(&names.join(", "))
            }
            Self::WholeBacktrace => f.write_str(Self::WHOLE_BACKTRACE),
            Self::AnotherEnd => f.write_str(Self::ANOTHER_END),
            Self::Words(words) => words.fmt(f),
        }
    }
}

/// Words for people.
impl From<String> for Said {
    fn from(words: String) -> Self {
        Self::words(words)
    }
}

/// Words for people.
impl From<&str> for Said {
    fn from(words: &str) -> Self {
        Self::words(words)
    }
}

impl From<End> for Said {
    fn from(end: End) -> Self {
        Self::Ends(vec![end])
    }
}

/// A value as documents have it.
#[derive(Deserialize, Serialize)]
#[serde(transparent)]
struct WrittenValue(String);

impl From<Said> for WrittenValue {
    fn from(said: Said) -> Self {
        Self(said.to_string())
    }
}

impl From<WrittenValue> for Said {
    fn from(WrittenValue(text): WrittenValue) -> Self {
        if text == Self::WHOLE_BACKTRACE {
            return Self::WholeBacktrace;
        }
        if text == Self::ANOTHER_END {
            return Self::AnotherEnd;
        }
        let ends = || text.split(", ").map(str::parse).collect::<Result<Vec<End>, _>>();
        match text.parse::<Address>() {
            // What is written otherwise is not what a report has written.
            Ok(address) if address.to_string() == text => Self::Address(address),
            _ => ends().map_or_else(|_| Self::Words(Prose::verbatim(text.clone())), Self::Ends),
        }
    }
}

impl JsonSchema for Said {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Said".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

/// A finding in a sentence, which begins with its place. Documents have the whole sentence as `message`, and its
/// beginning as `place`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "WrittenMessage", into = "WrittenMessage")]
#[schemars(with = "WrittenMessage")]
pub struct Message {
    /// Where it is, in words; `None` for what is about no place.
    pub place: Option<Prose>,
    /// What is wrong there.
    pub says: Prose,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct WrittenMessage {
    /// The beginning of `message`, if that is a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    /// The finding in a sentence.
    message: String,
}

impl Message {
    /// A sentence about a place.
    #[must_use]
    pub fn at(place: impl std::fmt::Display, says: impl Into<Prose>) -> Self {
        Self { place: Some(place.to_string().into()), says: says.into() }
    }

    /// Adds words at the end of the message.
    #[must_use]
    pub fn and(self, more: impl std::fmt::Display) -> Self {
        Self { says: format!("{}{more}", self.says).into(), ..self }
    }
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.says),
            None => self.says.fmt(f),
        }
    }
}

impl From<String> for Message {
    fn from(says: String) -> Self {
        Self { place: None, says: says.into() }
    }
}

impl From<Message> for WrittenMessage {
    fn from(message: Message) -> Self {
        Self { message: message.to_string(), place: message.place.map(|place| place.to_string()) }
    }
}

impl From<WrittenMessage> for Message {
    fn from(WrittenMessage { place, message }: WrittenMessage) -> Self {
        // Between them are a colon and a space.
        let says = place.as_ref().and_then(|place| message.get(place.len() + 2..)).map(str::to_owned);
        match (place, says) {
            (Some(place), Some(says)) => {
                Self { place: Some(Prose::verbatim(place)), says: Prose::verbatim(says) }
            }
            _ => Self { place: None, says: Prose::verbatim(message) },
        }
    }
}

/// Something that is wrong. Its fields are keys of reports.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Finding {
    /// The kind of finding.
    pub verdict: Verdict,
    /// PC of the frame whose rules are wrong, without its image's load bias.
    pub pc: Option<Address>,
    /// The library that contains it; `None` for the executable.
    pub image: Option<String>,
    /// The function there.
    pub function: Option<String>,
    /// What tells that function from others of its name, or without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<FunctionCode>,
    /// The frame, 0 for the topmost. The smallest, if there are several.
    pub frame: Option<usize>,
    /// How often it was seen.
    pub hits: u64,
    /// At how many places: of one cause, the first is shown.
    #[serde(default = "one")]
    pub places: u64,
    /// The row that gave the value.
    pub row: Option<FindingRow>,
    /// The address in the file of the row's first instruction.
    #[serde(default)]
    pub row_pc: Option<Address>,
    /// The value according to the call stack, or the spec.
    pub expected: Said,
    /// The value according to the unwinder, or the run.
    pub got: Said,
    /// Whether a wrong CFA was wrong by other amounts as well, at this place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub varies: bool,
    /// The instruction at the PC.
    pub instruction: Option<String>,
    /// The component that needs the fix.
    pub blame: Blame,
    /// How sure that is.
    pub confidence: Confidence,
    /// What other witnesses say.
    pub evidence: Vec<Evidence>,
    /// The usual mistake that gives the unwinder's answer, if the unwinder is to
    /// blame and one does.
    #[serde(default)]
    pub hint: Option<Prose>,
    /// The known bug that is its cause, as far as rules, place and versions show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<KnownFault>,
    /// The instructions around the PC.
    pub listing: Vec<ListedInstruction>,
    /// The stack when it was first seen in that frame.
    pub stack: Option<StackView>,
    /// The finding in a sentence.
    #[serde(flatten)]
    pub message: Message,
}

/// A fault of a toolchain or library that the bench has a page of.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownFault {
    /// The page's name, as `faults` takes it.
    pub name: String,
    /// What is wrong.
    pub title: String,
    /// The component that needs the fix, in the versions that have the fault.
    pub component: String,
    /// What is known about it where the component is developed, as `unreported`.
    pub upstream: String,
}

impl KnownFault {
    /// What it is, without its title.
    #[must_use]
    pub fn brief(&self) -> String {
        let Self { name, title: _, component, upstream } = self;
        format!("{name}, a bug of {component}, {upstream}")
    }
}

impl fmt::Display for KnownFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.brief(), self.title)
    }
}

/// A document that does not count places has one finding for each.
const fn one() -> u64 {
    1
}

/// What makes findings at several places one: the same is wrong with the same row, the same component is to blame, and
/// the same page describes it, if one does.
/// Functions that share their name have rows at different addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CauseKey<'f> {
    verdict: Verdict,
    image: Option<&'f str>,
    function: Option<&'f str>,
    row_pc: Option<Address>,
    row: &'f FindingRow,
    blame: Blame,
    fault: Option<&'f str>,
}

/// Groups findings by their causes, in the order of the first of each, and counts the places of each. Findings about no
/// row have each a cause of its own.
#[must_use]
pub fn groups<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<Group<'f>> {
    let mut groups: Vec<Group<'f>> = Vec::new();
    let mut known = FxHashMap::default();
    for finding in findings {
        let next = groups.len();
        let index = finding.cause().map_or(next, |cause| *known.entry(cause).or_insert(next));
        match groups.get_mut(index) {
            Some(group) => {
                group.varies |= finding.varies || group.first.off() != finding.off();
                group.places += finding.places;
                group.hits += finding.hits;
            }
            None => groups.push(Group::alone(finding)),
        }
    }
    groups
}

/// The number of findings: of causes, and not of the places where one shows. Everything that counts findings counts
/// these.
#[must_use]
pub fn count<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> u64 {
    groups(findings).len() as u64
}

/// At how many places something is wrong.
#[must_use]
pub fn places<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> u64 {
    findings.into_iter().map(|finding| finding.places).sum()
}

/// Findings with one cause: a wrong row is wrong at each of its PCs.
#[derive(Clone, Copy, Debug)]
pub struct Group<'f> {
    /// The first of them.
    pub first: &'f Finding,
    /// At how many places they are.
    pub places: u64,
    /// How often they were seen.
    pub hits: u64,
    /// Whether a CFA is wrong by several amounts.
    pub varies: bool,
}

impl<'f> Group<'f> {
    /// That of a single finding.
    #[must_use]
    pub const fn alone(finding: &'f Finding) -> Self {
        Self { first: finding, places: finding.places, hits: finding.hits, varies: finding.varies }
    }

    /// All of them as one finding.
    #[must_use]
    pub fn finding(&self) -> Finding {
        Finding { places: self.places, hits: self.hits, varies: self.varies, ..self.first.clone() }
    }
}

impl Finding {
    /// What it shares with findings of the same cause. `None` for one about no row, which has a cause of its own.
    #[must_use]
    pub fn cause(&self) -> Option<CauseKey<'_>> {
        let Self { verdict, image, function, row, row_pc, blame, fault, .. } = self;
        // Lists of known findings may say several things of one row.
        verdict.not_knowable().is_none().then_some(())?;
        Some(CauseKey {
            verdict: *verdict,
            image: image.as_deref(),
            function: function.as_deref(),
            row_pc: *row_pc,
            row: row.as_ref()?,
            blame: *blame,
            fault: fault.as_ref().map(|fault| fault.name.as_str()),
        })
    }

    /// By how much a CFA is wrong, if that is what is wrong, and known.
    fn off(&self) -> Option<u64> {
        let (got, right) = self.got.address().zip(self.expected.address())?;
        (self.verdict == Verdict::WrongCfa).then(|| got.wrapping_sub(right))
    }

    /// Whether a component may be its culprit: the one that is blamed, or any where a function has no FDE and
    /// the file does not show what has lost it.
    #[must_use]
    pub fn may_be_blamed_on(&self, blame: Blame) -> bool {
        self.blame == blame || self.is_without_culprit()
    }

    /// Whether a function has no FDE, and the file does not show what has lost it.
    #[must_use]
    pub fn is_without_culprit(&self) -> bool {
        self.verdict == Verdict::NoFde && self.blame == Blame::Unknown
    }

    /// A finding about a spec's expectation, not about a row.
    #[must_use]
    pub fn of_spec(
        verdict: Verdict,
        expected: impl Into<Said>,
        got: impl Into<Said>,
        message: impl Into<Message>,
    ) -> Self {
        Self {
            verdict,
            pc: None,
            image: None,
            function: None,
            code: None,
            frame: None,
            hits: 1,
            places: 1,
            row: None,
            row_pc: None,
            expected: expected.into(),
            got: got.into(),
            varies: false,
            instruction: None,
            blame: Blame::Unknown,
            confidence: Confidence::Low,
            evidence: Vec::new(),
            hint: None,
            fault: None,
            listing: Vec::new(),
            stack: None,
            message: message.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_row(row_pc: u64, blame: Blame) -> Finding {
        Finding {
            function: Some("f".to_owned()),
            hits: 3,
            row: Some(FindingRow {
                start: Address(4),
                rules: "CFA = SP+8, RA = *(CFA-8), FP unchanged".parse().expect("rules"),
            }),
            row_pc: Some(Address(row_pc)),
            blame,
            ..Finding::of_spec(Verdict::WrongCfa, "", "", String::new())
        }
    }

    fn counts(findings: &[Finding]) -> Vec<(u64, u64)> {
        groups(findings).iter().map(|group| (group.places, group.hits)).collect()
    }

    #[test]
    fn one_finding_counts_all_places_where_a_row_is_wrong() {
        let finding = of_row(0x104, Blame::ProducerAssembler);
        let again = Finding { places: 2, hits: 5, ..finding.clone() };
        assert_eq!(counts(&[finding.clone(), again]), [(3, 8)]);
    }

    /// Rows of two functions with one name may look alike, and so do those of functions without any.
    #[test]
    fn each_row_and_each_culprit_has_a_finding_of_its_own() {
        let finding = of_row(0x104, Blame::ProducerAssembler);
        let elsewhere = of_row(0x204, Blame::ProducerAssembler);
        let blamed_otherwise = of_row(0x104, Blame::Consumer);
        let of_another_kind = Finding { verdict: Verdict::WrongFp, ..finding.clone() };
        let of_library = Finding { image: Some("x.so".to_owned()), ..finding.clone() };
        let without_row = Finding { row: None, row_pc: None, ..finding.clone() };
        let changed = Finding { verdict: Verdict::ChangedFailure, ..finding.clone() };
        let fault = KnownFault {
            name: "a".to_owned(),
            title: String::new(),
            component: String::new(),
            upstream: String::new(),
        };
        let described = Finding { fault: Some(fault), ..finding.clone() };
        let all = [
            changed.clone(),
            changed,
            finding,
            elsewhere,
            blamed_otherwise,
            of_another_kind,
            described,
            of_library,
            without_row.clone(),
            without_row,
        ];
        assert_eq!(counts(&all), [(1, 3); 10]);
    }
}
