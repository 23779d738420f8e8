//! `explore` on relocatable files.

use std::path::Path;

use rstest::rstest;
use serde_json::Value;
use sframe_engine::{Abi, Base};

use crate::command::{bench, json, status};
use crate::made_objects::{Code, object, row, row_of_leaf, saves_fp};

/// A function of two instructions that returns, and one that moves SP in between.
fn functions(abi: Abi, wrong: i64) -> Vec<Code> {
    let (leaf, frame, rows): (&[u8], &[u8], [u32; 2]) = match abi {
        // nop; ret; push %rax; pop %rcx; ret.
        Abi::Amd64 => (&[0x90, 0xc3], &[0x50, 0x59, 0xc3], [1, 2]),
        // nop; ret; sub sp, sp, #16; add sp, sp, #16; ret.
        Abi::Aarch64 | Abi::Aarch64Be => (
            &[0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6],
            &[0xff, 0x43, 0x00, 0xd1, 0xff, 0x43, 0x00, 0x91, 0xc0, 0x03, 0x5f, 0xd6],
            [4, 8],
        ),
        // nopr; br %r14; aghi %r15,-16; aghi %r15,16; br %r14.
        Abi::S390x => {
            (&[0x07, 0x00, 0x07, 0xfe], &[0xa7, 0xfb, 0xff, 0xf0, 0xa7, 0xfb, 0x00, 0x10, 0x07, 0xfe], [4, 8])
        }
    };
    let pushed = if abi == Abi::Amd64 { 8 } else { 16 };
    let at = |start, offset: i64| match abi {
        Abi::Amd64 => row(start, 8 + offset),
        abi => row_of_leaf(abi, start, offset),
    };
    vec![
        Code::new("leaf", leaf, vec![at(0, 0)]),
        Code::new("frame", frame, vec![at(0, 0), at(rows[0], pushed + wrong), at(rows[1], 0)]),
    ]
}

pub(crate) fn written(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a file");
    path.display().to_string()
}

#[rstest]
#[case(Abi::Amd64)]
#[case(Abi::Aarch64)]
#[case(Abi::Aarch64Be)]
#[case(Abi::S390x)]
fn a_wrong_row_of_an_object_is_proved_and_a_right_one_agrees(#[case] abi: Abi) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "right.o", &object(abi, &functions(abi, 0)));
    let output = bench(&["explore", "--json", &file]);
    let report = json(&output);
    assert_eq!(status(&output), 0, "{report}");
    assert_eq!((&report["summary"]["rows_agree"], &report["summary"]["functions"]), (&4.into(), &2.into()));
    assert_eq!(report["unapplied"], Value::Array(Vec::new()));

    let file = written(folder.path(), "wrong.o", &object(abi, &functions(abi, 8)));
    let output = bench(&["explore", "--json", &file]);
    let report = json(&output);
    assert_eq!(status(&output), 1, "{report}");
    let finding = &report["findings"][0];
    assert_eq!((&finding["verdict"], &finding["certainty"]), (&"wrong-cfa".into(), &"proved".into()));
    assert_eq!(finding["function"], "frame");
    let text = String::from_utf8_lossy(&bench(&["explore", &file]).stdout).into_owned();
    let told = "    the file is relocatable: the addresses of its sections are made up\n";
    assert_eq!(text.matches(told).count(), 1, "{text}");
}

/// What a function of another file does is not known: it keeps the ABI, and may not return.
#[test]
fn functions_of_other_files_are_assumed_to_return() {
    // push %rbp; mov %rsp,%rbp; call there; pop %rbp; ret.
    let bytes = [0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0x5d, 0xc3];
    let rows = |last: i64| vec![row(0, 8), saves_fp(row(1, 16), Base::Cfa, -16), row(10, last)];
    let explore = |symbol, last| {
        let folder = tempfile::tempdir().expect("a folder");
        let function = Code { relocations: vec![(5, symbol)], ..Code::new("calls", &bytes, rows(last)) };
        let file = written(folder.path(), "calls.o", &object(Abi::Amd64, &[function]));
        json(&bench(&["explore", "--json", &file]))
    };
    let report = explore("there", 8);
    assert_eq!((&report["summary"]["rows_agree"], &report["summary"]["functions"]), (&3.into(), &1.into()));
    // One that never returns, by its name.
    let report = explore("abort", 8);
    assert_eq!(report["summary"]["undecided"]["not-reached"], 1, "{report}");
    let report = explore("there", 16);
    let finding = &report["findings"][0];
    assert_eq!((&finding["certainty"], &finding["doubts"]), (&"proved".into(), &Value::Array(Vec::new())));
    let assumed = finding["assumptions"][0].as_str().expect("a text");
    assert!(
        assumed.starts_with("there+0x0 (0x") && assumed.contains(", called at calls+0x4 (0x"),
        "{assumed}"
    );
    assert!(assumed.ends_with(", returns, keeps the ABI"), "{assumed}");
}

#[test]
fn what_could_not_be_relocated_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut bytes = object(
        Abi::Amd64,
        &[Code {
            relocations: vec![(1, "there")],
            ..Code::new("leaf", &[0xe8, 0, 0, 0, 0, 0xc3], vec![row(0, 8)])
        }],
    );
    // R_X86_64_PLT32 becomes a type that no version has.
    let at = bytes.windows(8).position(|word| word == (3_u64 << 32 | 4).to_le_bytes()).expect("a relocation");
    bytes[at] = 200;
    let file = written(folder.path(), "odd.o", &bytes);
    let report = json(&bench(&["explore", "--json", &file]));
    let expected =
        serde_json::json!([{ "relocation": "relocation type 200", "reason": "unknown", "count": 1 }]);
    assert_eq!(report["unapplied"], expected);
    let text = String::from_utf8_lossy(&bench(&["explore", &file]).stdout).into_owned();
    assert!(text.contains("\n    not relocated: relocation type 200 is not known (1 time)\n"), "{text}");
}

#[test]
fn an_object_that_cannot_be_linked_is_one_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = object(Abi::Amd64, &functions(Abi::Amd64, 0));
    let mut without_rows = functions(Abi::Amd64, 0);
    without_rows.iter_mut().for_each(|function| function.rows.clear());
    let mut elsewhere = bytes.clone();
    elsewhere[18] = 40;
    for (file, message) in [
        (bytes[..bytes.len() - 100].to_vec(), "the section and symbol tables can't be read"),
        (elsewhere, "the file is for a machine that SFrame does not know"),
    ] {
        let file = written(folder.path(), "file.o", &file);
        let output = bench(&["explore", &file]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((status(&output), error.lines().count()), (2, 1), "{error}");
        assert!(error.contains(message) && output.stdout.is_empty(), "{error}");
    }
}
