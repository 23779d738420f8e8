//! What an image's tables cost, and what they lack.

use std::collections::BTreeMap;

use crate::target::{MadeSection, Module, Origin};
use serde::{Deserialize, Serialize};
use sframe_engine::{Version, write};
use sframe_inspect::diff::{Reason, Uncovered, diff_file};

/// Sizes of an image's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct ImageSizes {
    /// Code, in bytes.
    pub code: u64,
    /// `.sframe`, or what was made in its place, in bytes.
    pub sframe: u64,
    /// Its FDEs.
    pub sframe_functions: u64,
    /// Its rows.
    pub sframe_rows: u64,
    /// `.eh_frame`, in bytes.
    pub eh_frame: u64,
    /// `.eh_frame_hdr`, in bytes.
    pub eh_frame_hdr: u64,
    /// FDEs of the call frame information.
    pub cfi_functions: u64,
    /// The functions of the section as each version writes them that can express some.
    #[serde(default)]
    pub versions: [VersionSize; Version::ALL.len()],
}

/// What the functions of a section cost in a version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct VersionSize {
    /// The section, in bytes.
    pub bytes: u64,
    /// The functions that the version can express.
    pub functions: u64,
    /// Their rows.
    pub rows: u64,
}

impl VersionSize {
    /// The size that a section has in a version; nothing if the version does not know the ABI.
    fn of(section: &write::Section, version: Version) -> Self {
        let target = write::Target { version, byte_order: section.abi.byte_order() };
        let Ok(converted) = section.convert(target) else { return Self::default() };
        let functions = &converted.section.functions;
        // Starts are written relative to the section: it stays below its functions.
        let address = functions.iter().map(|function| function.start).min().unwrap_or(0);
        let Ok(bytes) = converted.section.write(address) else { return Self::default() };
        Self {
            bytes: bytes.len() as u64,
            functions: functions.len() as u64,
            rows: functions.iter().map(|function| function.rows.len() as u64).sum(),
        }
    }

    const fn add(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.functions = self.functions.saturating_add(other.functions);
        self.rows = self.rows.saturating_add(other.rows);
    }
}

impl ImageSizes {
    /// Measures those of an image.
    #[must_use]
    pub fn of(module: &Module<'_>) -> Self {
        let header = module.section.as_ref().map(|section| *section.header());
        let made = module.made().and_then(Result::ok).map(MadeSection::size);
        let own = module.subject.sframe.map(|section| section.data.len());
        let section = module.section.as_ref().and_then(|section| write::Section::from_read(section).ok());
        let versions = section.map(|section| Version::ALL.map(|version| VersionSize::of(&section, version)));
        Self {
            code: module.subject.code_ranges().map(|code| code.len).sum(),
            sframe: made.or(own).unwrap_or(0) as u64,
            sframe_functions: header.map_or(0, |header| header.num_fdes.into()),
            sframe_rows: header.map_or(0, |header| header.num_fres.into()),
            eh_frame: module.subject.section_size(".eh_frame").unwrap_or(0),
            eh_frame_hdr: module.subject.section_size(".eh_frame_hdr").unwrap_or(0),
            cfi_functions: module.cfi().map_or(0, |cfi| cfi.fdes().len() as u64),
            versions: versions.unwrap_or_default(),
        }
    }

    /// Adds those of another image.
    pub fn add(&mut self, other: &Self) {
        self.versions.iter_mut().zip(&other.versions).for_each(|(own, other)| own.add(other));
        self.code = self.code.saturating_add(other.code);
        self.sframe = self.sframe.saturating_add(other.sframe);
        self.sframe_functions = self.sframe_functions.saturating_add(other.sframe_functions);
        self.sframe_rows = self.sframe_rows.saturating_add(other.sframe_rows);
        self.eh_frame = self.eh_frame.saturating_add(other.eh_frame);
        self.eh_frame_hdr = self.eh_frame_hdr.saturating_add(other.eh_frame_hdr);
        self.cfi_functions = self.cfi_functions.saturating_add(other.cfi_functions);
    }
}

/// Functions that have call frame information and no FDE in `.sframe`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Skipped {
    /// Their number.
    pub functions: u64,
    /// Their code, in bytes. `None` if it is not known.
    pub bytes: Option<u64>,
    /// How many of them there are for each reason; some functions that could not be converted have
    /// several.
    pub reasons: BTreeMap<String, u64>,
}

impl Skipped {
    /// Returns what a section lacks: of the file's own as `diff` finds it, of one that was made as
    /// the conversion has said. `None` if there is no section, or nothing to compare it with.
    #[must_use]
    pub fn of(module: &Module<'_>) -> Option<Self> {
        match (Origin::of(module), module.made()) {
            (Origin::Sframe, _) => {
                let report = diff_file(module.image.bytes(), "").ok()?;
                Some(Self::of_uncovered(&report.uncovered))
            }
            (Origin::EhFrame, Some(Ok(made))) => Some(Self {
                functions: made.lacks.left_out,
                bytes: None,
                reasons: made.lacks.reasons.clone(),
            }),
            _ => None,
        }
    }

    /// Adds what another section lacks.
    pub fn add(&mut self, other: &Self) {
        self.functions = self.functions.saturating_add(other.functions);
        self.bytes = self.bytes.zip(other.bytes).map(|(bytes, others)| bytes.saturating_add(others));
        for (reason, count) in &other.reasons {
            let sum = self.reasons.entry(reason.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    fn of_uncovered(uncovered: &[Uncovered]) -> Self {
        let mut reasons = BTreeMap::new();
        for Uncovered { reason, .. } in uncovered {
            let reason = reason.map_or("nothing in its CFI prevents an FDE", Reason::text);
            *reasons.entry(reason.to_owned()).or_default() += 1;
        }
        let bytes = uncovered.iter().map(|function| function.extent.size).fold(0, u64::saturating_add);
        Self { functions: uncovered.len() as u64, bytes: Some(bytes), reasons }
    }
}
