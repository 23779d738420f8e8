//! Examples, made by the toolchains that are there.

use std::path::Path;

use serde::Serialize;
use sframe_judge::examine::stop::StopRequest;
use sframe_kit::text::with_causes;

use super::observe::Observed;
use crate::corpus::{Error, MadeExample, Toolchain, is_crash};
use crate::spec::{Component, Example, Fault, FaultySection, Producer};

/// An example made by one toolchain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reproduction {
    /// The fault.
    pub fault: String,
    /// The toolchain.
    pub toolchain: String,
    /// Its compiler, assembler or linker: whichever the fault is in.
    pub tool: String,
    /// Whether the page says that this version has the fault.
    pub expected: bool,
    /// What happened.
    #[serde(flatten)]
    pub result: Reproduced,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum Reproduced {
    /// It has the fault.
    Shown,
    /// It does not have the fault.
    NotShown {
        /// What its build shows instead, in a line each.
        instead: Vec<String>,
    },
    /// It can't make the example, or the build can't be judged.
    Failed {
        /// The reason.
        reason: String,
    },
}

impl Reproduction {
    /// Whether it happened as the page says.
    #[must_use]
    pub const fn is_as_expected(&self) -> bool {
        matches!(
            (&self.result, self.expected),
            (Reproduced::Shown, true) | (Reproduced::NotShown { .. }, false)
        )
    }
}

/// Makes a fault's example with a toolchain, and looks whether it has the fault. `written_for` is
/// the toolchain that the page names. Returns `None` if the toolchain has another compiler,
/// assembler or linker, or none for the example's ABI, and for faults of libraries, which no
/// toolchain has.
///
/// # Errors
/// The toolchain is not there, or an end was asked for.
pub fn reproduce(
    name: &str,
    fault: &Fault,
    written_for: &Toolchain,
    (toolchain, toolchains_dir): (&Toolchain, &Path),
    stop: &StopRequest,
) -> Result<Option<Reproduction>, Error> {
    let Fault { component, section, example, .. } = fault;
    let producer = toolchain.properties.or_those_of(&Producer::default());
    let Some(tool) = component.tool_of(&producer) else { return Ok(None) };
    if !toolchain.abis.contains_key(&example.abi) {
        return Ok(None);
    }
    let is_same = toolchain.name == written_for.name;
    // An older assembler may leave the function out of .sframe, while the compiler's directives
    // are the same: these are in .eh_frame.
    let section = match component {
        Component::Compiler(_) if !is_same => FaultySection::EhFrame,
        _ => *section,
    };
    let made = if is_same {
        MadeExample::make(name, example, toolchain, toolchains_dir, stop)
    } else {
        MadeExample::make_instead(name, example, written_for, (toolchain, toolchains_dir), stop)
    };
    let made = match made {
        Err(error @ (Error::NoRoot { .. } | Error::Write { .. } | Error::Interrupted)) => return Err(error),
        made => made,
    };
    if example.is_crash() {
        let result = crashed(example, made);
        let (fault, toolchain) = (name.to_owned(), toolchain.name.clone());
        let expected = component.contains(&producer);
        return Ok(Some(Reproduction { fault, toolchain, tool, expected, result }));
    }
    let observed = made
        .map_err(|error| with_causes(&error))
        .and_then(|made| Observed::of(made.program(), example, section).map_err(|error| with_causes(&error)));
    let result = match observed {
        Err(reason) => Reproduced::Failed { reason },
        Ok(observed) if observed.shows(example) => Reproduced::Shown,
        Ok(observed) => Reproduced::NotShown { instead: observed.lines(example) },
    };
    let expected = component.contains(&producer);
    Ok(Some(Reproduction {
        fault: name.to_owned(),
        toolchain: toolchain.name.clone(),
        tool,
        expected,
        result,
    }))
}

/// Whether a component has crashed as a page says.
fn crashed(example: &Example, made: Result<MadeExample, Error>) -> Reproduced {
    match made {
        Ok(_) => Reproduced::NotShown { instead: vec!["it makes the program".to_owned()] },
        Err(Error::Compiler { stderr, .. }) if is_crash(&stderr) && stderr.contains(&example.wrong) => {
            Reproduced::Shown
        }
        Err(error) => Reproduced::Failed { reason: with_causes(&error) },
    }
}
