//! When, and by which instruction, memory and registers were last written.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use sframe_engine::{Abi, DwarfRegister};
use sframe_isa::{Instruction, Operation, Place, Registers, Value};
use sframe_machine::{CallStack, Moment, Record};

use crate::target::{Loaded, Module};

/// The store that gave a word its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// The [`Moment::time`](sframe_machine::Moment::time) of the instruction.
    pub(crate) time: u64,
    /// Its address.
    pub pc: u64,
    /// See [`is_not_fp`](Self::is_not_fp); [`NEVER`] if that is not certain of any.
    foreign_since: u64,
    /// Of which FP it has stored a copy, if that is known.
    copy: Option<Copied>,
}

/// After all times. There is a store for each word of the stack: an `Option` would need more memory.
const NEVER: u64 = u64::MAX;

/// A value that was FP: of the calls of a time, FP as they had to keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Copied {
    /// Since when FP had had it.
    since: u64,
    /// When it was taken from FP.
    until: u64,
}

impl Copied {
    /// Whether it is the FP that a call made at a time has to keep.
    const fn is_fp(self, time: u64) -> bool {
        self.since <= time && time <= self.until
    }
}

impl Store {
    /// Whether the word can't hold the FP that a call made at a time has to keep: what was
    /// stored follows from constants and from other registers as that call found them.
    pub(crate) fn is_not_fp(&self, time: u64) -> bool {
        self.foreign_since <= time
    }

    /// Whether what was stored is known to have come from the FP that a call made at a time has to keep.
    pub(crate) fn is_from_fp(&self, time: u64) -> bool {
        self.copy.is_some_and(|copy| copy.is_fp(time))
    }

    /// Returns the store that a word has after it was one to a part of it. The rest of the word
    /// is what it was before, and that was left by the callers of calls since.
    fn beside(self, before: Option<Self>) -> Self {
        let Some(before) = before else { return self };
        let stale_since = before.time.saturating_add(1);
        let rest = before.foreign_since.min(stale_since);
        Self { foreign_since: self.foreign_since.max(rest), copy: None, ..self }
    }
}

/// What a register has become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Become {
    /// What follows from the sources of the instruction.
    Derived,
    /// Something unknown, which may have been loaded.
    Unknown,
}

/// The effect of an instruction on registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Those that it writes.
    registers: Registers,
    /// Those of them, without FP, whose values follow from the sources, or are unknown if
    /// these are. The others follow from themselves.
    values: Registers,
    /// What FP becomes, if it writes FP.
    fp: Option<Become>,
    /// From which other registers than FP all follows that it writes and stores; `None` if
    /// that is unknown.
    sources: Option<Registers>,
    /// Whether FP is another source.
    from_fp: bool,
    /// Which of the words that it stores has FP, if there are several: the others have not.
    fp_at: Option<u64>,
    /// What it loads from the frame.
    loads: Option<Loads>,
}

/// Registers that are loaded from consecutive words: from the frame, by SP or FP, or FP from anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Loads {
    base: LoadBase,
    /// Where the first word is, from there.
    offset: i64,
    /// The register that each word is loaded into, from the lowest address up; `None` for SP, which never becomes
    /// FP, and for what is no register.
    registers: Vec<Option<DwarfRegister>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadBase {
    Sp,
    Fp,
    Other(DwarfRegister),
}

impl Loads {
    fn of(abi: Abi, instruction: &Instruction) -> Option<Self> {
        let (from, values) = match &instruction.operation {
            Operation::Load { values, place: Some(place), size: 8 } => (*place, &values[..]),
            Operation::Leave => {
                let place = Place { base: abi.fp(), offset: 0, writeback: 0 };
                (place, &[Value::Register(abi.fp())][..])
            }
            _ => return None,
        };
        let register = |value: &Value| match value {
            Value::Register(register) => Some(*register).filter(|register| *register != abi.sp()),
            _ => None,
        };
        let registers: Vec<_> = values.iter().map(register).collect();
        let base = match from.base {
            base if base == abi.sp() => LoadBase::Sp,
            base if base == abi.fp() => LoadBase::Fp,
            base => LoadBase::Other(base),
        };
        let has_fp = registers.contains(&Some(abi.fp()));
        (has_fp || !matches!(base, LoadBase::Other(_))).then_some(Self {
            base,
            offset: from.offset,
            registers,
        })
    }
}

/// What SP and FP hold before an instruction, and the register by which it loads FP, if that is another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pointers {
    sp: u64,
    fp: u64,
    other: Option<u64>,
}

impl Pointers {
    /// Those before an instruction that does not load FP by another register.
    pub(crate) const fn of(sp: u64, fp: u64) -> Self {
        Self { sp, fp, other: None }
    }

    /// Those before an instruction with some effect.
    #[inline]
    pub(crate) fn at(moment: &Moment<'_>, written: &Written) -> Self {
        let other = match written.loads {
            Some(Loads { base: LoadBase::Other(register), .. }) => moment.register(register.0),
            _ => None,
        };
        Self { sp: moment.sp, fp: moment.fp, other }
    }
}

impl Written {
    /// The effect of an unknown instruction.
    const ANYTHING: Self = Self {
        registers: Registers::ALL,
        values: Registers::ALL,
        fp: Some(Become::Unknown),
        sources: None,
        from_fp: false,
        fp_at: None,
        loads: None,
    };

    /// The effect of the instruction at an address, or of any if it is unknown.
    pub(crate) fn at(module: Option<&Module<'_>>, address: u64) -> Self {
        let known =
            module.and_then(|module| Some((module.subject.abi()?, module.instruction(Loaded(address))?)));
        known.map_or(Self::ANYTHING, |(abi, instruction)| Self::of(abi, &instruction))
    }

    fn of(abi: Abi, instruction: &Instruction) -> Self {
        if instruction.operation == Operation::Execute {
            return Self::ANYTHING;
        }
        let (fp, sp) = (abi.fp(), abi.sp());
        let (registers, mut sources) = (instruction.defs, instruction.sources);
        let mut values = match instruction.operation {
            // An address that it moves on.
            Operation::Store { .. } => Registers::default(),
            _ => registers,
        };
        values.remove(fp);
        let mut becomes = registers.contains(fp).then_some(match sources {
            Some(_) => Become::Derived,
            None => Become::Unknown,
        });
        match instruction.operation {
            Operation::Store { .. } => becomes = None,
            // SP is FP plus a constant, and FP is loaded.
            Operation::Leave => {
                (sources, becomes) = (Some([fp].into_iter().collect()), Some(Become::Unknown));
            }
            // What is not computed is an address of a stack, and not a saved register.
            _ if sources.is_none() => values.remove(sp),
            _ => {}
        }
        let from_fp = sources.is_some_and(|sources| sources.contains(fp));
        if let Some(sources) = &mut sources {
            sources.remove(fp);
        }
        let fp_at = match &instruction.operation {
            Operation::Store { values, size: 8, .. } if values.len() > 1 => {
                values.iter().position(|value| *value == Value::Register(fp)).map(|index| index as u64)
            }
            _ => None,
        };
        let loads = Loads::of(abi, instruction);
        Self { registers, values, fp: becomes, sources, from_fp, fp_at, loads }
    }
}

/// Stores of more bytes than this are not recorded word by word.
const LARGEST: u64 = 1 << 16;

/// The 8-byte words that contain some bytes, as address / 8.
pub fn words(address: u64, len: u64) -> RangeInclusive<u64> {
    let last = address.saturating_add(len.saturating_sub(1));
    address / 8..=last / 8
}

/// The number of words of a page.
const PAGE: usize = 512;

/// The last store to each word, by address / 8, in pages.
#[derive(Clone, Debug, Default)]
struct Words {
    /// Positions of pages, by word / 512.
    pages: FxHashMap<u64, usize>,
    stores: Vec<Box<[Option<Store>]>>,
    /// The last page: its key and position.
    last: Cell<Option<(u64, usize)>>,
    /// The last store with unknown bounds.
    anywhere: Option<Store>,
}

impl Words {
    fn split(word: u64) -> (u64, usize) {
        (word / PAGE as u64, usize::try_from(word % PAGE as u64).unwrap_or(0))
    }

    fn known(&self, page: u64) -> Option<usize> {
        match self.last.get() {
            Some((last, position)) if last == page => Some(position),
            _ => {
                let position = *self.pages.get(&page)?;
                self.last.set(Some((page, position)));
                Some(position)
            }
        }
    }

    /// The last store to a word.
    fn get(&self, word: u64) -> Option<&Store> {
        let (page, offset) = Self::split(word);
        let known = self.known(page).and_then(|position| self.stores[position][offset].as_ref());
        match &self.anywhere {
            None => known,
            Some(anywhere) => known.filter(|known| known.time > anywhere.time).or(Some(anywhere)),
        }
    }

    /// The last store to a word that had known bounds.
    fn get_mut(&mut self, word: u64) -> &mut Option<Store> {
        let (page, offset) = Self::split(word);
        let position = self.known(page).unwrap_or_else(|| self.make(page));
        &mut self.stores[position][offset]
    }

    /// Adds a page without stores. Returns its position.
    #[cold]
    fn make(&mut self, page: u64) -> usize {
        let position = self.stores.len();
        // Not by way of an array, which would be copied.
        self.stores.push(vec![None; PAGE].into_boxed_slice());
        self.pages.insert(page, position);
        position
    }
}

/// The last store to each 8-byte word.
#[derive(Clone, Debug, Default)]
pub struct LastStores {
    /// The executing instruction: its time and address.
    now: Option<(u64, u64)>,
    /// Its effect on registers.
    written: Rc<Written>,
    /// SP and FP before it.
    pointers: Pointers,
    /// The first word that it has stored to, by address / 8.
    first_stored: Option<u64>,
    words: Words,
    /// The copies of FP in frames of callers that callees have overwritten, by address / 8.
    overwritten: FxHashMap<u64, Copied>,
    thread: Thread,
    /// The number of the thread, and the state of the others.
    number: u32,
    others: FxHashMap<u32, Thread>,
}

/// What is known of the registers of a thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    registers: LastWrites,
    /// Since when FP has had the value that calls since then have to keep.
    fp_since: u64,
    /// The same at each call that has not ended, the oldest first.
    fp_since_at_calls: Vec<u64>,
    /// Where FP was overwritten and not restored since: the last time in each call, the
    /// oldest first.
    overwritten: Vec<Overwritten>,
    /// The innermost call before the instruction, and how many there were.
    call: Option<Record>,
    calls: usize,
}

impl Thread {
    /// One of whose registers nothing is known but that they were written at a time.
    fn new(time: u64) -> Self {
        let registers = LastWrites { times: [time; 64], foreign_since: [time; 64], ..LastWrites::default() };
        Self { registers, fp_since: time, ..Self::default() }
    }

    /// When the innermost call was made.
    fn since(&self) -> u64 {
        self.call.map_or(0, |call| call.since)
    }

    /// Returns where the innermost call has overwritten FP.
    fn overwritten(&self) -> Option<&Overwritten> {
        self.overwritten.last().filter(|last| last.time > self.since())
    }

    /// Of which FP what follows from the sources of an instruction at a time is a copy, if that is known. What was
    /// computed from it in the meantime, and is equal to it again, is one.
    #[inline]
    fn copy(&self, written: &Written, time: u64) -> Option<Copied> {
        let sources = written.sources?;
        if written.from_fp {
            return Some(Copied { since: self.fp_since, until: time });
        }
        self.registers.copies.first(sources)
    }

    /// Since when what follows from an instruction's sources is not the FP that calls have to keep; `None` if it may be
    /// the FP that the innermost one has to keep, or if it is unknown.
    #[inline]
    fn foreign_since(&self, written: &Written) -> Option<u64> {
        let sources = written.sources?;
        let fp = if written.from_fp { self.overwritten()?.foreign_since } else { 0 };
        let since = |register: DwarfRegister| self.registers.foreign_since[register.0 as usize];
        Some(sources.iter().map(since).fold(fp, u64::max))
    }

    /// Records what an instruction has done to registers. `fp_now` is FP after it, if that is known.
    #[inline(always)]
    fn executed(
        &mut self,
        (time, pc): (u64, u64),
        written: &Written,
        fp_now: Option<u64>,
        pointers: Pointers,
        words: &Words,
    ) {
        let Written { registers, values, fp, .. } = *written;
        if fp.is_some() || !values.is_empty() {
            let (foreign_since, copy) = (self.foreign_since(written), self.copy(written, time));
            if let Some(becomes) = fp {
                let is_kept = registers == Registers::ALL && fp_now == Some(pointers.fp);
                if !is_kept {
                    let copy = copy.filter(|copy| copy.is_fp(self.since()));
                    self.fp_since = copy.map_or(time, |copy| copy.since);
                }
                self.overwrites_fp(time, pc, foreign_since.filter(|_| becomes == Become::Derived));
            }
            for register in values.iter() {
                self.registers.foreign_since[register.0 as usize] = foreign_since.unwrap_or(time);
            }
            self.registers.copies.set(values, copy);
            if let Some(loads) = &written.loads {
                self.loaded(loads, values, time, pointers, words);
            }
        }
        for register in registers.iter() {
            self.registers.times[register.0 as usize] = time;
        }
    }

    /// Records that an instruction has written FP. `foreign_since` says since when what it has written is not the FP
    /// that calls have to keep, if that is known.
    fn overwrites_fp(&mut self, time: u64, pc: u64, foreign_since: Option<u64>) {
        let call = self.since();
        self.forget_overwritten(call);
        if let Some(foreign_since) = foreign_since.filter(|since| *since <= call) {
            self.overwritten.push(Overwritten { time, pc, foreign_since });
        }
    }

    fn forget_overwritten(&mut self, since: u64) {
        while self.overwritten.pop_if(|last| last.time > since).is_some() {}
    }

    /// Records of which FP the registers that were loaded from the frame are copies.
    fn loaded(&mut self, loads: &Loads, values: Registers, time: u64, pointers: Pointers, words: &Words) {
        let Loads { base, offset, registers } = loads;
        let base = match base {
            LoadBase::Sp => Some(pointers.sp),
            LoadBase::Fp => Some(pointers.fp),
            LoadBase::Other(_) => pointers.other,
        };
        let Some(first) = base.map(|base| base.wrapping_add_signed(*offset)) else { return };
        for (index, register) in (0..).zip(registers) {
            let Some(register) = *register else { continue };
            let copy = words.get(first.wrapping_add(8 * index) / 8).and_then(|last| last.copy);
            if values.contains(register) {
                self.registers.copies.set(std::iter::once(register).collect(), copy);
            } else if let Some(copy) = copy.filter(|copy| copy.is_fp(self.since())) {
                // It is FP, of which nothing was known.
                self.fp_since = copy.since.min(time);
            }
        }
    }
}

/// FP was overwritten with what is not the FP that the function has to keep.
#[derive(Clone, Copy, Debug)]
struct Overwritten {
    time: u64,
    pc: u64,
    /// As of a register: see [`LastWrites`].
    foreign_since: u64,
}

/// What is known of registers, by their DWARF numbers.
#[derive(Clone, Debug)]
struct LastWrites {
    /// When they were written; 0 for never, since nothing was called before.
    times: [u64; 64],
    /// Since when their values are not the FP that calls have to keep: to a call, another
    /// register than FP is foreign as it finds it.
    foreign_since: [u64; 64],
    copies: Copies,
}

impl Default for LastWrites {
    fn default() -> Self {
        Self { times: [0; 64], foreign_since: [0; 64], copies: Copies::default() }
    }
}

/// Of which FP registers are known to have come from.
#[derive(Clone, Debug)]
struct Copies {
    /// Those of which that is known.
    known: Registers,
    of: [Copied; 64],
}

impl Default for Copies {
    fn default() -> Self {
        Self { known: Registers::default(), of: [Copied { since: 0, until: 0 }; 64] }
    }
}

impl Copies {
    /// Returns what the first of these registers that is a copy of FP has come from.
    fn first(&self, among: Registers) -> Option<Copied> {
        let register = among.and(self.known).iter().next()?;
        Some(self.of[register.0 as usize])
    }

    /// Notes of which FP registers have come from, if that is known.
    fn set(&mut self, registers: Registers, copy: Option<Copied>) {
        self.known = self.known.without(registers);
        if let Some(copy) = copy {
            self.known = self.known.or(registers);
            registers.iter().for_each(|register| self.of[register.0 as usize] = copy);
        }
    }
}

impl LastStores {
    /// Notes that the previous instruction has executed; from now on, stores
    /// are by this one.
    #[inline]
    pub(crate) fn instruction(&mut self, time: u64, pc: u64, written: Rc<Written>, pointers: Pointers) {
        self.executed(Some(pointers.fp));
        self.now = Some((time, pc));
        (self.written, self.pointers, self.first_stored) = (written, pointers, None);
    }

    /// Notes that several instructions have begun, the first of them at a time, and all except the last have executed. SP and FP were the
    /// same before each.
    pub(crate) fn passed(&mut self, time: u64, pcs: &[u64], written: &[Rc<Written>], pointers: Pointers) {
        let (Some((pc, pcs)), Some((last, written))) = (pcs.split_last(), written.split_last()) else {
            return;
        };
        self.executed(Some(pointers.fp));
        self.pointers = pointers;
        for ((time, pc), written) in (time..).zip(pcs).zip(written) {
            self.thread.executed((time, *pc), written, Some(pointers.fp), pointers, &self.words);
        }
        self.now = Some((time + pcs.len() as u64, *pc));
        (self.written, self.first_stored) = (Rc::clone(last), None);
    }

    /// Notes that another thread goes on, at a time. All registers of a new one have just been
    /// written: it is not known with what.
    pub(crate) fn go_to_thread(&mut self, number: u32, time: u64) {
        self.executed(None);
        self.now = None;
        let thread = self.others.remove(&number).unwrap_or_else(|| Thread::new(time));
        self.others.insert(self.number, std::mem::replace(&mut self.thread, thread));
        self.number = number;
    }

    /// Notes that the instruction has not executed: a signal comes before it.
    pub(crate) fn interrupted(&mut self) {
        self.written = Rc::default();
    }

    /// Returns a store by the executing instruction; `None` before the first one.
    fn store(&self) -> Option<Store> {
        let (time, pc) = self.now?;
        let foreign_since = self.thread.foreign_since(&self.written).unwrap_or(NEVER);
        Some(Store { time, pc, foreign_since, copy: self.thread.copy(&self.written, time) })
    }

    /// Records what the instruction has done to registers. `fp_now` is FP after it, if that is known.
    #[inline(always)]
    fn executed(&mut self, fp_now: Option<u64>) {
        if let Some(now) = self.now {
            self.thread.executed(now, &self.written, fp_now, self.pointers, &self.words);
        }
    }

    /// Whether FP is known to be the one that a call made at a time has to keep: it has not been written since, or
    /// restored from where it was saved.
    pub(crate) fn has_fp(&self, time: u64) -> bool {
        self.thread.fp_since <= time
    }

    /// Follows calls and returns. If a call has overwritten FP, it has restored
    /// it when it returns.
    #[inline]
    pub(crate) fn follow(&mut self, call_stack: &CallStack, pc: u64, fp: u64) {
        let calls = self.thread.calls;
        if (call_stack.kept(), call_stack.records().len()) != (calls, calls) {
            self.follow_calls(call_stack, pc, fp);
        }
    }

    fn follow_calls(&mut self, call_stack: &CallStack, pc: u64, fp: u64) {
        let records = call_stack.records();
        if call_stack.kept() < self.thread.calls {
            self.left(self.thread.calls - call_stack.kept(), pc, fp);
        }
        let fp_since = self.thread.fp_since;
        self.thread.fp_since_at_calls.resize(records.len(), fp_since);
        (self.thread.call, self.thread.calls) = (records.last().copied(), records.len());
    }

    /// Notes that calls, of which there is at least one, have ended.
    fn left(&mut self, calls: usize, pc: u64, fp: u64) {
        let returned = |call: &Record| calls == 1 && call.return_address == pc && call.caller_fp == fp;
        let fp_since = self.thread.fp_since_at_calls.pop();
        self.thread.fp_since_at_calls.truncate(self.thread.calls - calls);
        match self.thread.call.filter(returned) {
            Some(call) => {
                self.thread.forget_overwritten(call.since);
                self.thread.fp_since = fp_since.unwrap_or(0);
            }
            // Anything may have been restored.
            None => {
                self.thread.overwritten.clear();
                self.thread.fp_since = 0;
            }
        }
        if let (Some((time, _)), Some(Record { interrupted: true, .. })) = (self.now, self.thread.call) {
            // The kernel has restored all registers.
            self.thread.registers.foreign_since = [time; 64];
            self.thread.registers.copies = Copies::default();
        }
    }

    /// Returns one of these registers that has not been written since a time, by the instruction of then or later.
    pub(crate) fn unwritten(&self, registers: Registers, time: u64) -> Option<DwarfRegister> {
        registers.iter().find(|register| !self.has_written(*register, time))
    }

    /// Whether a register has been written since a time: by a call that leaves its return address there, or after it.
    pub(crate) fn has_written(&self, register: DwarfRegister, time: u64) -> bool {
        self.thread.registers.times.get(register.0 as usize).is_some_and(|last| *last >= time)
    }

    /// Returns the instruction that has overwritten FP after a time, unless FP
    /// has been loaded again since.
    pub(crate) fn overwritten_fp(&self, time: u64) -> Option<u64> {
        self.thread.overwritten.last().filter(|last| last.time > time).map(|last| last.pc)
    }

    pub(crate) fn stored(&mut self, address: u64, len: u64) {
        // Contents from before the first instruction have no store.
        let Some(now) = self.store() else { return };
        if len > LARGEST {
            // It is not known what it has stored in a word, nor whether.
            self.words.anywhere = Some(Store { foreign_since: NEVER, copy: None, ..now });
            return;
        }
        let end = address.saturating_add(len);
        let first = *self.first_stored.get_or_insert(address / 8);
        let is_callers = self.thread.call.is_some_and(|call| address >= call.cfa);
        for word in words(address, len) {
            let last = self.words.get_mut(word);
            if is_callers && let Some(copy) = last.and_then(|last| last.copy) {
                self.overwritten.insert(word, copy);
            } else if !is_callers && !self.overwritten.is_empty() {
                // Whoever has the frame now has put something else there.
                self.overwritten.remove(&word);
            }
            let is_whole = address <= word * 8 && end.saturating_sub(word * 8) >= 8;
            let has_fp = self.written.fp_at.is_none_or(|at| word.checked_sub(first) == Some(at));
            let now = Store { copy: now.copy.filter(|_| has_fp), ..now };
            *last = Some(if is_whole { now } else { now.beside(*last) });
        }
    }

    /// The last store to the word at an address.
    pub fn last(&self, address: u64) -> Option<&Store> {
        self.words.get(address / 8)
    }

    /// Returns the same, unless it may have stored elsewhere as well as there.
    pub(crate) fn last_certain(&self, address: u64) -> Option<&Store> {
        let is_anywhere =
            |store: &Store| self.words.anywhere.as_ref().is_some_and(|it| std::ptr::eq(it, store));
        self.last(address).filter(|store| !is_anywhere(store))
    }

    /// Whether the word at an address was the FP that a call made at a time has to keep, until a callee of it has stored
    /// something else there.
    pub(crate) fn is_overwritten_by_callee(&self, address: u64, time: u64) -> bool {
        let is_from_fp = self.last(address).is_some_and(|last| last.is_from_fp(time));
        let was = self.overwritten.get(&(address / 8));
        !is_from_fp && was.is_some_and(|was| was.is_fp(time))
    }

    /// Whether the word at an address has been stored to at or after a time.
    pub(crate) fn since(&self, address: u64, time: u64) -> bool {
        self.last(address).is_some_and(|store| store.time >= time)
    }
}

#[cfg(test)]
mod tests;
