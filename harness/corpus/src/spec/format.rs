//! The keys of a spec file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use sframe_engine::Abi;
use sframe_judge::finding::Finding;
use sframe_judge::vocabulary::{End, Feature, QualifiedName, Trace, Verdict};

use super::de::{list, present, schema_of_size, size};
use super::stop::{Entry, stops};
use super::{
    Ability, Blame, BuildFacts, CfaError, Location, NamePattern, OneOrMany, Percent, RowOffset, Selector,
    Stop,
};

/// A spec of the SFrame test bench: what must be true of one program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a spec, which is a mapping")]
pub struct Spec {
    /// The program of the corpus that this spec is about. Several specs may be
    /// about the same program.
    pub program: String,
    /// What is special about the program, in a sentence or two.
    pub summary: String,
    /// IDs of the clauses of the SFrame specification that the program is here
    /// to prove.
    #[serde(default, deserialize_with = "list")]
    pub clauses: Vec<String>,
    /// The ABIs that the spec is about: `all`, or a list.
    #[serde(default)]
    pub targets: Targets,
    /// The toolchains whose builds the spec is about. Without this key: all
    /// that built the program.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Vec<String>", length(min = 1))]
    pub toolchains: Option<Vec<String>>,
    /// Arguments after the program's name; argc is one more than there are.
    #[serde(default, deserialize_with = "list")]
    pub args: Vec<String>,
    /// The exit status that the program must end with.
    #[serde(default)]
    pub exit_status: u8,
    /// Size of the stack in bytes, from 64 KiB to 1 GiB; `8M` is understood. Without this key: 8 MiB.
    #[serde(default, deserialize_with = "size")]
    #[schemars(schema_with = "schema_of_size")]
    pub stack_size: Option<u64>,
    /// Where to stop and compare the whole stack with an expected one.
    #[serde(default, deserialize_with = "stops")]
    #[schemars(with = "Vec<Entry>")]
    pub stops: Vec<Stop>,
    /// What the comparison at every executed instruction must have seen, so
    /// that it does not pass by seeing nothing: one mapping, or a list of them
    /// of which the first that is about a build holds. The sweep is done
    /// without this key too.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "OneOrMany<Sweep>")]
    pub sweep: Option<OneOrMany<Sweep>>,
    /// Functions that execute without an FDE, in whole or in part. Where any
    /// other instruction has none, that is a failure.
    #[serde(default, deserialize_with = "list")]
    pub uncovered: Vec<Exception>,
    /// Functions with rows that the program does not exercise. Where any other
    /// row is left over, that is a failure.
    #[serde(default, deserialize_with = "list")]
    pub unreached: Vec<Exception>,
    /// How backtraces end. Without an entry for a build: at an entry function
    /// that is marked as outermost (`outermost`) or, where the producer can't
    /// mark it, that is not (`unmarked`).
    #[serde(default, deserialize_with = "list")]
    pub ends: Vec<Ends>,
    /// Signals that are delivered to the program, each to a copy of the process.
    #[serde(default, deserialize_with = "list")]
    pub signals: Vec<Signal>,
    /// Traces of its calls that the program falsifies.
    #[serde(default, deserialize_with = "list")]
    pub distrust: Vec<Distrust>,
    /// Failures that are known. Each must happen, exactly as it says.
    #[serde(default, deserialize_with = "list")]
    pub known: Vec<Known>,
    /// Builds that are not to be run. Each is counted in the report.
    #[serde(default, deserialize_with = "list")]
    pub skip: Vec<Skip>,
}

/// The ABIs that a spec is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Targets {
    /// Every ABI that the program was built for.
    #[default]
    All,
    /// These.
    Only(Vec<Abi>),
}

/// What a sweep must have seen at least, and what it may leave open.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "the floors of a sweep, which are a mapping")]
pub struct Sweep {
    /// The builds that these floors are for. Without this key: all.
    #[serde(default, rename = "where", deserialize_with = "present")]
    #[schemars(with = "Selector")]
    pub selector: Option<Selector>,
    /// How many instructions must have been executed.
    #[serde(default)]
    pub min_instructions: u64,
    /// Which part of the program's rows must have been exercised.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Percent")]
    pub rows: Option<Percent>,
    /// Which part of the executed instructions must have an FDE.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Percent")]
    pub covered: Option<Percent>,
    /// Which part of the comparisons may be excluded at most, also where that is all of a function. Without this key: 1%,
    /// and no whole function.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Percent")]
    pub excluded: Option<Percent>,
    /// How many frames the deepest call stack must have had.
    #[serde(default = "one")]
    pub min_depth: NonZeroU32,
    /// How often control must have moved in which way.
    #[serde(default)]
    pub control_flow: BTreeMap<Feature, u64>,
}

/// Signals, each delivered to a copy of the process. The stacks are compared at
/// every instruction from the handler's first one to the return from it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping with `during` or `at`")]
pub struct Signal {
    /// A function, or several: a signal is delivered before each of their
    /// instructions that the program executes.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "OneOrMany<String>")]
    pub during: Option<OneOrMany<String>>,
    /// A place: the signal is delivered before the instruction there.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Location")]
    pub at: Option<Location>,
    /// The signal's number.
    #[serde(default = "sigusr1")]
    #[schemars(range(min = 1, max = 64))]
    pub signal: u8,
    /// At how many arrivals at an instruction it is delivered, from the first one on.
    #[serde(default = "one")]
    pub hits: NonZeroU32,
    /// The builds that the signals are for. Without this key: all.
    #[serde(default, rename = "where", deserialize_with = "present")]
    #[schemars(with = "Selector")]
    pub selector: Option<Selector>,
    /// How many signals must have been delivered.
    #[serde(default = "one")]
    pub min_deliveries: NonZeroU32,
    /// For which part of them every backtrace must have been whole: through the
    /// signal's frame and the interrupted function to the entry function.
    #[serde(default = "all")]
    pub complete: Percent,
    /// For which part of them the backtrace at the handler's first instruction must have been whole: where handlers go
    /// through code without rows, later ones are not.
    #[serde(default = "none")]
    pub at_entry: Percent,
    /// How the backtraces that are not whole may end.
    #[serde(default, deserialize_with = "list")]
    pub ends: Vec<End>,
}

/// Functions that are excepted from what holds for all others.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping with `functions` and `reason`")]
pub struct Exception {
    /// The builds in which they are. Without this key: all.
    #[serde(default, rename = "where", deserialize_with = "present")]
    #[schemars(with = "Selector")]
    pub selector: Option<Selector>,
    /// Their names; `*` stands for any characters, as in `*@plt`. Each must
    /// match a function that needs the exception.
    pub functions: OneOrMany<NamePattern>,
    /// For `uncovered`: how many different instructions of these functions
    /// execute without an FDE, exactly. Without this key: any number.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "u64")]
    pub instructions: Option<u64>,
    /// Why.
    #[schemars(length(min = 20))]
    pub reason: String,
}

/// How the backtraces of a build end.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping with `ends`")]
pub struct Ends {
    /// The builds. Without this key: all. The first entry that is about a
    /// build holds for it.
    #[serde(default, rename = "where", deserialize_with = "present")]
    #[schemars(with = "Selector")]
    pub selector: Option<Selector>,
    /// The ends that must be seen, and no others; `no-fde` is seen wherever
    /// code without an FDE executes, and need not be listed.
    #[schemars(length(min = 1))]
    pub ends: Vec<End>,
}

/// A trace that the call stack is not to be compared with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping with `trace` and `reason`")]
pub struct Distrust {
    /// The trace.
    pub trace: Trace,
    /// What the program does to it.
    #[schemars(length(min = 20))]
    pub reason: String,
}

impl Known {
    /// Whether a function is meant, or code without a name. `image` is the library;
    /// `None` for the executable.
    pub fn is_in(&self, image: Option<&str>, function: Option<&str>) -> bool {
        self.function.as_deref().is_none_or(|name| {
            let name = QualifiedName::parse(name);
            name.is_of(image) && (name.function.is_empty() || function == Some(name.function))
        })
    }
}

impl Known {
    /// Whether a finding is in the function that this is about. Where others have its name, that is for the list to say.
    #[must_use]
    pub fn is_about(&self, finding: &Finding) -> bool {
        let (image, function) = (finding.image.as_deref(), finding.function.as_deref());
        let named = self.function.as_deref().map(QualifiedName::parse);
        let name = named.as_ref().map(|named| named.function).filter(|name| !name.is_empty());
        match (&self.code, &finding.code, name) {
            (None, ..) => self.is_in(image, function),
            (Some(_), None, _) => false,
            (Some(own), Some(code), None) => self.is_in(image, function) && *own == code.digest,
            (Some(own), Some(code), Some(name)) => {
                named.is_none_or(|named| named.is_of(image))
                    && code.is_meant(Some(own), function.map(|function| function == name))
            }
        }
    }

    /// Whether a finding is wrong by an amount that is known, or any is.
    pub fn is_as_wrong(&self, finding: &Finding) -> bool {
        let is_known = |known: &OneOrMany<CfaError>| {
            CfaError::of(finding).is_some_and(|seen| known.iter().any(|known| known.includes(seen)))
        };
        finding.verdict != Verdict::WrongCfa || self.cfa.as_ref().is_none_or(is_known)
    }

    /// Why it is known: the title of the fault, or the reason.
    #[must_use]
    pub fn why(&self) -> &str {
        let Self { fault, reason, title, .. } = self;
        [reason, title, fault].into_iter().flatten().next().map_or("", String::as_str)
    }
}

impl Exception {
    /// Whether a function is meant.
    #[must_use]
    pub fn names(&self, function: &str) -> bool {
        self.functions.iter().any(|pattern| pattern.matches(function))
    }
}

impl Signal {
    /// Where it is delivered, for people.
    pub fn place(&self) -> String {
        match (&self.during, &self.at) {
            (Some(functions), _) => {
                format!("during {}", functions.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
            }
            (None, Some(location)) => format!("at {location}"),
            (None, None) => String::new(),
        }
    }
}

/// A failure that is known.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [{ "required": ["fault"] }, { "required": ["reason"] }]))]
#[serde(deny_unknown_fields, expecting = "a known failure, which is a mapping")]
pub struct Known {
    /// The builds in which it happens.
    #[serde(rename = "where")]
    pub selector: Selector,
    /// The verdict it has.
    pub verdict: Verdict,
    /// The function in which it happens: `f`, `library.so!f` for that of a library,
    /// `!f` for that of the executable; `library.so!` for any of the library.
    /// Without this key: any.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String", length(min = 1))]
    pub function: Option<String>,
    /// The row with which it happens: the offset of the row's start from the
    /// beginning of the function. Each row of a list must be found. Without
    /// this key: any row of the function.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "OneOrMany<RowOffset>")]
    pub row: Option<OneOrMany<RowOffset>>,
    /// The rules with which it happens, as findings print them, each with the
    /// number of places, which are different instructions; `no row` where there
    /// is none. A build must show exactly these; where builds differ, there is a
    /// list, of which one must be what a build shows.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "OneOrMany<BTreeMap<String, u64>>")]
    pub rules: Option<OneOrMany<BTreeMap<String, u64>>>,
    /// The digest of the function's code, in a list of a file's findings.
    #[serde(skip)]
    pub code: Option<String>,
    /// All rows, in a list of a file's findings.
    #[serde(skip)]
    pub rows: Option<OneOrMany<RowOffset>>,
    /// How wrong the CFA is, in a list of a file's findings.
    #[serde(skip)]
    pub cfa: Option<OneOrMany<CfaError>>,
    /// Whether it may happen with any rules: those of another compiler's code.
    #[serde(skip)]
    pub any_rules: bool,
    /// Whether it need not happen.
    #[serde(skip)]
    pub optional: bool,
    /// Which component needs the fix. Triage must reach the same conclusion.
    pub blame: Blame,
    /// The fault of a component that it comes from: the name of a file of `faults`. This or
    /// `reason`.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String", length(min = 1))]
    pub fault: Option<String>,
    /// Why it is no fault of a component: what the program does, or what the format can't say.
    /// This or `fault`.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String", length(min = 20))]
    pub reason: Option<String>,
    /// The title of the fault, once its page was read.
    #[serde(skip)]
    pub title: Option<String>,
    /// The ABIs for which the page has signs.
    #[serde(skip)]
    pub signs: Vec<Abi>,
}

/// Builds that are not to be run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a skip, which is a mapping with `where` and `reason`")]
pub struct Skip {
    /// The builds.
    #[serde(rename = "where")]
    pub selector: Selector,
    /// Why they cannot be run.
    #[schemars(length(min = 20))]
    pub reason: String,
}

const fn sigusr1() -> u8 {
    10
}

const fn all() -> Percent {
    Percent::ALL
}

const fn none() -> Percent {
    Percent::NONE
}

const fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl Spec {
    /// Whether the spec is about a build of its program. A build that is
    /// skipped is among them: it is counted.
    pub fn applies_to(&self, build: &BuildFacts<'_>) -> bool {
        self.targets.contains(build.abi)
            && self
                .toolchains
                .as_ref()
                .is_none_or(|names| names.iter().any(|name| Some(name) == build.producer.toolchain.as_ref()))
    }

    /// The floors of the sweep of a build: the first that are about it.
    pub fn sweep_for(&self, build: &BuildFacts<'_>) -> Option<&Sweep> {
        self.sweep.iter().flatten().find(|sweep| selected(sweep.selector.as_ref(), build))
    }

    /// The stops of a build, each with its index in `stops`.
    pub fn stops_for(&self, build: &BuildFacts<'_>) -> impl Iterator<Item = (usize, &Stop)> {
        self.stops.iter().enumerate().filter(move |(_, stop)| selected(stop.selector.as_ref(), build))
    }

    /// The signals for a build, each with its index in `signals`.
    pub fn signals_for(&self, build: &BuildFacts<'_>) -> impl Iterator<Item = (usize, &Signal)> {
        self.signals.iter().enumerate().filter(move |(_, signal)| selected(signal.selector.as_ref(), build))
    }

    /// The exceptions of a list that are about a build.
    pub fn exceptions_for<'s>(
        list: &'s [Exception],
        build: &BuildFacts<'_>,
    ) -> impl Iterator<Item = &'s Exception> {
        list.iter().filter(|entry| selected(entry.selector.as_ref(), build))
    }

    /// How the backtraces of a build must end.
    pub fn ends_for(&self, build: &BuildFacts<'_>) -> &[End] {
        match self.ends.iter().find(|entry| selected(entry.selector.as_ref(), build)) {
            Some(entry) => &entry.ends,
            None if build.producer.can.contains(&Ability::Outermost) => &[End::Outermost],
            None => &[End::Unmarked],
        }
    }

    /// The known failures of a build, each with its index in `known`.
    pub fn known_for(&self, build: &BuildFacts<'_>) -> impl Iterator<Item = (usize, &Known)> {
        self.known.iter().enumerate().filter(move |(_, known)| known.selector.matches(build))
    }

    /// Why a build is skipped; `None` when it is to be run.
    pub fn skip_for(&self, build: &BuildFacts<'_>) -> Option<&Skip> {
        self.skip.iter().find(|skip| skip.selector.matches(build))
    }
}

fn selected(selector: Option<&Selector>, build: &BuildFacts<'_>) -> bool {
    selector.is_none_or(|selector| selector.matches(build))
}

impl Targets {
    /// Whether the ABI is one of them.
    pub fn contains(&self, abi: Abi) -> bool {
        match self {
            Self::All => true,
            Self::Only(abis) => abis.contains(&abi),
        }
    }
}

impl<'de> Deserialize<'de> for Targets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TargetsVisitor)
    }
}

struct TargetsVisitor;

impl<'de> Visitor<'de> for TargetsVisitor {
    type Value = Targets;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`all` or a list of ABIs")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Targets, E> {
        if text == "all" {
            return Ok(Targets::All);
        }
        // One ABI alone is a mistake in form; anything else, one in spelling.
        match text.parse::<Abi>() {
            Ok(abi) => Err(E::custom(format!("one ABI is a list too: write `[{abi}]`"))),
            Err(_) => Err(E::custom(format!("`{text}` is neither `all` nor a list of ABIs"))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Targets, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Targets::Only)
    }
}

impl JsonSchema for Targets {
    fn schema_name() -> Cow<'static, str> {
        "Targets".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let abi = generator.subschema_for::<Abi>();
        json_schema!({
            "description": "The ABIs that a spec is about: `all`, or a list.",
            "anyOf": [
                { "const": "all" },
                { "type": "array", "items": abi, "minItems": 1, "uniqueItems": true },
            ],
            "default": "all",
        })
    }
}
