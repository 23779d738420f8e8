//! What a campaign has found.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::directive::Directive;
use super::judge::Fault;
use super::reduce::Reduced;
use super::state::{Source, Wrong};
use super::writer::{Program, parts};
use crate::generate::Elsewhere;
use crate::generate::outcome::listed;

/// What seems to be one cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cause {
    /// The section that is wrong.
    pub source: Source,
    /// What is wrong.
    pub wrong: &'static str,
    /// The directives before the first instruction that is affected; of a function that is left out, all.
    pub after: Vec<&'static str>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            Source::Sframe => ".sframe",
            Source::Cfi => ".eh_frame",
            Source::DebugFrame => ".debug_frame",
        };
        let after = if self.after.is_empty() { "no directive".to_owned() } else { self.after.join(" ") };
        if self.wrong == Wrong::LeftOut.name() {
            return write!(f, "left out of {source}, with {after}");
        }
        write!(f, "{} in {source} after {after}", self.wrong)
    }
}

/// One case of a cause.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// The program, by its number.
    pub program: u64,
    /// The function.
    pub function: u32,
    /// The instruction.
    pub code: String,
    /// What the section says.
    pub says: String,
    /// What is true.
    pub truth: String,
    /// The smallest program with it, in assembly.
    pub source: String,
    /// How many instructions that has, without those that call it.
    pub instructions: usize,
    /// What other toolchains make of it, by name, if they were asked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub elsewhere: BTreeMap<String, Elsewhere>,
    /// What the tools say of it, if they do not make it.
    #[serde(skip)]
    pub refused: Option<String>,
    /// The program itself, and its fault.
    #[serde(skip)]
    pub reduced: Reduced,
}

/// What a campaign has found of one toolchain and ABI.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Found {
    /// Whether the search was interrupted, and programs are missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Programs that were made.
    pub programs: u64,
    /// Functions in them.
    pub functions: u64,
    /// Functions that `.sframe` leaves out.
    pub left_out: u64,
    /// Functions whose CFI is wrong on purpose, of which a run has found that.
    #[serde(skip_serializing_if = "is_zero")]
    pub noticed: u64,
    /// Instructions that were compared.
    pub compared: u64,
    /// What known mistakes explain, by their pages: in how many functions, and the smallest of them that has
    /// no other.
    pub known: BTreeMap<&'static str, Group>,
    /// What is wrong besides, by cause: how many functions have it, and the first of them.
    #[serde(serialize_with = "listed")]
    pub causes: BTreeMap<Cause, Group>,
    /// Programs that were not made, by what the tools said.
    pub refused: BTreeMap<String, Group>,
    /// Where the bench contradicts itself, and what it could not judge, by program.
    pub contradictions: Vec<(u64, String)>,
    /// How often each form of a directive was used.
    pub forms: BTreeMap<&'static str, u64>,
}

/// Cases with one cause.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// In how many functions; of what was not made for no known reason, in how many programs.
    pub count: u64,
    /// Whether the tools have crashed; otherwise, they may have refused what they do not know.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub crash: bool,
    /// One of them, if it was looked for.
    pub first: Option<Example>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Found {
    /// Whether a section is wrong in a way that no known mistake explains, or a tool has crashed so.
    #[must_use]
    pub fn has_unknown(&self) -> bool {
        !self.causes.is_empty() || self.refused.values().any(|group| group.crash)
    }

    /// The examples of what is found; of what is known, too, if that is wanted.
    pub fn examples(&mut self, with_known: bool) -> impl Iterator<Item = &mut Example> {
        let known = self.known.values_mut().filter(move |_| with_known);
        let groups = known.chain(self.causes.values_mut()).chain(self.refused.values_mut());
        groups.filter_map(|group| group.first.as_mut())
    }
}

impl Group {
    pub(super) const fn none() -> Self {
        Self { count: 0, crash: false, first: None }
    }

    /// Joins two groups. The smaller example is kept.
    pub(super) fn join(&mut self, other: Self) {
        self.count += other.count;
        self.crash |= other.crash;
        let size = |example: &Option<Example>| example.as_ref().map_or(usize::MAX, |one| one.instructions);
        if size(&other.first) < size(&self.first) {
            self.first = other.first;
        }
    }
}

/// The cause of a fault, of the directives that matter for it.
pub(super) fn cause(fault: &Fault, declared: &[Directive]) -> Cause {
    // For the CFA, those of registers do not matter, however many.
    let matters = |form: &&str| {
        fault.wrong != Wrong::Cfa
            || form.contains("cfa")
            || form.contains("CFA_def")
            || form.contains("state")
    };
    let mut after: Vec<_> = declared.iter().map(|directive| directive.form).filter(matters).collect();
    after.dedup();
    Cause { source: fault.source, wrong: fault.wrong.name(), after }
}

/// The directives that matter for a fault: those before the instruction, or all of a part that is left out.
pub(super) fn declared(program: &Program, fault: &Fault) -> Vec<Directive> {
    let part = parts(program).into_iter().find(|part| part.contains(&fault.site));
    let sites = match part {
        Some(part) if fault.wrong == Wrong::LeftOut => part,
        _ => fault.site..fault.site + 1,
    };
    let sites = program.sites.get(sites).unwrap_or_default();
    sites.iter().flat_map(|site| &site.declared).cloned().collect()
}
