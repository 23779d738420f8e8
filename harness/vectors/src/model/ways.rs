//! Ways in which a reader may differ from the vectors.

use std::collections::BTreeSet;

macro_rules! ways {
    ($($name:ident = $text:literal,)*) => {
        /// A way in which a reader may differ: another reading of the text, named by the reading and the
        /// alternative (`fixed-fp-beside-word/fixed`), or a usual mistake. `readings.yaml` and `mistakes.yaml` of
        /// the vectors say what each of them is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the documents say it")]
        pub enum Way {
            $($name,)*
        }

        impl Way {
            /// All ways.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

ways! {
    // Readings.
    RowsFromFdes = "rows-offset/end-of-fdes",
    PcrelInVersion1 = "pcrel-bit-of-version-1/from-field",
    PcrelInVersion1Refused = "pcrel-bit-of-version-1/refused",
    UndefinedFlagsRefused = "undefined-flags/refused",
    CallerByReturnAddress = "caller-lookup/return-address",
    CallersWithoutKinds = "caller-lookup/without-kinds",
    KeyOfVersion1Unused = "pauth-key-of-version-1/unused",
    KeyOfVersion1Refused = "pauth-key-of-version-1/refused",
    KeyElsewhereUnused = "pauth-key-elsewhere/unused",
    KeyElsewhereRefused = "pauth-key-elsewhere/refused",
    MangledElsewhereUnused = "mangled-ra-elsewhere/unused",
    MangledElsewhereRefused = "mangled-ra-elsewhere/refused",
    BlocksOfAddresses = "mask-fdes/pc",
    FirstMaskCounts = "mask-fdes-of-version-1/first",
    MaskOfOffset = "mask-fdes-of-version-1/offset",
    FirstOfEqualRows = "extent-of-rows/first-of-equals",
    RowsPastTheEndRefused = "extent-of-rows/past-the-end-refused",
    RowsBeyondTheEndRefused = "extent-of-rows/beyond-the-end-refused",
    LastHides = "size-0/last-hides",
    FirstHides = "size-0/first-hides",
    TrailingBytesRefused = "trailing-bytes/refused",
    GapsRefused = "gaps/refused",
    UnalignedFdesRefused = "alignment-of-fdes/refused",
    TwoWordsRefused = "number-of-offsets-on-aarch64/refused",
    RaInRegisterUnknown = "ra-where-it-was/not-recovered",
    NoWordsRefused = "no-data-words/refused",
    NoWordsUndefined = "no-data-words/undefined",
    NoRowsOutermost = "fde-without-rows/outermost",
    NoRowsRefused = "fde-without-rows/refused",
    SignalWithoutRowsUnknown = "fde-without-rows/none-in-signal-frames",
    FixedRaByAbi = "fixed-ra-offset/by-abi",
    FixedRaRefused = "fixed-ra-offset/refused",
    FixedRaWithoutWord = "fixed-ra-offset/without-word",
    FixedFpCounts = "fixed-fp-beside-word/fixed",
    FixedFpWordRefused = "fixed-fp-beside-word/refused",
    ZeroFpWordUntracked = "fp-word-of-0/untracked",
    FlexUnscaled = "s390x-scaling/unscaled",
    FlexSpIsCfa = "s390x-flex-sp/cfa",
    OddOffsetsAreRegisters = "odd-offsets/register",
    AnyByteOrder = "byte-order-of-abi/any",
    SurplusWordsIgnored = "surplus-words/ignored",
    SurplusFlexWordsIgnored = "surplus-flex-words/ignored",
    RepSizePerLookup = "rep-size-0/per-look-up",
    UnusedBitsRefused = "unused-bits/refused",
    UnusedFlexBitRefused = "unused-flex-bit/refused",
    LonePaddingRefused = "lone-padding/refused",
    UnknownRegistersRefused = "registers-of-rules/refused",
    EndOfAddressSpaceNotFound = "end-of-address-space/not-found",
    CodesAlwaysStripped = "codes-of-unmangled-ra/stripped",
    NumFresRefused = "num-fres/refused",
    CodesClearedAnywhere = "width-of-authentication-codes/cleared",
    NoProgressNeeded = "progress/none",
    ProgressStrict = "progress/strict",
    ProgressAboveOnAmd64 = "progress/above-on-amd64",
    OnlyEqualIsNoProgress = "progress/not-equal",
    SignalFramesProgress = "progress/in-signal-frames",
    ZeroIsOutermost = "return-address-of-0/outermost",
    NoAlignmentNeeded = "alignment/none",
    // Mistakes: numbers.
    RowStartsSigned = "row-starts-signed",
    RowStartsSignExtended = "row-starts-sign-extended",
    WordsUnsigned = "words-unsigned",
    NarrowWordsUnsigned = "narrow-words-unsigned",
    ControlWordsSigned = "control-words-signed",
    ControlWordsSignExtended = "control-words-sign-extended",
    WordsOf1Byte = "words-of-1-byte",
    WordSizeUnmasked = "word-size-unmasked",
    WordCountOf3Bits = "word-count-of-3-bits",
    WordCountOf2Bits = "word-count-of-2-bits",
    WordSizeFromBit4 = "word-size-from-bit-4",
    FreInfoFromTop = "fre-info-from-top",
    FdeInfoFromTop = "fde-info-from-top",
    FreTypeUnmasked = "fre-type-unmasked",
    LittleEndianOnly = "little-endian-only",
    LittleEndianWords = "little-endian-words",
    StartOf32Bits = "start-of-32-bits",
    StartUnsigned = "start-unsigned",
    SizeOf16Bits = "size-of-16-bits",
    NumRowsOf8Bits = "num-rows-of-8-bits",
    NumFdesOf8Bits = "num-fdes-of-8-bits",
    NumFdesOf16Bits = "num-fdes-of-16-bits",
    Addr2Of4Bytes = "addr2-of-4-bytes",
    FreOffsetOf16Bits = "fre-offset-of-16-bits",
    ScalingIn32Bits = "scaling-in-32-bits",
    // Mistakes: places.
    AuxIgnored = "aux-header-ignored",
    FdeoffIgnored = "fdeoff-ignored",
    FreoffIgnored = "freoff-ignored",
    StartAbsolute = "start-absolute",
    PcrelIgnored = "pcrel-ignored",
    PcrelAlways = "pcrel-always",
    PcrelWithoutHeader = "pcrel-without-header",
    PcrelOfFirst = "pcrel-of-first-entry",
    EntriesOf20Bytes = "entries-of-20-bytes",
    EntriesOf17Bytes = "entries-of-17-bytes",
    FresFromHeader = "fre-offset-from-header",
    AttributeSkipped = "attribute-of-4-bytes",
    RowsBeyondSubSection = "rows-beyond-sub-section",
    // Mistakes: types and bits.
    FreTypeIgnored = "fre-type-ignored",
    PcTypeIgnored = "pc-type-ignored",
    PcTypeIgnoredInLookups = "pc-type-ignored-in-look-ups",
    FdeTypeIgnored = "fde-type-ignored",
    BaseBitInverted = "base-bit-inverted",
    BaseBitIgnored = "base-bit-ignored",
    MangledIgnored = "mangled-ignored",
    KeyIgnored = "key-ignored",
    SignalIgnored = "signal-ignored",
    SignalIsBit6 = "signal-is-bit-6",
    BlockByMask = "block-by-mask",
    BlockOf16 = "block-of-16",
    // Mistakes: look-ups.
    ReturnAddressAsPc = "return-address-as-pc",
    ByteAfterReturnAddress = "byte-after-return-address",
    PcAsReturnAddress = "pc-as-return-address",
    EndIncluded = "end-included",
    StartExcluded = "start-excluded",
    RowStartExcluded = "row-start-excluded",
    RowStartNeverIncluded = "row-start-never-included",
    FirstRowAlways = "first-row-always",
    LastRowAlways = "last-row-always",
    LastRowMissed = "last-row-missed",
    LastFdeNeverFound = "last-fde-never-found",
    FirstFdeNeverFound = "first-fde-never-found",
    SortedAssumed = "sorted-assumed",
    SizeIgnored = "size-ignored",
    DifferenceOf32Bits = "difference-of-32-bits",
    StartsComparedSigned = "starts-compared-signed",
    StartsComparedSignedUpToTheLast = "starts-compared-signed-up-to-the-last",
    // Mistakes: rules.
    CfaUnscaled = "cfa-unscaled",
    SavedOffsetsScaled = "saved-offsets-scaled",
    CfaUnadjusted = "cfa-unadjusted",
    SpIsCfa = "sp-is-cfa",
    SpUnchanged = "sp-unchanged",
    FixedRaIgnored = "fixed-ra-ignored",
    FixedRaUnsigned = "fixed-ra-unsigned",
    FixedFpIgnored = "fixed-fp-ignored",
    FixedIgnoredInFlex = "fixed-offsets-ignored-in-flex-rows",
    FpIsWord2 = "fp-is-word-2",
    FpBeforeRa = "fp-before-ra",
    FpLost = "fp-lost",
    RaPaddingIsOffset = "ra-padding-is-offset",
    RegisterOffsetsIgnored = "register-offsets-ignored",
    RegisterNumberUnshifted = "register-number-unshifted",
    FpPairOfPseudocode = "fp-pair-of-pseudocode",
    PaddingIsPair = "padding-is-pair",
    DerefIgnored = "deref-ignored",
    DerefAlways = "deref-always",
    FpAlwaysLoaded = "fp-always-loaded",
    RegPIgnored = "reg-p-ignored",
    RegisterShift2 = "register-shift-2",
    FlexSpFpByInfo = "flex-base-by-info-byte",
    NoWordsIsNoRow = "no-words-is-no-row",
    NoRowsIsNoRow = "no-rows-is-no-row",
    NoWordsIsNoEnd = "no-words-is-not-outermost",
    NoRowsIsNoEnd = "no-rows-is-not-outermost",
    SignalCallerByReturn = "signal-caller-as-return",
    CodesNeverStripped = "codes-never-stripped",
    // Mistakes: what is not checked.
    VersionUnchecked = "version-unchecked",
    AbiUnchecked = "abi-unchecked",
    S390xInVersion1 = "s390x-in-version-1",
    WordSize3Is8 = "word-size-3-is-8",
    FreTypeUnchecked = "fre-type-unchecked",
    FlexCfaUnchecked = "flex-cfa-unchecked",
}

/// Ways in which a reader differs.
pub type Ways = BTreeSet<Way>;

impl Way {
    /// Returns the way with a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|way| way.name() == name)
    }

    /// Whether it is an alternative of a reading, and not a mistake.
    #[must_use]
    pub fn is_reading(self) -> bool {
        self.name().contains('/')
    }
}
