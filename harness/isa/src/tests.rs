use sframe_engine::{Abi, DwarfRegister};

use super::*;

mod operations;
mod sources;

fn one(abi: Abi, code: &[u8]) -> Instruction {
    Disassembly::one(abi, 0x1000, code).expect("an instruction")
}

const fn r(number: u32) -> DwarfRegister {
    DwarfRegister(number)
}

const NONE: Extension = Extension::NONE;
const WHOLE: Width = Width::WHOLE;

/// A part of a register on AMD64 or AArch64, of which 32 bits clear the others.
const fn part(bits: u8) -> Width {
    Width { bits, clears_rest: bits >= 32 }
}

/// The lower half of a register on s390x, which leaves the upper one.
const LOW: Width = Width { bits: 32, clears_rest: false };

fn compare(left: Comparand, right: Comparand, bits: u8, signed: Option<bool>) -> Operation {
    Operation::Compare { left, right, bits, signed }
}

const fn reg(number: u32) -> Comparand {
    Comparand::Register(r(number))
}

const fn memory(base: u32, offset: i64) -> Comparand {
    Comparand::Memory(Place { base: r(base), offset, writeback: 0 })
}

#[test]
fn comparisons_are_known_with_both_sides() {
    use Comparand::Constant;
    for (abi, code, text, operation) in [
        (Abi::Amd64, &[0x3c, 0x14][..], "cmp al, 0x14", compare(reg(0), Constant(0x14), 8, None)),
        (Abi::Amd64, &[0x48, 0x39, 0xc4], "cmp rsp, rax", compare(reg(7), reg(0), 64, None)),
        (Abi::Amd64, &[0x83, 0xf9, 0xc4], "cmp ecx, -0x3c", compare(reg(2), Constant(-0x3c), 32, None)),
        (
            Abi::Amd64,
            &[0x80, 0x7d, 0xf0, 0x5a],
            "cmp byte ptr [rbp - 0x10], 0x5a",
            compare(memory(6, -0x10), Constant(0x5a), 8, None),
        ),
        (
            Abi::Amd64,
            &[0x3b, 0x44, 0x24, 8],
            "cmp eax, dword ptr [rsp + 8]",
            compare(reg(0), memory(7, 8), 32, None),
        ),
        (Abi::Amd64, &[0x85, 0xc0], "test eax, eax", compare(reg(0), Constant(0), 32, None)),
        (Abi::Amd64, &[0x85, 0xc8], "test eax, ecx", Operation::Other),
        (Abi::Amd64, &[0x80, 0xfc, 1], "cmp ah, 1", Operation::Other),
        (Abi::Aarch64, &[0x7f, 0x2c, 0, 0x71], "cmp w3, #0xb", compare(reg(3), Constant(0xb), 32, None)),
        (Abi::Aarch64, &[0x7f, 4, 0, 0xb1], "cmn x3, #1", compare(reg(3), Constant(-1), 64, None)),
        (Abi::Aarch64, &[0xff, 0x43, 0, 0xf1], "cmp sp, #0x10", compare(reg(31), Constant(0x10), 64, None)),
        (Abi::Aarch64, &[0x3f, 0, 2, 0xeb], "cmp x1, x2", compare(reg(1), reg(2), 64, None)),
        (Abi::Aarch64, &[0x3f, 4, 2, 0xeb], "cmp x1, x2, lsl #1", Operation::Other),
        (Abi::Aarch64, &[1, 0, 0, 0x34], "cbz w1, #0x1000", compare(reg(1), Constant(0), 32, None)),
        (
            Abi::S390x,
            &[0xa7, 0x1f, 0xff, 0xfb],
            "cghi %r1, -5",
            compare(reg(1), Constant(-5), 64, Some(true)),
        ),
        (
            Abi::S390x,
            &[0xc2, 0x1f, 0, 0, 0, 0x5a],
            "clfi %r1, 0x5a",
            compare(reg(1), Constant(0x5a), 32, Some(false)),
        ),
        (
            Abi::S390x,
            &[0xc2, 0x1e, 0xff, 0xff, 0xff, 0xff],
            "clgfi %r1, 0xffffffff",
            compare(reg(1), Constant(0xffff_ffff), 64, Some(false)),
        ),
        (
            Abi::S390x,
            &[0x95, 0x5a, 0xf0, 0xfc],
            "cli 0xfc(%r15), 0x5a",
            compare(memory(15, 0xfc), Constant(0x5a), 8, Some(false)),
        ),
        (Abi::S390x, &[0xb9, 0x20, 0, 0x12], "cgr %r1, %r2", compare(reg(1), reg(2), 64, Some(true))),
        (Abi::S390x, &[0x15, 0x12], "clr %r1, %r2", compare(reg(1), reg(2), 32, Some(false))),
        (
            Abi::S390x,
            &[0x55, 0x10, 0xf0, 8],
            "cl %r1, 8(%r15)",
            compare(reg(1), memory(15, 8), 32, Some(false)),
        ),
        (
            Abi::S390x,
            &[0xe5, 0x5d, 0xf0, 8, 0, 5],
            "clfhsi 8(%r15), 5",
            compare(memory(15, 8), Constant(5), 32, Some(false)),
        ),
        (
            Abi::S390x,
            &[0xec, 0x1c, 0, 0, 0xc8, 0x7d],
            "clgijle %r1, 0xc8, 0x1000",
            compare(reg(1), Constant(0xc8), 64, Some(false)),
        ),
        (
            Abi::S390x,
            &[0xec, 0x12, 0, 0, 0xfd, 0x7e],
            "cijh %r1, -3, 0x1000",
            compare(reg(1), Constant(-3), 32, Some(true)),
        ),
        (
            Abi::S390x,
            &[0xec, 0x12, 0, 0, 0x40, 0x65],
            "clgrjl %r1, %r2, 0x1000",
            compare(reg(1), reg(2), 64, Some(false)),
        ),
        (Abi::S390x, &[0xb9, 2, 0, 0x11], "ltgr %r1, %r1", compare(reg(1), Constant(0), 64, Some(true))),
        // It copies the register, too.
        (Abi::S390x, &[0xb9, 2, 0, 0x12], "ltgr %r1, %r2", Operation::Other),
    ] {
        let read = one(abi, code);
        assert_eq!((read.text.as_str(), read.operation), (text, operation));
    }
}

#[test]
fn conditions_are_relations_of_what_is_compared() {
    use Relation::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let (signed, unsigned) = (Some(true), Some(false));
    for (abi, code, text, condition) in [
        (Abi::Amd64, &[0x74, 2][..], "je 0x1004", Some((Equal, None))),
        (Abi::Amd64, &[0x75, 2], "jne 0x1004", Some((NotEqual, None))),
        (Abi::Amd64, &[0x72, 2], "jb 0x1004", Some((Less, unsigned))),
        (Abi::Amd64, &[0x76, 2], "jbe 0x1004", Some((LessOrEqual, unsigned))),
        (Abi::Amd64, &[0x77, 2], "ja 0x1004", Some((Greater, unsigned))),
        (Abi::Amd64, &[0x73, 2], "jae 0x1004", Some((GreaterOrEqual, unsigned))),
        (Abi::Amd64, &[0x7c, 2], "jl 0x1004", Some((Less, signed))),
        (Abi::Amd64, &[0x7e, 2], "jle 0x1004", Some((LessOrEqual, signed))),
        (Abi::Amd64, &[0x7f, 2], "jg 0x1004", Some((Greater, signed))),
        (Abi::Amd64, &[0x7d, 2], "jge 0x1004", Some((GreaterOrEqual, signed))),
        (Abi::Amd64, &[0x78, 2], "js 0x1004", None),
        (Abi::Amd64, &[0xe2, 2], "loop 0x1004", None),
        (Abi::Amd64, &[0xeb, 2], "jmp 0x1004", None),
        (Abi::Aarch64, &[0x40, 0, 0, 0x54], "b.eq #0x1008", Some((Equal, None))),
        (Abi::Aarch64, &[0x42, 0, 0, 0x54], "b.hs #0x1008", Some((GreaterOrEqual, unsigned))),
        (Abi::Aarch64, &[0x48, 0, 0, 0x54], "b.hi #0x1008", Some((Greater, unsigned))),
        (Abi::Aarch64, &[0x49, 0, 0, 0x54], "b.ls #0x1008", Some((LessOrEqual, unsigned))),
        (Abi::Aarch64, &[0x4b, 0, 0, 0x54], "b.lt #0x1008", Some((Less, signed))),
        (Abi::Aarch64, &[0x4d, 0, 0, 0x54], "b.le #0x1008", Some((LessOrEqual, signed))),
        (Abi::Aarch64, &[0x44, 0, 0, 0x54], "b.mi #0x1008", None),
        (Abi::Aarch64, &[0x40, 0, 0, 0xb4], "cbz x0, #0x1008", Some((Equal, None))),
        (Abi::Aarch64, &[0x40, 0, 0, 0x35], "cbnz w0, #0x1008", Some((NotEqual, None))),
        (Abi::Aarch64, &[2, 0, 0, 0x14], "b #0x1008", None),
        (Abi::S390x, &[0xa7, 0x84, 0, 4], "je 0x1008", Some((Equal, None))),
        (Abi::S390x, &[0xa7, 0x74, 0, 4], "jne 0x1008", Some((NotEqual, None))),
        (Abi::S390x, &[0xc0, 0x24, 0, 0, 0, 4], "jgh 0x1008", Some((Greater, None))),
        (Abi::S390x, &[0xa7, 0xd4, 0, 4], "jnh 0x1008", Some((LessOrEqual, None))),
        (Abi::S390x, &[7, 0x4e], "blr %r14", Some((Less, None))),
        (Abi::S390x, &[0xa7, 0x14, 0, 4], "jo 0x1008", None),
        (Abi::S390x, &[0xa7, 0xf4, 0, 4], "j 0x1008", None),
        (Abi::S390x, &[0xec, 0x1c, 0, 0, 0xc8, 0x7d], "clgijle %r1, 0xc8, 0x1000", Some((LessOrEqual, None))),
        (Abi::S390x, &[0xec, 0x12, 0, 0, 0x60, 0x64], "cgrjlh %r1, %r2, 0x1000", Some((NotEqual, None))),
        (Abi::S390x, &[0xe3, 0x80, 0x10, 0, 0, 0x47], "bie 0(%r1)", Some((Equal, None))),
    ] {
        let read = one(abi, code);
        let seen = read.condition.map(|Condition { relation, signed }| (relation, signed));
        assert_eq!((read.text.as_str(), seen), (text, condition), "{abi:?}");
    }
}

#[test]
fn a_condition_needs_the_last_instruction_that_sets_the_flags() {
    for (abi, code, text, sets_flags) in [
        (Abi::Amd64, &[0x83, 0xe8, 0x64][..], "sub eax, 0x64", true),
        (Abi::Amd64, &[0x89, 0xd1], "mov ecx, edx", false),
        (Abi::Amd64, &[0x48, 0x8d, 0x14, 0x85, 0, 0, 0, 0], "lea rdx, [rax*4]", false),
        (Abi::Amd64, &[0xff, 0xd0], "call rax", true),
        (Abi::Amd64, &[0x77, 2], "ja 0x1004", false),
        (Abi::Aarch64, &[0x7f, 0x2c, 0, 0x71], "cmp w3, #0xb", true),
        (Abi::Aarch64, &[0x63, 8, 0, 0x51], "sub w3, w3, #2", false),
        (Abi::Aarch64, &[0, 0, 0x3f, 0xd6], "blr x0", true),
        (Abi::Aarch64, &[0, 0x42, 0x1b, 0xd5], "msr nzcv, x0", true),
        (Abi::Aarch64, &[0x5f, 0x24, 3, 0xd5], "bti c", false),
        (Abi::S390x, &[0xa7, 0x3a, 0xff, 0xe0], "ahi %r3, -0x20", true),
        (Abi::S390x, &[0x41, 0x12, 0x30, 8], "la %r1, 8(%r2, %r3)", false),
        (Abi::S390x, &[0x0d, 0xe1], "basr %r14, %r1", true),
        (Abi::S390x, &[0xec, 0x1c, 0, 0, 0xc8, 0x7d], "clgijle %r1, 0xc8, 0x1000", false),
    ] {
        let read = one(abi, code);
        assert_eq!((read.text.as_str(), read.sets_flags), (text, sets_flags), "{abi:?}");
    }
}

#[test]
fn slots_are_constant_addresses_of_calls_and_jumps() {
    for (code, text, slot) in [
        (&[0xff, 0x25, 0, 1, 0, 0][..], "jmp qword ptr [rip + 0x100]", Some(0x1106)),
        (&[0xff, 0x15, 0, 1, 0, 0], "call qword ptr [rip + 0x100]", Some(0x1106)),
        (&[0xff, 0x14, 0x25, 0, 1, 0, 0], "call qword ptr [0x100]", Some(0x100)),
        (&[0xff, 0x50, 0x18], "call qword ptr [rax + 0x18]", None),
        (&[0x48, 0x8b, 5, 0, 1, 0, 0], "mov rax, qword ptr [rip + 0x100]", None),
        (&[0xff, 0xe0], "jmp rax", None),
    ] {
        let read = one(Abi::Amd64, code);
        assert_eq!((read.text.as_str(), read.slot()), (text, slot));
    }
}

#[test]
fn repetitions_and_system_calls_are_marked() {
    for (abi, code, text, repeats, is_system_call) in [
        (Abi::Amd64, &[0xf3, 0xa4][..], "rep movsb byte ptr [rdi], byte ptr [rsi]", true, false),
        (Abi::Amd64, &[0xf2, 0xae], "repne scasb al, byte ptr [rdi]", true, false),
        (Abi::Amd64, &[0xa4], "movsb byte ptr [rdi], byte ptr [rsi]", false, false),
        (Abi::Amd64, &[0xf3, 0xc3], "repz ret", false, false),
        (Abi::Amd64, &[0xf2, 0xf, 0x10, 0], "movsd xmm0, qword ptr [rax]", false, false),
        (Abi::Amd64, &[0xf, 5], "syscall", false, true),
        (Abi::Amd64, &[0xcd, 0x80], "int 0x80", false, true),
        (Abi::Amd64, &[0xcd, 0x81], "int 0x81", false, false),
        (Abi::Aarch64, &[1, 0, 0, 0xd4], "svc #0", false, true),
        (Abi::Aarch64, &[0x20, 0, 0x20, 0xd4], "brk #1", false, false),
        (Abi::S390x, &[0xa, 5], "svc 5", false, true),
    ] {
        let read = one(abi, code);
        let seen = (read.text.as_str(), read.repeats, read.is_system_call);
        assert_eq!(seen, (text, repeats, is_system_call), "{abi:?}");
    }
}

#[test]
fn values_are_extended_and_written_as_said() {
    let value = 0x1234_5678_9abc_def0_u64;
    assert_eq!(NONE.apply(value), value);
    assert_eq!(Extension::zero(8).apply(value), 0xf0);
    assert_eq!(Extension::sign(8).apply(value), !0xf);
    assert_eq!(Extension::sign(64).apply(value), value);
    assert_eq!(Extension::zero(1).apply(3), 1);
    assert_eq!(WHOLE.write(value, 5), 5);
    assert_eq!(part(32).write(value, u64::MAX), 0xffff_ffff);
    assert_eq!(LOW.write(value, u64::MAX), 0x1234_5678_ffff_ffff);
    assert_eq!(part(8).write(value, 0), 0x1234_5678_9abc_de00);
    let relations = [Relation::Equal, Relation::Less, Relation::LessOrEqual];
    for relation in relations.into_iter().flat_map(|relation| [relation, relation.negated()]) {
        let holds = |relation| match relation {
            Relation::Equal => |order: std::cmp::Ordering| order.is_eq(),
            Relation::NotEqual => std::cmp::Ordering::is_ne,
            Relation::Less => std::cmp::Ordering::is_lt,
            Relation::LessOrEqual => std::cmp::Ordering::is_le,
            Relation::Greater => std::cmp::Ordering::is_gt,
            Relation::GreaterOrEqual => std::cmp::Ordering::is_ge,
        };
        for order in [0.cmp(&1), 0.cmp(&0), 1.cmp(&0)] {
            assert_ne!(holds(relation)(order), holds(relation.negated())(order), "{relation:?}");
        }
    }
}
