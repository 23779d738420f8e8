//! The position of rows in a file.

use sframe_engine::InstructionPointer;
use sframe_judge::target::Target;

use crate::doctor;

/// Returns where in the file the rows of a function are.
pub(crate) fn rows_of(bytes: &[u8], function: &str) -> std::ops::Range<usize> {
    let target = Target::open(bytes).expect("a target");
    let start = InstructionPointer::from(target.addresses_of(function)[0]);
    let section = target.sections.at(start).expect("a section");
    let fde = section.lookup_fde(start).expect("a sound section").expect("an FDE");
    let others = section.fdes().flatten().map(|other| other.rows_offset);
    let len = target.executable().subject.sframe.expect("a section").data.len();
    let end = others.filter(|other| *other > fde.rows_offset).min().unwrap_or(len);
    let offset = doctor::section_offset(bytes);
    offset + fde.rows_offset..offset + end
}
