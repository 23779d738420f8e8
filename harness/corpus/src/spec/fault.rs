//! The page of a fault: what the maintainer of a component can act on.

use std::collections::BTreeMap;
use std::fmt;

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::{Abi, RowRules};
use sframe_judge::finding::KnownFault;
use sframe_judge::vocabulary::named;
use sframe_judge::vocabulary::{LayoutFact, Verdict};

use super::de::present;
use super::{
    Assembler, Blame, CfaError, Compiler, Library, Linker, NamePattern, OneOrMany, Producer, RowOffset, Tool,
    ToolName, ToolRange,
};
use crate::yaml::one_key;

/// A fault of a compiler, an assembler, a linker or a library: a file of `specs/faults`. The
/// file's name is the fault's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a fault, which is a mapping")]
pub struct Fault {
    /// What is wrong, in a line without a full stop.
    #[schemars(length(min = 1, max = 100))]
    pub title: String,
    /// Who needs the fix, and in which versions.
    #[serde(with = "one_key")]
    #[schemars(with = "Component")]
    pub component: Component,
    /// The day on which its page was written.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date"))]
    pub found: Option<NaiveDate>,
    /// What the component does, what it should do, and where in its source.
    #[schemars(length(min = 20))]
    pub summary: String,
    /// The section that is wrong.
    #[serde(default)]
    pub section: FaultySection,
    /// Where the library's assembly has it. Only faults of libraries have these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<Site>,
    /// The smallest program that shows it. For a fault of a library, it makes the same mistake.
    pub example: Example,
    /// What each witness says about the wrong row, by its name: `run` for the call stack,
    /// `explore`, and those of a finding's evidence.
    /// Nobody says anything of a crash.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub witnesses: BTreeMap<String, String>,
    /// What findings look like that it is the cause of: `check` and `explore` name it, and `generate c` sets them
    /// aside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<Sign>,
    /// What is known about it where the component is developed.
    pub upstream: Upstream,
}

/// What findings that a fault is the cause of have in common. All of it must be so, in a file that a component with the
/// fault may have made. Its fields are the keys of a sign.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a sign, which is a mapping")]
pub struct Sign {
    /// The ABI, or several: of what is a list here, one must be so.
    #[schemars(with = "OneOrMany<Abi>")]
    pub abi: OneOrMany<Abi>,
    /// What is wrong, as the search prints it: a verdict, or a difference.
    #[schemars(length(min = 1))]
    pub wrong: String,
    /// Which sections are wrong, as the search prints it: `.sframe`, `.eh_frame` or `both sections`.
    #[schemars(with = "OneOrMany<String>")]
    pub section: OneOrMany<String>,
    /// The rules of the row, with `N` for each number; `R` stands for any register but SP and FP.
    #[schemars(with = "OneOrMany<String>")]
    pub row: OneOrMany<String>,
    /// How wrong the CFA is, if that is what is wrong. Of what is wrong by another amount, or to the other side, another
    /// fault is the cause.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CfaError")]
    pub cfa: Option<CfaError>,
    /// Whether the row begins with the instruction that it is wrong for, or before it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RowBegins")]
    pub row_begins: Option<RowBegins>,
    /// Whether the row ends with that instruction.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub row_ends: bool,
    /// Whether it was wrong before already: each instruction from which control comes is wrong as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// The last instructions before the first one that the row is wrong for, with `N` for each number; `R`
    /// stands for any register but SP, `V` for one that callees need not save, and `J` for a conditional jump (both amd64);
    /// a `*` at the end for any operands; ` | ` is between instructions of which one is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Instructions that the function has before that, in this order and in the same way, with others between: what the
    /// fault needs of the function. Beside `after`, `at` or `begins_after`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
    /// Instructions of the function that control does not come to from there, in the same way: where it does, it is another
    /// fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// Whether what is wrong, RA or FP, is as in the function's first row, which has it in memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_first_row: bool,
    /// Whether no later row of the function says what its first one says: an epilogue that is described has one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_epilogue: bool,
    /// Instructions that execute from that one on without a jump, in this order and in the same way, with others between
    /// that neither call nor take more of the stack, unless for a call among them.
    /// The fault goes no further than the last of them. Beside `after`, `at` or `begins_after`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<String>,
    /// The instruction itself, in the same way. It, `after`, `begins_after`, `with`, `layout`, `code_in` or `function` is given.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<String>")]
    pub at: Option<OneOrMany<String>>,
    /// Operations, one of which directly precedes the row's first instruction in the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begins_after: Vec<String>,
    /// Flags of the compiler and the linker that must be there, where they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// What the layout of the file must show.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LayoutFact")]
    pub layout: Option<LayoutFact>,
    /// The section of the code, one that linkers make.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1))]
    pub code_in: Option<String>,
    /// The function.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NamePattern")]
    pub function: Option<NamePattern>,
    /// The first instructions of the function, in the same way, after `bti`, `endbr64` or `nop`: they show which one it
    /// is where the file has no name for it. With `function` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entry: Vec<String>,
    /// The name that the library gives itself (`DT_SONAME`). Signs of a library's faults have it, and no others.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1))]
    pub library: Option<String>,
}

named! {
    /// Where a row begins that is wrong for an instruction.
    pub enum RowBegins, "place" {
        /// With the instruction: what begins there is wrong.
        Here = "here",
        /// Before it: what has begun there should have ended.
        Before = "before",
    }
}

impl RowBegins {
    /// Where it begins, by whether it begins with the instruction.
    #[must_use]
    pub const fn of(is_here: bool) -> Self {
        if is_here { Self::Here } else { Self::Before }
    }
}

/// What the search prints of functions without an FDE, and before the field of a difference.
const LEFT_OUT: &str = "left out";
const DIFFERENT: &str = "different ";
/// Fewer instructions are the start of many functions.
const LEAST_ENTRY: usize = 3;
const SECTIONS: [&str; 3] = [".sframe", ".eh_frame", "both sections"];

impl Sign {
    /// Each ABI, with each section, row and instruction that it may be about.
    #[must_use]
    pub fn each(&self) -> Vec<(Abi, &str, &str, Option<&str>)> {
        let at: Vec<_> =
            self.at.as_ref().map_or_else(|| vec![None], |at| at.iter().map(|at| Some(&**at)).collect());
        let of_row = self.row.iter().flat_map(|row| at.iter().map(move |at| (row, *at)));
        let of_section = self.section.iter().flat_map(|section| of_row.clone().map(move |it| (section, it)));
        let all = self.abi.iter().flat_map(|abi| of_section.clone().map(move |it| (*abi, it)));
        all.map(|(abi, (section, (row, at)))| (abi, &**section, &**row, at)).collect()
    }

    /// That of a row of rules that are wrong in sections, wherever it is.
    #[must_use]
    pub fn of_row(
        abi: Abi,
        wrong: impl Into<String>,
        section: impl Into<String>,
        row: impl Into<String>,
    ) -> Self {
        Self {
            abi: abi.into(),
            wrong: wrong.into(),
            section: section.into().into(),
            row: row.into().into(),
            cfa: None,
            row_begins: None,
            row_ends: false,
            continues: false,
            after: Vec::new(),
            earlier: Vec::new(),
            lacks: Vec::new(),
            as_first_row: false,
            without_epilogue: false,
            later: Vec::new(),
            at: None,
            begins_after: Vec::new(),
            with: Vec::new(),
            layout: None,
            code_in: None,
            function: None,
            entry: Vec::new(),
            library: None,
        }
    }

    /// The key that nothing can match, and why.
    pub(super) fn mistake(&self) -> Option<(&'static str, &'static str)> {
        let Self {
            wrong,
            section,
            row,
            cfa,
            after,
            earlier,
            lacks,
            later,
            at,
            begins_after,
            code_in,
            function,
            entry,
            ..
        } = self;
        let is_verdict = Verdict::ALL.iter().any(|verdict| verdict.as_str() == wrong);
        if !is_verdict && wrong != LEFT_OUT && !wrong.starts_with(DIFFERENT) {
            return Some(("wrong", "this is no verdict, nor `left out` or `different` and a field"));
        }
        if !section.iter().all(|section| SECTIONS.contains(&section.as_str())) {
            return Some(("section", "a section is `.sframe`, `.eh_frame` or `both sections`"));
        }
        // Any number and any register stand for those of a row.
        let is_row = |row: &String| {
            let numbers = row.replace('N', "8");
            let of_a_row = numbers.replace("RA", "ra").replace('R', "r1").replace("ra", "RA");
            row == "none" || of_a_row.parse::<RowRules>().is_ok()
        };
        if is_verdict && !row.iter().all(is_row) {
            return Some((
                "row",
                "these are no rules of a row, such as `CFA = SP+N, RA = *(CFA-N), FP unchanged`",
            ));
        }
        if cfa.is_some() && wrong != Verdict::WrongCfa.as_str() {
            return Some(("cfa", "only of `wrong-cfa` is it known how wrong the CFA is"));
        }
        if cfa.is_none()
            && wrong == Verdict::WrongCfa.as_str()
            && row.iter().any(|row| row.starts_with("CFA = SP"))
        {
            return Some(("cfa", "a sign says how wrong a CFA is that is computed from SP"));
        }
        let is_instruction = |text: &String| {
            text.starts_with(|first: char| first.is_ascii_lowercase()) || text.starts_with("J ")
        };
        if !after.iter().all(is_instruction) {
            return Some(("after", "this is no instruction"));
        }
        let is_at_a_place = !after.is_empty() || !begins_after.is_empty() || at.is_some();
        for (key, instructions) in [("earlier", earlier), ("lacks", lacks), ("later", later)] {
            if !instructions.iter().all(is_instruction) {
                return Some((key, "this is no instruction"));
            }
            if !instructions.is_empty() && !is_at_a_place {
                return Some((key, "a sign that has it also has `after`, `at` or `begins_after`"));
            }
        }
        if !at.iter().flatten().all(is_instruction) {
            return Some(("at", "this is no instruction"));
        }
        if !entry.iter().all(is_instruction) {
            return Some(("entry", "this is no instruction"));
        }
        if !entry.is_empty() && (function.is_none() || entry.len() < LEAST_ENTRY) {
            return Some((
                "entry",
                "these are at least three instructions, with the name of their `function`",
            ));
        }
        let is_of_linker = |name: &String| name.starts_with(".plt") || name.starts_with(".iplt");
        if !code_in.iter().all(is_of_linker) {
            return Some(("code_in", "linkers make no such section"));
        }
        None
    }

    /// Whether it says something of the function's other code.
    #[must_use]
    pub const fn needs_code(&self) -> bool {
        !self.earlier.is_empty()
            || !self.later.is_empty()
            || !self.lacks.is_empty()
            || self.as_first_row
            || self.without_epilogue
    }

    /// Whether nothing but flags tells it from other faults of the file's layout.
    #[must_use]
    pub fn rests_on_flags(&self) -> bool {
        let Self { with, after, at, begins_after, code_in, function, .. } = self;
        let is_at_a_place = !after.is_empty() || at.is_some() || !begins_after.is_empty();
        !with.is_empty() && !is_at_a_place && code_in.is_none() && function.is_none()
    }

    /// Whether it says where the fault is, and not only which rules it has: in which instructions, or in whose code.
    #[must_use]
    pub fn has_place(&self) -> bool {
        let Self { after, at, begins_after, layout, code_in, function, .. } = self;
        !after.is_empty()
            || !begins_after.is_empty()
            || at.is_some()
            || layout.is_some()
            || code_in.is_some()
            || function.is_some()
    }
}

/// A component in the versions that have a fault.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "one of `compiler`, `assembler`, `linker` and `library`, with a range"
)]
pub enum Component {
    /// A compiler, whose call frame information is wrong.
    Compiler(ToolRange<Compiler>),
    /// An assembler, whose rows are not what its input says.
    Assembler(ToolRange<Assembler>),
    /// A linker, which moves or merges rows wrongly, or writes wrong ones for its own code.
    Linker(ToolRange<Linker>),
    /// A library, whose hand-written call frame information is wrong.
    Library(ToolRange<Library>),
}

/// A place in a library that a distribution has built.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a place, which is a mapping")]
pub struct Site {
    /// The file, and the package and version that has it.
    #[schemars(length(min = 1))]
    pub file: String,
    /// Its ABI.
    pub abi: Abi,
    /// The function.
    #[schemars(length(min = 1))]
    pub function: String,
    /// The start of the row, in bytes from the function's.
    #[schemars(with = "RowOffset")]
    pub row: RowOffset,
    /// The rules that it has.
    #[schemars(length(min = 1))]
    pub wrong: String,
    /// The rules that it should have.
    #[schemars(length(min = 1))]
    pub right: String,
}

named! {
    /// A section in which a component writes something wrong.
    #[derive(Default)]
    pub enum FaultySection, "section" {
        /// The `.sframe` section.
        #[default]
        Sframe = ".sframe",
        /// The `.eh_frame` section: `.sframe` is right, or lacks the function.
        EhFrame = ".eh_frame",
    }
}

/// A program that shows a fault, and the row that does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an example, which is a mapping")]
pub struct Example {
    /// The ABI that it is for.
    pub abi: Abi,
    /// The toolchain of the corpus that made the committed build, whose row the page has.
    pub toolchain: String,
    /// The sources, by file name. Together they have at most 30 lines.
    #[schemars(extend("minProperties" = 1))]
    pub sources: BTreeMap<String, String>,
    /// The commands, one after another, in the folder of the sources.
    #[schemars(length(min = 1))]
    pub commands: Vec<String>,
    /// The file that is run. It ends by a jump to itself. If the component crashes, the one that is not made.
    #[schemars(length(min = 1))]
    pub program: String,
    /// The function with the wrong row, or without an FDE, or with what a component crashes on.
    #[schemars(length(min = 1))]
    pub function: String,
    /// The start of the row, in bytes from the function's; left out if there is none.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RowOffset")]
    pub row: Option<RowOffset>,
    /// The verdict of the row's finding; `no-fde` if the function has no FDE, and `.eh_frame` has one there;
    /// `crashed` if the component itself crashes.
    pub verdict: Verdict,
    /// The rules that the component writes, as findings print them; `no row` for none. For a crash, what the
    /// component says of it.
    #[schemars(length(min = 1))]
    pub wrong: String,
    /// The rules that it should write; `no row` where the version can't express them. If it writes none, or
    /// crashes, the rules where the function starts.
    #[schemars(length(min = 1))]
    pub right: String,
}

named! {
    /// What is known about a fault where the component is developed.
    pub enum UpstreamState, "state" {
        /// No report is known.
        Unreported = "unreported",
        /// There is a report.
        Reported = "reported",
        /// Later versions don't have it.
        Fixed = "fixed",
    }
}

/// What is known about a fault where the component is developed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping with `state`")]
pub struct Upstream {
    /// The state.
    pub state: UpstreamState,
    /// The report, or the change that fixed it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "uri"))]
    pub link: Option<String>,
    /// The first release with the fix.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub version: Option<String>,
}

impl Example {
    /// Whether the component crashes, and makes no program.
    #[must_use]
    pub fn is_crash(&self) -> bool {
        self.verdict == Verdict::Crashed
    }
}

impl Fault {
    /// What findings say of it; `name` is that of its page.
    #[must_use]
    pub fn known_as(&self, name: &str) -> KnownFault {
        KnownFault {
            name: name.to_owned(),
            title: self.title.clone(),
            component: self.component.to_string(),
            upstream: self.upstream.state.to_string(),
        }
    }

    /// Which component findings must blame. Triage takes `.eh_frame` for the compiler's, whoever
    /// writes it.
    #[must_use]
    pub const fn blame(&self) -> Blame {
        match self.section {
            FaultySection::Sframe => self.component.blame(),
            FaultySection::EhFrame => Blame::CompilerOrCfi,
        }
    }
}

impl Component {
    /// Its name, without versions.
    #[must_use]
    pub fn name(&self) -> String {
        self.to_string().split(' ').next().unwrap_or_default().to_owned()
    }

    /// Which component is to blame.
    #[must_use]
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Compiler(_) | Self::Library(_) => Blame::CompilerOrCfi,
            Self::Assembler(_) => Blame::ProducerAssembler,
            Self::Linker(_) => Blame::ProducerLinker,
        }
    }

    /// The producer's tool of this name, as people write it, in whatever version. A library is no
    /// tool.
    #[must_use]
    pub fn tool_of(&self, producer: &Producer) -> Option<String> {
        fn named<N: ToolName>(range: &ToolRange<N>, tool: Option<&Tool<N>>) -> Option<String> {
            tool.filter(|tool| tool.name == range.name).map(Tool::to_string)
        }
        match self {
            Self::Compiler(range) => named(range, producer.compiler.as_ref()),
            Self::Assembler(range) => named(range, producer.assembler.as_ref()),
            Self::Linker(range) => named(range, producer.linker.as_ref()),
            Self::Library(_) => None,
        }
    }

    /// Whether builds by a producer can have the fault. All can have a library's.
    #[must_use]
    pub fn contains(&self, producer: &Producer) -> bool {
        match self {
            Self::Compiler(range) => producer.compiler.as_ref().is_some_and(|tool| range.contains(tool)),
            Self::Assembler(range) => producer.assembler.as_ref().is_some_and(|tool| range.contains(tool)),
            Self::Linker(range) => producer.linker.as_ref().is_some_and(|tool| range.contains(tool)),
            Self::Library(_) => true,
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compiler(range) => range.fmt(f),
            Self::Assembler(range) => range.fmt(f),
            Self::Linker(range) => range.fmt(f),
            Self::Library(range) => range.fmt(f),
        }
    }
}
