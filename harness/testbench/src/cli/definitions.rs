//! Toolchains on the command line: files, or names of those of the corpus.

use std::path::{Path, PathBuf};

use sframe_corpus::corpus::{Error, Toolchain};
use sframe_inspect::command::Failure;
use sframe_judge::examine::stop::StopReason;
use sframe_judge::vocabulary::suggest::hint_or_all;
use sframe_suite::suite::SuiteError;

use super::interrupt::stopped;

/// Reads the definition of a toolchain that compiles: a file, or the name of one in `all`, which
/// are those of the corpus.
pub(super) fn load(given: &Path, corpus: &Path, all: &[Toolchain]) -> Result<(PathBuf, Toolchain), Failure> {
    let path = path_of(given, corpus, all)?;
    let toolchain = Toolchain::load(&path).map_err(failure)?;
    if toolchain.derive.is_some() {
        let message = "its builds are derived: there is nothing to compile";
        return Err(Failure::unusable(format!("error: {}: {message}", path.display())));
    }
    Ok((path, toolchain))
}

/// Returns the path of a file, or of the definition of a named toolchain.
fn path_of(given: &Path, corpus: &Path, all: &[Toolchain]) -> Result<PathBuf, Failure> {
    let Some(name) = given.to_str().filter(|name| !name.contains('/') && !given.exists()) else {
        return Ok(given.to_owned());
    };
    let names = || all.iter().map(|toolchain| toolchain.name.as_str());
    if names().any(|known| known == name) {
        return Ok(Toolchain::path_in(corpus, name));
    }
    let beside = corpus.join("matrix").join(format!("{name}.yaml"));
    if beside.is_file() {
        return Ok(beside);
    }
    let message = format!("error: {name} is neither a file nor a toolchain of the corpus");
    let others = std::fs::read_dir(corpus.join("matrix")).into_iter().flatten().flatten();
    let others: Vec<String> = others
        .filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".yaml")?.to_owned()))
        .collect();
    Err(Failure::unusable(message + &hint_or_all(name, names().chain(others.iter().map(String::as_str)))))
}

/// Output that can't be written is the bench's failure; all else is the
/// input's.
pub(super) fn failure(error: Error) -> Failure {
    match error {
        Error::Write { .. } => Failure::broken(format!("error: {}", SuiteError::from(error))),
        Error::Yaml(error) => error.into(),
        Error::Interrupted => stopped(StopReason::Interrupted),
        error => SuiteError::from(error).into(),
    }
}
