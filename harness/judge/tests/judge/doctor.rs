//! Builds, and builds and unwinders with deliberate faults, for the tests of the judge and of the bench.

use std::ops::Range;
use std::path::PathBuf;

use sframe_engine::InstructionPointer;
use sframe_judge::examine::{Examination, ExamineOptions, examine};
use sframe_judge::target::Target;
use sframe_judge::unwind::{Backtrace, MakeUnwinder, Unwinder, Viewpoint, sframe_unwinder};
use sframe_machine::Options;

use crate::common;

/// The bytes of a build.
pub(crate) fn build(id: &str) -> Vec<u8> {
    let path = common::repository().join("corpus/builds").join(id);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn check(bytes: &[u8], make: &MakeUnwinder) -> Examination {
    let target = Target::open(bytes).expect("a target");
    let mut unwinder = make(&target);
    examine(&target, &mut *unwinder, &ExamineOptions::default(), &Options::default()).expect("a machine")
}

/// The real engine, with a modified answer.
pub(crate) struct Changed<'a> {
    pub(crate) inner: Box<dyn Unwinder + 'a>,
    pub(crate) change: fn(&mut Backtrace),
}

impl Unwinder for Changed<'_> {
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
        self.inner.unwind(viewpoint, backtrace);
        (self.change)(backtrace);
    }
}

pub(crate) fn adds_8_to_the_cfa<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    let change = |backtrace: &mut Backtrace| {
        for frame in &mut backtrace.frames {
            frame.cfa = frame.cfa.map(|cfa| cfa + 8);
        }
    };
    Box::new(Changed { inner: sframe_unwinder(target), change })
}

/// The offset of a section in the file.
pub(crate) fn section_offset(bytes: &[u8]) -> usize {
    let target = Target::open(bytes).expect("a target");
    let section = target.executable().subject.sframe.expect("a section").data;
    section.as_ptr() as usize - bytes.as_ptr() as usize
}

/// Adds 8 to the CFA offset of the row that covers a function's start.
pub(crate) fn patch_first_row(bytes: &mut [u8], function: &str) {
    let offset = {
        let target = Target::open(bytes).expect("a target");
        let address = target.executable().subject.symbols.addresses_of(function)[0];
        let pc = InstructionPointer(address + target.executable().image.bias);
        let fde = target.sections.lookup_fde(pc).expect("a sound section").expect("an FDE");
        // Start offset, info byte, then the first data word: one byte each.
        fde.rows_offset + fde.fre_type.width() + 1
    };
    bytes[section_offset(bytes) + offset] += 8;
}

/// Returns where in the file the rows of a function are.
pub(crate) fn rows_of(bytes: &[u8], function: &str) -> Range<usize> {
    let target = Target::open(bytes).expect("a target");
    let start = InstructionPointer::from(target.addresses_of(function)[0]);
    let section = target.sections.at(start).expect("a section");
    let fde = section.lookup_fde(start).expect("a sound section").expect("an FDE");
    let others = section.fdes().flatten().map(|other| other.rows_offset);
    let len = target.executable().subject.sframe.expect("a section").data.len();
    let end = others.filter(|other| *other > fde.rows_offset).min().unwrap_or(len);
    let offset = section_offset(bytes);
    offset + fde.rows_offset..offset + end
}

/// The stride of a sweep that would take minutes: 1 with `SWEEPS=all`, as every night.
pub(crate) fn stride(otherwise: usize) -> usize {
    if std::env::var_os("SWEEPS").is_some_and(|sweeps| sweeps == "all") { 1 } else { otherwise }
}

/// All builds of `corpus/constructed`, by case and ABI.
pub(crate) fn constructed() -> Vec<(String, PathBuf)> {
    let folder = common::repository().join("corpus/constructed");
    let mut builds = Vec::new();
    for case in std::fs::read_dir(&folder).expect("a folder") {
        let case = case.expect("an entry").path();
        for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
            let file = case.join(abi);
            if file.is_file() {
                let name = file.strip_prefix(&folder).expect("within it").display().to_string();
                builds.push((name, file));
            }
        }
    }
    builds.sort();
    builds
}
