//! The ways in which a section is broken.

use sframe_judge::vocabulary::named;

named! {
    /// A way to break a section.
    pub enum Operator, "operator" {
        /// The CFA offset is 8 more or less.
        CfaOffset = "cfa-offset",
        /// A row has the CFA offset of the previous or next row.
        CfaNeighbour = "cfa-neighbour",
        /// The CFA is based on FP instead of SP, or vice versa.
        CfaBase = "cfa-base",
        /// The RA offset is 8 more or less.
        RaOffset = "ra-offset",
        /// A saved RA is given as still in its register.
        RaDropped = "ra-dropped",
        /// An RA in its register is given as saved.
        RaAdded = "ra-added",
        /// The FP offset is 8 more or less.
        FpOffset = "fp-offset",
        /// A saved FP is given as unchanged.
        FpDropped = "fp-dropped",
        /// An unchanged FP is given as saved.
        FpAdded = "fp-added",
        /// All rows of a function have a CFA that is 8 more or less. The slots stay where they
        /// are, unless the ABI fixes them.
        CfaThroughout = "cfa-throughout",
        /// All slots of RA of a function are 8 bytes higher or lower.
        RaThroughout = "ra-throughout",
        /// All slots of FP of a function are 8 bytes higher or lower, or FP is unchanged in all
        /// of its rows.
        FpThroughout = "fp-throughout",
        /// A row starts an instruction earlier or later.
        RowStart = "row-start",
        /// A row is missing.
        RowRemoved = "row-removed",
        /// Two adjacent rows have swapped rules.
        RowsSwapped = "rows-swapped",
        /// A function is one instruction shorter or longer.
        FunctionSize = "function-size",
        /// A function's FDE is missing.
        FdeRemoved = "fde-removed",
        /// A function starts one instruction earlier or later.
        FdeStart = "fde-start",
        /// Rows repeat for each block instead of applying once, or vice versa.
        PcType = "pc-type",
        /// A block has half or twice its size.
        RepSize = "rep-size",
        /// A row marks a return address as signed although it is not, or vice
        /// versa.
        Mangled = "mangled",
        /// A function has the other key.
        PauthKey = "pauth-key",
        /// A rule dereferences what is already the value, or vice versa.
        FlexDereference = "flex-dereference",
        /// A rule has the register numbered before or after its own.
        FlexRegister = "flex-register",
        /// A rule is based on the CFA instead of a register, or on SP.
        FlexBase = "flex-base",
        /// A function is marked as outermost.
        OutermostAdded = "outermost-added",
        /// An outermost function is not marked.
        OutermostRemoved = "outermost-removed",
        /// A function is marked as a signal frame although it is not, or vice
        /// versa.
        Signal = "signal",
        /// The section is of another version.
        Version = "version",
        /// The section is in the other byte order.
        ByteOrder = "byte-order",
        /// Starts are given as relative to something else.
        StartReference = "start-reference",
        /// The fixed offset of FP is different.
        FixedFp = "fixed-fp",
        /// The fixed offset of RA is different.
        FixedRa = "fixed-ra",
        /// A CFA offset of s390x is stored without adjustment and scaling.
        Scaling = "s390x-scaling",
    }
}
