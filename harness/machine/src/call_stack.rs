//! The true call stack that the witness keeps: the calls that have not returned.

use std::ops::Range;

use crate::answers::Event;
use crate::cpu::AuthenticationKey;

/// A call that has not returned, or a signal whose handler has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where the caller continues.
    pub return_address: u64,
    /// Canonical frame address of the callee: SP at the call, plus 160 on s390x.
    pub cfa: u64,
    /// The caller's SP at the call.
    pub caller_sp: u64,
    /// The caller's frame pointer register at the call.
    pub caller_fp: u64,
    /// First instruction of the callee.
    pub callee: u64,
    /// The number of instructions that had executed before the one that made
    /// the call: a [`Moment::time`](crate::Moment::time).
    pub since: u64,
    /// When it was followed: no other record of the run has the same.
    pub event: Event,
    /// Whether the caller did not call: a signal interrupted it before the instruction at
    /// `return_address`, and the callee is the signal's restorer, which will resume it there.
    pub interrupted: bool,
    /// How the callee has signed the return address, if it has.
    pub signature: Option<Signature>,
}

impl Record {
    /// Returns the return address as memory may hold it: plain, and signed if it was.
    pub fn return_addresses(&self) -> impl Iterator<Item = u64> {
        let signed = self.signature.map(|signature| signature.signed);
        std::iter::once(self.return_address).chain(signed)
    }

    /// Whether a value is the return address, plain or signed.
    #[must_use]
    pub fn is_return_address(&self, value: u64) -> bool {
        self.return_addresses().any(|address| address == value)
    }
}

/// A return address that pointer authentication has signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The key.
    pub key: AuthenticationKey,
    /// The address with its authentication code.
    pub signed: u64,
}

/// The bottom of the call stack, below the oldest record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottom {
    /// The function that the program started in. Nobody called it.
    Entry,
    /// A function that the dynamic linker has called: an initialiser, or a resolver of an
    /// indirect function.
    Linker,
    /// The first function of a context that the program has made itself, for instance a
    /// coroutine's. Nobody called it; its return address is what the program put there.
    Context,
}

/// How control left frames with the last instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// To the caller.
    Return,
    /// To another place of a frame further out, as `longjmp` and unwinding do.
    Landing {
        /// Where the frame's last call would have returned to, if it had made one.
        call: Option<u64>,
        /// The number of calls below another frame that control may have landed in: it has made a call from the same
        /// function, but SP is that of the innermost frame.
        or: Option<usize>,
    },
}

/// The calls that have not returned, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallStack {
    records: Vec<Record>,
    /// Those that have ended since the observer has seen it.
    ended: Vec<Record>,
    kept: usize,
    /// The number of records that are interrupted.
    interrupted: usize,
    pub(crate) context: u32,
    pub(crate) has_called: bool,
    pub(crate) has_arrived: bool,
    pub(crate) bottom: Bottom,
    beginning: Option<Record>,
    settled: bool,
    pub(crate) exit: Option<Exit>,
    pub(crate) linked: Option<u64>,
    pub(crate) skipped: Option<u64>,
    /// What it was before SP moved past frames that control has not left yet.
    departed: Option<Box<Self>>,
    /// When that was, and at which instruction.
    pub(crate) departed_at: Option<(Event, u64)>,
    pub(crate) restored: Option<(Event, u64)>,
}

impl CallStack {
    /// A call stack whose calls are known, oldest first.
    #[must_use]
    pub fn new(bottom: Bottom, records: Vec<Record>) -> Self {
        Self {
            interrupted: records.iter().filter(|call| call.interrupted).count(),
            records,
            ended: Vec::new(),
            kept: 0,
            context: 0,
            has_called: false,
            has_arrived: false,
            bottom,
            beginning: None,
            settled: true,
            exit: None,
            linked: None,
            skipped: None,
            departed: None,
            departed_at: None,
            restored: None,
        }
    }

    /// Notes that the callers of the topmost frame are known, and that control has left what it has departed from.
    /// Returns that.
    pub(crate) fn settle(&mut self) -> Option<Self> {
        self.settled = true;
        self.departed_at = None;
        self.departed.take().map(|departed| *departed)
    }

    /// Notes that the callers of the topmost frame are not known any more. `departed` is what they have been.
    pub(crate) fn unsettle(&mut self, departed: Self, at: (Event, u64)) {
        if std::mem::take(&mut self.settled) {
            self.depart(departed, at);
        }
    }

    /// Notes that SP is past frames that control has not left yet.
    pub(crate) fn depart(&mut self, from: Self, at: (Event, u64)) {
        if self.departed.is_none() {
            let Self { kept, bottom, beginning, records, context, .. } = from;
            self.departed = Some(Box::new(Self { kept, beginning, context, ..Self::new(bottom, records) }));
            self.departed_at = Some(at);
        }
    }

    /// Goes back to what SP had passed.
    pub(crate) fn restore(&mut self, departed: Self) {
        (self.records, self.interrupted) = (departed.records, departed.interrupted);
    }

    /// Returns it with the number of its context.
    pub(crate) fn in_context(self, context: u32) -> Self {
        Self { context, ..self }
    }

    pub(crate) fn push(&mut self, record: Record) {
        self.records.push(record);
        self.interrupted += usize::from(record.interrupted);
        self.has_called = true;
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        let ended = self.records.drain(len.min(self.records.len())..);
        self.ended.extend(ended.inspect(|call| self.interrupted -= usize::from(call.interrupted)));
        self.kept = self.kept.min(self.records.len());
    }

    pub(crate) fn pop(&mut self) {
        self.truncate(self.records.len().saturating_sub(1));
    }

    /// Removes the records from a position on.
    pub(crate) fn split_off(&mut self, at: usize) -> Vec<Record> {
        self.kept = self.kept.min(at);
        let removed = self.records.split_off(at);
        self.interrupted -= removed.iter().filter(|call| call.interrupted).count();
        removed
    }

    pub(crate) fn innermost_mut(&mut self) -> Option<&mut Record> {
        self.records.last_mut()
    }

    /// Notes that the observer has seen the call stack: [`Self::kept`] and what has happened start again.
    #[inline]
    pub(crate) fn seen(&mut self) {
        self.kept = self.records.len();
        (self.has_called, self.restored) = (false, None);
        if !self.ended.is_empty() {
            self.ended.clear();
        }
    }

    /// Notes that another call stack was current in between.
    pub(crate) const fn resumed(&mut self) {
        self.kept = 0;
    }

    /// Returns the calls, oldest first.
    #[inline]
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the number of frames: one for each call, and one at the bottom.
    #[inline]
    #[must_use]
    pub fn depth(&self) -> usize {
        self.records.len() + 1
    }

    /// Returns how many of the oldest calls have not changed at any moment since the previous
    /// one of this thread that was observed.
    #[inline]
    #[must_use]
    pub const fn kept(&self) -> usize {
        self.kept
    }

    /// Returns how the last instruction left frames, if it did: where SP only moves past
    /// frames, control has not left them yet.
    #[inline]
    #[must_use]
    pub const fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Whether it is that of a signal's handler.
    #[inline]
    #[must_use]
    pub const fn is_interrupted(&self) -> bool {
        self.interrupted > 0
    }

    /// Returns the calls that the last instruction has ended: it has returned from them, control or SP has left them.
    #[inline]
    #[must_use]
    pub fn ended(&self) -> &[Record] {
        &self.ended
    }

    /// Returns the number of the context: a thread has others if it switches between stacks. The contexts of a run
    /// have different ones.
    #[inline]
    #[must_use]
    pub const fn context(&self) -> u32 {
        self.context
    }

    /// Returns whether the last instruction has made the innermost call.
    #[inline]
    #[must_use]
    pub const fn has_called(&self) -> bool {
        self.has_called
    }

    /// Returns whether control has come by a return, or by another branch to an address that is computed.
    #[inline]
    #[must_use]
    pub const fn has_arrived(&self) -> bool {
        self.has_arrived
    }

    /// Returns the return address that the last instruction has left, if it is not taken for a call: it has led to the
    /// next instruction, as what fetches the PC does, or has left that address elsewhere than calls do. Control may
    /// return there all the same.
    #[inline]
    #[must_use]
    pub const fn linked(&self) -> Option<u64> {
        self.linked
    }

    /// Returns the return address of the last instruction, if that was a call that skips a speculation trap: what it has
    /// led to is about to remove or replace it, and is not taken for a callee.
    #[inline]
    #[must_use]
    pub const fn skipped(&self) -> Option<u64> {
        self.skipped
    }

    /// Returns the calls from the innermost frame outwards.
    pub fn innermost_first(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().rev()
    }

    /// The bottom of the call stack, below the oldest record.
    #[inline]
    #[must_use]
    pub const fn bottom(&self) -> Bottom {
        self.bottom
    }

    /// Returns how the first function of a context began, as if it had been called: its return address is what the
    /// program has put there for it, and nobody is there. `None` if the context began within a function, as
    /// the child of `clone` does, or if control has reached that address since.
    #[inline]
    #[must_use]
    pub const fn beginning(&self) -> Option<&Record> {
        self.beginning.as_ref()
    }

    /// Returns this call stack with a [`Self::beginning`].
    #[must_use]
    pub const fn begun_by(mut self, beginning: Record) -> Self {
        self.beginning = Some(beginning);
        self
    }

    /// Notes how the first function of a context begins.
    pub(crate) const fn begin(&mut self, beginning: Option<Record>) {
        self.beginning = beginning;
    }

    /// Returns whether the callers of the topmost frame are known.
    ///
    /// They are not known while SP points into fresh memory and the next call or indirect
    /// branch has yet to show what that means: the frame has moved there, or a new context is
    /// about to begin. They are not known either between the instruction that loads SP from a
    /// saved context, or moves it past frames and so ends them, and the branch into the frame
    /// that is left. Nor are they known in a retpoline within the calling function, whose call
    /// belongs to the function that it will jump to.
    #[inline]
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.settled
    }

    /// Returns the call stack that control has not left yet, although SP is past some of its frames, or on another
    /// stack: until the next call or indirect branch shows where it goes.
    #[must_use]
    pub fn departed(&self) -> Option<&Self> {
        self.departed.as_deref()
    }

    /// Returns the same if it is of the same context: frames of another one come back in their own way.
    pub(crate) fn departed_within(&self) -> Option<&Self> {
        self.departed().filter(|departed| departed.context == self.context)
    }

    /// Returns when SP moved past frames that control has not left yet, and the instruction after that.
    #[must_use]
    pub const fn departed_at(&self) -> Option<(Event, u64)> {
        self.departed_at
    }

    /// Returns when SP had moved past frames that have been taken for ended, and have not: it is below them again, or
    /// the innermost one has returned.
    #[must_use]
    pub const fn restored(&self) -> Option<(Event, u64)> {
        self.restored
    }

    /// Returns this call stack without the calls at some positions, from the oldest on.
    #[must_use]
    pub fn without(&self, positions: Range<usize>) -> Self {
        let is_left =
            |(position, record): (usize, &Record)| (!positions.contains(&position)).then_some(*record);
        let records = self.records.iter().enumerate().filter_map(is_left).collect();
        Self { beginning: self.beginning, context: self.context, ..Self::new(self.bottom, records) }
    }

    /// Puts a call in the place of another.
    pub(crate) fn replace(&mut self, position: usize, call: Record) {
        if let Some(record) = self.records.get_mut(position) {
            *record = call;
            self.kept = self.kept.min(position);
        }
    }

    /// Returns this call stack with one more call, the innermost one.
    #[must_use]
    pub fn entered(&self, call: Record) -> Self {
        self.with(self.records.len(), call)
    }

    /// Returns this call stack with one more call, at a position from the oldest on.
    #[must_use]
    pub fn with(&self, position: usize, call: Record) -> Self {
        let mut records = self.records.clone();
        records.insert(position.min(records.len()), call);
        Self { beginning: self.beginning, context: self.context, ..Self::new(self.bottom, records) }
    }
}
