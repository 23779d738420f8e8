//! From files to checked specs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use include_dir::Dir;

use super::check::{check, check_clauses};
use super::{Faults, Spec};
use crate::spec::catalogue::Catalogue;
use crate::yaml::{Error, Source};

/// A folder of specs.
#[derive(Debug)]
pub struct SpecFolder {
    /// The specs with their texts.
    pub specs: Vec<(Spec, Source)>,
    /// The faults that their known failures may name.
    pub faults: Faults,
}

/// The YAML file among the specs that is not a spec: the clause catalogue.
const CLAUSES: &str = "clauses.yaml";

impl Spec {
    /// Reads and checks a spec file.
    ///
    /// # Errors
    ///
    /// The first mistake, pointing at its line. [`load_dir`] gives all.
    pub fn load(path: &Path) -> Result<(Self, Source), Error> {
        let source = Source::read(path)?;
        Ok((Self::from_source(&source)?, source))
    }

    /// Parses and checks a spec.
    ///
    /// # Errors
    ///
    /// The first mistake, pointing at its line.
    pub fn from_source(source: &Source) -> Result<Self, Error> {
        let spec = source.parse()?;
        match check(&spec, source).into_iter().next() {
            Some(error) => Err(error),
            None => Ok(spec),
        }
    }
}

/// Reads and checks all specs of a folder, in the order of their file names:
/// every `*.yaml` but the clause catalogue, `clauses.yaml`, which has the IDs
/// that their `clauses` may name, and the pages in `faults`, which their `known`
/// failures may name.
///
/// # Errors
///
/// Every mistake of every file; a folder without specs.
pub fn load_dir(dir: &Path) -> Result<SpecFolder, Vec<Error>> {
    let (folder, errors) = load_what_can_be(dir)?;
    if errors.is_empty() { Ok(folder) } else { Err(errors) }
}

/// The YAML files of a folder that the program has in it, as they were when it was built.
pub fn built_in_files(folder: &'static Dir<'static>) -> impl Iterator<Item = Source> {
    let files = folder.files().filter(|file| file.path().extension().is_some_and(|end| end == "yaml"));
    files.map(|file| Source::new(file.path(), file.contents_utf8().unwrap_or_default()))
}

/// Loads the specs without mistakes, and returns the mistakes in the others.
///
/// # Errors
///
/// The folder can't be read, or has no file of a spec.
pub fn load_what_can_be(dir: &Path) -> Result<(SpecFolder, Vec<Error>), Vec<Error>> {
    let mut specs = Vec::new();
    let mut errors = Vec::new();
    let files = yaml_files(dir).map_err(|error| vec![error])?;
    let path = dir.join(CLAUSES);
    let catalogue = match path.exists().then(|| Catalogue::load(&path)).transpose() {
        Ok(catalogue) => Some(catalogue),
        Err(mistakes) => {
            errors.extend(mistakes);
            None
        }
    };
    let faults = match Faults::load(dir) {
        Ok(faults) => Some(faults),
        Err(mistakes) => {
            errors.extend(mistakes);
            None
        }
    };
    for path in files.into_iter().filter(|path| path.file_name().is_some_and(|name| name != CLAUSES)) {
        match load_all(&path) {
            Ok((mut spec, source)) => {
                let mut mistakes = Vec::new();
                if let Some(catalogue) = &catalogue {
                    mistakes.extend(check_clauses(&spec, &source, catalogue.as_ref()));
                }
                if let Some(faults) = &faults {
                    mistakes.extend(faults.explain(&mut spec.known, &source).err().into_iter().flatten());
                }
                if mistakes.is_empty() {
                    specs.push((spec, source));
                } else {
                    errors.extend(mistakes);
                }
            }
            Err(mistakes) => errors.extend(mistakes),
        }
    }
    if specs.is_empty() && errors.is_empty() {
        let help = Some("specs are files named *.yaml".into());
        return Err(vec![Error::of_file(dir, "holds no specs".into(), help)]);
    }
    Ok((SpecFolder { specs, faults: faults.unwrap_or_default() }, errors))
}

fn load_all(path: &Path) -> Result<(Spec, Source), Vec<Error>> {
    let source = Source::read(path).map_err(|error| vec![error])?;
    let spec = source.parse().map_err(|error| vec![error])?;
    let mistakes = check(&spec, &source);
    if mistakes.is_empty() { Ok((spec, source)) } else { Err(mistakes) }
}

/// The YAML files of a folder, in the order of their names.
///
/// # Errors
/// The folder can't be read, or a file has another extension for YAML.
pub fn yaml_files(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |error: io::Error| Error::of_file(dir, format!("cannot be read: {error}"), None);
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        // Editors leave hidden files beside those they edit.
        if name.starts_with('.') || path.is_dir() {
            continue;
        }
        if name.ends_with(".yml") {
            let help = Some("it would be ignored under this name".into());
            return Err(Error::of_file(&path, "must be named *.yaml".into(), help));
        }
        if name.ends_with(".yaml") && !name.ends_with(".schema.yaml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
