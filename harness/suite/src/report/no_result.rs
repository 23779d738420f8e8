//! Reports that prove nothing.

use sframe_judge::named;

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
        NothingJudged = "nothing judged",
        /// So little was compared, or has an FDE, that it proves nothing.
        TooLittleJudged = "too little judged",
    }
}
