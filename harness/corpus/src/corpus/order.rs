//! One build to make, and the files that it consists of.

use sframe_engine::Abi;
use sframe_judge::truth::cross_check::FrameFlags;

use super::program::START;
use super::steps::Part;
use super::toolchain::AbiTools;
use super::{Program, Toolchain, Variant};

/// One build to make: a program, and everything that determines how it is compiled.
pub(super) struct Order<'a> {
    pub(super) id: &'a str,
    pub(super) abi: Abi,
    pub(super) tools: &'a AbiTools,
    pub(super) program: &'a Program,
    pub(super) variant: &'static Variant,
}

/// The files of a build.
pub(super) struct Parts<'a> {
    /// The libraries, each after those that it needs.
    pub(super) libraries: Vec<Part<'a>>,
    pub(super) program: Part<'a>,
}

impl<'a> Order<'a> {
    /// Returns the files of the build.
    pub(super) fn parts(&self) -> Parts<'a> {
        let Order { id, program, variant, .. } = *self;
        let name = format!("{}.{}", program.name, variant.name);
        let file_of = |library: &str| format!("{name}.{library}.so");
        let libraries = program.libraries.iter().map(|library| {
            let name = file_of(&library.name);
            let mut ldflags = library.ldflags.clone();
            ldflags.push(format!("-Wl,-soname,{name}"));
            Part {
                id,
                name,
                sources: &library.sources,
                start: None,
                objects: &[],
                variant,
                flags: variant.library_flags.unwrap_or_default(),
                cflags: &library.cflags,
                ldflags,
                libraries: library.needed.iter().map(|needed| file_of(needed)).collect(),
            }
        });
        let libraries: Vec<Part<'_>> = libraries.collect();
        let program = Part {
            id,
            sources: &program.sources,
            start: Some(START),
            objects: &program.objects,
            variant,
            flags: variant.flags,
            cflags: &program.cflags,
            ldflags: program.ldflags.clone(),
            libraries: libraries.iter().map(|library| library.name.clone()).collect(),
            name,
        };
        Parts { libraries, program }
    }

    /// Returns the compiler's options about frames, for all of the program.
    pub(super) fn frame_flags(&self, toolchain: &Toolchain) -> FrameFlags {
        let shared: Vec<&str> = (self.variant.flags.iter().copied())
            .chain(
                toolchain
                    .flags
                    .iter()
                    .chain(&self.tools.flags)
                    .chain(&self.program.cflags)
                    .map(String::as_str),
            )
            .collect();
        let of =
            |more: &[String]| FrameFlags::of(shared.iter().copied().chain(more.iter().map(String::as_str)));
        let objects = self.program.objects.iter().map(|object| of(&object.cflags));
        objects.fold(of(&[]), FrameFlags::and)
    }
}
