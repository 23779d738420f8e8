//! What is known of what programs show: faults that have a page.

use sframe_engine::Abi;
use sframe_suite::faults::{self, SeenCause, without_numbers};
use sframe_suite::spec::{self, Component, Faults, Producer, Sign};

use super::judge::{Fault, Line};
use super::shape::Cause;

/// The known causes that builds of one toolchain and ABI can have.
#[derive(Clone, Debug, Default)]
pub struct KnownCauses<'f> {
    causes: faults::KnownCauses<'f>,
    /// What compilers say when they crash, by page.
    crashes: Vec<(&'f str, &'f str)>,
}

impl<'f> KnownCauses<'f> {
    /// Those of all pages.
    #[must_use]
    pub fn of(faults: &'f Faults, producer: &Producer, abi: Abi) -> Self {
        let can_have = || faults.iter().filter(|(_, fault, _)| fault.component.contains(producer));
        // What an assembler says does not tell what it has crashed on.
        let is_of_compiler = |fault: &spec::Fault| {
            fault.example.is_crash() && matches!(fault.component, Component::Compiler(_))
        };
        let crashes = can_have().filter(|(_, fault, _)| is_of_compiler(fault));
        let crashes = crashes.map(|(name, fault, _)| (name, fault.example.wrong.as_str()));
        Self { causes: faults::KnownCauses::of(faults, producer, abi), crashes: crashes.collect() }
    }

    /// The page of a crash.
    #[must_use]
    pub fn page_of_crash(&self, stderr: &str) -> Option<&'f str> {
        self.crashes.iter().find(|(_, says)| stderr.contains(says)).map(|(page, _)| *page)
    }

    /// The page of what a program shows that is made with these flags.
    #[must_use]
    pub fn page_of(&self, fault: &Fault, flags: &[String]) -> Option<&'f str> {
        let seen = SeenCause {
            wrong: &fault.cause.wrong,
            sections: &[fault.cause.section.as_str()],
            blame: fault.cause.blame,
            row: fault.cause.row.clone(),
            before_row: fault.before_row.as_deref(),
            around: around(fault),
            layout: fault.layout.clone(),
            flags: Some(flags),
            code_in: fault.code_in.as_deref(),
            function: Some(&fault.function),
            entry: Vec::new(),
            // No library is linked in.
            library: Some(""),
        };
        self.causes.page_of(&seen)
    }
}

/// The instructions before the first one that is wrong, and that one, without numbers.
fn around(fault: &Fault) -> Option<(Vec<String>, String)> {
    let listing = &fault.listing;
    let at = listing.iter().position(|line| line.is_wrong)?;
    let shape = |line: &Line| without_numbers(&line.text);
    Some((listing[..at].iter().map(shape).collect(), shape(&listing[at])))
}

/// Where a fault is seen, as pages say it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The instruction before the first one that is wrong.
    pub after: Option<String>,
    /// That instruction.
    pub at: String,
}

impl Place {
    pub(super) fn of(fault: &Fault) -> Option<Self> {
        let (mut before, at) = around(fault)?;
        // What is in front of a function is not its own.
        let after = if fault.cause.after == "the entry" { None } else { before.pop() };
        Some(Self { after, at })
    }

    /// The cause that a page knows.
    #[must_use]
    pub fn known(&self, abi: Abi, cause: &Cause) -> Sign {
        Sign {
            abi,
            wrong: cause.wrong.clone(),
            section: cause.section.to_string(),
            row: cause.row.clone(),
            after: self.after.iter().cloned().collect(),
            at: Some(self.at.clone()),
            begins_after: Vec::new(),
            with: Vec::new(),
            layout: None,
            code_in: None,
            function: None,
            entry: Vec::new(),
            library: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sframe_inspect::Blame;
    use sframe_judge::finding::Address;
    use sframe_judge::vocabulary::LayoutFact;

    fn line(is_wrong: bool, pc: u64, text: &str) -> Line {
        Line { is_wrong, pc: Address(pc), text: text.to_owned() }
    }

    fn fault() -> Fault {
        Fault {
            listing: vec![
                line(false, 0x10, "lea rsp, [rbp - 0x28]"),
                line(false, 0x14, "pop rbp"),
                line(true, 0x15, "ret"),
                line(false, 0x16, "nop"),
            ],
            before_row: Some("jmp 0x40".to_owned()),
            layout: vec![LayoutFact::LinkageTable],
            code_in: Some(".plt.got".to_owned()),
            ..Fault::of("f1", "wrong-cfa")
        }
    }

    fn known() -> Sign {
        Sign {
            abi: Abi::Amd64,
            wrong: "wrong-cfa".to_owned(),
            section: "both sections".to_owned(),
            row: "CFA = SP+N".to_owned(),
            after: vec!["lea rsp, [rbp - N]".to_owned(), "pop rbp".to_owned()],
            at: Some("ret".to_owned()),
            begins_after: vec!["jmp".to_owned(), "ret".to_owned()],
            with: vec!["-O9".to_owned()],
            layout: Some(LayoutFact::LinkageTable),
            code_in: Some(".plt.got".to_owned()),
            function: Some("f*".parse().expect("a pattern")),
            entry: Vec::new(),
            library: None,
        }
    }

    /// What compilers say when they crash is known; what assemblers say then is of any crash.
    #[test]
    fn crashes_of_compilers_are_recognised_by_their_messages() {
        let specs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs");
        let faults = Faults::load(&specs).expect("pages");
        let page = |compiler: &str, assembler: &str, says: &str| {
            let producer = Producer {
                compiler: Some(compiler.parse().expect("a compiler")),
                assembler: Some(assembler.parse().expect("an assembler")),
                ..Producer::default()
            };
            KnownCauses::of(&faults, &producer, Abi::Amd64).page_of_crash(says).map(str::to_owned)
        };
        let says = "a.c:4:16: internal compiler error: in expand_call, at calls.cc:3608";
        assert_eq!(page("gcc 14.2", "gas 2.44", says).as_deref(), Some("gcc-ms-abi-stack-boundary"));
        assert_eq!(page("clang 22.1", "llvm 22.1", says), None);
        assert_eq!(page("gcc 14.2", "gas 2.44", "internal compiler error: in expand_expr"), None);
        assert_eq!(page("gcc 14.2", "gas 2.44", "x.s: Internal error (Segmentation fault)"), None);
    }

    #[test]
    fn every_condition_of_a_known_cause_must_hold() {
        let knows = |cause: &Sign, fault: &Fault| {
            let causes = faults::KnownCauses::new(vec![("page", Blame::CompilerOrCfi, cause)]);
            let known = KnownCauses { causes, crashes: Vec::new() };
            known.page_of(fault, &["-O9".to_owned()]) == Some("page")
        };
        assert!(knows(&known(), &fault()));
        let changes: [fn(&mut Sign); 13] = [
            |cause| cause.wrong = "wrong-ra".to_owned(),
            |cause| cause.section = ".sframe".to_owned(),
            |cause| cause.row = "CFA = FP+N".to_owned(),
            |cause| cause.at = Some("nop".to_owned()),
            |cause| cause.after[0] = "lea rsp, [rbp + N]".to_owned(),
            |cause| cause.after.insert(0, "nop".to_owned()),
            |cause| {
                (cause.after, cause.at) = (Vec::new(), None);
                (cause.with, cause.begins_after) = (Vec::new(), Vec::new());
                (cause.layout, cause.code_in, cause.function) = (None, None, None);
            },
            |cause| cause.function = Some("g*".parse().expect("a pattern")),
            |cause| cause.code_in = Some(".plt".to_owned()),
            |cause| cause.library = Some("libc.so.6".to_owned()),
            |cause| cause.layout = Some(LayoutFact::UnconvertedStarts),
            |cause| cause.begins_after = vec!["call".to_owned()],
            |cause| cause.with.push("-O8".to_owned()),
        ];
        for change in changes {
            let mut other = known();
            change(&mut other);
            assert!(!knows(&other, &fault()), "{other:?}");
        }
        // Any register, in the same place.
        let mut any = known();
        any.after = vec!["lea rsp, [R - N]".to_owned(), "pop R".to_owned()];
        assert!(knows(&any, &fault()));
        for other in ["lea rsp, [R - R]", "lea rsp, [R]", "R rsp, [rbx - N]", "lea rsp, [R - N], R"] {
            any.after[0] = other.to_owned();
            assert!(!knows(&any, &fault()), "{other}");
        }
        // In rules, too.
        let mut other = fault();
        other.cause.row = "CFA = r10, RA = *(CFA-N)".to_owned();
        any = known();
        any.row = "CFA = R, RA = *(CFA-N)".to_owned();
        assert!(knows(&any, &other));
        any.row = "R = r10, RA = *(CFA-N)".to_owned();
        assert!(!knows(&any, &other));
        let mut either = known();
        either.at = None;
        assert!(knows(&either, &fault()));
        either = known();
        either.after.clear();
        assert!(knows(&either, &fault()));
        either.at = None;
        assert!(knows(&either, &fault()));
        let mut other = fault();
        other.cause.blame = Blame::Unknown;
        assert!(knows(&known(), &other));
        other = fault();
        other.cause.blame = Blame::ProducerAssembler;
        assert!(!knows(&known(), &other));
        // What is known by the place that a fault was seen at is that fault.
        let place = Place::of(&fault()).expect("a place");
        assert!(knows(&place.known(Abi::Amd64, &fault().cause), &fault()));
        other = fault();
        other.listing[2].is_wrong = false;
        assert!(!knows(&known(), &other));
    }
}
