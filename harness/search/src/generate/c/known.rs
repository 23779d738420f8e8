//! What is known of what programs show: faults that have a page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sframe_corpus::signs::{self, SeenCause, WrongRow, without_numbers};
use sframe_corpus::spec::{self, CfaError, Component, Faults, Producer, Sign};
use sframe_engine::Abi;

use super::judge::{Fault, Line};
use super::oracle::Spot;
use super::shape::Cause;

/// The known causes that builds of one toolchain and ABI can have.
#[derive(Clone, Debug, Default)]
pub struct KnownCauses<'f> {
    causes: signs::KnownCauses<'f>,
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
        Self { causes: signs::KnownCauses::of(faults, producer, abi), crashes: crashes.collect() }
    }

    /// The page of a crash.
    #[must_use]
    pub fn page_of_crash(&self, stderr: &str) -> Option<&'f str> {
        self.crashes.iter().find(|(_, says)| stderr.contains(says)).map(|(page, _)| *page)
    }

    /// What a program shows that is made with these flags: the first place of each cause of a row, with the page that
    /// describes it, if one does. A page is about the places of a row that have its sign, or to which the fault goes on.
    #[must_use]
    pub fn causes_of<'j>(&self, faults: &'j [Fault], flags: &[String]) -> Vec<(Option<&'f str>, &'j Fault)> {
        let mut rows: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (index, fault) in faults.iter().enumerate() {
            let row = fault
                .spot
                .as_ref()
                .map(|spot| (spot.row_pc, &fault.function, &fault.cause.wrong, fault.cause.blame));
            rows.entry(row.ok_or(index)).or_default().push(index);
        }
        let mut pages = vec![None; faults.len()];
        for mut places in rows.into_values() {
            let pc = |place: &usize| faults[*place].spot.as_ref().map(|spot| spot.pc);
            places.sort_by_key(pc);
            let of_row = match &faults[places[0]].spot {
                None => vec![self.causes.page_of(&seen(&faults[places[0]], flags))],
                Some(Spot { function, row: (abi, rules, verdict), .. }) => {
                    let at = |place: &usize| Some((pc(place)?, seen(&faults[*place], flags)));
                    let code = |at: u64| {
                        let spots = places.iter().filter_map(|place| faults[*place].spot.as_ref());
                        spots
                            .filter(|spot| spot.pc == at)
                            .map(|spot| Arc::clone(&spot.code))
                            .next()
                            .unwrap_or_default()
                    };
                    let seen: Vec<_> = places.iter().filter_map(at).collect();
                    let row =
                        WrongRow { abi: *abi, function: *function, fde: None, rules, verdict: *verdict };
                    self.causes.pages_of(&seen, code, Some(row))
                }
            };
            places.into_iter().zip(of_row).for_each(|(place, page)| pages[place] = page);
        }
        let mut shown = BTreeSet::new();
        let with_pages = pages.into_iter().zip(faults);
        // What is wrong with a section as a whole has no place.
        with_pages
            .filter(|(page, fault)| {
                let whole = fault.listing.is_empty().then_some(&fault.message);
                let row = fault.spot.as_ref().map(|spot| spot.row_pc);
                shown.insert((&fault.function, &fault.cause.wrong, fault.cause.section, whole, row, *page))
            })
            .collect()
    }
}

/// What is seen of a fault.
fn seen<'s>(fault: &'s Fault, flags: &'s [String]) -> SeenCause<'s> {
    SeenCause {
        wrong: &fault.cause.wrong,
        sections: fault.cause.section.alone(),
        blame: fault.cause.blame,
        row: fault.cause.row.clone(),
        place: fault.place,
        before_row: fault.before_row.as_deref(),
        around: around(fault),
        layout: fault.layout.clone(),
        flags: Some(flags),
        code_in: fault.code_in.as_deref(),
        function: Some(&fault.function),
        entry: Vec::new(),
        // No library is linked in.
        library: Some(""),
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
    /// How wrong the CFA is there, if that is what is wrong.
    pub cfa: Option<CfaError>,
}

impl Place {
    pub(super) fn of(fault: &Fault) -> Option<Self> {
        let (mut before, at) = around(fault)?;
        // What is in front of a function is not its own.
        let after = if fault.cause.after == "the entry" { None } else { before.pop() };
        Some(Self { after, at, cfa: fault.place.cfa })
    }

    /// The cause that a page knows.
    #[must_use]
    pub fn known(&self, abi: Abi, cause: &Cause) -> Sign {
        Sign {
            after: self.after.iter().cloned().collect(),
            at: Some(self.at.clone().into()),
            cfa: self.cfa,
            ..Sign::of_row(abi, &*cause.wrong, cause.section.as_str(), &*cause.row)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sframe_corpus::signs::SeenPlace;
    use sframe_corpus::spec::RowBegins;
    use sframe_isa::Disassembly;
    use sframe_judge::finding::Address;
    use sframe_judge::vocabulary::LayoutFact;
    use sframe_kit::Blame;

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
            place: SeenPlace {
                cfa: CfaError::between(0x1008, 0x1000),
                row_begins: Some(RowBegins::Before),
                row_ends: true,
            },
            ..Fault::of("f1", "wrong-cfa")
        }
    }

    fn known() -> Sign {
        Sign {
            abi: Abi::Amd64.into(),
            wrong: "wrong-cfa".to_owned(),
            section: "both sections".to_owned().into(),
            row: "CFA = SP+N".to_owned().into(),
            cfa: Some("8 too high".parse().expect("an error")),
            row_begins: Some(RowBegins::Before),
            row_ends: true,
            continues: false,
            after: vec!["lea rsp, [rbp - N]".to_owned(), "pop rbp".to_owned()],
            earlier: Vec::new(),
            lacks: Vec::new(),
            as_first_row: false,
            without_epilogue: false,
            later: Vec::new(),
            at: Some("ret".to_owned().into()),
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

    /// A page is about the places with its sign and those that the fault goes on to, and nothing else in the row.
    #[rstest::rstest]
    // push $7; pop %rax; push %rcx; nop; pop %rcx; ret
    #[case::after_it(&[0x6a, 7, 0x58, 0x51, 0x90, 0x59, 0xc3], &[(2, "push N", "pop rax"), (4, "push rcx", "nop"), (5, "nop", "pop rcx")],
        &[(Some("page"), 2), (None, 4)])]
    // sub $16,%rsp; push $7; pop %rax; add $16,%rsp; ret
    #[case::before_it(&[0x48, 0x83, 0xec, 16, 0x6a, 7, 0x58, 0x48, 0x83, 0xc4, 16, 0xc3],
        &[(4, "sub rsp, N", "push N"), (6, "push N", "pop rax"), (7, "pop rax", "add rsp, N")], &[(None, 4)])]
    // push $7; nop; pop %rax; ret
    #[case::goes_on(&[0x6a, 7, 0x90, 0x58, 0xc3], &[(2, "push N", "nop"), (3, "nop", "pop rax")], &[(Some("page"), 2)])]
    fn a_page_is_about_places(
        #[case] code: &[u8],
        #[case] places: &[(u64, &str, &str)],
        #[case] expected: &[(Option<&str>, u64)],
    ) {
        let code = Arc::new(Disassembly::of(Abi::Amd64, [(0x1000, code)]));
        let rules = "CFA = SP+8, RA = *(CFA-8), FP unchanged".parse().expect("rules");
        let cause = Sign {
            after: vec!["push N".to_owned()],
            ..Sign::of_row(Abi::Amd64, "wrong-cfa", "both sections", "CFA = SP+N")
        };
        let at = |&(pc, before, text): &(u64, &str, &str)| Fault {
            listing: vec![line(false, pc - 1, before), line(true, pc, text)],
            spot: Some(Spot {
                pc: 0x1000 + pc,
                row_pc: 0x1000,
                function: 0x1000,
                row: (Abi::Amd64, rules, sframe_judge::vocabulary::Verdict::WrongCfa),
                code: Arc::clone(&code),
            }),
            ..Fault::of("f1", "wrong-cfa")
        };
        let faults: Vec<Fault> = places.iter().map(at).collect();
        let causes = signs::KnownCauses::new(vec![("page", Blame::CompilerOrCfi, &cause)]);
        let known = KnownCauses { causes, crashes: Vec::new() };
        let shown = known.causes_of(&faults, &[]);
        let shown: Vec<_> = shown
            .into_iter()
            .map(|(page, fault)| (page, fault.spot.as_ref().map_or(0, |spot| spot.pc - 0x1000)))
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn every_condition_of_a_known_cause_must_hold() {
        let knows = |cause: &Sign, fault: &Fault| {
            let causes = signs::KnownCauses::new(vec![("page", Blame::CompilerOrCfi, cause)]);
            let known = KnownCauses { causes, crashes: Vec::new() };
            let causes = known.causes_of(std::slice::from_ref(fault), &["-O9".to_owned()]);
            matches!(causes[..], [(Some("page"), _)])
        };
        assert!(knows(&known(), &fault()));
        let changes: [fn(&mut Sign); 16] = [
            |cause| cause.wrong = "wrong-ra".to_owned(),
            |cause| cause.section = ".sframe".to_owned().into(),
            |cause| cause.row = "CFA = FP+N".to_owned().into(),
            |cause| cause.row_begins = Some(RowBegins::Here),
            |cause| cause.cfa = CfaError::between(0x1000, 0x1008),
            |cause| cause.cfa = CfaError::between(0x1010, 0x1000),
            |cause| cause.at = Some("nop".to_owned().into()),
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
        any.row = "CFA = R, RA = *(CFA-N)".to_owned().into();
        assert!(knows(&any, &other));
        any.row = "R = r10, RA = *(CFA-N)".to_owned().into();
        assert!(!knows(&any, &other));
        let mut either = known();
        either.cfa = Some("too high".parse().expect("an error"));
        assert!(knows(&either, &fault()));
        let place = fault().place;
        assert!(!knows(&either, &Fault { place: SeenPlace { cfa: None, ..place }, ..fault() }));
        assert!(!knows(&either, &Fault { place: SeenPlace { row_ends: false, ..place }, ..fault() }));
        assert!(!knows(&either, &Fault { place: SeenPlace { row_begins: None, ..place }, ..fault() }));
        either.cfa = None;
        assert!(knows(&either, &fault()));
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
