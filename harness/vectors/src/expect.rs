//! What a reader must answer.

use serde::{Deserialize, Serialize};
use sframe_engine::Abi;

use crate::equation::{Equation, Recovery};
use crate::names::{FdeType, FreType, PauthKey, PcType, RejectKind};
use crate::number::Address;

/// A PC to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    /// The PC.
    pub pc: Address,
    /// Whether it is a return address, which is looked up by the byte before it.
    pub return_address: bool,
}

/// A rejection.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reject {
    /// Why.
    pub kind: RejectKind,
    /// Where, in bytes from the start of the section. Left out where readers may differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
}

/// The header as a reader must see it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version.
    pub version: u8,
    /// The ABI.
    pub abi: Abi,
    /// All bits of the flags.
    pub flags: u8,
    /// The fixed FP offset; 0 if there is none.
    pub fixed_fp: i8,
    /// The fixed RA offset; 0 if there is none.
    pub fixed_ra: i8,
    /// Length of the auxiliary header.
    pub aux_len: u8,
    /// Number of FDEs.
    pub num_fdes: u32,
    /// Number of FREs.
    pub num_fres: u32,
    /// Length of the FRE sub-section.
    pub fre_len: u32,
    /// Offset of the FDE sub-section.
    pub fdeoff: u32,
    /// Offset of the FRE sub-section.
    pub freoff: u32,
}

/// An FDE as a reader must see it. Fields that are left out have the first of their values, 0
/// or false.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fde {
    /// A fault of the FDE; then there are no other fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reject: Option<Reject>,
    /// Address of the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Address>,
    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// Width of row starts.
    #[serde(default)]
    pub fre_type: FreType,
    /// How PCs are compared with row starts.
    #[serde(default)]
    pub pc_type: PcType,
    /// How data words are read.
    #[serde(default)]
    pub fde_type: FdeType,
    /// The pointer authentication key.
    #[serde(default)]
    pub pauth_key: PauthKey,
    /// Whether it is a signal frame.
    #[serde(default)]
    pub signal: bool,
    /// Size of the block; 0 in version 1.
    #[serde(default)]
    pub rep_size: u8,
    /// Whether the whole function is an outermost frame.
    #[serde(default)]
    pub outermost: bool,
    /// The rows. The last one may be faulty, and ends them.
    #[serde(default)]
    pub rows: Vec<Row>,
}

impl Fde {
    /// Returns an FDE with a fault.
    #[must_use]
    pub fn rejected(reject: Reject) -> Self {
        Self {
            reject: Some(reject),
            start: None,
            size: None,
            fre_type: FreType::default(),
            pc_type: PcType::default(),
            fde_type: FdeType::default(),
            pauth_key: PauthKey::default(),
            signal: false,
            rep_size: 0,
            outermost: false,
            rows: Vec::new(),
        }
    }
}

/// A row as a reader must see it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "WrittenRow", into = "WrittenRow")]
pub enum Row {
    /// A sound row.
    Rules(Rules),
    /// A faulty one.
    Reject(Reject),
}

impl Row {
    /// Whether it is faulty.
    #[must_use]
    pub const fn is_rejected(&self) -> bool {
        matches!(self, Self::Reject(_))
    }
}

/// A sound row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Its start.
    pub start: u32,
    /// The CFA; `None` if RA is undefined.
    pub cfa: Option<Equation>,
    /// RA.
    pub ra: Recovery,
    /// FP; `None` if RA is undefined.
    pub fp: Option<Recovery>,
    /// Whether RA is mangled.
    pub mangled: bool,
}

#[derive(Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct WrittenRow {
    /// A fault of the row; then there are no other fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    reject: Option<Reject>,
    /// Its start, as the section has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u32>,
    /// The CFA; left out if RA is undefined.
    #[serde(skip_serializing_if = "Option::is_none")]
    cfa: Option<Equation>,
    /// The return address.
    #[serde(skip_serializing_if = "Option::is_none")]
    ra: Option<Recovery>,
    /// The frame pointer; left out if RA is undefined.
    #[serde(skip_serializing_if = "Option::is_none")]
    fp: Option<Recovery>,
    /// Whether the return address is mangled.
    #[serde(default)]
    mangled: bool,
}

impl From<Row> for WrittenRow {
    fn from(row: Row) -> Self {
        let nothing = Self { reject: None, start: None, cfa: None, ra: None, fp: None, mangled: false };
        match row {
            Row::Reject(reject) => Self { reject: Some(reject), ..nothing },
            Row::Rules(Rules { start, cfa, ra, fp, mangled }) => {
                Self { start: Some(start), cfa, ra: Some(ra), fp, mangled, ..nothing }
            }
        }
    }
}

impl TryFrom<WrittenRow> for Row {
    type Error = &'static str;

    fn try_from(row: WrittenRow) -> Result<Self, Self::Error> {
        let WrittenRow { reject, start, cfa, ra, fp, mangled } = row;
        match (reject, start, cfa, ra, fp) {
            (Some(reject), None, None, None, None) if !mangled => Ok(Self::Reject(reject)),
            (None, Some(start), None, Some(ra @ Recovery::Undefined), None) => {
                Ok(Self::Rules(Rules { start, cfa, ra, fp, mangled }))
            }
            (None, Some(_), _, Some(Recovery::Undefined), _) => {
                Err("a row whose ra is undefined has neither cfa nor fp")
            }
            (None, Some(start), Some(_), Some(ra), Some(_)) => {
                Ok(Self::Rules(Rules { start, cfa, ra, fp, mangled }))
            }
            _ => Err("a row has start, cfa, ra and fp, or else nothing but reject"),
        }
    }
}

/// A question, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "WrittenLookup", into = "WrittenLookup")]
pub struct Lookup {
    /// The PC.
    pub pc: Address,
    /// Whether the PC is a return address, which is looked up by the byte before it.
    pub return_address: bool,
    /// The answer.
    pub answer: Answer,
}

impl Lookup {
    /// Returns the question alone.
    #[must_use]
    pub const fn question(&self) -> Question {
        Question { pc: self.pc, return_address: self.return_address }
    }
}

/// What a look-up must find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `fde: none`.
    NoFde,
    /// `row: none`: this FDE, but no row.
    NoRow(usize),
    /// `row: outermost`: this FDE, which marks an outermost frame and has no rows.
    Outermost(usize),
    /// This FDE and this row of it, counted from 0.
    Row(usize, usize),
    /// A row by its rules, of a reader without positions; its start says nothing.
    Rules(Rules),
    /// The FDE, or a row that had to be read, is faulty.
    Reject(Reject),
}

impl Answer {
    /// Whether it is the position of what another one is by its rules, in these functions.
    pub(crate) fn has_rules_of(&self, other: &Self, functions: &[Fde]) -> bool {
        let Self::Rules(rules) = other else { return false };
        match self {
            Self::Outermost(_) => rules.ra == Recovery::Undefined,
            Self::Row(fde, row) => {
                let row = functions.get(*fde).and_then(|fde| fde.rows.get(*row));
                matches!(row, Some(Row::Rules(own)) if *own == Rules { start: own.start, ..*rules })
            }
            _ => false,
        }
    }
}

#[derive(Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum IndexOrWord {
    Index(usize),
    Word(String),
}

#[derive(Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct WrittenLookup {
    /// The PC.
    pc: Address,
    /// Whether the PC is a return address, which is looked up by the byte before it.
    #[serde(default)]
    return_address: bool,
    /// The FDE that has it, counted from 0, or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    fde: Option<IndexOrWord>,
    /// The row that has it, counted from 0 in its FDE; `none`, or `outermost` if the FDE marks an
    /// outermost frame and has no rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<IndexOrWord>,
    /// In place of `fde` and `row`: the row that has it, of a reader without positions. Its start is not compared; one
    /// whose `ra` is undefined is also an FDE without rows that marks an outermost frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<Row>,
    /// A fault of the FDE, or of a row that had to be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    reject: Option<Reject>,
}

impl From<Lookup> for WrittenLookup {
    fn from(lookup: Lookup) -> Self {
        use IndexOrWord::{Index, Word};
        let Lookup { pc, return_address, answer } = lookup;
        let (fde, row, rules, reject) = match answer {
            Answer::NoFde => (Some(Word("none".into())), None, None, None),
            Answer::NoRow(fde) => (Some(Index(fde)), Some(Word("none".into())), None, None),
            Answer::Outermost(fde) => (Some(Index(fde)), Some(Word("outermost".into())), None, None),
            Answer::Row(fde, row) => (Some(Index(fde)), Some(Index(row)), None, None),
            Answer::Rules(rules) => (None, None, Some(Row::Rules(rules)), None),
            Answer::Reject(reject) => (None, None, None, Some(reject)),
        };
        Self { pc, return_address, fde, row, rules, reject }
    }
}

impl TryFrom<WrittenLookup> for Lookup {
    type Error = String;

    fn try_from(lookup: WrittenLookup) -> Result<Self, Self::Error> {
        use IndexOrWord::{Index, Word};
        let WrittenLookup { pc, return_address, fde, row, rules, reject } = lookup;
        let answer = match (fde, row, rules, reject) {
            (None, None, None, Some(reject)) => Answer::Reject(reject),
            (None, None, Some(Row::Rules(rules)), None) => Answer::Rules(rules),
            (Some(Word(word)), None, None, None) if word == "none" => Answer::NoFde,
            (Some(Index(fde)), Some(Index(row)), None, None) => Answer::Row(fde, row),
            (Some(Index(fde)), Some(Word(word)), None, None) if word == "none" => Answer::NoRow(fde),
            (Some(Index(fde)), Some(Word(word)), None, None) if word == "outermost" => Answer::Outermost(fde),
            _ => {
                return Err(format!(
                    "the look-up of {pc} needs `fde: none`, or fde and row (an index, none or outermost), or rules, or reject"
                ));
            }
        };
        Ok(Self { pc, return_address, answer })
    }
}
