//! What must hold for the engine on any input.
//!
//! Each property is a function that panics where it is broken. They are run
//! on generated input by `cargo test`, and by libFuzzer through
//! `fuzz_targets/`.

use sframe_engine::write::{self, Target};
use sframe_engine::{
    ByteOrder, DwarfRegister, Frame, InstructionPointer, PauthMask, Pc, ReturnAddress, Section, Step, Version,
};

/// Where sections are loaded.
const ADDRESS: u64 = 0x10_0000;

fn parse(data: &[u8]) -> Option<Section<'_>> {
    Section::parse(data, ADDRESS).ok()
}

/// Everything can be read, or is a typed error; and no more is read than is there.
pub fn read(data: &[u8]) {
    let Some(section) = parse(data) else { return };
    for fde in section.fdes() {
        let fde = match fde {
            Ok(fde) => fde,
            Err(error) => {
                assert!(error.offset <= data.len() && !error.to_string().is_empty());
                continue;
            }
        };
        let mut rows: usize = 0;
        for row in section.rows(&fde) {
            rows += 1;
            match row {
                Ok(row) => assert!(!row.to_string().is_empty()),
                Err(error) => assert!(error.offset <= data.len() && !error.to_string().is_empty()),
            }
        }
        // A row takes at least two bytes; one more may be a row that is cut.
        assert!(rows <= data.len() / 2 + 1, "{rows} rows in {} bytes", data.len());
    }
}

/// Addresses at which something may change: around each function's bounds and rows.
fn boundaries(section: &Section<'_>) -> Vec<u64> {
    let mut addresses = vec![0, u64::MAX];
    for fde in section.fdes().flatten().take(32) {
        let end = fde.start.wrapping_add(fde.size.into());
        addresses.extend([fde.start.wrapping_sub(1), fde.start, end.wrapping_sub(1), end]);
        for row in section.rows(&fde).flatten().take(16) {
            let start = fde.start.wrapping_add(row.start.into());
            addresses.extend([start.wrapping_sub(1), start, start.wrapping_add(1)]);
        }
    }
    addresses
}

/// What is found covers the address, and is one of the function's rows. A
/// return address is looked up as the address before it.
pub fn look_up(data: &[u8]) {
    let Some(section) = parse(data) else { return };
    for address in boundaries(&section) {
        let found = section.lookup(InstructionPointer(address));
        assert_eq!(found, section.lookup(ReturnAddress(address.wrapping_add(1))));
        let Ok(Some(found)) = found else { continue };
        assert!(found.fde.contains(address));
        match found.row_index {
            None => assert!(found.fde.outermost && found.row.is_outermost()),
            Some(index) => {
                let row = section.rows(&found.fde).nth(index as usize);
                assert_eq!(row, Some(Ok(found.row)));
            }
        }
    }
}

/// A step is a value or a named reason; a caller's frame lies further out.
pub fn step(data: &[u8]) {
    // The first bytes are the machine's state, the others the section.
    let Some((state, data)) = data.split_at_checked(32) else { return };
    let Some(section) = parse(data) else { return };
    let word = |index: usize| {
        let bytes = state[index * 8..index * 8 + 8].try_into().unwrap_or_default();
        u64::from_le_bytes(bytes)
    };
    let (sp, fp, salt) = (word(0), word(1), word(2));
    let registers = |register: DwarfRegister| (register.0 < 32).then(|| salt.wrapping_mul(register.0.into()));
    let memory = |address: u64| (address % 3 != salt % 3).then(|| address.rotate_left(7) ^ salt);
    let mask = PauthMask::for_address_bits(39);
    for address in boundaries(&section) {
        for topmost in [true, false] {
            let pc = if topmost {
                Pc::Instruction(InstructionPointer(address))
            } else {
                Pc::Return(ReturnAddress(address))
            };
            let frame = Frame { pc, sp, fp };
            match section.step(&frame, topmost.then_some(&registers), &memory, mask) {
                Ok(Step::Caller(caller)) => {
                    let is_signal = caller.interrupted;
                    assert!(is_signal || caller.sp > sp || (topmost && caller.sp == sp));
                    assert_eq!(caller.cfa % 8, 0);
                }
                Ok(Step::Outermost) => {}
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

/// What was read can be written, unless it is refused by name, and reads back
/// as it was; written again it is the same.
pub fn write(data: &[u8]) {
    let Some(section) = parse(data) else { return };
    let Ok(owned) = write::Section::from_read(&section) else { return };
    let rows: usize = owned.functions.iter().map(|function| function.rows.len()).sum();
    assert!(rows <= data.len() / 2, "{rows} rows kept of {} bytes", data.len());
    let bytes = match owned.write(ADDRESS) {
        Ok(bytes) => bytes,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let again = Section::parse(&bytes, ADDRESS).expect("a written header is sound");
    let again = write::Section::from_read(&again).expect("written rows are sound");
    assert_eq!(again.write(ADDRESS).as_ref(), Ok(&bytes));
    let without_ends = |mut section: write::Section| {
        // The end of a row is the start of the next; both are kept by writing.
        section
            .functions
            .iter_mut()
            .for_each(|function| function.rows.iter_mut().for_each(|row| row.end = 0));
        section
    };
    assert_eq!(without_ends(again), without_ends(owned));
}

/// A conversion can be written, and answers each look-up as before but for the
/// functions that it lists.
pub fn convert(data: &[u8]) {
    let Some(section) = parse(data) else { return };
    let Ok(owned) = write::Section::from_read(&section) else { return };
    for version in [Version::V1, Version::V2, Version::V3] {
        for byte_order in [ByteOrder::Little, ByteOrder::Big] {
            let Ok(conversion) = owned.convert(Target { version, byte_order }) else { continue };
            let kept = conversion.section.functions.len();
            assert_eq!(kept + conversion.left_out.len(), owned.functions.len());
            match conversion.section.write(ADDRESS) {
                Ok(bytes) => {
                    let converted = Section::parse(&bytes, ADDRESS).expect("a written header is sound");
                    write::Section::from_read(&converted).expect("written rows are sound");
                }
                // Each function was in reach of itself, maybe not of the section.
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}
