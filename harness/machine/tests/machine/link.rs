//! The machine as a dynamic linker: what it stores, when calls are bound, and
//! what it says of files that it can't link.
//!
//! What should be stored is worked out here once more, from the same files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use goblin::elf::Elf;
use goblin::elf::program_header::PT_DYNAMIC;
use sframe_engine::Abi;
use sframe_machine::{
    Broken, End, Flow, Image, Images, Library, LoadError, Machine, Moment, Options, Outcome,
};

/// The files of a build: the executable, and libraries by name.
#[derive(Clone)]
struct Files {
    executable: Vec<u8>,
    libraries: Vec<(String, Vec<u8>)>,
}

fn builds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds")
}

impl Files {
    fn of(id: &str) -> Self {
        let path = builds().join(id);
        let own = format!("{}.", path.file_name().expect("a name").to_string_lossy());
        let mut libraries = Vec::new();
        for entry in std::fs::read_dir(path.parent().expect("a folder")).expect("a folder") {
            let file = entry.expect("an entry").path();
            let name = file.file_name().expect("a name").to_string_lossy().into_owned();
            if name.starts_with(&own) && name.ends_with(".so") {
                libraries.push((name, std::fs::read(file).expect("a library")));
            }
        }
        libraries.sort();
        Self { executable: std::fs::read(path).expect("a build"), libraries }
    }

    fn load(&self) -> Result<Images<'_>, LoadError> {
        let libraries: Vec<_> = self.libraries.iter().map(|(name, bytes)| Library { name, bytes }).collect();
        Images::load(&self.executable, &libraries)
    }

    /// The bytes of the file whose name ends in this; the executable's name is empty.
    fn file(&mut self, name: &str) -> &mut Vec<u8> {
        match name {
            "" => &mut self.executable,
            name => {
                let found = self.libraries.iter_mut().find(|(library, _)| library.ends_with(name));
                &mut found.expect("a library").1
            }
        }
    }

    fn error(&self) -> LoadError {
        self.load().map(|_| ()).expect_err("it can't be linked")
    }
}

fn run(images: &Images<'_>, options: &Options, observer: &mut dyn FnMut(&Moment<'_>)) -> Outcome {
    let mut each = |moment: &Moment<'_>| {
        observer(moment);
        Flow::Continue
    };
    let machine = Machine::with_images(images, options).expect("a machine");
    machine.run(&mut each).expect("an emulator")
}

/// Every dynamic build: all toolchains and ABIs.
fn dynamic_builds() -> Vec<String> {
    let mut ids = Vec::new();
    for toolchain in ["gnu-2.40", "gnu-2.44", "gnu-2.47"] {
        for abi in Abi::ALL {
            let Ok(folder) = std::fs::read_dir(builds().join(toolchain).join(abi.name())) else { continue };
            for entry in folder {
                let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
                if name.contains("-dynamic") && !name.ends_with(".so") {
                    ids.push(format!("{toolchain}/{abi}/{name}"));
                }
            }
        }
    }
    ids.sort();
    ids
}

/// The kinds of relocations, by the numbers of the ABIs.
fn kind(abi: Abi, number: u32) -> &'static str {
    let kinds = ["absolute", "copy", "glob_dat", "jump_slot", "relative", "irelative", "thread_offset"];
    let numbers = match abi {
        Abi::Amd64 => [1, 5, 6, 7, 8, 37, 18],
        Abi::S390x => [22, 9, 10, 11, 12, 61, 56],
        Abi::Aarch64 | Abi::Aarch64Be => [257, 1024, 1025, 1026, 1027, 1032, 1030],
    };
    let index = numbers.iter().position(|known| *known == number);
    kinds[index.unwrap_or_else(|| panic!("relocation {number} of {abi}"))]
}

/// Loaded addresses of a symbol's definitions, by `is_function`; indirect
/// functions are left out.
fn definitions(images: &Images<'_>, name: &str) -> Vec<u64> {
    let mut found = Vec::new();
    for (_, image) in images.iter() {
        let elf = Elf::parse(image.bytes()).expect("an ELF file");
        for symbol in &elf.dynsyms {
            let is_it = elf.dynstrtab.get_at(symbol.st_name) == Some(name);
            if is_it && (symbol.st_shndx != 0 || symbol.st_value != 0) && symbol.st_type() != 10 {
                found.push(symbol.st_value + image.bias);
            }
        }
    }
    found
}

/// The functions that an indirect one may resolve to, in the corpus.
fn choices(images: &Images<'_>) -> BTreeSet<u64> {
    let names = ["chosen_one", "chosen_two", "local_one", "local_two"];
    let mut found = BTreeSet::new();
    for (_, image) in images.iter() {
        let elf = Elf::parse(image.bytes()).expect("an ELF file");
        let functions = elf
            .syms
            .iter()
            .filter(|symbol| elf.strtab.get_at(symbol.st_name).is_some_and(|name| names.contains(&name)));
        found.extend(functions.map(|symbol| symbol.st_value + image.bias));
    }
    found
}

/// Where the program starts, each relocated word holds what it should.
#[test]
fn every_relocation_of_every_dynamic_build_is_what_it_should_be_at_the_entry_point() {
    let mut seen: BTreeMap<Abi, BTreeSet<&str>> = BTreeMap::new();
    let ids = dynamic_builds();
    assert!(ids.len() >= 140, "{} builds", ids.len());
    for id in &ids {
        let files = Files::of(id);
        let images = files.load().unwrap_or_else(|error| panic!("{id}: {error}"));
        let abi = images.executable().cpu.abi;
        let (entry, choices) = (images.executable().entry, choices(&images));
        let signed = id.contains("crossing_pac");
        let mut checked = 0;
        let outcome = run(&images, &Options::default(), &mut |moment| {
            if moment.pc != entry {
                return;
            }
            for (name, image) in images.iter() {
                let elf = Elf::parse(image.bytes()).expect("an ELF file");
                let word = |address: u64| moment.memory.read_u64(address).expect("a mapped word");
                let tables = elf.dynrelas.iter().chain(elf.pltrelocs.iter());
                for relocation in tables {
                    let kind = kind(abi, relocation.r_type);
                    let place = relocation.r_offset + image.bias;
                    let addend = relocation.r_addend.unwrap_or(0).cast_unsigned();
                    let symbol = elf.dynsyms.get(relocation.r_sym).expect("a symbol");
                    let symbol_name = elf.dynstrtab.get_at(symbol.st_name).unwrap_or("");
                    let own = definitions(&images, symbol_name);
                    let found = word(place);
                    let address = if signed { found & ((1 << 39) - 1) } else { found };
                    let right = match kind {
                        "relative" => found == addend + image.bias,
                        // Above the thread pointer and two words, or below it.
                        "thread_offset" if abi.signs_return_addresses() => (16..64).contains(&found),
                        "thread_offset" => (-64..0).contains(&found.cast_signed()),
                        "irelative" => choices.contains(&address),
                        // A slot that is bound lazily still leads back into the image.
                        "jump_slot" if !id.ends_with("-now") => {
                            image.range().contains(&address)
                                || own.contains(&address)
                                || choices.contains(&address)
                        }
                        // A constructor has changed it since.
                        "copy" if symbol_name == "first_state" => found != 0,
                        "copy" => own.iter().any(|from| *from != place && word(*from) == found),
                        _ => own.contains(&(address - addend)) || choices.contains(&address),
                    };
                    assert!(right, "{id} {name}: {kind} at {place:#x} is {found:#x} ({symbol_name})");
                    seen.entry(abi).or_default().insert(kind);
                    checked += 1;
                }
            }
        });
        assert_eq!(outcome.end, End::Exit(0), "{id}");
        assert!(checked >= 8, "{id}: {checked} relocations");
    }
    for abi in Abi::ALL {
        let all = ["absolute", "copy", "glob_dat", "irelative", "jump_slot", "relative", "thread_offset"];
        assert_eq!(seen[&abi].iter().copied().collect::<Vec<_>>(), all, "{abi}");
    }
}

/// Each lazily bound slot changes once, from its own image's table to the function.
#[test]
fn calls_are_bound_when_they_are_first_made_unless_the_file_wants_it_otherwise() {
    for toolchain in ["gnu-2.40", "gnu-2.47"] {
        for abi in Abi::ALL {
            for (variant, is_lazy) in
                [("O2-dynamic", true), ("O2-dynamic-pie", true), ("O2-dynamic-now", false)]
            {
                let id = format!("{toolchain}/{abi}/crossing.{variant}");
                if !builds().join(&id).exists() {
                    assert_eq!((toolchain, abi), ("gnu-2.40", Abi::S390x));
                    continue;
                }
                let files = Files::of(&id);
                let images = files.load().expect("images");
                let mut slots: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
                for (_, image) in images.iter() {
                    let elf = Elf::parse(image.bytes()).expect("an ELF file");
                    slots.extend(elf.pltrelocs.iter().map(|slot| (slot.r_offset + image.bias, Vec::new())));
                }
                let mut arrivals = 0;
                let mut was_linker = false;
                run(&images, &Options::default(), &mut |moment| {
                    let is = images.is_linker(moment.pc);
                    arrivals += usize::from(is && !was_linker);
                    was_linker = is;
                    for (slot, values) in &mut slots {
                        let value = moment.memory.read_u64(*slot).expect("a slot");
                        if values.last() != Some(&value) {
                            values.push(value);
                        }
                    }
                });
                let bound = slots.values().filter(|values| values.len() == 2).count();
                assert!(slots.values().all(|values| values.len() <= 2), "{id}: {slots:x?}");
                assert_eq!(arrivals, bound, "{id}: each call passes by the resolver once");
                assert_eq!(bound > 5, is_lazy, "{id}: {bound} of {}", slots.len());
            }
        }
    }
}

/// SP, the return address and the arguments are as if the call had been direct.
#[test]
fn a_resolver_leaves_the_stack_as_the_call_left_it() {
    for abi in Abi::ALL {
        for program in ["crossing.O2-dynamic", "crossing_pac.O2-dynamic"] {
            let id = format!("gnu-2.47/{abi}/{program}");
            if !builds().join(&id).exists() {
                assert!(program.contains("pac") && !abi.signs_return_addresses(), "{id}");
                continue;
            }
            let files = Files::of(&id);
            let images = files.load().expect("images");
            let (mut called, mut arrived, mut bound) = (None, None, 0);
            run(&images, &Options::default(), &mut |moment| {
                let return_address = match abi.ra() {
                    Some(link) => moment.register(link.0),
                    None => moment.memory.read_u64(moment.sp),
                };
                let (state, argument) = ((moment.sp, return_address), moment.argument(0));
                let calls = moment.call_stack.records();
                if calls.last().is_some_and(|call| call.callee == moment.pc) {
                    called = Some(state);
                }
                if images.is_linker(moment.pc) {
                    arrived = arrived.or(Some(argument));
                } else if let Some(before) = arrived.take() {
                    assert_eq!((Some(state), argument), (called, before), "{id} at {:#x}", moment.pc);
                    bound += 1;
                }
            });
            assert!(bound > 5, "{id}: {bound}");
        }
    }
}

#[test]
fn libraries_and_symbols_that_are_missing_are_named_with_who_needs_them() {
    let id = "gnu-2.44/amd64/crossing.O2-dynamic";
    let mut files = Files::of(id);
    files.libraries.retain(|(name, _)| !name.contains("second"));
    let error = files.error();
    assert!(matches!(error, LoadError::MissingLibrary { .. }), "{error}");
    let text = error.to_string();
    assert_eq!(text, "the executable needs the library crossing.O2-dynamic.second.so, which is missing");

    for (file, symbol, needed_by) in [
        ("first.so", &b"program_leaf\0"[..], "crossing.O2-dynamic.first.so needs the symbol qrogram_leaf"),
        ("first.so", b"first_tail\0", "the executable needs the symbol first_tail"),
    ] {
        let mut files = Files::of(id);
        let bytes = files.file(file);
        let at = bytes.windows(symbol.len()).position(|window| window == symbol).expect("the name");
        bytes[at] = if symbol[0] == b'p' { b'q' } else { b'x' };
        let error = files.error();
        assert!(matches!(error, LoadError::MissingSymbol { .. }), "{error}");
        assert!(error.to_string().starts_with(needed_by), "{error}");
    }
}

/// A function that the program only asks for, weakly, is at address 0.
#[test]
fn an_undefined_weak_symbol_is_0() {
    let mut files = Files::of("gnu-2.44/amd64/crossing.O2-dynamic");
    let bytes = files.file("first.so");
    let name = b"program_leaf\0";
    let at = bytes.windows(name.len()).position(|window| window == name).expect("the name");
    bytes[at] = b'q';
    let symbol = dynamic_symbol(bytes, "qrogram_leaf");
    bytes[symbol + 4] = 2 << 4 | 2; // STB_WEAK, STT_FUNC
    let images = files.load().expect("images");
    // The program calls it all the same.
    let end = run(&images, &Options::default(), &mut |_| ()).end;
    assert!(matches!(end, End::Broken(Broken::Fault { access: "fetch", address: 0, .. })), "{end:?}");
}

#[test]
fn files_that_are_not_libraries_are_named() {
    let of = |library: Vec<u8>| {
        let mut files = Files::of("gnu-2.44/amd64/crossing.O2-dynamic");
        *files.file("second.so") = library;
        files.error().to_string()
    };
    let read = |id: &str| std::fs::read(builds().join(id)).expect("a build");
    for (library, message) in [
        (read("gnu-2.44/amd64/leaf.O2"), "this is an executable, not a shared library"),
        (read("gnu-2.44/aarch64/plt.O2-shared"), "it is for aarch64, the executable for amd64"),
        (b"#!/bin/sh\n".to_vec(), "does not start with the ELF magic number"),
    ] {
        let error = of(library);
        assert!(error.starts_with("crossing.O2-dynamic.second.so: ") && error.contains(message), "{error}");
    }
}

#[test]
fn unknown_relocations_are_reported_with_name_and_place() {
    for (abi, number, expected) in [
        (Abi::Amd64, 2_u32, "R_X86_64_PC32 (2)"),
        (Abi::Amd64, 16, "R_X86_64_DTPMOD64 (16)"),
        (Abi::Aarch64, 1031, "R_AARCH64_TLSDESC (1031)"),
        (Abi::S390x, 54, "R_390_TLS_DTPMOD (54)"),
        (Abi::S390x, 4000, "of type 4000"),
    ] {
        let mut files = Files::of(&format!("gnu-2.47/{abi}/crossing.O2-dynamic-pie"));
        let bytes = files.file("first.so");
        let (at, place) = {
            let elf = Elf::parse(bytes).expect("an ELF file");
            let table = elf.dynamic.as_ref().expect("dynamic").info.rela;
            let first = elf.dynrelas.iter().next().expect("a relocation");
            (table, first.r_offset)
        };
        // The lower half of r_info.
        if abi.is_big_endian() {
            bytes[at + 12..at + 16].copy_from_slice(&number.to_be_bytes());
        } else {
            bytes[at + 8..at + 12].copy_from_slice(&number.to_le_bytes());
        }
        let error = files.error();
        assert!(matches!(error, LoadError::Relocation { .. }), "{error}");
        let text = error.to_string();
        assert!(text.starts_with("crossing.O2-dynamic-pie.first.so: ") && text.contains(expected), "{text}");
        assert!(text.contains(&format!("{place:#x}")), "{text}");
    }
}

/// The parts of a file that its dynamic linking depends on: its dynamic section, and everything
/// before its code.
fn tables(bytes: &[u8]) -> Vec<usize> {
    let elf = Elf::parse(bytes).expect("an ELF file");
    let header = elf.program_headers.iter().find(|header| header.p_type == PT_DYNAMIC).expect("PT_DYNAMIC");
    let plt =
        elf.section_headers.iter().find(|section| elf.shdr_strtab.get_at(section.sh_name) == Some(".plt"));
    let code = usize::try_from(plt.expect("a table").sh_offset).expect("small");
    let headers = 64 + 56 * elf.program_headers.len();
    (headers..code).chain(header.file_range()).collect()
}

#[test]
fn any_byte_of_the_dynamic_section_and_its_tables_may_be_wrong() {
    let options = Options { budget: 9000, stack_size: 1 << 15, ..Options::default() };
    for (id, file) in [
        ("gnu-2.44/amd64/crossing.O2-dynamic", ""),
        ("gnu-2.47/s390x/crossing.O2-dynamic-pie", "first.so"),
        ("gnu-2.47/aarch64_be/ifunc.O2-dynamic", "library.so"),
    ] {
        let mut files = Files::of(id);
        let original = files.file(file).clone();
        let (mut refused, mut loaded, mut ran) = (0, 0, 0);
        for (count, at) in tables(&original).into_iter().enumerate() {
            for wrong in [0, 0x7f, 0xff, original[at] ^ 1, original[at] ^ 0x80] {
                files.file(file)[at] = wrong;
                match files.load() {
                    Err(error) => {
                        assert!(!error.to_string().is_empty());
                        refused += 1;
                    }
                    Ok(images) => {
                        loaded += 1;
                        // Some of them also run, to whatever end.
                        if count % 23 == 0 {
                            run(&images, &options, &mut |_| ());
                            ran += 1;
                        }
                    }
                }
            }
            files.file(file)[at] = original[at];
        }
        assert!(
            refused > 1000 && loaded > 1000 && ran > 80,
            "{id}: {refused} refused, {loaded} loaded, {ran} ran"
        );
    }
}

#[test]
fn a_library_cut_anywhere_is_an_error_or_loads() {
    let mut files = Files::of("gnu-2.44/amd64/crossing.O2-dynamic-pie");
    let original = files.file("first.so").clone();
    let mut refused = 0;
    for len in (0..original.len()).step_by(3) {
        *files.file("first.so") = original[..len].to_vec();
        match files.load() {
            Err(LoadError::Library { name, .. }) => {
                assert!(name.ends_with("first.so"));
                refused += 1;
            }
            Err(error) => panic!("{len}: {error}"),
            Ok(_) => {}
        }
    }
    assert!(refused > 300, "{refused}");
}

/// Every symbol and every chain as long as the file allows.
#[test]
fn tables_without_an_end_are_read_in_bounded_time() {
    let mut files = Files::of("gnu-2.44/amd64/crossing.O2-dynamic");
    let (hash, chains) = {
        let elf = Elf::parse(files.file("first.so")).expect("an ELF file");
        let hash = elf.section_headers.iter().find(|section| section.sh_type == 0x6fff_fff6);
        let hash = usize::try_from(hash.expect("a hash table").sh_offset).expect("small");
        (hash, elf.dynsyms.len())
    };
    let bytes = files.file("first.so");
    // No chain ends: the table runs into the bytes after it.
    let word =
        |at: usize| usize::try_from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")));
    let (buckets, first, bloom) = (word(hash), word(hash + 4), word(hash + 8));
    let at = hash + 16 + bloom.expect("small") * 8 + buckets.expect("small") * 4;
    for index in 0..chains - first.expect("small") {
        bytes[at + index * 4] &= !1;
    }
    let started = std::time::Instant::now();
    // The next words are of another table: some end there, or nothing does.
    let _ = files.load().map(|_| ());
    assert!(started.elapsed().as_secs() < 5);
}

/// Changes the tag of the entry that has another.
fn change_tag(bytes: &mut [u8], from: u64, to: u8) {
    let entry = {
        let elf = Elf::parse(bytes).expect("an ELF file");
        let header = elf.program_headers.iter().find(|header| header.p_type == PT_DYNAMIC);
        let entries = &elf.dynamic.as_ref().expect("dynamic").dyns;
        let index = entries.iter().position(|entry| entry.d_tag == from).expect("the entry");
        header.expect("PT_DYNAMIC").file_range().start + 16 * index
    };
    bytes[entry] = to;
}

const DT_NEEDED: u8 = 1;
const DT_SONAME: u64 = 14;
const DT_SYMBOLIC: u8 = 16;

#[test]
fn a_library_that_needs_itself_is_loaded_once() {
    let mut files = Files::of("gnu-2.44/amd64/crossing.O2-dynamic");
    change_tag(files.file("second.so"), DT_SONAME, DT_NEEDED);
    let images = files.load().expect("images");
    let names: Vec<&str> = images.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["", "crossing.O2-dynamic.second.so", "crossing.O2-dynamic.first.so"]);
}

/// The program has taken first_state over: a library that looks in itself
/// first does not find it there, and the program's result is another.
#[test]
fn symbols_are_looked_up_in_the_executable_first_unless_a_library_is_symbolic() {
    let mut files = Files::of("gnu-2.44/amd64/crossing.O2-dynamic");
    let end = |files: &Files| run(&files.load().expect("images"), &Options::default(), &mut |_| ()).end;
    assert_eq!(end(&files), End::Exit(0));
    change_tag(files.file("first.so"), DT_SONAME, DT_SYMBOLIC);
    assert_eq!(end(&files), End::Exit(1));
}

/// Offset of a symbol in the dynamic symbol table.
fn dynamic_symbol(bytes: &[u8], name: &str) -> usize {
    let elf = Elf::parse(bytes).expect("an ELF file");
    let index = elf.dynsyms.iter().position(|symbol| elf.dynstrtab.get_at(symbol.st_name) == Some(name));
    elf.dynsyms.offset() + index.expect("the symbol") * 24
}

#[test]
fn hidden_and_local_symbols_define_nothing_for_other_images() {
    const INFO: usize = 4;
    const OTHER: usize = 5;
    for (offset, value) in [(OTHER, 2), (OTHER, 1), (INFO, 2)] {
        // STV_HIDDEN, STV_INTERNAL; STB_LOCAL, STT_FUNC.
        let mut files = Files::of("gnu-2.44/amd64/crossing.O2-dynamic");
        let bytes = files.file("");
        let at = dynamic_symbol(bytes, "program_leaf");
        bytes[at + offset] = value;
        let error = files.error().to_string();
        assert!(error.contains("needs the symbol program_leaf"), "{error}");
    }
}

/// Nothing calls the code that runs before the program: its stack has one frame,
/// and the registers and the return address belong to no caller.
#[test]
fn code_before_the_program_has_a_call_stack_of_its_own() {
    for abi in Abi::ALL {
        let files = Files::of(&format!("gnu-2.47/{abi}/ifunc.O2-dynamic"));
        let images = files.load().expect("images");
        let entry = images.executable().entry;
        let mut starts = Vec::new();
        let (mut last_depth, mut before) = (0, true);
        run(&images, &Options::default(), &mut |moment| {
            before &= moment.pc != entry;
            let depth = moment.call_stack.depth();
            if before && depth == 1 && last_depth != 1 {
                starts.push(moment.pc);
            }
            last_depth = if before { depth } else { last_depth };
            if moment.pc == entry {
                assert_eq!(depth, 1, "{abi}");
                assert_eq!(moment.memory.read_u64(moment.sp), Some(1), "{abi}: argc");
            }
        });
        assert!(!starts.is_empty(), "{abi}");
        assert!(images.iter().any(|(_, image)| image.range().contains(&starts[0])), "{abi}");
    }
}

/// Offset of a section in the file.
fn section(bytes: &[u8], name: &str) -> usize {
    let elf = Elf::parse(bytes).expect("an ELF file");
    let is_it = |section: &&goblin::elf::SectionHeader| elf.shdr_strtab.get_at(section.sh_name) == Some(name);
    usize::try_from(elf.section_headers.iter().find(is_it).expect("the section").sh_offset).expect("small")
}

/// The number that an entry of the table pushes is one of no relocation.
#[test]
fn a_call_that_names_no_slot_breaks_the_run() {
    let mut files = Files::of("gnu-2.44/amd64/crossing.O2-dynamic");
    let bytes = files.file("second.so");
    let at = section(bytes, ".plt") + 16 + 6;
    assert_eq!(bytes[at], 0x68, "push");
    bytes[at + 1] = 0x77;
    let end = run(&files.load().expect("images"), &Options::default(), &mut |_| ()).end;
    let End::Broken(Broken::Linking(error)) = end else { panic!("{end:?}") };
    assert!(error.contains("left nothing to bind") && error.contains("number: 77"), "{error}");
}

/// Code that runs before the program can end the run, as the program can.
#[test]
fn an_initialiser_that_faults_or_runs_for_ever_ends_the_run() {
    for (code, expected) in [
        (&[0x0f, 0x0b][..], "traps"),
        (&[0x90, 0xeb, 0xfd], "budget"),
        (&[0xf4], "only a kernel"),
        (&[0xbf, 7, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05], "exit 7"),
    ] {
        let mut files = Files::of("gnu-2.44/amd64/crossing.O2-dynamic");
        let bytes = files.file("first.so");
        let at = {
            let elf = Elf::parse(bytes).expect("an ELF file");
            let is_it = |symbol: &goblin::elf::Sym| elf.strtab.get_at(symbol.st_name) == Some("first_start");
            usize::try_from(elf.syms.iter().find(is_it).expect("the function").st_value).expect("small")
        };
        bytes[at..at + code.len()].copy_from_slice(code);
        let options = Options { budget: 1000, ..Options::default() };
        let images = files.load().expect("images");
        let entry = images.executable().entry;
        let outcome = run(&images, &options, &mut |moment| assert_ne!(moment.pc, entry));
        match outcome.end {
            End::Exit(status) => assert_eq!((status, expected), (7, "exit 7")),
            End::Broken(broken) => assert!(broken.to_string().contains(expected), "{broken}"),
            end => panic!("{end:?}"),
        }
    }
}

#[test]
fn an_executable_that_relocates_itself_is_left_alone() {
    let bytes = std::fs::read(builds().join("gnu-2.44/amd64/leaf.O2-pie")).expect("a build");
    let image = Image::parse(&bytes).expect("an image");
    let images = Images::of(image.clone()).expect("images");
    let data = image.segments.iter().find(|segment| segment.permissions.write).expect("data").clone();
    let mut first = None;
    run(&images, &Options::default(), &mut |moment| {
        let mut found = vec![0; data.file.len()];
        assert!(moment.memory.read(data.address, &mut found));
        first.get_or_insert(found);
    });
    assert_eq!(first.as_deref(), Some(&bytes[data.file.clone()]));
}
