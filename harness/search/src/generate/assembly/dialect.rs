//! How the ABIs write what a function does.

use sframe_engine::{Abi, DwarfRegister};

/// The words of one ABI's assembly.
pub(super) struct Dialect {
    pub(super) abi: Abi,
    /// Registers that callees preserve, other than FP: DWARF number and name.
    pub(super) preserved: &'static [(u32, &'static str)],
    pub(super) fp: (u32, &'static str),
    /// Gives FP another value than it has.
    pub(super) alter_fp: &'static str,
    /// A register that is nobody's.
    pub(super) volatile: DwarfRegister,
    /// Lowers SP by `{}` bytes.
    pub(super) lower_sp: &'static str,
    /// Returns, and removes `{}` bytes from the stack, where one instruction can do both.
    pub(super) ret_and_remove: Option<&'static str>,
    pub(super) nop: &'static str,
    /// Lengths of instructions are multiples of this, as the programs have it.
    pub(super) code_unit: u32,
    pub(super) compute: &'static [&'static str],
    /// Gives the register `{}` a value of its own.
    pub(super) clobber: &'static str,
    pub(super) call: &'static str,
    pub(super) jump: &'static str,
    /// A jump whose target, itself, is the end of the program.
    pub(super) stop: &'static str,
    pub(super) ret: &'static str,
    /// Tests the argument, and jumps if it is not 0.
    pub(super) unless_zero: &'static [&'static str],
    /// Compares the argument with a number: what comes before it, or, on amd64, the operation alone.
    pub(super) compare: (&'static str, bool),
    /// Jumps if the argument is greater.
    pub(super) if_above: &'static str,
    /// Jumps if it is not.
    pub(super) unless_above: &'static str,
    /// Moves FP into another register, and back: in one of these ways.
    pub(super) move_fp: &'static [Move],
    /// Moves the return address into a register at a function's first instruction, loses it where it was,
    /// and moves it back.
    pub(super) move_ra: (Move, &'static str),
}

/// Moves a register into another one, and back.
pub(super) struct Move {
    pub(super) to: DwarfRegister,
    pub(super) there: &'static str,
    pub(super) back: &'static str,
}

const fn moved(to: u32, there: &'static str, back: &'static str) -> Move {
    Move { to: DwarfRegister(to), there, back }
}

/// What functions of an ABI usually do.
pub(super) struct Habits {
    /// How often FP is saved, in percent.
    pub(super) saves_fp: u64,
    /// Whether functions that call others always save it, with the return address.
    pub(super) calls_save_fp: bool,
    /// How often FP is saved in another register, in percent of functions that call none.
    pub(super) moves_fp: u64,
    /// Sizes of frames are multiples of this number of bytes.
    pub(super) frame_unit: u32,
    /// Whether registers are saved in the caller's frame, before SP is lowered; then it is lowered at once.
    pub(super) saves_above_sp: bool,
    /// The least frame of a function that calls others, where they save registers in it.
    pub(super) area_for_callees: u32,
}

impl Habits {
    pub(super) const fn of(abi: Abi) -> Self {
        let usual = Self {
            saves_fp: 60,
            calls_save_fp: true,
            moves_fp: 15,
            frame_unit: 1,
            saves_above_sp: false,
            area_for_callees: 0,
        };
        match abi {
            Abi::Amd64 => Self { saves_fp: 65, calls_save_fp: false, ..usual },
            Abi::Aarch64 | Abi::Aarch64Be => Self { frame_unit: 16, ..usual },
            Abi::S390x => Self { moves_fp: 40, saves_above_sp: true, area_for_callees: 160, ..usual },
        }
    }
}

/// What GNU as does for an ABI alone.
#[derive(Clone, Copy)]
pub(super) struct Gas {
    /// Whether it takes FP as the base of an expression for FP.
    pub(super) knows_fp: bool,
    /// Whether it keeps that a register is undefined, where it is declared to be saved later.
    pub(super) looks_for_undefined: bool,
    /// Whether it writes rows for registers other than SP and FP.
    pub(super) names_registers: bool,
}

impl Gas {
    pub(super) const fn of(abi: Abi) -> Self {
        match abi {
            Abi::Amd64 => Self { knows_fp: true, looks_for_undefined: true, names_registers: true },
            Abi::Aarch64 | Abi::Aarch64Be => {
                Self { knows_fp: false, looks_for_undefined: false, names_registers: false }
            }
            Abi::S390x => Self { knows_fp: false, looks_for_undefined: false, names_registers: true },
        }
    }
}

const AMD64: Dialect = Dialect {
    abi: Abi::Amd64,
    preserved: &[(3, "%rbx"), (12, "%r12"), (13, "%r13"), (14, "%r14"), (15, "%r15")],
    fp: (6, "%rbp"),
    alter_fp: "xorq $1, %rbp",
    volatile: DwarfRegister(1),
    lower_sp: "subq ${}, %rsp",
    ret_and_remove: Some("ret ${}"),
    nop: "nop",
    code_unit: 1,
    compute: &["leal 3(%rdi), %eax", "imull %edi, %eax", "movl %edi, %edx", "xorl %ecx, %ecx"],
    clobber: "movq $7, {}",
    call: "call",
    jump: "jmp",
    stop: "jmp",
    ret: "ret",
    unless_zero: &["testl %edi, %edi", "jne"],
    compare: ("cmpl", true),
    if_above: "ja",
    unless_above: "jbe",
    move_fp: &[moved(10, "movq %rbp, %r10", "movq %r10, %rbp")],
    move_ra: (moved(11, "movq (%rsp), %r11", "movq %r11, (%rsp)"), "movq $0, (%rsp)"),
};

const AARCH64_MOVES_FP: &[Move] = &[moved(10, "mov x10, x29", "mov x29, x10")];

const fn aarch64(abi: Abi) -> Dialect {
    Dialect {
        abi,
        preserved: &[(19, "x19"), (20, "x20"), (21, "x21"), (22, "x22"), (23, "x23")],
        fp: (29, "x29"),
        alter_fp: "eor x29, x29, #1",
        volatile: DwarfRegister(9),
        lower_sp: "sub sp, sp, #{}",
        ret_and_remove: None,
        nop: "nop",
        code_unit: 4,
        compute: &["add w1, w0, #3", "mul w2, w0, w0", "mov w3, w0", "eor w4, w0, w0"],
        clobber: "mov {}, #7",
        call: "bl",
        jump: "b",
        stop: "b",
        ret: "ret",
        unless_zero: &["cbnz w0,"],
        compare: ("cmp w0, #", false),
        if_above: "b.hi",
        unless_above: "b.ls",
        move_fp: AARCH64_MOVES_FP,
        move_ra: (moved(11, "mov x11, x30", "mov x30, x11"), "mov x30, xzr"),
    }
}

const S390X: Dialect = Dialect {
    abi: Abi::S390x,
    preserved: &[(6, "%r6"), (7, "%r7"), (8, "%r8"), (9, "%r9"), (10, "%r10"), (12, "%r12"), (13, "%r13")],
    fp: (11, "%r11"),
    alter_fp: "xilf %r11, 1",
    volatile: DwarfRegister(3),
    lower_sp: "aghi %r15, -{}",
    ret_and_remove: None,
    nop: "nopr",
    code_unit: 4,
    compute: &["ahik %r3, %r2, 3", "msr %r4, %r2", "lgr %r5, %r2", "xr %r1, %r1"],
    clobber: "lghi {}, 7",
    call: "brasl %r14,",
    jump: "jg",
    stop: "j",
    ret: "br %r14",
    unless_zero: &["ltr %r2, %r2", "jgne"],
    compare: ("chi %r2, ", false),
    if_above: "jgh",
    unless_above: "jgnh",
    move_fp: &[
        moved(16, "ldgr %f0, %r11", "lgdr %r11, %f0"),
        moved(0, "lgr %r0, %r11", "lgr %r11, %r0"),
        moved(20, "ldgr %f1, %r11", "lgdr %r11, %f1"),
    ],
    move_ra: (moved(17, "ldgr %f2, %r14", "lgdr %r14, %f2"), "lghi %r14, 0"),
};

impl Dialect {
    pub(super) fn of(abi: Abi) -> Self {
        match abi {
            Abi::Amd64 => AMD64,
            Abi::Aarch64 | Abi::Aarch64Be => aarch64(abi),
            Abi::S390x => S390X,
        }
    }

    /// The first function: calls others with each of some arguments, which choose their paths, and jumps to
    /// itself. Some remove this many bytes from the stack.
    pub(super) fn start(&self, functions: &[(String, i64)], arguments: &[u8]) -> String {
        let mut text = String::from("\t.globl _start\n\t.type _start, %function\n_start:\n");
        let mut line = |code: &str| {
            text.push('\t');
            text.push_str(code);
            text.push('\n');
        };
        let area = Habits::of(self.abi).area_for_callees;
        if area > 0 {
            line(&self.lower_sp.replace("{}", &area.to_string()));
        }
        for (function, removed) in functions {
            for argument in arguments {
                if *removed > 0 {
                    line(&self.lower_sp.replace("{}", &removed.to_string()));
                }
                match self.abi {
                    Abi::Amd64 => line(&format!("movl ${argument}, %edi")),
                    Abi::Aarch64 | Abi::Aarch64Be => line(&format!("mov w0, #{argument}")),
                    Abi::S390x => line(&format!("lghi %r2, {argument}")),
                }
                line(&format!("{} {function}", self.call));
            }
        }
        line(&format!("{} .", self.stop));
        line(".size _start, . - _start");
        text
    }
}
