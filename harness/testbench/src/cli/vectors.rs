//! `vectors`: tests how a reader decodes hand-made sections.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use sframe_inspect::command::{Failure, Status, detail_since, print, print_json, status, tell_line, volume};
use sframe_inspect::text::{Text, counted};
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::external::{ExternalError, StopsPerCase};
use sframe_judge::vocabulary::suggest::hint;
use sframe_suite::vectors::{ask_engine, ask_external};
use sframe_vectors::Vector;

use super::export::ask_stacks;
use super::options::Folders;
use super::unwinder::UnwinderCommand;

#[derive(Args)]
pub(crate) struct Vectors {
    #[command(flatten)]
    folders: Folders,
    /// Only vectors whose name, such as step/v1-aarch64, matches this pattern (repeatable).
    #[arg(long, value_name = "GLOB")]
    only: Vec<glob::Pattern>,
    /// Instead, ask about the moments in this file of `export stacks`, with the comparison of runs.
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    stacks: Option<PathBuf>,
    #[command(flatten)]
    unwinder: UnwinderCommand,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

impl Vectors {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        if let Some(stacks) = &self.stacks {
            return self.walks(stacks);
        }
        self.folders.check()?;
        let external = self.unwinder.start(StopsPerCase::DEFAULT, StopRequest::default())?;
        let clauses = self.folders.specs.join("clauses.yaml");
        let suite = sframe_vectors::Suite::load(&self.folders.corpus.join("vectors"), &clauses);
        let suite = suite.map_err(|errors| {
            let mut text = Text::default();
            errors.iter().for_each(|error| text.line(format_args!("error: {error}")));
            Failure::unusable_text(text)
        })?;
        for pattern in &self.only {
            if !suite.vectors.iter().any(|vector| pattern.matches(&vector.id)) {
                let names = suite.vectors.iter().map(|vector| &*vector.id);
                let help = hint(pattern.as_str(), names);
                return Err(Failure::unusable(format!("error: no vector matches `{pattern}`{help}")));
            }
        }
        let is_meant = |vector: &&Vector| {
            self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(&vector.id))
        };
        let vectors: Vec<&Vector> = suite.vectors.iter().filter(is_meant).collect();
        let start = Instant::now();
        let report = match &external {
            None => ask_engine(&vectors),
            Some(external) if external.hello().section.is_empty() => {
                let name = &external.hello().name;
                tell_line(format_args!("nothing was compared: {name} answers no questions about sections"));
                return Ok(Status::NothingCompared);
            }
            Some(external) => ask_external(&vectors, external)
                .map_err(|error: ExternalError| Failure::broken(format!("error: --unwinder: {error}")))?,
        };
        detail_since(start, || format!("asked about {}", counted(vectors.len() as u64, "vector")));
        if self.json {
            print_json(&report)?;
        } else {
            print(&report.text(volume()))?;
        }
        Ok(status(!report.differences.is_empty(), false, report.has_compared()))
    }

    fn walks(&self, stacks: &Path) -> Result<Status, Failure> {
        let report = ask_stacks(stacks, &self.unwinder)?;
        if self.json {
            print_json(&report)?;
        } else {
            print(&report.text())?;
        }
        Ok(status(!report.differences.is_empty(), false, report.has_compared()))
    }
}
