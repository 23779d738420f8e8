//! The findings that a check of a program is known to have: a file of their own, since
//! there is no spec.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_inspect::known::{Known as KnowsOf, Place, Why};
use sframe_judge::vocabulary::{QualifiedName, Verdict};

use super::check::{check_known, check_places};
use super::de::{list, present};
use super::known_place::KnownPlace;
use super::{Blame, CfaError, Faults, Known, OneOrMany, RowOffset, Selector};
use crate::yaml::{Error, MAX_ERRORS, Source};

/// The findings that a check of a program is known to have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping with `known`, `lint` or `diff`")]
pub struct KnownFindings {
    /// The findings of `check` and `explore`. Each must happen, exactly as it says.
    #[serde(default, deserialize_with = "list")]
    pub known: Vec<KnownFinding>,
    /// The findings of `lint`. They need not be there.
    #[serde(default, deserialize_with = "list")]
    pub lint: Vec<KnownPlace>,
    /// The findings of `diff`. They need not be there.
    #[serde(default, deserialize_with = "list")]
    pub diff: Vec<KnownPlace>,
}

/// A known failure of a program: as in a spec, without the builds that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("oneOf" = [{ "required": ["fault"] }, { "required": ["reason"] }]))]
#[serde(deny_unknown_fields, expecting = "a known finding, which is a mapping")]
pub struct KnownFinding {
    /// The verdict it has.
    pub verdict: Verdict,
    /// The function in which it happens: `f`, `library.so!f` for that of a library,
    /// `!f` for that of the executable; `library.so!` for any of the library, and code
    /// without a name. Without this key: any.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1))]
    pub function: Option<String>,
    /// The digest of the function's code, as findings have it. It tells which one is meant where several have the name, or
    /// none has: a file may be stripped. Without this key, `function` means the only one of its name, or all code that has
    /// no name.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 16, max = 16))]
    pub code: Option<String>,
    /// The row with which it happens: the offset of the row's start from the
    /// beginning of the function. Each row of a list must be found. Without
    /// this key: any row of the function.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<RowOffset>")]
    pub row: Option<OneOrMany<RowOffset>>,
    /// The rows with which it happens, all of them: with another one it has changed. Without this key: any.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<RowOffset>")]
    pub rows: Option<OneOrMany<RowOffset>>,
    /// The rules with which it happens, as findings print them, each with the
    /// number of places, which are different instructions; `no row` where there
    /// is none. The program must show exactly these; a list has several
    /// possibilities.
    pub rules: OneOrMany<BTreeMap<String, u64>>,
    /// How wrong the CFA is, of `wrong-cfa`: `8 too low`; of several amounts, each happens. What is wrong by another one
    /// is another mistake. Without this key: by any.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<CfaError>")]
    pub cfa: Option<OneOrMany<CfaError>>,
    /// Which component needs the fix. Triage must reach the same conclusion.
    pub blame: Blame,
    /// Whether programs may not reach it. Without this key, not to find it is a finding
    /// (`unexpected-pass`), so that a list stays true; with it, one list serves many programs. Of its
    /// `rules`, a program then need not show all, nor at all places.
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    /// The fault of a component that it comes from: the name of a file of `specs/faults`. This or
    /// `reason`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1))]
    pub fault: Option<String>,
    /// What is wrong, whose fault it is, and where it is reported. This or `fault`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 20))]
    pub reason: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A file of known findings.
#[derive(Debug, Clone)]
pub struct KnownFile {
    source: Source,
    known: Vec<Known>,
    /// Their positions in the file.
    positions: Vec<usize>,
    lint: Vec<KnownPlace>,
    diff: Vec<KnownPlace>,
    faults: Faults,
}

impl KnownFile {
    /// The size of the largest file, in bytes: some thousand entries.
    const MAX_BYTES: usize = 1 << 20;

    /// Reads and checks a file.
    ///
    /// # Errors
    /// All mistakes, each pointing at its line.
    pub fn load(path: &Path) -> Result<Self, Vec<Error>> {
        Self::from_source(Source::read(path).map_err(|error| vec![error])?)
    }

    /// Parses and checks a file.
    ///
    /// # Errors
    /// As for [`Self::load`].
    pub fn from_source(source: Source) -> Result<Self, Vec<Error>> {
        if source.text().len() > Self::MAX_BYTES {
            let message = format!("is larger than {} bytes", Self::MAX_BYTES);
            return Err(vec![Error::of_file(source.path(), message, None)]);
        }
        let findings: KnownFindings = source.parse().map_err(|error| vec![error])?;
        let KnownFindings { known, lint, diff } = findings;
        let known: Vec<Known> = known.into_iter().map(Known::from).collect();
        let mut mistakes = check_known(&known, &source);
        mistakes.extend(check_places("lint", &lint, &source));
        mistakes.extend(check_places("diff", &diff, &source));
        if mistakes.is_empty() {
            let positions = (0..known.len()).collect();
            Ok(Self { source, known, positions, lint, diff, faults: Faults::default() })
        } else {
            Err(mistakes)
        }
    }

    /// Whether an entry names a fault.
    #[must_use]
    pub fn names_faults(&self) -> bool {
        self.known.iter().any(|known| known.fault.is_some())
            || self.lint.iter().chain(&self.diff).any(|known| known.fault.is_some())
    }

    /// Why a finding of `lint` or `diff` is known, by the first entry that is about it.
    fn why(&self, of_lint: bool, file: &str, finding: &Place<'_>) -> Option<Why> {
        let (key, entries) = if of_lint { ("lint", &self.lint) } else { ("diff", &self.diff) };
        let (index, entry) =
            entries.iter().enumerate().find(|(_, entry)| entry.is(of_lint, file, finding))?;
        let fault = entry.fault.as_ref().and_then(|name| self.faults.get(name));
        let place = format!("{}: {key}[{index}]", self.source.path().display());
        Some(entry.why(fault.map(|fault| &*fault.title), place))
    }

    /// Adds the faults that entries name.
    ///
    /// # Errors
    /// As for [`Faults::explain`].
    pub fn explain(&mut self, faults: Faults) -> Result<(), Vec<Error>> {
        faults.explain(&mut self.known, &self.source)?;
        let lists = [("lint", &self.lint), ("diff", &self.diff)];
        let entries =
            lists.into_iter().flat_map(|(key, list)| list.iter().enumerate().map(move |it| (key, it)));
        let is_unknown = |name: &&String| faults.get(name).is_none();
        let errors = entries.filter_map(|(key, (index, entry))| {
            let name = entry.fault.as_ref().filter(is_unknown)?;
            let span = self.source.span(&[key, &index.to_string(), "fault"]);
            let help = "`sframe-testbench faults` lists them";
            Some(self.source.error_at(span, faults.unknown(name), Some(help)))
        });
        let errors: Vec<Error> = errors.take(MAX_ERRORS).collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        self.faults = faults;
        Ok(())
    }

    /// The faults that entries may name; none before [`Self::explain`].
    #[must_use]
    pub const fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The entries, in the order of the file.
    #[must_use]
    pub fn known(&self) -> &[Known] {
        &self.known
    }

    /// The entries with their positions in the file.
    pub fn entries(&self) -> impl Iterator<Item = (usize, &Known)> {
        self.positions.iter().copied().zip(&self.known)
    }

    /// What it says of a file with this name: entries for `FILE!f` are for the function `f` of that file. Of several files,
    /// entries that name none need not be found in each.
    #[must_use]
    pub fn of_file(&self, name: &str, is_one_of_several: bool) -> Self {
        let name = file_name(name);
        let of_it = |(position, known): (usize, &Known)| {
            let known = known.clone();
            let named = known.function.as_deref().map(QualifiedName::parse);
            let Some(QualifiedName { image: Some(image), function }) =
                named.filter(|named| named.image != Some(""))
            else {
                return Some((position, Known { optional: known.optional || is_one_of_several, ..known }));
            };
            if image == name {
                let function = Some(format!("!{function}"));
                return Some((position, Known { function, ..known }));
            }
            (!is_one_of_several).then_some((position, known))
        };
        let (positions, known) = self.entries().filter_map(of_it).unzip();
        Self { positions, known, ..self.clone() }
    }

    /// The files that entries name, and that are not among those with these names.
    #[must_use]
    pub fn without_file<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> BTreeSet<String> {
        let image = |known: &Known| {
            let image = QualifiedName::parse(known.function.as_deref()?).image?;
            let is_there = image.is_empty() || names.clone().any(|name| file_name(name) == image);
            (!known.optional && !is_there).then(|| image.to_owned())
        };
        self.known.iter().filter_map(image).collect()
    }

    /// The lists for `lint` and `diff`, as YAML; nothing if there are none.
    ///
    /// # Errors
    /// They can't be written.
    pub fn lists_of_places(&self) -> Result<String, String> {
        let lists = [("lint", &self.lint), ("diff", &self.diff)];
        let lists: BTreeMap<&str, &Vec<KnownPlace>> =
            lists.into_iter().filter(|(_, list)| !list.is_empty()).collect();
        if lists.is_empty() { Ok(String::new()) } else { crate::yaml::to_string(&lists) }
    }

    /// Returns where entries are, for people: the file and the line, or the number of
    /// the entry if there are very many.
    #[must_use]
    pub fn places(&self, entries: &[usize]) -> Vec<String> {
        let path = self.source.path().display();
        let place = |(count, entry): (usize, &usize)| {
            // To locate each, the file is read again.
            let span = (count < MAX_ERRORS).then(|| self.source.span(&["known", &entry.to_string()]));
            let error = span.map(|span| self.source.error_at(span, "", None::<&str>));
            match error.and_then(|error| error.position()) {
                Some((line, _)) => format!("{path}:{line}"),
                None => format!("entry {} of {path}", entry + 1),
            }
        };
        entries.iter().enumerate().map(place).collect()
    }
}

/// What is known of the findings of `lint`, or of `diff`: by a list, and those that known bugs explain.
#[derive(Debug, Clone, Copy)]
pub struct KnownPlaces<'k> {
    /// The list, if there is one.
    pub file: Option<&'k KnownFile>,
    /// Whether they are those of `lint`.
    pub of_lint: bool,
    /// Whether what seems to come from a known bug is known by that.
    pub accepts_faults: bool,
}

impl KnowsOf for KnownPlaces<'_> {
    fn why(&self, file: &str, finding: &Place<'_>) -> Option<Why> {
        let listed = self.file.and_then(|list| list.why(self.of_lint, file, finding));
        let fault = finding.fault.filter(|_| self.accepts_faults);
        listed.or_else(|| Some(Why { reason: fault?.to_owned(), entry: None }))
    }
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

impl From<KnownFinding> for Known {
    fn from(finding: KnownFinding) -> Self {
        let KnownFinding { verdict, function, code, row, rows, rules, cfa, blame, optional, fault, reason } =
            finding;
        Self {
            selector: Selector::default(),
            verdict,
            function,
            code,
            row,
            rows,
            rules: Some(rules),
            cfa,
            any_rules: false,
            optional,
            blame,
            fault,
            reason,
            title: None,
            signs: Vec::new(),
        }
    }
}
