//! Which of the known mistakes and crashes a toolchain can have: those of its assembler in its version, as
//! their pages say.

use sframe_corpus::spec::{Faults, Producer};

use super::crash::Crash;
use super::explanation::explanation;
use super::judge::{Fault, Judged};
use super::quirk::Quirk;
use super::state::Source;
use super::writer::Program;

/// What a toolchain is known to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    quirks: Vec<Quirk>,
    crashes: Vec<Crash>,
}

impl Known {
    /// What pages say of a toolchain. What has no page is not known.
    #[must_use]
    pub fn of(faults: &Faults, producer: &Producer) -> Self {
        let can_have = |page: &str| faults.get(page).is_some_and(|fault| fault.component.contains(producer));
        Self {
            quirks: Quirk::ALL.iter().copied().filter(|quirk| can_have(quirk.page())).collect(),
            crashes: Crash::ALL.iter().copied().filter(|crash| can_have(crash.page())).collect(),
        }
    }

    /// The mistakes that explain what is wrong with a function.
    pub(super) fn explain(&self, program: &Program, judged: &Judged, fault: &Fault) -> Option<Vec<Quirk>> {
        let quirks: Vec<Quirk> =
            self.quirks.iter().copied().filter(|quirk| quirk.is_of(fault.source)).collect();
        let nothing = Vec::new();
        let said = judged.said.get(&(fault.source, fault.function)).unwrap_or(&nothing);
        let version = judged.version.filter(|_| fault.source == Source::Sframe);
        explanation(program, fault.function, &quirks, said, version)
    }

    /// The crash that the assembler has had with a program, going by what it has said, and the functions with
    /// what it crashes on.
    pub(super) fn crash(&self, said: &str, program: &Program) -> Option<(Crash, Vec<u32>)> {
        self.crashes.iter().find_map(|crash| {
            let functions = crash.functions(said, program);
            (!functions.is_empty()).then_some((*crash, functions))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A version that has no fault any more, or not yet, has a new one if it shows the same.
    #[test]
    fn known_faults_depend_on_the_version() {
        let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs");
        let faults = Faults::load(&specs).expect("pages");
        let known = |assembler: &str| {
            let assembler = Some(assembler.parse().expect("an assembler"));
            Known::of(&faults, &Producer { assembler, ..Producer::default() })
        };
        let (old, new, llvm) = (known("gas 2.40"), known("gas 2.47"), known("llvm 22.1"));
        assert_eq!(old.crashes, [Crash::GasOffsetBeforeCfa, Crash::GasRegisterBeforeFirstRow]);
        assert_eq!(new.crashes, [Crash::GasOffsetBeforeCfa]);
        assert_eq!(llvm.crashes, [Crash::LlvmRestoresWithoutRow]);
        assert!(old.quirks.contains(&Quirk::GasIgnoresSameValue));
        assert!(!new.quirks.contains(&Quirk::GasIgnoresSameValue));
        assert!(new.quirks.contains(&Quirk::GasFpByExpression));
        assert!(!old.quirks.contains(&Quirk::GasFpByExpression));
        assert!(llvm.quirks.iter().all(|quirk| quirk.page().starts_with("llvm-")), "{llvm:?}");
        assert_eq!(Known::of(&faults, &Producer::default()), Known::default());
    }
}
