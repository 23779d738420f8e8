//! ELF files: reading them, and putting a section into one.

pub mod abi;
pub mod bounded;
mod call_frame_info;
pub mod cfi;
#[cfg(feature = "disassembly")]
pub mod code_digest;
pub mod compile_units;
pub mod debug_file;
mod dwarf;
mod dynamic_relocations;
pub mod file;
pub mod find_sframe;
pub mod function_code;
#[cfg(feature = "disassembly")]
pub mod kernel;
pub mod line_table;
pub mod link;
pub mod linked_code;
pub mod merge_faults;
mod numbers;
pub mod object_file;
mod plt;
pub mod relocatable;
pub mod replace_section;
pub mod sframe_section;
pub mod source;
pub mod symbols;
pub mod unknown_symbol;
