//! Programs of call shapes, and the call stack that they have at each instruction.
//!
//! An interpreter carries out a list of actions and emits the code for each as
//! it goes. It computes registers and memory on the way, so that it knows where
//! each transfer of control leads; what that means is known to the action alone.
//! It is one file of more than 1,000 lines, since each action is a few lines of one `match`.

use std::collections::HashMap;
use std::rc::Rc;

use super::code::{Chunk, Instruction as I, Isa, Label, Register as R};

/// The next action of a program, with choices among its forms.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Nop,
    /// A function is called: a new one, or one that was entered before.
    Call {
        how: u8,
        callee: u8,
        comes_back_by_jump: bool,
    },
    Frame {
        how: u8,
        size: u8,
    },
    Grow {
        size: u8,
    },
    Return {
        how: u8,
    },
    TailCall {
        how: u8,
        callee: u8,
    },
    /// To another place in the function.
    Jump {
        how: u8,
    },
    /// To the label after a call in the function.
    JumpAfterCall {
        which: u8,
        how: u8,
    },
    FetchPc,
    /// The function continues in a part of it that is elsewhere.
    FarPart,
    /// Frames are discarded, and the caller of the outermost of them continues.
    Discard {
        frames: u8,
        how: u8,
    },
    /// As setjmp.
    Save {
        buffer: u8,
        how: u8,
    },
    /// As longjmp.
    Restore {
        buffer: u8,
        how: u8,
    },
    /// Into a frame of a caller, whose SP is as at its call, or near it.
    Land {
        frame: u8,
        adjust: u8,
        how: u8,
    },
    /// A helper moves its caller's SP.
    Outlined {
        how: u8,
    },
    /// The frame continues on another stack, and calls there.
    SwitchStack {
        area: u8,
        how: u8,
    },
    SwitchBack {
        how: u8,
    },
    /// A coroutine begins.
    Begin {
        area: u8,
        callee: u8,
        how: u8,
    },
    /// Another coroutine continues; this one may do so later, or never.
    Resume {
        which: u8,
        how: u8,
        abandon: bool,
    },
}

/// The base of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Area {
    /// SP at the first instruction.
    Stack,
    /// The program's data.
    Data,
    /// FP at the first instruction.
    FramePointer,
}

/// An address, as far as it is known before the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) area: Area,
    pub(crate) offset: i64,
}

impl Address {
    const fn new(area: Area, offset: i64) -> Self {
        Self { area, offset }
    }

    const fn data(offset: usize) -> Self {
        Self::new(Area::Data, offset as i64)
    }

    const fn plus(self, bytes: i64) -> Self {
        Self::new(self.area, self.offset + bytes)
    }

    /// Its offset in the data.
    fn in_data(self) -> usize {
        usize::try_from(self.offset).expect("within the data")
    }

    /// Which stack it points to.
    pub(crate) fn stack(self) -> Option<usize> {
        match self.area {
            Area::Data => Some((self.in_data() - 1).saturating_sub(SLOTS_END) / STACK_SIZE),
            Area::Stack | Area::FramePointer => None,
        }
    }

    fn minus(self, other: Self) -> i32 {
        assert_eq!(self.area, other.area, "of one stack");
        i32::try_from(self.offset - other.offset).expect("near")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Unknown,
    At(Address),
    Code(Label),
}

/// A call that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) return_address: Label,
    pub(crate) callee: Label,
    pub(crate) sp: Address,
    pub(crate) fp: Address,
}

/// How well the callers are known while control has not been transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    /// Exactly.
    Exact,
    /// SP has moved past calls that are to end: they may be gone already.
    Discarding,
    /// The same, and control is about to go into one of the frames that are left.
    Landing,
    /// SP was loaded, so the witness may not know what that means.
    Loaded,
}

/// The true state before an instruction executes.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) at: Label,
    pub(crate) instruction: I,
    pub(crate) sp: Address,
    pub(crate) fp: Address,
    pub(crate) calls: Rc<Vec<Call>>,
    pub(crate) in_coroutine: bool,
    pub(crate) window: Window,
}

/// Where a function has its return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReturnAddress {
    /// In the link register, or on amd64 at SP on entry.
    Fresh,
    Saved(Address),
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    uses_fp: bool,
    /// Bytes by which SP has moved since it was made.
    grown: i32,
}

/// A function that is running or waits for a callee.
#[derive(Clone, Copy, Debug)]
struct Activation {
    function: usize,
    chunk: usize,
    /// Another number for each frame that it makes.
    serial: usize,
    entry_sp: Address,
    return_address: ReturnAddress,
    /// Where FP is that it was entered with, if it has changed it.
    saved_fp: Option<Address>,
    frame: Option<Frame>,
    /// Where SP was, and is stored, before it went to another stack, and that.
    switched: Option<(Address, usize, usize)>,
    /// It continues by the computed jump there.
    after_call: Option<Label>,
    /// Whether it is in a part of the function that is elsewhere.
    is_far: bool,
}

#[derive(Clone, Debug)]
struct Context {
    activations: Vec<Activation>,
    calls: Rc<Vec<Call>>,
    /// The stack that it began on, unless it is the first.
    area: Option<usize>,
    /// Where its registers are while it waits.
    saved: usize,
    resume: Label,
}

#[derive(Clone, Copy, Debug)]
struct Buffer {
    activation: Activation,
    landing: Label,
    /// Whether the landing is where a call has returned to.
    returns_twice: bool,
}

#[derive(Debug, Default)]
struct Function {
    entry: Option<Label>,
    chunks: Vec<usize>,
    /// Whether it begins by a computed jump, and can be entered again.
    reenters: bool,
    after_calls: Vec<Label>,
    /// Whether it was called, or is the first function of a context.
    called: bool,
}

/// A program with all that it will do.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) isa: &'static Isa,
    pub(crate) chunks: Vec<Chunk>,
    /// The chunks of each function.
    pub(crate) functions: Vec<Vec<usize>>,
    /// Where the computed jumps lead, in turn.
    pub(crate) script: Vec<Label>,
    pub(crate) trace: Vec<Expected>,
}

const SCRIPT_LIMIT: usize = 500;
const SLOTS: usize = 4096;
const SLOTS_END: usize = 0x4000;
const STACK_SIZE: usize = 0x2000;
const STACKS: usize = 3;
pub(crate) const DATA_SIZE: usize = SLOTS_END + STACKS * STACK_SIZE;
const BUFFERS: usize = 3;
const DEPTH: usize = 24;
/// Of the first stack, below SP at the first instruction.
const FIRST_STACK: i64 = 0xa000;
/// In a data slot: SP at the first instruction, and FP.
const INITIAL: usize = SLOTS;

/// Code over a speculation trap, in the forms of compilers.
const TRAPS: [&[u8]; 5] = [
    &[0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9], // pause; lfence; jmp
    &[0xf3, 0x90, 0xeb, 0xfc],                   // pause; jmp
    &[0xcc],
    &[0x0f, 0x0b],
    // pause; lfence; jmp; padding to 16 bytes
    &[0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9, 0x66, 0x0f, 0x1f, 0x44, 0, 0],
];

struct Interpreter {
    program: Program,
    functions: Vec<Function>,
    registers: [Value; R::COUNT],
    memory: HashMap<Address, Value>,
    /// Where the last transfer of control leads.
    target: Value,
    activations: Vec<Activation>,
    calls: Rc<Vec<Call>>,
    area: Option<usize>,
    parked: Vec<Context>,
    buffers: [Option<Buffer>; BUFFERS],
    window: Window,
    serial: usize,
    slots: usize,
    /// Stacks that were left with SP as it was entered. A limit of the witness: code that
    /// enters one again is taken for the code that left it.
    spoiled: [bool; STACKS],
}

/// The program that carries out the actions.
pub(crate) fn program(isa: &'static Isa, actions: &[Action]) -> Program {
    let mut interpreter = Interpreter::new(isa);
    interpreter.start();
    for action in actions {
        if interpreter.has_room() {
            interpreter.act(*action);
        }
    }
    interpreter.finish();
    let Interpreter { mut program, functions, .. } = interpreter;
    program.functions = functions.into_iter().map(|function| function.chunks).collect();
    program
}

impl Interpreter {
    fn new(isa: &'static Isa) -> Self {
        let program =
            Program { isa, chunks: Vec::new(), functions: Vec::new(), script: Vec::new(), trace: Vec::new() };
        let mut registers = [Value::Unknown; R::COUNT];
        registers[R::Sp as usize] = Value::At(Address::new(Area::Stack, 0));
        registers[R::Fp as usize] = Value::At(Address::new(Area::FramePointer, 0));
        Self {
            program,
            functions: Vec::new(),
            registers,
            memory: HashMap::new(),
            target: Value::Unknown,
            activations: Vec::new(),
            calls: Rc::new(Vec::new()),
            area: None,
            parked: Vec::new(),
            buffers: [None; BUFFERS],
            window: Window::Exact,
            serial: 0,
            slots: SLOTS,
            spoiled: [false; STACKS],
        }
    }

    const fn isa(&self) -> &'static Isa {
        self.program.isa
    }

    // Registers and memory.

    fn get(&self, register: R) -> Value {
        self.registers[register as usize]
    }

    fn set(&mut self, register: R, value: Value) {
        self.registers[register as usize] = value;
    }

    fn address(&self, register: R) -> Address {
        match self.get(register) {
            Value::At(address) => address,
            other => panic!("{register:?} holds {other:?}"),
        }
    }

    fn sp(&self) -> Address {
        self.address(R::Sp)
    }

    fn fp(&self) -> Address {
        self.address(R::Fp)
    }

    fn load(&self, address: Address) -> Value {
        self.memory.get(&address).copied().unwrap_or(Value::Unknown)
    }

    fn add(&mut self, register: R, value: i32) {
        let sum = self.address(register).plus(value.into());
        self.set(register, Value::At(sum));
    }

    fn at_label(label: Label) -> Value {
        if label.is_data() { Value::At(Address::data(label.offset)) } else { Value::Code(label) }
    }

    /// The registers of `LoadMultiple`, with their places from its address on.
    const MULTIPLE: [(R, i64); 3] = [(R::Fp, 0), (R::Link, 24), (R::Sp, 32)];

    fn execute(&mut self, at: Label, instruction: I) {
        let (sp, fp) = (self.sp(), self.fp());
        let expected = Expected {
            at,
            instruction,
            sp,
            fp,
            calls: Rc::clone(&self.calls),
            in_coroutine: self.area.is_some(),
            window: self.window,
        };
        self.program.trace.push(expected);
        self.carry_out(at, instruction);
        if let Some(stack) = sp.stack()
            && self.sp().stack() != Some(stack)
        {
            self.spoiled[stack] |= sp == Self::stack_top(stack);
        }
    }

    fn carry_out(&mut self, at: Label, instruction: I) {
        let (sp, fp) = (self.sp(), self.fp());
        match instruction {
            I::Nop | I::Raw(_) | I::ConditionalReturn { met: false, .. } => {}
            I::Move { to, from } => self.set(to, self.get(from)),
            I::Add { register, value } => self.add(register, value),
            I::AddTo { to, from, value } => self.set(to, Value::At(self.address(from).plus(value.into()))),
            I::Load { to, base, offset } => {
                self.set(to, self.load(self.address(base).plus(offset.into())));
            }
            I::Store { from, base, offset } => {
                self.memory.insert(self.address(base).plus(offset.into()), self.get(from));
            }
            I::Address { to, label } => self.set(to, Self::at_label(label)),
            I::LoadRelative { to, label } => self.set(to, self.load(Address::data(label.offset))),
            I::Zero(register) => self.set(register, Value::Unknown),
            I::Jump(label) => self.target = Value::Code(label),
            I::JumpTo(register) | I::ReturnBy(register) => self.target = self.get(register),
            I::Call(_) | I::CallTo(_) => {
                self.target = match instruction {
                    I::Call(label) => Value::Code(label),
                    I::CallTo(register) => self.get(register),
                    _ => Value::Unknown,
                };
                let len = (self.isa().encode)(instruction, 0x1000, &|_| 0x1000).len();
                let next = Value::Code(Label { offset: at.offset + len, ..at });
                if self.isa().links_on_stack {
                    self.add(R::Sp, -8);
                    self.memory.insert(self.sp(), next);
                } else {
                    self.set(R::Link, next);
                }
            }
            I::Return | I::ReturnAndPop(_) if self.isa().links_on_stack => {
                self.target = self.load(sp);
                self.add(
                    R::Sp,
                    if let I::ReturnAndPop(bytes) = instruction { 8 + i32::from(bytes) } else { 8 },
                );
            }
            I::Return | I::ReturnByDisplacement | I::ConditionalReturn { .. } => {
                self.target = self.get(R::Link)
            }
            I::ReturnAndPop(_) => panic!("no such return"),
            I::Push(register) => {
                self.memory.insert(sp.plus(-8), self.get(register));
                self.add(R::Sp, -8);
            }
            I::Pop(register) => {
                self.set(register, self.load(sp));
                self.add(R::Sp, 8);
            }
            I::Leave => {
                self.set(R::Sp, Value::At(fp.plus(8)));
                self.set(R::Fp, self.load(fp));
            }
            I::PushPair => {
                self.add(R::Sp, -16);
                self.memory.insert(self.sp(), self.get(R::Fp));
                self.memory.insert(self.sp().plus(8), self.get(R::Link));
            }
            I::PopPair => {
                self.set(R::Fp, self.load(sp));
                self.set(R::Link, self.load(sp.plus(8)));
                self.add(R::Sp, 16);
            }
            I::StoreMultiple { base, offset } => {
                let start = self.address(base).plus(offset.into());
                for (register, place) in Self::MULTIPLE {
                    self.memory.insert(start.plus(place), self.get(register));
                }
            }
            I::LoadMultiple { base, offset } => {
                let start = self.address(base).plus(offset.into());
                for (register, place) in Self::MULTIPLE {
                    self.set(register, self.load(start.plus(place)));
                }
            }
        }
    }

    // Code.

    fn top(&mut self) -> &mut Activation {
        self.activations.last_mut().expect("something runs")
    }

    fn here(&mut self) -> Label {
        let chunk = self.top().chunk;
        Label { chunk, offset: self.program.chunks[chunk].len }
    }

    /// Appends without executing.
    fn append(&mut self, instruction: I) -> Label {
        let (isa, chunk) = (self.isa(), self.top().chunk);
        let offset = self.program.chunks[chunk].append(isa, instruction);
        Label { chunk, offset }
    }

    fn emit(&mut self, instruction: I) {
        let at = self.append(instruction);
        self.execute(at, instruction);
    }

    fn new_chunk(&mut self, function: usize) -> Label {
        let chunk = self.program.chunks.len();
        self.program.chunks.push(Chunk::default());
        self.functions[function].chunks.push(chunk);
        Label { chunk, offset: 0 }
    }

    fn new_function(&mut self) -> Label {
        let function = self.functions.len();
        self.functions.push(Function::default());
        let entry = self.new_chunk(function);
        self.functions[function].entry = Some(entry);
        entry
    }

    /// The last instruction has led there.
    fn arrive(&mut self, label: Label) {
        assert_eq!(self.target, Value::Code(label), "the generator knows where control goes");
        self.target = Value::Unknown;
        let last = self.program.trace.last().map(|expected| expected.instruction);
        if !matches!(last, Some(I::Jump(_))) {
            self.window = Window::Exact;
        }
    }

    /// The same for a call that makes no frame: it shows nothing about the callers.
    fn arrive_by_no_call(&mut self, label: Label) {
        let window = self.window;
        self.arrive(label);
        self.window = window;
    }

    /// The code of a jump to where the script says next.
    const DISPATCH: [I; 3] = [
        I::Load { to: R::T1, base: R::Script, offset: 0 },
        I::Add { register: R::Script, value: 8 },
        I::JumpTo(R::T1),
    ];

    fn append_dispatch(&mut self) -> Label {
        let start = self.here();
        for instruction in Self::DISPATCH {
            self.append(instruction);
        }
        start
    }

    /// Executes the computed jump at `label`, to a new place in the function.
    fn dispatch(&mut self, label: Label) {
        let function = self.top().function;
        let next = self.new_chunk(function);
        self.memory.insert(Address::data(self.program.script.len() * 8), Value::Code(next));
        self.program.script.push(next);
        let mut at = label;
        for instruction in Self::DISPATCH {
            self.execute(at, instruction);
            at.offset += (self.isa().encode)(instruction, 0x1000, &|_| 0x1000).len();
        }
        self.arrive(next);
        self.top().chunk = next.chunk;
    }

    fn slot(&mut self, words: usize) -> usize {
        let slot = self.slots;
        self.slots += words * 8;
        slot
    }

    fn has_room(&self) -> bool {
        let sp = self.sp();
        let limit = match sp.area {
            Area::Stack => -FIRST_STACK,
            _ => {
                let stack = sp.stack().unwrap_or_default();
                (SLOTS_END + stack * STACK_SIZE) as i64
            }
        };
        sp.offset - limit > 1500
            && self.program.script.len() < SCRIPT_LIMIT
            && self.slots + 256 < SLOTS_END
            && self.calls.len() < DEPTH
    }

    /// Puts an address into a register, computed from what the program knows.
    fn materialize(&mut self, to: R, address: Address) {
        match address.area {
            Area::Data => self.emit(I::Address { to, label: Label::data(address.in_data()) }),
            area => {
                let word = if area == Area::Stack { 0 } else { 8 };
                self.emit(I::Address { to: R::T2, label: Label::data(INITIAL) });
                self.emit(I::Load { to, base: R::T2, offset: word });
                let mut left = i32::try_from(address.offset).expect("near");
                while left != 0 {
                    let part = left.clamp(-4080, 4080);
                    self.emit(I::Add { register: to, value: part });
                    left -= part;
                }
            }
        }
    }

    fn start(&mut self) {
        let entry = self.new_function();
        let activation = self.activation(entry);
        self.functions[activation.function].called = true;
        self.activations.push(activation);
        self.emit(I::Address { to: R::T0, label: Label::data(INITIAL) });
        self.slots = Self::buffer(BUFFERS);
        self.emit(I::Move { to: R::T1, from: R::Sp });
        self.emit(I::Store { from: R::T1, base: R::T0, offset: 0 });
        self.emit(I::Store { from: R::Fp, base: R::T0, offset: 8 });
        self.emit(I::Address { to: R::Script, label: Label::data(0) });
        self.emit(I::Add { register: R::Sp, value: -256 });
        // Its frame begins there.
        self.top().entry_sp = Address::new(Area::Stack, -256);
    }

    fn activation(&mut self, entry: Label) -> Activation {
        self.serial += 1;
        let function =
            self.functions.iter().position(|function| function.entry == Some(entry)).expect("a function");
        Activation {
            function,
            chunk: entry.chunk,
            serial: self.serial,
            entry_sp: self.sp(),
            return_address: ReturnAddress::Fresh,
            saved_fp: None,
            frame: None,
            switched: None,
            after_call: None,
            is_far: false,
        }
    }

    /// A function to enter, and whether it has not been entered before.
    fn callee(&mut self, choice: u8) -> (Label, bool) {
        let existing: Vec<Label> =
            self.functions.iter().filter(|function| function.reenters).filter_map(|f| f.entry).collect();
        if choice >= 128 && !existing.is_empty() {
            return (existing[usize::from(choice) % existing.len()], false);
        }
        let entry = self.new_function();
        self.functions.last_mut().expect("just made").reenters = choice & 1 == 1;
        (entry, true)
    }

    /// The topmost activation has just begun to execute its function.
    fn enter(&mut self, entry: Label, new: bool) {
        self.arrive(entry);
        let function = self.top().function;
        if self.functions[function].reenters {
            if new {
                self.append_dispatch();
            }
            self.dispatch(entry);
        }
    }

    fn links(&self) -> bool {
        !self.isa().links_on_stack
    }

    /// Where calls overwrite the return address, it is saved before.
    fn keep_link(&mut self) {
        if self.links() && self.top().return_address == ReturnAddress::Fresh {
            let slot = self.slot(1);
            self.emit(I::Address { to: R::T2, label: Label::data(slot) });
            self.emit(I::Store { from: R::Link, base: R::T2, offset: 0 });
            self.top().return_address = ReturnAddress::Saved(Address::data(slot));
        }
    }

    fn restore_link(&mut self) {
        if let (true, ReturnAddress::Saved(address)) = (self.links(), self.top().return_address) {
            self.load_link(address);
            self.top().return_address = ReturnAddress::Fresh;
        }
    }

    fn load_link(&mut self, address: Address) {
        if address.area == Area::Data && (address.in_data()) < SLOTS_END {
            self.emit(I::Address { to: R::T2, label: Label::data(address.in_data()) });
            self.emit(I::Load { to: R::Link, base: R::T2, offset: 0 });
        } else {
            let offset = address.minus(self.sp());
            self.emit(I::Load { to: R::Link, base: R::Sp, offset });
        }
    }

    /// The call that the last instruction has made is on the call stack.
    fn called(&mut self, sp: Address, callee: Label, comes_back_by_jump: bool) {
        let return_address = self.here();
        let fp = self.fp();
        if comes_back_by_jump {
            let label = self.append_dispatch();
            let function = self.top().function;
            self.functions[function].after_calls.push(label);
            self.top().after_call = Some(label);
        }
        Rc::make_mut(&mut self.calls).push(Call { return_address, callee, sp, fp });
        let activation = self.activation(callee);
        self.functions[activation.function].called = true;
        self.activations.push(activation);
    }

    /// Ends the innermost call; its caller continues.
    fn returned(&mut self) {
        let call = Rc::make_mut(&mut self.calls).pop().expect("a call");
        self.activations.pop();
        self.arrive(call.return_address);
        if let Some(label) = self.top().after_call.take() {
            self.dispatch(label);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Nop => self.emit(I::Nop),
            Action::Call { how, callee, comes_back_by_jump } => self.call(how, callee, comes_back_by_jump),
            Action::Frame { how, size } => self.make_frame(how, size),
            Action::Grow { size } => {
                let top = self.top();
                if let (Some(frame), None) = (&mut top.frame, top.switched) {
                    let bytes = 16 * (1 + i32::from(size % 8));
                    frame.grown += bytes;
                    self.emit(I::Add { register: R::Sp, value: -bytes });
                }
            }
            Action::Return { how } => self.return_(how),
            Action::TailCall { how, callee } => self.tail_call(how, callee),
            Action::Jump { how } => self.jump(how),
            Action::JumpAfterCall { which, how } => self.jump_after_call(which, how),
            Action::FetchPc => self.fetch_pc(),
            Action::FarPart => self.far_part(),
            Action::Discard { frames, how } => self.discard(frames, how),
            Action::Save { buffer, how } => self.save(buffer, how),
            Action::Restore { buffer, how } => self.restore(buffer, how),
            Action::Land { frame, adjust, how } => self.land(frame, adjust, how),
            Action::Outlined { how } => self.outlined(how),
            Action::SwitchStack { area, how } => self.switch_stack(area, how),
            Action::SwitchBack { how } => self.switch_back(how),
            Action::Begin { area, callee, how } => self.begin(area, callee, how),
            Action::Resume { which, how, abandon } => self.resume(which, how, abandon),
        }
    }

    fn call(&mut self, how: u8, callee: u8, comes_back_by_jump: bool) {
        self.keep_link();
        let sp = self.sp();
        let (entry, new) = self.callee(callee);
        let form = how % 4;
        if form == 3 && self.isa().links_on_stack {
            return self.call_by_retpoline(how, entry, new, comes_back_by_jump);
        }
        if form & 1 == 0 {
            self.emit(I::Call(entry));
        } else {
            self.emit(I::Address { to: R::T1, label: entry });
            self.emit(I::CallTo(R::T1));
        }
        self.called(sp, entry, comes_back_by_jump);
        self.enter(entry, new);
    }

    /// The code of a retpoline, which leads to the address in T0.
    fn retpoline(&mut self, trap: u8) {
        let trap = TRAPS[usize::from(trap) % TRAPS.len()];
        let mut over = self.here();
        over.offset += 5 + trap.len();
        self.emit(I::Call(over));
        self.append(I::Raw(trap));
        self.arrive_by_no_call(over);
        self.emit(I::Store { from: R::T0, base: R::Sp, offset: 0 });
        self.emit(I::Return);
    }

    fn call_by_retpoline(&mut self, how: u8, entry: Label, new: bool, comes_back_by_jump: bool) {
        let sp = self.sp();
        self.emit(I::Address { to: R::T0, label: entry });
        if how & 4 == 0 {
            // Out of line, in a thunk.
            let thunk = self.new_function();
            self.emit(I::Call(thunk));
            self.called(sp, thunk, comes_back_by_jump);
            self.enter(thunk, true);
            self.retpoline(how >> 3);
        } else {
            // Inline: jmp 3f; 1: the retpoline; 3: call 1b.
            let mut thunk = self.here();
            thunk.offset += 5;
            let trap = TRAPS[usize::from(how >> 3) % TRAPS.len()];
            let mut call = thunk;
            call.offset += 5 + trap.len() + 4 + 1;
            self.emit(I::Jump(call));
            self.arrive(call);
            // The code in between is appended first, and executed afterwards.
            let mut over = thunk;
            over.offset += 5 + trap.len();
            self.append(I::Call(over));
            self.append(I::Raw(trap));
            let store = I::Store { from: R::T0, base: R::Sp, offset: 0 };
            self.append(store);
            self.append(I::Return);
            assert_eq!(self.here(), call, "the lengths are right");
            self.emit(I::Call(thunk));
            self.called_inline(sp, thunk, comes_back_by_jump);
            self.arrive(thunk);
            // Neither in the caller nor in the callee.
            self.window = Window::Loaded;
            self.execute(thunk, I::Call(over));
            self.arrive_by_no_call(over);
            self.execute(over, store);
            self.execute(Label { offset: over.offset + 4, ..over }, I::Return);
        }
        self.tail_called(entry, new);
    }

    /// A call within the function.
    fn called_inline(&mut self, sp: Address, callee: Label, comes_back_by_jump: bool) {
        let function = self.top().function;
        let Function { entry, called, .. } = self.functions[function];
        self.called(sp, entry.expect("a function"), comes_back_by_jump);
        self.functions[function].called = called;
        Rc::make_mut(&mut self.calls).last_mut().expect("the call").callee = callee;
    }

    /// Control goes to another function, in place of the topmost one.
    fn tail_called(&mut self, entry: Label, new: bool) {
        let activation = self.activation(entry);
        let old = *self.top();
        *self.top() = Activation { entry_sp: old.entry_sp, return_address: old.return_address, ..activation };
        self.enter(entry, new);
    }

    fn make_frame(&mut self, how: u8, size: u8) {
        let isa = self.isa();
        let Activation { frame, switched, entry_sp, .. } = *self.top();
        if frame.is_some() || switched.is_some() || self.sp() != entry_sp {
            return;
        }
        self.restore_link();
        let size = 32 + 16 * i32::from(size % 32);
        let uses_fp = how & 1 == 1;
        let fresh = self.links().then_some(());
        let saved_fp;
        let mut saved_link = None;
        if isa.links_on_stack {
            saved_fp = entry_sp.plus(-8);
            if uses_fp {
                self.emit(I::Push(R::Fp));
                self.emit(I::Move { to: R::Fp, from: R::Sp });
            }
            self.emit(I::Add { register: R::Sp, value: -size });
        } else if isa.saves_in_callers_frame {
            saved_fp = entry_sp.plus(88);
            saved_link = Some(entry_sp.plus(112));
            if uses_fp || how & 2 == 2 {
                self.emit(I::StoreMultiple { base: R::Sp, offset: 88 });
            } else {
                self.emit(I::Store { from: R::Link, base: R::Sp, offset: 112 });
            }
            if how & 4 == 4 {
                self.emit(I::AddTo { to: R::Sp, from: R::Sp, value: -160 - size });
            } else {
                self.emit(I::Add { register: R::Sp, value: -160 - size });
            }
            if uses_fp {
                self.emit(I::Move { to: R::Fp, from: R::Sp });
            }
        } else {
            if how & 2 == 2 {
                self.emit(I::PushPair);
                if uses_fp {
                    self.emit(I::Move { to: R::Fp, from: R::Sp });
                }
                self.emit(I::Add { register: R::Sp, value: -size });
            } else {
                self.emit(I::Add { register: R::Sp, value: -size - 16 });
                self.emit(I::Store { from: R::Fp, base: R::Sp, offset: size });
                self.emit(I::Store { from: R::Link, base: R::Sp, offset: size + 8 });
                if uses_fp {
                    self.emit(I::AddTo { to: R::Fp, from: R::Sp, value: size });
                }
            }
            saved_fp = entry_sp.plus(-16);
            saved_link = Some(entry_sp.plus(-8));
        }
        let top = self.top();
        if fresh.is_some() {
            top.return_address = ReturnAddress::Saved(saved_link.expect("saved"));
        }
        top.saved_fp = uses_fp.then_some(saved_fp);
        top.frame = Some(Frame { uses_fp, grown: 0 });
    }

    /// Takes the frame down: SP, FP and the link register are as at the entry.
    fn take_down(&mut self, how: u8) {
        let isa = self.isa();
        let Activation { frame, entry_sp, saved_fp, .. } = *self.top();
        let Some(frame) = frame else {
            return self.restore_link();
        };
        let total = entry_sp.minus(self.sp());
        if isa.links_on_stack {
            match (frame.uses_fp, how % 3) {
                (false, _) => self.emit(I::Add { register: R::Sp, value: total }),
                (true, 0) => self.emit(I::Leave),
                (true, 1) => {
                    self.emit(I::Move { to: R::Sp, from: R::Fp });
                    self.emit(I::Pop(R::Fp));
                }
                (true, _) => {
                    self.emit(I::Add { register: R::Sp, value: total - 8 });
                    self.emit(I::Pop(R::Fp));
                }
            }
        } else if isa.saves_in_callers_frame {
            let from_fp = frame.uses_fp && how & 1 == 1;
            let (base, start) = if from_fp { (R::Fp, self.fp()) } else { (R::Sp, self.sp()) };
            if frame.uses_fp {
                self.emit(I::LoadMultiple { base, offset: entry_sp.minus(start) + 88 });
            } else {
                self.emit(I::Load { to: R::Link, base, offset: total + 112 });
                if how & 2 == 2 {
                    self.emit(I::AddTo { to: R::Sp, from: R::Sp, value: total });
                } else {
                    self.emit(I::Add { register: R::Sp, value: total });
                }
            }
        } else if frame.uses_fp && (how & 1 == 1 || total > 4000) {
            self.emit(I::Move { to: R::Sp, from: R::Fp });
            self.emit(I::PopPair);
        } else if how & 2 == 2 {
            self.emit(I::Add { register: R::Sp, value: total - 16 });
            self.emit(I::PopPair);
        } else {
            if saved_fp.is_some() {
                self.emit(I::Load { to: R::Fp, base: R::Sp, offset: total - 16 });
            }
            self.emit(I::Load { to: R::Link, base: R::Sp, offset: total - 8 });
            self.emit(I::Add { register: R::Sp, value: total });
        }
        self.serial += 1;
        let serial = self.serial;
        let top = self.top();
        *top =
            Activation { serial, saved_fp: None, frame: None, return_address: ReturnAddress::Fresh, ..*top };
    }

    fn return_(&mut self, how: u8) {
        if self.calls.is_empty() || self.top().switched.is_some() {
            return;
        }
        self.take_down(how);
        let caller = self.activations.len() - 2;
        let grown = match self.activations[caller] {
            Activation { frame: Some(frame), switched: None, .. } => frame.grown,
            _ => 0,
        };
        if self.isa().links_on_stack {
            let trap = TRAPS[usize::from(how >> 4) % TRAPS.len()];
            match how % 6 {
                1 => {
                    self.emit(I::Pop(R::T1));
                    self.emit(I::JumpTo(R::T1));
                }
                2 if grown >= 16 => {
                    // The arguments were the last that the caller put there.
                    self.activations[caller].frame.as_mut().expect("a frame").grown -= 16;
                    self.emit(I::ReturnAndPop(16));
                }
                3 => {
                    self.emit(I::Add { register: R::Sp, value: 8 });
                    self.emit(I::Load { to: R::T1, base: R::Sp, offset: -8 });
                    self.emit(I::JumpTo(R::T1));
                }
                form @ (4 | 5) => {
                    // A return thunk: inline, or a function that is jumped to.
                    if form == 5 {
                        let thunk = self.new_function();
                        self.emit(I::Jump(thunk));
                        self.tail_called(thunk, true);
                    }
                    let mut over = self.here();
                    over.offset += 5 + trap.len();
                    self.emit(I::Call(over));
                    self.append(I::Raw(trap));
                    self.arrive_by_no_call(over);
                    if how & 8 == 0 {
                        self.emit(I::AddTo { to: R::Sp, from: R::Sp, value: 8 });
                    } else {
                        self.emit(I::Add { register: R::Sp, value: 8 });
                    }
                    self.emit(I::Return);
                }
                _ => self.emit(I::Return),
            }
        } else {
            self.return_by_link(how >> 2);
        }
        self.returned();
    }

    /// To the address in the link register.
    fn return_by_link(&mut self, how: u8) {
        let conditional = self.isa().saves_in_callers_frame;
        match how % 6 {
            1 => {
                self.emit(I::Move { to: R::T1, from: R::Link });
                self.emit(I::JumpTo(R::T1));
            }
            2 if !conditional => {
                self.emit(I::Move { to: R::T2, from: R::Link });
                self.emit(I::ReturnBy(R::T2));
            }
            2 => self.emit(I::ReturnByDisplacement),
            form @ (3 | 4) if conditional => {
                self.emit(I::Zero(R::T1));
                if form == 4 {
                    self.emit(I::ConditionalReturn { form: how >> 3, met: false });
                    self.emit(I::Nop);
                }
                self.emit(I::ConditionalReturn { form: how >> 4, met: true });
            }
            _ => self.emit(I::Return),
        }
    }

    fn tail_call(&mut self, how: u8, callee: u8) {
        if self.top().switched.is_some() {
            return;
        }
        self.take_down(how >> 4);
        let (entry, new) = self.callee(callee);
        match how % 4 {
            0 => self.emit(I::Jump(entry)),
            3 if self.isa().links_on_stack => {
                self.emit(I::Address { to: R::T0, label: entry });
                if how & 4 == 0 {
                    let thunk = self.new_function();
                    self.emit(I::Jump(thunk));
                    self.tail_called(thunk, true);
                }
                self.retpoline(how >> 3);
            }
            _ => {
                self.emit(I::Address { to: R::T1, label: entry });
                self.emit(I::JumpTo(R::T1));
            }
        }
        self.tail_called(entry, new);
    }

    fn jump(&mut self, how: u8) {
        let function = self.top().function;
        match how % 4 {
            0 => {
                let label = self.append_dispatch();
                return self.dispatch(label);
            }
            1 if self.isa().links_on_stack => {
                let next = self.new_chunk(function);
                self.emit(I::Address { to: R::T0, label: next });
                self.retpoline(how >> 2);
                self.arrive(next);
                self.top().chunk = next.chunk;
                return;
            }
            _ => {}
        }
        let next = self.new_chunk(function);
        self.emit(I::Address { to: R::T1, label: next });
        self.emit(I::JumpTo(R::T1));
        self.arrive(next);
        self.top().chunk = next.chunk;
    }

    fn jump_after_call(&mut self, which: u8, how: u8) {
        let function = self.top().function;
        let labels = &self.functions[function].after_calls;
        if labels.is_empty() {
            return;
        }
        let label = labels[usize::from(which) % labels.len()];
        let sp = self.sp();
        // With SP as at the call it is the return, by whatever instruction.
        if self.calls.iter().any(|call| call.return_address == label && call.sp == sp) {
            return;
        }
        if how & 1 == 0 {
            self.emit(I::Jump(label));
        } else {
            self.emit(I::Address { to: R::T1, label });
            self.emit(I::JumpTo(R::T1));
        }
        self.arrive(label);
        self.dispatch(label);
    }

    fn far_part(&mut self) {
        if self.top().switched.is_some() {
            return;
        }
        let part = self.new_function();
        let function = self.functions.len() - 1;
        self.emit(I::Jump(part));
        self.arrive(part);
        let top = self.top();
        (top.function, top.chunk, top.is_far) = (function, part.chunk, true);
    }

    fn fetch_pc(&mut self) {
        self.keep_link();
        let mut next = self.here();
        next.offset += (self.isa().encode)(I::Call(next), 0x1000, &|_| 0x1000).len();
        self.emit(I::Call(next));
        self.arrive_by_no_call(next);
        if self.isa().links_on_stack {
            self.emit(I::Pop(R::T0));
        } else {
            self.emit(I::Move { to: R::T0, from: R::Link });
        }
    }

    /// Puts SP where it is to be, relatively or as from a saved context.
    fn move_sp(&mut self, to: Address, foreign: bool) {
        if foreign || to.stack() != self.sp().stack() {
            self.materialize(R::T0, to);
            self.emit(I::Move { to: R::Sp, from: R::T0 });
            self.window = Window::Loaded;
            return;
        }
        let mut left = to.minus(self.sp());
        while left != 0 {
            let part = left.clamp(-4080, 4080);
            self.emit(I::Add { register: R::Sp, value: part });
            left -= part;
            self.window = Window::Discarding;
        }
    }

    fn discard(&mut self, frames: u8, how: u8) {
        let depth = self.calls.len();
        let frames = 1 + usize::from(frames % 4);
        if depth < frames + 1 {
            return;
        }
        // The outermost discarded function, which returns.
        let outermost = depth - frames;
        let given_up = &self.activations[outermost..];
        if given_up.iter().any(|activation| activation.switched.is_some()) {
            return;
        }
        let Activation { entry_sp, return_address, .. } = given_up[0];
        // Where no frame was made, only a return instruction is one for sure.
        let how = if self.links() && self.calls[depth - 1].sp == entry_sp { how & 1 } else { how };
        let saved_fp = given_up.iter().find_map(|activation| activation.saved_fp);
        let sp = self.sp();
        if let Some(saved) = saved_fp {
            self.emit(I::Load { to: R::Fp, base: R::Sp, offset: saved.minus(sp) });
        }
        if let (true, ReturnAddress::Saved(address)) = (self.links(), return_address) {
            self.load_link(address);
        }
        self.move_sp(entry_sp, how & 1 == 1);
        if self.isa().links_on_stack {
            if how & 2 == 2 {
                self.emit(I::Pop(R::T1));
                self.emit(I::JumpTo(R::T1));
            } else {
                self.emit(I::Return);
            }
        } else {
            self.return_by_link(how >> 2);
        }
        Rc::make_mut(&mut self.calls).truncate(outermost);
        self.activations.truncate(outermost + 1);
        self.returned();
    }

    const fn buffer(index: usize) -> usize {
        INITIAL + 16 + index * 64
    }

    /// Stores SP, FP and a PC into the buffer that T0 points to.
    fn store_context(&mut self, sp: Option<i32>, pc: Option<Label>) {
        let multiple = self.isa().saves_in_callers_frame;
        match sp {
            Some(offset) => self.emit(I::AddTo { to: R::T2, from: R::Sp, value: offset }),
            None => self.emit(I::Move { to: R::T2, from: R::Sp }),
        }
        self.emit(I::Store { from: R::T2, base: R::T0, offset: 0 });
        self.emit(I::Store { from: R::Fp, base: R::T0, offset: 8 });
        if multiple {
            self.emit(I::Store { from: R::T2, base: R::T0, offset: 24 + 32 });
            self.emit(I::Store { from: R::Fp, base: R::T0, offset: 24 });
        }
        let pc = match pc {
            Some(label) => {
                self.emit(I::Address { to: R::T2, label });
                R::T2
            }
            None if self.isa().links_on_stack => {
                self.emit(I::Load { to: R::T2, base: R::Sp, offset: 0 });
                R::T2
            }
            None => R::Link,
        };
        self.emit(I::Store { from: pc, base: R::T0, offset: 16 });
        if multiple {
            self.emit(I::Store { from: pc, base: R::T0, offset: 24 + 24 });
        }
    }

    fn save(&mut self, buffer: u8, how: u8) {
        let index = usize::from(buffer) % BUFFERS;
        self.keep_link();
        let place = Label::data(Self::buffer(index));
        self.emit(I::Address { to: R::T0, label: place });
        let landing = if how & 1 == 0 {
            // In line; the landing is a separate place.
            let (function, chunk) = (self.top().function, self.top().chunk);
            self.top().chunk = self.new_chunk(function).chunk;
            let landing = self.append_dispatch();
            self.top().chunk = chunk;
            self.store_context(None, Some(landing));
            landing
        } else {
            let setjmp = self.new_function();
            let sp = self.sp();
            self.emit(I::Call(setjmp));
            let landing = self.here();
            self.called(sp, setjmp, true);
            self.enter(setjmp, true);
            self.store_context(self.isa().links_on_stack.then_some(8), None);
            self.emit(I::Return);
            self.returned();
            landing
        };
        let activation = *self.top();
        self.buffers[index] = Some(Buffer { activation, landing, returns_twice: how & 1 == 1 });
    }

    fn restore(&mut self, buffer: u8, how: u8) {
        let index = usize::from(buffer) % BUFFERS;
        let Some(Buffer { activation, landing, returns_twice }) = self.buffers[index] else { return };
        let Some(depth) = self.activations.iter().position(|live| live.serial == activation.serial) else {
            return;
        };
        // On another stack where no frame has made a call, it begins a context.
        let stack = |activation: &Activation| activation.switched.map(|(_, slot, _)| slot);
        if stack(&self.activations[depth]) != stack(&activation) {
            return;
        }
        // SP when the buffer was filled.
        let Value::At(to) = self.load(Address::data(Self::buffer(index))) else { return };
        let below = self.calls.get(depth).is_some_and(|call| to != call.sp);
        // A limit of the witness: where a function was left for a part of it that
        // lies elsewhere, only a call that returns twice shows whose it is.
        let is_far = self.activations.iter().any(|live| live.is_far);
        if !returns_twice && (is_far || self.has_twin(depth, to, below)) {
            return;
        }
        let place = Label::data(Self::buffer(index));
        self.emit(I::Address { to: R::T0, label: place });
        self.load_context(place, how);
        Rc::make_mut(&mut self.calls).truncate(depth);
        self.activations.truncate(depth + 1);
        *self.top() = activation;
        if activation.frame.is_none() {
            // The frame that it has made since then is gone.
            let stale = |buffer: &Buffer| {
                buffer.activation.serial == activation.serial && buffer.activation.frame.is_some()
            };
            for buffer in &mut self.buffers {
                *buffer = buffer.filter(|buffer| !stale(buffer));
            }
        }
        self.arrive(landing);
        self.dispatch(landing);
    }

    /// Returns whether functions can be distinguished by where control is. A limit of the
    /// witness: one that was only jumped to is taken for the one before it.
    fn tells_apart(&self, one: usize, other: usize) -> bool {
        one != other && self.functions[one].called && self.functions[other].called
    }

    /// Returns whether another frame has the same SP, or a callee has any if `below`, and its
    /// function does not show which of them control has come to.
    fn has_twin(&self, depth: usize, sp: Address, below: bool) -> bool {
        let function = self.activations[depth].function;
        (self.links() || below)
            && (0..self.activations.len()).filter(|other| *other != depth).any(|other| {
                let Activation { function: callee, entry_sp, .. } = self.activations[other];
                let other_sp = self.calls.get(other).map_or(self.sp(), |call| call.sp);
                let holds = other_sp == sp
                    || (entry_sp.stack() == sp.stack()
                        && sp.offset <= entry_sp.offset
                        && (other_sp.stack() != sp.stack() || other_sp.offset <= sp.offset));
                !self.tells_apart(callee, function) && ((below && other > depth) || holds)
            })
    }

    /// Loads SP, FP and PC from what T0 points to, and goes there.
    fn load_context(&mut self, place: Label, how: u8) {
        let isa = self.isa();
        if isa.saves_in_callers_frame && how.is_multiple_of(4) {
            self.emit(I::LoadMultiple { base: R::T0, offset: 24 });
            self.window = Window::Loaded;
            return self.emit(I::Return);
        }
        self.emit(I::Load { to: R::Fp, base: R::T0, offset: 8 });
        let pc = if self.links() && how & 4 == 4 { R::Link } else { R::T1 };
        self.emit(I::Load { to: pc, base: R::T0, offset: 16 });
        if isa.saves_in_callers_frame && how % 4 == 1 {
            self.emit(I::LoadRelative { to: R::Sp, label: place });
        } else if isa.loads_sp && how & 1 == 0 {
            self.emit(I::Load { to: R::Sp, base: R::T0, offset: 0 });
        } else {
            self.emit(I::Load { to: R::T2, base: R::T0, offset: 0 });
            self.emit(I::Move { to: R::Sp, from: R::T2 });
        }
        self.window = Window::Loaded;
        if pc == R::Link {
            self.emit(I::Return);
        } else if isa.links_on_stack && how & 4 == 4 {
            self.emit(I::Push(pc));
            self.emit(I::Return);
        } else {
            self.emit(I::JumpTo(pc));
        }
    }

    fn land(&mut self, frame: u8, adjust: u8, how: u8) {
        if self.calls.is_empty() {
            return;
        }
        let depth = usize::from(frame) % self.calls.len();
        let call = self.calls[depth];
        let caller = self.activations[depth];
        let moved = match (adjust % 4, caller.frame, caller.switched) {
            (1, Some(frame), None) if frame.grown >= 16 => 16,
            // On the first stack: SP that is loaded with an address below another
            // one, a limit, is taken for a new stack.
            (2, Some(_), None) if call.sp.stack().is_none() => -32,
            _ => 0,
        };
        let to = call.sp.plus(moved);
        if self.has_twin(depth, to, moved < 0) || self.activations.iter().any(|live| live.is_far) {
            return;
        }
        let next = self.new_chunk(caller.function);
        // Not where SP is past no call: nothing there tells the jump from one
        // within the function, or to another.
        let innermost = self.calls[self.calls.len() - 1].sp;
        let past = to.stack() == innermost.stack()
            && self.sp().stack() == to.stack()
            && to.offset > innermost.offset - i64::from(self.isa().links_on_stack);
        let foreign = how & 1 == 1 || !past;
        if self.fp() != call.fp {
            self.materialize(R::Fp, call.fp);
        }
        self.emit(I::Address { to: R::T1, label: next });
        self.move_sp(to, foreign);
        if self.window == Window::Discarding {
            self.window = Window::Landing;
        }
        self.emit(I::JumpTo(R::T1));
        Rc::make_mut(&mut self.calls).truncate(depth);
        self.activations.truncate(depth + 1);
        self.arrive(next);
        let top = self.top();
        if let Some(frame) = &mut top.frame {
            frame.grown -= i32::try_from(moved).expect("a few bytes");
        }
        top.chunk = next.chunk;
        top.after_call = None;
    }

    fn outlined(&mut self, how: u8) {
        let Activation { frame: Some(frame), switched: None, .. } = *self.top() else { return };
        if !self.links() {
            return;
        }
        let bytes = 16 * (1 + i32::from(how >> 2));
        let sp = self.sp();
        let helper = self.new_function();
        let epilogue = how & 3 == 3 && self.isa().cpu.abi.signs_return_addresses();
        if !epilogue && how & 1 == 1 && frame.grown < bytes {
            return;
        }
        self.emit(I::Call(helper));
        self.called(sp, helper, false);
        self.enter(helper, true);
        if epilogue {
            // The rest is the function's last part, without its frame.
            self.emit(I::Move { to: R::T1, from: R::Link });
            let caller = self.activations.len() - 2;
            let saved = self.activations[caller];
            let helper = *self.top();
            *self.top() = Activation { chunk: helper.chunk, ..saved };
            self.window = Window::Discarding;
            self.take_down(how >> 2);
            self.emit(I::ReturnBy(R::T1));
            let taken_down = *self.top();
            self.activations[caller] = Activation { chunk: saved.chunk, ..taken_down };
        } else {
            let value = if how & 1 == 1 { bytes } else { -bytes };
            self.emit(I::Add { register: R::Sp, value });
            self.window = Window::Discarding;
            self.emit(I::Return);
            let caller = self.activations.len() - 2;
            self.activations[caller].frame.as_mut().expect("a frame").grown -= value;
        }
        self.returned();
    }

    /// A stack on which no context that may continue has frames.
    fn free_stack(&self, choice: u8) -> Option<usize> {
        let contexts = self.parked.iter().flat_map(|context| &context.activations);
        let used = |area: &usize| {
            self.area == Some(*area)
                || self.parked.iter().any(|context| context.area == Some(*area))
                || self
                    .activations
                    .iter()
                    .chain(contexts.clone())
                    .any(|activation| activation.switched.is_some_and(|(_, _, other)| other == *area))
        };
        let free: Vec<usize> = (0..STACKS).filter(|area| !used(area) && !self.spoiled[*area]).collect();
        (!free.is_empty()).then(|| free[usize::from(choice) % free.len()])
    }

    /// SP when a stack is entered; above it is room for what s390x code saves.
    const fn stack_top(area: usize) -> Address {
        Address::data(SLOTS_END + (area + 1) * STACK_SIZE - 256)
    }

    fn switch_stack(&mut self, area: u8, how: u8) {
        let Activation { frame: Some(_), switched: None, .. } = *self.top() else { return };
        let Some(area) = self.free_stack(area) else { return };
        self.keep_link();
        let slot = self.slot(1);
        let sp = self.sp();
        self.emit(I::Address { to: R::T0, label: Label::data(slot) });
        self.emit(I::Move { to: R::T1, from: R::Sp });
        self.emit(I::Store { from: R::T1, base: R::T0, offset: 0 });
        self.emit(I::Address { to: R::T2, label: Label::data(Self::stack_top(area).in_data()) });
        self.emit(I::Move { to: R::Sp, from: R::T2 });
        self.window = Window::Loaded;
        self.top().switched = Some((sp, slot, area));
        self.call(how & !3 | how & 1, how, how & 16 != 0);
    }

    fn switch_back(&mut self, how: u8) {
        let Activation { frame: Some(frame), switched: Some((sp, slot, _)), .. } = *self.top() else {
            return;
        };
        let from_fp = frame.uses_fp && how & 1 == 1;
        let spoiled = self.spoiled;
        if from_fp {
            let value = sp.minus(self.fp());
            self.emit(I::AddTo { to: R::Sp, from: R::Fp, value });
        } else {
            self.emit(I::Address { to: R::T0, label: Label::data(slot) });
            self.emit(I::Load { to: R::T1, base: R::T0, offset: 0 });
            self.emit(I::Move { to: R::Sp, from: R::T1 });
        }
        self.window = Window::Loaded;
        self.top().switched = None;
        self.spoiled = spoiled;
    }

    /// Stores the registers, to continue later. Returns the buffer and the place.
    fn suspend(&mut self) -> (usize, Label) {
        self.keep_link();
        let slot = self.slot(8);
        let (function, chunk) = (self.top().function, self.top().chunk);
        let resume = self.new_chunk(function);
        self.top().chunk = chunk;
        self.emit(I::Address { to: R::T0, label: Label::data(slot) });
        self.store_context(None, Some(resume));
        (slot, resume)
    }

    fn begin(&mut self, area: u8, callee: u8, _how: u8) {
        let Some(area) = self.free_stack(area) else { return };
        let (saved, resume) = self.suspend();
        let (entry, new) = self.callee(callee);
        self.emit(I::Address { to: R::T1, label: entry });
        self.emit(I::Address { to: R::T2, label: Label::data(Self::stack_top(area).in_data()) });
        self.emit(I::Move { to: R::Sp, from: R::T2 });
        self.window = Window::Loaded;
        self.emit(I::JumpTo(R::T1));
        self.park(Some((saved, resume)));
        self.area = Some(area);
        let activation = self.activation(entry);
        self.functions[activation.function].called = true;
        self.activations = vec![activation];
        self.enter(entry, new);
    }

    /// Leaves the context, for ever if it has not saved its registers.
    fn park(&mut self, saved: Option<(usize, Label)>) {
        let activations = std::mem::take(&mut self.activations);
        let calls = std::mem::take(&mut self.calls);
        if saved.is_none() {
            // A limit: the later stacks of a context that will not continue are its own
            // all the same.
            for (_, _, area) in activations.iter().filter_map(|activation| activation.switched) {
                self.spoiled[area] = true;
            }
        }
        if let Some((saved, resume)) = saved {
            self.parked.push(Context { activations, calls, area: self.area, saved, resume });
        }
    }

    fn resume(&mut self, which: u8, how: u8, abandon: bool) {
        if self.parked.is_empty() {
            return;
        }
        let saved = (!abandon).then(|| self.suspend());
        let context = self.parked.swap_remove(usize::from(which) % self.parked.len());
        let place = Label::data(context.saved);
        self.emit(I::Address { to: R::T0, label: place });
        self.load_context(place, how);
        self.park(saved);
        self.activations = context.activations;
        self.calls = context.calls;
        self.area = context.area;
        self.arrive(context.resume);
        self.top().chunk = context.resume.chunk;
    }

    /// Returns from all functions that can, and ends the program.
    fn finish(&mut self) {
        while !self.calls.is_empty() {
            self.switch_back(0);
            self.return_(0);
        }
        for bytes in self.isa().exit {
            self.emit(I::Raw(bytes));
        }
    }
}
