//! `DW_CFA_AARCH64_negate_ra_state_with_pc`, which `gimli` does not know.
//!
//! It is for return addresses that are signed together with the PC of the signing instruction. For what is
//! read here, whether one is signed, it does the same as `DW_CFA_AARCH64_negate_ra_state`, and is replaced
//! with that.

use std::ops::Range;

use gimli::{
    CallFrameInstructionIter, CieOrFde, DwEhPe, EndianSlice, Error, FrameDescriptionEntry, Reader as _,
    RunTimeEndian, UnwindSection, constants,
};

use super::table::{CfiSection, Slice, Table};

/// The instruction, and the one that it is read as.
const NEGATE_WITH_PC: u8 = 0x2c;
const NEGATE: u8 = constants::DW_CFA_AARCH64_negate_ra_state.0;

/// Returns where a table's FDEs have it. The instructions of an FDE with another unknown one are left as they
/// are.
pub(super) fn places<'t, S: UnwindSection<Slice<'t>>>(table: &'t Table, section: &S) -> Vec<usize> {
    let mut places = Vec::new();
    let mut entries = section.entries(&table.bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(fde) = entry else { continue };
        let Ok(fde) = fde.parse(S::cie_from_offset) else { continue };
        if is_unknown(fde.instructions(section, &table.bases))
            && let Some(range) = instructions_of(table, &fde)
            && let Some(found) = opcodes(&table.data, range)
        {
            places.extend(found);
        }
    }
    places
}

/// Replaces the instruction.
pub(super) fn replace(data: &mut [u8], places: &[usize]) {
    for place in places {
        if let Some(byte) = data.get_mut(*place) {
            *byte = NEGATE;
        }
    }
}

/// Whether it is the first instruction that can't be read.
fn is_unknown(mut instructions: CallFrameInstructionIter<'_, Slice<'_>>) -> bool {
    loop {
        match instructions.next() {
            Ok(Some(_)) => {}
            Ok(None) => return false,
            Err(error) => return error == Error::UnknownCallFrameInstruction(gimli::DwCfa(NEGATE_WITH_PC)),
        }
    }
}

/// Returns where an FDE's instructions are in their section.
fn instructions_of(table: &Table, fde: &FrameDescriptionEntry<Slice<'_>>) -> Option<Range<usize>> {
    let mut rest = EndianSlice::new(table.data.get(fde.offset()..)?, RunTimeEndian::Little);
    let whole = rest.len();
    // Only the length's extent counts here, and not its byte order.
    let is_64 = rest.read_u32().ok()? == u32::MAX;
    let head = if is_64 { 12 } else { 4 };
    let end = fde.offset().checked_add(head)?.checked_add(fde.entry_len())?;
    rest.skip(head - 4).ok()?;
    match table.section {
        CfiSection::EhFrame => {
            rest.skip(4).ok()?;
            let width = width_of(fde.cie().fde_address_encoding().unwrap_or(constants::DW_EH_PE_absptr))?;
            rest.skip(2 * width).ok()?;
            if fde.cie().augmentation().is_some() {
                let len = rest.read_uleb128().ok()?;
                rest.skip(usize::try_from(len).ok()?).ok()?;
            }
        }
        CfiSection::DebugFrame => rest.skip(if is_64 { 8 } else { 4 } + 16).ok()?,
    }
    let start = fde.offset() + (whole - rest.len());
    (start <= end && end <= table.data.len()).then_some(start..end)
}

/// Returns the size of a pointer in bytes; `None` if it is not fixed.
fn width_of(encoding: DwEhPe) -> Option<usize> {
    match encoding.format() {
        constants::DW_EH_PE_absptr | constants::DW_EH_PE_udata8 | constants::DW_EH_PE_sdata8 => Some(8),
        constants::DW_EH_PE_udata4 | constants::DW_EH_PE_sdata4 => Some(4),
        constants::DW_EH_PE_udata2 | constants::DW_EH_PE_sdata2 => Some(2),
        _ => None,
    }
}

/// Returns where these instructions have it; `None` if one of them is unknown.
fn opcodes(data: &[u8], range: Range<usize>) -> Option<Vec<usize>> {
    let code = data.get(range.clone())?;
    // The byte order is that of no operand that is interpreted.
    let mut rest = EndianSlice::new(code, RunTimeEndian::Little);
    let mut found = Vec::new();
    while !rest.is_empty() {
        let place = range.start + (code.len() - rest.len());
        let opcode = rest.read_u8().ok()?;
        if opcode == NEGATE_WITH_PC {
            found.push(place);
        }
        for operand in operands(opcode)? {
            match operand {
                Operand::Bytes(count) => rest.skip(*count).ok()?,
                Operand::Leb => rest.skip_leb128().ok()?,
                Operand::Block => {
                    let len = rest.read_uleb128().ok()?;
                    rest.skip(usize::try_from(len).ok()?).ok()?;
                }
            }
        }
    }
    Some(found)
}

/// What follows an opcode.
enum Operand {
    Bytes(usize),
    /// A number in LEB128, with a sign or without.
    Leb,
    /// A length, and as many bytes.
    Block,
}

/// Returns the operands of an instruction. Those of `DW_CFA_set_loc` depend on the CIE; no compiler writes
/// it.
#[expect(non_upper_case_globals, reason = "the names are those of DWARF")]
fn operands(opcode: u8) -> Option<&'static [Operand]> {
    use Operand::{Block, Bytes, Leb};
    use constants::*;
    // Three instructions have an operand in their opcode.
    Some(match opcode & 0xc0 {
        0 => match gimli::DwCfa(opcode) {
            DW_CFA_nop | DW_CFA_remember_state | DW_CFA_restore_state => &[],
            DW_CFA_AARCH64_negate_ra_state => &[],
            gimli::DwCfa(NEGATE_WITH_PC) => &[],
            DW_CFA_advance_loc1 => &[Bytes(1)],
            DW_CFA_advance_loc2 => &[Bytes(2)],
            DW_CFA_advance_loc4 => &[Bytes(4)],
            DW_CFA_restore_extended | DW_CFA_undefined | DW_CFA_same_value => &[Leb],
            DW_CFA_def_cfa_register | DW_CFA_def_cfa_offset | DW_CFA_def_cfa_offset_sf => &[Leb],
            DW_CFA_GNU_args_size => &[Leb],
            DW_CFA_offset_extended | DW_CFA_offset_extended_sf | DW_CFA_register => &[Leb, Leb],
            DW_CFA_def_cfa | DW_CFA_def_cfa_sf | DW_CFA_val_offset | DW_CFA_val_offset_sf => &[Leb, Leb],
            DW_CFA_def_cfa_expression => &[Block],
            DW_CFA_expression | DW_CFA_val_expression => &[Leb, Block],
            _ => return None,
        },
        opcode if opcode == DW_CFA_offset.0 => &[Leb],
        _ => &[],
    })
}
