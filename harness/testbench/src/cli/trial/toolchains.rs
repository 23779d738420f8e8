//! Which toolchains `try` builds with.

use std::path::{Path, PathBuf};

use sframe_corpus::corpus::{AttemptOptions, Attempts, Error, Toolchain, WorkFolder};
use sframe_inspect::command::Failure;

use super::super::definitions::{self, failure};

/// The definition of this machine's own compiler, in the folder of the corpus.
const OF_THIS_MACHINE: &str = "matrix/host.yaml";

/// A toolchain that is ready to build.
pub(super) struct Opened<'w> {
    pub(super) attempts: Attempts<'w>,
    /// Its definition.
    pub(super) file: String,
}

/// Opens the toolchains that are given, or else those that are there.
pub(super) fn open<'w>(
    given: &[PathBuf],
    corpus: &Path,
    all: &[Toolchain],
    options: &AttemptOptions,
    work: &'w WorkFolder,
) -> Result<Vec<Opened<'w>>, Failure> {
    let begin = |path: &Path, toolchain: Toolchain| {
        let attempts = Attempts::open(toolchain, path, work, options.clone())?;
        Ok(Opened { attempts, file: path.display().to_string() })
    };
    if !given.is_empty() {
        let mut opened: Vec<Opened<'w>> = Vec::new();
        for given in given {
            let (path, toolchain) = definitions::load(given, corpus, all)?;
            if opened.iter().any(|other| other.attempts.toolchain().name == toolchain.name) {
                let message = format!("error: the toolchain `{}` is given twice", toolchain.name);
                return Err(Failure::unusable(message));
            }
            opened.push(begin(&path, toolchain).map_err(failure)?);
        }
        return Ok(opened);
    }
    let host = corpus.join(OF_THIS_MACHINE);
    if host.is_file() {
        let toolchain = Toolchain::load(&host).map_err(failure)?;
        match begin(&host, toolchain) {
            Ok(opened) if opened.attempts.count() > 0 => return Ok(vec![opened]),
            // Another toolchain may have the ABI.
            Ok(_) | Err(Error::NoTools { .. }) => {}
            Err(error) => return Err(failure(error)),
        }
    }
    let mut opened = Vec::new();
    for toolchain in all.iter().filter(|toolchain| toolchain.derive.is_none()) {
        match begin(&Toolchain::path_in(corpus, &toolchain.name), toolchain.clone()) {
            Ok(one) => opened.push(one),
            Err(Error::NoRoot { .. } | Error::NoTools { .. }) => {}
            Err(error) => return Err(failure(error)),
        }
    }
    if opened.is_empty() {
        let message = format!(
            "error: no compiler: that of {} can't be started or does not make this, and {} has no toolchain; \
             --toolchain names another (corpus/matrix/template.yaml)",
            host.display(),
            options.toolchains_dir.display()
        );
        return Err(Failure::unusable(message));
    }
    Ok(opened)
}
