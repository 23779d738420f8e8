//! Walks of a sample's stack, by each method, and where they stop.

use std::cell::Cell;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::{InstructionPointer, LookupAddress, Pc, ReturnAddress, StepError};
use sframe_judge::study::{Unwinders, WAYS};
use sframe_judge::target::{Loaded, Module, Target};
use sframe_judge::unwind::{Backtrace, End, Frame, Unwinder, Viewpoint};
use sframe_machine::Memory;

use crate::recording::{Process, Sample};

/// The names of the methods, in the order of their walks: SFrame first, then CFI.
#[must_use]
pub fn methods() -> [&'static str; 4] {
    WAYS.map(|(name, _)| name)
}

/// The positions of these two.
const SFRAME: usize = 0;
const CFI: usize = 1;

/// Deeper walks are cut here.
const DEPTH: usize = 4096;

/// How long a function without a name is taken to be in which the kernel starts a program, in bytes.
const ENTRY: u64 = 64;

/// How far beyond a copy of the stack there may still be stack, in bytes: the limit of most systems.
const STACK: u64 = 8 << 20;

/// Where a walk stops, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// At the outermost frame: the walk is complete.
    Outermost,
    /// What it needs lies beyond the copy of the stack.
    CopyTooShort,
    /// What it needs lies below SP, where a sample has nothing and a program may already have overwritten it.
    BelowSp,
    /// What it needs lies in memory that was not recorded.
    NotRecorded,
    /// It needs a register that was not recorded.
    NoRegister,
    /// The file has no section, or no call frame information.
    NoSection,
    /// No FDE covers the PC, which is in a table that the linker has made, such as the PLT.
    LinkageTable,
    /// No FDE covers the PC.
    NoFde,
    /// The FDE has no row for the PC.
    NoRow,
    /// The PC is in the code that the kernel offers to programs.
    Vdso,
    /// The PC is in a file that is not there.
    MissingFile,
    /// The PC is in no file: in code that the program has made, or nowhere.
    NoFile,
    /// A rule can't be applied, or the section is malformed.
    Rule,
    /// The chain of frame pointers ends, or leads to no record.
    ChainEnds,
    /// There are more frames than any real program has.
    TooDeep,
}

impl Stop {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Outermost => "at the outermost frame",
            Self::CopyTooShort => "the copy of the stack is too short",
            Self::BelowSp => "a value lies below SP",
            Self::NotRecorded => "memory that was not recorded",
            Self::NoRegister => "a register was not recorded",
            Self::NoSection => "the file has no section",
            Self::LinkageTable => "no FDE for a linkage table",
            Self::NoFde => "no FDE",
            Self::NoRow => "no row",
            Self::Vdso => "in the vDSO",
            Self::MissingFile => "the file is missing here",
            Self::NoFile => "in no file",
            Self::Rule => "a rule can't be applied",
            Self::ChainEnds => "the chain ends",
            Self::TooDeep => "too many frames",
        }
    }

    /// What can be done about it, if that is always the same.
    #[must_use]
    pub const fn advice(self) -> Option<&'static str> {
        Some(match self {
            Self::CopyTooShort => "perf record --call-graph dwarf,SIZE with a larger SIZE (at most 65528)",
            Self::NoSection => "build it with --gsframe, or --from either makes a section of its .eh_frame",
            Self::NoRegister => "perf record with all registers: without --user-regs",
            Self::LinkageTable => "for the linker",
            Self::MissingFile => "--root DIR is where the files of that machine are",
            _ => return None,
        })
    }
}

/// A walk.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The frames, the topmost first.
    pub frames: Vec<Frame>,
    /// Where it stops.
    pub stop: Stop,
    /// Of a copy of the stack that is too short: how many bytes it would need at least to go on.
    pub needs: Option<u64>,
}

impl Walk {
    /// Whether it leads to the outermost frame.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stop == Stop::Outermost
    }

    /// The PCs of the frames, the topmost first.
    pub fn pcs(&self) -> impl Iterator<Item = u64> {
        self.frames.iter().map(|frame| frame.pc)
    }

    /// The first frame whose CFA, or whose caller's PC or FP, is another one than in another walk. What one of them does not
    /// have is no difference.
    #[must_use]
    pub fn differs_from(&self, other: &Self) -> Option<usize> {
        let mut pairs = self.frames.iter().zip(&other.frames).enumerate();
        pairs.find_map(|(at, (one, other))| {
            let of_caller =
                one.pc != other.pc || one.fp.ok().zip(other.fp.ok()).is_some_and(|(one, other)| one != other);
            match at.checked_sub(1).filter(|_| of_caller) {
                Some(callee) => Some(callee),
                None => one.cfa.zip(other.cfa).is_some_and(|(one, other)| one != other).then_some(at),
            }
        })
    }

    /// Where the rules of a frame are looked up.
    #[must_use]
    pub fn address(&self, frame: usize) -> Option<u64> {
        self.frames.get(frame).map(address)
    }

    /// Where the last one's are.
    #[must_use]
    pub fn last_address(&self) -> Option<u64> {
        self.frames.last().map(address)
    }

    /// Whether the topmost frame's row has FP below SP. Readers that give up then lose all callers.
    #[must_use]
    pub fn has_popped_slot(&self, sp: u64) -> bool {
        matches!(self.frames.get(1), Some(Frame { fp: Err(unreadable), .. }) if is_below(unreadable.0, sp))
    }
}

fn address(frame: &Frame) -> u64 {
    frame.pc.wrapping_sub(u64::from(frame.interrupted == Some(false)))
}

/// Whether an address is just below SP: others are no part of the stack.
fn is_below(address: u64, sp: u64) -> bool {
    (1..=STACK).contains(&sp.wrapping_sub(address))
}

/// Memory that knows what could not be read last.
struct Watched<'s> {
    sample: &'s Sample,
    failed: Cell<Option<u64>>,
}

impl Memory for Watched<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        let is_there = self.sample.read(address, buffer);
        self.failed.set((!is_there).then_some(address));
        is_there
    }

    fn read_u64(&self, address: u64) -> Option<u64> {
        let value = self.sample.read_u64(address);
        self.failed.set(value.is_none().then_some(address));
        value
    }

    fn regions(&self) -> Vec<Range<u64>> {
        self.sample.regions()
    }
}

/// Walks the stacks of a process by all methods.
pub struct Walker<'t, 'a> {
    target: &'t Target<'a>,
    process: &'t Process,
    unwinders: [Box<dyn Unwinder + 't>; 4],
    backtrace: Backtrace,
}

impl<'t, 'a: 't> Walker<'t, 'a> {
    /// Makes one for a process with its files.
    #[must_use]
    pub fn new(target: &'t Target<'a>, process: &'t Process) -> Self {
        let Unwinders { sframe, cfi, frame_pointers, with_code } = Unwinders::of(target);
        let backtrace = Backtrace { limit: Some(DEPTH), ..Backtrace::default() };
        Self { target, process, unwinders: [sframe, cfi, frame_pointers, with_code], backtrace }
    }

    /// Walks the stack of a sample, in the order of [`methods`].
    pub fn walk(&mut self, sample: &Sample) -> [Walk; 4] {
        let cpu = self.target.executable().image.cpu;
        let register = |number: u32| {
            let found = sample.registers.iter().find(|(known, _)| *known == number);
            found.map(|(_, value)| *value)
        };
        let (sp, known_fp) = (register(cpu.abi.sp().0).unwrap_or_default(), register(cpu.abi.fp().0));
        let fp = known_fp.unwrap_or_default();
        [0, 1, 2, 3].map(|method| {
            let memory = Watched { sample, failed: Cell::new(None) };
            let (pc, address_bits) = (sample.pc, cpu.address_bits);
            let viewpoint = Viewpoint { pc, sp, fp, memory: &memory, registers: sample, address_bits };
            self.backtrace.unwind(&mut *self.unwinders[method], &viewpoint);
            self.backtrace.frames.truncate(DEPTH);
            self.leave_out_what_is_beyond();
            let (mut stop, mut needs) = self.stop(method, sample, sp, memory.failed.get());
            if known_fp.is_none() && (method > CFI || stop == Stop::Rule) {
                // Where a chain ends, FP is 0.
                self.backtrace.frames.truncate(if method > CFI { 1 } else { DEPTH });
                (stop, needs) = (Stop::NoRegister, None);
            }
            Walk { frames: std::mem::take(&mut self.backtrace.frames), stop, needs }
        })
    }

    /// Removes what a walk has found beyond the entry function, or beyond the end of a chain: that is no frame.
    fn leave_out_what_is_beyond(&mut self) {
        let frames = &self.backtrace.frames;
        let [.., inner, last] = &frames[..] else { return };
        let is_nowhere = |frame: &Frame| self.target.module_at(Loaded(address(frame))).is_none();
        if is_nowhere(last) && (last.pc == 0 || self.is_entry(address(inner))) {
            self.backtrace.frames.pop();
            self.backtrace.end = End::Outermost;
        }
    }

    /// Whether an address is in a function in which the kernel starts a program.
    fn is_entry(&self, address: u64) -> bool {
        let Some(module) = self.target.module_at(Loaded(address)) else { return false };
        match self.target.place(Loaded(address)) {
            place if place.function.is_some() => address.wrapping_sub(place.offset) == module.image.entry,
            _ => address.wrapping_sub(module.image.entry) < ENTRY,
        }
    }

    /// Why the walk has ended, and what it needs of the stack.
    fn stop(&self, method: usize, sample: &Sample, sp: u64, failed: Option<u64>) -> (Stop, Option<u64>) {
        let Some(last) = self.backtrace.frames.last() else { return (Stop::NoFile, None) };
        let pc = match last.interrupted {
            Some(false) => Pc::Return(ReturnAddress(last.pc)),
            _ => Pc::Instruction(InstructionPointer(last.pc)),
        };
        let address = LookupAddress::from(pc);
        let module = self.target.module_at(address);
        let at = |failed: Option<u64>, otherwise: Stop| match failed {
            Some(address) => of_memory(sample, sp, address),
            None => (otherwise, None),
        };
        match self.backtrace.end {
            End::Outermost => (Stop::Outermost, None),
            _ if module.is_none() => (self.without_file(address.get()), None),
            _ if module.is_some_and(|module| is_outermost(module, address)) => (Stop::Outermost, None),
            End::Failed(StepError::NoFde | StepError::NoRow) if self.is_entry(address.get()) => {
                (Stop::Outermost, None)
            }
            End::TooDeep => (Stop::TooDeep, None),
            End::Failed(StepError::Unreadable { address, .. }) => of_memory(sample, sp, address),
            End::Failed(error @ (StepError::NoFde | StepError::NoRow)) => {
                (self.without_rules(method, module, address, error), None)
            }
            End::Failed(_) => (Stop::Rule, None),
            End::Unspecified if method == CFI => at(failed, Stop::Rule),
            End::Unspecified => at(failed, Stop::ChainEnds),
        }
    }

    fn without_file(&self, address: u64) -> Stop {
        match self.process.mapping_at(address) {
            Some(mapping) if mapping.path == "[vdso]" => Stop::Vdso,
            Some(mapping) if mapping.is_of_file() => Stop::MissingFile,
            _ => Stop::NoFile,
        }
    }

    fn without_rules(
        &self,
        method: usize,
        module: Option<&Module<'_>>,
        address: LookupAddress,
        error: StepError,
    ) -> Stop {
        let Some(module) = module else { return Stop::NoFile };
        let has_none = match method {
            SFRAME => module.section.is_none(),
            _ => module.cfi().is_none_or(|cfi| cfi.fdes().is_empty()),
        };
        if has_none {
            Stop::NoSection
        } else if module.subject.linker_made(module.linked(address).0).is_some() {
            Stop::LinkageTable
        } else if error == StepError::NoRow {
            Stop::NoRow
        } else {
            Stop::NoFde
        }
    }

    /// An address in words: its file, function and offset.
    #[must_use]
    pub fn place(&self, address: u64) -> String {
        let place = self.target.place(Loaded(address));
        let offset = place.function.is_some().then(|| format!("+{:#x}", place.offset));
        self.function(address) + &offset.unwrap_or_default()
    }

    /// The function that has an address, with its file; if no symbol names it, the address.
    #[must_use]
    pub fn function(&self, address: u64) -> String {
        let place = self.target.place(Loaded(address));
        let mapping = self.process.mapping_at(address).map(|mapping| mapping.path.as_str());
        let file = place.image.or(mapping).unwrap_or("no file");
        let file = file.rsplit('/').next().unwrap_or(file);
        match place.function {
            Some(function) => format!("{file}: {function}"),
            None => format!("{file}: {:#x}", place.address),
        }
    }
}

/// Where a sample can't be read.
fn of_memory(sample: &Sample, sp: u64, address: u64) -> (Stop, Option<u64>) {
    if is_below(address, sp) {
        return (Stop::BelowSp, None);
    }
    let needs = address.wrapping_sub(sp).saturating_add(8);
    let is_copy = sample.memory.len() == 1;
    if is_copy && needs <= STACK { (Stop::CopyTooShort, Some(needs)) } else { (Stop::NotRecorded, None) }
}

/// Whether call frame information says that a function has no caller. Versions of SFrame before 3 have no way to say so, and
/// assemblers leave such functions out.
fn is_outermost(module: &Module<'_>, address: LookupAddress) -> bool {
    let Some(cfi) = module.cfi() else { return false };
    let address = module.linked(address).0;
    let row = cfi.row_at(address).ok().flatten();
    row.is_some_and(|row| !cfi.rules(&row, address).has_caller())
}
