//! The document.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::{Abi, ByteOrder, Error, PauthKey, PauthMask, Section};
use sframe_machine::{AuthenticationKey, CallStack, Record, Signature};
use sframe_protocol::{Address, Hex, Mangled, Stack, Stop};
use sframe_vectors::PcKind;
use sframe_vectors::words::of_json;

use crate::compare::{Truth, WalkEnd};
use crate::target::sections::Sections;

/// The version of the document.
pub const SCHEMA: u32 = 1;

/// Moments of programs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stacks {
    /// The version of this document: [`SCHEMA`].
    pub schema: u32,
    /// The licence of this document.
    pub licence: String,
    /// The bench that has made it.
    pub bench: String,
    /// The number that equal choices were made by.
    pub seed: u64,
    /// The programs.
    pub programs: Vec<Program>,
}

/// A program, and moments of its run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The case, or the file.
    pub name: String,
    /// Its ABI.
    pub abi: Abi,
    /// The byte order of its data.
    pub endian: ByteOrder,
    /// The number of bits of a virtual address. On aarch64, the bits above may hold an authentication
    /// code.
    pub address_bits: u32,
    /// The executable and its libraries.
    pub images: Vec<Image>,
    /// The moments, in the order of the run.
    pub moments: Vec<Moment>,
}

/// A loaded file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Its name.
    pub name: String,
    /// The first address.
    pub start: Address,
    /// The first address past its end.
    pub end: Address,
    /// What is added to the addresses in the file.
    pub bias: Address,
    /// Its section `.sframe`, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sframe: Option<SectionData>,
}

/// A section.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SectionData {
    /// Where it is loaded.
    pub address: Address,
    /// Its bytes.
    pub bytes: Hex,
}

/// The state before an instruction executes, and the frames that there are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// What it shows that no moment before it does.
    pub covers: Vec<String>,
    /// The registers that are known, by DWARF number. SP and FP are among them.
    pub registers: BTreeMap<u32, Address>,
    /// Memory: what a walk needs, and some that it does not. Nothing else can be read.
    pub memory: Vec<Memory>,
    /// The frames, the topmost first.
    pub frames: Vec<Frame>,
    /// How a walk of the section ends.
    pub end: End,
    /// Where the call stack begins.
    pub bottom: Bottom,
}

/// A piece of memory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Its address.
    pub address: Address,
    /// The bytes there.
    pub bytes: Hex,
}

/// A frame of the call stack.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Where it executes or will continue.
    pub pc: Address,
    /// Whether the PC executes next, or is a return address.
    pub kind: PcKind,
    /// The stack pointer.
    pub sp: Address,
    /// The frame pointer register.
    pub fp: Address,
    /// Its CFA; left out in the outermost frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cfa: Option<Address>,
    /// The first instruction of its function; left out in the outermost frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<Address>,
    /// How it has signed its return address, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Mangled>,
}

/// How a walk of the section ends that makes no mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum End {
    /// The last frame is marked as outermost.
    Outermost {},
    /// The last frame is the entry function, which is not marked.
    Unmarked {},
    /// The last frame is the first function of a context that the program has made.
    Context {},
    /// At a frame without an FDE.
    NoFde {
        /// The frame, from 0.
        frame: usize,
    },
    /// At a frame whose rules need a register that is not known there.
    InRegister {
        /// The frame, from 0.
        frame: usize,
    },
    /// At a frame that goes on on a stack at lower addresses.
    NoProgress {
        /// The frame, from 0.
        frame: usize,
    },
}

impl End {
    pub(super) const fn of(end: WalkEnd) -> Option<Self> {
        Some(match end {
            WalkEnd::Outermost => Self::Outermost {},
            WalkEnd::Unmarked { .. } => Self::Unmarked {},
            WalkEnd::Context { .. } => Self::Context {},
            WalkEnd::NoFde { frame } => Self::NoFde { frame },
            WalkEnd::InRegister { frame } => Self::InRegister { frame },
            WalkEnd::NoProgress { frame } => Self::NoProgress { frame },
            WalkEnd::Unsettled | WalkEnd::Departing | WalkEnd::Disagreed => return None,
        })
    }

    /// How the comparison names this end.
    #[must_use]
    pub const fn walk_end(self) -> WalkEnd {
        match self {
            Self::Outermost {} => WalkEnd::Outermost,
            Self::Unmarked {} => WalkEnd::Unmarked { goes_beyond: false },
            Self::Context {} => WalkEnd::Context { goes_beyond: false },
            Self::NoFde { frame } => WalkEnd::NoFde { frame },
            Self::InRegister { frame } => WalkEnd::InRegister { frame },
            Self::NoProgress { frame } => WalkEnd::NoProgress { frame },
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outermost {} => "outermost",
            Self::Unmarked {} => "unmarked",
            Self::Context {} => "context",
            Self::NoFde { .. } => "no-fde",
            Self::InRegister { .. } => "in-register",
            Self::NoProgress { .. } => "no-progress",
        }
    }
}

/// Where a call stack begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bottom {
    /// In the function that the program starts in.
    Entry,
    /// In a function that the dynamic linker has called.
    Linker,
    /// In the first function of a context that the program has made.
    Context,
}

impl From<sframe_machine::Bottom> for Bottom {
    fn from(bottom: sframe_machine::Bottom) -> Self {
        match bottom {
            sframe_machine::Bottom::Entry => Self::Entry,
            sframe_machine::Bottom::Linker => Self::Linker,
            sframe_machine::Bottom::Context => Self::Context,
        }
    }
}

impl From<Bottom> for sframe_machine::Bottom {
    fn from(bottom: Bottom) -> Self {
        match bottom {
            Bottom::Entry => Self::Entry,
            Bottom::Linker => Self::Linker,
            Bottom::Context => Self::Context,
        }
    }
}

/// Why a document can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StacksError {
    /// It has nothing.
    #[error("the file is empty: it is not a document of `export stacks`")]
    Empty,
    /// It ends too early.
    #[error("the file is cut off: it ends in the middle of the document, after line {} column {}", .0.line(), .0.column())]
    CutOff(serde_json::Error),
    /// It is no such document.
    #[error("it is not a document of `export stacks`: {}", of_json(.0))]
    Json(serde_json::Error),
    /// Its version is another.
    #[error("its schema is {0}, and this bench reads {SCHEMA}")]
    Schema(u32),
    /// A section can't be opened.
    #[error("{program}: the section of {image} can't be opened: {error}")]
    Section {
        /// The program.
        program: String,
        /// The image.
        image: String,
        /// Why not.
        error: Error,
    },
    /// Images overlap.
    #[error("{0}: images overlap, or end before they start")]
    Images(String),
    /// Addresses can't have so many bits.
    #[error("{0}: `address_bits` is {1}, and an address has 1 to 64 bits")]
    AddressBits(String, u32),
    /// A moment has no frame, or lacks a register that every walk needs.
    #[error("{program}: moment {moment}: {what}")]
    Moment {
        /// The program.
        program: String,
        /// Its position, from 0.
        moment: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl Stacks {
    /// Reads a document, and checks it.
    ///
    /// # Errors
    /// It is not one, or says what can't be.
    pub fn read(bytes: &[u8]) -> Result<Self, StacksError> {
        let stacks: Self = serde_json::from_slice(bytes).map_err(|error| match error.is_eof() {
            true if bytes.trim_ascii().is_empty() => StacksError::Empty,
            true => StacksError::CutOff(error),
            false => StacksError::Json(error),
        })?;
        if stacks.schema != SCHEMA {
            return Err(StacksError::Schema(stacks.schema));
        }
        for program in &stacks.programs {
            program.sections()?;
            if !(1..=64).contains(&program.address_bits) {
                return Err(StacksError::AddressBits(program.name.clone(), program.address_bits));
            }
            for (index, moment) in program.moments.iter().enumerate() {
                let wrong = |what| StacksError::Moment { program: program.name.clone(), moment: index, what };
                moment.check(program.abi).map_err(wrong)?;
            }
        }
        Ok(stacks)
    }

    /// The number of moments.
    #[must_use]
    pub fn moments(&self) -> u64 {
        self.programs.iter().map(|program| program.moments.len() as u64).sum()
    }
}

impl Program {
    /// Its sections, opened.
    ///
    /// # Errors
    /// One is malformed, or images overlap.
    pub fn sections(&self) -> Result<Sections<'_>, StacksError> {
        let mut ranges: Vec<_> = self.images.iter().map(|image| (image.start.0, image.end.0)).collect();
        ranges.sort_unstable();
        let is_wrong = ranges.iter().any(|(start, end)| start > end)
            || ranges.windows(2).any(|pair| pair[0].1 > pair[1].0);
        if is_wrong {
            return Err(StacksError::Images(self.name.clone()));
        }
        let mut sections = Vec::new();
        for image in &self.images {
            let Some(sframe) = &image.sframe else { continue };
            let section = Section::parse(&sframe.bytes.0, sframe.address.0).map_err(|error| {
                StacksError::Section { program: self.name.clone(), image: image.name.clone(), error }
            })?;
            sections.push((image.start.0..image.end.0, section));
        }
        Ok(Sections::new(sections))
    }

    /// The bits that pointer authentication uses.
    pub(super) fn pauth(&self) -> PauthMask {
        PauthMask::for_address_bits(self.address_bits)
    }

    /// Returns memory of a moment, or of the sections.
    #[must_use]
    pub fn read(&self, moment: &Moment, address: u64, size: u32) -> Option<Vec<u8>> {
        let sections = self.images.iter().filter_map(|image| image.sframe.as_ref());
        let sections = sections.map(|section| (section.address.0, &section.bytes.0));
        let memory = moment.memory.iter().map(|memory| (memory.address.0, &memory.bytes.0));
        let part = |(start, bytes): (u64, &Vec<u8>)| {
            let from = usize::try_from(address.checked_sub(start)?).ok()?;
            let part = bytes.get(from..from.checked_add(usize::try_from(size).ok()?)?)?;
            Some(part.to_vec())
        };
        memory.chain(sections).find_map(part)
    }

    /// Returns 8 bytes of memory as a number.
    pub(super) fn read_u64(&self, moment: &Moment, address: u64) -> Option<u64> {
        let bytes: [u8; 8] = self.read(moment, address, 8)?.try_into().ok()?;
        Some(match self.endian {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }
}

impl Moment {
    fn check(&self, abi: Abi) -> Result<(), &'static str> {
        let (last, others) = self.frames.split_last().ok_or("it has no frame")?;
        if others.iter().any(|frame| frame.cfa.is_none()) || last.cfa.is_some() {
            return Err("all frames but the last one have a CFA");
        }
        if ![abi.sp(), abi.fp()].iter().all(|register| self.registers.contains_key(&register.0)) {
            return Err("SP or FP is missing");
        }
        Ok(())
    }

    /// The topmost frame's PC.
    #[must_use]
    pub fn pc(&self) -> u64 {
        self.frames.first().map_or(0, |frame| frame.pc.0)
    }

    /// The question to an unwinder.
    #[must_use]
    pub fn stop(&self) -> Stop {
        let sp = self.frames.first().map_or(0, |frame| frame.sp.0);
        let has_sp = |memory: &&Memory| {
            sp.checked_sub(memory.address.0).is_some_and(|offset| offset < memory.bytes.0.len() as u64)
        };
        let stack = self.memory.iter().find(has_sp).map_or_else(
            || Stack { address: Address(sp), bytes: Hex::default() },
            |memory| Stack { address: memory.address, bytes: memory.bytes.clone() },
        );
        Stop { pc: Address(self.pc()), registers: self.registers.clone(), stack }
    }

    /// The calls that have not returned.
    #[must_use]
    pub fn call_stack(&self) -> CallStack {
        let call = |pair: &[Frame]| {
            let (frame, caller) = (&pair[0], &pair[1]);
            Record {
                return_address: caller.pc.0,
                cfa: frame.cfa.unwrap_or_default().0,
                caller_sp: caller.sp.0,
                caller_fp: caller.fp.0,
                callee: frame.function.unwrap_or_default().0,
                since: 0,
                event: 0,
                interrupted: caller.kind == PcKind::Instruction,
                signature: frame.signed.map(|signed| Signature {
                    key: match signed.key {
                        sframe_vectors::PauthKey::A => AuthenticationKey::A,
                        sframe_vectors::PauthKey::B => AuthenticationKey::B,
                    },
                    signed: signed.value.0,
                }),
            }
        };
        CallStack::new(self.bottom.into(), self.frames.windows(2).rev().map(call).collect())
    }

    /// The true state, for the comparison.
    #[must_use]
    pub fn truth<'m>(&self, call_stack: &'m CallStack) -> Truth<'m> {
        let (sp, fp) = self.frames.first().map_or((0, 0), |frame| (frame.sp.0, frame.fp.0));
        Truth {
            pc: self.pc(),
            sp,
            fp,
            red_zone: 0,
            call_stack,
            stores: None,
            viewpoint: None,
            ignores_fp: false,
        }
    }

    /// The frames of a true state.
    pub(super) fn frames_of(truth: &Truth<'_>) -> Vec<Frame> {
        let frame = |index: usize| {
            let state = truth.state(index);
            let call = truth.call_of(index);
            let signed = call.and_then(|call| call.signature).map(|signature| Mangled {
                value: Address(signature.signed),
                key: match signature.key {
                    AuthenticationKey::A => sframe_vectors::PauthKey::A,
                    AuthenticationKey::B => sframe_vectors::PauthKey::B,
                },
            });
            Frame {
                pc: Address(state.pc.get()),
                kind: match state.pc {
                    sframe_engine::Pc::Instruction(_) => PcKind::Instruction,
                    sframe_engine::Pc::Return(_) => PcKind::Return,
                },
                sp: Address(state.sp),
                fp: Address(state.fp.unwrap_or_default()),
                cfa: call.map(|call| Address(call.cfa)),
                function: call.map(|call| Address(call.callee)),
                signed,
            }
        };
        (0..truth.call_stack.depth()).map(frame).collect()
    }
}

/// The letter of a key.
pub(super) const fn key_name(key: PauthKey) -> &'static str {
    match key {
        PauthKey::A => "key A",
        PauthKey::B => "key B",
    }
}
