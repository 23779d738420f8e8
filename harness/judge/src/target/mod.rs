//! The program under test, opened in two ways: as the machine loads it, and as
//! the linker describes it.

mod address;
pub mod files;
pub(crate) mod layouts;
mod made;
mod origin;
pub mod sections;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sframe_engine::{Abi, Base, Fde, InstructionPointer, PauthMask, Recovery, Row, Section};
use sframe_machine::Loaded as MappedFile;
use sframe_machine::{Image, Images, LoadError};

pub use address::{Linked, Loaded};
pub use made::{Lacks, MadeSection, MadeSections, SectionSource};
pub use origin::Origin;
pub use sframe_elf::function_code::FunctionCode;

use crate::target::files::Files;
use crate::target::made::Made;
use crate::target::sections::Sections;
use crate::vocabulary::QualifiedName;
use sframe_elf::cfi::{CallFrameInfo, CfiFde, CfiRow};
use sframe_elf::code_digest::FunctionCodes;
use sframe_elf::debug_file::DebugFile;
use sframe_elf::kernel::KernelCode;
use sframe_elf::object_file::{MissingSection, ObjectFile, ObjectFileError, SectionBytes, SectionError};
use sframe_elf::symbols::Symbols;
use sframe_inspect::convert::ConvertError;
use sframe_inspect::diff::{Gap, GapCode, Gaps, Maker, reason_to_leave_out};
use sframe_isa::{Disassembly, Instruction};
use sframe_kit::ranges::{merge, overlap};

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
    /// There is nothing to test, and nothing to make it from.
    #[error("no section can be synthesized from .eh_frame: {0}")]
    NotMade(Arc<ConvertError>),
    /// The section's header is malformed, or it is for another ABI than the file.
    #[error(transparent)]
    Section(#[from] SectionError),
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
    /// The library's name; `None` for the executable.
    pub name: Option<String>,
    /// What the machine loads.
    pub image: Image<'a>,
    /// Sections and symbols.
    pub subject: Arc<ObjectFile<'a>>,
    /// The SFrame section, at its address with the load bias.
    pub section: Option<Section<'a>>,
    /// The section made from `.eh_frame`, or why there is none, if one was to be
    /// made. [`Self::section`] is then this one.
    made: Option<&'a Made>,
    /// The separate debug file that names its functions.
    pub(crate) debug: Option<&'a DebugFile>,
    code: Arc<OnceLock<Disassembly>>,
    around: Around,
    cfi: Arc<OnceLock<Option<CallFrameInfo>>>,
    kernel: Arc<OnceLock<KernelCode>>,
}

/// The instructions that were read last around an address, with the addresses of the file that they are at.
type Around = Arc<Mutex<Option<(Range<u64>, Arc<Disassembly>)>>>;

/// How many bytes before an address, and from it on, are read at least to list the instructions there.
const AROUND: u64 = 64;

impl<'a> Module<'a> {
    fn open(
        name: &str,
        image: &Image<'a>,
        made: Option<&'a Made>,
        debug: Option<&'a DebugFile>,
    ) -> Result<Self, TargetError> {
        let subject = Arc::new(ObjectFile::parse_with(image.bytes(), debug)?);
        let name = (!name.is_empty()).then(|| name.to_owned());
        let (image, code, around) = (image.clone(), Arc::default(), Around::default());
        let (cfi, kernel) = (Arc::default(), Arc::default());
        let mut module = Self { name, image, subject, section: None, made, debug, code, around, cfi, kernel };
        let bytes = match made {
            None => module.subject.sframe,
            Some(Ok(made)) => Some(SectionBytes { data: &made.data, address: made::ADDRESS }),
            Some(Err(_)) => None,
        };
        module.section = bytes.map(|bytes| module.open_section(bytes)).transpose()?;
        Ok(module)
    }

    /// The section made from `.eh_frame`, or why it could not be made. `None` if none
    /// was to be made.
    #[must_use]
    pub fn made(&self) -> Option<Result<&'a MadeSection, &'a ConvertError>> {
        self.made.map(|made| made.as_ref().map_err(|error| &**error))
    }

    /// Whether the section was made from `.eh_frame`.
    pub(crate) fn is_made(&self) -> bool {
        matches!(self.made, Some(Ok(_)))
    }

    /// Whether an FDE of `.sframe` with this start begins elsewhere than the CFI's for an address: assemblers
    /// start both at one label, so a linker has moved it. Conversion cuts FDEs where others cover them.
    pub(crate) fn is_moved(&self, start: Loaded, address: impl Into<Loaded>) -> bool {
        let fde = self.cfi().and_then(|cfi| cfi.fde_at(self.linked(address).0));
        !self.is_made() && fde.is_some_and(|fde| fde.range.start != self.linked(start).0)
    }

    /// All instructions, read at the first call. For large files this takes gigabytes: what needs a few
    /// takes [`Self::code_in`].
    #[must_use]
    pub fn code(&self) -> &Disassembly {
        let code = || {
            let loaded = |(address, code): (u64, _)| (self.loaded(Linked(address)).0, code);
            let code = self.subject.code().map(loaded);
            self.subject.abi().map(|abi| Disassembly::of(abi, code)).unwrap_or_default()
        };
        self.code.get_or_init(code)
    }

    /// The instructions in a range of addresses of the process that starts with one.
    #[must_use]
    pub fn code_in(&self, range: Range<u64>) -> Disassembly {
        let (start, end) = (self.linked(Loaded(range.start)).0, self.linked(Loaded(range.end)).0);
        let part = |(address, code): (u64, &'a [u8])| {
            let offset = |linked: u64| {
                usize::try_from(linked.saturating_sub(address))
                    .map_or(code.len(), |offset| offset.min(code.len()))
            };
            let part = code.get(offset(start)..offset(end)).filter(|part| !part.is_empty())?;
            Some((self.loaded(Linked(address.max(start))).0, part))
        };
        let code = self.subject.code().filter_map(part);
        self.subject.abi().map(|abi| Disassembly::of(abi, code)).unwrap_or_default()
    }

    /// Code that no FDE of `.sframe` covers, in functions that have one, by addresses of the file. What was made from
    /// `.eh_frame` has what that one says.
    pub(crate) fn gaps(&self) -> Gaps {
        let own = self.section.as_ref().filter(|_| self.made.is_none());
        let linked = own.and_then(|section| {
            Section::parse(section.data(), section.address().wrapping_sub(self.image.bias)).ok()
        });
        linked.map(|section| Gaps::of(&self.subject, &section, self.cfi())).unwrap_or_default()
    }

    /// The code of a gap that a walk can meet, also if it is not known to be the function's.
    pub(crate) fn code_of(&self, gap: &Gap) -> Option<GapCode> {
        self.reads(gap, Gap::code_of_any)
    }

    /// The same where code of the gap has executed.
    pub(crate) fn executed_code_of(&self, gap: &Gap) -> Option<GapCode> {
        self.reads(gap, Gap::executed_code)
    }

    fn reads(&self, gap: &Gap, code_of: fn(&Gap, Abi, &[u8]) -> Option<GapCode>) -> Option<GapCode> {
        let needs = gap.needs();
        let code = self.section_of(needs.start).and_then(|(start, code)| {
            let from = usize::try_from(needs.start - start).ok()?;
            let until = usize::try_from(needs.end - start).ok()?;
            code.get(from..until.min(code.len()))
        });
        code_of(gap, self.subject.abi()?, code?)
    }

    /// The instructions around an address: from the start of a function before it to a few after it.
    #[must_use]
    pub fn code_around(&self, address: impl Into<Loaded>) -> Arc<Disassembly> {
        let Linked(linked) = self.linked(address);
        let of_section = || self.section_of(linked).map_or(linked, |(start, _)| start);
        let mut start =
            self.function_start(linked).filter(|start| *start <= linked).unwrap_or_else(of_section);
        // Functions may be short.
        while linked - start < AROUND {
            let before = start.checked_sub(1).and_then(|last| self.function_start(last));
            let Some(before) = before.filter(|before| *before < start) else { break };
            start = before;
        }
        // What follows is usually about the same function.
        let mut last = self.around.lock().unwrap_or_else(PoisonError::into_inner);
        let end = linked.saturating_add(AROUND);
        let is_it = |(range, _): &&(Range<u64>, _)| range.start == start && range.end >= end;
        if let Some((_, code)) = last.as_ref().filter(is_it) {
            return Arc::clone(code);
        }
        let extent = self.subject.symbols.extent(start).map_or(0, |extent| extent.end);
        // Without a known end, twice as far as needed: then the next ones do not read it all again.
        let range = start..end.max(extent).max(linked.saturating_add(linked - start));
        let code =
            Arc::new(self.code_in(self.loaded(Linked(range.start)).0..self.loaded(Linked(range.end)).0));
        *last = Some((range, Arc::clone(&code)));
        code
    }

    /// The code's section that contains an address of the file: its address there, and its bytes.
    fn section_of(&self, linked: u64) -> Option<(u64, &'a [u8])> {
        let is_in = |start: u64, len: u64| linked.checked_sub(start).is_some_and(|offset| offset < len);
        self.subject.code().find(|(start, code)| is_in(*start, code.len() as u64))
    }

    /// Where the code of an FDE is, as far as the file has any there.
    pub(crate) fn code_of_fde(&self, fde: &Fde) -> Range<u64> {
        let from_start = |(start, code): (u64, &[u8])| {
            let offset = self.linked(Loaded(fde.start)).0.wrapping_sub(start);
            (code.len() as u64).saturating_sub(offset)
        };
        let len = self.section_of(self.linked(Loaded(fde.start)).0).map_or(0, from_start);
        fde.start..fde.start.saturating_add(len.min(fde.size.into()))
    }

    /// Whether a call skips a speculation trap, given where it returns to, and where it leads.
    pub(crate) fn skips_trap(&self, next: Loaded, callee: Loaded) -> bool {
        let (next, callee) = (self.linked(next).0, self.linked(callee).0);
        let is_skipping = |(start, code): (u64, &[u8])| {
            let offset = |address: u64| usize::try_from(address.checked_sub(start)?).ok();
            let (from, to) = (offset(next)?, offset(callee)?);
            Some(self.image.cpu.skips_trap(code.get(from..to)?, code.get(to..)?))
        };
        next < callee && self.section_of(next).and_then(is_skipping) == Some(true)
    }

    /// The start of the function that contains an address of the file, by a symbol or else by the section's FDEs.
    fn function_start(&self, linked: u64) -> Option<u64> {
        if let Some((_, offset)) = self.subject.symbols.at(linked) {
            return Some(linked - offset);
        }
        let pc = sframe_engine::InstructionPointer(self.loaded(Linked(linked)).0);
        let fde = self.section.as_ref()?.lookup_fde(pc).ok().flatten()?;
        Some(self.linked(Loaded(fde.start)).0)
    }

    /// The code of the function at an address of the file; `None` if that is in none.
    #[must_use]
    pub fn function_code(&self, address: Linked) -> Option<FunctionCode> {
        let start = self.function_start(address.0)?;
        self.section_of(start)?;
        let pc = InstructionPointer(self.loaded(Linked(start)).0);
        let of_fde =
            || self.section.as_ref()?.lookup_fde(pc).ok().flatten().map(|fde| start + u64::from(fde.size));
        let symbols = &self.subject.symbols;
        let end = symbols.extent(start).map(|extent| extent.end).or_else(of_fde)?;
        Some(FunctionCodes::of(self.subject.elf()).of_function(symbols, start, start..end))
    }

    /// Converts an address of the process into one of the file.
    #[must_use]
    pub fn linked(&self, address: impl Into<Loaded>) -> Linked {
        Linked(address.into().0.wrapping_sub(self.image.bias))
    }

    /// Converts an address of the file into one of the process.
    #[must_use]
    pub const fn loaded(&self, address: Linked) -> Loaded {
        Loaded(address.0.wrapping_add(self.image.bias))
    }

    /// Reads one instruction alone, with the addresses of the process.
    pub(crate) fn instruction(&self, loaded: Loaded) -> Option<Instruction> {
        self.instruction_at(loaded, loaded.0)
    }

    /// Reads the text of an instruction, with the addresses of the file.
    pub(crate) fn text(&self, loaded: Loaded) -> Option<String> {
        self.instruction_at(loaded, self.linked(loaded).0).map(|instruction| instruction.text)
    }

    fn instruction_at(&self, loaded: Loaded, address: u64) -> Option<Instruction> {
        let Linked(linked) = self.linked(loaded);
        let (start, code) = self.section_of(linked)?;
        let code = &code[usize::try_from(linked.wrapping_sub(start)).ok()?..];
        Disassembly::one(self.subject.abi()?, address, code)
    }

    /// The DWARF call frame information, read at the first call.
    #[must_use]
    pub fn cfi(&self) -> Option<&CallFrameInfo> {
        self.cfi.get_or_init(|| self.subject.call_frame_info()).as_ref()
    }

    /// What the tables of a kernel, or of a kernel's module, say of its code, read at the first call.
    pub(crate) fn kernel_code(&self) -> &KernelCode {
        self.kernel.get_or_init(|| KernelCode::of(&self.subject, self.image.is_kernel()))
    }

    /// Whether an address has call frame information that rows can say; `None` if it has some that can't be read, or if
    /// the file has none that would say so.
    pub(crate) fn has_cfi_at(&self, address: Linked) -> Option<bool> {
        let cfi = self.cfi().filter(|cfi| !cfi.fdes().is_empty())?;
        // What could not be read may have it.
        let Some(fde) = cfi.fde_at(address.0) else { return cfi.errors().is_empty().then_some(false) };
        let rows = cfi.rows(fde).ok()?;
        let is_in_row = rows.iter().any(|row| row.range.contains(&address.0));
        // A function of which one row can't be said has no FDE.
        let says = |row: &CfiRow| cfi.rules(row, row.range.start).row_rules().is_some();
        Some(is_in_row && rows.iter().all(says))
    }

    /// Whether an address has call frame information in which nothing keeps assemblers from writing an FDE for the
    /// section's version.
    pub(crate) fn has_expressible_cfi(&self, address: Linked) -> bool {
        let fde = self.cfi().and_then(|cfi| Some((cfi, cfi.fde_at(address.0)?)));
        let header = self.section.as_ref().map(Section::header);
        let (Some((cfi, fde)), Some(header)) = (fde, header) else { return false };
        let maker = Maker::of(&self.subject, fde.range.start);
        reason_to_leave_out(cfi, fde, header.version, header.abi, maker).is_none()
    }

    /// The functions, by their starts, whose call frame information the section's version can express, and of whose code the
    /// section describes nothing. None if it was not merged: its FDEs are of other code then.
    #[must_use]
    pub fn without_fde(&self) -> Vec<Linked> {
        let (Some(cfi), Some(section)) = (self.cfi(), &self.section) else { return Vec::new() };
        if self.has_made_section() || !self.subject.merge_faults(section).is_empty() {
            return Vec::new();
        }
        let fdes = section.fdes().flatten();
        let described = merge(fdes.map(|fde| fde.start..fde.start.saturating_add(fde.size.into())).collect());
        let has_fde = |fde: &CfiFde| {
            let [start, end] = [fde.range.start, fde.range.end].map(|at| self.loaded(Linked(at)).0);
            overlap(&described, &(start..end))
        };
        let starts = cfi.fdes().iter().filter(|fde| !has_fde(fde)).map(|fde| Linked(fde.range.start));
        let mut missing: Vec<Linked> = starts.filter(|start| self.has_expressible_cfi(*start)).collect();
        missing.dedup_by_key(|start| start.0);
        missing
    }

    /// Whether an FDE is missing for an address, although it is there for whatever surrounds it: for the functions before
    /// and after it, as call frame information has them. Nobody calls the entry function, so that walks
    /// lose nothing by it, and linkers have left out their own code for long.
    pub(crate) fn lacks_fde_alone(&self, address: Linked) -> bool {
        let (Some(cfi), Some(section)) = (self.cfi(), &self.section) else { return false };
        let Some(own) = cfi.fde_at(address.0) else { return false };
        let is_of_linker = self.subject.linker_made(address.0).is_some();
        if is_of_linker || self.subject.is_entry_point(own.range.start) || !self.has_expressible_cfi(address)
        {
            return false;
        }
        let has_fde = |fde: &CfiFde| {
            let start = self.loaded(Linked(fde.range.start)).0;
            section.lookup_fde(InstructionPointer(start)).is_ok_and(|found| found.is_some())
        };
        let fdes = cfi.fdes();
        let (before, after) = (
            fdes.partition_point(|fde| fde.range.start < own.range.start),
            fdes.partition_point(|fde| fde.range.start <= own.range.start),
        );
        let code = self.subject.section_at(own.range.start);
        let is_beside = |fde: &&CfiFde| self.subject.section_at(fde.range.start) == code && has_fde(fde);
        let beside =
            [before.checked_sub(1), Some(after)].map(|index| index.and_then(|index| fdes.get(index)));
        beside.iter().all(|fde| fde.filter(is_beside).is_some())
    }

    /// Whether the section was made from call frame information.
    pub(crate) const fn has_made_section(&self) -> bool {
        self.made.is_some()
    }

    fn open_section<'s>(&self, sframe: SectionBytes<'s>) -> Result<Section<'s>, TargetError> {
        Ok(sframe.open(self.image.bias, self.image.cpu.abi)?)
    }

    /// The address of the SFrame section, with the load bias.
    pub fn section_address(&self) -> u64 {
        self.section.as_ref().map_or(0, Section::address)
    }
}

impl<'a> Target<'a> {
    /// Opens an executable that needs no library.
    ///
    /// # Errors
    /// As for [`Self::open_files`].
    pub fn open(bytes: &'a [u8]) -> Result<Self, TargetError> {
        Self::of(Images::load(bytes, &[])?, None, |_| None)
    }

    /// Opens an executable with its libraries.
    ///
    /// # Errors
    /// A file can't be loaded, a section can't be used, or there is no section.
    pub fn open_files(files: &'a Files) -> Result<Self, TargetError> {
        Self::of(files.images()?, None, |name| files.debug.get(name))
    }

    /// Opens files with the sections that were made for some of them, instead of their own.
    ///
    /// # Errors
    /// As for [`Self::open_files`].
    pub fn open_made(files: &'a Files, made: &'a MadeSections) -> Result<Self, TargetError> {
        Self::of(files.images()?, Some(made), |name| files.debug.get(name))
    }

    /// Opens an executable or a library alone, with the section that was made for it, if one was, and its
    /// separate debug file, if it has one: it is not to be run.
    ///
    /// # Errors
    /// As for [`Self::open_files`].
    pub fn alone(
        file: &'a [u8],
        made: Option<&'a MadeSections>,
        debug: Option<&'a DebugFile>,
    ) -> Result<Self, TargetError> {
        Self::of(Images::alone(file)?, made, |_| debug)
    }

    fn of(
        images: Images<'a>,
        made: Option<&'a MadeSections>,
        debug: impl Fn(&str) -> Option<&'a DebugFile>,
    ) -> Result<Self, TargetError> {
        let target = Self::with_or_without_sections(images, made, debug)?;
        if target.sections.iter().next().is_none() {
            let executable = target.modules.first();
            if let Some(Err(error)) = executable.and_then(|module| module.made) {
                return Err(TargetError::NotMade(Arc::clone(error)));
            }
            let section = executable.map(|module| module.subject.section());
            return Err(section.and_then(Result::err).unwrap_or(MissingSection::Absent).into());
        }
        Ok(target)
    }

    /// Opens the files of a process that ran elsewhere, each where it was mapped, the executable first, with the sections that
    /// were made for some of them. There need be no section.
    ///
    /// # Errors
    /// A file can't be loaded, or a section can't be used.
    pub fn mapped(
        files: &[MappedFile<'a>],
        made: Option<&'a MadeSections>,
        debug: impl Fn(&str) -> Option<&'a DebugFile>,
    ) -> Result<Self, TargetError> {
        Self::with_or_without_sections(Images::mapped(files)?, made, debug)
    }

    fn with_or_without_sections(
        images: Images<'a>,
        made: Option<&'a MadeSections>,
        debug: impl Fn(&str) -> Option<&'a DebugFile>,
    ) -> Result<Self, TargetError> {
        let mut modules = Vec::new();
        for (name, image) in images.iter() {
            let made = made.and_then(|made| made.get(name));
            let module =
                Module::open(name, image, made, debug(name)).map_err(|error| error.of_library(name))?;
            modules.push(module);
        }
        let sections = sections_of(&modules);
        Ok(Self { images: Arc::new(images), modules, sections })
    }

    /// Returns the same files with a new section for one of them, given by its
    /// position among the modules. The new section must be for the address of
    /// the old one.
    ///
    /// # Errors
    /// The new section can't be used.
    pub fn with_section<'b>(&self, module: usize, data: &'b [u8]) -> Result<Target<'b>, TargetError>
    where
        'a: 'b,
    {
        let mut modules: Vec<Module<'b>> = self.modules.clone();
        if let Some(module) = modules.get_mut(module)
            && let Some(old) = module.subject.sframe
        {
            module.section = Some(module.open_section(SectionBytes { data, address: old.address })?);
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

    /// The bits that pointer authentication uses in the program's addresses.
    pub(crate) fn pauth(&self) -> PauthMask {
        PauthMask::for_address_bits(self.executable().image.cpu.address_bits)
    }

    /// The image that contains an address.
    #[must_use]
    pub fn module_at(&self, address: impl Into<Loaded>) -> Option<&Module<'a>> {
        let Loaded(address) = address.into();
        self.modules.iter().find(|module| module.image.range().contains(&address))
    }

    /// Converts an address into one of its image's file; unchanged outside of
    /// all images.
    #[must_use]
    pub fn linked(&self, address: impl Into<Loaded>) -> Linked {
        let address = address.into();
        self.module_at(address).map_or(Linked(address.0), |module| module.linked(address))
    }

    /// Version of the sections; of the first, if they differ.
    #[must_use]
    pub fn sframe_version(&self) -> u8 {
        self.sections.iter().next().map_or(0, |section| section.header().version.number())
    }

    /// Returns the loaded addresses of the functions with a name: those with
    /// exactly this name, or else the clones that a compiler has made of it.
    ///
    /// `name` matches in any image. `library.so!name` matches in one: the image
    /// with this name, or whose name ends in it after a dot. `!name` matches in
    /// the executable.
    #[must_use]
    pub fn addresses_of(&self, name: &str) -> Vec<Loaded> {
        let name = QualifiedName::parse(name);
        let is_meant = |module: &&Module<'_>| name.is_of(module.name.as_deref());
        let all = |of: fn(&Symbols<'a>, &str) -> Vec<u64>| -> Vec<Loaded> {
            let modules = self.modules.iter().filter(is_meant);
            let loaded = |module: &'_ Module<'a>| {
                let addresses = of(&module.subject.symbols, name.function).into_iter();
                addresses.map(|address| module.loaded(Linked(address))).collect::<Vec<_>>()
            };
            modules.flat_map(loaded).collect()
        };
        let exact = all(Symbols::named_exactly);
        if exact.is_empty() { all(Symbols::addresses_of) } else { exact }
    }

    /// The start of the function that contains an address.
    #[must_use]
    pub(crate) fn function_at(&self, address: impl Into<Loaded>) -> Option<Loaded> {
        let address = address.into();
        let place = self.place(address);
        place.function.map(|_| Loaded(address.0.wrapping_sub(place.offset)))
    }

    /// The loaded addresses of the function that starts at one.
    #[must_use]
    pub fn extent(&self, start: Loaded) -> Option<Range<u64>> {
        let module = self.module_at(start)?;
        let extent = module.subject.symbols.extent(module.linked(start).0)?;
        let loaded = |address| module.loaded(Linked(address)).0;
        Some(loaded(extent.start)..loaded(extent.end))
    }

    /// Where functions start.
    pub fn functions(&self) -> impl Iterator<Item = Loaded> {
        self.modules.iter().flat_map(|module| {
            module.subject.symbols.addresses().map(|address| module.loaded(Linked(address)))
        })
    }

    /// The address of a variable of the executable.
    #[must_use]
    pub fn address_of_object(&self, name: &str) -> Option<Loaded> {
        let executable = self.executable();
        Some(executable.loaded(Linked(executable.subject.address_of_object(name)?)))
    }

    /// Disassembles the first instructions in a range of loaded addresses.
    #[must_use]
    pub fn listing(&self, range: Range<u64>, lines: usize) -> Vec<String> {
        let first = || {
            let module = self.module_at(Loaded(range.start))?;
            let [start, end] = [range.start, range.end].map(|address| module.linked(Loaded(address)).0);
            let (section, code) = module.section_of(start)?;
            let offset = |address: u64| usize::try_from(address.wrapping_sub(section)).unwrap_or(usize::MAX);
            let code = code.get(offset(start)..offset(end).min(code.len()))?;
            let found = Disassembly::first(module.subject.abi()?, range.start, code, lines);
            let line = |(address, instruction): (u64, Instruction)| {
                format!("{:#x}: {}", module.linked(Loaded(address)), instruction.text)
            };
            Some(found.into_iter().map(line).collect())
        };
        first().unwrap_or_default()
    }

    /// Where an address is.
    #[must_use]
    pub fn place(&self, address: impl Into<Loaded>) -> Place<'_> {
        let loaded = address.into();
        let address = self.linked(loaded);
        let Some(module) = self.module_at(loaded) else {
            // Lazily bound calls pass here; in a real process it is ld.so.
            let function = if self.images.is_linker(loaded.0) {
                Some("[dynamic linker]")
            } else {
                self.images.is_kernel(loaded.0).then_some("[vdso]")
            };
            return Place { image: None, address, function, offset: 0 };
        };
        let symbol = module.subject.symbols.at(address.0);
        Place {
            image: module.name.as_deref(),
            address,
            function: symbol.map(|(name, _)| name),
            offset: symbol.map_or(0, |(_, offset)| offset),
        }
    }

    /// The name of the function that a frame is in, as specs write it, or its
    /// address without a symbol. `address` is where the frame's rules are
    /// looked up.
    #[must_use]
    pub fn frame_name(&self, address: impl Into<Loaded>) -> String {
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

/// An address in a file, the image and the function there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The library; `None` for the executable, and outside of all images.
    pub image: Option<&'a str>,
    /// The address.
    pub address: Linked,
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

/// Whether a row describes the state at a function's entry.
pub(crate) fn is_entry(row: &Row, abi: Abi) -> bool {
    let Some(cfa) = row.cfa else { return false };
    let at_entry = abi.cfa_offset_at_entry();
    let ra = match (row.ra, abi.ra()) {
        (Recovery::Rule(rule), None) => rule.base == Base::Cfa && rule.offset == -8 && rule.dereference,
        (Recovery::Unchanged, _) => true,
        _ => false,
    };
    cfa.base == Base::Sp && !cfa.dereference && cfa.offset == at_entry && ra && row.fp == Recovery::Unchanged
}
