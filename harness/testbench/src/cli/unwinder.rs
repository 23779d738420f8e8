//! `--unwinder`: an unwinder under test in a separate process.

use std::time::Duration;

use clap::Args;
use sframe_inspect::command::Failure;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::external::{CommandLine, External, ExternalError, StopsPerCase};

use super::interrupt::stopped;
use super::numbers;
use super::options::ADVANCED;

/// An unwinder other than the engine of this project.
#[derive(Args)]
pub(crate) struct UnwinderCommand {
    /// Test this unwinder: a command, split into words as a shell does, that
    /// speaks the protocol of harness/protocol/README.md.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) unwinder: Option<String>,
    /// Time limit for one answer of the unwinder.
    #[arg(long, value_name = "SECONDS", default_value_t = CommandLine::TIMEOUT.as_secs(),
          value_parser = numbers::seconds::<u64>(numbers::SECONDS), requires = "unwinder", help_heading = ADVANCED)]
    unwinder_timeout: u64,
}

/// At which stops the unwinder is asked.
#[derive(Args)]
pub(crate) struct UnwinderStops {
    #[command(flatten)]
    pub(crate) command: UnwinderCommand,
    /// Ask the unwinder at each PC once, at the stops of the specs, and N times more in each program, where the call
    /// stack is one that it was not asked about; or at every instruction: `all`.
    #[arg(long, value_name = "N", default_value_t = StopsPerCase::DEFAULT, value_parser = numbers::stops,
          requires = "unwinder", help_heading = ADVANCED)]
    stops_per_case: StopsPerCase,
}

impl UnwinderCommand {
    pub(crate) fn start(
        &self,
        stops_per_case: StopsPerCase,
        stop: StopRequest,
    ) -> Result<Option<External>, Failure> {
        let Some(command) = &self.unwinder else { return Ok(None) };
        let request = stop.clone();
        let timeout = Duration::from_secs(self.unwinder_timeout);
        let external = CommandLine::parse(command, timeout)
            .and_then(|command| External::new(command, stops_per_case, stop));
        external.map(Some).map_err(|error| match request.reason() {
            Some(reason) if matches!(error, ExternalError::Stopped) => stopped(reason),
            _ => Failure::unusable(format!("error: --unwinder: {error}")),
        })
    }
}

impl UnwinderStops {
    /// At how many stops an unwinder is asked; `None` without one.
    pub(crate) fn stops_per_case(&self) -> Option<String> {
        self.command.unwinder.as_ref().map(|_| self.stops_per_case.to_string())
    }

    pub(crate) fn start(&self, stop: StopRequest) -> Result<Option<External>, Failure> {
        self.command.start(self.stops_per_case, stop)
    }
}
