//! What the tests share.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use object::read::archive::ArchiveFile;

/// The top of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The bytes of a committed build.
pub(crate) fn build(id: &str) -> Vec<u8> {
    std::fs::read(repository().join("corpus/builds").join(id)).expect("a build")
}

/// An object of the linkers' cases, such as `v3/amd64/two.o`.
pub(crate) fn link_object(name: &str) -> Vec<u8> {
    let (archive, member) = name.rsplit_once('/').expect("a folder");
    let path = repository().join("corpus/links/objects").join(archive).with_extension("a");
    let bytes = std::fs::read(path).expect("an archive");
    let archive = ArchiveFile::parse(&*bytes).expect("an archive");
    let mut members = archive.members().map(|member| member.expect("a member"));
    let member = members.find(|of| of.name() == member.as_bytes()).expect("an object");
    member.data(&*bytes).expect("an object").to_vec()
}

/// All files below a folder, sorted by name.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Runs the program at the top of the repository.
pub(crate) fn inspect(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sframe-inspect"))
        .current_dir(repository())
        .args(arguments)
        .output()
        .expect("the program runs")
}

/// The exit status of a run that no signal ended.
pub(crate) fn status(output: &Output) -> i32 {
    output.status.code().expect("no signal")
}
