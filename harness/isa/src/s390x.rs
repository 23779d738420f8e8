//! s390x.
//!
//! The decoder does not report which operands are read and which are written, nor
//! which instructions branch. The operation code determines that. The numbers
//! listed here come from the lists of instructions in the z/Architecture Principles
//! of Operation.

mod values;

use capstone::arch::sysz::{ArchMode, SysZOpMem, SysZOperand, SysZReg};
use capstone::arch::{ArchDetail, BuildsCapstone, DetailsArchInsn};
use capstone::{Capstone, CsResult, Insn, InsnDetail, RegId};
use sframe_engine::{Abi, DwarfRegister};

use super::instruction::{Destination, Flow, Instruction};
use super::operation::{Operation, Place, Value};
use super::registers::Registers;

pub(super) fn decoder() -> CsResult<Capstone> {
    Capstone::new().sysz().mode(ArchMode::Default).detail(true).build()
}

/// Returns the length of an instruction, given by its first two bits.
pub(super) const fn len(first: u8) -> usize {
    match first >> 6 {
        0 => 2,
        1 | 2 => 4,
        _ => 6,
    }
}

/// Returns the DWARF number of a general or floating-point register (ELF ABI s390x
/// Supplement, 1.6). The left half of a vector register is a floating-point
/// register.
fn register(id: RegId) -> Option<DwarfRegister> {
    use SysZReg::*;
    /// The floating-point registers in the order of their DWARF numbers from 16 on.
    const FLOATING: [u32; 16] = [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15];
    let floating = |number| (16..).zip(FLOATING).find(|(_, other)| *other == number).map(|(dwarf, _)| dwarf);
    let number = match id.0.into() {
        id @ SYSZ_REG_0..=SYSZ_REG_15 => Some(id - SYSZ_REG_0),
        id @ SYSZ_REG_F0..=SYSZ_REG_F15 => floating(id - SYSZ_REG_F0),
        id @ SYSZ_REG_V0..=SYSZ_REG_V15 => floating(id - SYSZ_REG_V0),
        _ => None,
    };
    number.map(DwarfRegister)
}

/// Returns an operation code: the first byte, followed by the bits that extend it.
fn operation_code(code: &[u8]) -> u16 {
    let byte = |index: usize| code.get(index).copied().unwrap_or(0);
    let extension = match byte(0) {
        0xa5 | 0xa7 | 0xc0 | 0xc2 | 0xc4 | 0xc6 | 0xc8 | 0xcc => byte(1) & 0xf,
        0x01 | 0xb2 | 0xb3 | 0xb9 | 0xe5 => byte(1),
        0xe3 | 0xe6 | 0xe7 | 0xeb | 0xec | 0xed => byte(5),
        _ => 0,
    };
    u16::from_be_bytes([byte(0), extension])
}

/// How an instruction uses its first operand, if that is a register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstOperand {
    /// It is stored.
    Stored,
    /// It is compared, tested, or branched to.
    Read,
    /// It is set to another value, from memory.
    Loaded,
    /// It is set to another value.
    Set,
    /// It may be read, and is set to another value.
    Changed,
}

/// Returns the use by operation code.
const fn first_operand(code: u16) -> FirstOperand {
    match code {
        // ST, STC, STH, STD, STE, STM, STCM, STAM; with long displacements STG,
        // STRVH, STRVG, STRV, STY, STHY, STCY, STPQ, NTSTG, STCH, STHH, STFH, STEY,
        // STDY, STMG, STMH, STMY, STCMH, STCMY, STAMY; STOC, STOCG, STOCFH; relative
        // STHRL, STGRL, STRL; vectors VST, VSTEB, VSTEH, VSTEG, VSTEF, VSTM, VSTL.
        0x5000 | 0x4200 | 0x4000 | 0x6000 | 0x7000 | 0x9000 | 0xbe00 | 0x9b00 | 0xe324 | 0xe33f | 0xe32f
        | 0xe33e | 0xe350 | 0xe370 | 0xe372 | 0xe38e | 0xe325 | 0xe3c3 | 0xe3c7 | 0xe3cb | 0xed66 | 0xed67
        | 0xeb24 | 0xeb26 | 0xeb90 | 0xeb2c | 0xeb2d | 0xeb9b | 0xebf3 | 0xebe3 | 0xebe1 | 0xc407 | 0xc40b
        | 0xc40f | 0xe70e | 0xe708..=0xe70b | 0xe73e | 0xe73f => FirstOperand::Stored,
        // CR, C, CY, CGR, CG, CGFR, CGF, CH, CHY, CGH, CHI, CGHI, CFI, CGFI, CHF, CHHR,
        // CHLR, CIH, and the same for logical CL; CLM, CLMH, CLMY; relative C6, of
        // which EXRL and PFDRL do not write either.
        0x1900 | 0x5900 | 0xe359 | 0xb920 | 0xe320 | 0xb930 | 0xe330 | 0x4900 | 0xe379 | 0xe334 | 0xa70e
        | 0xa70f | 0xc20d | 0xc20c | 0xe3cd | 0xb9cd | 0xb9dd | 0xcc0d | 0x1500 | 0x5500 | 0xe355 | 0xb921
        | 0xe321 | 0xb931 | 0xe331 | 0xc20f | 0xc20e | 0xe3cf | 0xb9cf | 0xb9df | 0xcc0f | 0xbd00 | 0xeb20
        | 0xeb21 | 0xc600..=0xc60f
        // CDR, CER, KEBR, CEBR, KDBR, CDBR, KXBR, CXBR, KEB, CEB, KDB, CDB, TCEB, TCDB, TCXB.
        | 0x2900 | 0x3900 | 0xb308 | 0xb309 | 0xb318 | 0xb319 | 0xb348 | 0xb349 | 0xed08 | 0xed09 | 0xed18
        | 0xed19 | 0xed10..=0xed12
        // TMLH, TMLL, TMHH, TMHL, and compare and trap CGIT, CLGIT, CIT, CLFIT, CRT, CGRT, CLRT, CLGRT.
        | 0xa700..=0xa703 | 0xec70..=0xec73 | 0xb972 | 0xb960 | 0xb973 | 0xb961
        // Compare and branch CGRJ, CLGRJ, CRJ, CLRJ, CGIJ, CLGIJ, CIJ, CLIJ; CGRB to CLIB.
        | 0xec64 | 0xec65 | 0xec76 | 0xec77 | 0xec7c..=0xec7f | 0xece4 | 0xece5 | 0xecf6 | 0xecf7
        | 0xecfc..=0xecff
        // BCR, BC, BRC, BRCL, BIC, SPM, SVC, EX.
        | 0x0700 | 0x4700 | 0xa704 | 0xc004 | 0xe347 | 0x0400 | 0x0a00 | 0x4400 => FirstOperand::Read,
        // L, LY, LG, LH, LHY, LGH, LGF, LB, LGB, LLGF, LLGH, LLGC, LLC, LLH, LLGT, LRV,
        // LRVG, LRVH, LM, LMG, LMY, LMH, LD, LDY, LE, LEY, LAM, LAMY, relative LRL, LGRL,
        // LGFRL, LHRL, LGHRL, LLHRL, LLGHRL, LLGFRL; VL, VLM.
        0x5800 | 0xe358 | 0xe304 | 0x4800 | 0xe378 | 0xe315 | 0xe314 | 0xe376 | 0xe377 | 0xe316 | 0xe391
        | 0xe390 | 0xe394 | 0xe395 | 0xe317 | 0xe31e | 0xe30f | 0xe31f | 0x9800 | 0xeb04 | 0xeb98 | 0xeb96
        | 0x6800 | 0xed65 | 0x7800 | 0xed64 | 0x9a00 | 0xeb9a | 0xc40d | 0xc408 | 0xc40c | 0xc405 | 0xc404
        | 0xc402 | 0xc406 | 0xc40e | 0xe706 | 0xe736 => FirstOperand::Loaded,
        // LR, LGR, LGFR, LGHR, LGBR, LHR, LBR, LLGFR, LLGHR, LLGCR, LLHR, LLCR, LLGTR, LTR,
        // LTGR, LTGFR, LCR, LCGR, LNR, LNGR, LPR, LPGR, LRVR, LRVGR, LA, LAY, LARL, LHI, LGHI,
        // LGFI, LLILF, LLIHF, LLIHH to LLILL, LDR, LER, LDGR, LGDR, LZER, LZDR, EAR, IPM;
        // BASR, BAS, BRAS, BRASL, BALR, BAL, BASSM, BSM; with a third operand NGRK to XGRK,
        // AGRK to SLGRK, NRK to XRK, ARK to SLRK, AHIK, AGHIK, ALHSIK, ALGHSIK, SRAK, SLAK,
        // SRLK, SLLK, SRAG, SLAG, SRLG, SLLG, RLL, RLLG.
        0xb9e4..=0xb9eb | 0xb9f4..=0xb9fb | 0xecd8..=0xecdb | 0xebdc..=0xebdf | 0xeb0a..=0xeb0d | 0xeb1c
        | 0xeb1d | 0x1800 | 0xb904 | 0xb914 | 0xb907 | 0xb906 | 0xb927 | 0xb926 | 0xb916 | 0xb985 | 0xb984 | 0xb995
        | 0xb994 | 0xb917 | 0x1200 | 0xb902 | 0xb912 | 0x1300 | 0xb903 | 0x1100 | 0xb901 | 0x1000 | 0xb900
        | 0xb91f | 0xb90f | 0x4100 | 0xe371 | 0xc000 | 0xa708 | 0xa709 | 0xc001 | 0xc00f | 0xc00e
        | 0xa50c..=0xa50f | 0x2800 | 0x3800 | 0xb3c1 | 0xb3cd | 0xb374 | 0xb375 | 0xb24f | 0xb222 | 0x0d00
        | 0x4d00 | 0xa705 | 0xc005 | 0x0500 | 0x4500 | 0x0c00 | 0x0b00 => FirstOperand::Set,
        _ => FirstOperand::Changed,
    }
}

fn place(memory: &SysZOpMem) -> Option<Place> {
    if memory.index() != 0 {
        return None;
    }
    Some(Place { base: register(RegId(memory.base().into()))?, offset: memory.disp(), writeback: 0 })
}

pub(super) fn classify(decoded: &Insn<'_>, detail: &InsnDetail<'_>, instruction: &mut Instruction) {
    let ArchDetail::SysZDetail(sysz) = detail.arch_detail() else { return };
    let code = operation_code(decoded.bytes());
    let operands: Vec<SysZOperand> = sysz.operands().collect();
    instruction.flow = flow(code, decoded.bytes(), &operands);
    let computed = values::operation(code, decoded.bytes(), &operands);
    instruction.operation = computed.unwrap_or_else(|| operation(code, decoded.bytes(), &operands));
    instruction.condition = values::condition(code, decoded.bytes());
    // The decoder says of a comparison that jumps that it leaves its result.
    let is_code = |id: &RegId| u32::from(id.0) == SysZReg::SYSZ_REG_CC;
    let leaves_result = detail.regs_write().iter().any(is_code) && instruction.condition.is_none();
    instruction.sets_flags = instruction.is_call() || leaves_result;
    instruction.is_system_call = code == 0x0a00;
    let first = first_operand(code);
    let all: Vec<DwarfRegister> = match (&instruction.operation, first) {
        // All registers from the first to the second.
        (Operation::Store { values, .. } | Operation::Load { values, .. }, _) => values
            .iter()
            .filter_map(|value| if let Value::Register(it) = value { Some(*it) } else { None })
            .collect(),
        _ => operands.iter().take(1).filter_map(register_of).collect(),
    };
    let others = operands.iter().skip(1).filter_map(register_of);
    let is_memory = |operand: &SysZOperand| matches!(operand, SysZOperand::Mem(_));
    match first {
        FirstOperand::Stored => instruction.uses.extend(all),
        FirstOperand::Loaded => instruction.defs.extend(all),
        FirstOperand::Read => instruction.uses.extend(all.into_iter().chain(others)),
        FirstOperand::Set | FirstOperand::Changed => {
            if first == FirstOperand::Changed {
                instruction.uses.extend(all.iter().copied());
            }
            instruction.defs.extend(all);
            instruction.uses.extend(others);
        }
    }
    // A test of a register loads it into itself.
    if matches!(code, 0x1200 | 0xb902) && instruction.uses == instruction.defs {
        instruction.defs = Registers::default();
    }
    instruction.may_store = match first {
        FirstOperand::Stored => true,
        FirstOperand::Read if instruction.operation == Operation::Execute => true,
        FirstOperand::Loaded | FirstOperand::Set | FirstOperand::Read => instruction.is_call(),
        FirstOperand::Changed if matches!(instruction.operation, Operation::LoadEntry { .. }) => false,
        FirstOperand::Changed if only_reads_memory(code) => false,
        // MVCL, MVCLE and MVPG take addresses in registers.
        FirstOperand::Changed => matches!(code, 0x0e00 | 0xa800 | 0xb254) || operands.iter().any(is_memory),
    };
    if instruction.is_call() {
        instruction.defs.remove(Abi::S390x.sp());
    }
    instruction.stored = values::stored(code, &operands).filter(|_| instruction.may_store);
    instruction.defs.extend(second_of_pair(code, decoded.bytes()));
    instruction.sources = instruction.operation.sources().or_else(|| values::sources(code, &operands));
}

/// Whether an instruction takes an operand from memory, or shifts by an amount that is written as an address, and stores
/// nothing.
const fn only_reads_memory(code: u16) -> bool {
    matches!(
        code,
        // A, S, AL, SL, N, O, X, M, D, MS, AH, SH, MH, IC, ICM; SRL, SLL, SRA, SLA, SRDL, SLDL, SRDA, SLDA.
        0x5a00 | 0x5b00 | 0x5e00 | 0x5f00 | 0x5400 | 0x5600 | 0x5700 | 0x5c00 | 0x5d00 | 0x7100 | 0x4a00 | 0x4b00
        | 0x4c00 | 0x4300 | 0xbf00 | 0x8800 | 0x8900 | 0x8a00 | 0x8b00 | 0x8c00 | 0x8d00 | 0x8e00 | 0x8f00
        // AG, SG, ALG, SLG, MSG, DSG, AGF, SGF, ALGF, SLGF, MSGF, DSGF, NG, OG, XG, MLG, DLG, ALCG, SLBG.
        | 0xe308..=0xe30d | 0xe318..=0xe31d | 0xe380..=0xe382 | 0xe386..=0xe389
        // MSY, NY, OY, XY, AY, SY, MFY, ALY, SLY, ICY, AHY, SHY, MHY; ML, DL, ALC, SLB.
        | 0xe351 | 0xe354 | 0xe356 | 0xe357 | 0xe35a..=0xe35c | 0xe35e | 0xe35f | 0xe373 | 0xe37a..=0xe37c
        | 0xe396..=0xe399
        // LDEB, LXDB, LXEB; AEB, SEB, MEEB, DEB, ADB, SDB, MDB, DDB, SQEB, SQDB.
        | 0xed04..=0xed06 | 0xed0a | 0xed0b | 0xed0d | 0xed17 | 0xed1a..=0xed1d | 0xed14 | 0xed15
    )
}

/// Returns the second register of the pair that an instruction writes, of which the decoder names
/// only the first.
fn second_of_pair(code: u16, bytes: &[u8]) -> Option<DwarfRegister> {
    let byte = |index: usize| bytes.get(index).copied().unwrap_or(0);
    let first = match code {
        // LPQ; M, ML, MLG, MG, MFY; D, DL, DLG, DSG, DSGF; MR, DR; CDS, CDSY, CDSG; SRDL, SLDL,
        // SRDA, SLDA; CLCL, MVCL, CLCLE, MVCLE.
        0xe38f | 0x5c00 | 0xe396 | 0xe386 | 0xe384 | 0xe35c | 0x5d00 | 0xe397 | 0xe387 | 0xe30d | 0xe31d
        | 0x1c00 | 0x1d00 | 0xbb00 | 0xeb31 | 0xeb3e | 0x8c00..=0x8f00 | 0x0f00 | 0x0e00 | 0xa900
        | 0xa800
        // LPD, LPDG, whose operation code ends in the second half of that byte.
        | 0xc804 | 0xc805 => byte(1) >> 4,
        // MLR, MLGR, MGRK; DLR, DLGR, DSGR, DSGFR; FLOGR.
        0xb996 | 0xb986 | 0xb9ec | 0xb997 | 0xb987 | 0xb90d | 0xb91d | 0xb983 => byte(3) >> 4,
        _ => return None,
    };
    Some(DwarfRegister(u32::from(first | 1)))
}

fn register_of(operand: &SysZOperand) -> Option<DwarfRegister> {
    match operand {
        SysZOperand::Reg(id) => register(*id),
        _ => None,
    }
}

/// The mask of branches that are always taken.
const ALWAYS: u8 = 15;

fn flow(code: u16, bytes: &[u8], operands: &[SysZOperand]) -> Flow {
    let address = match operands.last() {
        Some(SysZOperand::Imm(address)) => Some(address.cast_unsigned()),
        _ => None,
    };
    let to = address.map_or(Destination::Indirect, Destination::Address);
    let [upper, lower] = bytes.get(1).map_or([0; 2], |byte| [byte >> 4, byte & 0xf]);
    let to_register = || {
        let is_ra = Abi::S390x.ra() == Some(DwarfRegister(lower.into()));
        if is_ra { Destination::Caller } else { Destination::Indirect }
    };
    match code {
        // BASR, BASSM, BALR: without a target register, they only read the PC.
        0x0d00 | 0x0c00 | 0x0500 if lower == 0 => Flow::Next,
        // BASR, BASSM, BAS, BRAS, BRASL, BALR, BAL.
        0x0d00 | 0x0c00 | 0x4d00 | 0xa705 | 0xc005 | 0x0500 | 0x4500 => Flow::Call(address),
        // Without a condition, they never branch.
        0x0700 | 0x4700 | 0xa704 | 0xc004 | 0xe347 if upper == 0 => Flow::Next,
        0x0700 if lower == 0 => Flow::Next,
        0x0700 => Flow::Jump { to: to_register(), is_conditional: upper != ALWAYS },
        // BC, and BIC, whose target is in memory.
        0x4700 | 0xe347 => Flow::Jump { to: Destination::Indirect, is_conditional: upper != ALWAYS },
        0xa704 | 0xc004 => Flow::Jump { to, is_conditional: upper != ALWAYS },
        // BSM.
        0x0b00 if lower == 0 => Flow::Next,
        0x0b00 => Flow::Jump { to: to_register(), is_conditional: false },
        // BCTR and BCTGR without a target register only count.
        0x0600 | 0xb946 if lower_register(bytes) == 0 => Flow::Next,
        // BCTR, BCTGR, BCT, BCTG, BXH, BXLE, BXHG, BXLEG, CGRB to CLIB.
        0x0600
        | 0xb946
        | 0x4600
        | 0xe346
        | 0x8600
        | 0x8700
        | 0xeb44
        | 0xeb45
        | 0xece4
        | 0xece5
        | 0xecf6
        | 0xecf7
        | 0xecfc..=0xecff => Flow::Jump { to: Destination::Indirect, is_conditional: true },
        // BRCT, BRCTG, BRCTH, BRXH, BRXLE, BRXHG, BRXLG, CGRJ to CLIJ.
        0xa706
        | 0xa707
        | 0xcc06
        | 0x8400
        | 0x8500
        | 0xec44
        | 0xec45
        | 0xec64
        | 0xec65
        | 0xec76
        | 0xec77
        | 0xec7c..=0xec7f => Flow::Jump { to, is_conditional: true },
        // TRAP2, TRAP4.
        0x01ff | 0xb2ff => Flow::Trap,
        _ => Flow::Next,
    }
}

/// Returns the register in the last four bits of an RR or RRE instruction.
fn lower_register(bytes: &[u8]) -> u8 {
    bytes.last().map_or(0, |byte| byte & 0xf)
}

fn operation(code: u16, bytes: &[u8], operands: &[SysZOperand]) -> Operation {
    use SysZOperand::{Mem, Reg};
    match (code, operands) {
        // BCR, BC, BRC, BRCL without a condition.
        (0x0700 | 0x4700 | 0xa704 | 0xc004, _) if bytes.get(1).is_some_and(|byte| byte >> 4 == 0) => {
            Operation::Nop
        }
        // EX, EXRL.
        (0x4400 | 0xc600, _) => Operation::Execute,
        // LDGR, LGDR.
        (0xb3c1 | 0xb3cd, [Reg(to), Reg(from)]) => match (register(*to), register(*from)) {
            (Some(to), Some(from)) => Operation::Transfer { to, from },
            _ => Operation::Other,
        },
        // STG, STD, STDY; LG, LD, LDY.
        (0xe324 | 0x6000 | 0xed67, [Reg(what), Mem(memory)]) => {
            Operation::Store { values: vec![value(*what)], place: place(memory), size: 8 }
        }
        (0xe304 | 0x6800 | 0xed65, [Reg(into), Mem(memory)]) => {
            Operation::Load { values: vec![value(*into)], place: place(memory), size: 8 }
        }
        // ST, STY; L, LY.
        (0x5000 | 0xe350, [Reg(what), Mem(memory)]) => {
            Operation::Store { values: vec![value(*what)], place: place(memory), size: 4 }
        }
        (0x5800 | 0xe358, [Reg(into), Mem(memory)]) => {
            Operation::Load { values: vec![value(*into)], place: place(memory), size: 4 }
        }
        // STMG, LMG; STM, STMY, LM, LMY.
        (0xeb24, [Reg(first), Reg(last), Mem(memory)]) => {
            Operation::Store { values: values(*first, *last), place: place(memory), size: 8 }
        }
        (0xeb04, [Reg(first), Reg(last), Mem(memory)]) => {
            Operation::Load { values: values(*first, *last), place: place(memory), size: 8 }
        }
        (0x9000 | 0xeb90, [Reg(first), Reg(last), Mem(memory)]) => {
            Operation::Store { values: values(*first, *last), place: place(memory), size: 4 }
        }
        (0x9800 | 0xeb98, [Reg(first), Reg(last), Mem(memory)]) => {
            Operation::Load { values: values(*first, *last), place: place(memory), size: 4 }
        }
        _ => Operation::Other,
    }
}

fn value(id: RegId) -> Value {
    register(id).map_or(Value::Other, Value::Register)
}

/// Returns the general registers in a range, which wraps from the last to the first.
fn values(first: RegId, last: RegId) -> Vec<Value> {
    let (Some(first), Some(last)) = (register(first), register(last)) else { return Vec::new() };
    let count = (last.0 + 16 - first.0) % 16 + 1;
    (0..count).map(|step| Value::Register(DwarfRegister((first.0 + step) % 16))).collect()
}
