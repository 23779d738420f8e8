//! Files that are read in parts: what is said of them is the same, and a large file
//! takes no more memory than what is read of it.

use std::fs::File;
use std::process::Command;

use rayon::prelude::*;
use sframe_elf::sframe_section::Input;
use sframe_elf::source::{Contents, Source};
use sframe_engine::Version;
use sframe_inspect::convert::Request;
use sframe_inspect::convert::layout::Layout;
use sframe_inspect::diff::diff_file;
use sframe_inspect::dump::{Document, Dump, text};
use sframe_inspect::lint::lint_file;
use sframe_kit::json::pretty;
use sframe_kit::text::Text;

use crate::common::{files, repository};

/// All that is said of a file.
fn said(source: Source<'_>) -> Vec<Result<String, String>> {
    let dump = |write: fn(&Input<'_>, &Dump<'_>) -> String| {
        let input = Input::open(source, None).map_err(|error| error.to_string())?;
        let dump = Dump::decode(&input.data, input.address).map_err(|error| error.to_string())?;
        Ok(write(&input, &dump))
    };
    let request = Request { version: Version::V3, byte_order: None, layout: Layout::default() };
    let converted = [request.convert(source), request.synthesize(source)].map(|converted| {
        let converted = converted.map_err(|error| error.to_string())?;
        let file = converted.file().map_err(|error| error.to_string());
        Ok(format!("{:?} {:?}", converted.section().map_err(|error| error.to_string()), file))
    });
    let lint = lint_file(source, "file").map_err(|error| error.to_string());
    let diff = diff_file(source, "file").map_err(|error| error.to_string());
    let mut said = vec![
        dump(|input, dump| text("file", input.format, dump).collect::<Text>().to_string()),
        dump(|input, dump| pretty(&Document::new("file", input, dump)).expect("JSON").to_string()),
        lint.map(|report| pretty(&report).expect("JSON").to_string()),
        diff.map(|report| pretty(&report).expect("JSON").to_string()),
    ];
    said.extend(converted);
    said
}

#[test]
fn a_file_that_is_read_in_parts_gives_the_same_results_as_one_in_memory() {
    let folders = ["corpus/builds/gnu-2.47", "corpus/builds/llvm-22", "corpus/dumps/odd"];
    let paths: Vec<_> = folders.iter().flat_map(|folder| files(&repository().join(folder))).collect();
    let sound: Vec<usize> = paths
        .par_iter()
        .map(|path| {
            let bytes = std::fs::read(path).expect("a file");
            let file = File::open(path).expect("a file");
            let contents = Contents::in_parts(file, bytes.len() as u64);
            let (in_memory, in_parts) = (said(Source::from(&bytes)), said(Source::from(&contents)));
            assert!(in_memory == in_parts, "{}", path.display());
            assert!(contents.failure().is_none(), "{}", path.display());
            in_parts.iter().filter(|said| said.is_ok()).count()
        })
        .collect();
    let all = sound.iter().filter(|count| **count == 6).count();
    assert!(sound.len() > 500 && all * 10 > sound.len() * 8, "{all} of {}", sound.len());
}

/// The file is sparse: on the disk it is small.
#[cfg(target_os = "linux")]
#[test]
fn a_large_file_takes_no_more_memory_than_what_is_read_of_it() {
    // In KiB. A process reserves much that it does not use.
    const MEMORY: u32 = 1 << 20;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large");
    let build = repository().join("corpus/builds/gnu-2.47/amd64/recursion.O2-pie");
    std::fs::copy(&build, &path).expect("a copy");
    let inspect = |arguments: &[&str], len: u64| {
        let file = File::options().write(true).open(&path).expect("a file");
        file.set_len(len).expect("room for what is not there");
        let limited = format!("ulimit -v {MEMORY} && exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_sframe-inspect")]).args(arguments).arg(&path);
        command.output().expect("a shell")
    };
    let small = std::fs::metadata(&build).expect("a build").len();
    let large = (3 << 30) + 1;
    for arguments in [&["dump"][..], &["dump", "--json"], &["lint"], &["diff"]] {
        let expected = inspect(arguments, small);
        assert!(!expected.stdout.is_empty(), "{arguments:?}");
        assert_eq!(inspect(arguments, large), expected, "{arguments:?}");
    }
    // All of it would be too much.
    let convert = ["convert", "--to=3", "--output=/dev/null"];
    assert!(inspect(&convert, small).status.success());
    assert!(!inspect(&convert, large).status.success());
}
