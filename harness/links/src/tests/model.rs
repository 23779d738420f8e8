//! A minimal linker for relocatable files with `.sframe` of version 3, and mistakes that linkers make.
//!
//! It puts sections of one name together, drops what COMDAT groups, `--gc-sections` and `--icf` drop, and writes the rows of
//! what is left with the engine's writer. The code itself is linked by what the bench has to explore objects.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::path::Path;

use object::elf::{
    PT_LOAD, ProgramHeader64, R_390_PC64, R_AARCH64_PREL64, R_X86_64_PC64, SHF_ALLOC, SHF_EXECINSTR,
    SHT_GNU_SFRAME, SHT_PROGBITS, Sym64,
};
use object::read::archive::ArchiveFile;
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _, SectionHeader as _};
use object::write::{self as made, SectionId, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, Object as _, ObjectComdat as _, ObjectSection as _,
    ObjectSymbol as _, RelocationTarget, SectionIndex, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};
use sframe_elf::link::link;
use sframe_elf::relocatable::lay_out;
use sframe_elf::replace_section::embed;
use sframe_elf::source::Source;
use sframe_engine::write::{Function, Section, WriteError};
use sframe_engine::{Abi, Base, FdeType, Flags, PauthKey, PcType, Recovery, RecoveryRule, Row, Version};
use tempfile::TempDir;

use super::mistake::Mistake;
use crate::case::Tool;
use crate::run::has_section;
use crate::tools::{Command, Ran, Tools};
use crate::unable::Unable;

/// The linker.
pub(super) struct Model {
    pub(super) mistake: Option<Mistake>,
    /// What it is described to be unable to do.
    pub(super) unable: Option<Vec<Unable>>,
}

impl Tools for Model {
    fn has(&self, tool: Tool, _: Abi) -> bool {
        tool == Tool::Ld
    }

    fn folder(&self) -> std::io::Result<TempDir> {
        tempfile::tempdir()
    }

    fn line(&self, command: &Command) -> String {
        command.arguments().join(" ")
    }

    fn unable(&self) -> Option<&[Unable]> {
        self.unable.as_deref()
    }

    fn run(&self, folder: &Path, command: &Command) -> Result<Ran, String> {
        let files = command.inputs.iter().map(|name| std::fs::read(folder.join(name)));
        let files = files.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let mut said = String::new();
        if self.makes(Mistake::TalksOfSections) {
            said.push_str(&format!("merging .sframe of {} files", files.len()));
        }
        let linked = match self.mistake {
            Some(Mistake::CrashesAlways) => Err(CRASH.to_owned()),
            Some(Mistake::CrashesOnSections) if files.iter().any(|file| has_section(file)) => {
                Err(CRASH.to_owned())
            }
            Some(Mistake::RefusesEverything) => Err("not today".to_owned()),
            _ => self.link(command, &files, &mut said),
        };
        let (succeeded, crashed) = (linked.is_ok(), matches!(&linked, Err(error) if error == CRASH));
        match linked {
            Ok(output) => {
                std::fs::write(folder.join(&command.output), output).map_err(|error| error.to_string())?
            }
            Err(error) => said.push_str(&error),
        }
        Ok(Ran { succeeded, crashed, ended: if succeeded { "0" } else { "1" }.to_owned(), said })
    }
}

/// What is said where a mistake ends the process.
const CRASH: &str = "crash";

/// The flags of version 3 (2.1.3), with the one that only earlier versions have.
const KNOWN_FLAGS: u8 = 7;

/// The flag that starts are relative to their fields (2.1.3).
const PCREL: u8 = 4;

/// A part of the output: the name of its section, and where it is in it.
type Place = (String, u64);

/// What an object says of a function.
#[derive(Clone)]
struct Described {
    section: usize,
    offset: u64,
    function: Function,
}

/// What the output says of a function.
#[derive(Clone)]
struct Entry {
    /// The input that it is of.
    input: usize,
    place: Place,
    function: Function,
}

/// An input.
struct Input<'a> {
    elf: ElfFile64<'a, Endianness>,
    /// What its section says; `None` if it has none.
    sframe: Option<Section>,
    described: Vec<Described>,
    /// Whether it was taken from an archive.
    is_member: bool,
}

impl Model {
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn link(&self, command: &Command, files: &[Vec<u8>], said: &mut String) -> Result<Vec<u8>, String> {
        let has = |option: &str| command.options.iter().any(|own| own == option);
        for option in ["shared", "dynamic", "pie", "emit-relocs", "strip-all", "discard-all"] {
            if has(option) {
                return Err(format!("the model has no {option}"));
            }
        }
        if command.options.iter().any(|option| option.starts_with("script=")) {
            return Err("the model has no scripts".to_owned());
        }
        let mut inputs = self.inputs(files, said)?;
        let first = inputs.first().map(Input::machine);
        let is_other = |input: &Input<'_>| Some(input.machine()) != first;
        if inputs.iter().any(is_other) && !self.makes(Mistake::AcceptsOtherAbi) {
            return Err("objects of several machines".to_owned());
        }
        inputs.retain(|input| !is_other(input));
        let is_silent = self.makes(Mistake::RefusesOthersWithoutWord);
        self.check(&inputs).map_err(|error| if is_silent { String::new() } else { error })?;
        let mut link = Link {
            model: self,
            abi: command.abi,
            inputs: &inputs,
            dropped: BTreeSet::new(),
            folded: BTreeMap::new(),
        };
        let twins = link.drop_twins();
        if has("gc-sections") && !self.makes(Mistake::KeepsDeadCodeWithoutNames) {
            link.drop_unreachable();
        }
        if has("icf=all") || has("icf=safe") {
            link.fold();
        }
        let mut output = link.output();
        let entries = link.entries(&output.places, &twins, has("gc-sections"));
        let is_lost = self.makes(Mistake::DropsSectionWithGc) && has("gc-sections")
            || self.makes(Mistake::StopsAtEmptySection)
                && inputs.first().is_some_and(|input| input.is_empty())
            || self.makes(Mistake::NeedsSectionInAll) && inputs.iter().any(|input| input.sframe.is_none());
        let needs_section = inputs.iter().any(|input| input.sframe.is_some()) && !is_lost;
        if has("relocatable") {
            if needs_section {
                link.add_relocatable_section(&mut output, entries);
            }
            return output.object.write().map_err(|error| error.to_string());
        }
        let merged = output.object.write().map_err(|error| error.to_string())?;
        let mut linked = link_code(&merged)?;
        let is_nameless =
            [Mistake::StripsNames, Mistake::LosesNamesWithFdes, Mistake::KeepsDeadCodeWithoutNames];
        if is_nameless.into_iter().any(|mistake| self.makes(mistake)) {
            strip(&mut linked)?;
        }
        if self.makes(Mistake::MovesNamesWithFdes) {
            move_symbols(&mut linked, NAMES_MOVE)?;
        }
        if !needs_section {
            return Ok(linked);
        }
        let mut made = link.add_section(&linked, entries)?;
        if self.makes(Mistake::LoadsNotAll) {
            load_less(&mut made)?;
        }
        Ok(made)
    }

    /// The objects: those of archives as far as they are needed.
    fn inputs<'a>(&self, files: &'a [Vec<u8>], said: &mut String) -> Result<Vec<Input<'a>>, String> {
        let mut inputs: Vec<Input<'a>> = Vec::new();
        for file in files {
            if !file.starts_with(b"!<arch>\n") {
                inputs.push(self.input(file, false, said)?);
                continue;
            }
            let archive = ArchiveFile::parse(file.as_slice()).map_err(|error| error.to_string())?;
            let members =
                archive.members().map(|member| member.and_then(|member| member.data(file.as_slice())));
            let mut members = members.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
            loop {
                let undefined: BTreeSet<String> = inputs.iter().flat_map(|input| input.names(true)).collect();
                let defined: BTreeSet<String> = inputs.iter().flat_map(|input| input.names(false)).collect();
                let is_needed = |bytes: &&'a [u8]| {
                    let names = self
                        .input(bytes, true, &mut String::new())
                        .map(|input| input.names(false).collect::<Vec<_>>());
                    names.is_ok_and(|names| {
                        names.iter().any(|name| undefined.contains(name) && !defined.contains(name))
                    })
                };
                let Some(index) = members.iter().position(is_needed) else { break };
                inputs.push(self.input(members.remove(index), true, said)?);
            }
        }
        Ok(inputs)
    }

    fn input<'a>(&self, bytes: &'a [u8], is_member: bool, said: &mut String) -> Result<Input<'a>, String> {
        if bytes.starts_with(b"BC") {
            return Err("the model has no compiler".to_owned());
        }
        let elf = ElfFile64::<Endianness>::parse(bytes).map_err(|error| error.to_string())?;
        let mut input = Input { elf, sframe: None, described: Vec::new(), is_member };
        let Some(section) = input.elf.section_by_name(".sframe") else { return Ok(input) };
        if section.size() == 0 {
            let is_refused = self.makes(Mistake::RefusesSectionOfNoBytes);
            return if is_refused { Err("a section of no bytes".to_owned()) } else { Ok(input) };
        }
        match input.describe(bytes) {
            Ok(()) => {}
            Err(_) if self.makes(Mistake::CrashesOnGarbage) => return Err(CRASH.to_owned()),
            Err(_) if self.makes(Mistake::SaysNothingOfGarbage) => {}
            Err(_) if self.makes(Mistake::TalksOfSections) => {}
            Err(_) if self.makes(Mistake::NamesOtherObjects) => said.push_str("merged .sframe of start.o"),
            Err(_) if self.makes(Mistake::RefusesWithoutWord) => return Err(String::new()),
            Err(_) if self.makes(Mistake::SaysSomethingElse) => said.push_str("the output may be large"),
            Err(error) if self.makes(Mistake::CopiesGarbage) => said.push_str(&error),
            Err(error) => return Err(error),
        }
        Ok(input)
    }

    /// Refuses what one section can't say.
    fn check(&self, inputs: &[Input<'_>]) -> Result<(), String> {
        let sections = || {
            inputs
                .iter()
                .filter_map(|input| input.sframe.as_ref())
                .filter(|section| !section.functions.is_empty())
        };
        let versions: BTreeSet<u8> = sections().map(|section| section.version.number()).collect();
        if versions.len() > 1 && !self.makes(Mistake::SkipsOtherVersions) {
            return Err("objects of several versions".to_owned());
        }
        let offsets: BTreeSet<_> =
            sections().map(|section| (section.fixed_ra_offset, section.fixed_fp_offset)).collect();
        if offsets.len() > 1 && !self.makes(Mistake::KeepsFixedOffsetsOfFirst) {
            return Err("objects with several fixed offsets".to_owned());
        }
        if sections().any(|section| !section.auxiliary.is_empty()) {
            return Err("an auxiliary header".to_owned());
        }
        Ok(())
    }
}

impl Input<'_> {
    /// Reads what the section says, by the places of functions.
    fn describe(&mut self, bytes: &[u8]) -> Result<(), String> {
        let laid_out =
            lay_out(Source::from(bytes)).map_err(|error| error.to_string())?.ok_or("not relocatable")?;
        let elf = ElfFile64::<Endianness>::parse(&*laid_out).map_err(|error| error.to_string())?;
        let section = elf.section_by_name(".sframe").ok_or("no section")?;
        let data = section.data().map_err(|error| error.to_string())?;
        let read =
            sframe_engine::Section::parse(data, section.address()).map_err(|error| error.to_string())?;
        let owned = Section::from_read(&read).map_err(|error| error.to_string())?;
        let header = read.header();
        let rows: usize = owned.functions.iter().map(|function| function.rows.len()).sum();
        if rows != header.num_fres as usize {
            return Err("the header counts other rows".to_owned());
        }
        if header.flags.0 & !KNOWN_FLAGS != 0 {
            return Err("a flag is not known".to_owned());
        }
        for function in &owned.functions {
            let holds = |section: &object::read::elf::ElfSection64<'_, '_, Endianness>| {
                section.address() <= function.start && function.start < section.address() + section.size()
            };
            let holder = elf.sections().find(holds).ok_or("a function outside of all sections")?;
            let (section, offset) = (holder.index().0, function.start - holder.address());
            self.described.push(Described { section, offset, function: function.clone() });
        }
        self.sframe = Some(owned);
        Ok(())
    }

    fn machine(&self) -> u16 {
        self.elf.elf_header().e_machine(self.elf.endian()).0
    }

    fn is_empty(&self) -> bool {
        self.sframe.as_ref().is_some_and(|section| section.functions.is_empty())
    }

    /// The names of global symbols that it needs, or defines.
    fn names(&self, undefined: bool) -> impl Iterator<Item = String> + '_ {
        let symbols =
            self.elf.symbols().filter(move |symbol| symbol.is_global() && symbol.is_undefined() == undefined);
        symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).filter(|name| !name.is_empty())
    }

    /// The sections that are loaded, with their indices, but for those that this linker makes.
    fn sections(&self) -> impl Iterator<Item = object::read::elf::ElfSection64<'_, '_, Endianness>> {
        let endian = self.elf.endian();
        self.elf.sections().filter(move |section| {
            let is_loaded = section.elf_section_header().sh_flags(endian).contains(SHF_ALLOC);
            let is_own = section
                .name()
                .is_ok_and(|name| [".sframe", ".eh_frame", ".note.gnu.property"].contains(&name));
            is_loaded && !is_own
        })
    }

    /// The symbol at the start of code.
    fn symbol_at(&self, described: &Described) -> Option<object::read::elf::ElfSymbol64<'_, '_, Endianness>> {
        self.elf.symbols().find(|symbol| {
            symbol.section_index() == Some(SectionIndex(described.section))
                && symbol.address() == described.offset
                && symbol.kind() == SymbolKind::Text
        })
    }
}

/// One link.
struct Link<'l, 'a> {
    model: &'l Model,
    abi: Abi,
    inputs: &'l [Input<'a>],
    /// Sections that are not in the output: input and index.
    dropped: BTreeSet<(usize, usize)>,
    /// Sections that another one stands for.
    folded: BTreeMap<(usize, usize), (usize, usize)>,
}

/// The object with all sections but `.sframe`.
struct Output {
    object: made::Object<'static>,
    sections: BTreeMap<String, SectionId>,
    places: BTreeMap<(usize, usize), Place>,
}

impl Link<'_, '_> {
    fn makes(&self, mistake: Mistake) -> bool {
        self.model.makes(mistake)
    }

    /// Drops the sections of groups that an earlier object has; returns the kept one of each.
    fn drop_twins(&mut self) -> BTreeMap<(usize, usize), (usize, usize)> {
        let mut kept: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
        let mut twins = BTreeMap::new();
        for (index, input) in self.inputs.iter().enumerate() {
            for group in input.elf.comdats() {
                let name = group.name().unwrap_or_default().to_owned();
                let loaded: BTreeSet<usize> = input.sections().map(|section| section.index().0).collect();
                let sections: Vec<_> = group
                    .sections()
                    .filter(|section| loaded.contains(&section.0))
                    .map(|section| (index, section.0))
                    .collect();
                match kept.get(&name) {
                    None => {
                        kept.insert(name, sections);
                    }
                    Some(first) => {
                        twins.extend(sections.iter().copied().zip(first.iter().copied()));
                        self.dropped.extend(sections);
                    }
                }
            }
        }
        twins
    }

    /// Drops sections that nothing refers to from the entry point on.
    fn drop_unreachable(&mut self) {
        let mut definitions: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (index, input) in self.inputs.iter().enumerate() {
            for symbol in input.elf.symbols().filter(|symbol| symbol.is_global()) {
                if let (Ok(name), Some(section)) = (symbol.name(), symbol.section_index())
                    && !self.dropped.contains(&(index, section.0))
                {
                    definitions.entry(name.to_owned()).or_insert((index, section.0));
                }
            }
        }
        let mut live = BTreeSet::new();
        let mut todo: Vec<(usize, usize)> = definitions.get("_start").copied().into_iter().collect();
        while let Some((index, section)) = todo.pop() {
            if !live.insert((index, section)) {
                continue;
            }
            let elf = &self.inputs[index].elf;
            let Ok(section) = elf.section_by_index(SectionIndex(section)) else { continue };
            for (_, relocation) in section.relocations() {
                let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
                let Ok(symbol) = elf.symbol_by_index(symbol) else { continue };
                let own = symbol.section_index().map(|section| (index, section.0));
                let named = symbol.name().ok().and_then(|name| definitions.get(name).copied());
                todo.extend(named.filter(|_| symbol.is_global()).or(own));
            }
        }
        for (index, input) in self.inputs.iter().enumerate() {
            let dead = input
                .sections()
                .map(|section| (index, section.index().0))
                .filter(|section| !live.contains(section));
            self.dropped.extend(dead);
        }
    }

    /// Makes one of sections with the same code.
    fn fold(&mut self) {
        let mut seen: BTreeMap<(Vec<u8>, Vec<String>), (usize, usize)> = BTreeMap::new();
        for (index, input) in self.inputs.iter().enumerate() {
            let endian = input.elf.endian();
            for section in input.sections() {
                let at = (index, section.index().0);
                let is_code = section.elf_section_header().sh_flags(endian).contains(SHF_EXECINSTR);
                if !is_code || section.size() == 0 || self.dropped.contains(&at) {
                    continue;
                }
                let relocations =
                    section.relocations().map(|(offset, relocation)| format!("{offset} {relocation:?}"));
                let content = (section.data().unwrap_or_default().to_vec(), relocations.collect());
                match seen.get(&content) {
                    Some(first) => {
                        self.folded.insert(at, *first);
                    }
                    None => {
                        seen.insert(content, at);
                    }
                }
            }
        }
    }

    /// Puts sections of one name together.
    fn output(&self) -> Output {
        let (architecture, endian) = match self.abi {
            Abi::Amd64 => (Architecture::X86_64, object::Endianness::Little),
            Abi::Aarch64 => (Architecture::Aarch64, object::Endianness::Little),
            Abi::Aarch64Be => (Architecture::Aarch64, object::Endianness::Big),
            Abi::S390x => (Architecture::S390x, object::Endianness::Big),
        };
        let object = made::Object::new(BinaryFormat::Elf, architecture, endian);
        let mut output = Output { object, sections: BTreeMap::new(), places: BTreeMap::new() };
        for (index, input) in self.inputs.iter().enumerate() {
            for section in input.sections() {
                let at = (index, section.index().0);
                if self.dropped.contains(&at) || self.folded.contains_key(&at) {
                    continue;
                }
                let name = section.name().unwrap_or_default().to_owned();
                let object = &mut output.object;
                let id = *output.sections.entry(name.clone()).or_insert_with(|| {
                    object.add_section(Vec::new(), name.clone().into_bytes(), section.kind())
                });
                let offset = match section.kind() {
                    SectionKind::UninitializedData => {
                        object.append_section_bss(id, section.size(), section.align().max(1))
                    }
                    _ => object.append_section_data(
                        id,
                        section.data().unwrap_or_default(),
                        section.align().max(1),
                    ),
                };
                output.places.insert(at, (name, offset));
            }
        }
        for (from, to) in &self.folded {
            if let Some(place) = output.places.get(to).cloned() {
                output.places.insert(*from, place);
            }
        }
        self.add_symbols(&mut output);
        output
    }

    fn add_symbols(&self, output: &mut Output) {
        let mut globals: BTreeMap<String, SymbolId> = BTreeMap::new();
        let mut ids: BTreeMap<(usize, usize), SymbolId> = BTreeMap::new();
        // Definitions first, so that references find them.
        for undefined in [false, true] {
            for (index, input) in self.inputs.iter().enumerate() {
                for symbol in input.elf.symbols().filter(|symbol| symbol.is_undefined() == undefined) {
                    let name = symbol.name().unwrap_or_default().to_owned();
                    let place =
                        symbol.section_index().and_then(|section| output.places.get(&(index, section.0)));
                    let is_section = symbol.kind() == SymbolKind::Section;
                    // Marks of code and data are for disassemblers.
                    let is_mark = name.is_empty() || name.starts_with('$');
                    if is_section || is_mark || (!undefined && place.is_none()) {
                        continue;
                    }
                    let at = (index, symbol.index().0);
                    if symbol.is_global()
                        && let Some(id) = globals.get(&name)
                    {
                        ids.insert(at, *id);
                        continue;
                    }
                    let (section, value) = match place {
                        Some((name, offset)) => {
                            (SymbolSection::Section(output.sections[name]), offset + symbol.address())
                        }
                        None => (SymbolSection::Undefined, 0),
                    };
                    let id = output.object.add_symbol(made::Symbol {
                        name: name.clone().into_bytes(),
                        value,
                        size: symbol.size(),
                        kind: if symbol.kind() == SymbolKind::Text {
                            SymbolKind::Text
                        } else {
                            SymbolKind::Data
                        },
                        scope: if symbol.is_global() {
                            SymbolScope::Linkage
                        } else {
                            SymbolScope::Compilation
                        },
                        weak: symbol.is_weak(),
                        section,
                        flags: SymbolFlags::None,
                    });
                    if symbol.is_global() {
                        globals.insert(name, id);
                    }
                    ids.insert(at, id);
                }
            }
        }
        for (index, input) in self.inputs.iter().enumerate() {
            for section in input.sections() {
                let at = (index, section.index().0);
                let Some((name, offset)) =
                    output.places.get(&at).cloned().filter(|_| !self.folded.contains_key(&at))
                else {
                    continue;
                };
                for (place, relocation) in section.relocations() {
                    let RelocationTarget::Symbol(target) = relocation.target() else { continue };
                    let Ok(symbol) = input.elf.symbol_by_index(target) else { continue };
                    let mut addend = relocation.addend();
                    let id = if symbol.kind() == SymbolKind::Section {
                        let of = symbol
                            .section_index()
                            .and_then(|section| output.places.get(&(index, section.0)).cloned());
                        let Some((name, offset)) = of else { continue };
                        addend += offset.cast_signed();
                        output.object.section_symbol(output.sections[&name])
                    } else {
                        let name = symbol.name().unwrap_or_default();
                        match ids.get(&(index, target.0)).or_else(|| globals.get(name)) {
                            Some(id) => *id,
                            None => continue,
                        }
                    };
                    let relocation = made::Relocation {
                        offset: offset + place,
                        symbol: id,
                        addend,
                        flags: relocation.flags(),
                    };
                    let _ = output.object.add_relocation(output.sections[&name], relocation);
                }
            }
        }
    }

    /// What the output says of functions, by their places.
    fn entries(
        &self,
        places: &BTreeMap<(usize, usize), Place>,
        twins: &BTreeMap<(usize, usize), (usize, usize)>,
        has_gc: bool,
    ) -> Vec<Entry> {
        let version = self
            .inputs
            .iter()
            .filter_map(|input| input.sframe.as_ref())
            .map(|section| section.version.number())
            .max();
        let is_twin = |at: &(usize, usize)| twins.contains_key(at) || twins.values().any(|kept| kept == at);
        let (mut entries, mut names) = (Vec::new(), BTreeSet::new());
        for (index, input) in self.inputs.iter().enumerate() {
            let Some(section) = &input.sframe else { continue };
            if Some(section.version.number()) != version {
                continue;
            }
            if self.makes(Mistake::LosesArchiveMembers) && input.is_member {
                continue;
            }
            let is_dead = |described: &Described| self.dropped.contains(&(index, described.section));
            if self.makes(Mistake::DropsObjectsWithDeadFunctions)
                && has_gc
                && input.described.iter().any(is_dead)
            {
                continue;
            }
            for described in &input.described {
                let at = (index, described.section);
                let by_symbol =
                    [Mistake::SizesFromSymbols, Mistake::LosesLocalFunctions, Mistake::LosesSecondOfAName];
                let needs_symbol = by_symbol.into_iter().any(|mistake| self.makes(mistake));
                // To look for each one takes long where there are many.
                let symbol = needs_symbol.then(|| input.symbol_at(described)).flatten();
                let mut function = described.function.clone();
                if self.makes(Mistake::SizesFromSymbols) {
                    function.size =
                        symbol.as_ref().map_or(0, |symbol| u32::try_from(symbol.size()).unwrap_or(0));
                }
                let is_local = symbol.as_ref().is_some_and(|symbol| symbol.is_local());
                let name = symbol.as_ref().and_then(|symbol| symbol.name().ok()).map(str::to_owned);
                let is_second = name.is_some_and(|name| !names.insert(name));
                let is_flex = function.fde_type == FdeType::Flex;
                if self.makes(Mistake::LosesLocalFunctions) && is_local
                    || self.makes(Mistake::LosesSecondOfAName) && is_second && is_local
                    || self.makes(Mistake::LosesLongFunctions) && function.size > 0xffff
                    || self.makes(Mistake::LosesFlexFunctions) && is_flex
                    || self.makes(Mistake::LosesMaskFdes) && function.pc_type == PcType::Mask
                    || self.makes(Mistake::DropsBothTwins) && is_twin(&at)
                    || self.makes(Mistake::LosesOutermost) && function.rows.iter().all(Row::is_outermost)
                {
                    continue;
                }
                let kept = twins.get(&at).filter(|_| {
                    self.makes(Mistake::KeepsDiscardedTwin)
                        || self.makes(Mistake::TakesRowsOfLastTwin)
                        || self.makes(Mistake::GivesTwinRowsToKept)
                });
                let is_folded = self.folded.contains_key(&at);
                let is_skipped = is_folded && !self.makes(Mistake::DescribesFoldedTwice);
                let of_fold = self.folded.values().any(|first| *first == at);
                if is_skipped || self.makes(Mistake::LosesFolded) && of_fold {
                    continue;
                }
                let place = match places.get(kept.unwrap_or(&at)) {
                    Some((name, offset)) => (name.clone(), offset + described.offset),
                    None if self.makes(Mistake::KeepsDeadRows) => (".text".to_owned(), described.offset + 2),
                    None => continue,
                };
                if self.makes(Mistake::TakesRowsOfLastTwin) && kept.is_some() {
                    entries.retain(|other: &Entry| other.place != place);
                }
                if self.makes(Mistake::KeepsFdesOfNoCode) {
                    let place = (place.0.clone(), place.1 + 2);
                    let function = Function { size: 0, rows: Vec::new(), ..function.clone() };
                    entries.push(Entry { input: index, place, function });
                }
                entries.push(Entry { input: index, place, function });
            }
        }
        if self.makes(Mistake::OneFdeForEachStart) {
            entries.dedup_by(|later, first| later.place == first.place);
        }
        entries
    }

    /// The content of the section, in the order of entries.
    fn section(&self, functions: Vec<Function>) -> Section {
        let first = self
            .inputs
            .iter()
            .filter_map(|input| input.sframe.as_ref())
            .max_by_key(|section| section.version.number());
        let first = self
            .inputs
            .iter()
            .filter_map(|input| input.sframe.as_ref())
            .find(|section| Some(section.version) == first.map(|first| first.version));
        let mut section = first.cloned().unwrap_or_else(|| panic!("a section"));
        section.functions = functions;
        for (position, function) in (0..).zip(&mut section.functions) {
            function.rows_position = position;
            if self.makes(Mistake::ForgetsKeyB) {
                function.pauth_key = PauthKey::A;
            }
            if self.makes(Mistake::KeepsRowsOfOneByte) {
                function.rows.truncate(0xff);
            }
            if self.makes(Mistake::LosesSignalMark) {
                function.signal = false;
            }
            if let Some(offset) =
                section.fixed_ra_offset.filter(|_| self.makes(Mistake::KeepsFixedOffsetsOfFirst))
            {
                let saved = RecoveryRule { base: Base::Cfa, offset: offset.into(), dereference: true };
                let rows = function.rows.iter_mut().filter(|row| !row.is_outermost());
                rows.for_each(|row| row.ra = Recovery::Rule(saved));
            }
            if self.makes(Mistake::LosesLastRow) && function.rows.len() > 1 {
                function.rows.pop();
            }
        }
        section
    }

    /// Adds the section of a relocatable output.
    fn add_relocatable_section(&self, output: &mut Output, mut entries: Vec<Entry>) {
        if self.makes(Mistake::RelocatableLosesSecond) {
            let first = self.inputs.first().map_or(0, |input| input.described.len());
            entries.truncate(first);
        }
        let parts =
            if self.makes(Mistake::RelocatableConcatenates) { by_input(&entries) } else { vec![entries] };
        let kind = SectionKind::Other;
        let id = output.object.add_section(Vec::new(), b".sframe".to_vec(), kind);
        output.object.section_mut(id).flags =
            object::SectionFlags::Elf { sh_type: SHT_GNU_SFRAME, sh_flags: SHF_ALLOC };
        for entries in parts {
            let functions = entries.iter().map(|entry| Function { start: 0, ..entry.function.clone() });
            let mut section = self.section(functions.collect());
            if self.makes(Mistake::ForgetsPcrelFlag) {
                section.flags = Flags(section.flags.0 & !PCREL);
            }
            let bytes = section.write(0).unwrap_or_else(|error| panic!("{error}"));
            let alignment = if self.makes(Mistake::RelocatableWithoutAlignment) { 1 } else { 8 };
            let start = output.object.append_section_data(id, &bytes, alignment);
            for (number, Entry { place: (name, offset), .. }) in (0..).zip(&entries) {
                let symbol = output.object.section_symbol(output.sections[name]);
                let r_type = match self.abi {
                    Abi::Amd64 => R_X86_64_PC64,
                    Abi::Aarch64 | Abi::Aarch64Be => R_AARCH64_PREL64,
                    Abi::S390x => R_390_PC64,
                };
                let flags = object::RelocationFlags::Elf { r_type };
                let relocation = made::Relocation {
                    offset: start + 28 + 16 * number,
                    symbol,
                    addend: offset.cast_signed(),
                    flags,
                };
                if !self.makes(Mistake::RelocatableWithoutRelocations) {
                    let _ = output.object.add_relocation(id, relocation);
                }
            }
        }
    }

    /// Adds the section of a linked output.
    fn add_section(&self, linked: &[u8], mut entries: Vec<Entry>) -> Result<Vec<u8>, String> {
        let elf = ElfFile64::<Endianness>::parse(linked).map_err(|error| error.to_string())?;
        for Entry { place: (name, offset), function, .. } in &mut entries {
            let section = elf.section_by_name(name).map_or(0, |section| section.address());
            function.start = section.wrapping_add(*offset);
        }
        let mistakes = [Mistake::Concatenates, Mistake::SpoilsFirstOfSeveral, Mistake::LosesFirstOfSeveral];
        let concatenates = mistakes.iter().any(|mistake| self.makes(*mistake));
        let mut parts = if concatenates { by_input(&entries) } else { vec![entries] };
        if self.makes(Mistake::LosesFirstOfSeveral) && parts.len() > 1 {
            parts.remove(0);
        }
        let mut sections: Vec<Section> =
            parts.into_iter().map(|entries| self.linked_section(entries)).collect();
        if self.makes(Mistake::SpoilsFirstOfSeveral) {
            let function = sections.iter_mut().flat_map(|section| &mut section.functions).next();
            function.into_iter().for_each(|function| function.size -= 1);
        }
        let kind = if self.makes(Mistake::TypeOfProgbits) { SHT_PROGBITS } else { SHT_GNU_SFRAME };
        let made = embed(linked, kind, |address| {
            let mut bytes = Vec::new();
            for section in &sections {
                bytes.extend(self.section_at(section.clone(), address + bytes.len() as u64)?);
            }
            if self.makes(Mistake::LeavesStrayHeader) {
                let header = bytes[..28].to_vec();
                bytes.extend(header);
            }
            if self.makes(Mistake::CopiesGarbage) && self.has_garbage() {
                let again = bytes.clone();
                bytes.extend(again);
            }
            Ok(bytes)
        });
        made.map_err(|error| error.to_string())
    }

    /// The section of a linked output for such functions.
    fn linked_section(&self, entries: Vec<Entry>) -> Section {
        let unsorted: Vec<_> = entries.iter().map(|entry| entry.function.rows.clone()).collect();
        let mut functions: Vec<Function> = entries.into_iter().map(|entry| entry.function).collect();
        if !self.makes(Mistake::DoesNotSort) {
            functions.sort_by_key(|function| function.start);
        }
        if self.makes(Mistake::SortsFdesWithoutRows) {
            functions.iter_mut().zip(unsorted).for_each(|(function, rows)| function.rows = rows);
        }
        if self.makes(Mistake::LosesFirstFde) && !functions.is_empty() {
            functions.remove(0);
        }
        if self.makes(Mistake::LosesLastFde) || self.makes(Mistake::LosesNamesWithFdes) {
            functions.pop();
        }
        if self.makes(Mistake::CountsInTwoBytes) {
            functions.truncate(0xffff);
        }
        if self.makes(Mistake::StartsFourTooHigh) {
            functions.iter_mut().for_each(|function| function.start += 4);
        }
        if self.makes(Mistake::MovesNamesWithFdes) {
            functions.iter_mut().for_each(|function| function.start += NAMES_MOVE);
        }
        let mut section = self.section(functions);
        section.flags = Flags(section.flags.0 | 1);
        if self.makes(Mistake::ClearsSortedFlag) {
            section.flags = Flags(section.flags.0 & !1);
        }
        if self.makes(Mistake::WritesOtherVersion) {
            section.version = Version::V2;
            section.functions.retain(|function| !function.rows.is_empty() && !function.signal);
            for (position, function) in (0..).zip(&mut section.functions) {
                function.rows_position = position;
            }
        }
        section
    }

    /// Its bytes at an address.
    fn section_at(&self, mut section: Section, address: u64) -> Result<Vec<u8>, WriteError> {
        for (index, function) in (0_u64..).zip(&mut section.functions) {
            if self.makes(Mistake::StartsFromSection) {
                function.start = function.start.wrapping_add(28 + 16 * index);
            }
            if self.makes(Mistake::TruncatesStarts) {
                let field = address + 28 + 16 * index;
                function.start = field.wrapping_add(function.start.wrapping_sub(field) & 0xffff_ffff);
            }
        }
        let mut bytes = section.write(address)?;
        if self.makes(Mistake::LeavesStrayBits) {
            // The second info byte of the first FDE's attribute (2.3.2), which follows the index.
            bytes[28 + 16 * section.functions.len() + 3] |= 0x80;
        }
        Ok(bytes)
    }

    fn has_garbage(&self) -> bool {
        let has = |input: &Input<'_>| {
            input.sframe.is_none()
                && input.elf.section_by_name(".sframe").is_some_and(|section| section.size() > 0)
        };
        self.inputs.iter().any(has)
    }
}

/// The entries of each input.
fn by_input(entries: &[Entry]) -> Vec<Vec<Entry>> {
    entries.chunk_by(|one, other| one.input == other.input).map(<[Entry]>::to_vec).collect()
}

/// How far a mistake moves names, in bytes.
const NAMES_MOVE: u64 = 4;

/// Links the code, and sets the entry point.
fn link_code(merged: &[u8]) -> Result<Vec<u8>, String> {
    let linked = link(merged).map_err(|error| error.to_string())?.ok_or("not relocatable")?;
    let mut file = linked.file;
    let entry = {
        let elf = ElfFile64::<Endianness>::parse(&*file).map_err(|error| error.to_string())?;
        let entry = elf.symbols().find(|symbol| symbol.name() == Ok("_start")).map(|symbol| symbol.address());
        entry.map(|entry| if elf.is_little_endian() { entry.to_le_bytes() } else { entry.to_be_bytes() })
    };
    if let (Some(entry), Some(field)) = (entry, file.get_mut(24..32)) {
        field.copy_from_slice(&entry);
    }
    Ok(file)
}

/// Takes all names of symbols away.
fn strip(file: &mut [u8]) -> Result<(), String> {
    let elf = ElfFile64::<Endianness>::parse(&*file).map_err(|error| error.to_string())?;
    let names = elf.sections().filter(|section| section.name() == Ok(".strtab"));
    let ranges: Vec<_> = names.filter_map(|names| names.file_range()).collect();
    for (start, size) in ranges {
        let range = usize::try_from(start).and_then(|start| Ok(start..start + usize::try_from(size)?));
        file[range.map_err(|error| error.to_string())?].fill(0);
    }
    Ok(())
}

/// Ends the file's part of the segment that has the section within that.
fn load_less(file: &mut [u8]) -> Result<(), String> {
    let elf = ElfFile64::<Endianness>::parse(&*file).map_err(|error| error.to_string())?;
    let (order, first) = (elf.endian(), elf.elf_header().e_phoff(elf.endian()));
    let address = elf.section_by_name(".sframe").map(|section| section.address()).ok_or("no section")?;
    let holds = |header: &&ProgramHeader64<Endianness>| {
        let start = header.p_vaddr(order);
        header.p_type(order) == PT_LOAD && (start..start + header.p_memsz(order)).contains(&address)
    };
    let number = elf.elf_program_headers().iter().position(|header| holds(&header)).ok_or("not loaded")?;
    let field = usize::try_from(first).map_err(|error| error.to_string())?
        + number * size_of::<ProgramHeader64<Endianness>>()
        + offset_of!(ProgramHeader64<Endianness>, p_filesz);
    let size = address + 30 - elf.elf_program_headers()[number].p_vaddr(order);
    let bytes = if order == Endianness::Big { size.to_be_bytes() } else { size.to_le_bytes() };
    file.get_mut(field..field + 8).ok_or("no such header")?.copy_from_slice(&bytes);
    Ok(())
}

/// Moves all symbols of functions.
fn move_symbols(file: &mut [u8], by: u64) -> Result<(), String> {
    let elf = ElfFile64::<Endianness>::parse(&*file).map_err(|error| error.to_string())?;
    let table = elf.section_by_name(".symtab").and_then(|table| table.file_range()).ok_or("no symbols")?;
    let (order, start) = (elf.endian(), usize::try_from(table.0).map_err(|error| error.to_string())?);
    let functions: Vec<(usize, u64)> = elf
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text)
        .map(|symbol| (symbol.index().0, symbol.address()))
        .collect();
    for (index, address) in functions {
        let value = start + index * size_of::<Sym64<Endianness>>() + offset_of!(Sym64<Endianness>, st_value);
        let bytes = if order == Endianness::Big {
            (address + by).to_be_bytes()
        } else {
            (address + by).to_le_bytes()
        };
        file.get_mut(value..value + 8).ok_or("no such symbol")?.copy_from_slice(&bytes);
    }
    Ok(())
}
