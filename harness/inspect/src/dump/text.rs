//! The text of `objdump --sframe`.

use sframe_engine::constants::{SFRAME_F_FDE_FUNC_START_PCREL, SFRAME_F_FDE_SORTED, SFRAME_F_FRAME_POINTER};
use sframe_engine::{
    Abi, Base, CfaOffsetScaling, DwarfRegister, Fde, FdeType, Fre, Header, PauthKey, PcType, Version,
};

use super::content::{Dump, Function};
use crate::elf::sframe_section::FileFormat;
use crate::text::Text;

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
        let mut text = Text::default();
        describe(&mut text, &dump.header, &function, fde);
        Some(text)
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
    if header.version == Version::V1 {
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

fn describe(text: &mut Text, header: &Header, function: &Function<'_>, fde: &Fde) {
    let Fde { index, start, size, .. } = fde;
    text.blank();
    let mut first = format!("    func idx [{index}]: pc = {start:#x}, size = {} bytes", size.cast_signed());
    // The bit is meaningless in version 2, but objdump tests it there too.
    let signal = header.version != Version::V1 && function.info() & 0x80 != 0;
    let flex = fde.fde_type == FdeType::Flex;
    if signal || flex {
        let (signal, flex) = (if signal { "S" } else { "" }, if flex { "F" } else { "" });
        first += &format!(", attr = \"{signal}{flex}\"");
    }
    if header.abi.signs_return_addresses() && fde.pauth_key == PauthKey::B {
        first += ", pauth = B key";
    }
    let mask = if fde.pc_type == PcType::Mask { "[m]" } else { "" };
    line(text, format_args!("{first}"));
    line(text, format_args!("    {:<7}{mask:<8} {:<10}{:<10}{:<13}", "STARTPC", "CFA", "FP", "RA"));
    for row in &function.rows {
        let pc = match fde.pc_type {
            PcType::Inc => start.wrapping_add(u64::from(row.fre.start())),
            PcType::Mask => u64::from(row.fre.start()),
        };
        match columns(header, fde, &row.fre) {
            None => line(text, format_args!("    {pc:016x}  RA undefined")),
            Some([cfa, fp, ra]) => {
                let mangled = if row.fre.mangled_ra() { "[s]" } else { "   " };
                let ra = ra + mangled;
                line(text, format_args!("    {pc:016x}  {cfa:<10}{fp:<10}{ra:<13}"));
            }
        }
    }
}

/// Returns CFA, FP and RA; `None` if RA is undefined.
fn columns(header: &Header, fde: &Fde, fre: &Fre<'_>) -> Option<[String; 3]> {
    let words: Vec<i32> = fre.data_words().collect();
    match (header.version, fde.fde_type) {
        (Version::V1, _) => Some(columns_v1(header, fre, &words)),
        (version, _) if words.is_empty() && version.marks_outermost_rows() => None,
        (_, FdeType::Default) => Some(columns_default(header, fre, &words)),
        (_, FdeType::Flex) => Some(columns_flex(header, fre, &words)),
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

/// Returns an offset from the CFA.
fn saved(offset: i32) -> String {
    format!("c{offset:+}")
}

/// Binutils 2.40 shows nothing for values at the header's fixed offsets.
fn columns_v1(header: &Header, fre: &Fre<'_>, words: &[i32]) -> [String; 3] {
    let cfa = format!("{}+{}", base_name(fre), words.first().copied().unwrap_or(MISSING));
    let fp_index = if header.fixed_ra_offset.is_some() { 1 } else { 2 };
    let tracked = |fixed: Option<i8>, index: usize| match (fixed, words.get(index)) {
        (None, Some(offset)) => saved(*offset),
        _ => "u".to_owned(),
    };
    [cfa, tracked(header.fixed_fp_offset, fp_index), tracked(header.fixed_ra_offset, 1)]
}

fn columns_default(header: &Header, fre: &Fre<'_>, words: &[i32]) -> [String; 3] {
    let tracked = |word: i32| {
        if header.version.has_registers_in_words(header.abi) && word & 1 != 0 {
            format!("r{}", word >> 1)
        } else {
            saved(word)
        }
    };
    let unchanged = || "u".to_owned();
    let cfa = words.first().map_or(MISSING, |word| cfa_offset(header.abi, *word));
    let fp_index = if header.fixed_ra_offset.is_some() { 1 } else { 2 };
    let fp = header.fixed_fp_offset.map(i32::from).or(words.get(fp_index).copied());
    let ra = match (header.fixed_ra_offset, words.get(1)) {
        (Some(_), _) => "f".to_owned(),
        (None, Some(0)) => "U".to_owned(),
        (None, word) => word.copied().map_or_else(unchanged, tracked),
    };
    [format!("{}+{cfa}", base_name(fre)), fp.map_or_else(unchanged, tracked), ra]
}

/// Flex rows: pairs of control word and offset, or a padding word (3.2).
fn columns_flex(header: &Header, fre: &Fre<'_>, words: &[i32]) -> [String; 3] {
    let abi = header.abi;
    let control = |index: u8| fre.control_word(index);
    let cfa_offset = words.get(1).map_or(MISSING, |word| cfa_offset(abi, *word));
    let cfa = flex_rule(abi, control(0).unwrap_or_default(), cfa_offset);
    let ra = match (control(2), header.fixed_ra_offset) {
        (None, Some(_)) => "f".to_owned(),
        (None, None) => "u".to_owned(),
        (Some(0), _) => "U".to_owned(),
        (Some(control), fixed) => {
            let offset = words.get(3).copied().or(fixed.map(i32::from));
            flex_rule(abi, control, offset.unwrap_or(MISSING))
        }
    };
    let fp_index = if control(2) == Some(0) { 3 } else { 4 };
    let fp_offset = words.get(usize::from(fp_index) + 1).copied().or(header.fixed_fp_offset.map(i32::from));
    let fp = match (control(fp_index), fp_offset) {
        (Some(control), Some(offset)) => flex_rule(abi, control, offset),
        _ => "u".to_owned(),
    };
    [cfa, fp, ra]
}

fn flex_rule(abi: Abi, control: u32, offset: i32) -> String {
    if control & 1 == 0 {
        return saved(offset);
    }
    let register = DwarfRegister(control >> 3);
    let name = if register == abi.sp() {
        "sp".to_owned()
    } else if register == abi.fp() {
        "fp".to_owned()
    } else {
        register.to_string()
    };
    if control & 2 != 0 { format!("({name}{offset:+})") } else { format!("{name}{offset:+}") }
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
