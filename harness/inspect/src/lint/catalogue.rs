//! The rules for the ELF file around a section, sorted by ID.

sframe_engine::lint_rules! {
    /// All rules about ELF files.
    ELF_RULES;
    EMPTY_SECTION: "SF401" "empty-section", Error, ALL, Header,
        "The section has a header; GNU ld leaves an empty section where it can't merge its inputs.",
        "the .sframe section has 0 bytes";
    ABI_MISMATCH: "SF402" "abi-mismatch", Error, ALL, AbiArch,
        "The section is for the machine and byte order of its file.",
        "the section is for {}, the file for {}";
    SECTION_TYPE: "SF403" "section-type", Warning, SINCE_V2, ChangesV2,
        "Since version 2 errata 1 the section has the type SHT_GNU_SFRAME.",
        "the section has the type {}, not SHT_GNU_SFRAME";
    SECTION_TYPE_OLD: "SF404" "section-type-old", Note, V1_V2, ChangesV2,
        "The specification names SHT_GNU_SFRAME only since version 2 errata 1; older sections have another type.",
        "the section has the type {}";
    NOT_LOADED: "SF405" "not-loaded", Error, ALL, Overview,
        "The section is loaded: it has SHF_ALLOC and, in a linked file, its bytes lie in a loaded segment.",
        "the section is not loaded: {}";
    SEVERAL_SECTIONS: "SF406" "several-sections", Warning, ALL, Overview,
        "A linked file has one .sframe section; loaders find only one.",
        "the file has {} .sframe sections";
    NO_SEGMENT: "SF407" "no-segment", Warning, ALL, Overview,
        "A linked file has a PT_GNU_SFRAME segment, by which a loader finds the section; lld writes none.",
        "the file has no PT_GNU_SFRAME segment";
    SEGMENT_MISMATCH: "SF408" "segment-mismatch", Error, ALL, Overview,
        "The PT_GNU_SFRAME segment starts where the section starts, in memory and in the file, and holds all of it.",
        "PT_GNU_SFRAME is {}, the section {}";
    SEGMENT_LONGER: "SF409" "segment-longer", Warning, ALL, Overview,
        "The PT_GNU_SFRAME segment ends where the section ends; GNU ld writes it longer.",
        "PT_GNU_SFRAME is {} bytes longer than the section of {} bytes";
    ALIGNMENT: "SF410" "section-alignment", Warning, ALL, Header,
        "The section is aligned to 4 bytes, so that the header's fields are at their natural boundaries.",
        "the section {}, which is not a multiple of 4";
    UNCOVERED: "SF411" "uncovered-function", Note, ALL, FdeIndex,
        "A function symbol's code has an FDE; functions without one end a trace.",
        "{} at {} has no FDE";
    PARTLY_COVERED: "SF412" "partly-covered-function", Note, ALL, FdeIndex,
        "A function symbol's code has FDEs from its start to its end.",
        "{} at {} has no FDE from {} to {}";
    MISPLACED_RELOCATIONS: "SF413" "misplaced-relocations", Error, ALL, FdeIndex,
        "Linkers relocate the start of each FDE once, and nothing else; GNU ld -r of \
         binutils 2.40 and 2.44 writes relocations into rows.",
        "relocations elsewhere than at the start of an FDE: {}, the first at {}; starts without one: {}";
    UNCONVERTED_STARTS: "SF414" "unconverted-starts", Error, V1_V2, FdeIndex,
        "Starts of functions count from the section's start; relocations leave them counted from their own fields, \
         and GNU ld of binutils 2.40 and 2.44 does not convert them with --traditional-format.",
        "starts that count from their own fields, and not from the section's start: {}, the first at {}";
    STALE_FDES: "SF415" "stale-fdes", Error, ALL, FdeIndex,
        "An FDE describes a function that is there; BOLT moves code and leaves the section as it was.",
        "FDEs where functions were before they were moved: {}, the first at {}";
    MISSING_FDE: "SF416" "missing-fde", Warning, ALL, FdeIndex,
        "With --coverage: code with call frame information that the version can express has an FDE.",
        "{}: {}";
    SECTION_FLAGS: "SF417" "section-flags", Warning, ALL, Overview,
        "The section is read, and nothing else: no flags say that it is written, executed, merged or compressed.",
        "the section has {}";
    SEGMENT_FLAGS: "SF418" "segment-flags", Warning, ALL, Overview,
        "The PT_GNU_SFRAME segment can be read, and neither written nor executed.",
        "PT_GNU_SFRAME has the flags {}";
    KEPT_RELOCATIONS: "SF419" "kept-relocations", Warning, ALL, FdeIndex,
        "Relocations that a linked file keeps for programs that rewrite it are those of the starts of FDEs, and lead to \
         these functions; GNU ld --emit-relocs leaves them as they were before it merged and sorted.",
        "relocations kept elsewhere than at the start of an FDE: {}, of another function than starts there: {}, starts \
         without one: {}; the first at {}";
    SEVERAL_SEGMENTS: "SF420" "several-segments", Warning, ALL, Overview,
        "A linked file has one PT_GNU_SFRAME segment; loaders take one of several.",
        "the file has {} PT_GNU_SFRAME segments";
}
