//! Builds and unwinders with deliberate faults.

use std::path::Path;

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

/// Gives another corpus the programs and the toolchains of this one.
pub(crate) fn link_origins(corpus: &Path) {
    for folder in ["programs", "toolchains"] {
        let from = common::repository().join("corpus").join(folder).canonicalize().expect("a folder");
        std::os::unix::fs::symlink(from, corpus.join(folder)).expect("a link");
    }
}

/// Makes a file one without a section.
pub(crate) fn remove_section(file: &mut [u8]) {
    let name = file.windows(8).rposition(|bytes| bytes == b".sframe\0").expect("a section's name");
    file[name + 6] = b'x';
    // Nor does anything else say where it is: the types of section and segment.
    for (mark, other) in [(0x6fff_fff4_u32, 1_u32), (0x6474_e554, 0)] {
        let at = file.windows(4).rposition(|bytes| bytes == mark.to_le_bytes()).expect("a type");
        file[at..at + 4].copy_from_slice(&other.to_le_bytes());
    }
}
