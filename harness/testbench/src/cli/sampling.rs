//! Options that make long runs shorter: which instructions are compared.

use std::num::{NonZeroU32, NonZeroU64};

use clap::Args;
use sframe_corpus::spec::Location;
use sframe_inspect::command::Failure;
use sframe_judge::examine::sampling::{Sampling, Start};
use sframe_judge::target::Target;
use sframe_suite::case::resolve;

use super::numbers;
use super::options::ADVANCED;

/// Which instructions are compared. The call stack is followed at all of them.
#[derive(Args)]
pub(super) struct SamplingOptions {
    /// Compare only from the first arrival at this function on: `main`, `libx.so!init`, or any
    /// other place as in specs.
    #[arg(long, value_name = "NAME", help_heading = ADVANCED)]
    from_function: Option<Location>,
    /// Compare at one in N instructions, at distances that vary around N. Rare faults may be missed.
    #[arg(long, value_name = "N", value_parser = numbers::count::<NonZeroU64>(numbers::POSITIVE, "instructions"), help_heading = ADVANCED)]
    every: Option<NonZeroU64>,
    /// Compare at each place at most K times: at each PC, for each return address of its
    /// function's caller. Without --every, all rows that run are compared.
    #[arg(long, value_name = "K", value_parser = numbers::count::<u32>(1..=1_000_000_000, "times"), help_heading = ADVANCED)]
    per_place: Option<u32>,
}

impl SamplingOptions {
    /// Whether instructions may be left out.
    pub(super) fn is_given(&self) -> bool {
        self.from_function.is_some() || self.every().is_some() || self.per_place.is_some()
    }

    /// One instruction in how many is compared. One in 1 is each.
    fn every(&self) -> Option<NonZeroU64> {
        self.every.filter(|every| every.get() > 1)
    }

    /// Finds the function in a program. `name` is that of the program, for messages.
    pub(super) fn sampling(&self, target: &Target<'_>, name: &str) -> Result<Sampling, Failure> {
        let start = |location: &Location| {
            let function = location.to_string();
            match resolve(location, target) {
                Ok(address) => Ok(Start { function, address: address.0 }),
                Err(error) => {
                    let help = error.help().map(|help| format!("; {help}")).unwrap_or_default();
                    Err(Failure::unusable(format!("error: {name}: --from-function: {error}{help}")))
                }
            }
        };
        let from = self.from_function.as_ref().map(start).transpose()?;
        Ok(Sampling { from, every: self.every(), per_place: self.per_place.and_then(NonZeroU32::new) })
    }
}
