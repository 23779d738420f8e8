//! What is under test, opened by both views: what the machine loads, and what
//! the linker says of it.

pub mod files;
pub mod sections;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use sframe_engine::{Abi, Section};
use sframe_machine::{Image, Images, LoadError};

use crate::target::files::Files;
use crate::target::sections::Sections;
use sframe_inspect::cfi::CallFrameInfo;
use sframe_inspect::elf::object_file::{MissingSection, ObjectFile, ObjectFileError, SectionBytes, Symbols};
use sframe_inspect::instructions::{Disassembly, Instruction};

/// Why a file can't be tested.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The machine can't load it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its sections or symbols can't be read.
    #[error(transparent)]
    Object(#[from] ObjectFileError),
    /// There is nothing to test.
    #[error(transparent)]
    NoSection(#[from] MissingSection),
    /// The section's header is malformed; nothing can be looked up.
    #[error("the .sframe section ({len} bytes at {address:#x}) can't be used: {source}")]
    Section {
        /// Its length in bytes.
        len: usize,
        /// Its address.
        address: u64,
        /// What is wrong.
        source: sframe_engine::Error,
    },
    /// The section is for another ABI than the file.
    #[error("the .sframe section is for {section}, the file for {file}")]
    WrongAbi {
        /// The section's ABI.
        section: Abi,
        /// The file's ABI.
        file: Abi,
    },
    /// One of these, of a library.
    #[error("{name}: {source}")]
    Library {
        /// The library.
        name: String,
        /// What is wrong with it.
        source: Box<TargetError>,
    },
}

impl TargetError {
    fn of_library(self, name: &str) -> Self {
        if name.is_empty() { self } else { Self::Library { name: name.to_owned(), source: Box::new(self) } }
    }
}

/// An executable under test with its libraries.
#[derive(Debug)]
pub struct Target<'a> {
    /// What the machine loads.
    pub images: Arc<Images<'a>>,
    /// The same images as the linker sees them, the executable first.
    pub modules: Vec<Module<'a>>,
    /// The sections of those that have one.
    pub sections: Sections<'a>,
}

/// One image of a process.
#[derive(Clone, Debug)]
pub struct Module<'a> {
    /// The library's name; none for the executable.
    pub name: Option<String>,
    /// What the machine loads.
    pub image: Image<'a>,
    /// Sections and symbols.
    pub subject: Arc<ObjectFile<'a>>,
    /// The SFrame section, at its address with the load bias.
    pub section: Option<Section<'a>>,
    code: Arc<OnceLock<Disassembly>>,
    cfi: Arc<OnceLock<Option<CallFrameInfo>>>,
}

impl<'a> Module<'a> {
    fn open(name: &str, image: &Image<'a>) -> Result<Self, TargetError> {
        let subject = Arc::new(ObjectFile::parse(image.bytes())?);
        let section = subject.sframe.map(|sframe| open_section(image, sframe)).transpose()?;
        let name = (!name.is_empty()).then(|| name.to_owned());
        Ok(Self { name, image: image.clone(), subject, section, code: Arc::default(), cfi: Arc::default() })
    }

    /// The instructions. They are read at the first call.
    #[must_use]
    pub fn code(&self) -> &Disassembly {
        let code = || {
            let loaded = |(address, code): (u64, _)| (address.wrapping_add(self.image.bias), code);
            let code = self.subject.code().map(loaded);
            self.subject.abi().map(|abi| Disassembly::of(abi, code)).unwrap_or_default()
        };
        self.code.get_or_init(code)
    }

    /// One instruction, by its loaded address, read by itself.
    pub(crate) fn instruction(&self, loaded: u64) -> Option<Instruction> {
        let linked = loaded.wrapping_sub(self.image.bias);
        let holds = |(start, code): &(u64, &[u8])| linked.wrapping_sub(*start) < code.len() as u64;
        let (start, code) = self.subject.code().find(holds)?;
        let code = &code[usize::try_from(linked.wrapping_sub(start)).ok()?..];
        Disassembly::one(self.subject.abi()?, loaded, code)
    }

    /// The DWARF call frame information. It is read at the first call.
    #[must_use]
    pub fn cfi(&self) -> Option<&CallFrameInfo> {
        self.cfi.get_or_init(|| self.subject.call_frame_info()).as_ref()
    }

    /// The address of the SFrame section, with the load bias.
    pub(crate) fn section_address(&self) -> u64 {
        self.section.as_ref().map_or(0, Section::address)
    }
}

fn open_section<'a>(image: &Image<'_>, sframe: SectionBytes<'a>) -> Result<Section<'a>, TargetError> {
    let address = sframe.address.wrapping_add(image.bias);
    let section = Section::parse(sframe.data, address).map_err(|source| TargetError::Section {
        len: sframe.data.len(),
        address: sframe.address,
        source,
    })?;
    let (abi, file) = (section.header().abi, image.cpu.abi);
    if abi != file {
        return Err(TargetError::WrongAbi { section: abi, file });
    }
    Ok(section)
}

impl<'a> Target<'a> {
    /// Opens an executable that needs no library.
    ///
    /// # Errors
    /// As for [`Self::open_files`].
    pub fn open(bytes: &'a [u8]) -> Result<Self, TargetError> {
        Self::of(Images::load(bytes, &[])?)
    }

    /// Opens an executable with its libraries.
    ///
    /// # Errors
    /// A file can't be loaded, a section can't be used, or there is none.
    pub fn open_files(files: &'a Files) -> Result<Self, TargetError> {
        Self::of(Images::load(&files.executable, &files.libraries())?)
    }

    fn of(images: Images<'a>) -> Result<Self, TargetError> {
        let mut modules = Vec::new();
        for (name, image) in images.iter() {
            let module = Module::open(name, image).map_err(|error| error.of_library(name))?;
            modules.push(module);
        }
        let sections = sections_of(&modules);
        if sections.iter().next().is_none() {
            let executable = modules.first().map(|module| module.subject.section());
            return Err(executable.and_then(Result::err).unwrap_or(MissingSection::Absent).into());
        }
        Ok(Self { images: Arc::new(images), modules, sections })
    }

    /// The same files, but for the section of one of them, by its position
    /// among the modules. It is for the address of the old one.
    ///
    /// # Errors
    /// The new section can't be used.
    pub fn with_section<'b>(&self, module: usize, data: &'b [u8]) -> Result<Target<'b>, TargetError>
    where
        'a: 'b,
    {
        let mut modules: Vec<Module<'b>> = self.modules.clone();
        if let Some(Module { image, section, subject, .. }) = modules.get_mut(module)
            && let Some(old) = subject.sframe
        {
            *section = Some(open_section(image, SectionBytes { data, address: old.address })?);
        }
        let sections = sections_of(&modules);
        let images: Arc<Images<'b>> = self.images.clone();
        Ok(Target { images, modules, sections })
    }

    /// The executable.
    #[must_use]
    pub fn executable(&self) -> &Module<'a> {
        // The machine has one, or there would be no images.
        &self.modules[0]
    }

    /// The image that a loaded address lies in.
    #[must_use]
    pub fn module_at(&self, loaded: u64) -> Option<&Module<'a>> {
        self.modules.iter().find(|module| module.image.range().contains(&loaded))
    }

    /// Version of the sections; of the first, where they differ.
    #[must_use]
    pub fn sframe_version(&self) -> u8 {
        self.sections.iter().next().map_or(0, |section| section.header().version.number())
    }

    /// The loaded addresses of the functions of a name: those with exactly
    /// this name, or else the clones that a compiler has made of it.
    ///
    /// `name` is of any image, `library.so!name` of one: of that whose name
    /// this is or ends with, behind a dot. `!name` is of the executable.
    #[must_use]
    pub fn addresses_of(&self, name: &str) -> Vec<u64> {
        let (library, name) = name.split_once('!').map_or((None, name), |(image, name)| (Some(image), name));
        let is_meant = |module: &&Module<'_>| match (library, module.name.as_deref()) {
            (None, _) => true,
            (Some(meant), None) => meant.is_empty(),
            (Some(meant), Some(name)) => {
                name == meant || name.strip_suffix(meant).is_some_and(|rest| rest.ends_with('.'))
            }
        };
        let all = |of: fn(&Symbols, &str) -> Vec<u64>| -> Vec<u64> {
            let loaded = |module: &Module<'_>| {
                let bias = module.image.bias;
                of(&module.subject.symbols, name).into_iter().map(move |address| address.wrapping_add(bias))
            };
            self.modules.iter().filter(is_meant).flat_map(loaded).collect()
        };
        let exact = all(Symbols::named_exactly);
        if exact.is_empty() { all(Symbols::addresses_of) } else { exact }
    }

    /// The loaded address at which the function of an address starts.
    #[must_use]
    pub(crate) fn function_at(&self, address: u64) -> Option<u64> {
        let place = self.place(address);
        place.function.map(|_| address.wrapping_sub(place.offset))
    }

    /// The loaded addresses of the function that starts at one.
    #[must_use]
    pub fn extent(&self, start: u64) -> Option<Range<u64>> {
        let module = self.module_at(start)?;
        let bias = module.image.bias;
        let extent = module.subject.symbols.extent(start.wrapping_sub(bias))?;
        Some(extent.start.wrapping_add(bias)..extent.end.wrapping_add(bias))
    }

    /// The loaded addresses at which functions start.
    pub fn functions(&self) -> impl Iterator<Item = u64> {
        self.modules.iter().flat_map(|module| {
            let bias = module.image.bias;
            module.subject.symbols.addresses().map(move |address| address.wrapping_add(bias))
        })
    }

    /// The loaded address of a variable of the executable.
    #[must_use]
    pub fn address_of_object(&self, name: &str) -> Option<u64> {
        let Module { image, subject, .. } = self.executable();
        Some(subject.address_of_object(name)?.wrapping_add(image.bias))
    }

    /// The first instructions in a range of loaded addresses, as a disassembler
    /// prints them.
    #[must_use]
    pub fn listing(&self, range: Range<u64>, lines: usize) -> Vec<String> {
        let Some(module) = self.module_at(range.start) else { return Vec::new() };
        let line = |(address, instruction): (u64, &Instruction)| {
            format!("{:#x}: {}", address.wrapping_sub(module.image.bias), instruction.text)
        };
        module.code().within(range).take(lines).map(line).collect()
    }

    /// Where a loaded address lies.
    #[must_use]
    pub fn place(&self, loaded: u64) -> Place<'_> {
        let Some(module) = self.module_at(loaded) else {
            // Where lazily bound calls pass by; in a real process it is ld.so.
            let function = self.images.is_linker(loaded).then_some("[dynamic linker]");
            return Place { image: None, address: loaded, function, offset: 0 };
        };
        let address = loaded.wrapping_sub(module.image.bias);
        let symbol = module.subject.symbols.at(address);
        Place {
            image: module.name.as_deref(),
            address,
            function: symbol.map(|(name, _)| name),
            offset: symbol.map_or(0, |(_, offset)| offset),
        }
    }

    /// The name of the function that a frame is in, as specs write it: the
    /// address where there is no symbol. `address` is where the frame's rules
    /// are looked up.
    #[must_use]
    pub fn frame_name(&self, address: u64) -> String {
        let place = self.place(address);
        match (place.function, place.image) {
            (Some(function), _) => function.to_owned(),
            (None, Some(image)) => format!("{image}: {:#x}", place.address),
            (None, None) => format!("{:#x}", place.address),
        }
    }
}

fn sections_of<'a>(modules: &[Module<'a>]) -> Sections<'a> {
    let with_section = |module: &Module<'a>| Some((module.image.range(), module.section.clone()?));
    Sections::new(modules.iter().filter_map(with_section).collect())
}

/// An address without the load bias, the image and the function there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The library; none for the executable, and where no image lies.
    pub image: Option<&'a str>,
    /// The address.
    pub address: u64,
    /// The function, if a symbol names it.
    pub function: Option<&'a str>,
    /// The offset into the function, in bytes.
    pub offset: u64,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(image) = self.image {
            write!(f, "{image}: ")?;
        }
        match self.function {
            Some(function) => write!(f, "{function}+{:#x} ({:#x})", self.offset, self.address),
            None => write!(f, "{:#x}", self.address),
        }
    }
}
