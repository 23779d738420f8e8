//! The machine as a dynamic linker.
//!
//! [`plan`] computes what has to be stored into the images of a process, in [`symbols`] and
//! [`relocate`]. The prelude stores it and runs the code that precedes the program; [`lazy`]
//! binds calls lazily.
//!
//! Static executables relocate themselves: they are not touched.

pub(crate) mod lazy;
mod relocate;
mod symbols;

use crate::image::dynamic::Tables;
use crate::image::{Image, LoadError, malformed};
use crate::places::Places;
use lazy::Slots;
pub use relocate::own_words;
use symbols::Scope;

/// The work of a dynamic linker before the entry point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// Words to store: address and value.
    pub(crate) words: Vec<(u64, u64)>,
    /// Words that a function of the program computes.
    pub(crate) indirect: Vec<Indirect>,
    /// Initial values of variables that the executable has taken over.
    pub(crate) copies: Vec<Copy>,
    /// Slots whose value has to be signed: address and value.
    pub(crate) signed: Vec<(u64, u64)>,
    /// Functions that initialise the images, in their order.
    pub(crate) initialisers: Vec<Initialiser>,
    /// Slots of lazily bound calls.
    pub(crate) slots: Slots,
    /// The per-thread variables.
    pub(crate) thread_storage: ThreadLayout,
    /// Where the machine's own memory is.
    pub(crate) places: Places,
}

/// A word whose value the program computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Indirect {
    pub(crate) address: u64,
    pub(crate) resolver: u64,
    pub(crate) sign: bool,
}

/// Bytes to copy from one image to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) len: u64,
}

/// Functions to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Initialiser {
    /// One function, by its address.
    Function(u64),
    /// A table of addresses: its address, and the number of them.
    Array(u64, u64),
}

/// Where each image's thread storage is.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadLayout {
    /// By image: offset of its block from the thread pointer.
    pub(crate) offsets: Vec<Option<i64>>,
    /// Initial contents of the blocks: offset from the thread pointer, and bytes.
    pub(crate) initial: Vec<(i64, Vec<u8>)>,
    /// The size of all blocks together, in bytes.
    pub(crate) len: u64,
}

/// Computes the work for the images, the executable first.
pub(crate) fn plan(images: &[(String, Image<'_>)]) -> Result<Plan, LoadError> {
    let ranges: Vec<_> = images.iter().map(|(_, image)| image.range()).collect();
    let end = images.first().map_or(0, |(_, executable)| executable.cpu.user_end);
    let places = Places::among(&ranges, end)
        .ok_or_else(|| malformed("the images leave no room in the address space for a stack"))?;
    let mut plan = Plan { places, ..Plan::default() };
    if !images.first().is_some_and(|(_, executable)| executable.is_dynamic()) {
        return Ok(plan);
    }
    let in_image = |name: &str, source: LoadError| match source {
        // These name the image themselves.
        LoadError::MissingSymbol { .. } | LoadError::Relocation { .. } => source,
        source if name.is_empty() => source,
        source => LoadError::Library { name: name.to_owned(), source: Box::new(source) },
    };
    let tables = images
        .iter()
        .map(|(name, image)| Tables::read(image).map_err(|error| in_image(name, error)))
        .collect::<Result<Vec<_>, _>>()?;
    plan.thread_storage = ThreadLayout::new(images.iter().map(|(_, image)| image))?;
    let scope = Scope { images, tables: &tables };
    plan.slots = Slots::new(images.len());
    for (index, (name, _)) in images.iter().enumerate().rev() {
        relocate::image(&scope, index, &mut plan).map_err(|error| in_image(name, error))?;
    }
    for index in dependencies_first(images) {
        let (name, image) = &images[index];
        initialise(image, index == 0, &mut plan).map_err(|error| in_image(name, error))?;
    }
    // Any number of relocations may copy the same large variable.
    const COPIED: u64 = 1 << 28;
    let copied = plan.copies.iter().fold(0, |sum: u64, copy| sum.saturating_add(copy.len));
    if copied > COPIED {
        return Err(malformed(format!("{copied:#x} bytes are to be copied, more than {COPIED:#x}")));
    }
    Ok(plan)
}

/// Returns the images in the order of their initialisation: each after those that it needs,
/// except where these need it themselves.
fn dependencies_first(images: &[(String, Image<'_>)]) -> Vec<usize> {
    let index_of = |wanted: &String| {
        images.iter().position(|(name, image)| {
            name == wanted || image.dynamic.as_ref().is_some_and(|own| own.soname.as_ref() == Some(wanted))
        })
    };
    let needed = |index: usize| {
        let names = images[index].1.dynamic.as_ref().map_or(&[][..], |dynamic| dynamic.needed.as_slice());
        names.iter().filter_map(index_of).collect::<Vec<_>>()
    };
    let mut order = Vec::new();
    let mut is_seen = vec![false; images.len()];
    is_seen[0] = true;
    // Images on the way down, each with what it still waits for.
    let mut path = vec![(0, needed(0))];
    while let Some((index, waiting)) = path.last_mut() {
        if waiting.is_empty() {
            order.push(*index);
            path.pop();
            continue;
        }
        let next = waiting.remove(0);
        if !std::mem::replace(&mut is_seen[next], true) {
            path.push((next, needed(next)));
        }
    }
    order
}

/// Records an image's initialisers. Those of the executable are run by its own start-up code,
/// except for those that precede all others.
fn initialise(image: &Image<'_>, is_executable: bool, plan: &mut Plan) -> Result<(), LoadError> {
    let Some(dynamic) = &image.dynamic else { return Ok(()) };
    let array = |(address, len): (u64, u64)| {
        if len.is_multiple_of(8) && image.holds(address, len) {
            return Ok(Initialiser::Array(image.loaded(address), len / 8));
        }
        Err(malformed(format!(
            "the table of initialisers at {address:#x} ({len:#x} bytes) lies outside the image"
        )))
    };
    if is_executable {
        let first = dynamic.preinitialisers().filter(|(_, len)| *len > 0).map(array).transpose()?;
        plan.initialisers.splice(0..0, first);
        return Ok(());
    }
    let (init, table) = dynamic.initialisers();
    plan.initialisers.extend(init.map(|init| Initialiser::Function(image.loaded(init))));
    plan.initialisers.extend(table.filter(|(_, len)| *len > 0).map(array).transpose()?);
    Ok(())
}

impl ThreadLayout {
    /// Lays blocks out as the ABIs say: above the thread pointer and a head
    /// of two words on aarch64, below it elsewhere.
    fn new<'i, 'a: 'i>(images: impl Iterator<Item = &'i Image<'a>>) -> Result<Self, LoadError> {
        const HEAD: u64 = 16;
        // What fits between the images and the machine's own pages.
        const LIMIT: u64 = 1 << 19;
        let mut layout = Self::default();
        for image in images {
            let Some(storage) = &image.thread_storage else {
                layout.offsets.push(None);
                continue;
            };
            let above = image.cpu.linking.thread_storage_above;
            let used = if layout.len == 0 && above { HEAD } else { layout.len };
            let offset = if above {
                let start = used.next_multiple_of(storage.align);
                layout.len = start + storage.len;
                start.cast_signed()
            } else {
                layout.len = (used + storage.len).next_multiple_of(storage.align);
                -layout.len.cast_signed()
            };
            if layout.len > LIMIT {
                let (len, room) = (layout.len, LIMIT);
                return Err(malformed(format!(
                    "threads need {len:#x} bytes of storage, more than {room:#x}"
                )));
            }
            layout.offsets.push(Some(offset));
            let bytes = image.bytes.get(storage.file.clone()).unwrap_or_default();
            layout.initial.push((offset, bytes.to_vec()));
        }
        Ok(layout)
    }
}
