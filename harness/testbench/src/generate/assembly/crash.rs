//! Crashes of assemblers that are known: each has a page in `specs/faults`.

use super::directive::{Directive, Operation};
use super::writer::Program;
use crate::spec::Assembler;

/// A known crash. Its page is what it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crash {
    GasRegisterBeforeFirstRow,
    LlvmRestoresWithoutRow,
}

impl Crash {
    /// All of them.
    const ALL: [Self; 2] = [Self::GasRegisterBeforeFirstRow, Self::LlvmRestoresWithoutRow];

    /// The name of the page.
    pub(super) const fn page(self) -> &'static str {
        match self {
            Self::GasRegisterBeforeFirstRow => "gas-register-before-first-row",
            Self::LlvmRestoresWithoutRow => "llvm-restores-without-row",
        }
    }

    /// What the assembler says: `wrong` of the page.
    const fn message(self) -> &'static str {
        match self {
            Self::GasRegisterBeforeFirstRow => "Internal error (Segmentation fault)",
            Self::LlvmRestoresWithoutRow => "SmallVector unable to grow. Requested capacity (4294967296)",
        }
    }

    const fn assembler(self) -> Assembler {
        match self {
            Self::GasRegisterBeforeFirstRow => Assembler::Gas,
            Self::LlvmRestoresWithoutRow => Assembler::Llvm,
        }
    }

    /// Whether a part of a function has what the assembler crashes on. The directives in front of each of
    /// its instructions are given.
    fn is_in(self, part: &[&[Directive]]) -> bool {
        match self {
            // What comes before the first instruction belongs to the first row, and there is none yet.
            Self::GasRegisterBeforeFirstRow => part
                .first()
                .is_some_and(|declared| declared.iter().any(|one| one.form == ".cfi_def_cfa_register")),
            // Nothing is saved, as there is no row, but something is taken back. The next save then finds a
            // list of 2^32 - 1 states.
            Self::LlvmRestoresWithoutRow => {
                let mut all = part.iter().flat_map(|declared| declared.iter()).map(|one| one.operation);
                all.next() == Some(Operation::Begin)
                    && all.next() == Some(Operation::Remember)
                    && all.any(|operation| operation == Operation::RestoreState)
                    && all.any(|operation| operation == Operation::Remember)
            }
        }
    }
}

/// The known crash that an assembler has had with a program, going by what it has said.
pub(super) fn known_crash(assembler: Assembler, said: &str, program: &Program) -> Option<Crash> {
    let mut parts: Vec<Vec<&[Directive]>> = Vec::new();
    for site in &program.sites {
        let begins = site.declared.iter().any(|directive| directive.operation == Operation::Begin);
        match parts.last_mut() {
            Some(part) if !begins => part.push(&site.declared),
            _ => parts.push(vec![&site.declared]),
        }
    }
    let is_it = |crash: &Crash| {
        crash.assembler() == assembler
            && said.contains(crash.message())
            && parts.iter().any(|part| crash.is_in(part))
    };
    Crash::ALL.into_iter().find(is_it)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::directive::plain;
    use super::*;
    use crate::spec::Faults;

    #[test]
    fn every_crash_has_a_page_that_says_the_same() {
        let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs");
        let faults = Faults::load(&specs).expect("pages");
        for crash in Crash::ALL {
            let page = faults.get(crash.page()).expect("a page");
            assert!(page.example.is_crash());
            assert_eq!(page.example.wrong, crash.message());
            assert_eq!(page.component.to_string().split(' ').next(), Some(crash.assembler().as_str()));
        }
    }

    /// What is said and what is written must both be the crash's.
    #[test]
    fn a_crash_is_known_by_its_message_and_its_directives() {
        let begin = plain(".cfi_startproc", "", Operation::Begin);
        let remember = plain(".cfi_remember_state", "", Operation::Remember);
        let restore = plain(".cfi_restore_state", "", Operation::RestoreState);
        let offset = plain(".cfi_def_cfa_offset", "16", Operation::CfaOffset(16));
        let register = plain(".cfi_def_cfa_register", "6", Operation::Nothing);
        let gas = Crash::GasRegisterBeforeFirstRow;
        assert!(gas.is_in(&[&[begin.clone(), register.clone()], &[]]));
        assert!(!gas.is_in(&[std::slice::from_ref(&begin), &[register]]));
        let llvm = Crash::LlvmRestoresWithoutRow;
        let states = |first: &Directive| {
            let all = [first.clone(), remember.clone(), restore.clone(), remember.clone()];
            llvm.is_in(&[std::slice::from_ref(&begin), &all])
        };
        assert!(!states(&offset));
        assert!(states(&remember));
        assert!(!llvm.is_in(&[&[begin.clone(), remember.clone(), restore.clone()]]));
    }
}
