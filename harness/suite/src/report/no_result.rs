//! Reports that prove nothing.

use sframe_judge::named;
use sframe_kit::conclusion::Ending;

named! {
    /// Why the report of a file has no result, or one that proves nothing.
    pub enum NoResult, "reason" {
        /// The program could not be judged, or not to its end.
        Broken = "broken",
        /// Somebody has stopped it.
        Interrupted = "interrupted",
        /// Less of the code has an FDE than was demanded.
        LessCovered = "less covered than demanded",
        /// No backtrace was compared.
        NothingCompared = "nothing compared",
        /// No row was judged by exploring.
        NothingJudged = "nothing checked",
        /// So little was compared, or has an FDE, that it proves nothing.
        TooLittleJudged = "too little checked",
    }
}

impl NoResult {
    /// How a report ends whose program could not be checked to its end, for this reason.
    #[must_use]
    pub fn ending(reason: &str) -> Ending {
        if reason == Self::Interrupted.as_str() { Ending::Interrupted } else { Ending::Error }
    }
}
