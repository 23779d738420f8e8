//! The files of the processes that were recorded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use object::Object as _;
use sframe_elf::debug_file::DebugFile;
use sframe_elf::file::{MAX_BYTES, read};
use sframe_judge::target::{MadeSections, SectionSource, Target, TargetError};
use sframe_machine::{Image, LoadError, Loaded};

use crate::recording::{Process, Recording, place};

/// Files that are not those that were recorded.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} has the build ID {found}, and the one that was recorded {recorded}: --root DIR is where the files of that \
     machine are", path.display()
)]
pub struct OtherBuild {
    path: PathBuf,
    found: String,
    recorded: String,
}

/// Files below a root, and what was made of them.
#[derive(Debug, Default)]
pub struct Files {
    read: BTreeMap<String, Vec<u8>>,
    debug: BTreeMap<String, DebugFile>,
    /// Those that could not be read, with the reason.
    pub missing: BTreeMap<String, String>,
}

impl Files {
    /// Reads all that was recorded, from where [`read::recording`](crate::read::recording) would.
    ///
    /// # Errors
    /// A file is another one.
    pub fn read(recording: &Recording, root: &Path, path: &Path) -> Result<Self, OtherBuild> {
        let mut files = Self::default();
        for mapping in recording.processes.iter().flat_map(|process| &process.mappings) {
            let name = &mapping.path;
            let is_known = files.read.contains_key(name) || files.missing.contains_key(name);
            if is_known || !mapping.is_of_file() {
                continue;
            }
            let place = place(name, root, path);
            let bytes = match read(&place, MAX_BYTES) {
                Ok(bytes) => bytes,
                Err(error) => {
                    files.missing.insert(name.clone(), error.to_string());
                    continue;
                }
            };
            let found = object::File::parse(&bytes[..]).ok();
            let found = found.as_ref().and_then(|file| file.build_id().ok().flatten());
            if let Some(recorded) = &mapping.build_id
                && found.is_some_and(|found| !is_same(found, recorded))
            {
                let found = found.map(hexadecimal).unwrap_or_default();
                return Err(OtherBuild { path: place, found, recorded: hexadecimal(recorded) });
            }
            if let Ok(Some(debug)) = DebugFile::find(&place, &bytes, root) {
                files.debug.insert(name.clone(), debug);
            }
            files.read.insert(name.clone(), bytes);
        }
        Ok(files)
    }

    /// Makes the sections that `source` demands.
    #[must_use]
    pub fn make(&self, source: SectionSource) -> MadeSections {
        let files = self.read.iter().map(|(path, bytes)| (&**path, &bytes[..], self.debug.get(path)));
        MadeSections::of_each(files, source)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read.is_empty()
    }

    /// Opens those of a process, each where it was mapped. Returns also which can't be used, with the reason. There is no
    /// target if none can.
    pub fn open<'f>(
        &'f self,
        process: &Process,
        made: &'f MadeSections,
    ) -> (Option<Target<'f>>, Vec<(String, String)>) {
        let mut left_out = Vec::new();
        let mut files: Vec<Loaded<'f>> = Vec::new();
        for mapping in &process.mappings {
            let Some((path, bytes)) = self.read.get_key_value(&mapping.path) else { continue };
            match Image::bias_of(bytes, mapping.range.start, mapping.offset) {
                Some(bias) => {
                    let file = Loaded { name: path, bytes, bias };
                    if !files.iter().any(|other| (other.name, other.bias) == (file.name, file.bias)) {
                        files.push(file);
                    }
                }
                None => left_out.push((path.clone(), "it has no code where it was mapped".to_owned())),
            }
        }
        while !files.is_empty() {
            let wrong = match Target::mapped(&files, Some(made), |name| self.debug.get(name)) {
                Ok(target) => return (Some(target), left_out),
                Err(TargetError::Load(LoadError::Overlap { second, first, address })) => {
                    (second, format!("it is where {first} is, at {address:#x}"))
                }
                Err(TargetError::Load(LoadError::Library { name, source })) => (name, source.to_string()),
                Err(TargetError::Library { name, source }) => (name, source.to_string()),
                Err(error) => (files[0].name.to_owned(), error.to_string()),
            };
            let before = files.len();
            files.retain(|file| file.name != wrong.0);
            if files.len() == before {
                files.pop();
            }
            left_out.push(wrong);
        }
        (None, left_out)
    }
}

/// Recordings have build IDs in a field of 20 bytes: shorter ones may be followed by zeroes.
fn is_same(found: &[u8], recorded: &[u8]) -> bool {
    let len = found.len().min(recorded.len());
    found[..len] == recorded[..len] && recorded[len..].iter().all(|byte| *byte == 0)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_build_id_is_followed_by_zeroes() {
        assert!(is_same(&[1, 2], &[1, 2]) && is_same(&[1, 2], &[1, 2, 0, 0]));
        assert!(!is_same(&[1, 2], &[1, 3]) && !is_same(&[1, 2], &[1, 2, 0, 3]));
    }
}
