//! A complete section: as text, character for character as `objdump --sframe`
//! prints it, and as a lossless JSON document.
//!
//! ```text
//! file -> Input -> Dump -+-> text
//!                        +-> Document (JSON)
//! ```
//!
//! # The text
//!
//! Versions 2 and 3 print as binutils 2.47 prints them, version 1 as binutils
//! 2.40 does; later binutils reject version 1. Each row shows the PC, the CFA,
//! FP and RA:
//!
//! | column | reads | means |
//! |---|---|---|
//! | CFA | `sp+16`, `r10+0` | register and offset |
//! | | `(fp-8)` | the word stored there |
//! | FP, RA | `c-16` | saved at CFA-16. Flex rows print the same if the value **is** CFA-16: the text hides the dereference bit of rules on the CFA |
//! | | `(fp+0)`, `r14+0`, `r14` | register and offset, stored there or the value itself; a register (s390x, version 2) |
//! | | `u` | the row has no rule: unchanged, or at the header's fixed offset |
//! | RA | `f` | at the header's fixed offset |
//! | | `U` | a padding word stands for the rule; the value is not undefined |
//! | | `[s]` | the return address is mangled |
//!
//! `RA undefined` alone marks an outermost frame; so does, in version 3, a
//! function without rows. `[m]` after STARTPC says that row starts are offsets
//! into a repeated block, `attr = "S"` marks a signal frame, `"F"` flex rows.
//!
//! The text shows CFA offsets of s390x truncated to 32 bits, as objdump does. It
//! differs from objdump only if objdump is wrong about sections that no
//! assembler or linker writes: objdump ignores a gap between header and FDE
//! sub-section (`sfh_fdeoff`) in the addresses of functions, and it stops at
//! unknown flags, auxiliary headers of big-endian sections and trailing bytes
//! that are not 0.
//!
//! # Malformed sections
//!
//! The dump contains what can be decoded; [`Dump::faults`] has each fault, with
//! its offset and the clause that it breaks. Rows that are complete, but whose
//! data words make no rules, are printed as objdump prints them, and are
//! errors all the same.

mod content;
mod json;
mod text;

#[cfg(feature = "disassembly")]
pub(crate) use content::FunctionRows;
pub use content::{Dump, Faults, Function, FunctionRow};
pub use json::{
    AddressDocument, Document, ErrorDocument, FieldsDocument, FunctionDocument, FunctionsDocument,
    HexDocument, PlaceDocument, RowDocument, RuleDocument, UnclaimedDocument,
};
pub use text::text;
