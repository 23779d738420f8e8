//! The witness against programs that record their own call path.
//!
//! `callpath` pushes each function's address into an array when it is entered
//! and pops it before it returns. No unwind data is read here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use crate::builds::builds_of;
use goblin::elf::Elf;
use sframe_engine::Abi;
use sframe_machine::{End, Flow, Image, Machine, Moment, Options};

/// What the test has to know about a build.
struct Build<'a> {
    path: PathBuf,
    image: Image<'a>,
    functions: BTreeMap<u64, Range<u64>>,
    bench_path: u64,
}

impl<'a> Build<'a> {
    fn open(path: PathBuf, bytes: &'a [u8]) -> Self {
        let image = Image::parse(bytes).expect("a loadable image");
        let elf = Elf::parse(bytes).expect("an ELF file");
        let mut functions = BTreeMap::new();
        let mut variables = BTreeMap::new();
        for symbol in &elf.syms {
            let start = symbol.st_value.wrapping_add(image.bias);
            if symbol.is_function() {
                functions.insert(start, start..start.wrapping_add(symbol.st_size));
            } else if let Some(name) = elf.strtab.get_at(symbol.st_name) {
                variables.insert(name, start);
            }
        }
        let bench_path = variables["bench_path"];
        Self { path, image, functions, bench_path }
    }

    /// The function that contains an address.
    fn function(&self, address: u64) -> Option<u64> {
        let (start, range) = self.functions.range(..=address).next_back()?;
        range.contains(&address).then_some(*start)
    }

    /// The call path that the program has recorded, `main` first.
    fn recorded(&self, moment: &Moment<'_>) -> Vec<u64> {
        let read = |address| moment.memory.read_u64(address).expect("the path");
        match read(self.bench_path) {
            0 => Vec::new(),
            path => (1..=read(path)).map(|index| read(path + index * 8)).collect(),
        }
    }

    fn run(&self, mut observer: impl FnMut(&Moment<'_>)) {
        let machine = Machine::new(&self.image, &Options::default()).expect("a machine");
        let mut each = |moment: &Moment<'_>| {
            observer(moment);
            Flow::Continue
        };
        let outcome = machine.run(&mut each).expect("an emulator");
        assert_eq!(outcome.end, End::Exit(0), "{}", self.path.display());
    }

    /// The functions that record themselves.
    fn recording_functions(&self) -> BTreeSet<u64> {
        let mut functions = BTreeSet::new();
        self.run(|moment| functions.extend(self.recorded(moment)));
        functions
    }
}

/// At every instruction. A function that has not yet recorded itself, or has
/// taken itself off already, is on the call stack and not in the array.
#[test]
fn the_call_stack_is_the_path_that_the_program_records_of_itself() {
    let paths = builds_of("callpath");
    assert!(paths.len() >= 30, "{} builds", paths.len());
    let mut abis = BTreeSet::new();
    for path in paths {
        let bytes = std::fs::read(&path).expect("a build");
        let build = Build::open(path, &bytes);
        let name = build.path.display();
        abis.insert(build.image.cpu.abi);
        let recording = build.recording_functions();
        assert!(recording.len() >= 5, "{name}: {} functions record themselves", recording.len());

        let (mut same, mut entering, mut deepest) = (0, 0, 0);
        build.run(|moment| {
            let recorded = build.recorded(moment);
            let records = moment.call_stack.records();
            let path: Vec<u64> =
                records.iter().map(|call| call.callee).filter(|callee| recording.contains(callee)).collect();
            deepest = deepest.max(path.len());
            if path == recorded {
                same += 1;
            } else {
                let (top, rest) = path.split_last().expect("a frame that records itself");
                assert_eq!(rest, recorded, "{name} at {:#x}", moment.pc);
                // It may be calling a helper that records nothing.
                let current = build.function(moment.pc).filter(|current| recording.contains(current));
                assert!(current.is_none_or(|current| current == *top), "{name} at {:#x}", moment.pc);
                entering += 1;
            }
            // Each call is in the function that the call before it entered.
            let callers = std::iter::once(None).chain(records.iter().map(|call| Some(call.callee)));
            for (call, caller) in records.iter().zip(callers) {
                let function = build.function(call.return_address - 1);
                assert!(caller.is_none() || function == caller, "{name} at {:#x}", moment.pc);
                assert!(build.functions.contains_key(&call.callee), "{name} at {:#x}", moment.pc);
                if build.image.cpu.abi == Abi::Amd64 {
                    let slot = moment.memory.read_u64(call.cfa - 8);
                    assert_eq!(slot, Some(call.return_address), "{name} at {:#x}", moment.pc);
                }
            }
        });
        assert!(same > 1000, "{name}: {same} the same, {entering} entering");
        assert!(deepest >= 6, "{name}: at most {deepest} deep");
    }
    assert_eq!(abis, BTreeSet::from(Abi::ALL));
}

/// A witness that misses returns or calls would end with frames left over.
#[test]
fn every_call_has_returned_when_the_program_exits_from_its_entry_function() {
    for program in ["callpath", "recursion", "function_pointers", "tail_calls", "plt"] {
        let paths = builds_of(program);
        assert!(!paths.is_empty(), "{program}");
        for path in paths {
            let bytes = std::fs::read(&path).expect("a build");
            let image = Image::parse(&bytes).expect("a loadable image");
            let machine = Machine::new(&image, &Options::default()).expect("a machine");
            let (mut left, mut deepest) = (usize::MAX, 0);
            let mut observer = |moment: &Moment<'_>| {
                left = moment.call_stack.records().len();
                deepest = deepest.max(left);
                Flow::Continue
            };
            let outcome = machine.run(&mut observer).expect("an emulator");
            assert_eq!(outcome.end, End::Exit(0), "{}", path.display());
            assert_eq!(left, 0, "{}", path.display());
            assert!(deepest >= 3, "{}", path.display());
        }
    }
}
