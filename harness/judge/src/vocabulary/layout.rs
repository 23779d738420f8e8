//! What the layout of a file shows of who has made something.

use super::named::named;

named! {
    /// What the layout of a file shows of who has made something.
    pub enum LayoutFact, "fact of the layout" {
        /// The code lies in a PLT, which linkers make.
        LinkageTable = "plt",
        /// Sections follow one another, each with a header, in what should be one.
        ConcatenatedSections = "concatenated-sections",
        /// Relocations are not where the starts of FDEs are.
        MisplacedRelocations = "misplaced-relocations",
        /// Starts of functions count from something else than the header says.
        UnconvertedStarts = "unconverted-starts",
        /// FDEs describe places where no function is any more.
        StaleFdes = "stale-fdes",
        /// The FDE is marked as that of a signal frame, and has no rows.
        SignalFrameWithoutRows = "signal-frame-without-rows",
    }
}
