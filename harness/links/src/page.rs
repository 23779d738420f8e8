//! Pages of faults that cases show: `corpus/links/faults`.
//!
//! A fault that a small program shows has a page in `specs/faults` instead, with that program.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::NaiveDate;
use include_dir::{Dir, include_dir};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_corpus::spec::{Upstream, built_in_files, yaml_files};
use sframe_corpus::yaml::{Error, Source};

/// A fault of a linker, or of what rewrites files.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkPage {
    /// Its name: that of its file.
    #[serde(skip_deserializing)]
    pub name: String,
    /// What is wrong, in a line without a full stop.
    #[schemars(length(min = 1, max = 100))]
    pub title: String,
    /// Who needs the fix, and in which versions.
    #[schemars(length(min = 1))]
    pub component: String,
    /// The day on which its page was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date"))]
    pub found: Option<NaiveDate>,
    /// What the component does, and what it should do.
    #[schemars(length(min = 20))]
    pub summary: String,
    /// What is known about it where the component is developed.
    pub upstream: Upstream,
}

/// The pages as they were when this was built.
static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../corpus/links/faults");

/// All of them, by name.
pub type LinkPages = BTreeMap<String, LinkPage>;

impl LinkPage {
    /// Reads those of `corpus/links`. There may be none.
    ///
    /// # Errors
    /// A page can't be read, or is malformed.
    pub fn load(folder: &Path) -> Result<LinkPages, Error> {
        let folder = folder.join("faults");
        let files = if folder.is_dir() { yaml_files(&folder)? } else { Vec::new() };
        files.iter().map(|path| Self::parse(&Source::read(path)?)).collect()
    }

    /// The pages that this program has in it, for where there is no clone.
    ///
    /// # Errors
    /// As for [`Self::load`].
    pub fn built_in() -> Result<LinkPages, Error> {
        built_in_files(&BUILT_IN).map(|page| Self::parse(&page)).collect()
    }

    /// Reads a page. Returns it with its name.
    fn parse(source: &Source) -> Result<(String, Self), Error> {
        let mut page: Self = source.parse()?;
        let texts =
            [("title", &*page.title, 1), ("component", &*page.component, 1), ("summary", &*page.summary, 20)];
        for (key, text, least) in texts {
            if text.trim().chars().count() < least {
                let message = format!("at least {least} characters are needed");
                return Err(source.error_at(source.span(&[key]), message, None::<String>));
            }
        }
        page.name = source.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok((page.name.clone(), page))
    }
}
