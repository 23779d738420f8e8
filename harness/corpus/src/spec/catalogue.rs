//! `specs/clauses.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use sframe_engine::Version;
use sframe_inspect::lint::all_rules;
use sframe_judge::vocabulary::named;
use sframe_judge::vocabulary::suggest::unknown;

use crate::yaml::{Error, MAX_ERRORS, Source};

/// The number of the version that has errata.
const AMENDED: u8 = Version::V2.number();

/// A reason shorter than this many characters explains nothing.
const MIN_REASON: usize = 20;

named! {
    /// Who is bound by a clause.
    pub enum Side, "side" {
        /// Who writes sections.
        Producer = "producer",
        /// Who reads sections.
        Consumer = "consumer",
        /// Both of them.
        Both = "both",
    }
}

impl Side {
    /// The sides that are bound: one, or both.
    #[must_use]
    pub const fn bound(self) -> &'static [Self] {
        match self {
            Self::Producer => &[Self::Producer],
            Self::Consumer => &[Self::Consumer],
            Self::Both => &[Self::Producer, Self::Consumer],
        }
    }
}

/// All clauses of all versions.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// By version, then by section, then in the order of the file.
    pub clauses: Vec<Clause>,
}

/// What one version of the specification demands in one place.
#[derive(Clone, Debug)]
pub struct Clause {
    /// Such as `v3-fre-addr1`.
    pub id: String,
    /// The version of the specification.
    pub version: u8,
    /// The erratum of version 2 that it came with.
    pub erratum: Option<u8>,
    /// Number, or name, of the section of that version's text.
    pub section: String,
    /// Title of that section; empty where its name is all there is.
    pub title: String,
    /// Who is bound by it.
    pub side: Side,
    /// What it demands.
    pub summary: String,
    /// IDs of the linter's rules that notice a producer who breaks it.
    pub lints: Vec<String>,
    /// The specification's names for values that it gives.
    pub constants: Vec<String>,
    /// Why nothing proves it.
    pub unproved: Option<String>,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping with `sections` and `clauses`")]
struct Written {
    /// By version: number and title of each section, in the order of the text.
    sections: BTreeMap<u8, Vec<String>>,
    clauses: Vec<WrittenClause>,
}

/// A clause in all versions that have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a clause, which is a mapping")]
struct WrittenClause {
    name: String,
    /// By version: the section.
    versions: BTreeMap<u8, String>,
    side: Side,
    summary: String,
    #[serde(default)]
    erratum: Option<u8>,
    #[serde(default)]
    lints: Vec<String>,
    #[serde(default)]
    constants: Vec<String>,
    /// By version: the reason.
    #[serde(default)]
    unproved: BTreeMap<u8, String>,
}

impl Catalogue {
    /// Reads and checks the catalogue.
    ///
    /// # Errors
    /// All mistakes, each pointing at its line.
    pub fn load(path: &Path) -> Result<Self, Vec<Error>> {
        Self::from_source(&Source::read(path).map_err(|error| vec![error])?)
    }

    /// Parses and checks the catalogue.
    ///
    /// # Errors
    /// All mistakes, each pointing at its line.
    pub fn from_source(source: &Source) -> Result<Self, Vec<Error>> {
        let written: Written = source.parse().map_err(|error| vec![error])?;
        let errors = Check { written: &written, source, errors: Vec::new() }.all();
        if errors.is_empty() { Ok(Self { clauses: clauses(&written) }) } else { Err(errors) }
    }

    /// The clause with this ID.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Clause> {
        self.clauses.iter().find(|clause| clause.id == id)
    }

    /// The error for an ID that is not in the catalogue.
    #[must_use]
    pub fn unknown(&self, id: &str) -> String {
        unknown("clause", id, self.clauses.iter().map(|clause| clause.id.as_str()))
    }
}

fn clauses(written: &Written) -> Vec<Clause> {
    let mut clauses = Vec::new();
    for (&version, sections) in &written.sections {
        for heading in sections {
            let (section, title) = number_and_title(heading);
            let of_it =
                |entry: &&WrittenClause| entry.versions.get(&version).is_some_and(|number| number == section);
            for entry in written.clauses.iter().filter(of_it) {
                let applies = |lint: &&String| rule_applies(lint, version);
                clauses.push(Clause {
                    id: format!("v{version}-{}", entry.name),
                    version,
                    erratum: entry.erratum.filter(|_| version == AMENDED),
                    section: section.to_owned(),
                    title: title.to_owned(),
                    side: entry.side,
                    summary: entry.summary.clone(),
                    lints: entry.lints.iter().filter(applies).cloned().collect(),
                    constants: entry.constants.clone(),
                    unproved: entry.unproved.get(&version).cloned(),
                });
            }
        }
    }
    clauses
}

/// The number is the first word.
fn number_and_title(heading: &str) -> (&str, &str) {
    heading.split_once(' ').unwrap_or((heading, ""))
}

fn rule_applies(id: &str, version: u8) -> bool {
    all_rules()
        .find(|rule| rule.id == id)
        .is_some_and(|rule| (rule.versions.first.number()..=rule.versions.last.number()).contains(&version))
}

/// Their numbers, as a sentence lists them.
fn known_versions() -> String {
    let [others @ .., last] = Version::ALL.map(|version| version.to_string());
    format!("{} or {last}", others.join(", "))
}

/// What must hold beyond what the types can express.
struct Check<'a> {
    written: &'a Written,
    source: &'a Source,
    errors: Vec<Error>,
}

impl Check<'_> {
    fn all(mut self) -> Vec<Error> {
        self.sections();
        let mut ids = BTreeSet::new();
        for (index, entry) in self.written.clauses.iter().enumerate() {
            self.entry(&index.to_string(), entry, &mut ids);
        }
        self.errors
    }

    fn wrong(&mut self, path: &[&str], message: impl Into<String>, help: &str) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(self.source.error_at(self.source.span(path), message, Some(help)));
        }
    }

    fn sections(&mut self) {
        let written = self.written;
        for (version, headings) in &written.sections {
            let at = version.to_string();
            if Version::from_number(*version).is_none() {
                self.wrong(&["sections", &at], format!("unknown version {version}"), &known_versions());
            }
            let mut seen = BTreeSet::new();
            for (index, heading) in headings.iter().enumerate() {
                let path = ["sections", &at, &index.to_string()];
                let (section, _) = number_and_title(heading);
                if !seen.insert(section) {
                    self.wrong(&path, format!("section `{section}` is listed twice"), "remove one");
                }
                let of_it = |entry: &WrittenClause| {
                    entry.versions.get(version).is_some_and(|number| number == section)
                };
                if !written.clauses.iter().any(of_it) {
                    let message = format!("no clause is of section `{section}` of version {version}");
                    let help = "list what it demands, or leave out a section that demands nothing";
                    self.wrong(&path, message, help);
                }
            }
        }
    }

    fn entry(&mut self, at: &str, entry: &WrittenClause, ids: &mut BTreeSet<String>) {
        let written = self.written;
        let kebab = |name: &str| {
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        if entry.name.is_empty() || !kebab(&entry.name) {
            self.wrong(&["clauses", at, "name"], "this is not a name", "lower-case letters, digits and `-`");
        }
        if entry.versions.is_empty() {
            self.wrong(&["clauses", at, "versions"], "a clause of no version", "name those that have it");
        }
        for (version, section) in &entry.versions {
            let path = ["clauses", at, "versions", &version.to_string()];
            match written.sections.get(version) {
                None => self.wrong(&path, format!("`sections` has no version {version}"), &known_versions()),
                Some(headings) => {
                    let numbers = || headings.iter().map(|heading| number_and_title(heading).0);
                    if numbers().all(|number| number != section) {
                        let message = unknown("section", section, numbers());
                        self.wrong(&path, message, "`sections` lists those of each version");
                    }
                }
            }
            let id = format!("v{version}-{}", entry.name);
            if !ids.insert(id.clone()) {
                let help = "an ID stands for one clause";
                self.wrong(&["clauses", at, "name"], format!("`{id}` is listed twice"), help);
            }
        }
        if !entry.summary.ends_with('.') {
            let help = "say in a sentence what the clause demands";
            self.wrong(&["clauses", at, "summary"], "the summary is not a sentence", help);
        }
        if let Some(erratum) = entry.erratum
            && !(matches!(erratum, 1 | 2) && entry.versions.contains_key(&AMENDED))
        {
            let message = format!("no clause of version 2 came with erratum {erratum}");
            self.wrong(&["clauses", at, "erratum"], message, "version 2 has the errata 1 and 2");
        }
        self.lints(at, entry);
        for (version, reason) in &entry.unproved {
            let path = ["clauses", at, "unproved", &version.to_string()];
            if !entry.versions.contains_key(version) {
                let help = "give reasons for versions that have the clause";
                self.wrong(&path, format!("version {version} does not have the clause"), help);
            }
            if reason.trim().chars().count() < MIN_REASON {
                let message = format!("a reason has at least {MIN_REASON} characters");
                self.wrong(&path, message, "say why nothing can prove the clause");
            }
        }
    }

    fn lints(&mut self, at: &str, entry: &WrittenClause) {
        for (index, lint) in entry.lints.iter().enumerate() {
            let path = ["clauses", at, "lints", &index.to_string()];
            if all_rules().all(|rule| rule.id != lint) {
                let message = unknown("rule", lint, all_rules().map(|rule| rule.id));
                self.wrong(&path, message, "specs/lints.md lists the rules");
            } else if !entry.versions.keys().any(|&version| rule_applies(lint, version)) {
                let message = format!("{lint} applies to none of the clause's versions");
                self.wrong(&path, message, "specs/lints.md says which versions a rule is for");
            }
            if entry.side == Side::Consumer {
                let help = "consumers' clauses are proved by vectors and specs";
                self.wrong(&path, "a rule can't prove what consumers must do", help);
            }
            if entry.lints[..index].contains(lint) {
                self.wrong(&path, format!("`{lint}` is listed twice"), "remove one");
            }
        }
    }
}
