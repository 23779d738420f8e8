//! `rebuild`: compiles the corpus from its sources.

use std::path::PathBuf;

use clap::Args;
use sframe_corpus::corpus::{self, Error};
use sframe_inspect::command::{Failure, Status, print, tell, tell_line};
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::{Text, counted};
use sframe_suite::suite::SuiteError;

use super::definitions::failure;
use super::interrupt::requests_here;
use super::options::{at_home, demand, parse_jobs};

#[derive(Args)]
pub(crate) struct Rebuild {
    /// The folder of the corpus [default: corpus, here or in the bench's home].
    #[arg(long, value_name = "DIR", default_value_os_t = at_home("corpus"), hide_default_value = true)]
    corpus: PathBuf,
    /// Folder with one root folder for each toolchain, as made by
    /// ci/toolchains.
    #[arg(long, value_name = "DIR", default_value = "target/toolchains")]
    toolchains: PathBuf,
    /// Only builds whose names contain this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Write nothing; print what would differ.
    #[arg(long)]
    check: bool,
    /// How many compilers to run at once; 0 for one per processor.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_jobs)]
    jobs: usize,
}

impl Rebuild {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        demand("corpus", &self.corpus)?;
        let report = corpus::rebuild(&corpus::Rebuild {
            corpus_dir: self.corpus.clone(),
            toolchains_dir: self.toolchains.clone(),
            only: self.only.clone(),
            check: self.check,
            jobs: self.jobs,
            stop: requests_here(),
        })
        .map_err(|error| match error {
            Error::Yaml(_)
            | Error::Interrupted
            | Error::Read { .. }
            | Error::Invalid { .. }
            | Error::NothingToBuild { .. } => failure(error),
            _ => Failure::broken(format!("error: {}", SuiteError::from(error))),
        })?;
        for warning in &report.warnings {
            tell_line(format_args!("{}:", warning.id));
            let mut said = Text::default();
            said.quote("    ", &warning.message);
            tell(&said);
        }
        for difference in &report.differences {
            print(&Text::of(format!("{:?}: {}", difference.change, difference.id).to_lowercase()))?;
        }
        let differences = counted(report.differences.len() as u64, "difference");
        let made = format!("{}, {}", counted(report.built as u64, "build"), counted(report.bytes, "byte"));
        let differs = self.check && !report.differences.is_empty();
        let ending = if differs { Ending::Fail } else { Ending::Pass };
        print(&Conclusion { ending, facts: vec![differences, made] }.text())?;
        Ok(ending.into())
    }
}
