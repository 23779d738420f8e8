//! Why there may be no FDE for a function: what GNU as of that generation rejects in its call frame information,
//! because the version can't express it, or because the assembler does not try. Linkers reject nothing of what they
//! write themselves.

use gimli::{CfaRule, RegisterRule, UnwindExpression};
use serde::{Deserialize, Serialize};
use sframe_engine::{Abi, Base, CfaOffsetScaling, Recovery, RecoveryRule, Version};

use sframe_elf::cfi::{CallFrameInfo, CfiFde, CfiRow, Rules, register_column};
use sframe_elf::object_file::ObjectFile;

/// Why there is no FDE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The instructions can't be executed.
    Malformed,
    /// It is a signal frame, which versions 1 and 2 can't mark.
    SignalFrame,
    /// The return address column is not the ABI's.
    RaColumn,
    /// The CFA is not defined.
    NoCfa,
    /// The CFA depends on a register other than SP and FP.
    CfaRegister,
    /// The CFA is a DWARF expression: loaded from memory, or more.
    CfaExpression,
    /// The offset of the CFA does not fit: its size, or on s390x its alignment.
    CfaOffset,
    /// The return address is undefined, which version 1 can't express, and
    /// assemblers of version 2 don't.
    RaUndefined,
    /// The return address is neither where calls leave it nor in a slot of the frame.
    RaRule,
    /// FP is neither unchanged nor in a slot of the frame.
    FpRule,
    /// FP is in a slot and the return address is not: except in flexible FDEs, the
    /// first of two offsets can't be omitted.
    FpWithoutRa,
    /// SP has another rule than that the caller's SP follows from the CFA.
    SpRule,
    /// The rule of another register: an expression, or in version 1 a register.
    OtherRule,
    /// The size of pushed arguments is given (`DW_CFA_GNU_args_size`), which
    /// compilers have to write as bytes that assemblers do not interpret.
    ArgsSize,
    /// It is the entry point of a program, and its return address is undefined: the object of the C library that has it
    /// may have no section, and walks end there with an FDE as without one.
    EntryPoint,
    /// A linker has lost it: another difference explains how.
    NotMerged,
    /// The object that it comes from has no section, as that object shows.
    NoSection,
}

impl Reason {
    /// Returns the reason in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Malformed => "its CFI is malformed",
            Self::SignalFrame => "it is a signal frame, which this version can't mark",
            Self::RaColumn => "the column of its return address is not the ABI's",
            Self::NoCfa => "its CFI never says where the CFA is",
            Self::CfaRegister => "its CFA depends on a register other than SP and FP",
            Self::CfaExpression => "its CFA is a DWARF expression",
            Self::CfaOffset => "the offset of its CFA can't be encoded",
            Self::RaUndefined => "its return address is undefined",
            Self::RaRule => "its return address is neither in place nor in a slot of the frame",
            Self::FpRule => "its caller's FP is neither unchanged nor in a slot of the frame",
            Self::FpWithoutRa => "its FP is saved where its return address is not",
            Self::SpRule => "its CFI has a rule for SP of its own",
            Self::OtherRule => "its CFI has a rule for another register that assemblers refuse",
            Self::ArgsSize => "its CFI gives the size of pushed arguments",
            Self::EntryPoint => "it is where the system starts the program, and walks end there in any case",
            Self::NotMerged => "its FDE is lost because the linker did not merge the section",
            Self::NoSection => "its object has no .sframe",
        }
    }
}

/// Who writes code, its call frame information and its FDE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// An assembler.
    Assembler,
    /// A linker: entries of PLTs.
    Linker,
    /// An assembler, for the C library: the entry point of a program.
    CLibrary,
}

impl Maker {
    /// Returns that of the code at an address.
    #[must_use]
    pub fn of(subject: &ObjectFile<'_>, address: u64) -> Self {
        match subject.linker_made(address) {
            Some(_) => Self::Linker,
            None if subject.is_entry_point(address) => Self::CLibrary,
            None => Self::Assembler,
        }
    }
}

/// Returns the first reason in an FDE's instructions why `.sframe` has no FDE for it. `None` without a
/// reason: an assembler has left it out by mistake, or a linker has lost it.
#[must_use]
pub fn reason_to_leave_out(
    info: &CallFrameInfo,
    fde: &CfiFde,
    version: Version,
    abi: Abi,
    maker: Maker,
) -> Option<Reason> {
    match info.rows(fde) {
        Ok(rows) => reason(info, fde, &rows, version, abi, maker).map(|(reason, _)| reason),
        Err(_) => Some(Reason::Malformed),
    }
}

/// What GNU as reads of call frame information, where generations differ. Each writes one version.
struct Gas {
    /// It writes flex FDEs, for ABIs that have them.
    has_flex: bool,
    /// It leaves functions out in which another register has the value of SP, or of one that rows do not track.
    refuses_registers: bool,
    /// It interprets expressions that are a register and a small offset.
    reads_expressions: bool,
    /// It looks at rules for SP, which follow from the CFA in rows.
    checks_sp: bool,
    /// It leaves functions out in which SP or FP is undefined.
    refuses_undefined: bool,
}

impl Gas {
    /// The generation that writes a version.
    const fn writing(version: Version) -> Self {
        let has_flex = version.has_flex_fdes();
        match version {
            Version::V1 => Self {
                has_flex,
                refuses_registers: true,
                reads_expressions: false,
                checks_sp: false,
                refuses_undefined: false,
            },
            Version::V2 => Self { refuses_registers: false, ..Self::writing(Version::V1) },
            Version::V3 => Self {
                has_flex,
                refuses_registers: false,
                reads_expressions: true,
                checks_sp: true,
                refuses_undefined: true,
            },
        }
    }

    /// Whether it writes flex FDEs for this ABI.
    const fn writes_flex(&self, abi: Abi) -> bool {
        match abi {
            Abi::Amd64 | Abi::S390x => self.has_flex,
            Abi::Aarch64 | Abi::Aarch64Be => false,
        }
    }

    /// Whether it interprets the expression of a rule.
    fn reads(&self, expression: &UnwindExpression<usize>) -> bool {
        self.reads_expressions && expression.length == SHORT
    }

    fn refuses_sp(&self, rule: &RegisterRule<usize>, abi: Abi) -> bool {
        match rule {
            RegisterRule::Register(_) => {
                self.refuses_registers || self.checks_sp && !abi.saves_in_registers()
            }
            RegisterRule::ValOffset(offset) => {
                let is_default = abi.sp_offset_from_cfa() == *offset && abi.sp_offset_from_cfa() != 0;
                self.checks_sp && !is_default
            }
            RegisterRule::Undefined => self.refuses_undefined,
            RegisterRule::Expression(_) | RegisterRule::ValExpression(_) => true,
            _ => false,
        }
    }

    fn refuses_ra(&self, rule: &RegisterRule<usize>, abi: Abi) -> bool {
        match rule {
            RegisterRule::Register(_) => !self.writes_flex(abi),
            RegisterRule::ValOffset(_) => abi.has_link_register(),
            RegisterRule::Expression(expression) => abi.has_link_register() || !self.reads(expression),
            RegisterRule::ValExpression(_) => true,
            _ => false,
        }
    }

    fn refuses_fp(&self, rule: &RegisterRule<usize>, abi: Abi) -> bool {
        match rule {
            RegisterRule::Register(_) => !self.writes_flex(abi),
            RegisterRule::Expression(expression) => !self.reads(expression),
            RegisterRule::Undefined => self.refuses_undefined,
            RegisterRule::ValOffset(_) | RegisterRule::ValExpression(_) => true,
            _ => false,
        }
    }

    fn refuses_other(&self, rule: &RegisterRule<usize>) -> bool {
        match rule {
            RegisterRule::Register(_) => self.refuses_registers,
            RegisterRule::Expression(expression) => !self.reads(expression),
            RegisterRule::ValExpression(_) => true,
            _ => false,
        }
    }
}

/// Returns the first reason in an FDE, and the row that has it.
pub(super) fn reason(
    info: &CallFrameInfo,
    fde: &CfiFde,
    rows: &[CfiRow],
    version: Version,
    abi: Abi,
    maker: Maker,
) -> Option<(Reason, Option<u64>)> {
    if fde.is_signal && !version.marks_signal_frames() {
        return Some((Reason::SignalFrame, None));
    }
    let of_rows = rows.iter().find_map(|row| {
        let start = row.range.start;
        let found = of_row(row, &info.rules(row, start), version, abi, maker)?;
        Some((found, Some(start.wrapping_sub(fde.range.start))))
    });
    of_rows.or_else(|| info.tells_args_size(fde).then_some((Reason::ArgsSize, None)))
}

/// Returns what GNU as of that version rejects in a row, as found by trying each rule.
fn of_row(row: &CfiRow, rules: &Rules, version: Version, abi: Abi, maker: Maker) -> Option<Reason> {
    if u32::from(row.ra_column) != abi.ra_column().0 {
        return Some(Reason::RaColumn);
    }
    if rules.ra == Ok(Recovery::Undefined) {
        let is_end = maker == Maker::CLibrary;
        let of_version = (!version.marks_outermost_functions()).then_some(Reason::RaUndefined);
        return of_version.or_else(|| is_end.then_some(Reason::EntryPoint));
    }
    let gas = Gas::writing(version);
    of_cfa(row, rules, &gas, abi, maker).or_else(|| {
        let (sp, fp) = (register_column(abi.sp()), register_column(abi.fp()));
        row.registers.iter().find_map(|(register, rule)| {
            let (is_refused, reason) = if *register == sp {
                (gas.refuses_sp(rule, abi), Reason::SpRule)
            } else if *register == row.ra_column {
                (gas.refuses_ra(rule, abi), Reason::RaRule)
            } else if *register == fp {
                (gas.refuses_fp(rule, abi), Reason::FpRule)
            } else {
                (gas.refuses_other(rule), Reason::OtherRule)
            };
            is_refused.then_some(reason)
        })
    })
}

fn of_cfa(row: &CfiRow, rules: &Rules, gas: &Gas, abi: Abi, maker: Maker) -> Option<Reason> {
    if !row.has_cfa {
        return Some(Reason::NoCfa);
    }
    let Ok(cfa) = rules.cfa else { return Some(Reason::CfaExpression) };
    // What repeats from entry to entry, call frame information says by an expression of the PC, and mask FDEs by rows.
    let repeats = maker == Maker::Linker && matches!(cfa.base, Base::Sp | Base::Fp) && !cfa.dereference;
    if let CfaRule::Expression(expression) = &row.cfa
        && !repeats
    {
        let is_slot = cfa.base == Base::Fp && cfa.dereference && expression.length == SHORT + 1;
        return (!(gas.reads_expressions && !abi.has_link_register() && is_slot))
            .then_some(Reason::CfaExpression);
    }
    if matches!(cfa.base, Base::Register(_)) && !gas.writes_flex(abi) {
        return Some(Reason::CfaRegister);
    }
    let (stored, is_multiple) = match abi.cfa_offset_scaling() {
        Some(CfaOffsetScaling { adjustment, factor }) => {
            (cfa.offset.saturating_add(adjustment) / factor, cfa.offset % factor == 0)
        }
        None => (cfa.offset, true),
    };
    if i32::try_from(stored).is_err() || !is_multiple {
        return Some(Reason::CfaOffset);
    }
    let in_slot = |recovery| {
        matches!(recovery, Ok(Recovery::Rule(RecoveryRule { base: Base::Cfa, dereference: true, .. })))
    };
    let needs_ra = !gas.writes_flex(abi) && abi.has_link_register();
    (needs_ra && in_slot(rules.fp) && !in_slot(rules.ra)).then_some(Reason::FpWithoutRa)
}

/// The length of expressions that are interpreted: a register, and an offset from
/// -64 to 63. A CFA expression also has the load.
const SHORT: usize = 2;
