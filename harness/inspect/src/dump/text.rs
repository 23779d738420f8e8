//! The text of `objdump --sframe`.

use std::fmt::Write as _;

use sframe_engine::constants::{SFRAME_F_FDE_FUNC_START_PCREL, SFRAME_F_FDE_SORTED, SFRAME_F_FRAME_POINTER};
use sframe_engine::{
    Abi, Base, CfaOffsetScaling, DwarfRegister, Fde, FdeType, Fre, Header, PauthKey, PcType, Version,
};

use super::content::{Dump, Function};
use sframe_elf::sframe_section::FileFormat;
use sframe_kit::text::Text;

/// Returns the text of a dump, with objdump's first lines: the name of the file, as
/// given, and its format. The first part covers the section as a whole, and each of
/// the others a function.
pub fn text(name: &str, format: FileFormat, dump: &Dump<'_>) -> impl Iterator<Item = Text> {
    let functions = dump.functions();
    let mut text = Text::default();
    text.blank();
    match format {
        FileFormat::Elf(format) => line(&mut text, format_args!("{name}:     file format {format}")),
        FileFormat::Raw => line(&mut text, format_args!("{name}:     raw SFrame section")),
    }
    text.blank();
    line(&mut text, format_args!("Contents of the SFrame section .sframe:"));
    header(&mut text, &dump.header);
    if functions.is_some() {
        text.blank();
        line(&mut text, format_args!("  Function Index :"));
    }
    let described = functions.into_iter().flatten().filter_map(|function| {
        let fde = function.fde.as_ref().ok()?;
        Some(describe(&dump.header, &function, fde))
    });
    std::iter::once(text).chain(described)
}

fn line(text: &mut Text, arguments: std::fmt::Arguments<'_>) {
    text.line(arguments);
}

fn header(text: &mut Text, header: &Header) {
    line(text, format_args!("  Header :"));
    text.blank();
    line(text, format_args!("    Version: SFRAME_VERSION_{}", header.version));
    if header.version.is_obsolete() {
        line(text, format_args!("    Flags: {}", flags_v1(header.flags.0)));
    } else {
        flags(text, header);
        for (name, offset) in [("FP", header.fixed_fp_offset), ("RA", header.fixed_ra_offset)] {
            if let Some(offset) = offset {
                line(text, format_args!("    CFA fixed {name} offset: {offset}"));
            }
        }
    }
    line(text, format_args!("    Num FDEs: {}", header.num_fdes.cast_signed()));
    line(text, format_args!("    Num FREs: {}", header.num_fres.cast_signed()));
}

/// Binutils 2.40 shows only one flag: the second one hides the first.
const fn flags_v1(flags: u8) -> &'static str {
    if flags & SFRAME_F_FRAME_POINTER != 0 {
        "SFRAME_F_FRAME_POINTER"
    } else if flags & SFRAME_F_FDE_SORTED != 0 {
        "SFRAME_F_FDE_SORTED"
    } else if flags == 0 {
        "NONE"
    } else {
        ""
    }
}

/// Writes one flag on each line; unnamed bits are shown as a number.
fn flags(text: &mut Text, header: &Header) {
    let mut prefix = "    Flags: ";
    let mut left = header.flags.0;
    if left == 0 {
        line(text, format_args!("{prefix}NONE"));
    }
    for (flag, name) in flag_names(header.version) {
        if left & flag != 0 {
            left &= !flag;
            line(text, format_args!("{prefix}{name}{}", if left == 0 { "" } else { "," }));
            prefix = "           ";
        }
    }
    if left != 0 {
        line(text, format_args!("{prefix}{left}"));
    }
}

/// Returns the flags of a version with their names.
pub(super) fn flag_names(version: Version) -> impl Iterator<Item = (u8, &'static str)> {
    let names = [
        (SFRAME_F_FDE_SORTED, "SFRAME_F_FDE_SORTED"),
        (SFRAME_F_FRAME_POINTER, "SFRAME_F_FRAME_POINTER"),
        (SFRAME_F_FDE_FUNC_START_PCREL, "SFRAME_F_FDE_FUNC_START_PCREL"),
    ];
    names.into_iter().filter(move |(flag, _)| version.flags() & flag != 0)
}

/// The length of the lines of a function without rows, and of a row, in bytes. More
/// is possible.
const FUNCTION_LEN: usize = 160;
const ROW_LEN: usize = 56;

/// Returns the lines of a function. They consist of numbers and of names that are
/// this project's own, and are written without the machinery of `std::fmt`: a
/// library has a million rows.
fn describe(header: &Header, function: &Function<'_>, fde: &Fde) -> Text {
    let mut text = String::with_capacity(FUNCTION_LEN + function.rows.len() * ROW_LEN);
    let Fde { index, start, size, .. } = fde;
    let _ = write!(text, "\n    func idx [{index}]: pc = {start:#x}, size = {} bytes", size.cast_signed());
    // The bit is meaningless in version 2, but objdump tests it there too.
    let signal = !header.version.is_obsolete() && function.info() & 0x80 != 0;
    let flex = fde.fde_type == FdeType::Flex;
    if signal || flex {
        let (signal, flex) = (if signal { "S" } else { "" }, if flex { "F" } else { "" });
        let _ = write!(text, ", attr = \"{signal}{flex}\"");
    }
    if header.abi.signs_return_addresses() && fde.pauth_key == PauthKey::B {
        text.push_str(", pauth = B key");
    }
    let mask = if fde.pc_type == PcType::Mask { "[m]" } else { "" };
    let _ = writeln!(text, "\n    {:<7}{mask:<8} {:<10}{:<10}{:<13}", "STARTPC", "CFA", "FP", "RA");
    for row in &function.rows {
        let pc = match fde.pc_type {
            PcType::Inc => start.wrapping_add(u64::from(row.fre.start())),
            PcType::Mask => u64::from(row.fre.start()),
        };
        push_row(&mut text, header, fde, &row.fre, pc);
    }
    Text::made_neutral(text)
}

fn push_row(text: &mut String, header: &Header, fde: &Fde, fre: &Fre<'_>, pc: u64) {
    text.push_str("    ");
    push_hex(text, pc);
    text.push_str("  ");
    match columns(header, fde, fre) {
        None => text.push_str("RA undefined"),
        Some([cfa, fp, ra]) => {
            push_padded(text, 10, |text| cfa.push(text));
            push_padded(text, 10, |text| fp.push(text));
            push_padded(text, 13, |text| {
                ra.push(text);
                text.push_str(if fre.mangled_ra() { "[s]" } else { "   " });
            });
        }
    }
    text.push('\n');
}

/// The content of a column.
#[derive(Clone, Copy)]
enum Column {
    /// A word that stands for a rule.
    Word(&'static str),
    /// An offset from a register, after `+`, even if it is negative.
    After(&'static str, i32),
    /// An offset from the CFA, with its sign.
    Saved(i32),
    /// A register.
    Register(i32),
    /// A register and an offset with its sign, or what is stored there.
    Flex { register: FlexRegister, offset: i32, dereference: bool },
}

/// The register of a flex rule.
#[derive(Clone, Copy)]
enum FlexRegister {
    Sp,
    Fp,
    Other(u32),
}

impl Column {
    fn push(self, text: &mut String) {
        match self {
            Self::Word(word) => text.push_str(word),
            Self::After(register, offset) => {
                text.push_str(register);
                text.push('+');
                push_number(text, offset);
            }
            Self::Saved(offset) => {
                text.push('c');
                push_signed(text, offset);
            }
            Self::Register(number) => {
                text.push('r');
                push_number(text, number);
            }
            Self::Flex { register, offset, dereference } => {
                text.push_str(if dereference { "(" } else { "" });
                register.push(text);
                push_signed(text, offset);
                text.push_str(if dereference { ")" } else { "" });
            }
        }
    }
}

impl FlexRegister {
    fn push(self, text: &mut String) {
        match self {
            Self::Sp => text.push_str("sp"),
            Self::Fp => text.push_str("fp"),
            Self::Other(number) => {
                text.push('r');
                push_digits(text, number);
            }
        }
    }
}

/// Adds spaces to what is pushed until it has a width.
fn push_padded(text: &mut String, width: usize, push: impl FnOnce(&mut String)) {
    const SPACES: &str = "             ";
    let end = text.len() + width;
    push(text);
    text.push_str(SPACES.get(..end.saturating_sub(text.len())).unwrap_or_default());
}

/// Adds all 16 hexadecimal digits of a number.
fn push_hex(text: &mut String, number: u64) {
    let digits: [u8; 16] = std::array::from_fn(|index| {
        let digit = number >> (60 - 4 * index) & 0xf;
        b"0123456789abcdef"[digit as usize]
    });
    text.push_str(std::str::from_utf8(&digits).unwrap_or_default());
}

/// Adds a number with its sign, also if that is `+`.
fn push_signed(text: &mut String, number: i32) {
    if number >= 0 {
        text.push('+');
    }
    push_number(text, number);
}

fn push_number(text: &mut String, number: i32) {
    if number < 0 {
        text.push('-');
    }
    push_digits(text, number.unsigned_abs());
}

fn push_digits(text: &mut String, number: u32) {
    if number >= 10 {
        push_digits(text, number / 10);
    }
    text.extend(char::from_digit(number % 10, 10));
}

/// Returns CFA, FP and RA; `None` if RA is undefined.
fn columns(header: &Header, fde: &Fde, fre: &Fre<'_>) -> Option<[Column; 3]> {
    let word = |index| fre.data_words().nth(index);
    match (header.version, fde.fde_type) {
        (version, _) if version.is_obsolete() => Some(columns_v1(header, fre, word)),
        (version, _) if version.marks_outermost_rows() && fre.data_words().len() == 0 => None,
        (_, FdeType::Default) => Some(columns_default(header, fre, word)),
        (_, FdeType::Flex) => Some(columns_flex(header, fre, word)),
    }
}

/// What binutils prints for a number that the row does not have.
const MISSING: i32 = -1;

const fn base_name(fre: &Fre<'_>) -> &'static str {
    match fre.base() {
        Base::Fp => "fp",
        _ => "sp",
    }
}

/// What binutils prints for a value without a rule, for one at the header's fixed
/// offset, and for a padding word.
const UNCHANGED: Column = Column::Word("u");
const FIXED: Column = Column::Word("f");
const PADDING: Column = Column::Word("U");

/// Binutils 2.40 shows nothing for values at the header's fixed offsets.
fn columns_v1(header: &Header, fre: &Fre<'_>, word: impl Fn(usize) -> Option<i32>) -> [Column; 3] {
    let cfa = Column::After(base_name(fre), word(0).unwrap_or(MISSING));
    let fp_index = if header.fixed_ra_offset.is_some() { 1 } else { 2 };
    let tracked = |fixed: Option<i8>, index: usize| match (fixed, word(index)) {
        (None, Some(offset)) => Column::Saved(offset),
        _ => UNCHANGED,
    };
    [cfa, tracked(header.fixed_fp_offset, fp_index), tracked(header.fixed_ra_offset, 1)]
}

fn columns_default(header: &Header, fre: &Fre<'_>, word: impl Fn(usize) -> Option<i32>) -> [Column; 3] {
    let tracked = |word: i32| {
        if header.version.has_registers_in_words(header.abi) && word & 1 != 0 {
            Column::Register(word >> 1)
        } else {
            Column::Saved(word)
        }
    };
    let cfa = word(0).map_or(MISSING, |word| cfa_offset(header.abi, word));
    let fp_index = if header.fixed_ra_offset.is_some() { 1 } else { 2 };
    let fp = header.fixed_fp_offset.map(i32::from).or_else(|| word(fp_index));
    let ra = match (header.fixed_ra_offset, word(1)) {
        (Some(_), _) => FIXED,
        (None, Some(0)) => PADDING,
        (None, word) => word.map_or(UNCHANGED, tracked),
    };
    [Column::After(base_name(fre), cfa), fp.map_or(UNCHANGED, tracked), ra]
}

/// Flex rows: pairs of control word and offset, or a padding word (3.2).
fn columns_flex(header: &Header, fre: &Fre<'_>, word: impl Fn(usize) -> Option<i32>) -> [Column; 3] {
    let abi = header.abi;
    let control = |index: u8| fre.control_word(index);
    let cfa_offset = word(1).map_or(MISSING, |word| cfa_offset(abi, word));
    let cfa = flex_rule(abi, control(0).unwrap_or_default(), cfa_offset);
    let ra = match (control(2), header.fixed_ra_offset) {
        (None, Some(_)) => FIXED,
        (None, None) => UNCHANGED,
        (Some(0), _) => PADDING,
        (Some(control), fixed) => {
            let offset = word(3).or(fixed.map(i32::from));
            flex_rule(abi, control, offset.unwrap_or(MISSING))
        }
    };
    let fp_index = if control(2) == Some(0) { 3 } else { 4 };
    let fp_offset = word(usize::from(fp_index) + 1).or(header.fixed_fp_offset.map(i32::from));
    let fp = match (control(fp_index), fp_offset) {
        (Some(control), Some(offset)) => flex_rule(abi, control, offset),
        _ => UNCHANGED,
    };
    [cfa, fp, ra]
}

fn flex_rule(abi: Abi, control: u32, offset: i32) -> Column {
    if control & 1 == 0 {
        return Column::Saved(offset);
    }
    let register = match DwarfRegister(control >> 3) {
        register if register == abi.sp() => FlexRegister::Sp,
        register if register == abi.fp() => FlexRegister::Fp,
        DwarfRegister(number) => FlexRegister::Other(number),
    };
    Column::Flex { register, offset, dereference: control & 2 != 0 }
}

/// Returns a CFA offset in bytes. objdump computes it in 32 bits.
fn cfa_offset(abi: Abi, word: i32) -> i32 {
    match abi.cfa_offset_scaling() {
        Some(CfaOffsetScaling { adjustment, factor }) => {
            word.wrapping_mul(low_32_bits(factor)).wrapping_sub(low_32_bits(adjustment))
        }
        None => word,
    }
}

const fn low_32_bits(number: i64) -> i32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}
