//! Whatever changes in memory has been reported as a store before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::builds::newest_builds;
use crate::executable::{CODE, executable};
use sframe_isa::{Disassembly, Instruction};
use sframe_machine::{AARCH64, AARCH64_BE, AMD64, Cpu, End, Flow, Image, Machine, Moment, Observer, Options};
use sframe_machine::{Outcome, S390X};

/// Keeps a copy of memory, and compares.
struct Shadow {
    /// Start and bytes of each region that the program can write to.
    regions: Vec<(u64, Vec<u8>)>,
    /// Memory as it is now, to be compared.
    now: Vec<u8>,
    stores: Vec<(u64, u64)>,
    last_pc: u64,
    /// The instructions that have changed memory.
    changing: Vec<u64>,
    /// Changes that were not reported: the instruction and the address.
    unreported: Vec<(u64, u64)>,
}

impl Shadow {
    /// The parts of the stack that programs here use, and writable segments.
    fn new(image: &Image<'_>) -> Self {
        let segments = image.segments.iter().filter(|segment| segment.permissions.write);
        let regions = segments
            .map(|segment| (segment.address, vec![0; usize::try_from(segment.len).expect("a small segment")]))
            .collect();
        let (now, stores, changing, unreported) = Default::default();
        Self { regions, now, stores, last_pc: 0, changing, unreported }
    }

    fn is_reported(&self, address: u64) -> bool {
        self.stores.iter().any(|&(start, len)| address.wrapping_sub(start) < len)
    }
}

impl Observer for Shadow {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        let first = self.last_pc == 0;
        if first {
            let start = moment.sp - 0x1_0000;
            self.regions.push((start, vec![0; 0x1_0000]));
        }
        let mut regions = std::mem::take(&mut self.regions);
        for (start, before) in &mut regions {
            self.now.resize(before.len(), 0);
            assert!(moment.memory.read(*start, &mut self.now), "{start:#x}");
            if self.now == *before {
                continue;
            }
            let (before, now) = (std::mem::replace(before, self.now.clone()), &self.now);
            if first {
                continue;
            }
            self.changing.push(self.last_pc);
            let changed = (*start..).zip(before.iter().zip(now)).filter(|(_, (before, now))| before != now);
            for (address, _) in changed {
                if !self.is_reported(address) {
                    self.unreported.push((self.last_pc, address));
                }
            }
        }
        self.regions = regions;
        self.stores.clear();
        self.last_pc = moment.pc;
        Flow::Continue
    }

    fn wants_stores(&self) -> bool {
        true
    }

    fn store(&mut self, address: u64, len: u64) {
        self.stores.push((address, len));
    }
}

fn run(bytes: &[u8]) -> (Outcome, Shadow) {
    let image = Image::parse(bytes).expect("a loadable image");
    let mut shadow = Shadow::new(&image);
    let machine =
        Machine::new(&image, &Options { stack_size: 64 << 20, ..Options::default() }).expect("a machine");
    (machine.run(&mut shadow).expect("an emulator"), shadow)
}

/// Each stores something, or prepares the next one that does. The last one jumps
/// to itself.
const AMD64_CODE: &[(&[u8], &str)] = &[
    (&[0x48, 0x8d, 0xbc, 0x24, 0x00, 0xfc, 0xff, 0xff], "lea -0x400(%rsp),%rdi"),
    (&[0x48, 0x8d, 0xb4, 0x24, 0x00, 0xf8, 0xff, 0xff], "lea -0x800(%rsp),%rsi"),
    (&[0xb9, 0x18, 0x00, 0x00, 0x00], "mov $0x18,%ecx"),
    (&[0x50], "push %rax"),
    (&[0xe8, 0x00, 0x00, 0x00, 0x00], "call 0x1b"),
    (&[0x48, 0x89, 0x07], "mov %rax,(%rdi)"),
    (&[0x88, 0x47, 0x03], "mov %al,0x3(%rdi)"),
    (&[0x48, 0x0f, 0xc3, 0x17], "movnti %rdx,(%rdi)"),
    (&[0x0f, 0x11, 0x4f, 0x05], "movups %xmm1,0x5(%rdi)"),
    (&[0x48, 0x83, 0xe7, 0xc0], "and $0xffffffffffffffc0,%rdi"),
    (&[0x0f, 0x29, 0x0f], "movaps %xmm1,(%rdi)"),
    (&[0xf3, 0xaa], "rep stos %al,(%rdi)"),
    (&[0xb9, 0x18, 0x00, 0x00, 0x00], "mov $0x18,%ecx"),
    (&[0xf3, 0xa4], "rep movsb (%rsi),(%rdi)"),
    (&[0xb9, 0x03, 0x00, 0x00, 0x00], "mov $0x3,%ecx"),
    (&[0xf3, 0x48, 0xa5], "rep movsq (%rsi),(%rdi)"),
    (&[0x48, 0x87, 0x17], "xchg %rdx,(%rdi)"),
    (&[0xf0, 0x48, 0x0f, 0xc1, 0x17], "lock xadd %rdx,(%rdi)"),
    (&[0x48, 0x8b, 0x07], "mov (%rdi),%rax"),
    (&[0xf0, 0x48, 0x0f, 0xb1, 0x37], "lock cmpxchg %rsi,(%rdi)"),
    (&[0xf0, 0xff, 0x07], "lock incl (%rdi)"),
    (&[0x48, 0x83, 0xe7, 0xc0], "and $0xffffffffffffffc0,%rdi"),
    (&[0x48, 0x8b, 0x07], "mov (%rdi),%rax"),
    (&[0x48, 0x8b, 0x57, 0x08], "mov 0x8(%rdi),%rdx"),
    (&[0xf0, 0x48, 0x0f, 0xc7, 0x0f], "lock cmpxchg16b (%rdi)"),
    (&[0xd9, 0xeb], "fldpi"),
    (&[0xdb, 0x3f], "fstpt (%rdi)"),
    (&[0x0f, 0xae, 0x07], "fxsave (%rdi)"),
    (&[0x66, 0x0f, 0x76, 0xc9], "pcmpeqd %xmm1,%xmm1"),
    (&[0x66, 0x0f, 0xf7, 0xc9], "maskmovdqu %xmm1,%xmm1"),
    (&[0xc8, 0x40, 0x00, 0x00], "enter $0x40,$0x0"),
    (&[0x48, 0x0f, 0xba, 0x3f, 0x4d], "btcq $0x4d,(%rdi)"),
    (&[0x0f, 0xae, 0x1f], "stmxcsr (%rdi)"),
    (&[0x0f, 0x94, 0x47, 0x01], "sete 0x1(%rdi)"),
    (&[0x9c], "pushf"),
    (&[0xdd, 0x37], "fnsave (%rdi)"),
    (&[0xeb, 0xfe], "jmp 0x86"),
];

/// Each stores something, or prepares the next one that does. The last one jumps
/// to itself.
const AARCH64_CODE: &[(&[u8], &str)] = &[
    (&[0xe0, 0x03, 0x10, 0xd1], "sub x0, sp, #0x400"),
    (&[0xe1, 0x03, 0x20, 0xd1], "sub x1, sp, #0x800"),
    (&[0x01, 0x00, 0x00, 0xf9], "str x1, [x0]"),
    (&[0x01, 0x0c, 0x00, 0x39], "strb w1, [x0, #3]"),
    (&[0x01, 0x50, 0x80, 0x3c], "stur q1, [x0, #5]"),
    (&[0x01, 0x08, 0x81, 0xa9], "stp x1, x2, [x0, #16]!"),
    (&[0x01, 0x08, 0x00, 0xad], "stp q1, q2, [x0]"),
    (&[0x00, 0x20, 0x00, 0x4c], "st1 {v0.16b-v3.16b}, [x0]"),
    (&[0x00, 0x00, 0x01, 0x91], "add x0, x0, #0x40"),
    (&[0x00, 0x00, 0x00, 0x4c], "st4 {v0.16b-v3.16b}, [x0]"),
    (&[0x00, 0x00, 0x01, 0x91], "add x0, x0, #0x40"),
    (&[0x00, 0x0c, 0x00, 0x0d], "st1 {v0.b}[3], [x0]"),
    (&[0x03, 0x7c, 0x5f, 0xc8], "ldxr x3, [x0]"),
    (&[0x01, 0x7c, 0x04, 0xc8], "stxr w4, x1, [x0]"),
    (&[0x03, 0x14, 0x7f, 0xc8], "ldxp x3, x5, [x0]"),
    (&[0x01, 0x88, 0x24, 0xc8], "stlxp w4, x1, x2, [x0]"),
    (&[0x00, 0x00, 0x01, 0x91], "add x0, x0, #0x40"),
    (&[0x01, 0xfc, 0x9f, 0xc8], "stlr x1, [x0]"),
    (&[0x00, 0x00, 0x01, 0x91], "add x0, x0, #0x40"),
    (&[0x01, 0x08, 0x00, 0xa8], "stnp x1, x2, [x0]"),
    (&[0x02, 0x00, 0x21, 0xf8], "ldadd x1, x2, [x0]"),
    (&[0x02, 0x80, 0x21, 0xf8], "swp x1, x2, [x0]"),
    (&[0x02, 0x00, 0x40, 0xf9], "ldr x2, [x0]"),
    (&[0x04, 0x7c, 0xa2, 0xc8], "cas x2, x4, [x0]"),
    (&[0x02, 0x0c, 0x40, 0xa9], "ldp x2, x3, [x0]"),
    (&[0x04, 0x7c, 0x22, 0x48], "casp x2, x3, x4, x5, [x0]"),
    (&[0x00, 0x34, 0x00, 0x91], "add x0, x0, #0xd"),
    (&[0x20, 0x74, 0x0b, 0xd5], "dc zva, x0"),
    (&[0x00, 0x00, 0x00, 0x14], "b 70"),
];

/// Each stores something, or prepares the next one that does. The last one jumps
/// to itself, and the one after it is executed by others.
const S390X_CODE: &[(&[u8], &str)] = &[
    (&[0xe3, 0x20, 0xfc, 0x00, 0xff, 0x71], "lay %r2,-1024(%r15)"),
    (&[0xe3, 0x30, 0xf8, 0x00, 0xff, 0x71], "lay %r3,-2048(%r15)"),
    (&[0xa7, 0x49, 0x00, 0x18], "lghi %r4,24"),
    (&[0xa7, 0x59, 0x00, 0x18], "lghi %r5,24"),
    (&[0x50, 0x10, 0x20, 0x05], "st %r1,5(%r2)"),
    (&[0xe3, 0x10, 0x20, 0x00, 0x00, 0x24], "stg %r1,0(%r2)"),
    (&[0xeb, 0x6f, 0x20, 0x00, 0x00, 0x24], "stmg %r6,%r15,0(%r2)"),
    (&[0xd2, 0x17, 0x20, 0x00, 0x30, 0x00], "mvc 0(24,%r2),0(%r3)"),
    (&[0xd7, 0x17, 0x20, 0x03, 0x30, 0x00], "xc 3(24,%r2),0(%r3)"),
    (&[0xd6, 0x17, 0x20, 0x00, 0x30, 0x00], "oc 0(24,%r2),0(%r3)"),
    (&[0xd4, 0x17, 0x20, 0x00, 0x30, 0x00], "nc 0(24,%r2),0(%r3)"),
    (&[0x92, 0x07, 0x20, 0x01], "mvi 1(%r2),7"),
    (&[0xe5, 0x48, 0x20, 0x00, 0x00, 0x07], "mvghi 0(%r2),7"),
    (&[0x97, 0x07, 0x20, 0x01], "xi 1(%r2),7"),
    (&[0xe5, 0x44, 0x20, 0x00, 0x00, 0x55], "mvhhi 0(%r2),85"),
    (&[0xb9, 0x04, 0x00, 0x02], "lgr %r0,%r2"),
    (&[0xb9, 0x04, 0x00, 0x62], "lgr %r6,%r2"),
    (&[0xa7, 0x79, 0x00, 0x18], "lghi %r7,24"),
    (&[0xb9, 0x04, 0x00, 0x83], "lgr %r8,%r3"),
    (&[0xa7, 0x99, 0x00, 0x18], "lghi %r9,24"),
    (&[0x0e, 0x68], "mvcl %r6,%r8"),
    (&[0xd7, 0x3f, 0x20, 0x00, 0x20, 0x00], "xc 0(64,%r2),0(%r2)"),
    (&[0xb9, 0x04, 0x00, 0x62], "lgr %r6,%r2"),
    (&[0xa7, 0x79, 0x00, 0x18], "lghi %r7,24"),
    (&[0xb9, 0x04, 0x00, 0x83], "lgr %r8,%r3"),
    (&[0xa7, 0x99, 0x00, 0x18], "lghi %r9,24"),
    (&[0xa8, 0x68, 0x00, 0x00], "mvcle %r6,%r8,0"),
    (&[0xd7, 0x3f, 0x20, 0x00, 0x20, 0x00], "xc 0(64,%r2),0(%r2)"),
    (&[0xa7, 0x09, 0x00, 0x01], "lghi %r0,1"),
    (&[0x92, 0x01, 0x30, 0x1e], "mvi 30(%r3),1"),
    (&[0xb2, 0x55, 0x00, 0x23], "mvst %r2,%r3"),
    (&[0xe3, 0x20, 0xfc, 0x00, 0xff, 0x71], "lay %r2,-1024(%r15)"),
    (&[0x9b, 0x03, 0x20, 0x00], "stam %a0,%a3,0(%r2)"),
    (&[0x60, 0x10, 0x20, 0x00], "std %f1,0(%r2)"),
    (&[0x9b, 0x01, 0x20, 0x00], "stam %a0,%a1,0(%r2)"),
    (&[0xe3, 0x60, 0x20, 0x00, 0x00, 0x04], "lg %r6,0(%r2)"),
    (&[0xeb, 0x61, 0x20, 0x00, 0x00, 0x30], "csg %r6,%r1,0(%r2)"),
    (&[0xe3, 0x60, 0x20, 0x00, 0x00, 0x04], "lg %r6,0(%r2)"),
    (&[0xe3, 0x70, 0x20, 0x08, 0x00, 0x04], "lg %r7,8(%r2)"),
    (&[0xeb, 0x68, 0x20, 0x00, 0x00, 0x3e], "cdsg %r6,%r8,0(%r2)"),
    (&[0xeb, 0x61, 0x20, 0x00, 0x00, 0xe8], "laag %r6,%r1,0(%r2)"),
    (&[0xeb, 0x05, 0x20, 0x00, 0x00, 0x6a], "asi 0(%r2),5"),
    (&[0xeb, 0x05, 0x20, 0x00, 0x00, 0x7a], "agsi 0(%r2),5"),
    (&[0xe3, 0x60, 0x20, 0x00, 0x00, 0x8e], "stpq %r6,0(%r2)"),
    (&[0xe7, 0x10, 0x20, 0x05, 0x00, 0x0e], "vst %v1,5(%r2)"),
    (&[0xe7, 0x13, 0x20, 0x00, 0x00, 0x3e], "vstm %v1,%v3,0(%r2)"),
    (&[0xd7, 0x3f, 0x20, 0x00, 0x20, 0x00], "xc 0(64,%r2),0(%r2)"),
    (&[0xd2, 0x17, 0x20, 0x00, 0x30, 0x00], "mvc 0(24,%r2),0(%r3)"),
    (&[0xe7, 0x14, 0x20, 0x00, 0x00, 0x3f], "vstl %v1,%r4,0(%r2)"),
    (&[0xe7, 0x10, 0x20, 0x08, 0x00, 0x0a], "vsteg %v1,8(%r2),0"),
    (&[0xdc, 0x17, 0x20, 0x00, 0x30, 0x00], "tr 0(24,%r2),0(%r3)"),
    (&[0xc6, 0x40, 0x00, 0x00, 0x00, 0x53], "exrl %r4,1b0"),
    (&[0xd7, 0x3f, 0x20, 0x00, 0x20, 0x00], "xc 0(64,%r2),0(%r2)"),
    (&[0xc0, 0x60, 0x00, 0x00, 0x00, 0x4d], "larl %r6,1b0"),
    (&[0x44, 0x40, 0x60, 0x00], "ex %r4,0(%r6)"),
    (&[0xe8, 0x17, 0x20, 0x00, 0x30, 0x18], "mvcin 0(24,%r2),24(%r3)"),
    (&[0xd1, 0x17, 0x20, 0x00, 0x30, 0x00], "mvn 0(24,%r2),0(%r3)"),
    (&[0xd3, 0x17, 0x20, 0x00, 0x30, 0x00], "mvz 0(24,%r2),0(%r3)"),
    (&[0xf1, 0x82, 0x20, 0x00, 0x30, 0x00], "mvo 0(9,%r2),0(3,%r3)"),
    (&[0xf2, 0x82, 0x20, 0x00, 0x30, 0x00], "pack 0(9,%r2),0(3,%r3)"),
    (&[0xf3, 0x82, 0x20, 0x00, 0x30, 0x00], "unpk 0(9,%r2),0(3,%r3)"),
    (&[0x4e, 0x40, 0x20, 0x00], "cvd %r4,0(%r2)"),
    (&[0xb2, 0x05, 0x20, 0x00], "stck 0(%r2)"),
    (&[0xd2, 0x17, 0x20, 0x00, 0x30, 0x00], "mvc 0(24,%r2),0(%r3)"),
    (&[0xb2, 0x9c, 0x20, 0x00], "stfpc 0(%r2)"),
    (&[0xbe, 0x15, 0x20, 0x00], "stcm %r1,5,0(%r2)"),
    (&[0x93, 0x00, 0x20, 0x00], "ts 0(%r2)"),
    (&[0xe3, 0x10, 0x20, 0x00, 0x00, 0x2f], "strvg %r1,0(%r2)"),
    (&[0xb2, 0x7c, 0x20, 0x00], "stckf 0(%r2)"),
    (&[0xb9, 0x04, 0x00, 0x62], "lgr %r6,%r2"),
    (&[0xa5, 0x67, 0xf0, 0x00], "nill %r6,61440"),
    (&[0xb9, 0x04, 0x00, 0x83], "lgr %r8,%r3"),
    (&[0xa7, 0x8b, 0xf0, 0x00], "aghi %r8,-4096"),
    (&[0xa5, 0x87, 0xf0, 0x00], "nill %r8,61440"),
    (&[0xa7, 0x09, 0x00, 0x00], "lghi %r0,0"),
    (&[0xb2, 0x54, 0x00, 0x68], "mvpg %r6,%r8"),
    (&[0xeb, 0x1f, 0x20, 0x00, 0x00, 0xe3], "stocg %r1,0(%r2),15"),
    (&[0xb9, 0x04, 0x00, 0x62], "lgr %r6,%r2"),
    (&[0xa7, 0x79, 0x00, 0x18], "lghi %r7,24"),
    (&[0xb9, 0x04, 0x00, 0x83], "lgr %r8,%r3"),
    (&[0xa7, 0x99, 0x00, 0x18], "lghi %r9,24"),
    (&[0xeb, 0x68, 0x00, 0x00, 0x00, 0x8e], "mvclu %r6,%r8,0"),
    (&[0xd7, 0x17, 0x20, 0x00, 0x20, 0x00], "xc 0(24,%r2),0(%r2)"),
    (&[0xe3, 0x10, 0x2f, 0xfb, 0xff, 0x50], "sty %r1,-5(%r2)"),
    (&[0xa7, 0xf4, 0x00, 0x00], "j 1ac"),
    (&[0xd2, 0x00, 0x20, 0x00, 0x30, 0x00], "mvc 0(1,%r2),0(%r3)"),
];

/// The addresses of consecutive instructions, with their texts.
fn addresses<'c>(code: &[(&[u8], &'c str)]) -> Vec<(u64, &'c str)> {
    let mut next = CODE;
    let address = |(bytes, text): &(&[u8], &'c str)| {
        let this = next;
        next += bytes.len() as u64;
        (this, *text)
    };
    code.iter().map(address).collect()
}

fn assert_all_is_reported(cpu: &Cpu, code: &[(&[u8], &str)], prepare: &[&str]) {
    let bytes: Vec<u8> = code.iter().flat_map(|(bytes, _)| bytes.iter().copied()).collect();
    let (outcome, shadow) = run(&executable(cpu, &bytes));
    let addresses = addresses(code);
    let text = |pc: u64| addresses.iter().find(|(address, _)| *address == pc).map(|(_, text)| *text);
    if let End::Broken(broken) = &outcome.end {
        panic!("{}: {broken} at {:?}", cpu.abi, text(shadow.last_pc));
    }
    let unreported: BTreeSet<_> = shadow.unreported.iter().filter_map(|(pc, _)| text(*pc)).collect();
    assert!(unreported.is_empty(), "{}: {unreported:?}", cpu.abi);
    // An instruction that changes nothing proves nothing.
    let idle: Vec<_> = addresses
        .iter()
        .filter(|(address, text)| {
            let is_preparing = prepare.iter().any(|mnemonic| text.split(' ').next() == Some(mnemonic));
            !is_preparing && !shadow.changing.contains(address) && *address <= shadow.last_pc
        })
        .collect();
    assert!(idle.is_empty(), "{}: {idle:x?}", cpu.abi);
}

#[test]
fn stores_of_amd64_are_reported() {
    assert_all_is_reported(&AMD64, AMD64_CODE, &["lea", "mov", "and", "fldpi", "pcmpeqd", "jmp"]);
}

#[test]
fn stores_of_aarch64_are_reported_in_either_byte_order() {
    for cpu in [&AARCH64, &AARCH64_BE] {
        assert_all_is_reported(cpu, AARCH64_CODE, &["sub", "add", "ldxr", "ldxp", "ldr", "ldp", "b"]);
    }
}

/// Unicorn copies in the host's memory for many of these.
#[test]
fn stores_of_s390x_are_reported() {
    let prepare = ["lay", "lghi", "lgr", "lg", "larl", "nill", "aghi", "j"];
    assert_all_is_reported(&S390X, S390X_CODE, &prepare);
}

#[test]
fn programs_of_the_corpus_change_nothing_unreported() {
    // deep_recursion stores nothing that others do not, a hundred thousand times.
    let chosen = |path: &PathBuf| {
        path.extension().is_some_and(|variant| variant == "O2")
            && path.file_stem().is_some_and(|program| program != "deep_recursion")
    };
    let builds: Vec<_> = newest_builds().into_iter().filter(chosen).collect();
    assert!(builds.len() > 50, "{} builds", builds.len());
    for path in builds {
        let (outcome, shadow) = run(&std::fs::read(&path).expect("a build"));
        assert_eq!(outcome.end, End::Exit(0), "{}", path.display());
        assert!(shadow.unreported.is_empty(), "{}: {:x?}", path.display(), shadow.unreported);
        assert!(!shadow.changing.is_empty(), "{}", path.display());
    }
}

/// Compares what is stored with what the instruction's code says.
#[derive(Default)]
struct Predicted {
    instructions: BTreeMap<u64, Instruction>,
    /// The last instruction, and the bytes that it will store, if that is known.
    last: Option<(u64, Option<BTreeSet<u64>>)>,
    stored: BTreeSet<u64>,
    /// How often it was known, and how often an instruction whose stores are not known has stored something.
    known: u64,
    unknown: u64,
    wrong: Vec<String>,
}

impl Predicted {
    fn compare(&mut self) {
        let stored = std::mem::take(&mut self.stored);
        match self.last.take() {
            Some((_, Some(predicted))) if predicted == stored => self.known += u64::from(!stored.is_empty()),
            Some((pc, Some(predicted))) => {
                self.wrong.push(format!("{}: {predicted:x?}, not {stored:x?}", self.instructions[&pc].text));
            }
            _ => self.unknown += u64::from(!stored.is_empty()),
        }
    }
}

impl Observer for Predicted {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        self.compare();
        let decode = || {
            let mut code = [0; 16];
            let len =
                (1..=16).rev().find(|len| moment.memory.read(moment.pc, &mut code[..*len])).unwrap_or(0);
            Disassembly::one(moment.abi(), moment.pc, &code[..len]).unwrap_or_default()
        };
        if !moment.memory.is_constant_code(moment.pc) {
            self.instructions.remove(&moment.pc);
        }
        let instruction = self.instructions.entry(moment.pc).or_insert_with(decode);
        let predicted = match (instruction.may_store, instruction.stored) {
            (false, _) => Some(BTreeSet::new()),
            (true, None) => None,
            (true, Some(stored)) => {
                let address =
                    stored.address(|register| moment.register(register.0)).expect("known registers");
                Some((0..stored.bytes_in_all()).map(|offset| address.wrapping_add(offset)).collect())
            }
        };
        self.last = Some((moment.pc, predicted));
        Flow::Continue
    }

    fn wants_stores(&self) -> bool {
        true
    }

    fn store(&mut self, address: u64, len: u64) {
        self.stored.extend((0..len).map(|offset| address.wrapping_add(offset)));
    }
}

#[test]
fn instructions_store_where_their_code_says() {
    let (mut known, mut unknown) = (0, 0);
    for path in
        newest_builds().into_iter().filter(|path| path.file_stem().is_some_and(|it| it != "deep_recursion"))
    {
        let bytes = std::fs::read(&path).expect("a build");
        // Not those that need a library, or are one.
        let Ok(image) = Image::parse(&bytes) else { continue };
        let options = Options { stack_size: 64 << 20, ..Options::default() };
        let mut predicted = Predicted::default();
        let Ok(machine) = Machine::new(&image, &options) else { continue };
        let outcome = machine.run(&mut predicted).expect("an emulator");
        assert!(predicted.wrong.is_empty(), "{}: {:?}", path.display(), predicted.wrong);
        assert!(matches!(outcome.end, End::Exit(_)), "{}: {:?}", path.display(), outcome.end);
        known += predicted.known;
        unknown += predicted.unknown;
    }
    assert!(known > 1_000_000 && unknown < known / 50, "{known} known, {unknown} unknown");
}
