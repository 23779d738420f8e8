//! `vectors`: tests how a reader decodes hand-made sections.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use sframe_corpus::failure::of_vectors;
use sframe_corpus::yaml::{Source, mistake_in};
use sframe_inspect::command::{
    Failure, Status, Volume, detail_since, print, print_verdict, tell_line, volume,
};
use sframe_judge::external::{ExternalError, StopsPerCase};
use sframe_judge::vocabulary::suggest::hint;
use sframe_kit::text::counted;
use sframe_readers::vectors::{Way, Ways, ask_engine, ask_external, ask_model};
use sframe_vectors::{AlternativeEntry, Catalogue, Profile, Suite, Vector, reading_of};

use super::export::ask_stacks;
use super::interrupt::requests_here;
use super::options::Folders;
use super::unwinder::UnwinderCommand;

#[derive(Args)]
pub(crate) struct Vectors {
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    selection: VectorSelection,
    /// Instead, ask about the moments in this file of `export stacks`, with the comparison of runs.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "profile", "readings"])]
    stacks: Option<PathBuf>,
    /// How the reader reads the text where it is open, as corpus/vectors/readings.yaml names it: READING/ALTERNATIVE, or
    /// READING for the vectors' own. Nothing else is right then. Without --unwinder, a reader that reads so is asked.
    #[arg(long, value_name = "READING", value_delimiter = ',')]
    readings: Vec<String>,
    #[command(flatten)]
    unwinder: UnwinderCommand,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

/// Which vectors.
#[derive(Args)]
pub(super) struct VectorSelection {
    /// Only vectors whose name, such as step/v1-aarch64, matches this pattern (repeatable).
    #[arg(long, value_name = "GLOB")]
    pub(super) only: Vec<glob::Pattern>,
    /// Only what concerns a reader with these features: the name of a profile in corpus/vectors/profiles.yaml, or a
    /// file with one, whose name has a dot or a slash.
    #[arg(long, value_name = "PROFILE")]
    pub(super) profile: Option<String>,
}

/// Reads all vectors.
pub(super) fn load(folders: &Folders) -> Result<Suite, Failure> {
    load_some(folders, &|_| true)
}

fn load_some(folders: &Folders, is_wanted: &dyn Fn(&str) -> bool) -> Result<Suite, Failure> {
    folders.check()?;
    let clauses = folders.specs.join("clauses.yaml");
    Suite::load_some(&folders.corpus.join("vectors"), &clauses, is_wanted)
        .map_err(|errors| of_vectors(&errors))
}

impl VectorSelection {
    /// Reads the vectors: of a profile, all of them are needed.
    fn load(&self, folders: &Folders) -> Result<Suite, Failure> {
        let is_named = |id: &str| self.only.iter().any(|pattern| pattern.matches(id));
        match self.profile.is_some() || self.only.is_empty() {
            true => load(folders),
            false => load_some(folders, &is_named),
        }
    }

    /// The profile, if one is chosen.
    pub(super) fn profile_of(&self, suite: &Suite, folders: &Folders) -> Result<Option<Profile>, Failure> {
        self.profile.as_ref().map(|name| profile(name, suite, folders)).transpose()
    }

    /// The vectors with such names, for such readers.
    pub(super) fn of<'s>(&self, suite: &'s Suite, folders: &Folders) -> Result<Vec<&'s Vector>, Failure> {
        for pattern in &self.only {
            if !suite.vectors.iter().any(|vector| pattern.matches(&vector.id)) {
                let all = load(folders)?;
                let help = hint(pattern.as_str(), all.vectors.iter().map(|vector| &*vector.id));
                return Err(Failure::unusable(format!("error: no vector matches `{pattern}`{help}")));
            }
        }
        let profile = self.profile_of(suite, folders)?;
        let is_meant = |vector: &&Vector| {
            let named = self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(&vector.id));
            named && profile.as_ref().is_none_or(|profile| profile.has(vector))
        };
        Ok(suite.vectors.iter().filter(is_meant).collect())
    }
}

impl Vectors {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        if let Some(stacks) = &self.stacks {
            return self.walks(stacks);
        }
        // The engine's answers take less than a second.
        let stop = self.unwinder.unwinder.as_ref().map(|_| requests_here()).unwrap_or_default();
        let external = self.unwinder.start(StopsPerCase::DEFAULT, stop)?;
        let suite = self.selection.load(&self.folders)?;
        let meant = self.selection.of(&suite, &self.folders)?;
        let chosen = self.chosen(&suite.catalogue)?;
        // Some vectors are large: they are copied only to be changed.
        let decided: Vec<Vector> = match &self.readings[..] {
            [] => Vec::new(),
            readings => meant.iter().map(|vector| vector.chosen(readings)).collect(),
        };
        let vectors = if self.readings.is_empty() { meant } else { decided.iter().collect() };
        let start = Instant::now();
        let report = match &external {
            None if chosen.is_empty() => ask_engine(&vectors, &suite.catalogue),
            None => ask_model(&vectors, &suite.catalogue, &chosen),
            Some(external) if external.hello().section.is_empty() => {
                let name = &external.hello().name;
                tell_line(format_args!("nothing was compared: {name} answers no questions about sections"));
                return Ok(Status::NothingCompared);
            }
            Some(external) => ask_external(&vectors, &suite.catalogue, external)
                .map_err(|error: ExternalError| Failure::broken(format!("error: --unwinder: {error}")))?,
        };
        detail_since(start, || format!("asked about {}", counted(vectors.len() as u64, "vector")));
        if self.json {
            print_verdict(report.ending(), &report)?;
        } else {
            print(&report.text(volume()))?;
        }
        // Which vectors a reader need not answer, the options say, and not its answers.
        if !report.proves_enough() && (self.json || volume() == Volume::Quiet) {
            tell_line(report.too_little());
        }
        Ok(report.ending().into())
    }

    fn walks(&self, stacks: &Path) -> Result<Status, Failure> {
        let report = ask_stacks(stacks, &self.unwinder)?;
        let verdict = report.conclusion().ending;
        if self.json {
            print_verdict(verdict, &report)?;
        } else {
            print(&report.text())?;
        }
        if report.moments == 0 {
            tell_line(format_args!("nothing was compared: {} has no moments to ask about", stacks.display()));
        }
        Ok(verdict.into())
    }

    /// The alternatives that the reader takes.
    fn chosen(&self, catalogue: &Catalogue) -> Result<Ways, Failure> {
        let mut ways = Ways::new();
        for (index, choice) in self.readings.iter().enumerate() {
            let is_same = |other: &&String| *other != choice && reading_of(other) == reading_of(choice);
            if let Some(other) = self.readings[..index].iter().find(is_same) {
                let message = format!("error: `{other}` and `{choice}` are alternatives: choose one");
                return Err(Failure::unusable(message));
            }
            if catalogue.has_alternative(choice) {
                ways.extend(Way::of_name(choice));
            } else if !catalogue.readings.iter().any(|reading| reading.name == *choice) {
                let all = catalogue.readings.iter().flat_map(|reading| {
                    let name =
                        |alternative: &AlternativeEntry| format!("{}/{}", reading.name, alternative.name);
                    reading.alternatives.iter().map(name).chain([reading.name.clone()])
                });
                let all: Vec<String> = all.collect();
                let help = hint(choice, all.iter().map(|name| &**name));
                return Err(Failure::unusable(format!("error: there is no reading `{choice}`{help}")));
            }
        }
        Ok(ways)
    }
}

/// Returns a profile of the folder of the vectors, or of a file.
fn profile(name: &str, suite: &Suite, folders: &Folders) -> Result<Profile, Failure> {
    let is_file = name.contains(['/', '.']);
    let path = if is_file { name.into() } else { folders.corpus.join("vectors/profiles.yaml") };
    let mut profiles = Profile::read_all(&path).map_err(|error| of_vectors(&[error]))?;
    let position = match profiles.len() {
        1 if is_file => Some(0),
        _ => profiles.iter().position(|profile| !is_file && profile.name == name),
    };
    let Some(position) = position else {
        if is_file {
            let source = Source::read(&path)?;
            let message = format!(
                "a file that is given to --profile has one profile, and this one has {}",
                profiles.len()
            );
            let help = None::<&str>;
            return Err(source.error_at(source.span(&["profiles"]), message, help).into());
        }
        let help = hint(name, profiles.iter().map(|profile| &*profile.name));
        return Err(Failure::unusable(match (is_file, &*help) {
            (_, "") => {
                let names: Vec<&str> = profiles.iter().map(|profile| &*profile.name).collect();
                format!(
                    "error: unknown profile `{name}`; known profiles: {}; or name a file",
                    names.join(", ")
                )
            }
            (_, help) => format!("error: there is no profile `{name}`{help}"),
        }));
    };
    let profile = profiles.swap_remove(position);
    let index = position.to_string();
    let mistake = |keys: &[&str], message: String| -> Failure {
        mistake_in(&path, &[&["profiles", &index], keys].concat(), message).into()
    };
    if let Some((key, index, pattern)) = profile.unmatched(&suite.vectors) {
        let help = hint(pattern, suite.vectors.iter().map(|vector| &*vector.id));
        return Err(mistake(&[key, &index.to_string()], format!("no vector matches `{pattern}`{help}")));
    }
    match profile.emptied_by(&suite.vectors) {
        None => Ok(profile),
        Some(Some(key)) => Err(mistake(&[key], format!("this excludes all vectors of `{}`", profile.name))),
        Some(None) => Err(mistake(
            &["name"],
            format!("no vector is left to a reader with all these features: `{}`", profile.name),
        )),
    }
}
