//! What must hold for the engine on any input.
//!
//! Each property is a function that panics where it is broken. `cargo test`
//! runs them on generated input, and libFuzzer through `fuzz_targets/` (see
//! `ci/fuzz`). [`PROPERTIES`] lists them by the names of their fuzz targets.
//!
//! `tests/cost.rs` measures the cost of the engine on any input, in steps and
//! in memory.
//!
//! [`files`] has the same for code that reads whole files.

#[cfg(feature = "files")]
pub mod files;

use std::cell::Cell;

use sframe_engine::write::{self, Layout, Target};
use sframe_engine::{
    Abi, Base, ByteOrder, Cache, DataWordSize, DwarfRegister, Error, Fde, Found, Frame, Index,
    InstructionPointer, PauthMask, Pc, PcType, Recovery, RecoveryRule, ReturnAddress, Row, Section, Step,
    Version,
};

/// A property: panics if it does not hold for the input.
pub type Property = fn(&[u8]);

/// All properties, each with the name of its fuzz target.
pub const PROPERTIES: [(&str, Property); 5] =
    [("read", read), ("look_up", look_up), ("step", step), ("write", write), ("convert", convert)];

/// Bytes of machine state before the section in the input of [`step`].
pub const STATE_SIZE: usize = 32;

/// Where sections are loaded.
const ADDRESS: u64 = 0x10_0000;

fn parse(data: &[u8]) -> Option<Section<'_>> {
    match Section::parse(data, ADDRESS) {
        Ok(section) => Some(section),
        Err(error) => {
            assert_is_told(&error, data);
            None
        }
    }
}

/// An error has a place within the input, and a sentence for people.
fn assert_is_told(error: &Error, data: &[u8]) {
    assert!(error.offset <= data.len() && !error.clause().title().is_empty(), "{error}");
    assert!(error.to_string().contains(error.clause().title()), "{error}");
}

/// The rows of a function, and the first error, in the plainest way: from its entries, one by one.
fn interpreted(section: &Section<'_>, fde: &Fde) -> Vec<Result<Row, Error>> {
    let mut rows = Vec::new();
    let mut entries = section.fres(fde);
    while let Some(entry) = entries.next() {
        let is_last = rows.len() as u64 + 1 == u64::from(fde.num_rows);
        let next_start = entries.next_start().filter(|_| !is_last);
        let row = entry.and_then(|entry| section.row(fde, &entry, next_start.unwrap_or(fde.rows_end())));
        rows.push(row);
        if row.is_err() {
            break;
        }
    }
    rows
}

/// Everything can be read, or is a typed error; no more is read than there is. Stored entries
/// and rows correspond one to one.
pub fn read(data: &[u8]) {
    let Some(section) = parse(data) else { return };
    let header = *section.header();
    assert!(section.auxiliary_header().len() == usize::from(header.auxhdr_len));
    let fdes = section.fdes().enumerate();
    let mut count = 0;
    for (index, fde) in fdes {
        count += 1;
        let fde = match fde {
            Ok(fde) => fde,
            Err(error) => {
                assert_is_told(&error, data);
                continue;
            }
        };
        assert_eq!(fde.index as usize, index);
        let rows: Vec<_> = section.rows(&fde).collect();
        assert_eq!(rows, interpreted(&section, &fde));
        for row in &rows {
            match row {
                Ok(row) => assert!(!row.to_string().is_empty()),
                Err(error) => assert_is_told(error, data),
            }
        }
        for entry in section.fres(&fde).flatten() {
            assert!(entry.offset() + entry.size() <= data.len());
        }
        // A row takes at least two bytes; one more may be a row that is cut off.
        let rows = rows.len();
        assert!(rows <= data.len() / 2 + 1, "{rows} rows in {} bytes", data.len());
    }
    assert_eq!(count, header.num_fdes as usize);
    assert!(count <= data.len() / header.version.fde_size());
    section.fde(header.num_fdes).expect_err("there is none after the last");
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

/// Returns the functions, if they can all be read and are in order where the section says so:
/// then a binary search must find what a scan finds.
fn searchable(section: &Section<'_>) -> Option<Vec<Fde>> {
    let fdes = section.fdes().collect::<Result<Vec<_>, _>>().ok()?;
    let ends: Option<Vec<_>> = fdes.iter().map(|fde| fde.start.checked_add(fde.size.into())).collect();
    // A function that wraps past the last address covers the first ones too.
    let ends = ends?;
    let in_order = ends.iter().zip(fdes.iter().skip(1)).all(|(end, next)| *end <= next.start);
    (in_order || !section.header().flags.sorted()).then_some(fdes)
}

/// Finds the row of a function for an address in the plainest way: interprets one row after the
/// other, up to the first that starts after the address.
fn interpret(section: &Section<'_>, fde: &Fde, address: u64) -> Result<Option<Found>, Error> {
    let any_order = fde.pc_type == PcType::Mask && fde.rep_size.is_none();
    let mut found = None;
    for (index, row) in (0..).zip(section.rows(fde)) {
        let row = row?;
        if fde.row_covers(row.start, address) {
            found = Some(Found { fde: *fde, row_index: Some(index), row });
        } else if !any_order {
            break;
        }
    }
    Ok(found)
}

/// What is found covers the address, and is one of the function's rows. A return address is
/// looked up as the address before it. A search finds the function that a scan finds, and the
/// row, or the error, that interpreting all rows finds.
pub fn look_up(data: &[u8]) {
    let Some(section) = parse(data) else { return };
    let fdes = searchable(&section);
    let index = Index::new(&section);
    assert!(index.memory() <= data.len(), "{} bytes for {}", index.memory(), data.len());
    // So small that addresses displace each other.
    let mut cache = Cache::<_, 7>::new(&index);
    for address in boundaries(&section) {
        if let Some(fdes) = &fdes {
            let scanned = fdes.iter().find(|fde| fde.contains(address));
            assert_eq!(section.lookup_fde(InstructionPointer(address)), Ok(scanned.copied()));
        }
        for fde in section.fdes().flatten().filter(|fde| !fde.outermost && fde.contains(address)).take(4) {
            let found = section.lookup_row(&fde, InstructionPointer(address));
            assert_eq!(found, interpret(&section, &fde, address));
        }
        let found = section.lookup(InstructionPointer(address));
        assert_eq!(found, section.lookup(ReturnAddress(address.wrapping_add(1))));
        assert_eq!(found, index.lookup(InstructionPointer(address)), "{address:#x}");
        for _ in 0..2 {
            let kept = cache.lookup(InstructionPointer(address)).map(|found| found.copied());
            assert_eq!(found, kept, "{address:#x}");
        }
        let found = match found {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            Err(error) => {
                assert_is_told(&error, data);
                continue;
            }
        };
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

/// At every address of every function, the row is found that a scan of all rows finds. For
/// sections whose rows are sound and in order. Returns the number of addresses.
pub fn look_up_everywhere(section: &Section<'_>) -> u64 {
    let index = Index::new(section);
    let mut cache = Cache::<_, 61>::new(section);
    let mut addresses = 0;
    for fde in section.fdes().map(|fde| fde.expect("a sound section")).filter(|fde| !fde.outermost) {
        let rows: Vec<Row> = section.rows(&fde).map(|row| row.expect("a sound row")).collect();
        for address in (0..fde.size).map(|offset| fde.start.wrapping_add(offset.into())) {
            let covers = |row: &Row| fde.row_covers(row.start, address);
            let last = rows.iter().take_while(|row| covers(row)).count().checked_sub(1);
            let found = last.map(|last| (u32::try_from(last).ok(), rows[last]));
            let looked_up = section.lookup_row(&fde, InstructionPointer(address)).expect("a sound row");
            assert_eq!(looked_up.map(|found| (found.row_index, found.row)), found, "{address:#x}");
            let everywhere = section.lookup(InstructionPointer(address));
            assert_eq!(index.lookup(InstructionPointer(address)), everywhere, "{address:#x}");
            for _ in 0..2 {
                let kept = cache.lookup(InstructionPointer(address)).map(|found| found.copied());
                assert_eq!(kept, everywhere, "{address:#x}");
            }
            addresses += 1;
        }
    }
    addresses
}

/// A step is a value or a named reason; a caller's frame is further out. It asks for at most
/// one value and one register for each of CFA, RA and FP.
pub fn step(data: &[u8]) {
    // The first bytes are the machine's state, the others the section.
    let Some((state, data)) = data.split_at_checked(STATE_SIZE) else { return };
    let Some(section) = parse(data) else { return };
    let links_in_register = section.header().abi.ra().is_some();
    let word = |index: usize| {
        let bytes = state[index * 8..index * 8 + 8].try_into().unwrap_or_default();
        u64::from_le_bytes(bytes)
    };
    let (sp, fp, salt) = (word(0), word(1), word(2));
    let (loads, reads) = (Cell::new(0), Cell::new(0));
    let registers = |register: DwarfRegister| {
        reads.set(reads.get() + 1);
        (register.0 < 32).then(|| salt.wrapping_mul(register.0.into()))
    };
    let memory = |address: u64| {
        loads.set(loads.get() + 1);
        (address % 3 != salt % 3).then(|| address.rotate_left(7) ^ salt)
    };
    let mask = PauthMask::for_address_bits(u32::from(state[24]));
    for address in boundaries(&section) {
        for topmost in [true, false] {
            let pc = if topmost {
                Pc::Instruction(InstructionPointer(address))
            } else {
                Pc::Return(ReturnAddress(address))
            };
            let same_sp = if topmost { 0 } else { state[25] % (Frame::SAME_SP_LIMIT + 2) };
            let frame = Frame { pc, sp, fp, same_sp };
            loads.set(0);
            reads.set(0);
            match section.step(&frame, topmost.then_some(&registers), &memory, mask) {
                Ok(Step::Caller(caller)) => {
                    let is_signal = caller.interrupted;
                    let may_stay = topmost || (links_in_register && same_sp < Frame::SAME_SP_LIMIT);
                    assert!(is_signal || caller.sp > sp || (may_stay && caller.sp == sp));
                    assert_eq!(caller.same_sp > same_sp, !topmost && caller.sp == sp);
                    assert_eq!(caller.cfa % 8, 0);
                    assert_eq!(caller.frame().is_ok(), caller.ra.is_ok() && caller.fp.is_ok());
                }
                Ok(Step::Outermost) => {}
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            assert!(loads.get() <= 3 && reads.get() <= if topmost { 3 } else { 0 });
        }
    }
}

/// Returns the content of a section that writing keeps. Not kept are the ends of rows, which
/// are the starts of the next, and the places of functions without rows among the others' rows.
fn said(mut section: write::Section) -> write::Section {
    let mut order: Vec<usize> = (0..section.functions.len()).collect();
    order.sort_by_key(|index| section.functions[*index].rows_position);
    let mut position = 0;
    for index in order {
        let function = &mut section.functions[index];
        function.rows_position = position;
        position += u32::from(!function.rows.is_empty());
        if function.rows.is_empty() {
            function.rows_position = 0;
        }
        function.rows.iter_mut().for_each(|row| row.end = 0);
        function.wide_rows.values_mut().for_each(|wide| wide.row.end = 0);
    }
    section
}

/// Returns a section with the smallest data words.
fn narrow(mut section: write::Section) -> write::Section {
    section.functions.iter_mut().for_each(|function| function.wide_rows.clear());
    section
}

/// A layout that depends on the input.
fn layout(data: &[u8]) -> Layout {
    let sum = data.iter().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
    let [a, b, c, d] = sum.to_le_bytes();
    let data_words = [None, Some(DataWordSize::One), Some(DataWordSize::Two), Some(DataWordSize::Four)];
    Layout {
        header_gap: a.into(),
        sub_section_gap: b.into(),
        trailing: c.into(),
        filler: d,
        data_words: data_words[usize::from(d % 4)],
    }
}

/// What was read can be written, unless it is refused by name, and reads back the same; writing
/// it again gives the same bytes. It does not grow. In another layout it also reads back the same.
pub fn write(data: &[u8]) {
    let Some(section) = parse(data) else { return };
    let owned = match write::Section::from_read(&section) {
        Ok(owned) => owned,
        Err(error) => return assert_is_told(&error, data),
    };
    let rows: usize = owned.functions.iter().map(|function| function.rows.len()).sum();
    assert!(rows <= data.len() / 2, "{rows} rows kept of {} bytes", data.len());
    let bytes = match owned.write(ADDRESS) {
        Ok(bytes) => bytes,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    // The two sub-sections, and their contents, may overlap in the input.
    assert!(bytes.len() <= 3 * data.len(), "{} bytes from {}", bytes.len(), data.len());
    let again = Section::parse(&bytes, ADDRESS).expect("a written header is sound");
    let again = write::Section::from_read(&again).expect("written rows are sound");
    assert_eq!(again.write(ADDRESS).as_ref(), Ok(&bytes));
    assert_eq!(said(again), said(owned.clone()));

    let layout = layout(data);
    let bytes = owned.write_with(ADDRESS, &layout).expect("a layout forbids nothing");
    let again = Section::parse(&bytes, ADDRESS).expect("a written header is sound");
    let again = write::Section::from_read(&again).expect("written rows are sound");
    assert_eq!(said(narrow(again)), said(narrow(owned)), "{layout:?}");
}

/// Returns what a section says about an address, independent of the version: the same rule can
/// have two forms, as SP and as the register that SP is.
fn says(section: &Section<'_>, address: u64) -> Option<Row> {
    let abi = section.header().abi;
    let mut row = section.lookup(InstructionPointer(address)).expect("written rows are sound")?.row;
    row.cfa = row.cfa.map(|rule| plain(abi, rule));
    for recovery in [&mut row.ra, &mut row.fp] {
        if let Recovery::Rule(rule) = recovery {
            *rule = plain(abi, *rule);
        }
    }
    Some(row)
}

fn plain(abi: Abi, mut rule: RecoveryRule) -> RecoveryRule {
    rule.base = match rule.base {
        Base::Register(register) if register == abi.sp() => Base::Sp,
        Base::Register(register) if register == abi.fp() => Base::Fp,
        base => base,
    };
    rule
}

/// A conversion can be written, and answers each look-up as before, except for the functions
/// that it lists.
pub fn convert(data: &[u8]) {
    let Some(section) = parse(data) else { return };
    let Ok(owned) = write::Section::from_read(&section) else { return };
    let addresses = boundaries(&section);
    for version in Version::ALL {
        for byte_order in [ByteOrder::Little, ByteOrder::Big] {
            let Ok(conversion) = owned.convert(Target { version, byte_order }) else { continue };
            let kept = conversion.section.functions.len();
            assert_eq!(kept + conversion.left_out.len(), owned.functions.len());
            let bytes = match conversion.section.write(ADDRESS) {
                Ok(bytes) => bytes,
                Err(error) => {
                    // Each function was in reach of itself, but maybe not of the section.
                    assert!(!error.to_string().is_empty());
                    continue;
                }
            };
            let converted = Section::parse(&bytes, ADDRESS).expect("a written header is sound");
            write::Section::from_read(&converted).expect("written rows are sound");
            assert_eq!(converted.header().version, version);
            // If a function is left out, another that overlaps it may answer.
            if conversion.left_out.is_empty() {
                for address in &addresses {
                    assert_eq!(says(&converted, *address), says(&section, *address), "{address:#x}");
                }
            }
        }
    }
}
