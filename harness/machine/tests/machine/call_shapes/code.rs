//! Machine code in pieces, with labels, and how each architecture encodes it.

use sframe_machine::Cpu;

/// A register by its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    Sp,
    Fp,
    /// The link register, where the ABI has one.
    Link,
    /// Where the next target of a computed jump is read.
    Script,
    /// Caller-saved, and free.
    T0,
    T1,
    T2,
}

impl Register {
    pub(crate) const COUNT: usize = 7;
}

/// A place in the code or in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) chunk: usize,
    pub(crate) offset: usize,
}

impl Label {
    /// A place in the data.
    pub(crate) const fn data(offset: usize) -> Self {
        Self { chunk: usize::MAX, offset }
    }

    pub(crate) const fn is_data(self) -> bool {
        self.chunk == usize::MAX
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instruction {
    Nop,
    Move {
        to: Register,
        from: Register,
    },
    Add {
        register: Register,
        value: i32,
    },
    AddTo {
        to: Register,
        from: Register,
        value: i32,
    },
    Load {
        to: Register,
        base: Register,
        offset: i32,
    },
    Store {
        from: Register,
        base: Register,
        offset: i32,
    },
    Address {
        to: Register,
        label: Label,
    },
    Zero(Register),
    Jump(Label),
    JumpTo(Register),
    Call(Label),
    CallTo(Register),
    Return,
    /// A return to the address in another register than usual.
    ReturnBy(Register),
    /// The branch that the architecture has for returns, dependent on a
    /// condition: in one of its forms, and met or not.
    ConditionalReturn {
        form: u8,
        met: bool,
    },
    /// `b 0(%r14)`: to base and displacement.
    ReturnByDisplacement,
    Push(Register),
    Pop(Register),
    /// `ret` that takes arguments off the stack.
    ReturnAndPop(u16),
    Leave,
    /// FP and the link register to memory before SP, with SP moved there.
    PushPair,
    PopPair,
    /// The registers from FP to SP, to or from memory.
    StoreMultiple {
        base: Register,
        offset: i32,
    },
    LoadMultiple {
        base: Register,
        offset: i32,
    },
    /// From an address that the instruction names relatively.
    LoadRelative {
        to: Register,
        label: Label,
    },
    Raw(&'static [u8]),
}

/// Gives the bytes of an instruction at an address.
pub(crate) type Encode = fn(Instruction, u64, &dyn Fn(Label) -> u64) -> Vec<u8>;

/// The differences between the architectures.
#[derive(Debug)]
pub(crate) struct Isa {
    pub(crate) cpu: &'static Cpu,
    pub(crate) links_on_stack: bool,
    pub(crate) cfa_above_sp: i64,
    /// SP can be loaded from memory by one instruction.
    pub(crate) loads_sp: bool,
    /// FP, link register and SP are saved in the caller's frame.
    pub(crate) saves_in_callers_frame: bool,
    /// The length does not depend on addresses.
    pub(crate) encode: Encode,
    pub(crate) exit: &'static [&'static [u8]],
    /// Between functions.
    pub(crate) trap: &'static [u8],
}

/// Instructions that lie one after the other.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) instructions: Vec<(usize, Instruction)>,
    pub(crate) len: usize,
}

impl Chunk {
    pub(crate) fn append(&mut self, isa: &Isa, instruction: Instruction) -> usize {
        let offset = self.len;
        self.instructions.push((offset, instruction));
        self.len += (isa.encode)(instruction, 0x1000, &|_| 0x1000).len();
        offset
    }
}
