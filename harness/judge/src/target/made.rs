//! Sections made from `.eh_frame`, in memory: for programs whose toolchain wrote
//! none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_elf::debug_file::DebugFile;
use sframe_elf::find_sframe::find_sframe;
use sframe_engine::Version;
use sframe_inspect::convert::layout::Layout;
use sframe_inspect::convert::{ConvertError, Request};
use sframe_kit::text::counted;

use super::files::Files;

/// Which section of an image is under test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum SectionSource {
    /// Its `.sframe` section.
    #[default]
    Sframe,
    /// The section that its `.eh_frame` implies.
    EhFrame,
    /// Its `.sframe` section or, if it has none, the one that its `.eh_frame`
    /// implies.
    Either,
}

/// The version of made sections: the one that can express the most.
const VERSION: Version = Version::LATEST;

/// The address of made sections in their files. They are in no file, and version 3
/// reaches any function from there.
pub(super) const ADDRESS: u64 = 0;

/// At most this many different reasons are distinguished, and as many unreadable parts
/// listed: in a malformed file, each function may have its own.
const MOST_REASONS: usize = 100;

/// A section made for an image, or why there is none.
pub(super) type Made = Result<MadeSection, Arc<ConvertError>>;

/// The sections made for the files of a process.
#[derive(Debug, Default)]
pub struct MadeSections {
    /// By the library's name, which is empty for the executable.
    sections: BTreeMap<String, Made>,
}

/// A section made from `.eh_frame`.
#[derive(Debug)]
pub struct MadeSection {
    pub(super) data: Vec<u8>,
    /// What it lacks.
    pub lacks: Lacks,
}

/// What a made section lacks of the call frame information.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lacks {
    /// Number of functions that could not be carried over.
    pub left_out: u64,
    /// The reasons, each with its number of functions. A function may have several.
    pub reasons: BTreeMap<String, u64>,
    /// The parts of the information that can't be read, and may be about any number of functions.
    pub unread: Vec<String>,
    /// How many others have information that can't be read. They are among those left out.
    #[serde(default)]
    pub unread_functions: u64,
}

impl Lacks {
    /// What of the information can't be read, if anything.
    #[must_use]
    pub fn what_is_unread(&self) -> Option<String> {
        let of_functions = || {
            let functions = Some(self.unread_functions).filter(|functions| *functions > 0)?;
            Some(format!("the call frame information of {} can't be read", counted(functions, "function")))
        };
        self.unread.first().cloned().or_else(of_functions)
    }
}

impl MadeSections {
    /// Makes the sections that `source` demands.
    #[must_use]
    pub fn of(files: &Files, source: SectionSource) -> Self {
        Self::of_each(files.iter().map(|(name, bytes)| (name, bytes, files.debug.get(name))), source)
    }

    /// Makes the section of a single file.
    #[must_use]
    pub fn alone(file: &[u8], debug: Option<&DebugFile>, source: SectionSource) -> Self {
        Self::of_each(std::iter::once(("", file, debug)), source)
    }

    /// Makes the sections that `source` demands of files with names, and their separate debug files.
    #[must_use]
    pub fn of_each<'f>(
        files: impl Iterator<Item = (&'f str, &'f [u8], Option<&'f DebugFile>)>,
        source: SectionSource,
    ) -> Self {
        let is_wanted = |bytes: &[u8]| match source {
            SectionSource::Sframe => false,
            SectionSource::EhFrame => true,
            // A file that can't be read gets its error when it is opened.
            SectionSource::Either => find_sframe(bytes).is_ok_and(|found| found.is_none()),
        };
        let wanted = files.filter(|(_, bytes, _)| is_wanted(bytes));
        let made = wanted.map(|(name, bytes, debug)| (name.to_owned(), MadeSection::of(bytes, debug)));
        Self { sections: made.collect() }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Made> {
        self.sections.get(name)
    }
}

impl MadeSection {
    /// Its size in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.data.len()
    }

    fn of(file: &[u8], debug: Option<&DebugFile>) -> Made {
        let request = Request { version: VERSION, byte_order: None, layout: Layout::default() };
        let converted = request.synthesize_at(file, ADDRESS, debug)?;
        let mut lacks = Lacks::default();
        // Each row of a function may be listed, and several have the same reason.
        let refusals = converted.left_out.iter().map(|gone| (gone.start, gone.end, gone.reason.as_str()));
        let refusals: BTreeSet<_> = refusals.collect();
        let functions: BTreeSet<_> = refusals.iter().map(|(start, end, _)| (start, end)).collect();
        lacks.left_out = functions.len() as u64;
        for (.., reason) in refusals {
            let is_full = lacks.reasons.len() >= MOST_REASONS && !lacks.reasons.contains_key(reason);
            let reason = if is_full { "other reasons" } else { reason };
            *lacks.reasons.entry(reason.to_owned()).or_default() += 1;
        }
        lacks.unread = converted.errors.iter().take(MOST_REASONS).map(ToString::to_string).collect();
        lacks.unread_functions = converted.left_out.iter().filter(|gone| gone.is_unread).count() as u64;
        Ok(Self { data: converted.section()?, lacks })
    }
}
