//! How programs are compiled: the flags that all builds share, and those that
//! tell the variants apart.

/// Flags of every build, in front of everything else.
///
/// Line numbers are kept so that a stop can be named `file.c:42`; they and the
/// symbols are all the debug information that the bench needs.
pub(super) const COMMON: &[&str] = &[
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-g1",
    "-gno-record-gcc-switches",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fno-ident",
    "-fasynchronous-unwind-tables",
];

/// Linker flags of every build: no library, nothing that differs from run to
/// run, and no padding to large pages.
pub(super) const LINK: &[&str] =
    &["-nostdlib", "-Wl,--build-id=none", "-Wl,-z,max-page-size=4096", "-Wl,-z,noseparate-code"];

/// Flags of an executable with libraries. They lie beside it. No interpreter
/// ever runs, but programs without one do not get their libraries.
macro_rules! dynamic {
    ($($flag:literal),*) => {
        &[$($flag,)* "-DDYNAMIC", "-Wl,-dynamic-linker,/lib/ld.so", "-Wl,-rpath,$ORIGIN"]
    };
}

/// Flags of their libraries.
macro_rules! library {
    ($($flag:literal),*) => {
        &[$($flag,)* "-fPIC", "-shared", "-Wl,-rpath,$ORIGIN"]
    };
}

/// One way to compile a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variant {
    /// The last part of the build's id, such as `O2-fp`.
    pub name: &'static str,
    /// What the variant is for.
    pub summary: &'static str,
    /// Compiler and linker flags.
    pub flags: &'static [&'static str],
    /// The flags of shared libraries; none where programs can't have any.
    pub library_flags: Option<&'static [&'static str]>,
    /// Whether programs that do not list their variants are built this way.
    pub by_default: bool,
}

/// All variants.
pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "O0",
        summary: "not optimised: every function has a frame pointer",
        flags: &["-O0", "-static", "-no-pie", "-fno-pie"],
        library_flags: None,
        by_default: true,
    },
    Variant {
        name: "O2",
        summary: "optimised, without frame pointers",
        flags: &["-O2", "-fomit-frame-pointer", "-static", "-no-pie", "-fno-pie"],
        library_flags: None,
        by_default: true,
    },
    Variant {
        name: "O2-fp",
        summary: "optimised, with frame pointers",
        flags: &["-O2", "-fno-omit-frame-pointer", "-static", "-no-pie", "-fno-pie"],
        library_flags: None,
        by_default: true,
    },
    Variant {
        name: "O2-pie",
        summary: "optimised, position-independent; the runtime relocates it",
        flags: &["-O2", "-fpie", "-static-pie", "-Wl,--no-dynamic-linker"],
        library_flags: None,
        by_default: true,
    },
    Variant {
        name: "O0-shared",
        summary: "as O0, but a shared object with an entry point, whose calls go through its PLT",
        flags: &["-O0", "-fPIC", "-shared", "-Wl,-e,_start", "-Wl,-z,lazy"],
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-shared",
        summary: "optimised, a shared object with an entry point, whose calls go through its PLT",
        flags: &["-O2", "-fPIC", "-shared", "-Wl,-e,_start", "-Wl,-z,lazy"],
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-fp-shared",
        summary: "the same with frame pointers",
        flags: &["-O2", "-fno-omit-frame-pointer", "-fPIC", "-shared", "-Wl,-e,_start", "-Wl,-z,lazy"],
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O0-dynamic",
        summary: "as O0, with libraries; calls are bound when they are first made",
        flags: dynamic!["-O0", "-no-pie", "-fno-pie", "-Wl,-z,lazy"],
        library_flags: Some(library!["-O0", "-Wl,-z,lazy"]),
        by_default: false,
    },
    Variant {
        name: "O2-dynamic",
        summary: "optimised, with libraries; calls are bound when they are first made",
        flags: dynamic!["-O2", "-fomit-frame-pointer", "-no-pie", "-fno-pie", "-Wl,-z,lazy"],
        library_flags: Some(library!["-O2", "-fomit-frame-pointer", "-Wl,-z,lazy"]),
        by_default: false,
    },
    Variant {
        name: "O2-dynamic-pie",
        summary: "the same, position-independent",
        flags: dynamic!["-O2", "-fomit-frame-pointer", "-fpie", "-pie", "-Wl,-z,lazy"],
        library_flags: Some(library!["-O2", "-fomit-frame-pointer", "-Wl,-z,lazy"]),
        by_default: false,
    },
    Variant {
        name: "O2-dynamic-now",
        summary: "the same, with all calls bound before the program starts",
        flags: dynamic!["-O2", "-fomit-frame-pointer", "-fpie", "-pie", "-Wl,-z,now"],
        library_flags: Some(library!["-O2", "-fomit-frame-pointer", "-Wl,-z,now"]),
        by_default: false,
    },
];

impl Variant {
    /// The variant of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Variant> {
        VARIANTS.iter().find(|variant| variant.name == name)
    }
}
