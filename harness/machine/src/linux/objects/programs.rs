//! The programs that the process under observation executes, one after the other.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::address_space::overlap;
use crate::image::{Image, LoadError};
use crate::places::{Places, SPACING};

/// An image that is mapped for a program before its first instruction.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Arc<[u8]>,
    /// What is added to the file's addresses.
    pub(crate) bias: u64,
    range: Range<u64>,
}

/// These programs and their interpreters. An address means the same function in all of them: each new file has addresses of
/// its own, and one that was there before is at the same ones again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Programs {
    images: Vec<Placed>,
    /// The number of those of the first program.
    at_start: usize,
    places: Places,
}

/// A program and its interpreter, as the process is to execute them next.
pub(crate) struct Next<'a> {
    pub(crate) executable: Image<'a>,
    pub(crate) interpreter: Option<Image<'a>>,
}

impl Programs {
    /// Those of a process that is about to begin: its executable and interpreter.
    pub(crate) fn of<'i, 'b: 'i>(first: impl Iterator<Item = &'i Image<'b>>, places: Places) -> Self {
        let placed = |image: &Image<'_>| Placed::of(Path::new(""), image.bytes().into(), image);
        let images: Vec<Placed> = first.map(placed).collect();
        Self { at_start: images.len(), images, places }
    }

    /// Whether there is no process that is followed from program to program.
    pub(crate) const fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// Those of all programs but the first, each once, in their order.
    pub(crate) fn later(&self) -> &[Placed] {
        &self.images[self.at_start..]
    }

    /// The addresses of all of them.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.images.iter().map(|image| image.range.clone())
    }

    /// Finds addresses for another program and its interpreter. `code` is where the process has mapped files to execute
    /// them. `None` if an executable is linked to addresses where others have been.
    pub(crate) fn place<'a>(
        &self,
        executable: &'a [u8],
        interpreter: Option<&'a [u8]>,
        code: &[Range<u64>],
    ) -> Option<Next<'a>> {
        let taken: Vec<Range<u64>> = self.ranges().chain(code.iter().cloned()).collect();
        let executable = self.place_one(executable, taken.clone(), Image::parse_with)?;
        let taken = taken.into_iter().chain([executable.range()]).collect();
        let interpreter = match interpreter {
            Some(bytes) => Some(self.place_one(bytes, taken, Image::parse_at)?),
            None => None,
        };
        let ranges: Vec<_> =
            [Some(&executable), interpreter.as_ref()].into_iter().flatten().map(Image::range).collect();
        let places = Places::among(&ranges, executable.cpu.user_end);
        (places == Some(self.places)).then_some(Next { executable, interpreter })
    }

    fn place_one<'a>(
        &self,
        bytes: &'a [u8],
        taken: Vec<Range<u64>>,
        parse: fn(&'a [u8], u64) -> Result<Image<'a>, LoadError>,
    ) -> Option<Image<'a>> {
        if let Some(known) = self.images.iter().find(|known| *known.bytes == *bytes) {
            return parse(bytes, known.bias).ok();
        }
        let end = taken.iter().map(|range| range.end).filter(|end| *end < self.places.first()).max();
        let base = end.unwrap_or(0).next_multiple_of(SPACING) + SPACING;
        let image = parse(bytes, base).ok()?;
        let is_free = taken.iter().all(|range| !overlap(range, &image.range()));
        is_free.then_some(image)
    }

    /// Notes an image of a program that is executed now.
    pub(crate) fn note(&mut self, path: &Path, bytes: &Arc<[u8]>, image: &Image<'_>) {
        if !self.images.iter().any(|known| known.range == image.range()) {
            self.images.push(Placed::of(path, Arc::clone(bytes), image));
        }
    }
}

impl Placed {
    fn of(path: &Path, bytes: Arc<[u8]>, image: &Image<'_>) -> Self {
        Self { path: path.to_owned(), bytes, bias: image.bias, range: image.range() }
    }
}
