//! The other forms of a kernel's code: explored as the file is, with what the kernel patches in place.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_elf::kernel::{Form, FormKind, KernelCode, Patch};

use super::certainty::Certainty;
use super::exploration::{Exploration, ExploredFinding, FoundPlace};
use super::file::ExploredFile;
use super::roots::Roots;
use crate::target::{Linked, SectionSource, Target};

/// A file in another form.
#[derive(Debug)]
pub struct PatchedFile {
    /// Which form.
    pub kind: FormKind,
    /// The file.
    pub file: ExploredFile,
    /// Where it is patched, by loaded addresses.
    places: Vec<u64>,
}

/// What exploring another form has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ExploredForm {
    /// Which form.
    pub form: FormKind,
    /// The places that are patched.
    pub places: u64,
    /// Functions explored: those with such a place.
    pub functions: u64,
    /// Rows with which something was compared.
    pub rows_checked: u64,
    /// Rows that are proved to be wrong, also in the form of the file.
    pub rows_wrong: u64,
}

impl PatchedFile {
    /// Returns the other forms of a file, each made when it is asked for, since it is as large as the file; and what could
    /// not be read of the tables that have them.
    pub fn of<'f>(
        file: &'f ExploredFile,
        target: &'f Target<'_>,
        source: SectionSource,
    ) -> (impl Iterator<Item = Self> + 'f, Vec<String>) {
        let KernelCode { forms, unread, .. } = target.executable().kernel_code();
        let forms = forms.iter().filter_map(move |form| Self::patched(file, target, source, form));
        (forms, unread.clone())
    }

    fn patched(
        file: &ExploredFile,
        target: &Target<'_>,
        source: SectionSource,
        Form { kind, patches }: &Form,
    ) -> Option<Self> {
        let module = target.executable();
        let mut bytes = file.linked().to_vec();
        let mut places = Vec::new();
        for Patch { address, bytes: code } in patches {
            let loaded = module.loaded(Linked(*address)).0;
            let segment = module
                .image
                .segments
                .iter()
                .find(|segment| loaded.wrapping_sub(segment.address) < segment.file.len() as u64);
            let Some(segment) = segment else { continue };
            let start = segment.file.start + usize::try_from(loaded - segment.address).ok()?;
            let Some(place) = bytes.get_mut(start..(start + code.len()).min(segment.file.end)) else {
                continue;
            };
            if place.len() == code.len() {
                place.copy_from_slice(code);
                places.push(loaded);
            }
        }
        Some(Self { kind: *kind, file: ExploredFile::of_executable(bytes, source), places })
    }

    /// Keeps the functions that have a place that is patched.
    #[must_use]
    pub fn roots(&self, target: &Target<'_>, mut roots: Roots) -> Roots {
        roots.retain_with(target, &self.places);
        roots
    }
}

impl Exploration {
    /// Adds what exploring another form has shown. What is wrong in the form of the file is no news.
    pub fn add_form(&mut self, form: &PatchedFile, other: Self) -> ExploredForm {
        let row = |ExploredFinding { finding, .. }: &ExploredFinding| {
            let row = finding.row.as_ref().map(|row| (row.start, row.rules.to_string()));
            (finding.verdict, finding.function.clone(), row)
        };
        let key = |found: &ExploredFinding| (found.certainty, row(found));
        let known: BTreeSet<_> = self.findings().iter().map(key).collect();
        let is_new = |found: &ExploredFinding| {
            let is_known = |certainty| known.contains(&(certainty, row(found)));
            !(is_known(Certainty::Proved)
                || found.certainty == Certainty::Possible && is_known(found.certainty))
        };
        let of_form = |found: ExploredFinding| {
            let patched = format!("the code is as the kernel patches it, {}", form.kind.says());
            let assumptions = [patched].into_iter().chain(found.assumptions).collect();
            ExploredFinding { form: Some(form.kind), assumptions, ..found }
        };
        let added = ExploredForm {
            form: form.kind,
            places: form.places.len() as u64,
            functions: other.functions,
            rows_checked: other.rows.checked,
            rows_wrong: other.rows.wrong,
        };
        self.was_interrupted |= other.was_interrupted;
        let new: BTreeSet<_> = other.findings().iter().filter(|found| is_new(found)).map(row).collect();
        let places = other.places.into_iter().filter(|place| new.contains(&row(&place.found)));
        self.places.extend(places.map(|place| FoundPlace { found: of_form(place.found), ..place }));
        added
    }
}
