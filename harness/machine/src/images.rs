//! All images of a process: an executable and its libraries.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cpu::Cpu;
use crate::image::{Image, LoadError, malformed};
use crate::link::{self, Plan};
use crate::places::{Places, SPACING};

/// Libraries are loaded from this address on.
const LIBRARIES: u64 = (1 << 36) + (1 << 35);
/// They usually end before this address.
const LIBRARIES_END: u64 = 1 << 37;
/// A library that a process may need.
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    /// The name by which it is requested.
    pub name: &'a str,
    /// The file.
    pub bytes: &'a [u8],
}

/// The images of a process, the executable first, then its libraries in the
/// order in which a dynamic linker loads them: breadth first.
///
/// Each has its own addresses. This computes what a dynamic linker would store into them;
/// [`Machine::with_images`](crate::Machine::with_images) stores it.
#[derive(Debug)]
pub struct Images<'a> {
    /// The images and their names; the executable's is empty.
    images: Vec<(String, Image<'a>)>,
    pub(crate) plan: Plan,
    pub(crate) loader: Loader<'a>,
}

/// Who loads and links what the executable needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loader<'a> {
    /// The machine.
    Machine,
    /// The program itself, or its interpreter.
    Program(Option<&'a [u8]>),
}

/// An image that a program has loaded itself.
#[derive(Clone, Copy, Debug)]
pub struct Loaded<'a> {
    /// Its name: that of its file.
    pub name: &'a str,
    /// The file.
    pub bytes: &'a [u8],
    /// What is added to the file's addresses.
    pub bias: u64,
}

impl<'a> Images<'a> {
    /// Reads an executable alone. A dynamic one must not need a library.
    ///
    /// # Errors
    /// As for [`Self::load`].
    pub fn of(executable: Image<'a>) -> Result<Self, LoadError> {
        Self::with(executable, &[])
    }

    /// Reads an executable and the libraries that it needs, directly or not,
    /// from among those that are given.
    ///
    /// # Errors
    /// A file that can't be loaded, a missing library or symbol, images at the same addresses,
    /// or unknown relocations.
    pub fn load(executable: &'a [u8], libraries: &[Library<'a>]) -> Result<Self, LoadError> {
        Self::with(Image::parse(executable)?, libraries)
    }

    fn with(executable: Image<'a>, libraries: &[Library<'a>]) -> Result<Self, LoadError> {
        let cpu = executable.cpu;
        let mut wanted: VecDeque<(String, String)> = needed(&executable, "the executable").collect();
        let mut images = vec![(String::new(), executable)];
        let mut base = first_base(&images[0].1.range());
        while let Some((name, needed_by)) = wanted.pop_front() {
            let is_loaded =
                |(known, image): &(String, Image<'_>)| *known == name || soname(image) == Some(&name);
            if images.iter().skip(1).any(is_loaded) {
                continue;
            }
            let library = libraries.iter().find(|library| library.name == name);
            let Some(Library { bytes, .. }) = library else {
                return Err(LoadError::MissingLibrary { name, needed_by });
            };
            let image = Image::parse_library(bytes, base)
                .and_then(|image| same_cpu(image, cpu))
                .map_err(|source| LoadError::Library { name: name.clone(), source: Box::new(source) })?;
            base = image.range().end.next_multiple_of(SPACING) + SPACING;
            wanted.extend(needed(&image, &name));
            images.push((name, image));
        }
        refuse_overlaps(&images)?;
        let plan = link::plan(&images)?;
        Ok(Self { images, plan, loader: Loader::Machine })
    }

    /// Takes an executable that needs its interpreter, and what both load, as far as that is
    /// known from an earlier run (see [`Machine::survey`](crate::Machine::survey)): the machine
    /// maps the executable and its interpreter only.
    ///
    /// # Errors
    /// A file that can't be loaded, files for different CPUs, or images at the same addresses.
    pub fn with_interpreter(
        executable: &'a [u8],
        interpreter: Option<Library<'a>>,
        loaded: &[Loaded<'a>],
    ) -> Result<Self, LoadError> {
        let executable = Image::parse(executable)?;
        let cpu = executable.cpu;
        let of_library = |name: &str, image: Result<Image<'a>, LoadError>| {
            image
                .and_then(|image| same_cpu(image, cpu))
                .map_err(|source| LoadError::Library { name: name.to_owned(), source: Box::new(source) })
        };
        let base = first_base(&executable.range());
        let mut images = vec![(String::new(), executable)];
        if let Some(Library { name, bytes }) = interpreter {
            images.push((name.to_owned(), of_library(name, Image::parse_library(bytes, base))?));
        }
        let ranges: Vec<_> = images.iter().map(|(_, image)| image.range()).collect();
        let places = Places::among(&ranges, cpu.user_end)
            .ok_or_else(|| malformed("the images leave no room in the address space for a stack"))?;
        for Loaded { name, bytes, bias } in loaded {
            images.push(((*name).to_owned(), of_library(name, Image::parse_at(bytes, *bias))?));
        }
        refuse_overlaps(&images)?;
        let plan = Plan { places, ..Plan::default() };
        let loader = Loader::Program(interpreter.map(|library| library.bytes));
        Ok(Self { images, plan, loader })
    }

    /// Takes the files of a process that ran elsewhere, each where it was mapped, the executable first: they are not to be
    /// run.
    ///
    /// # Errors
    /// No file, one that can't be loaded, files for different CPUs, or images at the same addresses.
    pub fn mapped(files: &[Loaded<'a>]) -> Result<Self, LoadError> {
        let mut images: Vec<(String, Image<'a>)> = Vec::new();
        for Loaded { name, bytes, bias } in files {
            let image = Image::parse_at(bytes, *bias).and_then(|image| match images.first() {
                Some((_, first)) => same_cpu(image, first.cpu),
                None => Ok(image),
            });
            let image = image.map_err(|source| LoadError::Library {
                name: (*name).to_owned(),
                source: Box::new(source),
            })?;
            images.push(((*name).to_owned(), image));
        }
        let executable = images.first().ok_or_else(|| malformed("a process without files"))?;
        let ranges: Vec<_> = images.iter().map(|(_, image)| image.range()).collect();
        let places = Places::among(&ranges, executable.1.cpu.user_end)
            .ok_or_else(|| malformed("the images leave no room in the address space for a stack"))?;
        refuse_overlaps(&images)?;
        let plan = Plan { places, ..Plan::default() };
        Ok(Self { images, plan, loader: Loader::Program(None) })
    }

    /// Takes a file alone, whether it is an executable or a library: it is not to be run.
    ///
    /// # Errors
    /// A file that can't be loaded.
    pub fn alone(file: &'a [u8]) -> Result<Self, LoadError> {
        let image = Image::parse_headers(file)?;
        let places = Places::among(&[image.range()], image.cpu.user_end)
            .ok_or_else(|| malformed("the image leaves no room in the address space for a stack"))?;
        let plan = Plan { places, ..Plan::default() };
        Ok(Self { images: vec![(String::new(), image)], plan, loader: Loader::Program(None) })
    }

    /// Returns whether an address is in the code that the kernel offers to programs.
    #[must_use]
    pub fn is_kernel(&self, address: u64) -> bool {
        self.plan.places.kernel().contains(&address)
    }

    /// Returns the executable.
    #[must_use]
    pub fn executable(&self) -> &Image<'a> {
        // There is always one: `with` puts it there.
        &self.images[0].1
    }

    /// Returns the number of images that are there when the program begins: it loads the others itself.
    #[must_use]
    pub fn present_at_start(&self) -> usize {
        match self.loader {
            Loader::Machine => self.images.len(),
            Loader::Program(interpreter) => self.images.len().min(1 + usize::from(interpreter.is_some())),
        }
    }

    /// Returns whether an address is in the machine's own code: that of its dynamic linker.
    #[must_use]
    pub fn is_linker(&self, address: u64) -> bool {
        self.plan.places.linker().contains(&address)
    }

    /// Returns every image with its name, the executable first; its name is empty.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Image<'a>)> {
        self.images.iter().map(|(name, image)| (name.as_str(), image))
    }
}

/// An image that a program has loaded itself.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// Its path, as the program sees it.
    pub path: PathBuf,
    /// The file.
    pub bytes: Arc<[u8]>,
    /// What is added to the file's addresses.
    pub bias: u64,
}

/// Returns where the first library is loaded: after an executable that was linked to the usual
/// addresses of libraries.
pub(crate) const fn first_base(program: &Range<u64>) -> u64 {
    if program.end <= LIBRARIES || LIBRARIES_END <= program.start {
        LIBRARIES
    } else {
        program.end.next_multiple_of(SPACING) + SPACING
    }
}

fn needed<'n>(image: &Image<'_>, by: &'n str) -> impl Iterator<Item = (String, String)> + use<'n> {
    let names = image.dynamic.as_ref().map(|dynamic| dynamic.needed.clone()).unwrap_or_default();
    names.into_iter().map(move |name| (name, by.to_owned()))
}

fn soname<'i>(image: &'i Image<'_>) -> Option<&'i String> {
    image.dynamic.as_ref()?.soname.as_ref()
}

pub(crate) fn same_cpu<'a>(image: Image<'a>, cpu: &Cpu) -> Result<Image<'a>, LoadError> {
    if image.cpu.abi == cpu.abi {
        return Ok(image);
    }
    Err(LoadError::Unsupported(format!("it is for {}, the executable for {}", image.cpu.abi, cpu.abi)))
}

fn refuse_overlaps(images: &[(String, Image<'_>)]) -> Result<(), LoadError> {
    let name = |name: &str| if name.is_empty() { "the executable" } else { name }.to_owned();
    for (index, (first, image)) in images.iter().enumerate() {
        if image.range().end > image.cpu.user_end {
            return Err(malformed(format!("there is no room for {}", name(first))));
        }
        for (second, other) in &images[..index] {
            let (ours, theirs) = (image.range(), other.range());
            let address = ours.start.max(theirs.start);
            if address < ours.end.min(theirs.end) {
                return Err(LoadError::Overlap { first: name(second), second: name(first), address });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_keep_out_of_the_way_of_the_executable() {
        assert_eq!(first_base(&(0x40_0000..0x50_0000)), LIBRARIES);
        assert_eq!(first_base(&(1 << 46..(1 << 46) + 1)), LIBRARIES);
        for program in [LIBRARIES - 1..LIBRARIES + 1, LIBRARIES + SPACING..LIBRARIES + SPACING + 5] {
            let base = first_base(&program);
            assert!(base > program.end && base.is_multiple_of(SPACING), "{base:#x}");
        }
    }

    #[test]
    fn images_at_the_same_addresses_are_an_error() {
        let bytes =
            std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/builds/gnu-2.44/amd64/leaf.O2"));
        let bytes = bytes.expect("a build");
        let image = Image::parse(&bytes).expect("an image");
        let images = [(String::new(), image.clone()), ("second".to_owned(), image)];
        let error = refuse_overlaps(&images).expect_err("the same addresses");
        assert!(matches!(error, LoadError::Overlap { .. }), "{error}");
        assert!(error.to_string().starts_with("the executable and second overlap at 0x4"), "{error}");
    }
}
