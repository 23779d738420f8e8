//! Disassembles code, instruction by instruction.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use capstone::{Capstone, CsResult, Insn, InsnDetail};
use rustc_hash::FxHashMap;
use sframe_engine::Abi;

use super::instruction::{Flow, Instruction};
use super::known_lengths::{Head, KnownLengths};
use super::{aarch64, amd64, s390x};

/// The differences between the architectures.
struct Architecture {
    /// Creates the decoder.
    decoder: fn() -> CsResult<Capstone>,
    /// Returns the length of an instruction by its first byte; `None` if only the
    /// decoder knows it.
    len: Option<fn(u8) -> usize>,
    /// Fills in what an instruction does. Length and text are already set.
    classify: fn(&Insn<'_>, &InsnDetail<'_>, &mut Instruction),
}

impl Architecture {
    const fn of(abi: Abi) -> Self {
        match abi {
            Abi::Amd64 => Self { decoder: amd64::decoder, len: None, classify: amd64::classify },
            // Code is little endian in both.
            Abi::Aarch64 | Abi::Aarch64Be => {
                Self { decoder: aarch64::decoder, len: Some(aarch64::len), classify: aarch64::classify }
            }
            Abi::S390x => Self { decoder: s390x::decoder, len: Some(s390x::len), classify: s390x::classify },
        }
    }
}

/// The instructions of an image, by address.
///
/// Code is read from one end of a section to the other. If there is data in
/// between, instructions that never execute may be included.
#[derive(Clone, Debug, Default)]
pub struct Disassembly(BTreeMap<u64, Instruction>);

impl Disassembly {
    /// Disassembles code, given with its addresses.
    pub fn of<'c>(abi: Abi, code: impl IntoIterator<Item = (u64, &'c [u8])>) -> Self {
        let mut instructions = BTreeMap::new();
        with_disassembler(abi, |disassembler| {
            for (address, code) in code {
                disassembler.read(address, code, |address, instruction| {
                    instructions.insert(address, instruction);
                });
            }
        });
        Self(instructions)
    }

    /// Disassembles code and keeps nothing: calls `visit` with each instruction and its
    /// address.
    pub fn each<'c>(
        abi: Abi,
        code: impl IntoIterator<Item = (u64, &'c [u8])>,
        mut visit: impl FnMut(u64, &Instruction),
    ) {
        with_disassembler(abi, |disassembler| {
            for (address, code) in code {
                disassembler.read(address, code, |address, instruction| visit(address, &instruction));
            }
        });
    }

    /// Returns the instruction at the start of some code; `None` if the decoder
    /// knows none.
    #[must_use]
    pub fn one(abi: Abi, address: u64, code: &[u8]) -> Option<Instruction> {
        with_disassembler(abi, |disassembler| disassembler.one(address, code))?
    }

    /// Returns the first instructions of some code, with their addresses.
    #[must_use]
    pub fn first(abi: Abi, address: u64, code: &[u8], count: usize) -> Vec<(u64, Instruction)> {
        let mut found = Vec::new();
        with_disassembler(abi, |disassembler| {
            let mut offset = 0;
            while let Some(rest) = code.get(offset..).filter(|rest| !rest.is_empty() && found.len() < count) {
                let at = address.wrapping_add(offset as u64);
                let one = disassembler.one(at, rest).unwrap_or_else(|| disassembler.unknown(rest));
                offset += usize::try_from(one.len).unwrap_or(usize::MAX);
                found.push((at, one));
            }
        });
        found
    }

    /// Returns the instruction at an address.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&Instruction> {
        self.0.get(&address)
    }

    /// Returns all instructions with their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Instruction)> {
        self.0.iter().map(|(address, instruction)| (*address, instruction))
    }

    /// Returns the instructions that start in a range.
    pub fn within(&self, range: Range<u64>) -> impl DoubleEndedIterator<Item = (u64, &Instruction)> {
        let is_valid = range.start <= range.end;
        let range = if is_valid { range } else { 0..0 };
        self.0.range(range).map(|(address, instruction)| (*address, instruction))
    }

    /// Returns the start of the instruction before an address.
    #[must_use]
    pub fn before(&self, address: u64) -> Option<u64> {
        self.0.range(..address).next_back().map(|(address, _)| *address)
    }

    /// Returns the start of the first instruction after an address.
    #[must_use]
    pub fn after(&self, address: u64) -> Option<u64> {
        self.0.range(address.checked_add(1)?..).next().map(|(address, _)| *address)
    }
}

/// Calls `visit` with the address of each instruction of some code that starts before `end`: the same ones as
/// in [`Disassembly`], but decoding only their lengths. Returns the address after the last one, which may lie
/// beyond `end`.
pub fn starts(abi: Abi, address: u64, code: &[u8], end: u64, mut visit: impl FnMut(u64)) -> u64 {
    let Some(len_at) = Architecture::of(abi).len else {
        return decoded_starts(abi, address, code, end, visit);
    };
    let mut offset = 0;
    while let Some(first) = rest(code, offset, address, end).first() {
        visit(address.wrapping_add(offset as u64));
        offset += len_at(*first);
    }
    address.saturating_add(offset as u64)
}

/// Returns the code from an offset on, if that is before `end`.
fn rest(code: &[u8], offset: usize, address: u64, end: u64) -> &[u8] {
    let is_before = address.saturating_add(offset as u64) < end;
    code.get(offset..).filter(|_| is_before).unwrap_or_default()
}

fn decoded_starts(abi: Abi, address: u64, code: &[u8], end: u64, mut visit: impl FnMut(u64)) -> u64 {
    thread_local! {
        static MEASURES: RefCell<FxHashMap<Abi, Measure>> = RefCell::default();
    }
    MEASURES.with_borrow_mut(|all| {
        let measure = match all.entry(abi) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => match Measure::new(abi) {
                Ok(measure) => unknown.insert(measure),
                Err(_) => return address,
            },
        };
        let mut offset = 0;
        loop {
            let rest = rest(code, offset, address, end);
            let at = address.wrapping_add(offset as u64);
            if rest.is_empty() {
                return at;
            }
            visit(at);
            // A byte that does not start an instruction.
            offset += measure.len(rest, at).unwrap_or(1);
        }
    })
}

/// Measures instructions whose first byte does not give their length: those of amd64.
struct Measure {
    /// Without details, which take most of the time.
    decoder: Capstone,
    known: KnownLengths,
}

impl Measure {
    fn new(abi: Abi) -> CsResult<Self> {
        let mut decoder = (Architecture::of(abi).decoder)()?;
        decoder.set_detail(false)?;
        Ok(Self { decoder, known: KnownLengths::default() })
    }

    /// Returns the length of the instruction that some code starts with, if it does.
    fn len(&mut self, code: &[u8], address: u64) -> Option<usize> {
        let head = Head::of(code);
        let known = head.and_then(|head| self.known.get(head)).filter(|len| *len <= code.len());
        known.or_else(|| {
            let len = self.decoder.disasm_iter(code, address).ok()?.next()?.len();
            if let (Some(head), Ok(len)) = (head, u8::try_from(len)) {
                self.known.insert(head, len);
            }
            Some(len)
        })
    }
}

thread_local! {
    /// Creating one takes longer than reading a program.
    static DISASSEMBLERS: RefCell<FxHashMap<Abi, Disassembler>> = RefCell::default();
}

/// Calls `work` with the disassembler of an ABI; `None` if there is no memory for it.
fn with_disassembler<T>(abi: Abi, work: impl FnOnce(&Disassembler) -> T) -> Option<T> {
    DISASSEMBLERS.with_borrow_mut(|all| {
        let disassembler = match all.entry(abi) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let architecture = Architecture::of(abi);
                let decoder = (architecture.decoder)().ok()?;
                unknown.insert(Disassembler { decoder, architecture })
            }
        };
        Some(work(disassembler))
    })
}

struct Disassembler {
    decoder: Capstone,
    architecture: Architecture,
}

impl Disassembler {
    fn read(&self, address: u64, code: &[u8], mut visit: impl FnMut(u64, Instruction)) {
        let mut offset = 0;
        while offset < code.len() {
            let at = address.wrapping_add(offset as u64);
            // One at a time: what the decoder says of an instruction takes kilobytes.
            let Ok(mut read) = self.decoder.disasm_iter(&code[offset..], at) else { return };
            while let Some(decoded) = read.next() {
                visit(decoded.address(), self.instruction(&decoded));
                offset += decoded.len();
            }
            // Not an instruction, or unknown to the decoder.
            if offset < code.len() {
                let unknown = self.unknown(&code[offset..]);
                let at = address.wrapping_add(offset as u64);
                offset += usize::try_from(unknown.len).unwrap_or(usize::MAX);
                visit(at, unknown);
            }
        }
    }

    fn one(&self, address: u64, code: &[u8]) -> Option<Instruction> {
        let decoded = self.decoder.disasm_count(code, address, 1).ok()?;
        decoded.first().map(|decoded| self.instruction(decoded))
    }

    /// Returns the bytes that the decoder does not know at the start of some code,
    /// which is not empty.
    fn unknown(&self, code: &[u8]) -> Instruction {
        let len = self.architecture.len.map_or(1, |len| len(code[0])).min(code.len());
        let bytes: Vec<String> = code[..len].iter().map(|byte| format!("{byte:02x}")).collect();
        Instruction {
            len: len as u64,
            text: format!(".byte {}", bytes.join(" ")),
            flow: Flow::Unknown,
            ..Instruction::default()
        }
    }

    fn instruction(&self, decoded: &Insn<'_>) -> Instruction {
        let (mnemonic, operands) =
            (decoded.mnemonic().unwrap_or_default(), decoded.op_str().unwrap_or_default());
        let mut instruction = Instruction {
            len: decoded.len() as u64,
            text: format!("{mnemonic} {operands}").trim_end().to_owned(),
            // Until it is known not to.
            may_store: true,
            ..Instruction::default()
        };
        if let Ok(detail) = self.decoder.insn_detail(decoded) {
            (self.architecture.classify)(decoded, &detail, &mut instruction);
        }
        instruction
    }
}

#[cfg(test)]
mod tests {
    use sframe_engine::DwarfRegister;

    use super::super::{Destination, Operation, Place, Registers, Value};
    use super::*;

    fn one(abi: Abi, code: &[u8]) -> Instruction {
        Disassembly::one(abi, 0x1000, code).expect("an instruction")
    }

    fn set(numbers: &[u32]) -> Registers {
        numbers.iter().copied().map(DwarfRegister).collect()
    }

    const fn jump(to: Destination) -> Flow {
        Flow::Jump { to, is_conditional: false }
    }

    const fn branch(to: Destination) -> Flow {
        Flow::Jump { to, is_conditional: true }
    }

    #[test]
    fn control_goes_where_the_operation_says() {
        use Destination::{Address, Caller, Indirect};
        for (abi, code, text, flow) in [
            (Abi::Amd64, &[0x90][..], "nop", Flow::Next),
            (Abi::Amd64, &[0x5d], "pop rbp", Flow::Next),
            (Abi::Amd64, &[0xe8, 0, 0, 0, 0], "call 0x1005", Flow::Call(Some(0x1005))),
            (Abi::Amd64, &[0xff, 0xd0], "call rax", Flow::Call(None)),
            (Abi::Amd64, &[0x74, 2], "je 0x1004", branch(Address(0x1004))),
            (Abi::Amd64, &[0xe3, 2], "jrcxz 0x1004", branch(Address(0x1004))),
            (Abi::Amd64, &[0xe2, 2], "loop 0x1004", branch(Address(0x1004))),
            (Abi::Amd64, &[0xeb, 2], "jmp 0x1004", jump(Address(0x1004))),
            (Abi::Amd64, &[0xff, 0xe0], "jmp rax", jump(Indirect)),
            (
                Abi::Amd64,
                &[0xff, 0x24, 0xc5, 0, 0, 0x40, 0],
                "jmp qword ptr [rax*8 + 0x400000]",
                jump(Indirect),
            ),
            (Abi::Amd64, &[0x3e, 0xff, 0xe0], "notrack jmp rax", jump(Indirect)),
            (Abi::Amd64, &[0xc3], "ret", jump(Caller)),
            (Abi::Amd64, &[0xc2, 0x10, 0], "ret 0x10", jump(Caller)),
            (Abi::Amd64, &[0x0f, 0x0b], "ud2", Flow::Trap),
            (Abi::Amd64, &[0x0f, 5], "syscall", Flow::Next),
            (Abi::Aarch64, &[2, 0, 0, 0x14], "b #0x1008", jump(Address(0x1008))),
            (Abi::Aarch64, &[0x40, 0, 0, 0x54], "b.eq #0x1008", branch(Address(0x1008))),
            (Abi::Aarch64, &[0x40, 0, 0, 0xb4], "cbz x0, #0x1008", branch(Address(0x1008))),
            (Abi::Aarch64, &[0x40, 0, 0x18, 0x36], "tbz w0, #3, #0x1008", branch(Address(0x1008))),
            (Abi::Aarch64, &[0, 0, 0x1f, 0xd6], "br x0", jump(Indirect)),
            (Abi::Aarch64, &[0xc0, 3, 0x5f, 0xd6], "ret", jump(Caller)),
            (Abi::Aarch64, &[0xff, 0xb, 0x5f, 0xd6], "retaa", jump(Caller)),
            (Abi::Aarch64, &[0, 0, 0x3f, 0xd6], "blr x0", Flow::Call(None)),
            (Abi::Aarch64, &[2, 0, 0, 0x94], "bl #0x1008", Flow::Call(Some(0x1008))),
            (Abi::Aarch64, &[0x20, 0, 0x20, 0xd4], "brk #1", Flow::Trap),
            (Abi::Aarch64, &[0x5f, 0x24, 3, 0xd5], "bti c", Flow::Next),
            (Abi::Aarch64, &[0x41, 8, 0xc2, 0x9a], "udiv x1, x2, x2", Flow::Next),
            (Abi::S390x, &[0xa7, 0xf4, 0, 4], "j 0x1008", jump(Address(0x1008))),
            (Abi::S390x, &[0xa7, 0x84, 0, 4], "je 0x1008", branch(Address(0x1008))),
            (Abi::S390x, &[7, 0xfe], "br %r14", jump(Caller)),
            (Abi::S390x, &[7, 0x8e], "ber %r14", branch(Caller)),
            (Abi::S390x, &[7, 0xf1], "br %r1", jump(Indirect)),
            (Abi::S390x, &[7, 7], "bcr 0, %r7", Flow::Next),
            (Abi::S390x, &[0x47, 0xf3, 0x10, 0], "b 0(%r3, %r1)", jump(Indirect)),
            (Abi::S390x, &[0xec, 0x12, 0, 4, 0x80, 0x64], "cgrje %r1, %r2, 0x1008", branch(Address(0x1008))),
            (Abi::S390x, &[0xa7, 0xb6, 0, 4], "brct %r11, 0x1008", branch(Address(0x1008))),
            (Abi::S390x, &[0xc0, 0xe5, 0, 0, 0, 4], "brasl %r14, 0x1008", Flow::Call(Some(0x1008))),
            (Abi::S390x, &[0x0d, 0xe1], "basr %r14, %r1", Flow::Call(None)),
            // It reads the PC.
            (Abi::S390x, &[0x0d, 0x10], "basr %r1, %r0", Flow::Next),
        ] {
            let read = one(abi, code);
            assert_eq!((read.text.as_str(), read.flow), (text, flow), "{abi:?}");
        }
    }

    #[test]
    fn returns_may_remove_arguments() {
        for (code, removes) in [
            (&[0xc3, 8, 0][..], 0),
            (&[0xc2, 8, 1], 0x108),
            (&[0xf2, 0xc2, 16, 0], 16), // bnd ret $16
            (&[0x6a, 8], 0),            // push $8
            (&[0xeb, 8], 0),            // jmp
        ] {
            assert_eq!(one(Abi::Amd64, code).removes, removes, "{code:02x?}");
        }
    }

    #[test]
    fn flow_answers_what_may_execute_next() {
        let of = |flow| Instruction { flow, ..Instruction::default() };
        let seen = |flow| {
            let it = of(flow);
            [it.is_call(), it.is_terminator(), it.falls_through(), it.is_indirect_branch()]
        };
        assert_eq!(seen(Flow::Next), [false, false, true, false]);
        assert_eq!(seen(Flow::Call(None)), [true, false, true, false]);
        assert_eq!(seen(Flow::Trap), [false, true, false, false]);
        assert_eq!(seen(Flow::Unknown), [false, true, true, false]);
        assert_eq!(seen(jump(Destination::Caller)), [false, true, false, false]);
        assert_eq!(seen(jump(Destination::Indirect)), [false, true, false, true]);
        assert_eq!(seen(branch(Destination::Address(8))), [false, true, true, false]);
        assert_eq!(of(branch(Destination::Address(8))).target(), Some(8));
        assert_eq!(of(Flow::Call(Some(8))).target(), None);
    }

    /// Whatever they name: not everything has a name.
    #[test]
    fn every_system_instruction_can_be_read() {
        for fields in 0..1_u32 << 17 {
            let word = 0xd500_0000 | fields << 5 | 1;
            let read = Disassembly::first(Abi::Aarch64, 0x1000, &word.to_le_bytes(), 1);
            assert_eq!(read.len(), 1, "{word:#x}");
        }
        // mrs x1, tpidr_el0; msr tpidr_el0, x1; dc zva, x1
        let one = |word: u32| one(Abi::Aarch64, &word.to_le_bytes());
        let [mrs, msr, zva] = [0xd53b_d041, 0xd51b_d041, 0xd50b_7421].map(one);
        assert_eq!((mrs.defs, mrs.uses, mrs.may_store), (set(&[1]), set(&[]), false), "{mrs:?}");
        assert_eq!((msr.defs, msr.uses, msr.may_store), (set(&[]), set(&[1]), false), "{msr:?}");
        assert!(zva.may_store, "{zva:?}");
    }

    #[test]
    fn operands_are_used_and_defined() {
        for (abi, code, text, uses, defs) in [
            (Abi::Amd64, &[0x53][..], "push rbx", &[3][..], &[7][..]),
            (Abi::Amd64, &[0x5d], "pop rbp", &[], &[6, 7]),
            (Abi::Amd64, &[0xc9], "leave", &[], &[6, 7]),
            (Abi::Amd64, &[0x31, 0xed], "xor ebp, ebp", &[6], &[6]),
            (Abi::Amd64, &[0x40, 0x0f, 0x95, 0xc5], "setne bpl", &[], &[6]),
            (Abi::Amd64, &[0x39, 0xe5], "cmp ebp, esp", &[6, 7], &[]),
            (Abi::Amd64, &[0xa9, 1, 0, 0, 0], "test eax, 1", &[0], &[]),
            (Abi::Amd64, &[0x48, 0x8d, 0x2c, 0x18], "lea rbp, [rax + rbx]", &[0, 3], &[6]),
            (Abi::Amd64, &[0xe8, 0, 0, 0, 0], "call 0x1005", &[], &[]),
            (Abi::Aarch64, &[0xfd, 0x7b, 0xbe, 0xa9], "stp x29, x30, [sp, #-0x20]!", &[29, 30], &[31]),
            (Abi::Aarch64, &[0xfd, 0x7b, 0xc2, 0xa8], "ldp x29, x30, [sp], #0x20", &[], &[29, 30, 31]),
            (Abi::Aarch64, &[0xff, 0x63, 0x23, 0xeb], "cmp sp, x3", &[3, 31], &[]),
            (Abi::Aarch64, &[0xfd, 3, 1, 0x2a], "mov w29, w1", &[1], &[29]),
            (Abi::Aarch64, &[0, 0, 0, 0x94], "bl #0x1000", &[], &[30]),
            // Signing does not change which address it is.
            (Abi::Aarch64, &[0x3f, 0x23, 3, 0xd5], "paciasp", &[], &[]),
            (Abi::Aarch64, &[0x83, 4, 0, 0x31], "adds w3, w4, #1", &[4], &[3]),
            (Abi::S390x, &[0xeb, 0xab, 0xf0, 0x50, 0, 0x24], "stmg %r10, %r11, 0x50(%r15)", &[10, 11], &[]),
            (Abi::S390x, &[0xeb, 0xe1, 0xf0, 0x50, 0, 4], "lmg %r14, %r1, 0x50(%r15)", &[], &[0, 1, 14, 15]),
            (Abi::S390x, &[0xe3, 0xa0, 0xf0, 0x50, 0, 0x24], "stg %r10, 0x50(%r15)", &[10], &[]),
            (Abi::S390x, &[0xa7, 0xfb, 0xff, 0x60], "aghi %r15, -0xa0", &[15], &[15]),
            (Abi::S390x, &[0xb9, 0x20, 0, 0xb7], "cgr %r11, %r7", &[7, 11], &[]),
            (Abi::S390x, &[0xb9, 2, 0, 0xb2], "ltgr %r11, %r2", &[2], &[11]),
            (Abi::S390x, &[0xb9, 2, 0, 0xbb], "ltgr %r11, %r11", &[11], &[]),
            (Abi::S390x, &[0xb9, 0xe8, 0x40, 0xb3], "agrk %r11, %r3, %r4", &[3, 4], &[11]),
            // %f2 is 17 in DWARF.
            (Abi::S390x, &[0xb3, 0xc1, 0, 0x2b], "ldgr %f2, %r11", &[11], &[17]),
            (Abi::S390x, &[0x0d, 0x10], "basr %r1, %r0", &[0], &[1]),
        ] {
            let read = one(abi, code);
            assert_eq!((read.text.as_str(), read.uses, read.defs), (text, set(uses), set(defs)), "{abi:?}");
        }
    }

    #[test]
    fn stores_are_known_with_their_values() {
        use Value::{Constant, Other, Register};
        let (rbx, rbp) = (Register(DwarfRegister(3)), Register(DwarfRegister(6)));
        let at = |base, offset, writeback| Some(Place { base: DwarfRegister(base), offset, writeback });
        let [x29, x30] = [29, 30].map(|number| Register(DwarfRegister(number)));
        for (abi, code, value, place, size) in [
            (Abi::Amd64, &[0x53][..], &[rbx][..], at(7, -8, -8), 8), // push rbx
            (Abi::Amd64, &[0x6a, 0], &[Constant], at(7, -8, -8), 8), // push 0
            (Abi::Amd64, &[0xff, 0x33], &[Other], at(7, -8, -8), 8), // push [rbx]
            (Abi::Amd64, &[0x48, 0x89, 0x6d, 0xf8], &[rbp], at(6, -8, 0), 8), // mov [rbp - 8], rbp
            (Abi::Amd64, &[0x89, 0x5d, 0xf8], &[rbx], at(6, -8, 0), 4), // mov [rbp - 8], ebx
            (Abi::Amd64, &[0x48, 0xc7, 0x45, 0xf8, 0, 0, 0, 0], &[Constant], at(6, -8, 0), 8), // mov [rbp - 8], 0
            (Abi::Amd64, &[0x48, 0x89, 0x1c, 0x08], &[rbx], None, 8), // mov [rax + rcx], rbx
            (Abi::Amd64, &[0x64, 0x48, 0x89, 0x18], &[rbx], None, 8), // mov fs:[rax], rbx
            // stp x29, x30, [sp, #-0x20]!; stp x29, x30, [sp], #0x20; str x30, [sp, #8]
            (Abi::Aarch64, &[0xfd, 0x7b, 0xbe, 0xa9], &[x29, x30], at(31, -32, -32), 8),
            (Abi::Aarch64, &[0xfd, 0x7b, 0x82, 0xa8], &[x29, x30], at(31, 0, 32), 8),
            (Abi::Aarch64, &[0xfe, 7, 0, 0xf9], &[x30], at(31, 8, 0), 8),
            // add [rbp - 8], 1
            (Abi::Amd64, &[0x48, 0x83, 0x45, 0xf8, 1], &[Other], at(6, -8, 0), 8),
            // str x30, [sp, x1]
            (Abi::Aarch64, &[0xfe, 0x6b, 0x21, 0xf8], &[x30], None, 8),
        ] {
            let read = one(abi, code);
            let values = value.to_vec();
            assert_eq!(read.operation, Operation::Store { values, place, size }, "{}", read.text);
            assert!(read.may_store);
            let sources =
                value.iter().filter_map(|value| if let Register(it) = value { Some(*it) } else { None });
            let sources = Some(sources.collect()).filter(|_| !value.contains(&Other));
            assert_eq!(read.sources, sources, "{}", read.text);
        }
        // What is stored is not followed: not [rbp - 8].
        let not = one(Abi::Amd64, &[0x48, 0xf7, 0x55, 0xf8]);
        assert_eq!((&not.operation, not.may_store), (&Operation::Other, true), "{}", not.text);
        for (code, text) in [
            (&[0x58, 0x10, 0xb0, 0xa4][..], "l %r1, 0xa4(%r11)"),
            (&[0x41, 0x30, 0xf0, 0xa8], "la %r3, 0xa8(%r15)"),
        ] {
            let read = one(Abi::S390x, code);
            assert_eq!((read.text.as_str(), read.may_store), (text, false));
        }
        // mvc 0(8, %r1), 0(%r2); stgrl; exrl, which may execute an mvc
        for code in [[0xd2, 7, 0x10, 0, 0x20, 0], [0xc4, 0x1b, 0, 0, 0, 4], [0xc6, 0, 0, 0, 0, 4]] {
            assert!(one(Abi::S390x, &code).may_store, "{code:x?}");
        }
    }

    #[test]
    fn sums_use_all_64_bits() {
        for (abi, code, sum) in [
            (Abi::Amd64, &[0x48, 0x89, 0xe5][..], Some((6, 7, 0))), // mov rbp, rsp
            (Abi::Amd64, &[0x89, 0xe5], None),                      // mov ebp, esp
            (Abi::Amd64, &[0x48, 0x83, 0xec, 0x18], Some((7, 7, -24))), // sub rsp, 0x18
            (Abi::Amd64, &[0x48, 0x8d, 0x65, 0xf8], Some((7, 6, -8))), // lea rsp, [rbp - 8]
            (Abi::Amd64, &[0x8d, 0x65, 0xf8], None),                // lea esp, [rbp - 8]
            (Abi::Amd64, &[0x48, 0x8d, 0x05, 0, 0, 0, 0], None),    // lea rax, [rip]
            (Abi::Aarch64, &[0xfd, 3, 0, 0x91], Some((29, 31, 0))), // mov x29, sp
            (Abi::Aarch64, &[0xff, 0x43, 0x40, 0xd1], Some((31, 31, -0x10000))), // sub sp, sp, #0x10, lsl #12
            (Abi::Aarch64, &[0xfd, 0x43, 0, 0x91], Some((29, 31, 16))), // add x29, sp, #0x10
            (Abi::S390x, &[0xb9, 4, 0, 0xbf], Some((11, 15, 0))),   // lgr %r11, %r15
            (Abi::S390x, &[0xa7, 0xfb, 0xff, 0x60], Some((15, 15, -160))), // aghi %r15, -0xa0
            (Abi::S390x, &[0xe3, 0xf0, 0xff, 0x60, 0xff, 0x71], Some((15, 15, -160))), // lay %r15, -0xa0(%r15)
            (Abi::S390x, &[0xc2, 0xf4, 0, 0, 0, 8], Some((15, 15, -8))),               // slgfi %r15, 8
        ] {
            let read = one(abi, code);
            let seen = match read.operation {
                Operation::Add { to, from, offset } => Some((to.0, from.0, offset)),
                _ => None,
            };
            assert_eq!(seen, sum, "{}", read.text);
        }
    }

    /// Every opcode with every ModRM, and encodings with fields in their prefixes, before
    /// two continuations: the second time, the length is remembered.
    #[test]
    fn a_remembered_length_is_the_decoded_one() {
        let mut measure = Measure::new(Abi::Amd64).expect("a decoder");
        let decoder = Measure::new(Abi::Amd64).expect("a decoder").decoder;
        let mut random = 1_u64;
        let mut same = |head: &[u8]| {
            for _ in 0..2 {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let code = [head, &random.to_be_bytes(), &random.to_be_bytes()].concat();
                let decoded = decoder.disasm_count(&code, 0x1000, 1).expect("memory");
                let len = decoded.first().map(Insn::len);
                assert_eq!(measure.len(&code, 0x1000), len, "{code:02x?}");
            }
        };
        let bytes = || 0..=u8::MAX;
        for prefix in [&[][..], &[0x66], &[0x48], &[0xf3], &[0xf2, 0x41], &[0x67], &[0xf0]] {
            for (escape, opcode) in [&[][..], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]]
                .into_iter()
                .flat_map(|escape| bytes().map(move |opcode| (escape, opcode)))
            {
                bytes().for_each(|modrm| same(&[prefix, escape, &[opcode, modrm]].concat()));
            }
        }
        for escape in [0x62, 0x8f, 0xc4, 0xc5] {
            for (first, second) in bytes().flat_map(|first| bytes().map(move |second| (first, second))) {
                [0, 0x7d].into_iter().for_each(|third| same(&[escape, first, second, third]));
            }
        }
    }

    #[test]
    fn an_instruction_that_is_cut_off_is_bytes() {
        let movabs = [&[0x48, 0xb8][..], &[0; 8]].concat();
        let with_prefixes = [&[0x3e; 5][..], &movabs].concat();
        // No instruction is as long as the last one.
        for long in [movabs.clone(), with_prefixes, [&[0x3e; 10][..], &movabs].concat()] {
            for len in (1..=long.len()).rev() {
                let code = [&long, &[0x90; 16][..], &long[..len]].concat();
                let decoded = Disassembly::of(Abi::Amd64, [(0x1000, &code[..])]);
                let mut measured = Vec::new();
                starts(Abi::Amd64, 0x1000, &code, u64::MAX, |address| measured.push(address));
                assert_eq!(measured, decoded.iter().map(|(address, _)| address).collect::<Vec<_>>());
            }
        }
    }

    /// An instruction that starts before an end is read as a whole, and none after it.
    #[test]
    fn the_starts_of_instructions_end_at_the_given_end() {
        // push rbp; mov rbp, rsp; call; pop rbp
        let amd64 = [0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0x5d];
        for (abi, code, end, expected, next) in [
            (Abi::Amd64, &amd64[..], 0x1005, &[0x1000, 0x1001, 0x1004][..], 0x1009),
            (Abi::Amd64, &amd64, 0x1004, &[0x1000, 0x1001], 0x1004),
            (Abi::Amd64, &amd64, u64::MAX, &[0x1000, 0x1001, 0x1004, 0x1009], 0x100a),
            // brasl; br
            (Abi::S390x, &[0xc0, 0xe5, 0, 0, 0, 4, 7, 0xfe], 0x1004, &[0x1000], 0x1006),
            (Abi::Aarch64, &[0; 8], 0x1001, &[0x1000], 0x1004),
        ] {
            let mut found = Vec::new();
            let after = starts(abi, 0x1000, code, end, |address| found.push(address));
            assert_eq!((&found[..], after), (expected, next), "{abi:?} to {end:#x}");
        }
    }

    #[test]
    fn padding_does_nothing() {
        for (abi, code, text, is_nop) in [
            (Abi::Amd64, &[0x90][..], "nop", true),
            (Abi::Amd64, &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], "nop word ptr cs:[rax + rax]", true),
            (Abi::Amd64, &[0xf3, 0x0f, 0x1e, 0xfa], "endbr64", false),
            (Abi::Amd64, &[0xcc], "int3", false),
            (Abi::Aarch64, &[0x1f, 0x20, 3, 0xd5], "nop", true),
            (Abi::Aarch64, &[0x3f, 0x23, 3, 0xd5], "paciasp", false),
            (Abi::Aarch64, &[0x5f, 0x24, 3, 0xd5], "bti c", false),
            (Abi::S390x, &[7, 7], "bcr 0, %r7", true),
            (Abi::S390x, &[0xc0, 4, 0, 0, 0, 0], "brcl 0, 0x1000", true),
            (Abi::S390x, &[7, 0xfe], "br %r14", false),
        ] {
            let read = one(abi, code);
            assert_eq!((read.text.as_str(), read.operation == Operation::Nop), (text, is_nop));
        }
    }
}
