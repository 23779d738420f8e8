//! This project's engine as an unwinder in a separate process: an example that
//! speaks the protocol, and the test of the protocol.

use clap::{Parser, ValueEnum};
use sframe_engine::{
    Abi, DwarfRegister, Frame as State, InstructionPointer, PauthKey, PauthMask, Pc, ReturnAddress, Section,
    Step, StepError,
};
use sframe_judge::target::sections::Sections;
use sframe_judge::unwind::{self, FramePointerUnwinder, Mistake};
use sframe_protocol::{
    Address, Backtrace, End, EndKind, Fp, Frame, Hello, Image, MAX_FRAMES, Mangled, Memory, Open,
    SectionAnswer, SectionPart, SectionQuestion, Stop, Unmapped, Unwinder, serve,
};

#[derive(Default)]
struct Engine {
    /// What is there. The last one that covers an address counts.
    images: Vec<Loaded>,
    follow: Follow,
    address_bits: u32,
    mistake: Option<Mistake>,
    claim: Claim,
    /// How many walks have ended early.
    early: u64,
    frame_pointers: bool,
    abi: Option<Abi>,
}

/// The addresses of an image, and its section with the section's load address.
struct Loaded {
    range: std::ops::Range<u64>,
    section: Option<(Vec<u8>, u64)>,
}

/// What it says of its walks.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Claim {
    /// What is true: only a walk that ends at a mark is reliable.
    #[default]
    Marks,
    /// That every walk is reliable.
    Always,
    /// Of every third walk that ends early, that it has ended at a mark.
    HiddenEnds,
    /// That there is a caller beyond the mark.
    PastMarks,
    /// Nothing, as unwinders do that have no such notion.
    Nothing,
}

/// What it follows of images and sections that come and go.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Follow {
    /// All of it.
    #[default]
    All,
    /// What goes, so that it lacks what has come.
    Gone,
    /// What comes, so that it keeps what has gone.
    Come,
    /// Nothing, and says so.
    Nothing,
}

/// Walks stacks with the engine of this project, for `--unwinder`.
#[derive(Parser)]
#[command(name = "sframe-engine-unwinder", version = sframe_inspect::version())]
struct Arguments {
    /// Make a usual mistake of unwinders in each walk, to see how it is found. Questions about sections, as `vectors` has them,
    /// are not answered then.
    #[arg(long)]
    mistake: Option<Mistake>,
    /// What to say of the reliability of walks, to see how a false word is found.
    #[arg(long, value_enum, default_value_t)]
    claim: Claim,
    /// What to follow of images and sections that come and go, to see how stale and missing ones are found.
    #[arg(long, value_enum, default_value_t)]
    follow: Follow,
    /// Follow frame pointers (amd64, aarch64) or the backchain (s390x) instead, without any table.
    #[arg(long, conflicts_with_all = ["mistake", "claim", "follow"])]
    frame_pointers: bool,
}

fn main() -> std::io::Result<()> {
    let Arguments { mistake, claim, follow, frame_pointers } = Arguments::parse();
    serve(Engine { mistake, claim, follow, frame_pointers, ..Engine::default() })
}

impl Unwinder for Engine {
    fn hello(&self) -> Hello {
        if self.frame_pointers {
            // They need to know nothing of what comes and goes.
            let follows = true;
            return Hello { follows, ..Hello::new("frame-pointers", env!("CARGO_PKG_VERSION"), "none") };
        }
        let all = vec![SectionPart::Header, SectionPart::Fdes, SectionPart::Lookups, SectionPart::Steps];
        Hello {
            // The mistakes are those of walks: without them, it would seem that they are not noticed.
            section: if self.mistake.is_some() { Vec::new() } else { all },
            reliable: self.claim != Claim::Nothing,
            follows: self.follow != Follow::Nothing,
            ..Hello::new("sframe-engine", env!("CARGO_PKG_VERSION"), "sframe")
        }
    }

    fn open(&mut self, open: &Open) -> Result<(), String> {
        self.images.clear();
        self.address_bits = open.address_bits;
        self.abi = Some(open.abi);
        open.images.iter().try_for_each(|image| self.add(image))
    }

    fn map(&mut self, image: &Image) -> Result<(), String> {
        if self.follow == Follow::Gone { Ok(()) } else { self.add(image) }
    }

    fn unmap(&mut self, gone: Unmapped) -> Result<(), String> {
        let last = self.images.iter().rposition(|image| image.range == (gone.start.0..gone.end.0));
        if let Some(last) = last.filter(|_| self.follow != Follow::Come) {
            self.images.remove(last);
        }
        Ok(())
    }

    fn unwind(&mut self, stop: &Stop, memory: &mut Memory<'_>) -> Backtrace {
        let register = |number: DwarfRegister| stop.registers.get(&number.0).map(|value| value.0);
        let memory = std::cell::RefCell::new(memory);
        let read = |address: u64| memory.borrow_mut().read_u64(address);
        let pauth = PauthMask::for_address_bits(self.address_bits);
        let Some(abi) = self.abi else {
            return Backtrace::new(Vec::new(), End::of(EndKind::Failed));
        };
        let [sp, fp] = [abi.sp(), abi.fp()].map(|number| register(number).unwrap_or_default());
        if self.frame_pointers {
            let mut backtrace = unwind::Backtrace::default();
            FramePointerUnwinder::of(abi, self.address_bits).walk(stop.pc.0, [sp, fp], &read, &mut backtrace);
            return answer_of(&backtrace);
        }
        let mut state = State::topmost(InstructionPointer(stop.pc.0), sp, fp);
        let mut fp = Ok(fp);
        let mut topmost = Some(&register);
        let mut frames = Vec::new();
        let end = loop {
            let step = self.step(&state, topmost.take(), &read, pauth);
            frames.push(frame_of(&state, fp, &step));
            let caller = match step {
                Ok(Step::Caller(caller)) if frames.len() < MAX_FRAMES => caller,
                Ok(Step::Caller(_)) => break End::of(EndKind::TooDeep),
                Ok(Step::Outermost) => break End::of(EndKind::Outermost),
                Err(error) => break end_of(&error),
            };
            let pc = match caller.ra {
                Ok(ra) if caller.interrupted => Pc::Instruction(InstructionPointer(ra)),
                Ok(ra) => Pc::Return(ReturnAddress(ra)),
                Err(error) => break end_of(&error),
            };
            // A frame pointer that can't be read does not end the walk.
            fp = caller.fp;
            state = State { pc, sp: caller.sp, fp: fp.unwrap_or_default(), same_sp: caller.same_sp };
        };
        self.claiming(frames, end)
    }

    fn section(&mut self, question: &SectionQuestion) -> Result<SectionAnswer, String> {
        Ok(sframe_vectors::engine::answer(question))
    }
}

impl Engine {
    fn add(&mut self, image: &Image) -> Result<(), String> {
        let bytes = image.read_sframe().map_err(|error| error.to_string())?;
        let section = bytes.zip(image.sframe).map(|(bytes, section)| (bytes, section.address.0));
        self.images.push(Loaded { range: image.start.0..image.end.0, section });
        Ok(())
    }

    /// Returns a walk with what is said of it. A mark is what the section says of the end of the stack; every other end is
    /// a way to fail.
    fn claiming(&mut self, mut frames: Vec<Frame>, mut end: End) -> Backtrace {
        let is_whole = end.kind == EndKind::Outermost;
        self.early += u64::from(!is_whole);
        let reliable = match self.claim {
            Claim::Nothing => None,
            Claim::Marks => Some(is_whole),
            Claim::Always => Some(true),
            Claim::HiddenEnds if !is_whole && self.early.is_multiple_of(3) => {
                end = End::of(EndKind::Outermost);
                Some(true)
            }
            Claim::HiddenEnds => Some(is_whole),
            Claim::PastMarks => {
                let last = frames.last().copied().filter(|_| is_whole);
                frames.extend(last);
                Some(is_whole)
            }
        };
        Backtrace { frames, end, reliable }
    }

    fn step(
        &self,
        state: &State,
        registers: Option<&impl Fn(DwarfRegister) -> Option<u64>>,
        memory: &impl Fn(u64) -> Option<u64>,
        pauth: PauthMask,
    ) -> Result<Step, StepError> {
        let mut sections = Vec::new();
        let pc = state.pc.get();
        let is_near =
            |range: &std::ops::Range<u64>| [pc, pc.wrapping_sub(1)].iter().any(|at| range.contains(at));
        // The first one that covers an address is found: the last one that has come.
        for Loaded { range, section } in self.images.iter().rev().filter(|image| is_near(&image.range)) {
            if let Some((bytes, loaded)) = section {
                sections.push((range.clone(), Section::parse(bytes, *loaded)?));
            }
        }
        let sections = Sections::new(sections);
        let mistaken = self.mistake.and_then(|mistake| mistake.rules(&sections, state.pc));
        let (abi, found) = mistaken.unwrap_or_else(|| sections.rules(state.pc))?;
        found.apply(abi, state, registers, memory, pauth)
    }
}

fn frame_of(state: &State, fp: Result<u64, StepError>, step: &Result<Step, StepError>) -> Frame {
    let (cfa, mangled) = match step {
        Ok(Step::Caller(caller)) => (Some(caller.cfa), caller.mangled),
        Err(StepError::NoProgress { cfa, .. } | StepError::MisalignedCfa { cfa }) => (Some(*cfa), None),
        _ => (None, None),
    };
    let fp = match fp {
        Ok(fp) => Fp::Value(Address(fp)),
        Err(StepError::Unreadable { address, .. }) => Fp::Unreadable { unreadable: Address(address) },
        Err(_) => Fp::Unreadable { unreadable: Address(0) },
    };
    let key = |key| match key {
        PauthKey::A => sframe_vectors::PauthKey::A,
        PauthKey::B => sframe_vectors::PauthKey::B,
    };
    Frame {
        pc: Address(state.pc.get()),
        cfa: cfa.map(Address),
        fp: Some(fp),
        mangled: mangled.map(|found| Mangled { value: Address(found.value), key: key(found.key) }),
        interrupted: Some(matches!(state.pc, Pc::Instruction(_))),
    }
}

/// Returns a walk along frame pointers as an answer. What they do not have is left out.
fn answer_of(backtrace: &unwind::Backtrace) -> Backtrace {
    let frame = |frame: &unwind::Frame| Frame {
        pc: Address(frame.pc),
        cfa: frame.cfa.map(Address),
        fp: frame.fp.ok().map(|fp| Fp::Value(Address(fp))),
        mangled: None,
        interrupted: None,
    };
    let end = End::of(match backtrace.end {
        unwind::End::Outermost => EndKind::Outermost,
        unwind::End::TooDeep => EndKind::TooDeep,
        _ => EndKind::Failed,
    });
    Backtrace::new(backtrace.frames.iter().map(frame).collect(), end)
}

fn end_of(error: &StepError) -> End {
    let what = |tracked: sframe_engine::Tracked| {
        Some(match tracked {
            sframe_engine::Tracked::Cfa => sframe_vectors::Tracked::Cfa,
            sframe_engine::Tracked::Ra => sframe_vectors::Tracked::Ra,
            sframe_engine::Tracked::Fp => sframe_vectors::Tracked::Fp,
        })
    };
    let kind = match error {
        StepError::NoFde => EndKind::NoFde,
        StepError::NoRow => EndKind::NoRow,
        StepError::Malformed(_) => EndKind::Malformed,
        StepError::Unreadable { tracked, address } => {
            let address = Some(Address(*address));
            return End { what: what(*tracked), address, ..End::of(EndKind::Unreadable) };
        }
        StepError::UnsafeRegister { .. } => EndKind::UnsafeRegister,
        StepError::UnknownRegister { .. } => EndKind::UnknownRegister,
        StepError::RaNotSaved => EndKind::RaNotSaved,
        StepError::MisalignedCfa { .. } => EndKind::Misaligned,
        StepError::NoProgress { .. } => EndKind::NoProgress,
        _ => EndKind::Failed,
    };
    End::with_message(kind, error.to_string())
}
