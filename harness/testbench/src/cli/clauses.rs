//! `clauses`: the clauses of the specifications, and what proves them.

use std::fmt::Display;

use clap::Args;
use sframe_corpus::failure::of_documents;
use sframe_engine::Version;
use sframe_inspect::command::{Failure, Status, Volume, parse_version, print, print_verdict, volume};
use sframe_kit::text::Text;
use sframe_suite::clauses::{Catalogue, ClausesReport, Proved, Side, prove};
use sframe_suite::suite::Filter;

use super::options::Folders;

#[derive(Args)]
pub(crate) struct Clauses {
    #[command(flatten)]
    folders: Folders,
    /// Only clauses of this version of the specification.
    #[arg(long = "version", value_name = "N", value_parser = parse_version)]
    sframe_version: Option<Version>,
    /// Only clauses that bind this side: producer or consumer, or both at once.
    #[arg(long, value_name = "SIDE")]
    side: Option<Side>,
    /// Only clauses that are not proved.
    #[arg(long)]
    unproved: bool,
    /// Print the report as JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl Clauses {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        self.folders.check()?;
        let path = self.folders.specs.join("clauses.yaml");
        let catalogue = Catalogue::load(&path).map_err(|errors| of_documents(&errors))?;
        let suite = self.folders.open(&Filter::default())?;
        let vectors = super::vectors::load(&self.folders)?.vectors;
        let proved = prove(&catalogue, &vectors, &suite).map_err(|errors| unusable(&errors))?;
        let chosen: Vec<&Proved<'_>> = proved.iter().filter(|proved| self.chooses(proved)).collect();
        let report = ClausesReport::new(&chosen);
        let verdict = report.conclusion().ending;
        let status = verdict.into();
        if self.json {
            print_verdict(verdict, &report)?;
        } else if volume() != Volume::Quiet || status != Status::AsExpected {
            print(&report.text())?;
        }
        Ok(status)
    }

    fn chooses(&self, proved: &Proved<'_>) -> bool {
        let clause = proved.clause;
        self.sframe_version.is_none_or(|version| clause.version == version.number())
            && self.side.is_none_or(|side| clause.side == side || clause.side.bound().contains(&side))
            && (!self.unproved || !proved.missing.is_empty() || proved.verdict.is_finding())
    }
}

pub(super) fn unusable<E: Display>(errors: &[E]) -> Failure {
    let mut text = Text::default();
    errors.iter().for_each(|error| text.line(format_args!("error: {error}")));
    Failure::unusable_text(text)
}
