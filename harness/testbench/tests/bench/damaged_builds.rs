//! What files and toolchains may lose: `ci/gate files` and `matrix` notice it. The guide has the tables.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::command::{bench_in, status};
use crate::common::repository;
use crate::damaged_readers::fails_in_each_format;
use crate::doctor;
use crate::matrix::Vendor;

/// Makes a file one without a section.
pub(crate) fn remove_section(file: &mut [u8]) {
    let name = file.windows(8).rposition(|bytes| bytes == b".sframe\0").expect("a section's name");
    file[name + 6] = b'x';
    // Nor does anything else say where it is: the types of section and segment.
    for (mark, other) in [(0x6fff_fff4_u32, 1_u32), (0x6474_e554, 0)] {
        let at = file.windows(4).rposition(|bytes| bytes == mark.to_le_bytes()).expect("a type");
        file[at..at + 4].copy_from_slice(&other.to_le_bytes());
    }
}

/// What becomes of files, in a sentence; what does it; and the status of `ci/gate files` with nothing, with
/// `--coverage all`, and with a baseline.
type OfFiles = (&'static str, fn(&Path), [i32; 3]);

const FILES: [&str; 2] = ["leaf.O2", "recursion.O2"];
/// Two of one name, which archives may have.
const MEMBERS: [&str; 3] = ["leaf.O2", "recursion.O2", "leaf.O2"];

fn change(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(file).expect("a file");
    change(&mut bytes);
    std::fs::write(file, bytes).expect("a file");
}

/// The last FDE is there no more.
fn drop_fde(file: &mut [u8]) {
    let count = doctor::section_offset(file) + 8;
    file[count] -= 1;
}

/// Writes an archive of the files.
fn pack(folder: &Path, of: &[&str]) {
    let mut archive = b"!<arch>\n".to_vec();
    for name in of {
        let bytes = std::fs::read(folder.join("build").join(name)).expect("a member");
        let header =
            format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", format!("{name}/"), 0, 0, 0, 644, bytes.len());
        archive.extend(header.bytes().chain(bytes.iter().copied()));
        archive.resize(archive.len().next_multiple_of(2), b'\n');
    }
    std::fs::write(folder.join("build/all.a"), archive).expect("an archive");
}

const OF_FILES: &[OfFiles] = &[
    (
        "a file is gone",
        |folder| std::fs::remove_file(folder.join("build/leaf.O2")).expect("a file"),
        [0, 0, 1],
    ),
    (
        "a file has another name",
        |folder| std::fs::rename(folder.join("build/leaf.O2"), folder.join("build/other")).expect("a file"),
        [0, 0, 1],
    ),
    (
        "a file has lost its section",
        |folder| change(&folder.join("build/leaf.O2"), |file| remove_section(file)),
        [0, 1, 1],
    ),
    (
        "all files have lost their sections",
        |folder| {
            FILES
                .iter()
                .for_each(|name| change(&folder.join("build").join(name), |file| remove_section(file)));
            pack(folder, &MEMBERS);
        },
        [2, 1, 1],
    ),
    (
        "an archive is gone",
        |folder| std::fs::remove_file(folder.join("build/all.a")).expect("a file"),
        [0, 0, 1],
    ),
    ("a member of an archive is gone", |folder| pack(folder, &MEMBERS[..2]), [0, 0, 1]),
    (
        "a member of an archive has lost its section",
        |folder| {
            let file = folder.join("build/leaf.O2");
            let whole = std::fs::read(&file).expect("a file");
            change(&file, |file| remove_section(file));
            pack(folder, &MEMBERS);
            std::fs::write(file, whole).expect("a file");
        },
        [0, 1, 1],
    ),
    ("an FDE is gone", |folder| change(&folder.join("build/leaf.O2"), |file| drop_fde(file)), [1, 1, 1]),
    (
        "no segment says any more where a section is",
        |folder| {
            change(&folder.join("build/leaf.O2"), |file| {
                let kind = 0x6474_e554_u32.to_le_bytes();
                let at = file.windows(4).position(|bytes| bytes == kind).expect("a segment");
                file[at..at + 4].fill(0);
            });
        },
        [0, 0, 1],
    ),
    (
        "a thin archive has come, whose member is elsewhere and has no section",
        |folder| {
            let bare = folder.join("bare.o");
            std::fs::copy(folder.join("build/leaf.O2"), &bare).expect("a copy");
            change(&bare, |file| remove_section(file));
            let size = bare.metadata().expect("a file").len();
            let name = "../bare.o/\n";
            let header =
                |name: &str, size: u64| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
            let thin =
                format!("!<thin>\n{}{name}\n{}", header("//", name.len() as u64 + 1), header("/0", size));
            std::fs::write(folder.join("build/thin.a"), thin).expect("an archive");
        },
        [0, 1, 0],
    ),
    (
        "a row is wrong",
        |folder| change(&folder.join("build/leaf.O2"), |file| doctor::patch_first_row(file, "leaf")),
        [1, 1, 1],
    ),
    (
        "a section can't be read",
        |folder| {
            change(&folder.join("build/leaf.O2"), |file| {
                let version = doctor::section_offset(file) + 2;
                file[version] = 9;
            });
        },
        [1, 1, 1],
    ),
    ("a file is empty now", |folder| change(&folder.join("build/leaf.O2"), Vec::clear), [0, 0, 1]),
    ("nothing has changed", |_| (), [0; 3]),
    (
        "the folder has another name",
        |folder| {
            std::fs::rename(folder.join("build"), folder.join("elsewhere")).expect("a folder");
            std::os::unix::fs::symlink("elsewhere", folder.join("build")).expect("a link");
        },
        [0; 3],
    ),
    (
        "a file is new, and right",
        |folder| {
            std::fs::copy(folder.join("build/leaf.O2"), folder.join("build/new")).expect("a copy");
        },
        [0; 3],
    ),
    (
        "a file is new that has no ELF in it",
        |folder| std::fs::write(folder.join("build/notes.txt"), "text").expect("a file"),
        [0; 3],
    ),
    (
        "the folder has another name, and a file is new in another folder of it",
        |folder| {
            std::fs::create_dir(folder.join("build/bin")).expect("a folder");
            std::fs::copy(folder.join("build/leaf.O2"), folder.join("build/bin/new")).expect("a copy");
            let baseline = std::fs::read_to_string(folder.join("baseline.json")).expect("a baseline");
            std::fs::write(folder.join("baseline.json"), baseline.replace("\"build/", "\"elsewhere/lib/"))
                .expect("a file");
        },
        [0; 3],
    ),
    ("files were made again", |folder| change(&folder.join("build/leaf.O2"), |_| ()), [0; 3]),
];

#[test]
fn what_gets_worse_of_files_is_stopped_by_the_gate() {
    for (what, does, ends) in OF_FILES {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        std::fs::create_dir(folder.join("build")).expect("a folder");
        for name in FILES {
            let from = repository().join("corpus/builds/gnu-2.47/amd64").join(name);
            std::fs::copy(from, folder.join("build").join(name)).expect("a copy");
        }
        pack(folder, &MEMBERS);
        let baseline = bench_in(folder, &["explore", "--json", "build"]);
        assert_eq!(status(&baseline), 0, "{baseline:?}");
        std::fs::write(folder.join("baseline.json"), baseline.stdout).expect("a file");
        does(folder);
        let gate = |options: &[&str]| {
            let output = Command::new(repository().join("ci/gate"))
                .current_dir(folder)
                .env("SFRAME_TESTBENCH", env!("CARGO_BIN_EXE_sframe-testbench"))
                .env_remove("GITHUB_STEP_SUMMARY")
                .arg("files")
                .args(options)
                .arg("build/")
                .output()
                .expect("the gate runs");
            (status(&output), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        for (options, expected) in
            [&[][..], &["--coverage", "all"], &["--baseline", "baseline.json"]].iter().zip(ends)
        {
            let (status, said) = gate(options);
            assert_eq!(status, *expected, "{what}, {options:?}: {said}");
        }
    }
}

/// Gives a section another name, which ends with an x. A symbol table loses its type as well.
fn rename(file: &mut [u8], name: &[u8]) {
    let at = file.windows(name.len()).rposition(|bytes| bytes == name).expect("a section's name");
    file[at + name.len() - 2] = b'x';
    if name.starts_with(b".symtab") {
        let table = u64::from_le_bytes(file[40..48].try_into().expect("8 bytes"));
        let table = usize::try_from(table).expect("an offset");
        for header in file[table..].chunks_mut(64).filter(|header| header.get(4) == Some(&2)) {
            header[4] = 1;
        }
    }
}

/// What becomes of a toolchain's builds, in a sentence; what does it; and the status of `matrix`.
type OfToolchain = (&'static str, fn(&Vendor), i32);

fn deliver(vendor: &Vendor, build: &str, change: fn(&mut Vec<u8>)) {
    let mut bytes = doctor::build(&format!("gnu-2.47/amd64/{build}"));
    change(&mut bytes);
    vendor.delivers(build, &bytes);
}

const OF_TOOLCHAINS: &[OfToolchain] = &[
    (
        "a program is not compiled any more",
        |vendor| std::fs::remove_file(vendor.path("builds/leaf.O2")).expect("a build"),
        1,
    ),
    (
        "no program is compiled any more",
        |vendor| {
            std::fs::remove_dir_all(vendor.path("builds")).expect("builds");
            std::fs::create_dir(vendor.path("builds")).expect("a folder");
        },
        3,
    ),
    ("a build has no section any more", |vendor| deliver(vendor, "leaf.O2", |file| remove_section(file)), 1),
    ("a row is wrong", |vendor| deliver(vendor, "leaf.O2", |file| doctor::patch_first_row(file, "leaf")), 1),
    (
        "a row is wrong in a function that has a known bug, in the same way",
        |vendor| deliver(vendor, "builtin_jump.O2", |file| doctor::patch_first_row(file, "jump")),
        1,
    ),
    (
        "a row is wrong in code that does not run",
        |vendor| deliver(vendor, "eh_return.O2", |file| doctor::patch_first_row(file, "cleanup")),
        1,
    ),
    ("an FDE is gone", |vendor| deliver(vendor, "leaf.O2", |file| drop_fde(file)), 1),
    (
        "an FDE is gone, and all call frame information",
        |vendor| {
            deliver(vendor, "leaf.O2", |file| {
                drop_fde(file);
                rename(file, b".eh_frame\0");
            });
        },
        1,
    ),
    (
        "no segment says any more where a section is",
        |vendor| {
            deliver(vendor, "leaf.O2", |file| {
                let at = file.windows(4).position(|bytes| bytes == 0x6474_e554_u32.to_le_bytes());
                let at = at.expect("a segment");
                file[at..at + 4].fill(0);
            });
        },
        1,
    ),
    (
        "the header of a section has another number of rows",
        |vendor| {
            deliver(vendor, "leaf.O2", |file| {
                let count = doctor::section_offset(file) + 12;
                file[count] += 5;
            });
        },
        1,
    ),
    (
        "a row is wrong in another function whose name differs by a suffix from that with a known bug",
        |vendor| deliver(vendor, "nonlocal_goto.O2", |file| doctor::patch_first_row(file, "inner.2")),
        1,
    ),
    (
        "FDEs are not said to be sorted any more",
        |vendor| {
            deliver(vendor, "leaf.O2", |file| {
                let flags = doctor::section_offset(file) + 3;
                file[flags] &= !1;
            });
        },
        1,
    ),
    ("a section has another name", |vendor| deliver(vendor, "leaf.O2", |file| rename(file, b".sframe\0")), 1),
    (
        "a build has no symbols any more",
        |vendor| deliver(vendor, "leaf.O2", |file| rename(file, b".symtab\0")),
        4,
    ),
    (
        "a section can't be read",
        |vendor| {
            deliver(vendor, "leaf.O2", |file| {
                let version = doctor::section_offset(file) + 2;
                file[version] = 9;
            });
        },
        4,
    ),
    ("a build is cut off", |vendor| deliver(vendor, "leaf.O2", |file| file.truncate(0x200)), 1),
    ("nothing has changed", |_| (), 0),
    ("it is compiled again", |vendor| deliver(vendor, "leaf.O2", |_| ()), 0),
    (
        "a row is wrong by another amount in a function that has a known bug",
        |vendor| {
            deliver(vendor, "remember_restore.O2", |file| doctor::patch_first_row(file, "nested_states"))
        },
        1,
    ),
    (
        "what the reference has not got is compiled as well",
        |vendor| vendor.delivers("leaf.O9", &doctor::build("gnu-2.47/amd64/leaf.O2")),
        0,
    ),
];

#[test]
fn what_gets_worse_of_a_toolchain_is_stopped() {
    for (what, does, expected) in OF_TOOLCHAINS {
        let vendor = Vendor::new("", "");
        let programs =
            ["leaf", "builtin_jump", "eh_return", "nonlocal_goto", "remember_restore", "thunks_inline"];
        programs.into_iter().for_each(|program| vendor.delivers_builds("gnu-2.47", program));
        does(&vendor);
        let report = vendor.path("report");
        let report = report.to_str().expect("a path");
        let specs = programs.iter().flat_map(|program| ["--spec", program]);
        let options: Vec<&str> = specs.chain(["--reference", "gnu-2.47", "--report", report]).collect();
        let output = vendor.run(&options);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(status(&output), *expected, "{what}: {said}");
        let page = std::fs::read_to_string(vendor.path("report/matrix.md")).expect("a page");
        let is_listed =
            ["### Worse", "### Lost", "### Broken", "### Refused"].iter().any(|title| page.contains(title));
        assert_eq!(is_listed, *expected != 0, "{what}: {page}");
        fails_in_each_format(&vendor.path("report"), *expected, what);
    }
}

/// What a toolchain shows makes up for nothing of another one.
#[test]
fn a_toolchain_that_makes_nothing_is_not_hidden_by_another() {
    let (good, bad) = (Vendor::new("", ""), Vendor::new("echo sorry >&2; exit 1", ""));
    good.delivers_builds("gnu-2.47", "leaf");
    bad.named("silent");
    let other = bad.path("silent.yaml").display().to_string();
    let report = good.path("report");
    let options = [&*other, "--spec", "leaf", "--reference", "gnu-2.47", "--report"];
    let output = good.run(&[&options[..], &[report.to_str().expect("a path")]].concat());
    assert_eq!(status(&output), 3, "{output:?}");
    fails_in_each_format(&report, 3, "a toolchain that makes nothing");
    assert_eq!(status(&good.run(&[&*other, "--spec", "leaf", "-q"])), 3);
    let quiet = good.run(&[&*other, "--spec", "leaf", "-q"]);
    assert!(String::from_utf8_lossy(&quiet.stdout).starts_with("INCONCLUSIVE: "), "{quiet:?}");
}

/// The tables of the guide.
pub(crate) fn promises() -> String {
    let mut table = String::from(
        "\n| what has changed of files | `ci/gate files` | with `--coverage all` | with `--baseline` |\n|---|---|---|---|\n",
    );
    for (what, _, [plain, covered, held]) in OF_FILES {
        let _ = writeln!(table, "| {what} | {plain} | {covered} | {held} |");
    }
    table += "\n| what has changed of a toolchain | `matrix` |\n|---|---|\n";
    for (what, _, status) in OF_TOOLCHAINS {
        let _ = writeln!(table, "| {what} | {status} |");
    }
    table
}
