//! Every rule about a section, in the order of the IDs.
//!
//! Severities follow the text and real producers. What the text forbids is an error. It is a
//! warning at most where the text calls bits unused without demanding that they be 0, and where
//! linkers deliberately do something that the text does not foresee.

/// Defines the rules of a catalogue, and the list of them.
#[doc(hidden)]
#[macro_export]
macro_rules! lint_rules {
    ($(#[$doc:meta])* $all:ident; $($constant:ident: $id:literal $name:literal, $severity:ident, $versions:ident,
       $clause:ident, $summary:literal, $message:literal;)*) => {
        $(
            #[doc = $summary]
            pub static $constant: $crate::lint::Rule = $crate::lint::Rule {
                id: $id,
                name: $name,
                severity: $crate::lint::Severity::$severity,
                versions: $crate::lint::Versions::$versions,
                clause: $crate::Clause::$clause,
                summary: $summary,
                message: $message,
            };
        )*

        $(#[$doc])*
        pub static $all: &[&$crate::lint::Rule] = &[$(&$constant),*];
    };
}

lint_rules! {
    /// All rules about a section.
    RULES;
    // The preamble and the header.
    MAGIC: "SF101" "magic", Error, ALL, Magic,
        "A section starts with the magic number 0xdee2 in one of the two byte orders.",
        "the magic number is {}, not 0xdee2";
    VERSION: "SF102" "version", Error, ALL, Version,
        "The version is 1, 2 or 3.",
        "version {} is unknown";
    HEADER_TRUNCATED: "SF103" "header-truncated", Error, ALL, Header,
        "The section holds the whole header, with its auxiliary part.",
        "the header needs {} bytes, the section has {}";
    ABI: "SF104" "abi", Error, ALL, AbiArch,
        "The ABI identifier is one that the format defines.",
        "the ABI identifier {} is unknown";
    BYTE_ORDER: "SF105" "byte-order", Error, ALL, Magic,
        "The section's byte order is that of its ABI.",
        "the byte order is not that of {}";
    ABI_TOO_NEW: "SF106" "abi-too-new", Error, V1, AbiArch,
        "The section's version defines the ABI: s390x came with version 2 errata 1.",
        "version 1 does not know {}";
    OBSOLETE: "SF107" "obsolete-version", Warning, V1, ChangesV2,
        "Version 1 is obsolete and should no longer be written.",
        "version 1 is obsolete";
    UNKNOWN_FLAGS: "SF108" "unknown-flags", Error, ALL, Flags,
        "Flag bits that no version defines are 0.",
        "flag bits {} have no meaning";
    FRAME_POINTER_FLAG: "SF109" "frame-pointer-flag", Error, SINCE_V3, Flags,
        "The flag for preserved frame pointers is clear: version 3 no longer has it.",
        "the frame-pointer flag is set, which version 3 does not define";
    PCREL_FLAG: "SF110" "pcrel-flag", Error, V1, Flags,
        "The flag for field-relative start addresses is clear: it came with version 2 errata 1.",
        "the flag for field-relative starts is set, which version 1 does not define";
    AUXILIARY_HEADER: "SF111" "auxiliary-header", Note, ALL, Header,
        "An auxiliary header is present; no ABI defines its content so far.",
        "an auxiliary header of {} bytes is present";
    FIXED_RA: "SF112" "fixed-ra-offset", Error, ALL, DefaultFde,
        "The fixed RA offset is -8 on amd64, and 0 (RA is tracked in the rows) on aarch64 and s390x.",
        "the fixed RA offset is {}; on {} it has to be {}";
    FIXED_FP: "SF113" "fixed-fp-offset", Warning, ALL, DefaultFde,
        "The fixed FP offset is 0: all ABIs track FP in the rows.",
        "the fixed FP offset is {}, so every row that does not track FP loads it from there";
    OUT_OF_BOUNDS: "SF114" "sub-section-out-of-bounds", Error, ALL, Header,
        "Both sub-sections are within the section.",
        "the {} sub-section ends at {}, past the end of the section at {}";
    SUB_SECTIONS_OVERLAP: "SF115" "sub-sections-overlap", Error, ALL, Header,
        "The FRE sub-section starts at or after the end of the FDE sub-section.",
        "the FRE sub-section starts at {}, before the end of the FDE sub-section at {}";
    SUB_SECTION_GAP: "SF116" "sub-section-gap", Warning, ALL, Header,
        "Header, FDE sub-section and FRE sub-section follow one another without a gap.",
        "{} bytes before the {} sub-section belong to nothing";
    FDE_ALIGNMENT: "SF117" "fde-alignment", Warning, SINCE_V2, FdeIndex,
        "FDEs are at multiples of 4 bytes in the section. Natural alignment of version 3's 8-byte field is not required: after a header of 28 bytes, in a section aligned to 8, it is impossible.",
        "the FDE sub-section starts at {}, which is not a multiple of 4";
    NUM_FRES: "SF118" "num-fres", Error, ALL, Header,
        "The header's number of FREs is the sum over the FDEs.",
        "the header counts {} FREs, the FDEs have {} in total";
    TRAILING_BYTES: "SF119" "trailing-bytes", Note, ALL, Header,
        "The section continues after its last sub-section; GNU ld leaves such bytes.",
        "{} bytes follow the FRE sub-section";
    NO_FDES: "SF120" "no-fdes", Note, ALL, Header,
        "The section has no FDE, so it describes nothing.",
        "the section has no FDE";
    CONCATENATED: "SF121" "concatenated-sections", Error, ALL, Header,
        "One header accounts for the whole section. A linker that concatenates its input sections leaves a header for each, and readers use only the first.",
        "headers after the end of the section: {}; FDEs that they count, which no reader finds: {}";

    // The FDEs.
    UNSORTED: "SF201" "fdes-unsorted", Error, ALL, Flags,
        "If the sorted flag is set, no function starts before that of the previous FDE.",
        "the function starts at {}, before that of the previous FDE at {}";
    SORTED_FLAG: "SF202" "sorted-flag-missing", Warning, ALL, FdeIndex,
        "A linked section has the sorted flag, so that look-ups need not try every FDE.",
        "the sorted flag is not set: look-ups have to try all {} FDEs";
    FDES_OVERLAP: "SF203" "fdes-overlap", Warning, ALL, FdeIndex,
        "No two FDEs cover the same PC; which one a reader takes is not defined.",
        "the function at {} starts inside that of FDE {}, which ends at {}";
    FDE_EMPTY: "SF204" "fde-empty", Warning, ALL, FdeIndex,
        "A function has a size above 0, or its FDE covers nothing.",
        "the function at {} has size 0";
    START_NOT_EXECUTABLE: "SF205" "start-not-executable", Error, ALL, FdeIndex,
        "Functions start in an executable segment.",
        "the function starts at {}, which is not in an executable segment";
    END_NOT_EXECUTABLE: "SF206" "end-not-executable", Error, ALL, FdeIndex,
        "Functions end in the executable segment that they start in.",
        "the function ends at {}, past the end of its executable segment at {}";
    ROWS_OFFSET: "SF207" "rows-offset", Error, ALL, FdeIndex,
        "The offset to a function's rows is within the FRE sub-section.",
        "the rows' offset {} is outside the FRE sub-section of {} bytes";
    ATTRIBUTE_TRUNCATED: "SF208" "attribute-truncated", Error, SINCE_V3, FdeAttribute,
        "The FRE sub-section holds the whole FDE attribute.",
        "the FDE attribute needs 5 bytes, the FRE sub-section has {} left";
    FRE_TYPE: "SF209" "fre-type", Error, ALL, FreType,
        "The FRE type is ADDR1, ADDR2 or ADDR4.",
        "FRE type {} is unknown";
    FDE_TYPE: "SF210" "fde-type", Error, SINCE_V3, FdeType,
        "The FDE type is default or flex.",
        "FDE type {} is unknown";
    INFO_BITS: "SF211" "fde-info-unused", Warning, ALL, FdeInfo,
        "Unused bits of the FDE info byte are 0.",
        "unused bits {} of the FDE info byte are set";
    INFO2_BITS: "SF212" "fde-info2-unused", Warning, SINCE_V3, FdeInfo,
        "Unused bits of the second FDE info byte are 0.",
        "unused bits {} of the second FDE info byte are set";
    PAUTH_KEY: "SF213" "pauth-key", Warning, ALL, FdeInfo,
        "The bit for pauth key B is set on aarch64 only.",
        "the bit for pauth key B is set, which {} does not use";
    PAUTH_KEY_V1: "SF214" "pauth-key-v1", Note, V1, FdeInfo,
        "Pauth key B is marked in version 1, whose text does not define the bit; GNU as 2.40 sets it.",
        "the bit for pauth key B is set, which the text of version 1 does not define";
    PADDING: "SF215" "padding", Warning, V2, FdeIndex,
        "The padding at the end of an FDE is 0.",
        "the padding holds {}";
    REP_SIZE_ZERO: "SF216" "rep-size-zero", Error, SINCE_V2, PcType,
        "The repeated block of a mask FDE has a size above 0.",
        "the PC type is mask, but the repeated block has size 0";
    REP_SIZE_UNUSED: "SF217" "rep-size-unused", Warning, SINCE_V2, PcType,
        "An inc FDE has no repeated block: its block size is 0.",
        "the PC type is inc, but the repeated block has size {}";
    REP_SIZE_REMAINDER: "SF218" "rep-size-remainder", Warning, SINCE_V2, PcType,
        "The size of a mask FDE is a multiple of its repeated block.",
        "the function's size {} is not a multiple of its repeated block of {} bytes";
    MASK_START: "SF219" "mask-start", Note, SINCE_V2, PcType,
        "A mask FDE does not start at a multiple of its block size: the text's PC % size and the offset % size that tools write differ.",
        "the function at {} does not start at a multiple of its repeated block of {} bytes";
    NO_ROWS: "SF220" "fde-without-rows", Warning, V1_V2, FdeIndex,
        "An FDE has rows; before version 3, an FDE without rows means nothing.",
        "the FDE has no rows";
    OUTERMOST: "SF221" "outermost-fde", Note, SINCE_V3, FdeType,
        "A default FDE without rows marks an outermost frame.",
        "the FDE marks an outermost frame";
    SIGNAL: "SF222" "signal-frame", Note, SINCE_V3, FdeInfo,
        "An FDE marks a signal frame: its caller was interrupted and did not call it.",
        "the FDE marks a signal frame";
    FLEX_NO_ROWS: "SF223" "flex-without-rows", Warning, SINCE_V3, FdeType,
        "A flex FDE has rows: only default FDEs have a meaning without rows.",
        "the flex FDE has no rows";
    ROWS_OVERLAP: "SF224" "rows-overlap", Warning, ALL, FdeIndex,
        "Each function has its own row data.",
        "the row data at {} starts inside that of FDE {}, which ends at {}";
    ROWS_UNUSED: "SF225" "rows-unused", Warning, ALL, FdeIndex,
        "All of the FRE sub-section belongs to some FDE.",
        "{} bytes at {} of the section belong to no FDE";
    ROWS_UNCHECKED: "SF226" "rows-unchecked", Warning, ALL, FdeIndex,
        "Not all rows were checked: FDEs share row data so often that it would take too long.",
        "rows were not checked from this FDE on: too many FDEs share row data";
    FRE_TYPE_WIDE: "SF227" "fre-type-wide", Note, ALL, FreType,
        "Row starts are stored wider than both the function's size and its last row require.",
        "row starts take {} bytes, {} would be enough";
    FRE_TYPE_NARROW: "SF228" "fre-type-narrow", Note, ALL, FreType,
        "Row starts are too narrow for every PC of the function; LLVM chooses the width by the last row.",
        "row starts of {} bytes can't reach the end of the function of {} bytes";
    START_ALIGNMENT: "SF229" "start-alignment", Error, ALL, FdeIndex,
        "Functions start at an instruction: at a multiple of 4 on aarch64, and of 2 on s390x.",
        "the function starts at {}, where {} has no instruction";
    SIZE_ALIGNMENT: "SF230" "size-alignment", Error, ALL, FdeIndex,
        "The size of a function is that of its instructions: a multiple of 4 on aarch64, and of 2 on s390x.",
        "the function's size {} is not that of instructions of {}";
    FUNCTION_WRAPS: "SF231" "function-wraps", Error, ALL, FdeIndex,
        "A function ends within the address space.",
        "the function at {} with {} bytes ends past the last address";
    ROWS_IN_ATTRIBUTE: "SF232" "rows-in-attribute", Error, SINCE_V3, FdeAttribute,
        "The rows of a function end before the attribute of another FDE; otherwise one is read as the other.",
        "the row data at {} starts inside that of FDE {}, which ends at {}: the attribute is part of its rows";

    // The rows.
    ROW_TRUNCATED: "SF301" "row-truncated", Error, ALL, Fre,
        "The FRE sub-section holds all of a function's rows.",
        "the FRE sub-section ends inside the row, the first of {} remaining rows";
    WORD_SIZE: "SF302" "data-word-size", Error, ALL, FreInfo,
        "Data words are 1, 2 or 4 bytes wide.",
        "data word size 3 is reserved";
    FIRST_ROW: "SF303" "first-row-start", Warning, ALL, Fre,
        "A function's first row starts at offset 0; otherwise PCs before it have no row.",
        "the first row starts at {}";
    ROWS_UNORDERED: "SF304" "rows-unordered", Error, ALL, Fre,
        "Rows are in the order of their starts.",
        "the row starts at {}, before the previous one at {}";
    ROWS_EQUAL_START: "SF305" "rows-equal-start", Warning, ALL, Fre,
        "No two rows start at one PC: the earlier one covers nothing.",
        "the row starts at {}, as the previous one does";
    ROWS_EQUAL: "SF306" "rows-equal", Note, ALL, Fre,
        "A row says the same as the row before it.",
        "the row at {} says the same as the previous row";
    ROW_OUTSIDE: "SF307" "row-outside-function", Warning, ALL, Fre,
        "Rows start before the end of their function, or of its repeated block.",
        "the row starts at {}, but the {} ends at {}";
    WORD_COUNT: "SF308" "data-word-count", Error, ALL, DefaultFde,
        "A default row has the number of data words that its ABI allows: 1-2 on amd64, 1-3 elsewhere; from version 2 errata 2 on also 0.",
        "{} data words are not allowed on {}";
    TWO_WORDS: "SF309" "aarch64-two-words", Warning, ALL, Aarch64,
        "A default row has 1 or 3 data words on aarch64, whose frame record saves RA and FP together.",
        "the row has 2 data words: RA is saved and FP is not";
    RA_UNDEFINED: "SF310" "ra-undefined", Note, SINCE_V2, FreInfo,
        "A row without data words says that RA is undefined: an outermost frame.",
        "RA is undefined: the row marks an outermost frame";
    MANGLED_RA: "SF311" "mangled-ra", Warning, ALL, FreInfo,
        "The bit for a mangled RA is set on aarch64 only.",
        "the bit for a mangled RA is set, which {} does not use";
    WIDE_WORDS: "SF312" "wide-data-words", Note, ALL, FreInfo,
        "Data words are wider than their values need.",
        "data words take {} bytes, {} would be enough";
    CFA_BELOW_SP: "SF313" "cfa-below-stack", Warning, ALL, DefaultFde,
        "A CFA based on SP is not below what the ABI's calls leave on the stack: SP + 8 on amd64, SP on aarch64, SP + 160 on s390x.",
        "the CFA is SP{}; on {} it is at least SP+{}";
    SLOT_ABOVE_CFA: "SF314" "slot-above-cfa", Warning, ALL, DefaultFde,
        "RA and FP are saved below the CFA: the memory above belongs to the caller.",
        "{} is saved at CFA+{}, in the caller's frame";
    SLOTS_OVERLAP: "SF315" "slots-overlap", Warning, ALL, DefaultFde,
        "The stack slots of RA and FP do not overlap.",
        "RA is saved at CFA{} and FP at CFA{}: the slots overlap";
    SLOT_BELOW_SP: "SF316" "slot-below-sp", Note, ALL, DefaultFde,
        "A value is loaded from below SP, where a signal handler may have overwritten it; common right after a pop.",
        "{} is loaded from SP{}";
    SLOT_ALIGNMENT: "SF317" "slot-alignment", Warning, ALL, DefaultFde,
        "RA and FP are saved at multiples of 8. On s390x, an odd offset of version 2 names a register; version 3 no longer has that.",
        "{} is saved at CFA{}, which is not a multiple of 8";
    S390X_REGISTER: "SF318" "s390x-register", Error, V2, ChangesV2,
        "A register in place of a stack slot is r0-r15 or f0-f15 (0-31).",
        "{} is in register {}, which s390x does not have";
    RA_PADDING: "SF319" "ra-padding", Note, SINCE_V2, S390x,
        "FP is saved while RA is unchanged, which is valid only in the topmost frame.",
        "FP is saved while RA is unchanged";
    NEEDLESS_PADDING: "SF320" "needless-padding", Warning, SINCE_V2, S390x,
        "There is a padding word for RA only if FP follows.",
        "the row ends in a padding word for {}";
    CFA_RANGE: "SF321" "cfa-offset-range", Warning, SINCE_V2, S390x,
        "A scaled CFA offset fits 32 bits.",
        "the CFA offset {} does not fit 32 bits";
    TOPMOST_ONLY: "SF322" "topmost-only", Note, SINCE_V2, FlexFde,
        "A rule uses a register other than SP and FP, so it is valid only in the topmost frame.",
        "{} is based on register {}, which is known only in the topmost frame";
    FLEX_WORDS: "SF323" "flex-word-count", Error, SINCE_V3, FlexFde,
        "The data words of a flex row are pairs and padding words for CFA, RA and FP.",
        "{} data words do not form complete flex rules";
    FLEX_CFA: "SF324" "flex-cfa-register", Error, SINCE_V3, FlexFde,
        "A flex CFA has a base register.",
        "the CFA rule has no base register (control word {})";
    FLEX_UNUSED: "SF325" "flex-control-unused", Warning, SINCE_V3, FlexFde,
        "Bit 2 of a flex control word is 0.",
        "bit 2 of the control word {} for {} is set";
    FLEX_REGISTER: "SF326" "flex-register", Error, SINCE_V3, FlexFde,
        "The base register of a flex rule is one that the ABI defines.",
        "{} is based on register {}, which {} does not have";
    FLEX_IDLE_REGISTER: "SF327" "flex-idle-register", Warning, SINCE_V3, FlexFde,
        "A flex rule based on the CFA names no register: the number has no effect.",
        "{} is based on the CFA, but names register {}";
    FLEX_RA_ADDRESS: "SF328" "flex-ra-address", Warning, SINCE_V3, FlexFde,
        "A flex RA based on CFA or SP is loaded from the stack: the address itself can't be a return address.",
        "RA is the stack address {}{} itself";
    FLEX_NEEDLESS: "SF329" "flex-needless", Note, SINCE_V3, FlexFde,
        "A default FDE could express every row of a flex FDE, in less space.",
        "all {} rows of the flex FDE could be default rows";
    FLEX_PADDING: "SF330" "flex-padding", Warning, SINCE_V3, FlexFde,
        "There is a padding word in a flex row only if a pair follows.",
        "the row ends in a padding word for {}";
    CFA_ALIGNMENT: "SF331" "cfa-alignment", Note, ALL, DefaultFde,
        "The CFA's distance from SP is no multiple of what the ABI aligns the stack to (16 on aarch64, else 8), or its distance from FP none of 8; LLVM's leaf functions have such frames.",
        "the CFA is {}{}, which is not a multiple of {} away";
    ROW_ALIGNMENT: "SF332" "row-alignment", Warning, ALL, Fre,
        "Rows start at an instruction: at a multiple of 4 on aarch64, and of 2 on s390x.",
        "the row starts at {}, where {} has no instruction";
}
