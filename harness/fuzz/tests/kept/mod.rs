//! What libFuzzer has kept for the code that it reaches, in an archive for each target.

use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use tar::Archive;

/// The inputs kept for a target.
pub(crate) fn inputs(target: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{target}.tar.gz"));
    let file = std::fs::File::open(path).expect("an archive");
    let mut archive = Archive::new(GzDecoder::new(file));
    let files = archive.entries().expect("members").map(|member| member.expect("a member"));
    files
        .filter(|member| member.header().entry_type().is_file())
        .map(|mut member| {
            let mut input = Vec::new();
            member.read_to_end(&mut input).expect("an input");
            input
        })
        .collect()
}
