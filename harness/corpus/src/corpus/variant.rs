//! How programs are compiled: the flags that all builds share, and those that
//! distinguish the variants.

use sframe_engine::Abi;

/// The language of C and assembly sources, before all other flags.
pub(super) const C: &[&str] = &["-std=gnu11"];

/// The language of C++ sources.
pub(super) const CXX: &[&str] = &["-std=gnu++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"];

/// Flags of every build.
///
/// Line numbers are kept so that a stop can be named `file.c:42`. They and the
/// symbols are all the debug information that the bench needs.
pub(super) const COMMON: &[&str] = &[
    "-Wall",
    "-Wextra",
    "-g1",
    "-gno-record-gcc-switches",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fno-ident",
    "-fasynchronous-unwind-tables",
];

/// Flags of every Rust source.
pub(super) const RUST: &[&str] = &[
    "--edition=2021",
    "--crate-type=lib",
    "--emit=asm",
    "-Cpanic=abort",
    "-Cforce-unwind-tables=yes",
    "-Ccodegen-units=1",
    "-Cdebuginfo=1",
];

/// Linker flags of every build: no library, nothing that varies between runs, and
/// no padding to large pages.
pub(super) const LINK: &[&str] =
    &["-nostdlib", "-Wl,--build-id=none", "-Wl,-z,max-page-size=4096", "-Wl,-z,noseparate-code"];

/// Flags of an executable with libraries, which are in the same folder. The
/// interpreter never runs, but programs without one do not get their libraries.
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
    /// The purpose of the variant.
    pub summary: &'static str,
    /// Compiler and linker flags.
    pub flags: &'static [&'static str],
    /// Flags of the Rust compiler; `None` if programs can't have Rust sources.
    pub rust_flags: Option<&'static [&'static str]>,
    /// The ABIs that have the variant.
    pub abis: &'static [Abi],
    /// The flags of shared libraries; `None` if programs can't have any.
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
        rust_flags: Some(&["-Copt-level=0", "-Crelocation-model=static"]),
        abis: &Abi::ALL,
        library_flags: None,
        by_default: true,
    },
    Variant {
        name: "O2",
        summary: "optimised, without frame pointers",
        flags: &["-O2", "-fomit-frame-pointer", "-static", "-no-pie", "-fno-pie"],
        rust_flags: Some(&["-Copt-level=2", "-Crelocation-model=static"]),
        abis: &Abi::ALL,
        library_flags: None,
        by_default: true,
    },
    Variant {
        name: "O2-fp",
        summary: "optimised, with frame pointers",
        flags: &["-O2", "-fno-omit-frame-pointer", "-static", "-no-pie", "-fno-pie"],
        rust_flags: Some(&["-Copt-level=2", "-Cforce-frame-pointers=yes", "-Crelocation-model=static"]),
        abis: &Abi::ALL,
        library_flags: None,
        by_default: true,
    },
    Variant {
        name: "O2-pie",
        summary: "optimised, position-independent; the runtime relocates it",
        flags: &["-O2", "-fpie", "-static-pie", "-Wl,--no-dynamic-linker"],
        rust_flags: Some(&["-Copt-level=2", "-Crelocation-model=pie"]),
        abis: &Abi::ALL,
        library_flags: None,
        by_default: true,
    },
    Variant {
        name: "O0-shared",
        summary: "as O0, but a shared object with an entry point, whose calls go through its PLT",
        flags: &["-O0", "-fPIC", "-shared", "-Wl,-e,_start", "-Wl,-z,lazy"],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-shared",
        summary: "optimised, a shared object with an entry point, whose calls go through its PLT",
        flags: &["-O2", "-fPIC", "-shared", "-Wl,-e,_start", "-Wl,-z,lazy"],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-fp-shared",
        summary: "the same with frame pointers",
        flags: &["-O2", "-fno-omit-frame-pointer", "-fPIC", "-shared", "-Wl,-e,_start", "-Wl,-z,lazy"],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O0-dynamic",
        summary: "as O0, with libraries; calls are bound when they are first made",
        flags: dynamic!["-O0", "-no-pie", "-fno-pie", "-Wl,-z,lazy"],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: Some(library!["-O0", "-Wl,-z,lazy"]),
        by_default: false,
    },
    Variant {
        name: "O2-dynamic",
        summary: "optimised, with libraries; calls are bound when they are first made",
        flags: dynamic!["-O2", "-fomit-frame-pointer", "-no-pie", "-fno-pie", "-Wl,-z,lazy"],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: Some(library!["-O2", "-fomit-frame-pointer", "-Wl,-z,lazy"]),
        by_default: false,
    },
    Variant {
        name: "O2-dynamic-pie",
        summary: "the same, position-independent",
        flags: dynamic!["-O2", "-fomit-frame-pointer", "-fpie", "-pie", "-Wl,-z,lazy"],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: Some(library!["-O2", "-fomit-frame-pointer", "-Wl,-z,lazy"]),
        by_default: false,
    },
    Variant {
        name: "O2-dynamic-now",
        summary: "the same, with all calls bound before the program starts",
        flags: dynamic!["-O2", "-fomit-frame-pointer", "-fpie", "-pie", "-Wl,-z,now"],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: Some(library!["-O2", "-fomit-frame-pointer", "-Wl,-z,now"]),
        by_default: false,
    },
    Variant {
        name: "O1",
        summary: "optimised a little",
        flags: &["-O1", "-fomit-frame-pointer", "-static", "-no-pie", "-fno-pie"],
        rust_flags: Some(&["-Copt-level=1", "-Crelocation-model=static"]),
        abis: &Abi::ALL,
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O3",
        summary: "optimised for speed alone",
        flags: &["-O3", "-fomit-frame-pointer", "-static", "-no-pie", "-fno-pie"],
        rust_flags: Some(&["-Copt-level=3", "-Crelocation-model=static"]),
        abis: &Abi::ALL,
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "Os",
        summary: "optimised for size",
        flags: &["-Os", "-fomit-frame-pointer", "-static", "-no-pie", "-fno-pie"],
        rust_flags: Some(&["-Copt-level=s", "-Crelocation-model=static"]),
        abis: &Abi::ALL,
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-lto",
        summary: "optimised when it is linked, as a whole",
        flags: &["-O2", "-fomit-frame-pointer", "-flto", "-static", "-no-pie", "-fno-pie"],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-sections",
        summary: "each function in a section of its own",
        flags: &["-O2", "-fomit-frame-pointer", "-ffunction-sections", "-static", "-no-pie", "-fno-pie"],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-gc",
        summary: "the same, and the linker drops those that nothing needs",
        flags: &[
            "-O2",
            "-fomit-frame-pointer",
            "-ffunction-sections",
            "-Wl,--gc-sections",
            "-static",
            "-no-pie",
            "-fno-pie",
        ],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-protector",
        summary: "every function checks a canary before it returns",
        flags: &["-O2", "-fomit-frame-pointer", "-fstack-protector-all", "-static", "-no-pie", "-fno-pie"],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-clash",
        summary: "large frames are probed page by page",
        flags: &["-O2", "-fomit-frame-pointer", "-fstack-clash-protection", "-static", "-no-pie", "-fno-pie"],
        rust_flags: None,
        abis: &Abi::ALL,
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-cet",
        summary: "indirect branches land at endbr64",
        flags: &["-O2", "-fomit-frame-pointer", "-fcf-protection=full", "-static", "-no-pie", "-fno-pie"],
        rust_flags: None,
        abis: &[Abi::Amd64],
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-bti",
        summary: "indirect branches land at bti, return addresses are signed",
        flags: &[
            "-O2",
            "-fomit-frame-pointer",
            "-mbranch-protection=standard",
            "-static",
            "-no-pie",
            "-fno-pie",
        ],
        rust_flags: None,
        abis: &[Abi::Aarch64, Abi::Aarch64Be],
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-packed",
        summary: "register save areas without gaps",
        flags: &["-O2", "-fomit-frame-pointer", "-mpacked-stack", "-static", "-no-pie", "-fno-pie"],
        rust_flags: None,
        abis: &[Abi::S390x],
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-packed-backchain",
        summary: "the same with a backchain, which needs software floating point",
        flags: &[
            "-O2",
            "-fomit-frame-pointer",
            "-mpacked-stack",
            "-mbackchain",
            "-msoft-float",
            "-static",
            "-no-pie",
            "-fno-pie",
        ],
        rust_flags: None,
        abis: &[Abi::S390x],
        library_flags: None,
        by_default: false,
    },
    Variant {
        name: "O2-backchain",
        summary: "each frame points to its caller's",
        flags: &["-O2", "-fomit-frame-pointer", "-mbackchain", "-static", "-no-pie", "-fno-pie"],
        rust_flags: None,
        abis: &[Abi::S390x],
        library_flags: None,
        by_default: false,
    },
];

impl Variant {
    /// Returns the variant of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Variant> {
        VARIANTS.iter().find(|variant| variant.name == name)
    }
}
