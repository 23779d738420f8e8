//! Compares one row with the call frame information's rules.

use std::fmt;

use serde::{Deserialize, Serialize};
use sframe_engine::{Abi, Base, Fde, PauthKey, Recovery, RecoveryRule, Row};

use sframe_elf::cfi::{CfiFde, Inexpressible, Rules};

/// A field that can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Field {
    /// The section as a whole: whether its linker has merged it.
    Section,
    /// Whether there is an FDE for code of a function that has one.
    NoFde,
    /// Whether there are rules, and can be read.
    Row,
    /// Whether the frame is marked as outermost (2.3.3.2, 2.4.1).
    Outermost,
    /// Whether the frame was pushed by a signal (2.3.3).
    Signal,
    /// The CFA.
    Cfa,
    /// The return address.
    Ra,
    /// The caller's frame pointer.
    Fp,
    /// Whether the return address is signed, and with which key (2.3.3, 2.4.1).
    RaSignature,
}

impl Field {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Section,
        Self::NoFde,
        Self::Row,
        Self::Outermost,
        Self::Signal,
        Self::Cfa,
        Self::Ra,
        Self::Fp,
        Self::RaSignature,
    ];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Section => "section",
            Self::NoFde => "no-fde",
            Self::Row => "row",
            Self::Outermost => "outermost",
            Self::Signal => "signal",
            Self::Cfa => "cfa",
            Self::Ra => "ra",
            Self::Fp => "fp",
            Self::RaSignature => "ra-signature",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A field in which two rows differ, and its value in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Disagreement {
    pub(super) field: Field,
    pub(super) sframe: String,
    pub(super) cfi: String,
}

/// The result of comparing two rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) disagreements: Vec<Disagreement>,
    /// Whether the caller's FP is lost, according to the information. No version
    /// can express that, and "unchanged" is equivalent.
    pub(super) fp_is_lost: bool,
}

impl Comparison {
    fn differ(&mut self, field: Field, sframe: impl fmt::Display, cfi: impl fmt::Display) {
        let plain = |text: String| text.strip_prefix("= ").map(str::to_owned).unwrap_or(text);
        let (sframe, cfi) = (plain(sframe.to_string()), plain(cfi.to_string()));
        self.disagreements.push(Disagreement { field, sframe, cfi });
    }
}

/// Compares a row with the call frame information.
pub(super) fn compare(abi: Abi, fde: &Fde, row: &Row, cfi: &CfiFde, rules: &Rules) -> Comparison {
    let mut comparison = Comparison::default();
    let kind = |signal| if signal { "a signal's frame" } else { "a frame that was called" };
    if cfi.says_signal().is_some_and(|signal| signal != fde.signal) {
        comparison.differ(Field::Signal, kind(fde.signal), kind(cfi.is_signal));
    }
    let Some(cfa) = row.cfa.filter(|_| !row.is_outermost()) else {
        if rules.ra != Ok(Recovery::Undefined) {
            comparison.differ(Field::Outermost, "an outermost frame", rules);
        }
        return comparison;
    };
    if rules.ra == Ok(Recovery::Undefined) {
        comparison.differ(Field::Outermost, row, "an outermost frame");
        return comparison;
    }
    if rules.cfa != Ok(cfa) {
        comparison.differ(Field::Cfa, cfa, Explained(rules.cfa));
    }
    let own_cfa = rules.cfa.ok();
    let same = |sframe: Recovery, other: Recovery, register: Option<Base>| {
        sframe == other || reduced(sframe, Some(cfa), register) == reduced(other, own_cfa, register)
    };
    if !rules.ra.is_ok_and(|ra| same(row.ra, ra, abi.ra().map(Base::Register))) {
        comparison.differ(Field::Ra, row.ra, Explained(rules.ra));
    }
    comparison.fp_is_lost = rules.fp == Ok(Recovery::Undefined) && row.fp == Recovery::Unchanged;
    if !comparison.fp_is_lost && !rules.fp.is_ok_and(|fp| same(row.fp, fp, Some(Base::Fp))) {
        comparison.differ(Field::Fp, row.fp, Explained(rules.fp));
    }
    // Elsewhere nothing is signed, whatever a row says.
    if abi.signs_return_addresses() || row.mangled_ra {
        let key_b = fde.pauth_key == PauthKey::B;
        let sframe = signature(row.mangled_ra, key_b);
        let other = signature(rules.signed, cfi.says_key_b().unwrap_or(key_b));
        if sframe != other {
            comparison.differ(Field::RaSignature, sframe, other);
        }
    }
    comparison
}

const fn signature(is_signed: bool, key_b: bool) -> &'static str {
    match (is_signed, key_b) {
        (false, _) => "not signed",
        (true, false) => "signed with key A",
        (true, true) => "signed with key B",
    }
}

/// Returns a rule without the CFA if that is a register and an offset, so that
/// `*(CFA-8)` and `*(SP)` are equal if the CFA is SP+8.
fn reduced(recovery: Recovery, cfa: Option<RecoveryRule>, register: Option<Base>) -> Recovery {
    let Recovery::Rule(mut rule) = recovery else { return recovery };
    if let (Base::Cfa, Some(RecoveryRule { base, offset, dereference: false })) = (rule.base, cfa) {
        rule = RecoveryRule { base, offset: rule.offset.wrapping_add(offset), ..rule };
    }
    match rule {
        RecoveryRule { base, offset: 0, dereference: false } if Some(base) == register => Recovery::Unchanged,
        rule => Recovery::Rule(rule),
    }
}

/// A rule, or why it can't be expressed, as text.
struct Explained<T>(Result<T, Inexpressible>);

impl<T: fmt::Display> fmt::Display for Explained<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(rule) => rule.fmt(f),
            Err(why) => why.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sframe_engine::InstructionPointer;

    use super::*;
    use sframe_elf::cfi::CfiSection;
    use sframe_elf::object_file::ObjectFile;

    /// What no assembler can write into `.debug_frame` is no difference from it.
    #[test]
    fn what_debug_frame_cannot_say_is_not_compared() {
        let build = "../../corpus/builds/gnu-2.47/aarch64/pauth.O2";
        let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(build)).expect("a build");
        let subject = ObjectFile::parse(&bytes[..]).expect("an ELF file");
        let abi = subject.abi().expect("an ABI");
        let section = subject.section().expect("a section").open(0, abi).expect("a section");
        let cfi = subject.call_frame_info().expect("information");
        let is_signed_with_b = |fde: &Fde| fde.pauth_key == PauthKey::B && fde.size > 8;
        let fde = section.fdes().flatten().find(is_signed_with_b).expect("key B");
        let address = fde.start + 8;
        let row = section.lookup(InstructionPointer(address)).expect("a row").expect("a row").row;
        let rules = cfi.rules(&cfi.row_at(address).expect("a row").expect("a row"), address);
        let of_file = cfi.fde_at(address).expect("an FDE");
        assert!(rules.signed && of_file.key_b);
        let fields = |section, key_b, is_signal| {
            let mut other = of_file.clone();
            (other.section, other.key_b, other.is_signal) = (section, key_b, is_signal);
            let found = compare(abi, &fde, &row, &other, &rules).disagreements;
            found.iter().map(|found| found.field).collect::<Vec<_>>()
        };
        assert_eq!(fields(CfiSection::EhFrame, true, false), []);
        assert_eq!(fields(CfiSection::EhFrame, false, false), [Field::RaSignature]);
        assert_eq!(fields(CfiSection::DebugFrame, false, false), []);
        assert_eq!(fields(CfiSection::EhFrame, true, true), [Field::Signal]);
        // GNU as does say this one.
        assert_eq!(fields(CfiSection::DebugFrame, false, true), [Field::Signal]);
        let fde = Fde { signal: true, ..fde };
        let mut other = of_file.clone();
        other.section = CfiSection::DebugFrame;
        assert_eq!(compare(abi, &fde, &row, &other, &rules).disagreements, []);
    }
}
