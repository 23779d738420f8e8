//! Extracts the `.sframe` sections of ELF files, as seeds for the fuzz targets.
//!
//! `cargo run -p sframe-fuzz --example seeds -- OUT FOLDER` goes through all
//! files below FOLDER and writes one file for each distinct section into
//! `OUT/<target>/`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use object::{Object, ObjectSection};
use sframe_fuzz::{PROPERTIES, STATE_SIZE};

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

fn extract(out: &Path, folder: &Path) -> io::Result<usize> {
    let mut paths = Vec::new();
    files(folder, &mut paths)?;
    let mut sections = BTreeSet::new();
    for path in paths {
        let bytes = fs::read(path)?;
        let Ok(elf) = object::File::parse(&*bytes) else { continue };
        let Some(section) = elf.section_by_name(".sframe") else { continue };
        sections.extend(section.data().map(<[u8]>::to_vec));
    }
    for (target, _) in PROPERTIES {
        let folder = out.join(target);
        fs::create_dir_all(&folder)?;
        let state = if target == "step" { vec![0; STATE_SIZE] } else { Vec::new() };
        for (number, section) in sections.iter().enumerate() {
            fs::write(folder.join(format!("section-{number}")), [&*state, section].concat())?;
        }
    }
    Ok(sections.len())
}

/// Writes complete files, for the targets that read them: the smaller builds, and the specs
/// beside the corpus.
#[cfg(feature = "files")]
fn copy(out: &Path, folder: &Path) -> io::Result<()> {
    /// Mutating larger files takes long to have an effect.
    const LIMIT: u64 = 9000;
    for (target, folder) in [("load", folder.to_owned()), ("spec", folder.join("../../specs"))] {
        let mut paths = Vec::new();
        files(&folder, &mut paths)?;
        fs::create_dir_all(out.join(target))?;
        for (number, path) in paths.iter().enumerate() {
            if fs::metadata(path)?.len() <= LIMIT {
                fs::copy(path, out.join(target).join(format!("file-{number}")))?;
            }
        }
    }
    Ok(())
}

#[cfg(not(feature = "files"))]
fn copy(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [out, folder] = &*arguments else {
        eprintln!("usage: seeds OUT FOLDER");
        return ExitCode::from(2);
    };
    let (out, folder) = (Path::new(out), Path::new(folder));
    match copy(out, folder).and_then(|()| extract(out, folder)) {
        Ok(0) => {
            eprintln!("there is no section below {}", folder.display());
            ExitCode::FAILURE
        }
        Ok(count) => {
            println!("{count} sections");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
