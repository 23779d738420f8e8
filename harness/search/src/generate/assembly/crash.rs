//! Crashes of assemblers that are known: each has a page in `specs/faults`.

use std::ops::Range;

use sframe_engine::Abi;

use super::directive::{Directive, Operation, SIMPLE};
use super::quirk::with_pages;
use super::writer::{Program, parts};

with_pages! {
    /// A known crash. Its page is what it is called.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum Crash {
        GasOffsetBeforeCfa = "gas-offset-before-cfa",
        GasRegisterBeforeFirstRow = "gas-register-before-first-row",
        LlvmRestoresWithoutRow = "llvm-restores-without-row",
    }
}

impl Crash {
    /// What the assembler says: first `wrong` of the page.
    const fn messages(self) -> &'static [&'static str] {
        match self {
            Self::GasOffsetBeforeCfa => &["Internal error in sframe_xlate_do_offset"],
            Self::GasRegisterBeforeFirstRow => &["Internal error (Segmentation fault)"],
            Self::LlvmRestoresWithoutRow => &[
                "SmallVector unable to grow. Requested capacity (4294967296)",
                "unable to execute command: Segmentation fault",
            ],
        }
    }

    /// The functions of a program with what the assembler crashes on, if it says what it says then.
    pub(super) fn functions(self, said: &str, program: &Program) -> Vec<u32> {
        if !self.messages().iter().any(|message| said.contains(message)) {
            return Vec::new();
        }
        let is_in = |part: &Range<usize>| {
            let sites = program.sites[part.clone()].iter();
            let declared: Vec<_> = sites.map(|site| &site.declared[..]).collect();
            self.is_in(program.abi, &declared)
        };
        let mut functions: Vec<u32> = parts(program)
            .iter()
            .filter(|part| is_in(part))
            .map(|part| program.sites[part.start].function)
            .collect();
        functions.dedup();
        functions
    }

    /// Whether a part of a function has what the assembler crashes on. The directives before each of
    /// its instructions are given.
    fn is_in(self, abi: Abi, part: &[&[Directive]]) -> bool {
        match self {
            Self::GasOffsetBeforeCfa => {
                // In front of a part that is elsewhere is the end of what comes before it.
                let directives = part.iter().copied().flatten();
                let mut directives = directives.skip_while(|one| one.operation != Operation::Begin);
                directives.next().is_some_and(|begin| begin.form == SIMPLE)
                    && matches!(directives.next(), Some(Directive { operation: Operation::Offset(..), .. }))
            }
            // What comes before the first instruction belongs to the first row, and there is none yet.
            Self::GasRegisterBeforeFirstRow => part
                .first()
                .is_some_and(|declared| declared.iter().any(|one| one.form == ".cfi_def_cfa_register")),
            Self::LlvmRestoresWithoutRow => loses_count(abi, part.iter().copied().flatten()),
        }
    }
}

/// Whether LLVM takes back a state that it has not saved, for want of a row, and goes on with a list that
/// seems to have 2^32 - 1 of them: by saving another, or by taking another.
fn loses_count<'d>(abi: Abi, directives: impl Iterator<Item = &'d Directive>) -> bool {
    let (mut has_row, mut saved, mut is_lost) = (false, 0_u32, false);
    for directive in directives {
        match directive.operation {
            Operation::Remember | Operation::RestoreState if is_lost => return true,
            Operation::Remember => saved += u32::from(has_row),
            Operation::RestoreState => match saved.checked_sub(1) {
                Some(left) => saved = left,
                None => is_lost = true,
            },
            _ => has_row |= makes_row(abi, directive),
        }
    }
    false
}

/// Whether LLVM is to save a state where it has no row.
pub(super) fn remembers_without_row<'d>(abi: Abi, directives: impl Iterator<Item = &'d Directive>) -> bool {
    let mut before = directives.take_while(|directive| !makes_row(abi, directive));
    before.any(|directive| directive.operation == Operation::Remember)
}

/// Whether LLVM makes a row of a directive. What is ignored, or keeps the function out of the section, makes
/// none, and so does what is written byte by byte.
fn makes_row(abi: Abi, directive: &Directive) -> bool {
    match directive.operation {
        _ if directive.is_escape() => false,
        Operation::CfaOffset(_) | Operation::AdjustCfaOffset(_) => true,
        Operation::DefineCfa(register, _) | Operation::CfaRegister(register) => {
            [abi.sp(), abi.fp()].contains(&register)
        }
        Operation::Offset(register, _) => [abi.fp(), abi.ra_column()].contains(&register),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sframe_engine::DwarfRegister;

    use super::super::directive::plain;
    use super::*;
    use sframe_corpus::spec::Faults;

    #[test]
    fn every_crash_has_a_page_that_says_the_same() {
        let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs");
        let faults = Faults::load(&specs).expect("pages");
        for crash in Crash::ALL {
            let page = faults.get(crash.page()).expect("a page");
            assert!(page.example.is_crash());
            assert_eq!(page.example.wrong, crash.messages()[0]);
            assert_eq!(page.component.to_string().split(' ').next(), crash.page().split('-').next());
        }
    }

    /// What is said and what is written must both be the crash's.
    #[test]
    fn a_crash_is_known_by_its_message_and_its_directives() {
        let begin = plain(".cfi_startproc", "", Operation::Begin);
        let remember = plain(".cfi_remember_state", "", Operation::Remember);
        let restore = plain(".cfi_restore_state", "", Operation::RestoreState);
        let register = plain(".cfi_def_cfa_register", "6", Operation::Nothing);
        let gas = Crash::GasRegisterBeforeFirstRow;
        let abi = Abi::Amd64;
        assert!(gas.is_in(abi, &[&[begin.clone(), register.clone()], &[]]));
        assert!(!gas.is_in(abi, &[std::slice::from_ref(&begin), &[register]]));
        let simple = plain(SIMPLE, "", Operation::Begin);
        let define = plain(".cfi_def_cfa", "7, 8", Operation::DefineCfa(abi.sp(), 8));
        let offset = plain(".cfi_offset", "16, -8", Operation::Offset(DwarfRegister(16), -8));
        let early = Crash::GasOffsetBeforeCfa;
        assert!(early.is_in(abi, &[&[simple.clone(), offset.clone(), define.clone()]]));
        let end = plain(".cfi_endproc", "", Operation::Nothing);
        assert!(early.is_in(abi, &[&[end, simple.clone(), offset.clone(), define.clone()]]));
        assert!(!early.is_in(abi, &[&[simple, define, offset.clone()]]));
        assert!(!early.is_in(abi, &[&[begin.clone(), offset]]));
        let llvm = Crash::LlvmRestoresWithoutRow;
        let offset = plain(".cfi_def_cfa_offset", "16", Operation::CfaOffset(16));
        let escape = plain(".cfi_escape", "0xf, 3, 0x77, 0, 6", Operation::LoadedCfa(abi.sp(), 0));
        let escaped_offset = plain(".cfi_escape", "0xe, 0x18", Operation::CfaOffset(24));
        let saved = plain(".cfi_offset", "3, -16", Operation::Offset(DwarfRegister(3), -16));
        // Seen with Clang 22: what follows, and whether it ends by a signal.
        let crashes = |all: &str| {
            let directive = |letter| match letter {
                'o' => offset.clone(),
                'x' => escape.clone(),
                'e' => escaped_offset.clone(),
                's' => saved.clone(),
                'r' => remember.clone(),
                _ => restore.clone(),
            };
            let all: Vec<Directive> = all.chars().map(directive).collect();
            llvm.is_in(abi, &[std::slice::from_ref(&begin), &all])
        };
        for all in ["rtr", "rtt", "ertrt", "rertt", "xrtr", "xrrtt", "srtr", "rotrt", "rrott"] {
            assert!(crashes(all), "{all}");
        }
        for all in ["rt", "xrt", "ort", "ortrt", "rrot", "orrtt", "rortrt"] {
            assert!(!crashes(all), "{all}");
        }
    }
}
