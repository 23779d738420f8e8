//! What is looked up: the section that the `.eh_frame` of an ELF file implies, and PCs in it.

use std::fmt;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSection as _};
use sframe_engine::{Section, Version};
use sframe_inspect::convert::{self, layout::Layout};

use crate::{Contender, Group};

/// The name of the unit that look-ups are measured in.
pub const SEARCH: &str = "binary search over the starts alone";

/// How many PCs are looked up in a round.
pub const PCS: usize = 100_000;

/// How many different PCs are hot. No two of them share a place in a cache of [`CACHE`] entries.
const HOT: usize = 200;

/// The number of entries of framehop's cache, and of the engine's here.
pub const CACHE: usize = 509;

/// The numbers of FDEs that the two files should have which are measured if none is named.
const FDES: [u64; 2] = [2_300, 24_000];

/// Where a Debian machine has libraries and programs.
const FOLDERS: [&str; 3] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/bin"];

/// A file with its section and PCs.
pub struct Input {
    path: String,
    /// The file.
    pub file: Vec<u8>,
    /// The section.
    pub data: Vec<u8>,
    /// Where the section is loaded.
    pub address: u64,
    /// PCs in functions, at random.
    pub random: Vec<u64>,
    /// As many, but few different ones.
    pub hot: Vec<u64>,
    starts: Vec<u64>,
    rows: usize,
    version: Version,
}

/// Numbers that look random and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

impl Input {
    /// Makes the section of a file.
    pub fn open(path: &str) -> Result<Self, String> {
        let file = std::fs::read(path).map_err(|error| error.to_string())?;
        let request =
            convert::Request { version: Version::LATEST, byte_order: None, layout: Layout::default() };
        let converted = request.synthesize(&*file).map_err(|error| error.to_string())?;
        let elf = object::File::parse(&*file).map_err(|error| error.to_string())?;
        // Behind everything else.
        let address = elf.sections().map(|section| section.address() + section.size()).max().unwrap_or(0);
        let address = address.next_multiple_of(0x1000);
        let data = converted.section.write(address).map_err(|error| error.to_string())?;
        let section = Section::parse(&data, address).map_err(|error| error.to_string())?;
        let fdes: Vec<_> = section.fdes().flatten().filter(|fde| fde.size > 0).collect();
        let rows = fdes.iter().map(|fde| section.rows(fde).flatten().count()).sum();
        let bytes: usize = fdes.iter().map(|fde| fde.size as usize).sum();
        if bytes == 0 {
            return Err("there is no function".into());
        }
        // Offsets into all functions, one behind the other.
        let ends: Vec<usize> = fdes
            .iter()
            .scan(0, |end, fde| {
                Some({
                    *end += fde.size as usize;
                    *end
                })
            })
            .collect();
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        let mut pc = || {
            let at = numbers.below(bytes);
            let index = ends.partition_point(|end| *end <= at);
            fdes[index].start + (ends[index] - at - 1) as u64
        };
        let random: Vec<u64> = (0..PCS).map(|_| pc()).collect();
        let mut places = [false; CACHE];
        let is_alone = |pc: &u64| !std::mem::replace(&mut places[(*pc % CACHE as u64) as usize], true);
        let few: Vec<u64> = random.iter().copied().filter(is_alone).take(HOT).collect();
        let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
        let hot = (0..PCS).map(|_| few[numbers.below(few.len())]).collect();
        let starts = fdes.iter().map(|fde| fde.start).collect();
        let version = section.header().version;
        Ok(Self { path: path.to_owned(), file, address, random, hot, starts, rows, version, data })
    }

    /// The unit: the search for the FDE, where the starts are all there is.
    pub fn search(&self) -> Contender<'_> {
        Contender::look_up(Group::Random, SEARCH, &self.random, |pc| {
            self.starts.partition_point(|start| *start <= pc) as u64
        })
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, version, starts, rows, data, .. } = self;
        let (fdes, bytes) = (starts.len(), data.len());
        write!(f, "{path}: SFrame version {version}, {fdes} FDEs, {rows} rows, {bytes} bytes")
    }
}

/// Returns the number of FDEs of a file, from its `.eh_frame_hdr` as linkers write it.
fn fdes_of(path: &Path) -> Option<u64> {
    /// The count as 4 bytes, after a pointer of 4 bytes.
    const ENCODINGS: [u8; 3] = [1, 0x1b, 0x03];
    let file = std::fs::File::open(path).ok()?;
    let file = object::ReadCache::new(file);
    let elf = object::File::parse(&file).ok()?;
    let header = elf.section_by_name(".eh_frame_hdr")?.data().ok()?.first_chunk::<12>()?;
    let count = u32::from_le_bytes(*header.last_chunk()?);
    header.starts_with(&ENCODINGS).then(|| count.into())
}

/// Returns the libraries and programs of this machine whose numbers of FDEs are closest to
/// [`FDES`].
pub fn of_this_machine() -> Vec<String> {
    let entries = FOLDERS.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_file() && !path.is_symlink()).collect();
    files.sort();
    let files: Vec<(u64, PathBuf)> =
        files.into_iter().filter_map(|path| Some((fdes_of(&path)?, path))).collect();
    let closest = |wanted: &u64| files.iter().min_by_key(|(fdes, _)| fdes.abs_diff(*wanted));
    FDES.iter().filter_map(closest).map(|(_, path)| path.display().to_string()).collect()
}
