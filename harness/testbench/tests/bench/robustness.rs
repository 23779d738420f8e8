//! Any input is safe for the engine: the sections of real files, cut everywhere
//! and changed everywhere, give values or typed errors.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

use rayon::prelude::*;
use sframe_elf::object_file::ObjectFile;
use sframe_engine::{
    Abi, ByteOrder, Error, Frame, InstructionPointer, PauthMask, ReturnAddress, Section, StepError, write,
};

use crate::common;
use crate::doctor::stride;

/// The header up to the auxiliary header, in bytes.
const HEADER_SIZE: usize = 28;

/// The section of a build.
struct Sample {
    toolchain: String,
    abi: Abi,
    version: u8,
    address: u64,
    data: Vec<u8>,
}

fn samples() -> Vec<Sample> {
    let suite = common::suite();
    suite
        .manifest()
        .builds
        .par_iter()
        .map(|build| {
            let bytes = build.read(suite.corpus()).expect("a build");
            let subject = ObjectFile::parse(&bytes).expect("an ELF file");
            let sframe = subject.sframe.expect("a section");
            Sample {
                toolchain: build.toolchain.clone(),
                abi: build.abi,
                version: build.sframe_version,
                address: sframe.address,
                data: sframe.data.to_vec(),
            }
        })
        .collect()
}

/// The results of a number of inputs.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    inputs: usize,
    values: usize,
    errors: usize,
}

impl Tally {
    fn count(&mut self, outcome: Result<(), Error>) {
        self.inputs += 1;
        match outcome {
            Ok(()) => self.values += 1,
            Err(_) => self.errors += 1,
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.inputs += other.inputs;
        self.values += other.values;
        self.errors += other.errors;
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |mut sum, tally| {
            sum += tally;
            sum
        })
    }
}

/// Checks that an error gives its position, within the input, and the clause
/// that is broken.
fn is_told(error: Error, data: &[u8]) -> Error {
    let text = error.to_string();
    assert!(error.offset <= data.len() && text.contains(error.clause().title()), "{text}");
    error
}

/// Reads everything, looks up and steps at a few PCs, converts and writes. The
/// first error of reading is the result.
fn ask(data: &[u8], address: u64) -> Result<(), Error> {
    let section = Section::parse(data, address).map_err(|error| is_told(error, data))?;
    let mut outcome = Ok(());
    let mut pcs = vec![0, u64::MAX];
    // Functions that share their rows would take long.
    let mut rows_left = data.len();
    for fde in section.fdes() {
        let fde = match fde {
            Ok(fde) => fde,
            Err(error) => {
                outcome = outcome.and(Err(is_told(error, data)));
                continue;
            }
        };
        if pcs.len() < 8 {
            pcs.extend([fde.start, fde.start.wrapping_add(u64::from(fde.size) / 2)]);
        }
        for row in section.rows(&fde).take(rows_left) {
            rows_left -= 1;
            if let Err(error) = row {
                outcome = outcome.and(Err(is_told(error, data)));
            }
        }
    }

    let registers = |_| Some(0x7000);
    let memory = |address: u64| address.is_multiple_of(16).then_some(address);
    for pc in pcs {
        let pc = InstructionPointer(pc);
        let found = section.lookup(pc).map_err(|error| is_told(error, data));
        assert_eq!(found, section.lookup(ReturnAddress(pc.0.wrapping_add(1))));
        let frame = Frame::topmost(pc, 0x7000, 0x7100);
        let step = section.step(&frame, Some(&registers), &memory, PauthMask::for_address_bits(39));
        // Stepping consists of looking up and applying: the two agree on what is found.
        match found {
            Err(error) => assert_eq!(step, Err(StepError::Malformed(error))),
            Ok(None) => assert!(matches!(step, Err(StepError::NoFde | StepError::NoRow))),
            Ok(Some(_)) => {}
        }
    }

    match write::Section::from_read(&section) {
        Ok(owned) => match owned.write(address) {
            Ok(bytes) => assert!(Section::parse(&bytes, address).is_ok()),
            Err(error) => assert!(!error.to_string().is_empty()),
        },
        Err(error) => drop(is_told(error, data)),
    }
    outcome
}

/// Returns the first `len` bytes, with a header adjusted to the parts of the
/// two sub-sections that are left, so that the fault is not found in the header
/// already.
fn cut_with_its_header(sample: &Sample, section: &Section<'_>, len: usize) -> Vec<u8> {
    let header = section.header();
    let mut data = sample.data[..len].to_vec();
    let mut put = |at: usize, value: usize| {
        let value = u32::try_from(value).expect("small");
        data[at..at + 4].copy_from_slice(&match header.abi.byte_order() {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        });
    };
    let fres_at = header.end() + header.freoff as usize;
    if len >= fres_at {
        put(16, (header.fre_len as usize).min(len - fres_at));
    } else {
        let fdes_at = header.end() + header.fdeoff as usize;
        put(8, len.saturating_sub(fdes_at) / header.version.fde_size());
        put(16, 0);
        put(24, 0);
    }
    data
}

/// Each section is cut at every fifth byte, another one for each; with `SWEEPS=all`, at every byte.
#[test]
fn every_section_cut_at_every_byte_is_a_value_or_a_typed_error() {
    let samples = samples();
    let stride = stride(5);
    let (plain, owned_up): (Vec<_>, Vec<_>) = samples
        .par_iter()
        .enumerate()
        .map(|(index, sample)| {
            let section = Section::parse(&sample.data, sample.address).expect("a sound section");
            assert_eq!(ask(&sample.data, sample.address), Ok(()));
            let (mut plain, mut owned_up) = (Tally::default(), Tally::default());
            for len in (index % stride..sample.data.len()).step_by(stride) {
                plain.count(ask(&sample.data[..len], sample.address));
                if len >= HEADER_SIZE {
                    owned_up.count(ask(&cut_with_its_header(sample, &section, len), sample.address));
                }
            }
            (plain, owned_up)
        })
        .unzip();
    let (plain, owned_up): (Tally, Tally) = (plain.into_iter().sum(), owned_up.into_iter().sum());

    let total: usize = samples.iter().map(|sample| sample.data.len()).sum();
    assert!(samples.len() >= 644 && total >= 200_000, "{} sections of {total} bytes", samples.len());
    let least = total / stride - samples.len();
    assert!(plain.inputs >= least, "{plain:?} of {total}");
    // Only what a linker has appended can be missed.
    assert!(plain.errors > plain.inputs - plain.inputs / 100, "{plain:?}");
    assert!(owned_up.inputs >= least - samples.len() * HEADER_SIZE.div_ceil(stride), "{owned_up:?}");
    assert!(owned_up.errors > owned_up.inputs / 2 && owned_up.values > 100, "{owned_up:?}");
}

/// Two sections of each toolchain and ABI: the smallest and the largest.
fn spread(samples: &[Sample]) -> Vec<&Sample> {
    let mut kinds: BTreeMap<_, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        kinds.entry((&sample.toolchain, sample.abi)).or_default().push(sample);
    }
    let mut spread = Vec::new();
    for mut kind in kinds.into_values() {
        kind.sort_by_key(|sample| sample.data.len());
        spread.extend(kind.first().into_iter().chain(kind.last()));
    }
    spread
}

/// A third of the bits, in turn; with `SWEEPS=all`, every one.
#[test]
fn every_bit_of_a_spread_of_sections_may_be_wrong() {
    let stride = stride(3);
    let samples = samples();
    let spread = spread(&samples);
    let (tally, bytes) = spread
        .par_iter()
        .map(|sample| {
            let mut tally = Tally::default();
            let mut data = sample.data.clone();
            for at in 0..data.len() {
                let byte = data[at];
                let all = (0..8).map(|bit| byte ^ 1 << bit).chain([0xff]);
                for wrong in all.skip(at % stride).step_by(stride) {
                    data[at] = wrong;
                    tally.count(ask(&data, sample.address));
                }
                data[at] = byte;
            }
            (tally, data.len())
        })
        .reduce(Default::default, |(mut sum, bytes), (tally, len)| {
            sum += tally;
            (sum, bytes + len)
        });

    let versions: BTreeSet<_> = spread.iter().map(|sample| sample.version).collect();
    let abis: BTreeSet<_> = spread.iter().map(|sample| sample.abi).collect();
    let toolchains: BTreeSet<_> = spread.iter().map(|sample| &sample.toolchain).collect();
    assert!(spread.len() >= 20 && toolchains.len() >= 3 && abis.len() == 4 && versions.len() == 3);
    assert_eq!(tally.inputs, bytes * 9 / stride);
    let least = |count: usize| count / stride;
    assert!(
        tally.inputs >= least(60_000) && tally.values > least(10_000) && tally.errors > least(5_000),
        "{tally:?}"
    );
}

/// Symbols and the names of PLTs come from tables with
/// arbitrary contents.
#[test]
fn any_byte_of_the_tables_that_names_come_from_may_be_wrong() {
    let suite = common::suite();
    for id in ["gnu-2.44/amd64/crossing_ibt.O2-dynamic", "gnu-2.47/aarch64_be/crossing_bti.O2-dynamic-pie"] {
        let build = suite.manifest().get(id).expect("the build");
        let mut bytes = build.files(suite.corpus()).expect("its files").libraries.swap_remove(1).1;
        let count = |bytes: &[u8]| ObjectFile::parse(bytes).map(|subject| subject.symbols.names().count());
        let names = count(&bytes).expect("a sound file");
        assert!(names > 10, "{names}");
        let is_big = bytes[5] == 2;
        let table: [u8; 8] = bytes[40..48].try_into().expect("8 bytes");
        let table = if is_big { u64::from_be_bytes(table) } else { u64::from_le_bytes(table) };
        let headers = usize::try_from(table).expect("small");
        let (mut same, mut others, mut errors) = (0, 0, 0);
        for at in (0..0x600).chain(headers..bytes.len()) {
            let byte = bytes[at];
            for wrong in [0, 0x7f, 0xff, byte ^ 1, byte ^ 0x80] {
                bytes[at] = wrong;
                match count(&bytes) {
                    Ok(found) if found == names => same += 1,
                    Ok(_) => others += 1,
                    Err(_) => errors += 1,
                }
            }
            bytes[at] = byte;
        }
        assert!(same > 1000 && others > 50 && errors > 10, "{id}: {same} {others} {errors}");
    }
}
