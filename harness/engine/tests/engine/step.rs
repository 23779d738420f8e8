//! Stepping: from a frame to its caller, or a named reason why not.

use std::collections::BTreeMap;

use crate::builder::{ADDRESS, Builder, Fre, Function, fre, function};
use sframe_engine::{Abi, DwarfRegister, Frame, InstructionPointer, PauthMask, Pc, ReturnAddress, Section};
use sframe_engine::{Step, StepError, Tracked, Version};

const SP: u64 = 0x7000;
const FP: u64 = 0x7800;

struct World {
    section: Vec<u8>,
    registers: BTreeMap<u32, u64>,
    memory: BTreeMap<u64, u64>,
}

impl World {
    fn new(abi: Abi, functions: &[Function]) -> Self {
        let section = Builder::new(Version::V3, abi, functions).bytes();
        Self { section, registers: BTreeMap::new(), memory: BTreeMap::new() }
    }

    fn memory(mut self, cells: &[(u64, u64)]) -> Self {
        self.memory.extend(cells.iter().copied());
        self
    }

    fn registers(mut self, registers: &[(u32, u64)]) -> Self {
        self.registers.extend(registers.iter().copied());
        self
    }

    fn step(&self, frame: &Frame, topmost: bool) -> Result<Step, StepError> {
        let section = Section::parse(&self.section, ADDRESS).expect("a sound section");
        let registers = |register: DwarfRegister| self.registers.get(&register.0).copied();
        let memory = |address: u64| self.memory.get(&address).copied();
        section.step(frame, topmost.then_some(&registers), &memory, PauthMask::for_address_bits(39))
    }

    /// The caller's PC, SP and FP.
    fn top(&self) -> Result<(Pc, u64, u64), StepError> {
        let frame = Frame::topmost(InstructionPointer(0x1000), SP, FP);
        caller(self.step(&frame, true)?)
    }

    /// The same for a frame that has made a call.
    fn deeper(&self) -> Result<(Pc, u64, u64), StepError> {
        caller(self.step(&calling(FP, 0), false)?)
    }
}

/// A frame that has made a call.
const fn calling(fp: u64, same_sp: u8) -> Frame {
    Frame { pc: Pc::Return(ReturnAddress(0x1001)), sp: SP, fp, same_sp }
}

fn caller(step: Step) -> Result<(Pc, u64, u64), StepError> {
    let Step::Caller(caller) = step else { panic!("outermost") };
    caller.frame().map(|frame| (frame.pc, frame.sp, frame.fp))
}

fn returns_to(ra: u64) -> Pc {
    Pc::Return(ReturnAddress(ra))
}

fn one_row(abi: Abi, sp_based: bool, words: &[i32]) -> World {
    World::new(abi, &[function(0x1000, 16, &[fre(0, sp_based, 1, words)])])
}

fn flex_row(abi: Abi, words: &[i32]) -> World {
    World::new(abi, &[Function { info2: 1, ..function(0x1000, 16, &[fre(0, true, 1, words)]) }])
}

#[test]
fn amd64_reads_ra_below_the_cfa() {
    let world = one_row(Abi::Amd64, true, &[32, -16]).memory(&[(SP + 24, 0x2222), (SP + 16, 0x3333)]);
    assert_eq!(world.top(), Ok((returns_to(0x2222), SP + 32, 0x3333)));
    let world = one_row(Abi::Amd64, false, &[16]).memory(&[(FP + 8, 0x2222)]);
    assert_eq!(world.deeper(), Ok((returns_to(0x2222), FP + 16, FP)));
}

#[test]
fn aarch64_finds_ra_in_its_register_in_the_topmost_frame_only() {
    let world = one_row(Abi::Aarch64, true, &[0]).registers(&[(30, 0x2222)]);
    assert_eq!(world.top(), Ok((returns_to(0x2222), SP, FP)));
    let world = one_row(Abi::Aarch64, true, &[16]).registers(&[(30, 0x2222)]);
    assert_eq!(world.deeper(), Err(StepError::RaNotSaved));
}

/// 3.1.3: SP is 160 bytes below the CFA.
#[test]
fn s390x_has_its_sp_160_bytes_below_the_cfa() {
    let cfa = SP + 320;
    let world = one_row(Abi::S390x, true, &[20, -48, -72]).memory(&[(cfa - 48, 0x2222), (cfa - 72, 0x3333)]);
    assert_eq!(world.top(), Ok((returns_to(0x2222), SP + 160, 0x3333)));
    assert_eq!(one_row(Abi::S390x, true, &[20]).deeper(), Err(StepError::RaNotSaved));
    let leaf = one_row(Abi::S390x, true, &[0]).registers(&[(14, 0x2222)]);
    assert_eq!(leaf.top(), Ok((returns_to(0x2222), SP, FP)));
}

#[test]
fn mangled_return_addresses_are_stripped() {
    let row = Fre { info: 0x80 | 3 << 1 | 1, ..fre(0, true, 1, &[16, -8, -16]) };
    let world = World::new(Abi::Aarch64, &[function(0x1000, 16, &[row])])
        .memory(&[(SP + 8, 0x2a43_8a80_0004_0004), (SP, 0x3333)]);
    assert_eq!(world.top().map(|(pc, ..)| pc), Ok(returns_to(0x0000_0000_0004_0004)));
    // An address that is not marked as mangled is not changed.
    let world =
        one_row(Abi::Aarch64, true, &[16, -8, -16]).memory(&[(SP + 8, 0x2a43_8a80_0004_0004), (SP, 0)]);
    assert_eq!(world.top().map(|(pc, ..)| pc), Ok(returns_to(0x2a43_8a80_0004_0004)));
}

#[test]
fn stripping_keeps_the_half_of_the_address_space() {
    let mask = PauthMask::for_address_bits(39);
    assert_eq!(mask.strip(0xdc43_8a80_0400_041c), 0x0400_041c & 0x7f_ffff_ffff | 0x0400_041c);
    assert_eq!(mask.strip(0x5cc3_8a80_1234_5678), 0xffff_ff80_1234_5678);
    assert_eq!(PauthMask::NONE.strip(0xdc43_8a80_0400_041c), 0xdc43_8a80_0400_041c);
}

#[test]
fn the_ends_have_names() {
    let misaligned = one_row(Abi::Amd64, true, &[20]);
    assert_eq!(misaligned.top(), Err(StepError::MisalignedCfa { cfa: SP + 20 }));
    let backwards = one_row(Abi::Amd64, true, &[-8]);
    assert_eq!(backwards.top(), Err(StepError::NoProgress { cfa: SP - 8, sp: SP }));
    let stuck = one_row(Abi::Amd64, true, &[0]);
    assert_eq!(stuck.deeper(), Err(StepError::NoProgress { cfa: SP, sp: SP }));
    let no_ra = one_row(Abi::Amd64, true, &[16]);
    assert_eq!(no_ra.top(), Err(StepError::Unreadable { tracked: Tracked::Ra, address: SP + 8 }));
    let no_fp = one_row(Abi::Amd64, true, &[16, -16]).memory(&[(SP + 8, 0x2222)]);
    assert_eq!(no_fp.top(), Err(StepError::Unreadable { tracked: Tracked::Fp, address: SP }));
    let elsewhere = Frame::topmost(InstructionPointer(0x1010), SP, FP);
    assert_eq!(no_ra.step(&elsewhere, true), Err(StepError::NoFde));
    let late = World::new(Abi::Amd64, &[function(0x1000, 16, &[fre(4, true, 1, &[8])])]);
    assert_eq!(late.top(), Err(StepError::NoRow));
}

/// Like s390x code that has not made its frame: RA is saved in its caller's, and a call
/// follows.
#[test]
fn where_calls_leave_sp_alone_a_caller_may_have_the_same_sp() {
    for (abi, offsets, ra) in [(Abi::S390x, &[0, -120][..], SP + 40), (Abi::Aarch64, &[0, 8, -16], SP + 8)] {
        let world = one_row(abi, true, offsets).memory(&[(ra, 0x2222), (SP - 16, FP)]);
        let Ok(Step::Caller(caller)) = world.step(&calling(FP, 0), false) else { panic!("{abi:?}") };
        assert_eq!((caller.sp, caller.same_sp), (SP, 1), "{abi:?}");
        let next = caller.frame().expect("a caller's frame");
        assert_eq!((next.pc, next.same_sp), (returns_to(0x2222), 1), "{abi:?}");
    }
}

/// A walk with rules that lead from a frame to itself still ends.
#[test]
fn a_walk_that_comes_back_to_a_frame_ends() {
    let world = one_row(Abi::S390x, true, &[0, -120]).memory(&[(SP + 40, 0x1001)]);
    let mut frame = calling(FP, 0);
    let end = (0..=u8::MAX).find_map(|steps| match world.step(&frame, false) {
        Ok(Step::Caller(caller)) => {
            frame = caller.frame().expect("a caller's frame");
            None
        }
        end => Some((steps, end)),
    });
    let stuck = Err(StepError::NoProgress { cfa: SP + 160, sp: SP });
    assert_eq!(end, Some((Frame::SAME_SP_LIMIT, stuck)));
}

#[test]
fn an_outermost_frame_ends_the_walk_without_an_error() {
    let frame = Frame::topmost(InstructionPointer(0x1000), SP, FP);
    let marked = World::new(Abi::Amd64, &[function(0x1000, 16, &[])]);
    assert_eq!(marked.step(&frame, true), Ok(Step::Outermost));
    let undefined = World::new(Abi::Amd64, &[function(0x1000, 16, &[fre(0, true, 1, &[])])]);
    assert_eq!(undefined.step(&frame, true), Ok(Step::Outermost));
}

/// Appendix A: other registers are known only in the topmost frame.
#[test]
fn flex_rules_on_other_registers_hold_in_the_topmost_frame_only() {
    let r10 = DwarfRegister(10);
    let world =
        flex_row(Abi::Amd64, &[10 << 3 | 1, 0]).registers(&[(10, SP + 64)]).memory(&[(SP + 56, 0x2222)]);
    assert_eq!(world.top(), Ok((returns_to(0x2222), SP + 64, FP)));
    assert_eq!(world.deeper(), Err(StepError::UnsafeRegister { tracked: Tracked::Cfa, register: r10 }));
    let unknown = flex_row(Abi::Amd64, &[10 << 3 | 1, 0]);
    assert_eq!(unknown.top(), Err(StepError::UnknownRegister { tracked: Tracked::Cfa, register: r10 }));
    // RA in f0, FP in f2.
    let world = flex_row(Abi::S390x, &[15 << 3 | 1, 20, 16 << 3 | 1, 0, 17 << 3 | 1, 0])
        .registers(&[(16, 0x2222), (17, 0x3333)]);
    assert_eq!(world.top(), Ok((returns_to(0x2222), SP + 160, 0x3333)));
    let f0 = DwarfRegister(16);
    assert_eq!(world.deeper(), Err(StepError::UnsafeRegister { tracked: Tracked::Ra, register: f0 }));
}

/// DRAP: CFA = *(RBP - 8), FP = *(RBP), in any frame.
#[test]
fn flex_rules_on_fp_are_dereferenced_in_any_frame() {
    let control = 6 << 3 | 1 | 2;
    let cfa = FP + 0x80;
    let world = flex_row(Abi::Amd64, &[control, -8, 0, control, 0]).memory(&[
        (FP - 8, cfa),
        (FP, 0x3333),
        (cfa - 8, 0x2222),
    ]);
    assert_eq!(world.top(), Ok((returns_to(0x2222), cfa, 0x3333)));
    assert_eq!(world.deeper(), Ok((returns_to(0x2222), cfa, 0x3333)));
}

/// 2.3.3: the caller of a signal frame was interrupted, and may be on another stack.
#[test]
fn below_a_signal_frame_the_pc_is_an_instruction_pointer() {
    let functions = [Function { info: 0x80, ..function(0x1000, 16, &[fre(0, true, 1, &[-64, -16])]) }];
    let world = World::new(Abi::Amd64, &functions).memory(&[(SP - 72, 0x2222), (SP - 80, 0x3333)]);
    let expected = (Pc::Instruction(InstructionPointer(0x2222)), SP - 64, 0x3333);
    assert_eq!(world.deeper(), Ok(expected));
}
