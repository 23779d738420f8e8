//! How the ABIs write what a function does.

use sframe_engine::{Abi, DwarfRegister};

/// The words of one ABI's assembly.
pub(super) struct Dialect {
    pub(super) abi: Abi,
    /// Registers that callees preserve, other than FP: DWARF number and name.
    pub(super) preserved: &'static [(u32, &'static str)],
    /// A register that is nobody's.
    pub(super) volatile: DwarfRegister,
    pub(super) nop: &'static str,
    pub(super) compute: &'static [&'static str],
    pub(super) call: &'static str,
    pub(super) jump: &'static str,
    pub(super) ret: &'static str,
    /// Tests the argument, and jumps if it is not 0.
    pub(super) unless_zero: &'static [&'static str],
}

const AMD64: Dialect = Dialect {
    abi: Abi::Amd64,
    preserved: &[(3, "%rbx"), (12, "%r12"), (13, "%r13"), (14, "%r14"), (15, "%r15")],
    volatile: DwarfRegister(1),
    nop: "nop",
    compute: &["leal 3(%rdi), %eax", "imull %edi, %eax", "movl %edi, %edx", "xorl %ecx, %ecx"],
    call: "call",
    jump: "jmp",
    ret: "ret",
    unless_zero: &["testl %edi, %edi", "jne"],
};

const fn aarch64(abi: Abi) -> Dialect {
    Dialect {
        abi,
        preserved: &[(19, "x19"), (20, "x20"), (21, "x21"), (22, "x22"), (23, "x23")],
        volatile: DwarfRegister(9),
        nop: "nop",
        compute: &["add w1, w0, #3", "mul w2, w0, w0", "mov w3, w0", "eor w4, w0, w0"],
        call: "bl",
        jump: "b",
        ret: "ret",
        unless_zero: &["cbnz w0,"],
    }
}

const S390X: Dialect = Dialect {
    abi: Abi::S390x,
    preserved: &[(6, "%r6"), (7, "%r7"), (8, "%r8"), (9, "%r9"), (10, "%r10"), (12, "%r12"), (13, "%r13")],
    volatile: DwarfRegister(3),
    nop: "nopr",
    compute: &["ahik %r3, %r2, 3", "msr %r4, %r2", "lgr %r5, %r2", "xr %r1, %r1"],
    call: "brasl %r14,",
    jump: "jg",
    ret: "br %r14",
    unless_zero: &["ltr %r2, %r2", "jgne"],
};

impl Dialect {
    pub(super) fn of(abi: Abi) -> Self {
        match abi {
            Abi::Amd64 => AMD64,
            Abi::Aarch64 | Abi::Aarch64Be => aarch64(abi),
            Abi::S390x => S390X,
        }
    }

    /// The first function: calls others with both arguments, and jumps to itself.
    pub(super) fn start(&self, functions: &[String]) -> String {
        let mut text = String::from("\t.globl _start\n\t.type _start, %function\n_start:\n");
        let mut line = |code: &str| {
            text.push('\t');
            text.push_str(code);
            text.push('\n');
        };
        if self.abi == Abi::S390x {
            line("aghi %r15, -160");
        }
        for function in functions {
            for argument in 0..2 {
                match self.abi {
                    Abi::Amd64 => line(&format!("movl ${argument}, %edi")),
                    Abi::Aarch64 | Abi::Aarch64Be => line(&format!("mov w0, #{argument}")),
                    Abi::S390x => line(&format!("lghi %r2, {argument}")),
                }
                line(&format!("{} {function}", self.call));
            }
        }
        line(&format!("{} .", if self.abi == Abi::S390x { "j" } else { self.jump }));
        line(".size _start, . - _start");
        text
    }
}
