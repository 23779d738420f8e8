//! What the instructions of a function do to its frame: how far SP and FP are
//! from the CFA, and where RA and the caller's FP are kept.
//!
//! It is read from the code alone, without unwind data and without running
//! it. Where it can't be told, the answer is that it can't.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use rustc_hash::FxHashMap;
use sframe_engine::{Abi, Base, Recovery, Row};

use super::inquiry::Values;
use crate::unwind::State;
use sframe_inspect::instructions::{Disassembly, Instruction};

/// A function with more instructions is not read.
const MAX_INSTRUCTIONS: usize = 1 << 15;

/// Where a value of the caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// In its own register.
    Own,
    /// On the stack, so many bytes from the CFA.
    Saved(i64),
    /// It can't be told.
    Unknown,
}

/// The frame before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// CFA - SP.
    sp: Option<i64>,
    /// CFA - FP.
    fp: Option<i64>,
    ra: Kept,
    caller_fp: Kept,
}

impl Layout {
    const fn at_entry(abi: Abi) -> Self {
        let (sp, ra) = match abi {
            Abi::Amd64 => (8, Kept::Saved(-8)),
            Abi::Aarch64 | Abi::Aarch64Be => (0, Kept::Own),
            Abi::S390x => (160, Kept::Own),
        };
        Self { sp: Some(sp), fp: None, ra, caller_fp: Kept::Own }
    }

    /// What two ways to an instruction have in common.
    fn join(self, other: Self) -> Self {
        let either = |one: Kept, two: Kept| if one == two { one } else { Kept::Unknown };
        Self {
            sp: self.sp.filter(|_| self.sp == other.sp),
            fp: self.fp.filter(|_| self.fp == other.fp),
            ra: either(self.ra, other.ra),
            caller_fp: either(self.caller_fp, other.caller_fp),
        }
    }

    /// With whom it agrees about the places that a row reads from. None where
    /// it does not tell.
    pub(super) fn side_of(&self, row: &Row) -> Option<crate::finding::Side> {
        use crate::finding::Side;
        let same = |kept: Kept, recovery: &Recovery| match (kept, recovery) {
            (Kept::Own, Recovery::Unchanged) => Some(true),
            (Kept::Saved(offset), Recovery::Rule(rule)) if rule.base == Base::Cfa && rule.dereference => {
                Some(rule.offset == offset)
            }
            (Kept::Saved(_), Recovery::Unchanged) => Some(false),
            (Kept::Own, Recovery::Rule(rule)) if rule.base == Base::Cfa => Some(false),
            _ => None,
        };
        match (same(self.ra, &row.ra), same(self.caller_fp, &row.fp)) {
            (Some(false), _) | (_, Some(false)) => Some(Side::CallStack),
            (Some(true), Some(true)) => Some(Side::Section),
            _ => None,
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.sp, self.fp) {
            (Some(sp), _) => write!(f, "CFA = SP{sp:+}")?,
            (None, Some(fp)) => write!(f, "CFA = FP{fp:+}")?,
            (None, None) => write!(f, "CFA unknown")?,
        }
        for (name, kept) in [("RA", self.ra), ("FP", self.caller_fp)] {
            match kept {
                Kept::Own => write!(f, ", {name} unchanged")?,
                Kept::Saved(offset) => write!(f, ", {name} = *(CFA{offset:+})")?,
                Kept::Unknown => write!(f, ", {name} unknown")?,
            }
        }
        Ok(())
    }
}

/// The values that a layout leads to.
pub(super) fn values(
    layout: &Layout,
    abi: Abi,
    state: &State,
    memory: &dyn Fn(u64) -> Option<u64>,
) -> Values {
    let from = |base: Option<u64>, offset: Option<i64>| Some(base?.wrapping_add_signed(offset?));
    let cfa = from(Some(state.sp), layout.sp).or_else(|| from(state.fp.ok(), layout.fp));
    let load = |kept| match (kept, cfa) {
        (Kept::Saved(offset), Some(cfa)) => memory(cfa.wrapping_add_signed(offset)),
        _ => None,
    };
    let fp = if layout.caller_fp == Kept::Own { state.fp.ok() } else { load(layout.caller_fp) };
    // A return address may be signed; that of AMD64 never is.
    let ra = load(layout.ra).filter(|_| abi == Abi::Amd64 || abi == Abi::S390x).map(Some);
    Values { cfa, ra, fp, ..Values::default() }
}

/// The frames of functions, each read once: all of a function has to be
/// followed to know one of its instructions.
#[derive(Debug, Default)]
pub(crate) struct Layouts {
    by_function: FxHashMap<u64, BTreeMap<u64, Layout>>,
}

impl Layouts {
    /// The frame before an instruction of a function. None where control can't
    /// be followed there.
    pub(super) fn at(
        &mut self,
        abi: Abi,
        code: &Disassembly,
        function: Range<u64>,
        pc: u64,
    ) -> Option<Layout> {
        let layouts = self.by_function.entry(function.start).or_insert_with(|| layouts(abi, code, function));
        // A frame that would end above its SP is none: what was taken for the
        // entry is the middle of a function.
        layouts.get(&pc).copied().filter(|layout| layout.sp.is_none_or(|sp| sp >= 0))
    }
}

/// The frame before each instruction of a function that control reaches from
/// its entry.
fn layouts(abi: Abi, code: &Disassembly, function: Range<u64>) -> BTreeMap<u64, Layout> {
    if code.within(function.clone()).take(MAX_INSTRUCTIONS + 1).count() > MAX_INSTRUCTIONS {
        return BTreeMap::new();
    }
    let mut before: BTreeMap<u64, Layout> = BTreeMap::new();
    let mut open = vec![(function.start, Layout::at_entry(abi))];
    while let Some((at, coming)) = open.pop() {
        let joined = before.get(&at).map_or(coming, |known| known.join(coming));
        if before.insert(at, joined) == Some(joined) {
            continue;
        }
        let Some(instruction) = code.at(at) else { continue };
        let next = at + instruction.len;
        let after = step(abi, instruction, joined);
        let target = instruction.target().filter(|_| instruction.leaves());
        if let Some(target) = target.filter(|target| function.contains(target)) {
            open.push((target, after));
        }
        if instruction.goes_on(abi) && function.contains(&next) {
            open.push((next, after));
        }
    }
    before
}

/// Mnemonic and operands, without the marks of an assembler's syntax.
fn parts(instruction: &Instruction) -> (&str, Vec<String>) {
    let (mnemonic, operands) = instruction.text.split_once(' ').unwrap_or((&instruction.text, ""));
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for character in operands.chars() {
        match character {
            ',' if depth == 0 => parts.push(String::new()),
            ' ' | '#' | '%' => {}
            _ => {
                depth += match character {
                    '[' | '(' => 1,
                    ']' | ')' => -1,
                    _ => 0,
                };
                if let Some(part) = parts.last_mut() {
                    part.push(character);
                }
            }
        }
    }
    (mnemonic, parts)
}

fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

fn step(abi: Abi, instruction: &Instruction, before: Layout) -> Layout {
    let understood = match abi {
        Abi::Amd64 => amd64(instruction, before),
        Abi::Aarch64 | Abi::Aarch64Be => aarch64(instruction, before),
        Abi::S390x => s390x(instruction, before),
    };
    let mut after = understood.unwrap_or_else(|| {
        // Whatever it is, it changes what it writes.
        let mut after = before;
        if instruction.writes.sp {
            after.sp = None;
        }
        if instruction.writes.fp {
            after.fp = None;
            if after.caller_fp == Kept::Own {
                after.caller_fp = Kept::Unknown;
            }
        }
        if instruction.writes.ra && !instruction.calls && after.ra == Kept::Own {
            after.ra = Kept::Unknown;
        }
        after
    });
    // A call leaves its own return address in the link register.
    if instruction.calls && abi != Abi::Amd64 && after.ra == Kept::Own {
        after.ra = Kept::Unknown;
    }
    after
}

/// The frame's distance at an address `base + offset`: its distance from the CFA.
fn from_cfa(layout: Layout, base: &str, offset: i64, [sp, fp]: [&str; 2]) -> Option<i64> {
    let distance = if base == sp {
        layout.sp
    } else if base == fp {
        layout.fp
    } else {
        None
    };
    Some(offset - distance?)
}

/// A register is stored at a distance from the CFA.
fn store(layout: &mut Layout, register: &str, distance: Option<i64>, [fp, ra]: [&str; 2]) {
    let Some(distance) = distance else { return };
    if register == fp && layout.caller_fp == Kept::Own {
        layout.caller_fp = Kept::Saved(distance);
    } else if register == ra && layout.ra == Kept::Own {
        layout.ra = Kept::Saved(distance);
    }
}

/// A register is loaded from a distance from the CFA.
fn load(layout: &mut Layout, register: &str, distance: Option<i64>, [fp, ra]: [&str; 2]) {
    let back = |kept: Kept| match (kept, distance) {
        (Kept::Saved(at), Some(distance)) if at == distance => Kept::Own,
        (Kept::Own, _) => Kept::Unknown,
        (kept, _) => kept,
    };
    if register == fp {
        layout.fp = None;
        layout.caller_fp = back(layout.caller_fp);
    } else if register == ra {
        layout.ra = back(layout.ra);
    }
}

fn amd64(instruction: &Instruction, before: Layout) -> Option<Layout> {
    const BASES: [&str; 2] = ["rsp", "rbp"];
    // Nothing is called `ra`: RA has its fixed place.
    const KEPT: [&str; 2] = ["rbp", "-"];
    let (mnemonic, operands) = parts(instruction);
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    let memory = |operand: &str| {
        let inner = operand.rsplit_once('[')?.1.strip_suffix(']')?.to_owned();
        let split = inner.find(['+', '-']).unwrap_or(inner.len());
        let (base, offset) = inner.split_at(split);
        let offset = if offset.is_empty() { 0 } else { number(offset)? };
        Some((base.to_owned(), offset))
    };
    let at = |operand: &str| {
        let (base, offset) = memory(operand)?;
        from_cfa(before, &base, offset, BASES)
    };
    let mut after = before;
    match (mnemonic, &operands[..]) {
        ("push", [what]) => {
            after.sp = before.sp.map(|sp| sp + 8);
            store(&mut after, what, before.sp.map(|sp| -sp - 8), KEPT);
        }
        ("pop", [what]) if *what != "rsp" => {
            load(&mut after, what, before.sp.map(|sp| -sp), KEPT);
            after.sp = before.sp.map(|sp| sp - 8);
        }
        ("sub", ["rsp", by]) => after.sp = Some(before.sp? + number(by)?),
        ("add", ["rsp", by]) => after.sp = Some(before.sp? - number(by)?),
        ("lea", ["rsp", from]) => after.sp = Some(-at(from)?),
        ("lea", ["rbp", from]) => {
            after.fp = Some(-at(from)?);
            if after.caller_fp == Kept::Own {
                after.caller_fp = Kept::Unknown;
            }
        }
        ("mov", ["rbp", "rsp"]) => {
            after.fp = before.sp;
            if after.caller_fp == Kept::Own {
                after.caller_fp = Kept::Unknown;
            }
        }
        ("mov", ["rsp", "rbp"]) => after.sp = before.fp,
        ("leave", _) => {
            load(&mut after, "rbp", before.fp.map(|fp| -fp), KEPT);
            after.sp = before.fp.map(|fp| fp - 8);
        }
        ("mov", [to, "rbp"]) if to.starts_with("qwordptr[") => store(&mut after, "rbp", at(to), KEPT),
        ("mov", ["rbp", from]) if from.starts_with("qwordptr[") => load(&mut after, "rbp", at(from), KEPT),
        _ => return None,
    }
    Some(after)
}

fn aarch64(instruction: &Instruction, before: Layout) -> Option<Layout> {
    const BASES: [&str; 2] = ["sp", "x29"];
    const KEPT: [&str; 2] = ["x29", "x30"];
    let (mnemonic, operands) = parts(instruction);
    let operands: Vec<&str> = operands
        .iter()
        .map(|operand| match operand.as_str() {
            "fp" => "x29",
            "lr" => "x30",
            other => other,
        })
        .collect();
    let immediate = |rest: &[&str]| match rest {
        [value] => number(value),
        [value, shift] => {
            number(value)?.checked_shl(u32::try_from(number(shift.strip_prefix("lsl")?)?).ok()?)
        }
        _ => None,
    };
    let mut after = before;
    match (mnemonic, &operands[..]) {
        ("sub", ["sp", "sp", rest @ ..]) => after.sp = Some(before.sp? + immediate(rest)?),
        ("add", ["sp", "sp", rest @ ..]) => after.sp = Some(before.sp? - immediate(rest)?),
        ("sub", ["sp", "x29", rest @ ..]) => after.sp = Some(before.fp? + immediate(rest)?),
        ("add", ["sp", "x29", rest @ ..]) => after.sp = Some(before.fp? - immediate(rest)?),
        ("mov", ["sp", "x29"]) => after.sp = before.fp,
        ("mov", ["x29", "sp"]) => {
            after.fp = before.sp;
            if after.caller_fp == Kept::Own {
                after.caller_fp = Kept::Unknown;
            }
        }
        ("add", ["x29", "sp", rest @ ..]) => {
            after.fp = Some(before.sp? - immediate(rest)?);
            if after.caller_fp == Kept::Own {
                after.caller_fp = Kept::Unknown;
            }
        }
        // Signing changes the code of the address, not which it is.
        (sign, _) if sign.starts_with("pac") || sign.starts_with("aut") => {}
        ("stp" | "str" | "stur" | "ldp" | "ldr" | "ldur", _) => {
            let position = operands.iter().position(|operand| operand.starts_with('['))?;
            let (registers, rest) = operands.split_at(position);
            let writes_back = rest[0].ends_with('!');
            let inner = rest[0].trim_start_matches('[').trim_end_matches(['!', ']']);
            let (base, offset) = inner.split_once(',').unwrap_or((inner, "0"));
            let base = match base {
                "fp" => "x29",
                other => other,
            };
            if base != "sp" && base != "x29" {
                return None;
            }
            let offset = number(offset)?;
            let behind = rest.get(1).map_or(Some(0), |by| number(by))?;
            for (index, register) in registers.iter().enumerate() {
                // Words of other widths are of no interest here.
                if !register.starts_with('x') {
                    continue;
                }
                let place = from_cfa(before, base, offset + 8 * i64::try_from(index).ok()?, BASES);
                if mnemonic.starts_with("st") {
                    store(&mut after, register, place, KEPT);
                } else {
                    load(&mut after, register, place, KEPT);
                }
            }
            if base == "sp" {
                let moved = if writes_back { offset } else { behind };
                after.sp = before.sp.map(|sp| sp - moved);
            } else if writes_back || behind != 0 {
                return None;
            }
        }
        _ => return None,
    }
    Some(after)
}

fn s390x(instruction: &Instruction, before: Layout) -> Option<Layout> {
    const BASES: [&str; 2] = ["r15", "r11"];
    const KEPT: [&str; 2] = ["r11", "r14"];
    let (mnemonic, operands) = parts(instruction);
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    let memory = |operand: &str| {
        let (offset, base) = operand.strip_suffix(')')?.split_once('(')?;
        let offset = if offset.is_empty() { 0 } else { number(offset)? };
        Some((base.to_owned(), offset))
    };
    let place = |operand: &str, index: i64| {
        let (base, offset) = memory(operand)?;
        from_cfa(before, &base, offset + 8 * index, BASES)
    };
    let general = |name: &str| name.strip_prefix('r')?.parse::<u8>().ok();
    let mut after = before;
    match (mnemonic, &operands[..]) {
        ("aghi" | "agfi", ["r15", by]) => after.sp = Some(before.sp? - number(by)?),
        ("lay" | "la", ["r15", from]) => after.sp = Some(-place(from, 0)?),
        ("lgr", ["r15", "r11"]) => after.sp = before.fp,
        ("lgr", ["r11", "r15"]) => {
            after.fp = before.sp;
            if after.caller_fp == Kept::Own {
                after.caller_fp = Kept::Unknown;
            }
        }
        ("stg", [register, to]) => store(&mut after, register, place(to, 0), KEPT),
        ("lg", [register, from]) if *register != "r15" => load(&mut after, register, place(from, 0), KEPT),
        ("stmg" | "lmg", [first, last, address]) => {
            let (first, last) = (general(first)?, general(last)?);
            let count = (last + 16 - first) % 16 + 1;
            for index in 0..count {
                let register = format!("r{}", (first + index) % 16);
                let at = place(address, index.into());
                if mnemonic == "stmg" {
                    store(&mut after, &register, at, KEPT);
                } else if register == "r15" {
                    // SP as it was when it was saved: at the entry.
                    after.sp = Some(160);
                } else {
                    load(&mut after, &register, at, KEPT);
                }
            }
        }
        _ => return None,
    }
    Some(after)
}
