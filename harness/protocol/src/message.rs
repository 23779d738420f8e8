//! The messages. Each is one line: a JSON object.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Seek as _};
use std::path::PathBuf;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use sframe_vectors::{
    Abi, Address, ByteOrder, Hex, PauthKey, SectionAnswer, SectionPart, SectionQuestion, Tracked,
};

/// The version of the protocol that this crate speaks.
pub const VERSION: u32 = 1;
/// A line of an unwinder may have so many bytes.
pub const MAX_LINE: usize = 32 << 20;
/// A backtrace may have so many frames.
pub const MAX_FRAMES: usize = 1 << 17;
/// So many bytes may be read at once.
pub const MAX_READ: u32 = 1 << 16;

/// From the bench to the unwinder: `id`, and one of the others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Request {
    /// To be repeated in each answer.
    pub id: u64,
    /// Who is there? The first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hello: Option<RequestHello>,
    /// The program that the stops are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Open>,
    /// Stops at which stacks are to be walked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwind: Option<Vec<Stop>>,
    /// Questions about a section that stands alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<SectionQuestion>,
}

/// Who asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequestHello {
    /// [`VERSION`].
    pub protocol: u32,
    /// Name and version of the bench.
    pub bench: String,
}

/// The images of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Open {
    /// `amd64`, `aarch64`, `aarch64_be` or `s390x`.
    pub abi: Abi,
    /// The byte order of data.
    pub endian: ByteOrder,
    /// The number of bits of a virtual address. On aarch64 an authentication
    /// code may be in those above.
    pub address_bits: u32,
    /// The executable, and its libraries.
    pub images: Vec<Image>,
}

/// A loaded file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Image {
    /// What people call it: the file's path as it was named, or the library's name.
    pub name: String,
    /// The file, or a copy of it. It is there until the process ends.
    pub path: PathBuf,
    /// The first address.
    pub start: Address,
    /// The first address behind it.
    pub end: Address,
    /// What is added to the addresses that the file says.
    pub bias: Address,
    /// Its section `.sframe`, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sframe: Option<Range>,
}

impl Image {
    /// The bytes of its section.
    ///
    /// # Errors
    /// The file can't be read, or ends before the section does.
    pub fn read_sframe(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(section) = self.sframe else { return Ok(None) };
        let mut file = std::fs::File::open(&self.path)?;
        file.seek(io::SeekFrom::Start(section.offset))?;
        let mut bytes = Vec::new();
        file.take(section.size).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == section.size {
            Ok(Some(bytes))
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

/// A section.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Range {
    /// Where it is loaded.
    pub address: Address,
    /// Where it lies in the file.
    pub offset: u64,
    /// Its length in bytes.
    pub size: u64,
}

/// A moment of the program, before the instruction at `pc` executes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stop {
    /// The address of the instruction.
    pub pc: Address,
    /// Registers by DWARF number. SP and FP are among them.
    pub registers: BTreeMap<u32, Address>,
    /// What is on the stack, from a bit below SP on.
    pub stack: Stack,
}

/// A piece of memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Stack {
    /// Its address.
    pub address: Address,
    /// The bytes there.
    pub bytes: Hex,
}

/// From the bench, within an exchange: what was to be read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The bytes, or null where they can't be read.
    pub memory: Option<Hex>,
}

/// From the unwinder to the bench: the `id` of the request, and what belongs
/// to it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// That of the request.
    pub id: u64,
    /// To `hello`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hello: Option<Hello>,
    /// To `open`, or to `section`: why the unwinder can't do this. Left out
    /// where it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<String>,
    /// To `unwind`: the stop that is answered, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<usize>,
    /// To `unwind`: the frames, the topmost first.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "frames")]
    pub frames: Option<Vec<Frame>>,
    /// To `unwind`: why there are no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// To `unwind`, before the answer: memory that is needed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Read>,
    /// To `section`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<SectionAnswer>,
}

/// Who is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The version of the protocol that it speaks.
    pub protocol: u32,
    /// The unwinder's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it walks stacks with: `sframe`, `eh_frame`, or a word of its own.
    pub data: String,
    /// The parts of `section` that it answers. None: it knows no such request.
    #[serde(default)]
    pub section: Vec<SectionPart>,
}

impl Hello {
    /// An unwinder that walks stacks and knows nothing of `section`.
    #[must_use]
    pub fn new(name: &str, version: &str, data: &str) -> Self {
        let [name, version, data] = [name, version, data].map(str::to_owned);
        Self { protocol: VERSION, name, version, data, section: Vec::new() }
    }
}

/// Memory that the unwinder needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The stop in whose moment it is read.
    pub stop: usize,
    /// The address.
    pub address: Address,
    /// How many bytes, at most [`MAX_READ`].
    pub size: u32,
}

/// A walk.
#[derive(Clone, Debug)]
pub struct Backtrace {
    /// The frames, the topmost first.
    pub frames: Vec<Frame>,
    /// Why there are no more.
    pub end: End,
}

/// A frame of a backtrace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Where it executes or will go on.
    pub pc: Address,
    /// Its CFA. Left out where the walk ends before it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cfa: Option<Address>,
    /// The frame pointer register in this frame. Left out where the unwinder
    /// doesn't follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp: Option<Fp>,
    /// What the section says of the signature of its return address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mangled: Option<Mangled>,
    /// Whether a signal has interrupted it, so that it is the caller of a
    /// signal frame. Left out where the unwinder doesn't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<bool>,
}

/// A frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fp {
    /// Its value.
    Value(Address),
    /// It was to be read from an address, and could not.
    Unreadable {
        /// The address.
        unreadable: Address,
    },
}

/// A return address with an authentication code (AArch64).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mangled {
    /// As it was found, with its code.
    pub value: Address,
    /// The key that the section names.
    pub key: PauthKey,
}

/// Why a walk ends. The fields beside `kind` are for messages, but for `what`
/// of [`EndKind::Unreadable`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Which reason.
    pub kind: EndKind,
    /// The value that could not be recovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<Tracked>,
    /// The address that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// The register that was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub register: Option<u32>,
    /// The CFA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cfa: Option<Address>,
    /// What the unwinder says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl End {
    /// An end without further words.
    #[must_use]
    pub const fn of(kind: EndKind) -> Self {
        Self { kind, what: None, address: None, register: None, cfa: None, message: None }
    }

    /// An end, and what the unwinder says of it.
    #[must_use]
    pub fn with_message(kind: EndKind, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::of(kind) }
    }
}

/// The reasons why a walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndKind {
    /// The last frame is marked as outermost.
    Outermost,
    /// Nothing describes the last frame's function.
    NoFde,
    /// There is an FDE, and no row for the PC.
    NoRow,
    /// What is read is malformed.
    Malformed,
    /// Memory can't be read.
    Unreadable,
    /// A rule needs a register that is known in the topmost frame only.
    UnsafeRegister,
    /// A rule needs a register of the topmost frame that is not known.
    UnknownRegister,
    /// RA is still in its register, and the frame is not the topmost.
    RaNotSaved,
    /// The CFA is no multiple of 8.
    Misaligned,
    /// The CFA does not lie towards the base of the stack.
    NoProgress,
    /// There are more frames than [`MAX_FRAMES`], or than the unwinder wants.
    TooDeep,
    /// Another reason, or the unwinder doesn't know.
    Failed,
}

/// Frames, as long as they are not too many: memory for them is bounded.
fn frames<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Frame>>, D::Error> {
    struct Bounded;
    impl<'de> Visitor<'de> for Bounded {
        type Value = Vec<Frame>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "a list of frames")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut frames = Vec::new();
            while let Some(frame) = list.next_element()? {
                if frames.len() == MAX_FRAMES {
                    return Err(A::Error::custom(format!("more than {MAX_FRAMES} frames")));
                }
                frames.push(frame);
            }
            Ok(frames)
        }
    }
    deserializer.deserialize_seq(Bounded).map(Some)
}
