use std::time::{Duration, Instant};

use sframe_engine::Abi;

use super::super::{CallFrameInfo, CfiInput};
use super::*;

/// The address of the LSDA, and of the function.
const LSDA: u64 = 0x5000;
const FUNCTION: u64 = 0x1000;
const ENDIANS: [RunTimeEndian; 2] = [RunTimeEndian::Little, RunTimeEndian::Big];

fn read(endian: RunTimeEndian, lsda: &[u8]) -> LandingPads {
    LandingPads::read(endian, std::iter::once((LSDA, FUNCTION)), |address| (address == LSDA).then_some(lsda))
}

fn sites(pads: &LandingPads) -> Vec<(u64, u64, u64)> {
    let parts = |site: &CallSite| (site.range.start, site.range.end, site.landing_pad);
    pads.call_sites().iter().map(parts).collect()
}

/// What GCC writes, with a table of types: sites of ULEB128 from the start of the
/// function on.
const LSDA_OF_GCC: [u8; 19] = [
    0xff, 0x9b, 0x15, 0x01, 13, // LPStart, TType, call sites and their length
    0x04, 0x10, 0x80, 0x01, 0, // 4 to 0x14, landing at 0x80
    0x20, 0x08, 0, 0, // 0x20 to 0x28, without a landing pad
    0x30, 0x04, 0x40, 5,    // 0x30 to 0x34, landing at 0x40
    0x7f, // the table of actions
];

#[test]
fn a_call_lands_where_its_site_says() {
    for endian in ENDIANS {
        let pads = read(endian, &LSDA_OF_GCC);
        assert_eq!(pads.errors(), []);
        assert_eq!(sites(&pads), [(0x1004, 0x1014, 0x1080), (0x1030, 0x1034, 0x1040)]);
        // The last byte of a call decides.
        let lands = [0x1004, 0x1005, 0x1014, 0x1015, 0x1028, 0x1034].map(|ra| pads.of_call(ra));
        assert_eq!(lands, [None, Some(0x1080), Some(0x1080), None, None, Some(0x1040)]);
        assert_eq!(pads.of_call(0), None);
    }
}

#[test]
fn numbers_may_be_of_any_width_and_pads_relative_to_elsewhere() {
    let little = |parts: &[&[u8]]| parts.concat();
    // LPStart at its own place plus 0x100, as 4 bytes with a sign; sites of 4 bytes.
    let relative = little(&[
        &[0x1b, 0, 1, 0, 0, 0xff, 0x03, 13],
        &4_u32.to_le_bytes(),
        &8_u32.to_le_bytes(),
        &16_u32.to_le_bytes(),
        &[0],
    ]);
    assert_eq!(sites(&read(RunTimeEndian::Little, &relative)), [(0x1004, 0x100c, LSDA + 1 + 0x100 + 16)]);
    // An LPStart of 0: pads are absolute. Sites of 2 bytes.
    let absolute = [&[0x00][..], &[0; 8], &[0xff, 0x02, 7], &[0, 4, 0, 8, 0x20, 0, 0]].concat();
    assert_eq!(sites(&read(RunTimeEndian::Big, &absolute)), [(0x1004, 0x100c, 0x2000)]);
    let wide = |endian: RunTimeEndian, number: u64| match endian {
        RunTimeEndian::Little => number.to_le_bytes(),
        RunTimeEndian::Big => number.to_be_bytes(),
    };
    for endian in ENDIANS {
        let table = [wide(endian, 4), wide(endian, 8), wide(endian, 16)].concat();
        let lsda = [&[0xff, 0xff, 0x04, 25][..], &table, &[0]].concat();
        assert_eq!(sites(&read(endian, &lsda)), [(0x1004, 0x100c, 0x1010)]);
    }
}

#[test]
fn an_lsda_that_is_cut_off_is_an_error() {
    // The table of actions is not read.
    let needed = LSDA_OF_GCC.len() - 1;
    for len in 0..needed {
        let pads = read(RunTimeEndian::Little, &LSDA_OF_GCC[..len]);
        assert!(matches!(pads.errors(), [LsdaError::Malformed { address: LSDA, .. }]), "{len}: {pads:?}");
        assert_eq!(pads.call_sites(), []);
    }
    assert_eq!(read(RunTimeEndian::Little, &LSDA_OF_GCC[..needed]).errors(), []);
}

#[test]
fn what_makes_no_sense_is_an_error() {
    let longest = [0xff; 9];
    for lsda in [
        // A table longer than memory, a number longer than 64 bits.
        &[&[0xff, 0xff, 1][..], &longest, &[1, 0, 0, 0]].concat()[..],
        &[&[0xff, 0xff, 1][..], &longest, &longest, &[0]].concat(),
        // Unknown encodings, of LPStart and of sites; indirect ones; relative sites.
        &[0x0d, 0, 0, 0, 0, 0xff, 1, 0],
        &[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 1, 0],
        &[0x3b, 0, 0, 0, 0, 0xff, 1, 0],
        &[0xff, 0xff, 0x0d, 4, 0, 1, 2, 0],
        &[0xff, 0xff, 0x13, 4, 0, 1, 2, 0],
        &[0xff, 0xff, 0xff, 4, 0, 1, 2, 0],
        // A range past the end of the address space.
        &[&[0xff, 0xff, 1, 13, 0][..], &longest, &[1, 1, 0]].concat(),
        // A site that ends after the table.
        &[0xff, 0xff, 1, 3, 0, 1, 2, 0],
    ] {
        let pads = read(RunTimeEndian::Little, lsda);
        assert!(matches!(pads.errors(), [LsdaError::Malformed { .. }]), "{lsda:x?}: {pads:?}");
        assert_eq!(pads.call_sites(), [], "{lsda:x?}");
    }
    let outside = LandingPads::read(RunTimeEndian::Little, [(LSDA + 1, FUNCTION)].into_iter(), |_| None);
    assert_eq!(outside.errors(), [LsdaError::Outside(LSDA + 1)]);
}

#[test]
fn lsdas_that_overlap_are_read_in_bounded_time() {
    let sites = [0, 1, 1, 0].repeat(1 << 16);
    let lsda = [&[0xff, 0xff, 1, 0x80, 0x80, 0x10][..], &sites].concat();
    let many = (0..100_000).map(|index| (LSDA, index * 16));
    let start = Instant::now();
    let pads = LandingPads::read(RunTimeEndian::Little, many, |_| Some(&lsda));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!(pads.errors().len(), 100_000 - (MAX_CALL_SITES >> 16));
    assert!(pads.errors().iter().all(|error| *error == LsdaError::TooMany(LSDA)));
}

/// An `.eh_frame` at 0x2000 of one FDE, whose pointer to an LSDA has some encoding and
/// value.
fn with_pointer(encoding: u8, pointer: &[u8]) -> CallFrameInfo {
    let entry = |content: Vec<u8>| {
        let len = u32::try_from(content.len()).expect("small");
        [len.to_le_bytes().to_vec(), content].concat()
    };
    // Version 1; alignments, column 16; an encoding of 8 bytes for addresses.
    let cie = entry([&[0, 0, 0, 0, 1][..], b"zLR\0", &[1, 0x78, 16, 2, encoding, 4, 0x0c, 7, 8]].concat());
    let id = u32::try_from(cie.len() + 4).expect("small");
    let len = u8::try_from(pointer.len()).expect("small");
    let head = [&id.to_le_bytes()[..], &FUNCTION.to_le_bytes(), &0x100_u64.to_le_bytes(), &[len]].concat();
    let data = [cie, entry([&head, pointer].concat())].concat();
    CallFrameInfo::read(CfiInput {
        abi: Abi::Amd64,
        eh_frame: Some((data, 0x2000)),
        debug_frame: None,
        errors: Vec::new(),
        text: 0,
        got: 0,
    })
}

#[test]
fn functions_have_the_lsdas_that_their_fdes_point_to() {
    let pads = |cfi: &CallFrameInfo| cfi.landing_pads(|address| (address == LSDA).then_some(&LSDA_OF_GCC));
    let absolute = with_pointer(0x00, &LSDA.to_le_bytes());
    assert_eq!(absolute.errors(), []);
    assert_eq!(absolute.fdes()[0].lsda, Some(LSDA));
    assert_eq!(sites(&pads(&absolute)), [(0x1004, 0x1014, 0x1080), (0x1030, 0x1034, 0x1040)]);
    // 0 is none, also where it is relative to its place.
    for (encoding, pointer) in [(0x00, &[0; 8][..]), (0x1b, &[0; 4])] {
        let none = with_pointer(encoding, pointer);
        assert_eq!((none.errors(), none.fdes()[0].lsda), (&[][..], None));
        assert_eq!(pads(&none), LandingPads::default());
    }
    let relative = with_pointer(0x1b, &0x3000_u32.to_le_bytes());
    assert_eq!(relative.fdes()[0].lsda.map(|lsda| lsda & !0xff), Some(LSDA));
}
