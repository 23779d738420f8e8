//! The ways in which a section is broken.

use crate::spec::named::named;

named! {
    /// A way to break a section.
    pub enum Operator, "operator" {
        /// The offset of a CFA is 8 more or less.
        CfaOffset = "cfa-offset",
        /// A row has the CFA offset of the row before or behind it.
        CfaNeighbour = "cfa-neighbour",
        /// A CFA is based on FP and not on SP, or the other way round.
        CfaBase = "cfa-base",
        /// The offset of an RA is 8 more or less.
        RaOffset = "ra-offset",
        /// An RA that is saved is said to be in its register.
        RaDropped = "ra-dropped",
        /// An RA that is in its register is said to be saved.
        RaAdded = "ra-added",
        /// The offset of an FP is 8 more or less.
        FpOffset = "fp-offset",
        /// An FP that is saved is said to be unchanged.
        FpDropped = "fp-dropped",
        /// An FP that is unchanged is said to be saved.
        FpAdded = "fp-added",
        /// A row starts an instruction earlier or later.
        RowStart = "row-start",
        /// A row is missing.
        RowRemoved = "row-removed",
        /// Two neighbouring rows have each other's rules.
        RowsSwapped = "rows-swapped",
        /// A function is an instruction shorter or longer.
        FunctionSize = "function-size",
        /// A function's FDE is missing.
        FdeRemoved = "fde-removed",
        /// A function starts an instruction earlier or later.
        FdeStart = "fde-start",
        /// Rows hold for each block and not once, or the other way round.
        PcType = "pc-type",
        /// The size of a block is half or twice what it is.
        RepSize = "rep-size",
        /// A row says of a return address that it is signed, or not.
        Mangled = "mangled",
        /// A function has the other key.
        PauthKey = "pauth-key",
        /// A value is where it is said to be stored, or the other way round.
        FlexDereference = "flex-dereference",
        /// A rule has the register before or behind its own.
        FlexRegister = "flex-register",
        /// A rule is based on the CFA and not on a register, or on SP.
        FlexBase = "flex-base",
        /// A function is marked as outermost.
        OutermostAdded = "outermost-added",
        /// A function that is outermost is not marked.
        OutermostRemoved = "outermost-removed",
        /// A function is said to be a signal's, or not.
        Signal = "signal",
        /// The section is of another version.
        Version = "version",
        /// The section is in the other byte order.
        ByteOrder = "byte-order",
        /// Starts are said to be relative to something else.
        StartReference = "start-reference",
        /// The fixed offset of FP is another one.
        FixedFp = "fixed-fp",
        /// The fixed offset of RA is another one.
        FixedRa = "fixed-ra",
        /// A CFA offset of s390x is stored as it is, not adjusted and scaled.
        Scaling = "s390x-scaling",
    }
}
