//! From files to checked vectors.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

use crate::alternative::{Alternative, reading_of};
use crate::boundary::boundaries;
use crate::catalogue::{Catalogue, READINGS};
use crate::expect::{Answer, Fde, Header, Lookup, Question, Reject, Row};
use crate::names::RejectKind;
use crate::number::{Address, Hex};
use crate::recipe::{self, Written};
use crate::section::SectionSource;
use crate::step::Step;
use crate::suggest::hint;
use crate::vector::Vector;
use crate::yaml::{Error, read};

/// All vectors of a folder.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The names that they use.
    pub catalogue: Catalogue,
    /// The vectors, in the order of their IDs.
    pub vectors: Vec<Vector>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a vector, which is a mapping")]
struct WrittenVector {
    name: String,
    summary: String,
    clauses: Vec<String>,
    #[serde(default)]
    readings: Vec<String>,
    address: Address,
    section: Option<SectionSource>,
    bytes: Option<Hex>,
    reject: Option<Reject>,
    header: Option<Header>,
    #[serde(default)]
    fdes: Vec<Fde>,
    #[serde(default)]
    lookups: Vec<Lookup>,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    only_answered: bool,
    #[serde(default)]
    alternatives: Vec<Alternative>,
}

impl Suite {
    /// Reads and checks `readings.yaml` and all vectors of a folder: each `<group>/*.yaml` has some, with a line
    /// `---` between two. `clauses` is the catalogue of the clauses, `specs/clauses.yaml`.
    ///
    /// # Errors
    /// The mistakes of every file; a folder without vectors.
    pub fn load(dir: &Path, clauses: &Path) -> Result<Self, Vec<Error>> {
        Self::load_some(dir, clauses, &|_| true)
    }

    /// Reads and checks the vectors whose names are wanted, and `readings.yaml`.
    ///
    /// # Errors
    /// The mistakes in what is read; a folder without vectors.
    pub fn load_some(
        dir: &Path,
        clauses: &Path,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Self, Vec<Error>> {
        let catalogue = Catalogue::read(dir, clauses).map_err(|error| vec![error])?;
        let files = files(dir).map_err(|error| vec![Error::new(dir, format!("cannot be read: {error}"))])?;
        let (mut vectors, mut errors, mut told) = (Vec::new(), Vec::new(), UnknownNames::new());
        let mut has_left_out = false;
        for path in files {
            let text = match read(&path) {
                Ok(text) => text,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            for (before, document) in documents(&text) {
                // Where the name does not come first, the vector is read.
                if let Some(name) =
                    document.trim_start().lines().next().and_then(|it| it.strip_prefix("name: "))
                    && !is_wanted(&id(&path, name.trim()))
                {
                    has_left_out = true;
                    continue;
                }
                match load(&path, document, &catalogue, &mut told) {
                    Ok(vector) if vectors.iter().any(|other: &Vector| other.id == vector.id) => {
                        errors.push(Error::new(&path, format!("has a second `{}`", vector.id)));
                    }
                    Ok(vector) => vectors.push(vector),
                    Err(mistakes) => errors.extend(mistakes.into_iter().map(|mistake| mistake.below(before))),
                }
            }
        }
        for error in &mut errors {
            if let Some(count @ 2..) = told.get(&error.message) {
                error.message += &format!(" (in {count} vectors)");
            }
        }
        if vectors.is_empty() && errors.is_empty() && !has_left_out {
            errors.push(Error::new(dir, "holds no vectors; they are in files named <group>/*.yaml"));
        }
        vectors.sort_by(|one, other| one.id.cmp(&other.id));
        if errors.is_empty() { Ok(Self { catalogue, vectors }) } else { Err(errors) }
    }
}

impl Vector {
    /// Reads one vector from a text; the folder of `path` is its group.
    ///
    /// # Errors
    /// The mistakes in it.
    pub fn parse(path: &Path, text: &str, catalogue: &Catalogue) -> Result<Self, Vec<Error>> {
        load(path, text, catalogue, &mut UnknownNames::new())
    }
}

/// The documents of a text, and how many lines come before each.
pub fn documents(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut begin, mut lines) = (0, 0);
    let ends = text.match_indices("\n---\n").map(|(at, _)| at + 1).chain([text.len()]);
    ends.map(move |end| {
        let (document, before) = (&text[begin..end], lines);
        // Those of the document, and the one between two.
        lines += document.matches('\n').count() + 1;
        begin = (end + "---\n".len()).min(text.len());
        (before, document)
    })
}

fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for group in fs::read_dir(dir)? {
        let group = group?.path();
        if group.is_dir() {
            for file in fs::read_dir(group)? {
                let file = file?.path();
                if file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
                    files.push(file);
                }
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a file. Without a recipe, errors have the line that they are in.
fn written(path: &Path, text: &str) -> Result<WrittenVector, Error> {
    let of_yaml = |error| Error::of_yaml(path, text, &error);
    if !text.contains("repeat:") {
        return serde_yaml::from_str(text).map_err(of_yaml);
    }
    let value = serde_yaml::from_str(text).map_err(of_yaml)?;
    recipe::check(&value).map_err(|message| Error::new(path, message))?;
    WrittenVector::deserialize(Written::of(&value)).map_err(of_yaml)
}

/// What was said of names that no catalogue has, and in how many vectors: where one is renamed, many have the old name.
type UnknownNames = BTreeMap<String, usize>;

/// The name of a vector in a file, after that of its group.
fn id(path: &Path, name: &str) -> String {
    let group = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    format!("{group}/{name}")
}

/// Loads a vector; the error is empty if all that is wrong with it was told before.
fn load(
    path: &Path,
    text: &str,
    catalogue: &Catalogue,
    told: &mut UnknownNames,
) -> Result<Vector, Vec<Error>> {
    let written = written(path, text).map_err(|error| vec![error])?;
    let mut mistakes = Vec::new();
    check_names(&written, catalogue, &mut mistakes);
    let unknown = unknown_names(&written, catalogue);
    let encoded = written.section.as_ref().map(|section| section.encode(written.address.0));
    let bytes = match (encoded, written.bytes) {
        (Some(Err(error)), _) => {
            mistakes.push(error.to_string());
            Vec::new()
        }
        (Some(Ok(encoded)), Some(bytes)) if encoded != bytes.0 => {
            let at = encoded.iter().zip(&bytes.0).take_while(|(one, other)| one == other).count();
            mistakes.push(format!("section and bytes differ from offset {at} on"));
            encoded
        }
        (Some(Ok(encoded)), _) => encoded,
        (None, Some(bytes)) => bytes.0,
        (None, None) => {
            mistakes.push("needs section or bytes".into());
            Vec::new()
        }
    };
    let vector = Vector {
        id: id(path, &written.name),
        summary: written.summary,
        clauses: written.clauses,
        readings: written.readings,
        address: written.address.0,
        bytes,
        section: written.section,
        reject: written.reject,
        header: written.header,
        fdes: written.fdes,
        lookups: written.lookups,
        steps: written.steps,
        only_answered: written.only_answered,
        alternatives: written.alternatives,
    };
    if !vector.only_answered {
        check_answers(&vector, &mut mistakes);
    }
    check_alternatives(&vector, &mut mistakes);
    if mistakes.is_empty() && unknown.is_empty() {
        return Ok(vector);
    }
    let begin = (text.len() - text.trim_start_matches('\n').len() + 1, 1);
    let of_vector = |message| Error { at: Some(begin), ..Error::new(path, message) };
    let mut errors: Vec<Error> = mistakes.into_iter().map(of_vector).collect();
    for (name, message) in unknown {
        let count = told.entry(message.clone()).or_default();
        *count += 1;
        if *count == 1 {
            errors.push(Error { at: place_of(text, &name), ..Error::new(path, message) });
        }
    }
    Err(errors)
}

/// Where a name first stands in a text: its line and column.
fn place_of(text: &str, name: &str) -> Option<(usize, usize)> {
    let is_end = |it: Option<char>| it.is_none_or(|it| !it.is_alphanumeric() && !"-/".contains(it));
    let mut lines = text.lines().enumerate();
    lines.find_map(|(index, line)| {
        let mut places = line.match_indices(name).map(|(at, _)| at);
        let at = places.find(|at| {
            is_end(line[..*at].chars().next_back()) && is_end(line[at + name.len()..].chars().next())
        })?;
        Some((index + 1, line[..at].chars().count() + 1))
    })
}

/// The clauses, readings and alternatives that a vector names, and the catalogue does not have; and what to say of each.
fn unknown_names(vector: &WrittenVector, catalogue: &Catalogue) -> Vec<(String, String)> {
    let mut unknown = Vec::new();
    for clause in vector.clauses.iter().filter(|clause| !catalogue.clauses.contains(*clause)) {
        let known = catalogue.clauses.iter().map(|known| &**known);
        unknown.push((clause.clone(), format!("there is no clause `{clause}`{}", hint(clause, known))));
    }
    let is_reading = |name: &str| catalogue.readings.iter().any(|entry| entry.name == name);
    for reading in vector.readings.iter().filter(|reading| !is_reading(reading)) {
        let known = catalogue.readings.iter().map(|entry| &*entry.name);
        let message = format!("{READINGS} has no reading `{reading}`{}", hint(reading, known));
        unknown.push((reading.clone(), message));
    }
    for taken in vector.alternatives.iter().flat_map(|alternative| &alternative.take) {
        // Of a reading that does not exist, it is said already.
        let is_told =
            vector.readings.iter().any(|reading| *reading == *reading_of(taken) && !is_reading(reading));
        if !is_told && !catalogue.has_alternative(taken) {
            unknown.push((taken.clone(), format!("{READINGS} has no alternative `{taken}`")));
        }
    }
    unknown
}

/// Checks that clauses belong to the section's version, and that a vector names the readings of its alternatives.
fn check_names(vector: &WrittenVector, catalogue: &Catalogue, mistakes: &mut Vec<String>) {
    let version = vector.section.as_ref().map(|section| section.version);
    let version = version.or(vector.header.as_ref().map(|header| header.version));
    if vector.clauses.is_empty() {
        mistakes.push("names no clause".into());
    }
    for clause in &vector.clauses {
        let is_of = |version: u8| clause.starts_with(&format!("v{version}-"));
        if catalogue.clauses.contains(clause) && !version.is_none_or(is_of) {
            mistakes.push(format!("the clause `{clause}` is not of the section's version"));
        }
    }
    for taken in vector.alternatives.iter().flat_map(|alternative| &alternative.take) {
        let reading = reading_of(taken);
        if catalogue.has_alternative(taken) && !vector.readings.iter().any(|name| name == reading) {
            mistakes.push(format!("takes `{taken}`, but does not name the reading `{reading}`"));
        }
    }
}

/// Checks that alternatives are about what is asked, and say something.
fn check_alternatives(vector: &Vector, mistakes: &mut Vec<String>) {
    for alternative in &vector.alternatives {
        let Alternative { take, refused, opened, fdes, lookups, steps } = alternative;
        let name = take.join(", ");
        let is_empty = fdes.is_empty() && lookups.is_empty() && steps.is_empty();
        let whole = *refused || *opened;
        if take.is_empty()
            || whole != is_empty
            || *refused && vector.reject.is_some()
            || *opened && vector.reject.is_none()
        {
            mistakes.push(format!("the alternative `{name}` needs refused, opened, or other answers"));
        }
        let asked: BTreeSet<Question> = vector.lookups.iter().map(Lookup::question).collect();
        let is_asked = fdes.keys().all(|index| *index < vector.fdes.len())
            && steps.keys().all(|index| *index < vector.steps.len())
            && lookups.iter().all(|lookup| asked.contains(&lookup.question()));
        if !is_asked {
            mistakes.push(format!("the alternative `{name}` answers what is not asked"));
        }
    }
}

/// Checks that the answers fit one another, and no boundary is forgotten.
fn check_answers(vector: &Vector, mistakes: &mut Vec<String>) {
    if rejects(vector).any(|reject| reject.kind == RejectKind::Unspecified) {
        mistakes.push("`unspecified` is for answers of readers, not for vectors".into());
    }
    if vector.reject.is_some() {
        let nothing_else = vector.header.is_none()
            && vector.fdes.is_empty()
            && vector.lookups.is_empty()
            && vector.steps.is_empty();
        if !nothing_else {
            mistakes.push("a section that can't be opened has no other answers than reject".into());
        }
        return;
    }
    let Some(header) = &vector.header else {
        mistakes.push("needs reject or header".into());
        return;
    };
    if header.num_fdes as usize != vector.fdes.len() {
        mistakes.push(format!("has {} FDEs, but answers for {}", header.num_fdes, vector.fdes.len()));
    }
    for (index, fde) in vector.fdes.iter().enumerate() {
        let whole = fde.start.is_some() && fde.size.is_some();
        if fde.reject.is_some() == whole {
            mistakes.push(format!("FDE {index} needs start and size, or else reject"));
        }
    }
    for lookup in &vector.lookups {
        let exists = match lookup.answer {
            Answer::NoFde | Answer::Reject(_) => true,
            Answer::Rules(_) => false,
            Answer::NoRow(fde) | Answer::Outermost(fde) => fde < vector.fdes.len(),
            Answer::Row(fde, row) => vector.fdes.get(fde).is_some_and(|fde| row < fde.rows.len()),
        };
        if !exists {
            mistakes.push(format!(
                "the look-up of {} answers with something that the section does not have",
                lookup.pc
            ));
        }
    }
    let mut asked = BTreeSet::new();
    for (index, lookup) in vector.lookups.iter().enumerate() {
        let is_same = |other: &Lookup| other.question() == lookup.question();
        if !asked.insert(lookup.question()) {
            // Again, after a fault: it must not have done damage.
            let mut between = vector.lookups[..index].iter().rev().take_while(|other| !is_same(other));
            if !between.any(|other| matches!(other.answer, Answer::Reject(_))) {
                mistakes.push(format!("asks twice for {}, and not after a fault", lookup.pc));
            }
        }
    }
    for Question { pc, return_address } in boundaries(&vector.fdes).difference(&asked) {
        let kind = if *return_address { " as a return address" } else { "" };
        mistakes.push(format!("forgets to look up the boundary {pc}{kind}"));
    }
    for (index, step) in vector.steps.iter().enumerate() {
        if step.caller.is_some() == step.end.is_some() {
            mistakes.push(format!("step {index} needs either caller or end"));
        }
        if let Some(bits) = step.address_bits.filter(|bits| !(1..=64).contains(bits)) {
            mistakes.push(format!("step {index}: `address_bits` is {bits}, and an address has 1 to 64 bits"));
        }
    }
}

/// Returns all rejections in a vector's answers.
fn rejects(vector: &Vector) -> impl Iterator<Item = &Reject> {
    let rows = vector.fdes.iter().flat_map(|fde| &fde.rows).filter_map(|row| match row {
        Row::Reject(reject) => Some(reject),
        Row::Rules(_) => None,
    });
    let lookups = vector.lookups.iter().filter_map(|lookup| match &lookup.answer {
        Answer::Reject(reject) => Some(reject),
        _ => None,
    });
    let fdes = vector.fdes.iter().filter_map(|fde| fde.reject.as_ref());
    vector.reject.iter().chain(fdes).chain(rows).chain(lookups)
}
