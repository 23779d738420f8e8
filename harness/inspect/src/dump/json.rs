//! A section as a lossless JSON document.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use serde::ser::SerializeSeq as _;
use sframe_engine::{
    Base, ByteOrder, Error, Fde, FdeType, FreType, Header, PauthKey, PcType, Recovery, RecoveryRule,
};

use super::content::{Dump, Function, FunctionRow};
use super::text::flag_names;
use sframe_elf::sframe_section::{FileFormat, Input, RelocationTarget};

/// An address, as a string such as "0x401000".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressDocument(pub u64);

impl Serialize for AddressDocument {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

/// Bytes, as a string of two hexadecimal digits for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HexDocument<'d>(pub &'d [u8]);

impl Serialize for HexDocument<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }
}

/// The functions of a document, which are decoded while they are written.
#[derive(Clone, Copy, Debug)]
pub struct FunctionsDocument<'d> {
    dump: &'d Dump<'d>,
    relocations: &'d BTreeMap<u64, RelocationTarget>,
}

impl Serialize for FunctionsDocument<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let functions = self.dump.functions().into_iter().flatten();
        let mut documents = serializer.serialize_seq(None)?;
        for function in functions {
            documents.serialize_element(&describe(&function, self.relocations))?;
        }
        documents.end()
    }
}

/// The document of `dump --json`. Its fields are its keys: those of a header, flat, as all readers have them.
#[derive(Clone, Debug, Serialize)]
pub struct Document<'d> {
    /// Version of the document.
    pub schema: u32,
    /// The file name as given.
    pub file: String,
    /// The file's format as binutils names it, or `raw`.
    pub format: &'static str,
    /// The address at which the section is loaded.
    pub address: AddressDocument,
    /// Its length in bytes.
    pub size: usize,
    /// Version of the format.
    pub version: u8,
    /// The ABI, in this project's naming.
    pub abi: &'static str,
    /// `sfh_abi_arch`.
    pub abi_arch: u8,
    /// `little` or `big`.
    pub endian: &'static str,
    /// The flags, all 8 bits.
    pub flags: u8,
    /// The flags by name; a number for bits without a name.
    pub flag_names: Vec<String>,
    /// Fixed offset of the saved FP from the CFA; null if rows track it.
    pub fixed_fp: Option<i8>,
    /// Fixed offset of the return address from the CFA; null if rows track it.
    pub fixed_ra: Option<i8>,
    /// Length of the auxiliary header.
    pub auxhdr_len: u8,
    /// Number of FDEs according to the header.
    pub num_fdes: u32,
    /// Number of FREs according to the header.
    pub num_fres: u32,
    /// Length of the FRE sub-section.
    pub fre_len: u32,
    /// Offset of the FDE sub-section from the end of the header.
    pub fdeoff: u32,
    /// Offset of the FRE sub-section from the end of the header.
    pub freoff: u32,
    /// The auxiliary header.
    pub auxiliary_header: HexDocument<'d>,
    /// The functions, in the order of the section.
    pub fdes: FunctionsDocument<'d>,
    /// Bytes that belong to no structure, such as padding, before the last byte of
    /// the sub-sections.
    pub unclaimed: Vec<UnclaimedDocument<'d>>,
    /// Bytes after both sub-sections.
    pub trailing_bytes: HexDocument<'d>,
    /// Whether rows are left out because there are unreasonably many.
    pub too_many_rows: bool,
    /// The faults of the section.
    pub errors: Vec<ErrorDocument>,
}

/// A function.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionDocument<'d> {
    /// Its index in the FDE sub-section.
    pub index: u32,
    /// Offset of the FDE, or FDE index entry, in the section.
    pub offset: usize,
    /// Its bytes.
    pub bytes: HexDocument<'d>,
    /// Offset of the FDE attribute (version 3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_offset: Option<usize>,
    /// Bytes of the FDE attribute (version 3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_bytes: Option<HexDocument<'d>>,
    /// In relocatable files: the target of the start address's relocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceDocument<'d>>,
    /// The fields; absent if the FDE can't be read.
    #[serde(flatten)]
    pub fields: Option<FieldsDocument>,
    /// The rows, as far as they can be found.
    pub rows: Vec<RowDocument>,
    /// Why the FDE, or the rest of its rows, can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDocument>,
}

/// The fields of an FDE.
#[derive(Clone, Debug, Serialize)]
pub struct FieldsDocument {
    /// Address of the function.
    pub start: AddressDocument,
    /// Size in bytes.
    pub size: u32,
    /// The info byte.
    pub info: u8,
    /// The second info byte (version 3).
    pub info2: Option<u8>,
    /// Width of row starts: `addr1`, `addr2` or `addr4`.
    pub fre_type: &'static str,
    /// `inc` or `mask`.
    pub pc_type: &'static str,
    /// `default` or `flex`.
    pub fde_type: &'static str,
    /// Whether this is a signal frame (version 3).
    pub signal: bool,
    /// `A` or `B`. Meaningful on AArch64 only.
    pub pauth_key: &'static str,
    /// Size of the repeated block of mask functions; null in version 1.
    pub rep_size: Option<u8>,
    /// Whether the function marks an outermost frame by having no rows.
    pub outermost: bool,
    /// Offset of the first row in the section.
    pub rows_offset: usize,
    /// Number of rows according to the FDE.
    pub num_rows: u32,
}

/// A section or symbol, and an offset from it.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceDocument<'d> {
    /// The section or symbol.
    pub name: &'d str,
    /// Offset from it in bytes.
    pub offset: i64,
}

/// A row.
#[derive(Clone, Debug, Serialize)]
pub struct RowDocument {
    /// The first PC of the row, as in the text: an address, or for mask functions
    /// an offset into the repeated block.
    pub start: AddressDocument,
    /// The PC past the end of the row.
    pub end: AddressDocument,
    /// Offset of the FRE in the section.
    pub offset: usize,
    /// The start as stored, in bytes.
    pub start_offset: u32,
    /// The info byte.
    pub info: u8,
    /// Width of the data words in bytes.
    pub data_word_size: usize,
    /// The data words as signed numbers.
    pub data_words: Vec<i32>,
    /// Whether the return address is mangled.
    pub mangled_ra: bool,
    /// Whether the row marks an outermost frame.
    pub outermost: bool,
    /// The CFA; null if RA is undefined or the row is meaningless.
    pub cfa: Option<RuleDocument>,
    /// The return address; null if the row is meaningless.
    pub ra: Option<RuleDocument>,
    /// The caller's frame pointer; null if the row is meaningless.
    pub fp: Option<RuleDocument>,
    /// Why the row is meaningless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDocument>,
}

/// How a value is recovered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleDocument {
    /// `rule`, `unchanged` or `undefined`.
    pub kind: &'static str,
    /// The rule in readable form: `SP+16`, `*(CFA-8)`, `unchanged`, `undefined`.
    pub equation: String,
    /// `CFA`, `SP`, `FP` or `register`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<&'static str>,
    /// The DWARF number of any other base register.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<u32>,
    /// Added to the base, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// Whether the value is stored there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dereference: Option<bool>,
}

/// Bytes that belong to no structure.
#[derive(Clone, Debug, Serialize)]
pub struct UnclaimedDocument<'d> {
    /// Offset in the section.
    pub offset: usize,
    /// The bytes.
    pub bytes: HexDocument<'d>,
}

/// A fault and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorDocument {
    /// The fault.
    pub message: String,
    /// Offset in the section.
    pub offset: usize,
    /// Number and title of the clause of the specification.
    pub clause: &'static str,
}

impl From<Error> for ErrorDocument {
    fn from(error: Error) -> Self {
        Self { message: error.to_string(), offset: error.offset, clause: error.clause().title() }
    }
}

impl<'d> Document<'d> {
    /// Creates the document of a dump.
    #[must_use]
    pub fn new(file: impl Into<String>, input: &'d Input<'_>, dump: &'d Dump<'d>) -> Self {
        let header = &dump.header;
        let faults = dump.faults();
        let (unclaimed, trailing) = unclaimed(dump);
        Self {
            schema: 1,
            file: file.into(),
            format: match input.format {
                FileFormat::Elf(name) => name,
                FileFormat::Raw => "raw",
            },
            address: AddressDocument(dump.address),
            size: dump.data.len(),
            version: header.version.number(),
            abi: header.abi.name(),
            abi_arch: header.abi.id(),
            endian: match header.abi.byte_order() {
                ByteOrder::Little => "little",
                ByteOrder::Big => "big",
            },
            flags: header.flags.0,
            flag_names: names_of_flags(header),
            fixed_fp: header.fixed_fp_offset,
            fixed_ra: header.fixed_ra_offset,
            auxhdr_len: header.auxhdr_len,
            num_fdes: header.num_fdes,
            num_fres: header.num_fres,
            fre_len: header.fre_len,
            fdeoff: header.fdeoff,
            freoff: header.freoff,
            auxiliary_header: HexDocument(dump.auxiliary_header()),
            fdes: FunctionsDocument { dump, relocations: &input.relocations },
            unclaimed,
            trailing_bytes: trailing,
            too_many_rows: faults.too_many_rows,
            errors: faults.errors.into_iter().map(ErrorDocument::from).collect(),
        }
    }
}

fn names_of_flags(header: &Header) -> Vec<String> {
    let mut left = header.flags.0;
    let mut names = Vec::new();
    for (flag, name) in flag_names(header.version) {
        if left & flag != 0 {
            left &= !flag;
            names.push(name.to_owned());
        }
    }
    if left != 0 {
        names.push(format!("{left:#x}"));
    }
    names
}

fn describe<'d>(
    function: &Function<'d>,
    relocations: &'d BTreeMap<u64, RelocationTarget>,
) -> FunctionDocument<'d> {
    let place = relocations
        .get(&(function.offset as u64))
        .map(|target| PlaceDocument { name: &target.name, offset: target.addend });
    FunctionDocument {
        index: function.index,
        offset: function.offset,
        bytes: HexDocument(function.bytes),
        attribute_offset: function.attribute.map(|(offset, _)| offset),
        attribute_bytes: function.attribute.map(|(_, bytes)| HexDocument(bytes)),
        place,
        fields: function.fde.ok().map(|fde| fields(function, &fde)),
        rows: match &function.fde {
            Ok(fde) => function.rows.iter().map(|row| describe_row(fde, row)).collect(),
            Err(_) => Vec::new(),
        },
        error: function.fde.err().or(function.end).map(ErrorDocument::from),
    }
}

fn fields(function: &Function<'_>, fde: &Fde) -> FieldsDocument {
    FieldsDocument {
        start: AddressDocument(fde.start),
        size: fde.size,
        info: function.info(),
        info2: function.info2(),
        fre_type: match fde.fre_type {
            FreType::Addr1 => "addr1",
            FreType::Addr2 => "addr2",
            FreType::Addr4 => "addr4",
        },
        pc_type: match fde.pc_type {
            PcType::Inc => "inc",
            PcType::Mask => "mask",
        },
        fde_type: match fde.fde_type {
            FdeType::Default => "default",
            FdeType::Flex => "flex",
        },
        signal: fde.signal,
        pauth_key: match fde.pauth_key {
            PauthKey::A => "A",
            PauthKey::B => "B",
        },
        rep_size: fde.rep_size,
        outermost: fde.outermost,
        rows_offset: fde.rows_offset,
        num_rows: fde.num_rows,
    }
}

fn describe_row(fde: &Fde, row: &FunctionRow<'_>) -> RowDocument {
    let pc = |offset: u32| {
        AddressDocument(match fde.pc_type {
            PcType::Inc => fde.start.wrapping_add(u64::from(offset)),
            PcType::Mask => u64::from(offset),
        })
    };
    let fre = &row.fre;
    let meaning = row.row.ok();
    RowDocument {
        start: pc(fre.start()),
        end: pc(row.end),
        offset: fre.offset(),
        start_offset: fre.start(),
        info: fre.info(),
        data_word_size: fre.data_word_size().width(),
        data_words: fre.data_words().collect(),
        mangled_ra: fre.mangled_ra(),
        outermost: meaning.is_some_and(|row| row.is_outermost()),
        cfa: meaning.and_then(|row| row.cfa).map(|rule| rule_document(&rule)),
        ra: meaning.map(|row| recovery(&row.ra)),
        fp: meaning.map(|row| recovery(&row.fp)),
        error: row.row.err().map(ErrorDocument::from),
    }
}

fn recovery(recovery: &Recovery) -> RuleDocument {
    let without_rule = |kind: &'static str| RuleDocument {
        kind,
        equation: kind.to_owned(),
        base: None,
        register: None,
        offset: None,
        dereference: None,
    };
    match recovery {
        Recovery::Undefined => without_rule("undefined"),
        Recovery::Unchanged => without_rule("unchanged"),
        Recovery::Rule(rule) => rule_document(rule),
    }
}

fn rule_document(rule: &RecoveryRule) -> RuleDocument {
    let (base, register) = match rule.base {
        Base::Cfa => ("CFA", None),
        Base::Sp => ("SP", None),
        Base::Fp => ("FP", None),
        Base::Register(register) => ("register", Some(register.0)),
    };
    RuleDocument {
        kind: "rule",
        equation: rule.to_string(),
        base: Some(base),
        register,
        offset: Some(rule.offset),
        dereference: Some(rule.dereference),
    }
}

/// Returns the bytes that belong to no structure: within the extent of the
/// sub-sections, and after it.
fn unclaimed<'d>(dump: &Dump<'d>) -> (Vec<UnclaimedDocument<'d>>, HexDocument<'d>) {
    let header = &dump.header;
    let mut claimed: Vec<Range<usize>> = Vec::new();
    // Rows follow one another, and so do FDEs.
    let claim = |claimed: &mut Vec<Range<usize>>, range: Range<usize>| match claimed.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => claimed.push(range),
    };
    let mut fdes = Vec::new();
    for function in dump.functions().into_iter().flatten() {
        claim(&mut fdes, function.offset..function.offset.saturating_add(function.bytes.len()));
        if let Some((offset, bytes)) = function.attribute {
            claim(&mut claimed, offset..offset.saturating_add(bytes.len()));
        }
        for row in &function.rows {
            claim(&mut claimed, row.fre.offset()..row.fre.offset() + row.fre.size());
        }
    }
    claimed.extend(fdes);
    claimed.sort_by_key(|range| range.start);

    let after_header = |offset: u32, len: u64| header.end() as u64 + u64::from(offset) + len;
    let fdes = u64::from(header.num_fdes) * header.version.fde_size() as u64;
    let extent = after_header(header.fdeoff, fdes).max(after_header(header.freoff, header.fre_len.into()));
    // If a sub-section extends past the end, there are no trailing bytes.
    let extent = usize::try_from(extent).unwrap_or(usize::MAX).min(dump.data.len());

    let mut gaps = Vec::new();
    let mut gap = |bytes: Range<usize>| {
        if let Some(found) = dump.data.get(bytes.clone()).filter(|found| !found.is_empty()) {
            gaps.push(UnclaimedDocument { offset: bytes.start, bytes: HexDocument(found) });
        }
    };
    let mut next = header.end();
    for range in claimed {
        gap(next..range.start.min(extent));
        next = next.max(range.end);
    }
    gap(next..extent);
    (gaps, HexDocument(dump.data.get(extent..).unwrap_or_default()))
}
