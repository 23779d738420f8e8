//! The instructions of a program: where they are, how they read, and what
//! they do to the registers that unwinding is about.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use capstone::arch::arm64::{Arm64OpMem, Arm64OperandType};
use capstone::arch::x86::X86OperandType;
use capstone::arch::{ArchOperand, BuildsCapstone, arm64, sysz, x86};
use capstone::{Capstone, Insn, RegAccessType, RegId};

use rustc_hash::FxHashMap;
use sframe_engine::Abi;

/// The registers that unwinding recovers or starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// The stack pointer.
    pub sp: bool,
    /// The frame pointer.
    pub fp: bool,
    /// The link register, where the ABI has one.
    pub ra: bool,
}

impl Roles {
    fn add(&mut self, other: Self) {
        self.sp |= other.sp;
        self.fp |= other.fp;
        self.ra |= other.ra;
    }
}

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its length in bytes.
    pub len: u64,
    /// As an assembler writes it.
    pub text: String,
    /// Whether it is a call.
    pub calls: bool,
    /// The registers that it writes. A call does not count as writing SP.
    pub writes: Roles,
    /// The registers whose values it stores, or computes another one of.
    pub copies: Roles,
    /// All registers that it writes, as bits by their DWARF numbers, as far
    /// as these are below 64.
    pub written: u64,
    /// The registers that it reads as operands of their own, as such bits.
    pub read: u64,
    /// Whether it loads from memory, or from a register that only keeps values.
    pub loads: bool,
    /// Whether what it stores, if it stores, is a constant (amd64).
    pub constant: bool,
}

impl Instruction {
    /// Whether control may go elsewhere than to the instruction behind it, and
    /// not come back. Also where that can't be told.
    #[must_use]
    pub fn leaves(&self) -> bool {
        let mnemonic = self.text.split(' ').next().unwrap_or_default();
        let starts = |starts: &[&str]| starts.iter().any(|start| mnemonic.starts_with(start));
        // Those that count as jumps and are none do no harm.
        !self.calls
            && (starts(&["j", "loop", "ret", "b", "cb", "tb", "ud", "hlt", "notrack", "."])
                || (mnemonic.starts_with('c') && mnemonic.contains('j')))
    }

    /// Whether control goes to an address that is not part of the instruction,
    /// and that is not the link register's.
    #[must_use]
    pub fn goes_anywhere(&self) -> bool {
        let (mnemonic, operand) = self.text.split_once(' ').unwrap_or((&self.text, ""));
        match mnemonic {
            "jmp" | "notrack" => !operand.starts_with("0x"),
            "b" | "br" => !operand.starts_with(['#', '0']) && operand != "%r14",
            mnemonic => mnemonic.starts_with("bra") && !self.calls,
        }
    }

    /// Whether it does nothing but let jumps through registers come here.
    #[must_use]
    pub fn is_landing_pad(&self) -> bool {
        ["endbr", "bti", "hint"].iter().any(|start| self.text.starts_with(start))
    }

    /// Whether it may store to memory. Also where that can't be told.
    #[must_use]
    pub fn may_store(&self) -> bool {
        self.calls || self.text.contains(['[', '(']) || self.text.starts_with("push")
    }

    /// The address that it ends in as an assembler writes it: where it goes, if
    /// it is a branch to a place that is part of it.
    #[must_use]
    pub fn target(&self) -> Option<u64> {
        let last = self.text.rsplit([' ', ',', '#']).next()?;
        u64::from_str_radix(last.strip_prefix("0x")?, 16).ok()
    }

    /// Whether the instruction behind it may execute next. A call comes back.
    #[must_use]
    pub fn goes_on(&self, abi: Abi) -> bool {
        let mnemonic = self.text.split(' ').next().unwrap_or_default();
        match abi {
            Abi::Amd64 => !matches!(mnemonic, "jmp" | "notrack" | "ret" | "ud2" | "hlt" | "iretq"),
            Abi::Aarch64 | Abi::Aarch64Be => {
                !matches!(mnemonic, "b" | "br" | "braa" | "brab" | "ret" | "retaa" | "retab" | "udf" | "brk")
            }
            Abi::S390x => !matches!(mnemonic, "j" | "jg" | "b" | "br"),
        }
    }
}

/// The instructions of an image, at their addresses with the load bias.
///
/// Code is read from one end of a section to the other. Where there is data
/// between, instructions that never execute may be among them.
#[derive(Clone, Debug, Default)]
pub struct Disassembly(BTreeMap<u64, Instruction>);

impl Disassembly {
    /// Disassembles code, by its addresses.
    pub fn of<'c>(abi: Abi, code: impl IntoIterator<Item = (u64, &'c [u8])>) -> Self {
        let mut instructions = BTreeMap::new();
        with_disassembler(abi, |disassembler| {
            for (address, code) in code {
                disassembler.read(address, code, &mut instructions);
            }
        });
        Self(instructions)
    }

    /// The instruction that some code begins with, read by itself. None where it begins with none.
    #[must_use]
    pub fn one(abi: Abi, address: u64, code: &[u8]) -> Option<Instruction> {
        with_disassembler(abi, |disassembler| {
            let read = disassembler.capstone.disasm_count(code, address, 1).ok()?;
            read.first().map(|read| disassembler.instruction(read))
        })?
    }

    /// The first instructions of some code, with their addresses.
    #[must_use]
    pub fn first(abi: Abi, address: u64, code: &[u8], count: usize) -> Vec<(u64, Instruction)> {
        let mut found = Vec::new();
        with_disassembler(abi, |disassembler| {
            let mut offset = 0;
            while let Some(rest) = code.get(offset..).filter(|rest| !rest.is_empty() && found.len() < count) {
                let at = address.wrapping_add(offset as u64);
                let one = disassembler.first(at, rest);
                offset += usize::try_from(one.len).unwrap_or(usize::MAX);
                found.push((at, one));
            }
        });
        found
    }

    /// The instruction at an address.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&Instruction> {
        self.0.get(&address)
    }

    /// All of them by their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Instruction)> {
        self.0.iter().map(|(address, instruction)| (*address, instruction))
    }

    /// Those that start in a range.
    pub fn within(&self, range: Range<u64>) -> impl DoubleEndedIterator<Item = (u64, &Instruction)> {
        let is_valid = range.start <= range.end;
        let range = if is_valid { range } else { 0..0 };
        self.0.range(range).map(|(address, instruction)| (*address, instruction))
    }

    /// Whether an instruction of a function puts back into FP what an earlier
    /// one of it has kept in another register.
    #[must_use]
    pub fn restores_fp(&self, function: u64, address: u64, instruction: &Instruction) -> bool {
        // What a register held when the function was called is its caller's.
        let before = self.within(function.max(address.saturating_sub(KEPT))..address);
        let mut sets = before.rev().filter(|(_, earlier)| earlier.written & instruction.read != 0);
        sets.next().is_some_and(|(_, kept)| kept.copies.fp)
    }

    /// The start of the instruction before an address.
    #[must_use]
    pub fn before(&self, address: u64) -> Option<u64> {
        self.0.range(..address).next_back().map(|(address, _)| *address)
    }

    /// The start of the first instruction behind an address.
    #[must_use]
    pub fn behind(&self, address: u64) -> Option<u64> {
        self.0.range(address.checked_add(1)?..).next().map(|(address, _)| *address)
    }
}

/// Calls `visit` with the address of each instruction of some code: the same
/// ones as [`Disassembly`] has, without reading more of them than their lengths.
pub fn starts(abi: Abi, address: u64, code: &[u8], mut visit: impl FnMut(u64)) {
    let len_at: fn(u8) -> usize = match abi {
        Abi::Amd64 => return amd64_starts(address, code, visit),
        Abi::Aarch64 | Abi::Aarch64Be => |_| 4,
        Abi::S390x => s390x_len,
    };
    let mut offset = 0;
    while let Some(first) = code.get(offset) {
        visit(address.wrapping_add(offset as u64));
        offset += len_at(*first);
    }
}

fn amd64_starts(address: u64, code: &[u8], mut visit: impl FnMut(u64)) {
    thread_local! {
        static CAPSTONE: Option<Capstone> =
            Capstone::new().x86().mode(x86::ArchMode::Mode64).build().ok();
    }
    CAPSTONE.with(|capstone| {
        let mut offset = 0;
        while let (Some(capstone), Some(rest)) =
            (capstone, code.get(offset..).filter(|rest| !rest.is_empty()))
        {
            let at = address.wrapping_add(offset as u64);
            let Ok(mut instructions) = capstone.disasm_iter(rest, at) else { return };
            while let Some(instruction) = instructions.next() {
                visit(instruction.address());
                offset += instruction.len();
            }
            // A byte that starts no instruction.
            if offset < code.len() {
                visit(address.wrapping_add(offset as u64));
                offset += 1;
            }
        }
    });
}

/// The length of an instruction of s390x, by its first byte: the first two bits tell it.
const fn s390x_len(first: u8) -> usize {
    match first >> 6 {
        0 => 2,
        1 | 2 => 4,
        _ => 6,
    }
}

/// What a system instruction of AArch64 does to a general register: its number,
/// and whether it is written. None for others, and for those that name none.
fn system_register(code: &[u8]) -> Option<(u32, bool)> {
    let word = u32::from_le_bytes(*code.first_chunk()?);
    // MSR, MRS, SYS and SYSL; hints and barriers have 31 in the same place.
    (word & 0xffc0_0000 == 0xd500_0000).then_some((word & 0x1f, word >> 21 & 1 == 1))
}

/// So many bytes before an instruction are searched for what it copies.
const KEPT: u64 = 512;

thread_local! {
    /// Those that have been made: it takes longer than to read a program.
    static DISASSEMBLERS: RefCell<FxHashMap<Abi, Disassembler>> = RefCell::default();
}

/// Works with the disassembler for an ABI; none where there is no memory for it.
fn with_disassembler<T>(abi: Abi, work: impl FnOnce(&Disassembler) -> T) -> Option<T> {
    DISASSEMBLERS.with_borrow_mut(|all| {
        let disassembler = match all.entry(abi) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(Disassembler::new(abi)?),
        };
        Some(work(disassembler))
    })
}

struct Disassembler {
    capstone: Capstone,
    /// Names of SP, FP and RA.
    names: [&'static [&'static str]; 3],
    is_s390x: bool,
    /// Bytes to go on by where no instruction can be read.
    unit: usize,
}

impl Disassembler {
    fn new(abi: Abi) -> Option<Self> {
        let amd64: [&'static [&'static str]; 3] = [&["rsp", "esp"], &["rbp", "ebp"], &[]];
        let aarch64: [&'static [&'static str]; 3] =
            [&["sp", "wsp"], &["fp", "x29", "w29"], &["lr", "x30", "w30"]];
        let s390x: [&'static [&'static str]; 3] = [&["r15"], &["r11"], &["r14"]];
        let (capstone, names, unit) = match abi {
            Abi::Amd64 => (Capstone::new().x86().mode(x86::ArchMode::Mode64).detail(true).build(), amd64, 1),
            // The code is little endian on either.
            Abi::Aarch64 | Abi::Aarch64Be => {
                (Capstone::new().arm64().mode(arm64::ArchMode::Arm).detail(true).build(), aarch64, 4)
            }
            Abi::S390x => {
                let mode = sysz::ArchMode::Default;
                (Capstone::new().sysz().mode(mode).detail(true).build(), s390x, 2)
            }
        };
        Some(Self { capstone: capstone.ok()?, names, is_s390x: abi == Abi::S390x, unit })
    }

    fn read(&self, address: u64, code: &[u8], instructions: &mut BTreeMap<u64, Instruction>) {
        let mut offset = 0;
        while offset < code.len() {
            let at = address.wrapping_add(offset as u64);
            let Ok(read) = self.capstone.disasm_all(&code[offset..], at) else { return };
            for instruction in read.iter() {
                instructions.insert(instruction.address(), self.instruction(instruction));
                offset += instruction.len();
            }
            // What is no instruction, or not known to the disassembler.
            if offset < code.len() {
                offset += self.unknown(address.wrapping_add(offset as u64), &code[offset..], instructions);
            }
        }
    }

    /// One instruction; `code` is not empty.
    fn first(&self, address: u64, code: &[u8]) -> Instruction {
        let read = self.capstone.disasm_count(code, address, 1).ok();
        if let Some(read) = read.as_ref().and_then(|read| read.first()) {
            return self.instruction(read);
        }
        let mut unknown = BTreeMap::new();
        self.unknown(address, code, &mut unknown);
        unknown.remove(&address).unwrap_or_default()
    }

    /// Goes on behind bytes that can't be read; returns how many they are.
    fn unknown(&self, at: u64, code: &[u8], instructions: &mut BTreeMap<u64, Instruction>) -> usize {
        let len = if self.is_s390x { s390x_len(code[0]) } else { self.unit };
        let len = len.min(code.len());
        let bytes: Vec<String> = code[..len].iter().map(|byte| format!("{byte:02x}")).collect();
        instructions.insert(
            at,
            Instruction {
                len: len as u64,
                text: format!(".byte {}", bytes.join(" ")),
                calls: false,
                writes: Roles::default(),
                copies: Roles::default(),
                written: 0,
                read: 0,
                loads: false,
                constant: false,
            },
        );
        len
    }

    fn instruction(&self, read: &Insn<'_>) -> Instruction {
        let (mnemonic, operands) = (read.mnemonic().unwrap_or_default(), read.op_str().unwrap_or_default());
        let mut instruction = Instruction {
            len: read.len() as u64,
            text: format!("{mnemonic} {operands}").trim_end().to_owned(),
            calls: is_call(mnemonic, operands),
            writes: Roles::default(),
            copies: Roles::default(),
            written: 0,
            read: 0,
            loads: loads(mnemonic, operands),
            constant: false,
        };
        if self.is_s390x {
            self.s390x(mnemonic, operands, &mut instruction);
        } else {
            self.by_operands(read, mnemonic, &mut instruction);
        }
        instruction
    }

    fn name(&self, register: RegId) -> String {
        self.capstone.reg_name(register).unwrap_or_default()
    }

    fn role(&self, register: RegId) -> Roles {
        self.named(&self.name(register))
    }

    fn named(&self, name: &str) -> Roles {
        let [sp, fp, ra] = self.names.map(|names| names.contains(&name));
        Roles { sp, fp, ra }
    }

    fn by_operands(&self, read: &Insn<'_>, mnemonic: &str, instruction: &mut Instruction) {
        let Ok(detail) = self.capstone.insn_detail(read) else { return };
        for register in detail.regs_write() {
            instruction.writes.add(self.role(*register));
            instruction.written |= dwarf_bit(&self.name(*register));
        }
        // The binding ends the process where it has no name for a system register.
        let system = if self.unit == 4 { system_register(read.bytes()) } else { None };
        if let Some((register, is_written)) = system {
            let (name, role) = (format!("x{register}"), self.named(&format!("x{register}")));
            if is_written {
                instruction.writes.add(role);
                instruction.written |= dwarf_bit(&name);
            } else {
                instruction.read |= dwarf_bit(&name);
                instruction.copies.add(role);
            }
        }
        let operands = if system.is_none() { detail.arch_detail().operands() } else { Vec::new() };
        for operand in operands {
            let (register, access, base) = match operand {
                ArchOperand::X86Operand(operand) => match operand.op_type {
                    X86OperandType::Reg(register) => (Some(register), operand.access, None),
                    // `lea` and its like compute an address.
                    X86OperandType::Mem(memory) if mnemonic == "lea" => {
                        instruction.copies.add(self.role(memory.base()));
                        (None, None, None)
                    }
                    X86OperandType::Imm(_) => {
                        instruction.constant = matches!(mnemonic, "push" | "mov");
                        (None, None, None)
                    }
                    _ => (None, None, None),
                },
                ArchOperand::Arm64Operand(operand) => match operand.op_type {
                    Arm64OperandType::Reg(register) => (Some(register), operand.access, None),
                    Arm64OperandType::Mem(memory) => (None, None, Some(Arm64OpMem::base(&memory))),
                    _ => (None, None, None),
                },
                _ => (None, None, None),
            };
            if let Some(register) = register {
                let role = self.role(register);
                // A register whose access is not told may be either.
                if access.is_none_or(RegAccessType::is_writable) {
                    instruction.writes.add(role);
                    instruction.written |= dwarf_bit(&self.name(register));
                }
                if access.is_none_or(RegAccessType::is_readable) {
                    instruction.read |= dwarf_bit(&self.name(register));
                    instruction.copies.add(role);
                }
            }
            // A base that is written back.
            let text = &instruction.text;
            if let Some(base) = base
                && (text.ends_with('!') || text.contains("], "))
            {
                let role = self.role(base);
                instruction.writes.add(role);
            }
        }
        if instruction.calls {
            instruction.writes.sp = false;
            instruction.writes.ra = mnemonic.starts_with("bl");
        }
        // Signing changes the address's code, not which address it is.
        if mnemonic.starts_with("pac") || mnemonic.starts_with("aut") {
            instruction.writes.ra = false;
        }
    }

    /// The disassembler does not tell what operands of s390x are for.
    fn s390x(&self, mnemonic: &str, operands: &str, instruction: &mut Instruction) {
        let mut registers: Vec<&str> =
            operands.split(',').map(|operand| operand.trim().trim_start_matches('%')).collect();
        let number = |name: &str| name.strip_prefix('r').and_then(|number| number.parse::<u8>().ok());
        let is_multiple = mnemonic.starts_with("stm") || mnemonic.starts_with("lm");
        let between: Vec<String>;
        if is_multiple
            && let (Some(first), Some(last)) =
                (number(registers[0]), registers.get(1).and_then(|last| number(last)))
        {
            let count = (u16::from(last) + 16 - u16::from(first)) % 16 + 1;
            between = (0..count).map(|step| format!("r{}", (u16::from(first) + step) % 16)).collect();
            registers = between.iter().map(String::as_str).collect();
        }
        let mut all = Roles::default();
        let taken = if is_multiple { registers.len() } else { 1 };
        for register in registers.iter().take(taken) {
            all.add(self.named(register));
        }
        let stores = mnemonic.starts_with("st") || mnemonic.starts_with("mv");
        let only_reads = ["c", "b", "j", "ltg", "tm", "k"].iter().any(|start| mnemonic.starts_with(start))
            && mnemonic != "basr";
        if stores {
            instruction.copies.add(all);
            for register in registers.iter().take(taken) {
                instruction.read |= dwarf_bit(register);
            }
        } else if instruction.calls {
            instruction.writes.add(all);
            for register in registers.iter().take(taken) {
                instruction.written |= dwarf_bit(register);
            }
        } else if !only_reads {
            instruction.writes.add(all);
            for register in registers.iter().take(taken) {
                instruction.written |= dwarf_bit(register);
            }
            for register in registers.iter().skip(taken) {
                instruction.copies.add(self.named(register));
                instruction.read |= dwarf_bit(register);
            }
        }
    }
}

/// The registers that rules may be based on: the general ones, and the
/// floating-point ones of s390x.
fn dwarf_bit(name: &str) -> u64 {
    const AMD64: [&str; 16] = [
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
        "r14", "r15",
    ];
    // By their numbers, in the order of the DWARF numbers from 16 on.
    const S390X_FLOATING: [u8; 16] = [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15];
    let number = |prefix: char| name.strip_prefix(prefix)?.parse::<u8>().ok();
    // r8 to r15 have the same numbers on both.
    if let Some(number) = AMD64.iter().position(|register| *register == name) {
        return 1 << number;
    }
    // Those of AArch64 have their own numbers.
    let aarch64 = match name {
        "fp" => Some(29),
        "lr" => Some(30),
        _ => number('x').or(number('w')).filter(|number| *number <= 30),
    };
    if let Some(number) = aarch64 {
        return 1 << number;
    }
    if let Some(number) = number('r').filter(|number| *number < 16) {
        return 1 << number;
    }
    let floating = number('f').and_then(|number| S390X_FLOATING.iter().position(|other| *other == number));
    floating.map_or(0, |position| 1 << (16 + position))
}

fn loads(mnemonic: &str, operands: &str) -> bool {
    // On s390x, floating-point registers keep general ones.
    matches!(mnemonic, "pop" | "leave" | "lgdr" | "lg" | "lmg" | "ly" | "ldp" | "ldr")
        || (mnemonic.starts_with("mov")
            && operands.split_once(',').is_some_and(|(_, from)| from.contains('[')))
}

fn is_call(mnemonic: &str, operands: &str) -> bool {
    // On s390x, a branch to no register fetches the PC.
    let goes = mnemonic != "basr" || !operands.ends_with("%r0");
    goes && matches!(mnemonic, "call" | "lcall" | "bl" | "brasl" | "bras" | "basr" | "basl" | "bassm")
        || mnemonic.starts_with("blr")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(abi: Abi, code: &[u8]) -> Instruction {
        let read = |disassembler: &Disassembler| {
            let mut read = BTreeMap::new();
            disassembler.read(0x1000, code, &mut read);
            read.remove(&0x1000)
        };
        with_disassembler(abi, read).flatten().expect("an instruction")
    }

    #[test]
    fn where_control_goes_is_told_by_the_text() {
        let conditional = ["je 0x1004", "b.eq #0x1008", "cbz x0, #0x1008", "cgrje %r1, %r2, 0x1008"];
        for (abi, code, text, leaves, anywhere) in [
            (Abi::Amd64, &[0x90][..], "nop", false, false),
            (Abi::Amd64, &[0x5d], "pop rbp", false, false),
            (Abi::Amd64, &[0xe8, 0, 0, 0, 0], "call 0x1005", false, false),
            (Abi::Amd64, &[0x74, 2], "je 0x1004", true, false),
            (Abi::Amd64, &[0xeb, 2], "jmp 0x1004", true, false),
            (Abi::Amd64, &[0xff, 0xe0], "jmp rax", true, true),
            (Abi::Amd64, &[0xff, 0x24, 0xc5, 0, 0, 0x40, 0], "jmp qword ptr [rax*8 + 0x400000]", true, true),
            (Abi::Amd64, &[0x3e, 0xff, 0xe0], "notrack jmp rax", true, true),
            (Abi::Amd64, &[0xc3], "ret", true, false),
            (Abi::Aarch64, &[2, 0, 0, 0x14], "b #0x1008", true, false),
            (Abi::Aarch64, &[0x40, 0, 0, 0x54], "b.eq #0x1008", true, false),
            (Abi::Aarch64, &[0x40, 0, 0, 0xb4], "cbz x0, #0x1008", true, false),
            (Abi::Aarch64, &[0, 0, 0x1f, 0xd6], "br x0", true, true),
            (Abi::Aarch64, &[0xc0, 3, 0x5f, 0xd6], "ret", true, false),
            (Abi::Aarch64, &[0, 0, 0x3f, 0xd6], "blr x0", false, false),
            (Abi::S390x, &[0xa7, 0xf4, 0, 4], "j 0x1008", true, false),
            (Abi::S390x, &[7, 0xfe], "br %r14", true, false),
            (Abi::S390x, &[7, 0xf1], "br %r1", true, true),
            (Abi::S390x, &[0xec, 0x12, 0, 4, 0x80, 0x64], "cgrje %r1, %r2, 0x1008", true, false),
        ] {
            let read = instruction(abi, code);
            let seen = (read.text.as_str(), read.leaves(), read.goes_anywhere());
            assert_eq!(seen, (text, leaves, anywhere), "{abi:?}");
            let target = text.split_once("0x").filter(|(_, digits)| !digits.ends_with(']'));
            assert_eq!(
                read.target(),
                target.map(|(_, digits)| u64::from_str_radix(digits, 16).expect("a number"))
            );
            let goes_on = read.goes_on(abi);
            assert_eq!(goes_on, !leaves || conditional.contains(&text), "{text}");
        }
    }

    /// Whatever they name: not all of it has a name.
    #[test]
    fn every_system_instruction_can_be_read() {
        for fields in 0..1_u32 << 17 {
            let word = 0xd500_0000 | fields << 5 | 1;
            let read = Disassembly::first(Abi::Aarch64, 0x1000, &word.to_le_bytes(), 1);
            assert_eq!(read.len(), 1, "{word:#x}");
        }
        // mrs x1, tpidr_el0; msr tpidr_el0, x1
        let one = |word: u32| Disassembly::first(Abi::Aarch64, 0, &word.to_le_bytes(), 1).remove(0).1;
        let (mrs, msr) = (one(0xd53b_d041), one(0xd51b_d041));
        assert_eq!((mrs.written, mrs.read, msr.written, msr.read), (2, 0, 0, 2), "{mrs:?} {msr:?}");
    }

    #[test]
    fn what_an_instruction_stores_is_told_by_its_operands() {
        let (rbx, rbp) = (1 << 3, 1 << 6);
        for (code, read, constant) in [
            (&[0x53][..], rbx, false),                        // push rbx
            (&[0x55], rbp, false),                            // push rbp
            (&[0x6a, 0], 0, true),                            // push 0
            (&[0xff, 0x33], 0, false),                        // push [rbx]
            (&[0x48, 0x89, 0x5d, 0xf8], rbx, false),          // mov [rbp - 8], rbx
            (&[0x48, 0xc7, 0x45, 0xf8, 0, 0, 0, 0], 0, true), // mov qword ptr [rbp - 8], 0
            (&[0x48, 0x83, 0x45, 0xf8, 1], 0, false),         // add qword ptr [rbp - 8], 1
        ] {
            let instruction = instruction(Abi::Amd64, code);
            let seen = (instruction.read, instruction.constant, instruction.may_store());
            assert_eq!(seen, (read, constant, true), "{}", instruction.text);
            assert_eq!(instruction.copies.fp, read == rbp, "{}", instruction.text);
        }
        let stored = |code| instruction(Abi::S390x, code);
        let stmg = stored(&[0xeb, 0xab, 0xf0, 0x50, 0, 0x24]);
        assert_eq!((stmg.read, stmg.copies.fp), (1 << 10 | 1 << 11, true), "{}", stmg.text);
        let stg = stored(&[0xe3, 0xa0, 0xf0, 0x50, 0, 0x24]);
        assert_eq!((stg.read, stg.copies.fp, stg.may_store()), (1 << 10, false, true), "{}", stg.text);
    }

    #[test]
    fn a_branch_to_no_register_is_no_call() {
        let basr = instruction(Abi::S390x, &[0x0d, 0x10]);
        assert_eq!((basr.calls, basr.writes.ra, basr.written), (false, false, 1 << 1), "{}", basr.text);
        let call = instruction(Abi::S390x, &[0x0d, 0xe1]);
        assert_eq!((call.calls, call.writes.ra, call.written), (true, true, 1 << 14), "{}", call.text);
    }
}
