//! Mistakes of assemblers that are known: each has a page in `specs/faults`.

use super::state::Source;

/// A known mistake. Its page is what it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the pages say what each is")]
pub enum Quirk {
    GasAnyRegisterIsSp,
    GasFirstDirectivesInCie,
    GasFpByExpression,
    GasFpSlotAsReturnAddress,
    GasIgnoresRegisterOfReturnAddress,
    GasIgnoresSameValue,
    GasIgnoresUndefined,
    GasOneRememberedState,
    GasRegisterTakesOffsetBack,
    GasRemembersBeforeFirstRow,
    GasRemembersRowBefore,
    GasRestoresFirstRow,
    GasReturnAddressNotRestored,
    GasSignalFrameWithoutRows,
    GasUndefinedNotUndone,
    GasUndefinedWithOtherRules,
    GasUnmarkedSignalFrame,
    LlvmAdjustsLastOffset,
    LlvmIgnoresRegister,
    LlvmIgnoresSameValue,
    LlvmIgnoresUndefined,
    LlvmRelativeOffset,
    LlvmRemembersBeforeFirstRow,
    LlvmRestoresFirstRow,
    LlvmReturnColumn,
    LlvmUnmarkedSignalFrame,
}

impl Quirk {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::GasAnyRegisterIsSp,
        Self::GasFirstDirectivesInCie,
        Self::GasFpByExpression,
        Self::GasFpSlotAsReturnAddress,
        Self::GasIgnoresRegisterOfReturnAddress,
        Self::GasIgnoresSameValue,
        Self::GasIgnoresUndefined,
        Self::GasOneRememberedState,
        Self::GasRegisterTakesOffsetBack,
        Self::GasRemembersBeforeFirstRow,
        Self::GasRemembersRowBefore,
        Self::GasRestoresFirstRow,
        Self::GasReturnAddressNotRestored,
        Self::GasSignalFrameWithoutRows,
        Self::GasUndefinedNotUndone,
        Self::GasUndefinedWithOtherRules,
        Self::GasUnmarkedSignalFrame,
        Self::LlvmAdjustsLastOffset,
        Self::LlvmIgnoresRegister,
        Self::LlvmIgnoresSameValue,
        Self::LlvmIgnoresUndefined,
        Self::LlvmRelativeOffset,
        Self::LlvmRemembersBeforeFirstRow,
        Self::LlvmRestoresFirstRow,
        Self::LlvmReturnColumn,
        Self::LlvmUnmarkedSignalFrame,
    ];

    /// The name of the page.
    #[must_use]
    pub const fn page(self) -> &'static str {
        match self {
            Self::GasAnyRegisterIsSp => "gas-any-register-is-sp",
            Self::GasFirstDirectivesInCie => "gas-first-directives-in-cie",
            Self::GasFpByExpression => "gas-fp-by-expression",
            Self::GasFpSlotAsReturnAddress => "gas-fp-slot-as-return-address",
            Self::GasIgnoresRegisterOfReturnAddress => "gas-ignores-register-of-return-address",
            Self::GasIgnoresSameValue => "gas-ignores-same-value",
            Self::GasIgnoresUndefined => "gas-ignores-undefined",
            Self::GasOneRememberedState => "gas-one-remembered-state",
            Self::GasRegisterTakesOffsetBack => "gas-register-takes-offset-back",
            Self::GasRemembersBeforeFirstRow => "gas-remember-before-first-row",
            Self::GasRemembersRowBefore => "gas-remembers-row-before",
            Self::GasRestoresFirstRow => "gas-restores-first-row",
            Self::GasReturnAddressNotRestored => "gas-return-address-not-restored",
            Self::GasSignalFrameWithoutRows => "gas-signal-frame-without-rows",
            Self::GasUndefinedNotUndone => "gas-undefined-not-undone",
            Self::GasUndefinedWithOtherRules => "gas-undefined-with-other-rules",
            Self::GasUnmarkedSignalFrame => "gas-unmarked-signal-frame",
            Self::LlvmAdjustsLastOffset => "llvm-adjusts-last-offset",
            Self::LlvmIgnoresRegister => "llvm-ignores-register",
            Self::LlvmIgnoresSameValue => "llvm-ignores-same-value",
            Self::LlvmIgnoresUndefined => "llvm-ignores-undefined",
            Self::LlvmRelativeOffset => "llvm-relative-offset",
            Self::LlvmRemembersBeforeFirstRow => "llvm-remember-before-first-row",
            Self::LlvmRestoresFirstRow => "llvm-restores-first-row",
            Self::LlvmReturnColumn => "llvm-return-column",
            Self::LlvmUnmarkedSignalFrame => "llvm-unmarked-signal-frame",
        }
    }

    /// Whether a section is wrong by it.
    pub(super) fn is_of(self, source: Source) -> bool {
        match self {
            Self::GasFirstDirectivesInCie | Self::LlvmAdjustsLastOffset => source != Source::Sframe,
            _ => source == Source::Sframe,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_mistake_has_a_page() {
        let faults = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs/faults");
        for quirk in Quirk::ALL {
            let page = faults.join(format!("{}.yaml", quirk.page()));
            let text = std::fs::read_to_string(&page).expect("a page");
            let assembler = quirk.page().split('-').next().expect("an assembler");
            assert!(text.contains(&format!("component: {{assembler: {assembler}")), "{}", page.display());
        }
    }
}
