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
/// The maximum length of a line from an unwinder, in bytes.
pub const MAX_LINE: usize = 32 << 20;
/// The maximum number of frames of a backtrace.
pub const MAX_FRAMES: usize = 1 << 17;
/// The maximum number of bytes to read at once.
pub const MAX_READ: u32 = 1 << 16;

/// From the bench to the unwinder: `id`, and one of the other fields.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(extend("anyOf" = [
        { "required": ["hello"] }, { "required": ["open"] }, { "required": ["unwind"] }, { "required": ["section"] },
        { "required": ["map"] }, { "required": ["unmap"] }
    ]))
)]
pub struct Request {
    /// To be repeated in each answer.
    pub id: u64,
    /// Asks who the unwinder is. The first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hello: Option<RequestHello>,
    /// The program of the stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Open>,
    /// Stops at which to walk stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwind: Option<Vec<Stop>>,
    /// Questions about a standalone section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<SectionQuestion>,
    /// An image that the program has loaded, or code for which it has registered a section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<Image>,
    /// What is not there any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmap: Option<Unmapped>,
}

/// Addresses of an image, or of code with a section of its own, that is not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unmapped {
    /// The first address, as it was when it came.
    pub start: Address,
    /// The first address past its end.
    pub end: Address,
}

/// The identity of the bench.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestHello {
    /// [`VERSION`].
    pub protocol: u32,
    /// Name and version of the bench.
    pub bench: String,
}

/// The images of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Open {
    /// `amd64`, `aarch64`, `aarch64_be` or `s390x`.
    pub abi: Abi,
    /// The byte order of data.
    pub endian: ByteOrder,
    /// The number of bits of a virtual address. On aarch64, the bits above may hold an
    /// authentication code.
    pub address_bits: u32,
    /// The executable and its libraries.
    pub images: Vec<Image>,
}

/// A loaded file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Image {
    /// Its name for people: the file's path as given, or the library's name.
    pub name: String,
    /// The file, or a copy of it. It exists until the process ends.
    pub path: PathBuf,
    /// The first address.
    pub start: Address,
    /// The first address past its end.
    pub end: Address,
    /// What is added to the addresses in the file.
    pub bias: Address,
    /// Its section `.sframe`, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sframe: Option<Range>,
}

impl Image {
    /// Returns the bytes of its section.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range {
    /// Its load address.
    pub address: Address,
    /// Its offset in the file.
    pub offset: u64,
    /// Its length in bytes.
    pub size: u64,
}

/// A moment of the program, before the instruction at `pc` executes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stop {
    /// The address of the instruction.
    pub pc: Address,
    /// Registers by DWARF number. SP and FP are among them.
    pub registers: BTreeMap<u32, Address>,
    /// The content of the stack, from slightly below SP upwards.
    pub stack: Stack,
}

/// A piece of memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stack {
    /// Its address.
    pub address: Address,
    /// The bytes there.
    pub bytes: Hex,
}

/// From the bench, within an exchange: the memory that was requested.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(extend("required" = ["memory"])))]
pub struct Reply {
    /// The bytes, or null if they can't be read.
    pub memory: Option<Hex>,
}

/// From the unwinder to the bench: the `id` of the request, and the fields that answer it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The `id` of the request.
    pub id: u64,
    /// To `hello`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hello: Option<Hello>,
    /// To `open`, `section`, `map` or `unmap`: why the unwinder can't do this. Left out if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<String>,
    /// To `unwind`: the stop that is answered, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<usize>,
    /// To `unwind`: the frames, topmost first.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "frames")]
    pub frames: Option<Vec<Frame>>,
    /// To `unwind`: why the walk ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// To `unwind`: whether the walk is declared to be complete and right. Left out if the unwinder has no such notion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reliable: Option<bool>,
    /// To `unwind`, before the answer: memory that is needed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Read>,
    /// To `section`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<SectionAnswer>,
}

/// The identity of the unwinder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The version of the protocol that it speaks.
    pub protocol: u32,
    /// The unwinder's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The data that it walks stacks with: `sframe`, `eh_frame`, or a word of its own.
    pub data: String,
    /// The parts of `section` that it answers. If empty, it does not support that request.
    #[serde(default)]
    pub section: Vec<SectionPart>,
    /// Whether each walk says if it is reliable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reliable: bool,
    /// Whether it supports `map` and `unmap`: without that, it is not asked while the program has registered sections.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

impl Hello {
    /// Returns the identity of an unwinder that walks stacks and does not support `section`, `map` and `unmap`.
    #[must_use]
    pub fn new(name: &str, version: &str, data: &str) -> Self {
        let [name, version, data] = [name, version, data].map(str::to_owned);
        Self { protocol: VERSION, name, version, data, section: Vec::new(), reliable: false, follows: false }
    }
}

/// Memory that the unwinder needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The stop at which it is read.
    pub stop: usize,
    /// The address.
    pub address: Address,
    /// The number of bytes, at most [`MAX_READ`].
    pub size: u32,
}

/// A walk.
#[derive(Clone, Debug)]
pub struct Backtrace {
    /// The frames, topmost first.
    pub frames: Vec<Frame>,
    /// Why the walk ends.
    pub end: End,
    /// Whether it is declared to be complete and right: `None` of an unwinder that has no such notion.
    pub reliable: Option<bool>,
}

impl Backtrace {
    /// Returns a walk of an unwinder that does not say how far it is to be relied on.
    #[must_use]
    pub const fn new(frames: Vec<Frame>, end: End) -> Self {
        Self { frames, end, reliable: None }
    }
}

/// A frame of a backtrace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Where it executes or will continue.
    pub pc: Address,
    /// Its CFA. Left out if the walk ends before it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cfa: Option<Address>,
    /// The frame pointer register in this frame. Left out if the unwinder doesn't follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp: Option<Fp>,
    /// What the section says about the signature of its return address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mangled: Option<Mangled>,
    /// Whether a signal has interrupted it, so that it is the caller of a signal frame. Left
    /// out if the unwinder doesn't know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<bool>,
}

/// A frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Fp {
    /// Its value.
    Value(Address),
    /// It could not be read.
    Unreadable {
        /// The address.
        unreadable: Address,
    },
}

/// A return address with an authentication code (AArch64).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mangled {
    /// As it was found, with its authentication code.
    pub value: Address,
    /// The key that the section names.
    pub key: PauthKey,
}

/// Why a walk ends. The fields other than `kind` are for messages, except for `what` of
/// [`EndKind::Unreadable`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The reason.
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
    /// The unwinder's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl End {
    /// Returns an end without a message.
    #[must_use]
    pub const fn of(kind: EndKind) -> Self {
        Self { kind, what: None, address: None, register: None, cfa: None, message: None }
    }

    /// Returns an end with the unwinder's message.
    #[must_use]
    pub fn with_message(kind: EndKind, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::of(kind) }
    }
}

/// The reasons why a walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EndKind {
    /// The last frame is marked as outermost.
    Outermost,
    /// No data describes the last frame's function.
    NoFde,
    /// There is an FDE, but no row for the PC.
    NoRow,
    /// The data is malformed.
    Malformed,
    /// Memory can't be read.
    Unreadable,
    /// A rule needs a register that is known only in the topmost frame.
    UnsafeRegister,
    /// A rule needs a register of the topmost frame that is not known.
    UnknownRegister,
    /// RA is still in its register, but the frame is not the topmost.
    RaNotSaved,
    /// The CFA is not a multiple of 8.
    Misaligned,
    /// The CFA does not move towards the base of the stack.
    NoProgress,
    /// There are more frames than [`MAX_FRAMES`], or than the unwinder accepts.
    TooDeep,
    /// Another reason, or the unwinder doesn't know.
    Failed,
}

/// Reads a bounded number of frames, to bound the memory for them.
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
