//! The sections that a program asks for.

/// What `.cfi_sections` asks for. Command lines always ask for `.sframe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections {
    /// The directive; empty for none.
    pub directive: &'static str,
    /// Whether `.eh_frame` has to be there. Nor does any directive ask for it.
    pub eh_frame: bool,
    /// Whether `.debug_frame` has to be there.
    pub debug_frame: bool,
}

const fn asks(directive: &'static str, eh_frame: bool, debug_frame: bool) -> Sections {
    Sections { directive, eh_frame, debug_frame }
}

impl Sections {
    /// Without a directive.
    pub const USUAL: Self = asks("", true, false);

    /// With directives.
    pub(super) const ASKED: &[Self] = &[
        asks(".cfi_sections .eh_frame", true, false),
        asks(".cfi_sections .eh_frame, .sframe", true, false),
        asks(".cfi_sections .sframe", false, false),
        asks(".cfi_sections .debug_frame", false, true),
        asks(".cfi_sections .debug_frame, .eh_frame", true, true),
        asks(".cfi_sections .debug_frame, .sframe", false, true),
        asks(".cfi_sections .eh_frame, .debug_frame, .sframe", true, true),
    ];
}
