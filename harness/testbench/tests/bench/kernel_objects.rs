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
        (&report["summary"]["rows_judged"], &report["summary"]["rows_wrong"]),
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
        let message = "this is no relocatable file, as a module is before a kernel loads it";
        assert!(error.contains(message) && output.stdout.is_empty(), "{command:?}: {error}");
    }
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
#[case::tracer("kernel-tracing", "__mcount_loc", &[0x90], "1 place of the tracer: neither a call nor room for one")]
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
