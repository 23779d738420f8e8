//! Kernels and their modules: what reads sections and explores functions takes them, and nothing runs them.

use rstest::rstest;

use crate::command::{bench, json, status};
use crate::common::repository;
use crate::explore_objects::written;

/// A kernel with one wrong row, and its two program headers.
fn image() -> Vec<u8> {
    std::fs::read(repository().join("corpus/constructed/kernel-image/amd64")).expect("a kernel")
}

const PROGRAM_HEADERS: usize = 64;
const PROGRAM_HEADER: usize = 56;
const E_TYPE: usize = 16;
const E_PHNUM: usize = 56;
const E_SHNUM: usize = 60;
const P_VADDR: usize = 16;
const P_FLAGS: usize = 4;

fn changed(offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = image();
    file[offset..offset + bytes.len()].copy_from_slice(bytes);
    file
}

/// The headers of a kernel are for what starts it: exploring needs its addresses only.
#[rstest]
#[case::linked_to_fixed_addresses(image())]
#[case::position_independent(changed(E_TYPE, &[3, 0]))]
#[case::without_program_headers(changed(E_PHNUM, &[0, 0]))]
#[case::without_loaded_segments({
    let mut file = changed(PROGRAM_HEADERS, &[4, 0, 0, 0]);
    file[PROGRAM_HEADERS + PROGRAM_HEADER] = 4;
    file
})]
#[case::without_permission_to_execute(changed(PROGRAM_HEADERS + P_FLAGS, &[6, 0, 0, 0]))]
#[case::with_data_of_each_processor_at_0(changed(PROGRAM_HEADERS + PROGRAM_HEADER + P_VADDR, &[0; 8]))]
fn kernels_are_explored_whatever_their_headers_say(#[case] file: Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "kernel", &file);
    let output = bench(&["explore", "--json", &file]);
    let report = json(&output);
    assert_eq!(status(&output), 1, "{report}");
    assert_eq!(
        (&report["summary"]["rows_checked"], &report["summary"]["rows_wrong"]),
        (&13.into(), &1.into())
    );
    let finding = &report["findings"][0];
    assert_eq!((&finding["certainty"], &finding["function"]), (&"proved".into(), &"is_wrong".into()));
    assert_eq!(finding["pc"], "0xffffffff81000018");
    for command in ["dump", "diff"] {
        assert_eq!(status(&bench(&[command, &file])), 0, "{command}");
    }
}

/// The last addresses stand for errors: a segment there, or past them, has no place.
#[rstest]
#[case::at_the_end(0xffff_ffff_ffff_f000_u64, "the end of a kernel's addresses")]
#[case::past_the_end(u64::MAX, "the end of a kernel's addresses")]
fn segments_that_no_kernel_has_are_one_error(#[case] address: u64, #[case] message: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = changed(PROGRAM_HEADERS + PROGRAM_HEADER + P_VADDR, &address.to_le_bytes());
    // Sections say where a kernel is, if there are any.
    file[E_SHNUM..E_SHNUM + 2].fill(0);
    let output = bench(&["explore", &written(folder.path(), "kernel", &file)]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((status(&output), error.lines().count()), (2, 1), "{error}");
    assert!(error.contains(message), "{error}");
}

/// A process has no addresses of the upper half.
#[test]
fn nothing_runs_a_kernel() {
    let file = repository().join("corpus/constructed/kernel-image/amd64").display().to_string();
    for command in [&["check"][..], &["check", "--from", "eh-frame"], &["study"]] {
        let output = bench(&[command, &[file.as_str()]].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(status(&output), 2, "{error}");
        assert_eq!(error.matches("nothing here runs kernels").count(), 1, "{error}");
    }
}

#[test]
fn only_relocatable_files_are_loaded_as_modules() {
    let folder = tempfile::tempdir().expect("a folder");
    let written_to = folder.path().join("out").display().to_string();
    let file = repository().join("corpus/builds/gnu-2.47/amd64/leaf.O2").display().to_string();
    for command in [
        &["dump"][..],
        &["lint"],
        &["diff"],
        &["explore"],
        &["convert", "--to", "3", "--output", &written_to],
    ] {
        let output = bench(&[command, &["--as-module", &file]].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((status(&output), error.lines().count()), (2, 1), "{command:?}: {error}");
        let message = "this is not a relocatable file, from which a kernel loads modules";
        assert!(error.contains(message) && output.stdout.is_empty(), "{command:?}: {error}");
    }
}

/// A report about a module is one about its file, and not about what a kernel makes of it.
#[test]
fn a_report_about_a_module_is_evidence_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let module = repository().join("corpus/constructed/kernel-module/amd64").display().to_string();
    let report = bench(&["explore", "--json", "--as-module", &module]).stdout;
    let report = written(folder.path(), "report.json", &report);
    let output = bench(&["diff", "--as-module", "--explored", &report, &module]);
    assert!(status(&output) < 2 && output.stderr.is_empty(), "{output:?}");
}

/// What is converted is the module at its addresses, with its FDEs sorted.
#[test]
fn modules_are_converted_as_they_are_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let module = repository().join("corpus/constructed/kernel-module/amd64").display().to_string();
    for (from, version) in [("sframe", "3"), ("eh-frame", "3"), ("eh-frame", "2")] {
        let linked = folder.path().join("linked").display().to_string();
        let output = bench(&[
            "convert",
            "--json",
            "--as-module",
            "--from",
            from,
            "--to",
            version,
            "--elf",
            &linked,
            &module,
        ]);
        let report = json(&output);
        assert_eq!(status(&output), 0, "{report}");
        assert_eq!(report["module"]["fdes"]["total"], 7);
        let output = bench(&["explore", "--json", &linked]);
        let report = json(&output);
        let finding = &report["findings"][0];
        assert_eq!(
            (status(&output), &finding["function"]),
            (1, &"is_wrong".into()),
            "{from} {version}: {report}"
        );
        assert!(finding["pc"].as_str().is_some_and(|pc| pc.starts_with("0xffffffffc00000")), "{finding}");
    }
}

/// Where an entry of a table in a module leads, as its first relocation says: the file's bytes from there on.
fn site<'f>(file: &'f mut [u8], table: &str, entry: usize) -> &'f mut [u8] {
    use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
    let at = {
        let elf = object::File::parse(&*file).expect("an object file");
        let mut relocations = elf.section_by_name(table).expect("the table").relocations();
        let (_, relocation) = relocations.find(|(at, _)| *at >= entry as u64).expect("a relocation");
        let object::RelocationTarget::Symbol(symbol) = relocation.target() else {
            panic!("a relocation without a symbol")
        };
        let symbol = elf.symbol_by_index(symbol).expect("a symbol");
        let section = elf.section_by_index(symbol.section_index().expect("a section")).expect("a section");
        let (offset, _) = section.file_range().expect("bytes");
        offset.checked_add_signed(relocation.addend()).expect("an offset") + symbol.address()
    };
    &mut file[usize::try_from(at).expect("an offset")..]
}

/// What an entry of a table is about that has another form than the bench knows is said, and not passed over.
#[rstest]
#[case::static_calls("kernel-tracing", ".static_call_sites", &[0x90], "1 place of .static_call_sites: neither a call nor a jump")]
#[case::tracer("kernel-tracing", "__mcount_loc", &[0x90], "1 place of the tracer: neither a call nor the nop that kernels replace by one")]
fn entries_that_can_not_be_read_are_told(
    #[case] module: &str,
    #[case] table: &str,
    #[case] code: &[u8],
    #[case] message: &str,
) {
    let mut file =
        std::fs::read(repository().join("corpus/constructed").join(module).join("amd64")).expect("a module");
    let folder = tempfile::tempdir().expect("a folder");
    let unread = |file: &[u8]| {
        let file = written(folder.path(), "module", file);
        let report = json(&bench(&["explore", "--json", "--as-module", &file]));
        report["unread_tables"].to_string()
    };
    let before = unread(&file);
    assert!(!before.contains(message), "{before}");
    site(&mut file, table, 0)[..code.len()].copy_from_slice(code);
    let after = unread(&file);
    assert!(after.contains(message), "{after}");
}

/// Returns the place of the relocations of a table in a file, and of the table's header.
fn places_of(file: &[u8], table: &str) -> (std::ops::Range<usize>, [usize; 2]) {
    use object::{Object as _, ObjectSection as _};
    let elf = object::File::parse(file).expect("an object file");
    let index = |name: &str| elf.section_by_name(name).expect(name).index().0;
    let relocations = elf.section_by_name(&format!(".rela{table}")).expect("relocations");
    let (start, size) = relocations.file_range().expect("bytes");
    let start = usize::try_from(start).expect("an offset");
    let number = |at: usize| usize::try_from(long(&file[at..], elf.is_little_endian())).expect("an offset");
    let header = |name: &str| number(40) + 64 * index(name);
    (start..start + usize::try_from(size).expect("a size"), [header(table), header(&format!(".rela{table}"))])
}

fn long(bytes: &[u8], is_little: bool) -> u64 {
    let bytes = bytes[..8].try_into().expect("8 bytes");
    if is_little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) }
}

/// How a table is damaged.
#[derive(Clone, Copy)]
enum Damage {
    /// It loses its last bytes, or gets some of what follows.
    Shorter(u64),
    Longer(u64),
    /// It loses its last relocations.
    WithoutLast(u64),
    /// What a field of each entry names is further on by some bytes: where the field is, and the size of an entry.
    Moved {
        by: u64,
        field: u64,
        entry: u64,
    },
    /// Its relocations name a symbol that is not there.
    WithoutSymbol,
}

fn damaged(name: &str, table: &str, damage: Damage) -> Vec<u8> {
    /// Where a section's header has its size, and the size of a relocation with its parts.
    const SIZE: usize = 32;
    const RELOCATION: usize = 24;
    let (info, addend) = (8, 16);
    let mut file = std::fs::read(repository().join("corpus/constructed").join(name)).expect("a module");
    let is_little = file[5] == 1;
    let (relocations, [header, of_relocations]) = places_of(&file, table);
    let mut change = |at: usize, by: &dyn Fn(u64) -> u64| {
        let new = by(long(&file[at..], is_little));
        let new = if is_little { new.to_le_bytes() } else { new.to_be_bytes() };
        file[at..at + 8].copy_from_slice(&new);
        new
    };
    match damage {
        Damage::Shorter(by) => _ = change(header + SIZE, &|size| size - by),
        Damage::Longer(by) => _ = change(header + SIZE, &|size| size + by),
        Damage::WithoutLast(count) => {
            _ = change(of_relocations + SIZE, &|size| size - count * RELOCATION as u64);
        }
        Damage::Moved { by, field, entry } => {
            for at in relocations.step_by(RELOCATION) {
                let offset = long(&change(at, &|offset| offset), is_little);
                if offset % entry == field {
                    change(at + addend, &|addend| addend.wrapping_add(by));
                }
            }
        }
        Damage::WithoutSymbol => {
            for at in relocations.step_by(RELOCATION) {
                change(at + info, &|info| info & 0xffff_ffff | 0x00ff_ffff << 32);
            }
        }
    }
    file
}

const INSTRUCTION: &str = "it does not lead from an instruction to an instruction";

/// A table that is damaged is read as far as it goes, and the rest is said: silence would look as if nothing were wrong.
#[rstest]
#[case("kernel-jump-labels", "__ex_table", Damage::Shorter(1), &["amd64", "aarch64", "s390x"], "11 bytes at the end of __ex_table: an entry has 12")]
#[case("kernel-jump-labels", "__ex_table", Damage::Moved { by: 1, field: 0, entry: 12 }, &["amd64"], INSTRUCTION)]
#[case("kernel-jump-labels", "__ex_table", Damage::Moved { by: 2, field: 0, entry: 12 }, &["amd64", "aarch64", "s390x"], INSTRUCTION)]
#[case("kernel-jump-labels", "__ex_table", Damage::Moved { by: 2, field: 4, entry: 12 }, &["amd64", "aarch64", "s390x"], INSTRUCTION)]
#[case("kernel-jump-labels", "__jump_table", Damage::Moved { by: 2, field: 0, entry: 16 }, &["amd64", "aarch64", "s390x"], INSTRUCTION)]
#[case("kernel-jump-labels", "__jump_table", Damage::Moved { by: 2, field: 4, entry: 16 }, &["aarch64", "s390x"], INSTRUCTION)]
#[case("kernel-jump-labels", "__bug_table", Damage::WithoutLast(2), &["amd64", "aarch64", "s390x"], "1 place of __bug_table: ")]
#[case("kernel-jump-labels", "__bug_table", Damage::Moved { by: 4, field: 0, entry: 12 }, &["aarch64"], "2 places of __bug_table: no trap that warns")]
#[case("kernel-jump-labels", "__bug_table", Damage::Longer(4), &["amd64", "aarch64", "s390x"], "4 bytes at the end of __bug_table: an entry has 12")]
#[case("kernel-jump-labels", "__jump_table", Damage::Moved { by: 8, field: 0, entry: 16 }, &["aarch64"], "of __jump_table: neither a jump to the label nor no operation")]
#[case("kernel-alternatives", ".altinstructions", Damage::WithoutLast(1), &["amd64", "aarch64", "s390x"], "1 place of .altinstructions: it does not lead from code to code")]
#[case("kernel-tracing", "__mcount_loc", Damage::WithoutLast(1), &["amd64", "s390x"], "1 place of the tracer: neither")]
#[case("kernel-tracing", "__mcount_loc", Damage::Moved { by: 0x7000_0000, field: 0, entry: 8 }, &["amd64", "s390x"], "of the tracer: neither")]
#[case("kernel-tracing", "__patchable_function_entries", Damage::WithoutLast(1), &["aarch64"], "1 place of the tracer: neither")]
#[case("kernel-tracing", ".static_call_sites", Damage::Longer(4), &["amd64"], "4 bytes at the end of .static_call_sites: an entry has 8")]
fn damaged_tables_are_told(
    #[case] module: &str,
    #[case] table: &str,
    #[case] damage: Damage,
    #[case] abis: &[&str],
    #[case] message: &str,
) {
    let folder = tempfile::tempdir().expect("a folder");
    for abi in abis {
        let name = format!("{module}/{abi}");
        let file = written(folder.path(), "module", &damaged(&name, table, damage));
        let report = json(&bench(&["explore", "--json", "--as-module", &file]));
        let unread = report["unread_tables"].to_string();
        assert!(unread.contains(message), "{name} {table}: {unread}");
    }
}

/// A relocation that names a symbol beyond the last one is malformed: nothing that is read of it means anything.
#[rstest]
fn relocations_of_symbols_that_are_not_there_are_refused(
    #[values(".sframe", ".text", "__mcount_loc")] table: &str,
    #[values("explore", "lint", "dump", "diff")] command: &str,
    #[values(true, false)] as_module: bool,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let file =
        written(folder.path(), "module", &damaged("kernel-tracing/amd64", table, Damage::WithoutSymbol));
    let arguments: &[&str] = if as_module { &[command, "--as-module", &file] } else { &[command, &file] };
    let output = bench(arguments);
    assert_eq!(status(&output), 2, "{output:?}");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("names symbol 16777215, and the file has"), "{error}");
}

/// A kernel has its tables within other sections, between symbols.
const KERNEL_WITH_A_TABLE: &str = "
    .globl labels
    .type labels, @function
labels: .cfi_startproc
    .byte 0xeb, 0x01
    nop
.Lnext: nop
    ret
    .cfi_endproc
    .size labels, . - labels
    .data
    .globl __start___jump_table, __stop___jump_table
    .long 0
__start___jump_table:
    .long labels - ., .Lnext - ., 0, 0
    .long .Lnext - ., labels - ., 0, 0
__stop___jump_table:
    .section __ksymtab, \"a\"
    .long 0
    .section .note.GNU-stack, \"\", @progbits
";

/// The bounds of a kernel's table are symbols: where these are no table's, that is said.
#[rstest]
#[case::beyond_the_end("__stop___jump_table", 1 << 40, "__jump_table: nothing is from ")]
#[case::before_the_start("__start___jump_table", 1 << 40, "__jump_table: nothing is from ")]
#[case::in_an_entry("__stop___jump_table", 0_u64.wrapping_sub(8), "8 bytes at the end of __jump_table: an entry has 16")]
#[case::alone(
    "__start___jump_table",
    0,
    "__jump_table: only one of __start___jump_table and __stop___jump_table is there"
)]
fn tables_without_sound_bounds_are_told(#[case] symbol: &str, #[case] by: u64, #[case] message: &str) {
    use object::{Object as _, ObjectSymbol as _};
    let folder = tempfile::tempdir().expect("a folder");
    let source = KERNEL_WITH_A_TABLE.replace(if by == 0 { "__stop___jump_table" } else { "\0" }, "other");
    let assembly = written(folder.path(), "kernel.s", source.as_bytes());
    let linked = folder.path().join("kernel");
    let mut compiler = std::process::Command::new("gcc");
    compiler.args(["-m64", "-nostdlib", "-static", "-no-pie", "-Wl,-e,labels", &assembly, "-o"]).arg(&linked);
    if !compiler.output().is_ok_and(|output| output.status.success()) {
        eprintln!("not run: there is no GCC for amd64");
        return;
    }
    let mut file = std::fs::read(&linked).expect("a kernel");
    let unread = |file: &[u8]| {
        let file = written(folder.path(), "kernel", file);
        json(&bench(&["explore", "--json", "--from", "eh-frame", &file]))["unread_tables"].to_string()
    };
    if by == 0 {
        return assert!(unread(&file).contains(message), "{}", unread(&file));
    }
    let before = unread(&file);
    assert_eq!(before, "null");
    let at = {
        let elf = object::File::parse(&*file).expect("a kernel");
        let table = elf.section_by_name(".symtab").expect("symbols");
        let index = elf.symbols().find(|known| known.name() == Ok(symbol)).expect(symbol).index().0;
        usize::try_from(object::ObjectSection::file_range(&table).expect("bytes").0).expect("an offset")
            + 24 * index
            + 8
    };
    let moved = long(&file[at..], true).wrapping_add(by);
    file[at..at + 8].copy_from_slice(&moved.to_le_bytes());
    let after = unread(&file);
    assert!(after.contains(message), "{after}");
}

/// Few entries of a small table may be of traps: others are of what prepares one.
#[test]
fn a_table_of_warnings_is_read_whatever_it_is_about() {
    let name = "corpus/constructed/kernel-jump-labels/amd64";
    let mut file = std::fs::read(repository().join(name)).expect("a module");
    let code = site(&mut file, "__bug_table", 0);
    assert_eq!(code[..2], [0x0f, 0x0b], "a trap");
    // The other one is that of warning_wrong.
    code[..2].copy_from_slice(&[0x66, 0x90]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "module", &file);
    let report = json(&bench(&["explore", "--json", "--as-module", &file]));
    assert_eq!(report["unread_tables"].as_array().map_or(0, Vec::len), 0, "{}", report["unread_tables"]);
    let findings = report["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|found| found["function"] == "warning_wrong"), "{findings:#?}");
}
