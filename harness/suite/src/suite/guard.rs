//! Runs a case, containing any panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use sframe_machine::Options;

use crate::case::{BrokenReason, Case, CaseResult, Demands, UnderTest};

/// Runs a case. An unwinder under test may be third-party code: if it panics,
/// this case is broken, and the others continue.
pub(super) fn run_guarded(
    case: &Case<'_>,
    corpus: &Path,
    options: &Options,
    unwinder: UnderTest<'_>,
    demands: Demands,
) -> CaseResult {
    let run = || case.run(corpus, options, unwinder, demands);
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|panic| case.broken(BrokenReason::Panicked(panic_message(&*panic).to_owned())).into())
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
