//! Mistakes of assemblers that are known: each has a page in `specs/faults`.

use super::state::Source;

/// Makes an enumeration of what has a page, with all of them and the names of their pages.
macro_rules! with_pages {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident { $($variant:ident = $page:literal,)* }) => {
        $(#[$attribute])*
        $visibility enum $name {
            $($variant,)*
        }

        impl $name {
            /// All of them.
            $visibility const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name of the page.
            #[must_use]
            $visibility const fn page(self) -> &'static str {
                match self {
                    $(Self::$variant => $page,)*
                }
            }
        }
    };
}
pub(super) use with_pages;

with_pages! {
    /// A known mistake. Its page is what it is called.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[expect(missing_docs, reason = "the pages say what each is")]
    pub enum Quirk {
        GasAnyRegisterIsSp = "gas-any-register-is-sp",
        GasFirstDirectivesInCie = "gas-first-directives-in-cie",
        GasFpByExpression = "gas-fp-by-expression",
        GasFpSlotAsReturnAddress = "gas-fp-slot-as-return-address",
        GasIgnoresRegisterOfReturnAddress = "gas-ignores-register-of-return-address",
        GasIgnoresSameValue = "gas-ignores-same-value",
        GasIgnoresUndefined = "gas-ignores-undefined",
        GasOneRememberedState = "gas-one-remembered-state",
        GasRegisterTakesOffsetBack = "gas-register-takes-offset-back",
        GasRemembersBeforeFirstRow = "gas-remember-before-first-row",
        GasRemembersRowBefore = "gas-remembers-row-before",
        GasRestoresFirstRow = "gas-restores-first-row",
        GasReturnAddressNotRestored = "gas-return-address-not-restored",
        GasSignalFrameWithoutRows = "gas-signal-frame-without-rows",
        GasUndefinedNotUndone = "gas-undefined-not-undone",
        GasUndefinedWithOtherRules = "gas-undefined-with-other-rules",
        GasUnmarkedSignalFrame = "gas-unmarked-signal-frame",
        LlvmAdjustsLastOffset = "llvm-adjusts-last-offset",
        LlvmIgnoresRegister = "llvm-ignores-register",
        LlvmIgnoresSameValue = "llvm-ignores-same-value",
        LlvmIgnoresUndefined = "llvm-ignores-undefined",
        LlvmRelativeOffset = "llvm-relative-offset",
        LlvmRemembersBeforeFirstRow = "llvm-remember-before-first-row",
        LlvmRestoresFirstRow = "llvm-restores-first-row",
        LlvmReturnColumn = "llvm-return-column",
        LlvmUnmarkedSignalFrame = "llvm-unmarked-signal-frame",
    }
}

impl Quirk {
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
