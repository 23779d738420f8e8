//! What instructions compute and load, for each architecture.

use super::*;

/// Asserts the operation of each instruction, given by its bytes and its text.
fn assert_operations<const N: usize>(abi: Abi, cases: [(&[u8], &str, Operation); N]) {
    for (code, text, operation) in cases {
        let read = one(abi, code);
        assert_eq!((read.text.as_str(), read.operation), (text, operation));
    }
}

type Index = Option<(u32, Extension, u8)>;

/// A load of some bytes, whether signed or not.
fn load(to: Option<u32>, from: (Option<u32>, Index, i64), size: u8, signed: bool, width: Width) -> Operation {
    let (base, index, displacement) = from;
    let (number, extension, shift) =
        index.map_or((None, NONE, 0), |(number, extension, shift)| (Some(number), extension, shift));
    let [to, base, index] = [to, base, number].map(|number| number.map(DwarfRegister));
    Operation::LoadEntry { to, base, index, extension, shift, displacement, size, signed, width }
}

fn sum(to: u32, left: u32, right: u32, extension: Extension, shift: u8, offset: i64) -> Operation {
    Operation::Sum { to: r(to), left: r(left), right: r(right), extension, shift, offset }
}

fn add(to: u32, from: u32, offset: i64, width: Width) -> Operation {
    let (to, from) = (r(to), r(from));
    if width == WHOLE {
        Operation::Add { to, from, offset }
    } else {
        Operation::AddNarrow { to, from, offset, width }
    }
}

fn extend(to: u32, from: u32, low: u8, extension: Extension, shift: u8, width: Width) -> Operation {
    Operation::Extend { to: r(to), from: r(from), low, extension, shift, width }
}

fn mask(to: u32, from: u32, mask: u64) -> Operation {
    Operation::Mask { to: r(to), from: r(from), mask }
}

#[test]
fn amd64_loads_from_tables() {
    let plain = |base, offset| (Some(base), None, offset);
    let scaled = |base, index, shift, offset| (Some(base), Some((index, NONE, shift)), offset);
    let table = (None, Some((0, NONE, 3)), 0x40_0000);
    assert_operations(
        Abi::Amd64,
        [
            (
                &[0x48, 0x63, 4, 0x82],
                "movsxd rax, dword ptr [rdx + rax*4]",
                load(Some(0), scaled(1, 0, 2, 0), 4, true, WHOLE),
            ),
            (
                &[0xf, 0xb6, 4, 0x17],
                "movzx eax, byte ptr [rdi + rdx]",
                load(Some(0), scaled(5, 1, 0, 0), 1, false, WHOLE),
            ),
            (
                &[0xf, 0xbf, 0x4d, 0xfc],
                "movsx ecx, word ptr [rbp - 4]",
                load(Some(2), plain(6, -4), 2, true, part(32)),
            ),
            (
                &[0x8b, 4, 2],
                "mov eax, dword ptr [rdx + rax]",
                load(Some(0), scaled(1, 0, 0, 0), 4, false, WHOLE),
            ),
            (&[0x8a, 0x47, 1], "mov al, byte ptr [rdi + 1]", load(Some(0), plain(5, 1), 1, false, part(8))),
            (
                &[0x48, 0x8b, 5, 0, 1, 0, 0],
                "mov rax, qword ptr [rip + 0x100]",
                load(Some(0), (None, None, 0x1107), 8, false, WHOLE),
            ),
            (
                &[0xff, 0x24, 0xc5, 0, 0, 0x40, 0],
                "jmp qword ptr [rax*8 + 0x400000]",
                load(None, table, 8, false, WHOLE),
            ),
            (
                &[0x3e, 0xff, 0x24, 0xc5, 0, 0, 0x40, 0],
                "notrack jmp qword ptr ds:[rax*8 + 0x400000]",
                load(None, table, 8, false, WHOLE),
            ),
            (&[0xff, 0x50, 0x18], "call qword ptr [rax + 0x18]", load(None, plain(0, 0x18), 8, false, WHOLE)),
            // A word at a plain place, in another segment, or at an address of 32 bits.
            (
                &[0x48, 0x8b, 0x47, 8],
                "mov rax, qword ptr [rdi + 8]",
                Operation::Load {
                    values: vec![Value::Register(r(0))],
                    place: Some(Place { base: r(5), offset: 8, writeback: 0 }),
                    size: 8,
                },
            ),
            (
                &[0x64, 0x8b, 4, 0xc1],
                "mov eax, dword ptr fs:[rcx + rax*8]",
                Operation::Load { values: vec![Value::Register(r(0))], place: None, size: 4 },
            ),
            (
                &[0x67, 0x8b, 4, 7],
                "mov eax, dword ptr [edi + eax]",
                Operation::Load { values: vec![Value::Register(r(0))], place: None, size: 4 },
            ),
        ],
    );
}

#[test]
fn amd64_computes_indexes_and_addresses() {
    let (zero, sign) = (Extension::zero, Extension::sign);
    assert_operations(
        Abi::Amd64,
        [
            (&[0x48, 1, 0xd0], "add rax, rdx", sum(0, 0, 1, NONE, 0, 0)),
            (&[0x48, 0x8d, 0x44, 0x82, 8], "lea rax, [rdx + rax*4 + 8]", sum(0, 1, 0, NONE, 2, 8)),
            (&[1, 0xd0], "add eax, edx", Operation::Other),
            (&[0x8d, 4, 0x11], "lea eax, [rcx + rdx]", Operation::Other),
            (&[0x48, 0x8d, 0x14, 0x85, 0, 0, 0, 0], "lea rdx, [rax*4]", extend(1, 0, 0, zero(62), 2, WHOLE)),
            (&[0x48, 0x8d, 0x14, 0x85, 8, 0, 0, 0], "lea rdx, [rax*4 + 8]", Operation::Other),
            (&[0x8d, 0x41, 0xe0], "lea eax, [rcx - 0x20]", add(0, 2, -0x20, part(32))),
            (&[0x83, 0xe8, 0x64], "sub eax, 0x64", add(0, 0, -0x64, part(32))),
            (&[0x2c, 0x64], "sub al, 0x64", add(0, 0, -0x64, part(8))),
            (&[0xff, 0xc1], "inc ecx", add(2, 2, 1, part(32))),
            (&[0x48, 0xff, 0xc9], "dec rcx", add(2, 2, -1, WHOLE)),
            (&[0x89, 0xd1], "mov ecx, edx", extend(2, 1, 0, zero(32), 0, WHOLE)),
            (&[0x88, 0xd1], "mov cl, dl", extend(2, 1, 0, zero(8), 0, part(8))),
            (&[0x88, 0xf1], "mov cl, dh", Operation::Other),
            (&[0x48, 0x63, 0xd2], "movsxd rdx, edx", extend(1, 1, 0, sign(32), 0, WHOLE)),
            (&[0x41, 0xf, 0xb6, 0xc5], "movzx eax, r13b", extend(0, 13, 0, zero(8), 0, WHOLE)),
            (&[0xf, 0xbe, 0xc0], "movsx eax, al", extend(0, 0, 0, sign(8), 0, part(32))),
            (&[0x66, 0xf, 0xb6, 0xc1], "movzx ax, cl", extend(0, 2, 0, zero(8), 0, part(16))),
            (&[0x48, 0x98], "cdqe", extend(0, 0, 0, sign(32), 0, WHOLE)),
            (&[0x98], "cwde", extend(0, 0, 0, sign(16), 0, part(32))),
            (&[0x48, 0xc1, 0xe0, 2], "shl rax, 2", extend(0, 0, 0, zero(62), 2, WHOLE)),
            (&[0xd1, 0xe0], "shl eax, 1", extend(0, 0, 0, zero(31), 1, WHOLE)),
            // The amount is taken modulo 32.
            (&[0xc1, 0xe8, 0x24], "shr eax, 0x24", extend(0, 0, 4, zero(28), 0, WHOLE)),
            (&[0x48, 0xc1, 0xf9, 3], "sar rcx, 3", extend(2, 2, 3, sign(61), 0, WHOLE)),
            (&[0xc0, 0xe8, 4], "shr al, 4", extend(0, 0, 4, zero(4), 0, part(8))),
            (&[0xc0, 0xe8, 8], "shr al, 8", Operation::Other),
            (&[0x83, 0xe0, 7], "and eax, 7", mask(0, 0, 7)),
            (&[0x24, 0xf], "and al, 0xf", mask(0, 0, !0xf0)),
            (&[0x48, 0x25, 0, 0xff, 0xff, 0xff], "and rax, 0xffffffffffffff00", mask(0, 0, !0xff)),
        ],
    );
}

#[test]
fn aarch64_loads_from_tables() {
    let (zero, sign) = (Extension::zero, Extension::sign);
    let plain = |base, offset| (Some(base), None, offset);
    let index = |base, number, extension, shift| (Some(base), Some((number, extension, shift)), 0);
    assert_operations(
        Abi::Aarch64,
        [
            (
                &[0xc0, 0xd8, 0xa0, 0xb8],
                "ldrsw x0, [x6, w0, sxtw #2]",
                load(Some(0), index(6, 0, sign(32), 2), 4, true, WHOLE),
            ),
            (
                &[0, 0x48, 0x62, 0x38],
                "ldrb w0, [x0, w2, uxtw]",
                load(Some(0), index(0, 2, zero(32), 0), 1, false, WHOLE),
            ),
            (
                &[0x29, 0x79, 0x63, 0x78],
                "ldrh w9, [x9, x3, lsl #1]",
                load(Some(9), index(9, 3, NONE, 1), 2, false, WHOLE),
            ),
            (
                &[0x60, 0xdb, 0x60, 0xf8],
                "ldr x0, [x27, w0, sxtw #3]",
                load(Some(0), index(27, 0, sign(32), 3), 8, false, WHOLE),
            ),
            (
                &[0x20, 0x68, 0x62, 0xb8],
                "ldr w0, [x1, x2]",
                load(Some(0), index(1, 2, NONE, 0), 4, false, WHOLE),
            ),
            (&[0xe1, 0xf, 0xc0, 0x39], "ldrsb w1, [sp, #3]", load(Some(1), plain(31, 3), 1, true, part(32))),
            (&[0x41, 0xe0, 0x9f, 0x78], "ldursh x1, [x2, #-2]", load(Some(1), plain(2, -2), 2, true, WHOLE)),
            (&[0x41, 8, 0x80, 0xb9], "ldrsw x1, [x2, #8]", load(Some(1), plain(2, 8), 4, true, WHOLE)),
            (&[0, 8, 0, 0x58], "ldr x0, #0x1100", load(Some(0), (None, None, 0x1100), 8, false, WHOLE)),
            (
                &[0xe0, 0xff, 0xff, 0x98],
                "ldrsw x0, #0xffc",
                load(Some(0), (None, None, 0xffc), 4, true, WHOLE),
            ),
            // It changes its base, too.
            (&[0x20, 0x14, 0x40, 0x38], "ldrb w0, [x1], #1", Operation::Other),
            (
                &[0x20, 4, 0x40, 0xf9],
                "ldr x0, [x1, #8]",
                Operation::Load {
                    values: vec![Value::Register(r(0))],
                    place: Some(Place { base: r(1), offset: 8, writeback: 0 }),
                    size: 8,
                },
            ),
        ],
    );
}

#[test]
fn aarch64_computes_indexes_and_addresses() {
    let (zero, sign) = (Extension::zero, Extension::sign);
    assert_operations(
        Abi::Aarch64,
        [
            (&[0x69, 0xa8, 0x29, 0x8b], "add x9, x3, w9, sxth #2", sum(9, 3, 9, sign(16), 2, 0)),
            (&[0x20, 0, 2, 0x8b], "add x0, x1, x2", sum(0, 1, 2, NONE, 0, 0)),
            (&[0x20, 0xc, 2, 0x8b], "add x0, x1, x2, lsl #3", sum(0, 1, 2, NONE, 3, 0)),
            (&[0x20, 0xc, 0x42, 0x8b], "add x0, x1, x2, lsr #3", Operation::Other),
            (&[0xe0, 0xe7, 0x22, 0x8b], "add x0, sp, x2, sxtx #1", sum(0, 31, 2, NONE, 1, 0)),
            (&[0x20, 0, 2, 0xb], "add w0, w1, w2", Operation::Other),
            (&[0xe1, 3, 2, 0xaa], "mov x1, x2", add(1, 2, 0, WHOLE)),
            (&[0xe1, 3, 2, 0x2a], "mov w1, w2", extend(1, 2, 0, zero(32), 0, WHOLE)),
            (&[0x41, 0x7c, 0x40, 0x93], "sxtw x1, w2", extend(1, 2, 0, sign(32), 0, WHOLE)),
            (&[0x41, 0x1c, 0, 0x53], "uxtb w1, w2", extend(1, 2, 0, zero(8), 0, WHOLE)),
            (&[0x41, 0x1c, 0, 0x13], "sxtb w1, w2", extend(1, 2, 0, sign(8), 0, part(32))),
            (&[0x41, 0xf4, 0x7e, 0xd3], "lsl x1, x2, #2", extend(1, 2, 0, zero(62), 2, WHOLE)),
            (&[0x41, 0x74, 0x1e, 0x53], "lsl w1, w2, #2", extend(1, 2, 0, zero(30), 2, WHOLE)),
            (&[0x41, 0xfc, 0x7c, 0xd3], "lsr x1, x2, #0x3c", extend(1, 2, 60, zero(4), 0, WHOLE)),
            (&[0x41, 0x7c, 3, 0x13], "asr w1, w2, #3", extend(1, 2, 3, sign(29), 0, part(32))),
            (&[0x41, 0x1c, 0x7e, 0xd3], "ubfiz x1, x2, #2, #8", extend(1, 2, 0, zero(8), 2, WHOLE)),
            (&[0x41, 0x7c, 0x7e, 0x93], "sbfiz x1, x2, #2, #0x20", extend(1, 2, 0, sign(32), 2, WHOLE)),
            (&[0x41, 0x1c, 4, 0x53], "ubfx w1, w2, #4, #4", extend(1, 2, 4, zero(4), 0, WHOLE)),
            (&[0x41, 0xc, 0, 0x12], "and w1, w2, #0xf", mask(1, 2, 0xf)),
            (&[0x41, 4, 1, 0x12], "and w1, w2, #0x80000001", mask(1, 2, 0x8000_0001)),
            (&[0x41, 0xec, 0x7c, 0x92], "and x1, x2, #0xfffffffffffffff0", mask(1, 2, !0xf)),
            (&[0x63, 8, 0, 0x51], "sub w3, w3, #2", add(3, 3, -2, part(32))),
            (&[0x83, 4, 0x40, 0x31], "adds w3, w4, #1, lsl #12", add(3, 4, 0x1000, part(32))),
        ],
    );
}

#[test]
fn s390x_loads_from_tables() {
    let plain = |base, offset| (Some(base), None, offset);
    let index = |base, number, offset| (Some(base), Some((number, NONE, 0)), offset);
    assert_operations(
        Abi::S390x,
        [
            (
                &[0xe3, 0x24, 0x11, 0xe0, 0, 0x14],
                "lgf %r2, 0x1e0(%r4, %r1)",
                load(Some(2), index(1, 4, 0x1e0), 4, true, WHOLE),
            ),
            // A single register is the base, wherever it is encoded.
            (&[0xe3, 0x20, 0x10, 0, 0, 0x14], "lgf %r2, 0(%r1)", load(Some(2), plain(1, 0), 4, true, WHOLE)),
            (&[0xe3, 0x21, 0, 0, 0, 0x14], "lgf %r2, 0(%r1)", load(Some(2), plain(1, 0), 4, true, WHOLE)),
            (
                &[0xe3, 0x2e, 0x10, 0x80, 0, 0x90],
                "llgc %r2, 0x80(%r14, %r1)",
                load(Some(2), index(1, 14, 0x80), 1, false, WHOLE),
            ),
            (
                &[0xe3, 0x12, 0x30, 8, 0, 4],
                "lg %r1, 8(%r2, %r3)",
                load(Some(1), index(3, 2, 8), 8, false, WHOLE),
            ),
            (&[0x58, 0x12, 0x30, 8], "l %r1, 8(%r2, %r3)", load(Some(1), index(3, 2, 8), 4, false, LOW)),
            (&[0x48, 0x10, 0x20, 8], "lh %r1, 8(%r2)", load(Some(1), plain(2, 8), 2, true, LOW)),
            (&[0xe3, 0x10, 0x20, 8, 0, 0x94], "llc %r1, 8(%r2)", load(Some(1), plain(2, 8), 1, false, LOW)),
            (
                &[0xc4, 0x18, 0, 0, 0, 4],
                "lgrl %r1, 0x1008",
                load(Some(1), (None, None, 0x1008), 8, false, WHOLE),
            ),
            (
                &[0x43, 0x12, 0x30, 8],
                "ic %r1, 8(%r2, %r3)",
                load(Some(1), index(3, 2, 8), 1, false, Width { bits: 8, clears_rest: false }),
            ),
            (&[0xe3, 0xf2, 0x10, 0, 0, 0x47], "bi 0(%r2, %r1)", load(None, index(1, 2, 0), 8, false, WHOLE)),
            (
                &[0xe3, 0x10, 0x30, 8, 0, 4],
                "lg %r1, 8(%r3)",
                Operation::Load {
                    values: vec![Value::Register(r(1))],
                    place: Some(Place { base: r(3), offset: 8, writeback: 0 }),
                    size: 8,
                },
            ),
        ],
    );
}

#[test]
fn s390x_computes_indexes_and_addresses() {
    let (zero, sign) = (Extension::zero, Extension::sign);
    assert_operations(
        Abi::S390x,
        [
            (&[0xb9, 8, 0, 0x50], "agr %r5, %r0", sum(5, 5, 0, NONE, 0, 0)),
            (&[0xb9, 0xe8, 0, 0x51], "agrk %r5, %r1, %r0", sum(5, 1, 0, NONE, 0, 0)),
            (&[0xb9, 0x18, 0, 0x50], "agfr %r5, %r0", sum(5, 5, 0, sign(32), 0, 0)),
            (&[0xb9, 0x1a, 0, 0x50], "algfr %r5, %r0", sum(5, 5, 0, zero(32), 0, 0)),
            (
                &[0x47, 0xf1, 0x20, 8],
                "b 8(%r1, %r2)",
                Operation::JumpToSum { left: r(2), right: r(1), offset: 8 },
            ),
            (&[0x47, 0xf0, 0x20, 8], "b 8(%r2)", Operation::Other),
            (&[0x41, 0x12, 0x30, 8], "la %r1, 8(%r2, %r3)", sum(1, 3, 2, NONE, 0, 8)),
            (&[0xe3, 0x12, 0x3f, 0xf8, 0xff, 0x71], "lay %r1, -8(%r2, %r3)", sum(1, 3, 2, NONE, 0, -8)),
            (&[0x18, 0x12], "lr %r1, %r2", extend(1, 2, 0, zero(32), 0, LOW)),
            (&[0xb9, 0x14, 0, 0x12], "lgfr %r1, %r2", extend(1, 2, 0, sign(32), 0, WHOLE)),
            (&[0xb9, 0x16, 0, 0x12], "llgfr %r1, %r2", extend(1, 2, 0, zero(32), 0, WHOLE)),
            (&[0xb9, 0x94, 0, 0x12], "llcr %r1, %r2", extend(1, 2, 0, zero(8), 0, LOW)),
            (&[0xeb, 0x12, 0, 3, 0, 0xd], "sllg %r1, %r2, 3", extend(1, 2, 0, zero(61), 3, WHOLE)),
            (&[0xeb, 0x12, 0x40, 3, 0, 0xd], "sllg %r1, %r2, 3(%r4)", Operation::Other),
            (&[0xeb, 0x12, 0, 0x3c, 0, 0xc], "srlg %r1, %r2, 0x3c", extend(1, 2, 60, zero(4), 0, WHOLE)),
            (&[0x89, 0x10, 0, 2], "sll %r1, 2", extend(1, 1, 0, zero(30), 2, LOW)),
            (&[0xeb, 0x12, 0, 2, 0, 0xdc], "srak %r1, %r2, 2", extend(1, 2, 2, sign(30), 0, LOW)),
            (
                &[0xec, 0x12, 0x20, 0xbd, 2, 0x55],
                "risbg %r1, %r2, 0x20, 0xbd, 2",
                extend(1, 2, 0, zero(30), 2, WHOLE),
            ),
            (
                &[0xec, 0x12, 0x38, 0xbf, 0x38, 0x55],
                "risbg %r1, %r2, 0x38, 0xbf, 0x38",
                extend(1, 2, 8, zero(8), 0, WHOLE),
            ),
            (
                &[0xec, 0x12, 0x3c, 0xbd, 0, 0x59],
                "risbgn %r1, %r2, 0x3c, 0xbd, 0",
                extend(1, 2, 2, zero(2), 2, WHOLE),
            ),
            // The other bits stay; the first bit is behind the last; the highest bit of
            // the source comes behind the lowest.
            (&[0xec, 0x12, 0x20, 0x3d, 2, 0x55], "risbg %r1, %r2, 0x20, 0x3d, 2", Operation::Other),
            (&[0xec, 0x12, 0x3d, 0x81, 0, 0x55], "risbg %r1, %r2, 0x3d, 0x81, 0", Operation::Other),
            (&[0xec, 0x12, 0x3c, 0xbf, 2, 0x55], "risbg %r1, %r2, 0x3c, 0xbf, 2", Operation::Other),
            (&[0xc0, 0x1b, 0, 0, 0, 0xf], "nilf %r1, 0xf", mask(1, 1, 0xffff_ffff_0000_000f)),
            (&[0xa5, 0x17, 0xff, 0xf0], "nill %r1, 0xfff0", mask(1, 1, !0xf)),
            (&[0xa5, 0x14, 0, 0], "nihh %r1, 0", mask(1, 1, u64::MAX >> 16)),
            (&[0xa7, 0x3a, 0xff, 0xe0], "ahi %r3, -0x20", add(3, 3, -0x20, LOW)),
            (&[0xec, 0x56, 0xff, 0xe0, 0, 0xd8], "ahik %r5, %r6, -0x20", add(5, 6, -0x20, LOW)),
            (&[0xc2, 0x15, 0, 0, 0, 1], "slfi %r1, 1", add(1, 1, -1, LOW)),
            (&[0xec, 0x12, 0xff, 0xff, 0, 0xd9], "aghik %r1, %r2, -1", add(1, 2, -1, WHOLE)),
        ],
    );
}
