use sframe_isa::Value;

use super::*;

#[test]
fn a_store_touches_all_words_that_it_overlaps() {
    assert_eq!(words(0x10, 8), 2..=2);
    assert_eq!(words(0x17, 1), 2..=2);
    assert_eq!(words(0x17, 2), 2..=3);
    assert_eq!(words(0x14, 8), 2..=3);
    assert_eq!(words(0x10, 0), 2..=2);
    assert_eq!(words(u64::MAX, 8), u64::MAX / 8..=u64::MAX / 8);
    assert_eq!(words(0, u64::MAX), 0..=u64::MAX / 8);
}

fn set(numbers: &[u32]) -> Registers {
    numbers.iter().copied().map(DwarfRegister).collect()
}

fn moment(stores: &mut LastStores, time: u64, pc: u64) {
    stores.instruction(time, pc, Rc::default(), Pointers::default());
}

#[test]
fn each_word_remembers_the_last_store_that_touched_it() {
    let mut stores = LastStores::default();
    stores.stored(0x100, 8);
    assert_eq!(stores.last(0x100), None);
    moment(&mut stores, 5, 0x10);
    stores.stored(0x106, 4);
    moment(&mut stores, 7, 0x14);
    stores.stored(0x108, 1);
    let store = |time, pc| Store { time, pc, foreign_since: NEVER, copy: None };
    assert_eq!(stores.last(0x100), Some(&store(5, 0x10)));
    assert_eq!(stores.last(0x10f), Some(&store(7, 0x14)));
    assert_eq!(stores.last(0x110), None);
    assert!(stores.since(0x100, 5) && !stores.since(0x100, 6) && stores.since(0x108, 6));
}

#[test]
fn registers_are_stale_until_they_are_written() {
    let mut stores = LastStores::default();
    let written = Rc::new(Written { registers: set(&[3, 17]), ..Written::default() });
    stores.instruction(3, 0x10, Rc::clone(&written), Pointers::default());
    assert_eq!(stores.unwritten(set(&[17]), 2), Some(DwarfRegister(17)));
    moment(&mut stores, 4, 0x14);
    assert_eq!(stores.unwritten(set(&[3, 17]), 2), None);
    assert_eq!(stores.unwritten(set(&[17]), 3), None);
    assert_eq!(stores.unwritten(set(&[17]), 4), Some(DwarfRegister(17)));
    assert_eq!(stores.unwritten(set(&[]), 4), None);
    stores.instruction(5, 0x18, written, Pointers::default());
    stores.interrupted();
    moment(&mut stores, 6, 0x20);
    assert_eq!(stores.unwritten(set(&[17]), 4), Some(DwarfRegister(17)));
}

#[test]
fn the_registers_of_a_new_thread_come_from_another() {
    let mut stores = LastStores::default();
    moment(&mut stores, 3, 0x10);
    assert_eq!(stores.unwritten(set(&[5]), 2), Some(DwarfRegister(5)));
    stores.go_to_thread(2, 4);
    moment(&mut stores, 4, 0x14);
    assert_eq!(stores.unwritten(set(&[5]), 2), None);
    stores.go_to_thread(0, 5);
    moment(&mut stores, 5, 0x18);
    assert_eq!(stores.unwritten(set(&[5]), 2), Some(DwarfRegister(5)));
}

/// The instructions of one function of amd64 that was called at a time, and the word at 0x100.
struct Function {
    stores: LastStores,
    time: u64,
    called: u64,
}

const RAX: u32 = 0;
const RBX: u32 = 3;
const RBP: u32 = 6;
const RSP: u32 = 7;

impl Function {
    fn called_at(time: u64) -> Self {
        let call = Record {
            return_address: 0x40_0d44,
            cfa: 0x1000,
            caller_sp: 0x1000,
            caller_fp: 0,
            callee: 0x40_0d00,
            since: time,
            event: 0,
            interrupted: false,
            signature: None,
        };
        let mut stores = LastStores::default();
        (stores.thread.call, stores.thread.calls) = (Some(call), 1);
        stores.thread.fp_since_at_calls.push(0);
        Self { stores, time, called: time }
    }

    fn execute(&mut self, instruction: &Instruction) {
        self.time += 1;
        let pointers = Pointers { sp: 0x100, fp: 0x200, other: Some(0x100) };
        let written = Rc::new(Written::of(Abi::Amd64, instruction));
        self.stores.instruction(self.time, 0x10 + self.time, written, pointers);
    }

    /// Writes registers with what follows from others.
    fn derive(&mut self, to: &[u32], from: &[u32]) -> &mut Self {
        self.execute(&Instruction { defs: set(to), sources: Some(set(from)), ..Instruction::default() });
        self
    }

    /// Writes registers with what is not known.
    fn load(&mut self, to: &[u32]) -> &mut Self {
        self.execute(&Instruction { defs: set(to), ..Instruction::default() });
        self
    }

    /// Stores bytes that follow from registers.
    fn store_at(&mut self, address: u64, len: u64, from: &[u32]) -> &mut Self {
        let values = from.iter().map(|number| Value::Register(DwarfRegister(*number))).collect();
        let operation = Operation::Store { values, place: None, size: 8 };
        self.execute(&Instruction { operation, sources: Some(set(from)), ..Instruction::default() });
        self.stores.stored(address, len);
        self
    }

    fn store(&mut self, from: &[u32]) -> &mut Self {
        self.store_at(0x100, 8, from)
    }

    /// Whether the word can't be the FP that the function has to keep.
    fn is_not_fp(&self) -> bool {
        self.stores.last(0x100).is_some_and(|last| last.is_not_fp(self.called))
    }

    /// Whether FP can't be it.
    fn has_overwritten_fp(&mut self) -> bool {
        self.load(&[]);
        self.stores.overwritten_fp(self.called).is_some()
    }
}

/// What the word at 0x100, and FP, are known to have come from FP as the function has to keep it.
fn knows_fp(function: &mut Function) -> (bool, bool) {
    let in_word = function.stores.last(0x100).is_some_and(|last| last.is_from_fp(function.called));
    function.load(&[]);
    (in_word, function.stores.has_fp(function.called))
}

/// Loads registers from consecutive words, the first of which is at SP plus 0, which is 0x100.
fn loads_from_frame(registers: &[u32]) -> Instruction {
    let values = registers.iter().map(|number| Value::Register(DwarfRegister(*number))).collect();
    let place = Some(Place { base: DwarfRegister(RSP), offset: 0, writeback: 0 });
    let operation = Operation::Load { values, place, size: 8 };
    Instruction { operation, defs: set(registers), ..Instruction::default() }
}

#[test]
fn fp_is_known_where_it_was_saved_and_restored() {
    let called = || Function::called_at(10);
    assert_eq!(knows_fp(called().store(&[RBP])), (true, true));
    assert_eq!(knows_fp(called().derive(&[RAX], &[RBP]).store(&[RAX])), (true, true));
    assert_eq!(knows_fp(called().load(&[RAX]).store(&[RAX])), (false, true));
    assert_eq!(knows_fp(called().store(&[RBP]).store_at(0x104, 4, &[])), (false, true));
    assert_eq!(knows_fp(called().derive(&[RBP], &[]).store(&[RBP])), (false, false));
    assert_eq!(knows_fp(called().store(&[RBP]).load(&[RBP])), (true, false));
    let restored = |through: &[&[u32]]| {
        let mut function = called();
        function.store(&[RBP]).derive(&[RBP], &[]);
        function.execute(&loads_from_frame(through[0]));
        through.windows(2).for_each(|step| {
            function.derive(step[1], step[0]);
        });
        knows_fp(&mut function)
    };
    assert_eq!(restored(&[&[RBP]]), (true, true));
    assert_eq!(restored(&[&[RAX], &[RBP]]), (true, true));
    // FP by way of another address, and another register, which is not followed.
    let by = |register| {
        let mut function = called();
        function.store(&[RBP]).derive(&[RBP], &[]);
        let place = Some(Place { base: DwarfRegister(RBX), offset: 0, writeback: 0 });
        let operation =
            Operation::Load { values: vec![Value::Register(DwarfRegister(register))], place, size: 8 };
        function.execute(&Instruction { operation, defs: set(&[register]), ..Instruction::default() });
        function.derive(&[RBP], &[register]);
        knows_fp(&mut function)
    };
    assert_eq!((by(RBP), by(RAX)), ((true, true), (true, false)));
    // The second of two words is another one.
    assert_eq!(restored(&[&[RAX, RBP]]), (true, false));
    // What the caller has saved is its own FP.
    let mut callee = called();
    callee.store(&[RBP]).derive(&[RBP], &[]);
    callee.called = 12;
    let call = callee.stores.thread.call.as_mut().expect("a call");
    call.since = 12;
    callee.execute(&loads_from_frame(&[RBP]));
    assert_eq!(knows_fp(&mut callee), (false, false));
}

#[test]
fn one_of_several_words_has_the_saved_fp() {
    let mut function = Function::called_at(10);
    let values = [RBX, RBP].map(|number| Value::Register(DwarfRegister(number))).to_vec();
    let operation = Operation::Store { values, place: None, size: 8 };
    let sources = Some(set(&[RBX, RBP]));
    function.execute(&Instruction { operation, sources, ..Instruction::default() });
    function.stores.stored(0x100, 8);
    function.stores.stored(0x108, 8);
    let has_fp = |address| function.stores.last(address).is_some_and(|last| last.is_from_fp(10));
    assert_eq!((has_fp(0x100), has_fp(0x108)), (false, true));
}

#[test]
fn an_unknown_instruction_that_leaves_fp_alone_has_not_written_it() {
    for (fp, is_known) in [(0x200, true), (0x208, false)] {
        let mut function = Function::called_at(10);
        let pointers = Pointers { sp: 0x100, fp: 0x200, other: Some(0x100) };
        let execute = Instruction { operation: Operation::Execute, ..Instruction::default() };
        let written = Rc::new(Written::of(Abi::S390x, &execute));
        function.stores.instruction(11, 0x20, written, pointers);
        function.stores.instruction(12, 0x26, Rc::default(), Pointers { fp, ..pointers });
        assert_eq!(function.stores.has_fp(10), is_known, "{fp:#x}");
    }
}

#[test]
fn values_from_constants_and_callers_registers_are_not_fp() {
    let called = || Function::called_at(10);
    assert!(called().store(&[]).is_not_fp());
    assert!(called().store(&[RBX]).is_not_fp());
    assert!(called().store(&[RSP]).is_not_fp());
    assert!(called().derive(&[RAX], &[RBX, RSP]).store(&[RAX]).is_not_fp());
    assert!(!called().store(&[RBP]).is_not_fp());
    assert!(!called().store(&[RBX, RBP]).is_not_fp());
    assert!(!called().derive(&[RAX], &[RBP]).store(&[RAX]).is_not_fp());
    assert!(!called().derive(&[RAX], &[RBP]).derive(&[RBX], &[RAX, RBX]).store(&[RBX]).is_not_fp());
    assert!(!called().load(&[RAX]).store(&[RAX]).is_not_fp());
    assert!(called().derive(&[RAX], &[RBP]).derive(&[RAX], &[]).store(&[RAX]).is_not_fp());
    // What a function has computed from FP before its next call is another register to that.
    let mut outer = called();
    outer.derive(&[RBX], &[RBP]);
    outer.called = 12;
    outer.time = 12;
    assert!(outer.store(&[RBX]).is_not_fp());
}

#[test]
fn fp_is_overwritten_until_it_may_have_been_restored() {
    let called = || Function::called_at(10);
    assert!(!called().has_overwritten_fp());
    for from in [&[][..], &[RBX], &[RSP]] {
        assert!(called().derive(&[RBP], from).has_overwritten_fp());
        assert!(called().derive(&[RBP], from).derive(&[RBP], &[RBP]).has_overwritten_fp());
    }
    assert!(!called().load(&[RBP]).has_overwritten_fp());
    assert!(!called().derive(&[RBP], &[]).load(&[RBP]).has_overwritten_fp());
    // From a copy, by way of a sum, and by an exchange.
    assert!(!called().derive(&[RAX], &[RBP]).derive(&[RBP], &[]).derive(&[RBP], &[RAX]).has_overwritten_fp());
    assert!(!called().load(&[RAX]).derive(&[RBP], &[]).derive(&[RBP], &[RBP, RAX]).has_overwritten_fp());
    assert!(!called().derive(&[RAX, RBP], &[RAX, RBP]).has_overwritten_fp());
    // A copy of what FP was overwritten with is no copy of FP.
    assert!(called().derive(&[RBP], &[]).derive(&[RAX], &[RBP]).store(&[RAX]).is_not_fp());
    assert!(called().derive(&[RBP], &[]).store(&[RBP]).is_not_fp());
}

#[test]
fn a_moved_address_and_a_pushing_sp_derive_from_themselves() {
    let push = |registers: &[u32]| Instruction {
        operation: Operation::Store { values: Vec::new(), place: None, size: 8 },
        defs: set(registers),
        sources: Some(set(&[RBP])),
        ..Instruction::default()
    };
    let mut function = Function::called_at(10);
    function.execute(&push(&[RSP]));
    assert!(function.store(&[RSP]).is_not_fp());
    function.execute(&push(&[RBP]));
    assert!(!function.has_overwritten_fp());
}

#[test]
fn leave_loads_fp_and_copies_it_to_sp() {
    let leave = Instruction { operation: Operation::Leave, defs: set(&[RBP, RSP]), ..Instruction::default() };
    let sp_is_foreign = |function: &mut Function| {
        function.execute(&leave);
        assert!(!function.has_overwritten_fp());
        function.store(&[RSP]).is_not_fp()
    };
    assert!(sp_is_foreign(Function::called_at(10).derive(&[RBP], &[RSP])));
    assert!(!sp_is_foreign(&mut Function::called_at(10)));
}

#[test]
fn an_unknown_instruction_may_have_stored_fp_and_so_may_the_kernel() {
    let mut function = Function::called_at(10);
    for unknown in [Instruction::default(), Instruction { is_system_call: true, ..Instruction::default() }] {
        function.execute(&unknown);
        function.stores.stored(0x100, 8);
        assert!(!function.is_not_fp());
    }
    // A signal's frame comes before the instruction.
    function.execute(&Instruction { sources: Some(set(&[RBX])), ..Instruction::default() });
    function.stores.interrupted();
    function.stores.stored(0x100, 8);
    assert!(!function.is_not_fp());
}

#[test]
fn registers_that_the_kernel_has_restored_are_unknown() {
    let mut function = Function::called_at(10);
    function.derive(&[RBX], &[]);
    let call = function.stores.thread.call.as_mut().expect("a call");
    call.interrupted = true;
    function.load(&[]);
    function.stores.left(1, 0, 0);
    assert!(!function.store(&[RBX]).is_not_fp());
}

#[test]
fn a_store_of_unknown_bounds_may_have_stored_fp() {
    let mut function = Function::called_at(10);
    function.store(&[RBX]);
    assert!(function.is_not_fp());
    function.store_at(0, u64::MAX, &[RBX]);
    assert!(!function.is_not_fp());
}

#[test]
fn a_store_to_a_part_of_a_word_leaves_the_rest() {
    let called = || Function::called_at(10);
    // Over what FP was saved in, or might have been.
    assert!(!called().store(&[RBP]).store_at(0x104, 4, &[]).is_not_fp());
    assert!(!called().store(&[RBP]).store_at(0x107, 1, &[]).is_not_fp());
    assert!(!called().store(&[RBP]).store_at(0xfc, 8, &[]).is_not_fp());
    assert!(!called().store(&[RBP]).store_at(0x104, 8, &[RBX]).is_not_fp());
    // A wide store, of two words, and one of all bytes but one.
    assert!(called().store(&[RBP]).store_at(0xf8, 16, &[]).is_not_fp());
    assert!(called().store(&[RBP]).store_at(0x100, 16, &[]).is_not_fp());
    assert!(!called().store(&[RBP]).store_at(0x101, 15, &[]).is_not_fp());
    // FP in halves, or at another alignment, with something else beside it.
    assert!(!called().store_at(0x100, 4, &[RBP]).store_at(0x104, 4, &[]).is_not_fp());
    assert!(!called().store_at(0x104, 8, &[RBP]).store_at(0xfc, 8, &[]).is_not_fp());
    // Both parts are something else, or were left by the caller.
    assert!(called().store(&[RBX]).store_at(0x104, 4, &[]).is_not_fp());
    assert!(called().store_at(0x100, 4, &[]).is_not_fp());
    let mut later = called();
    later.store(&[RBP]).store_at(0x100, 4, &[]);
    assert!(!later.is_not_fp());
    later.called = 12;
    assert!(later.is_not_fp());
    later.called = 11;
    assert!(!later.is_not_fp());
}

#[test]
fn a_store_without_bounds_counts_for_every_word() {
    let mut stores = LastStores::default();
    moment(&mut stores, 1, 0x10);
    stores.stored(0x100, 8);
    moment(&mut stores, 2, 0x14);
    stores.stored(0, u64::MAX);
    assert!(stores.since(0x100, 2) && stores.since(0x8000, 2) && !stores.since(0x8000, 3));
}
