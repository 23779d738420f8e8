//! How a program is linked.

use serde::Serialize;
use sframe_corpus::corpus::Joint;
use sframe_engine::Abi;

use super::flags::{self, Compiler};
use crate::generate::Random;

/// What kind of file a program becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// At a fixed address.
    Static,
    /// At any address; it relocates itself.
    Pie,
    /// A shared object that has an entry, and calls its own functions through its PLT.
    Shared,
}

impl Form {
    /// The flags for its compiler and linker.
    pub(super) const fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Static => &["-static", "-no-pie", "-fno-pie"],
            Self::Pie => &["-fpie", "-static-pie", "-Wl,--no-dynamic-linker", "-DRELOCATED"],
            Self::Shared => &["-fPIC", "-shared", "-Wl,-e,_start", "-DRELOCATED"],
        }
    }
}

/// How one file of a program becomes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectForm {
    /// Whether it has call frame information, and SFrame.
    pub is_described: bool,
    /// How it is joined with others.
    #[serde(skip)]
    pub joint: Joint,
}

impl ObjectForm {
    /// As compilers make it.
    pub const PLAIN: Self = Self { is_described: true, joint: Joint::Apart };

    /// What is unusual about it, in words.
    pub(super) const fn says(self) -> Option<&'static str> {
        match (self.is_described, self.joint) {
            (true, Joint::Apart) => None,
            (true, Joint::Relocatable) => Some("with ld -r: file"),
            (true, Joint::Archive) => Some("in an archive: file"),
            (false, Joint::Apart) => Some("without CFI: file"),
            (false, Joint::Relocatable) => Some("with ld -r and without CFI: file"),
            (false, Joint::Archive) => Some("in an archive and without CFI: file"),
        }
    }
}

/// How a program is linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What it becomes.
    pub form: Form,
    /// Flags of the linker. Each can be dropped alone.
    pub flags: Vec<String>,
    /// Its objects, by file.
    pub objects: Vec<ObjectForm>,
}

/// Flags of linkers, each with whether only GNU's has it.
const FLAGS: &[(&str, bool)] = &[
    ("-Wl,-z,now", false),
    ("-Wl,-z,lazy", false),
    ("-Wl,-z,separate-code", false),
    ("-Wl,-z,noseparate-code", false),
    ("-Wl,-z,norelro", false),
    ("-Wl,--emit-relocs", false),
    ("-Wl,--gc-sections", false),
    ("-Wl,-Bsymbolic-functions", false),
    ("-Wl,--hash-style=gnu", false),
    ("-Wl,--sort-section=alignment", false),
    ("-Wl,-O1", false),
    ("-Wl,--no-ld-generated-unwind-info", true),
    ("-Wl,--traditional-format", true),
];

/// How often each is used, in programs of a hundred.
const OFTEN: u64 = 8;

/// Draws how a program of some files is linked. A toolchain of one unit has one object.
pub(super) fn draw(random: &mut Random, compiler: Compiler, abi: Abi, files: u32, is_one_unit: bool) -> Link {
    let form = match random.below(10) {
        0..=5 => Form::Static,
        6 | 7 => Form::Pie,
        _ => Form::Shared,
    };
    let is_gnu = compiler == Compiler::Gcc;
    let mut flags = Vec::new();
    for (flag, is_gnus) in FLAGS {
        let is_known = !flag.contains("ld-generated") || flags::writes_unwind_information(abi);
        if random.percent(OFTEN) && (is_gnu || !is_gnus) && is_known {
            flags.push((*flag).to_owned());
        }
    }
    if is_gnu {
        flags.extend(
            flags::of_linker(abi).iter().filter(|_| random.percent(OFTEN)).map(|flag| (*flag).to_owned()),
        );
    }
    let objects = (0..files).map(|_| {
        let is_described = !random.percent(10);
        let joint = match random.below(10) {
            0 => Joint::Relocatable,
            1 => Joint::Archive,
            _ => Joint::Apart,
        };
        ObjectForm { is_described, joint }
    });
    let objects: Vec<ObjectForm> = objects.collect();
    let objects = if is_one_unit { vec![ObjectForm::PLAIN] } else { objects };
    Link { form, flags, objects }
}

impl Link {
    /// As programs are usually linked.
    #[must_use]
    pub fn plain(files: usize) -> Self {
        Self { form: Form::Static, flags: Vec::new(), objects: vec![ObjectForm::PLAIN; files] }
    }

    /// Whether all of its objects have call frame information and SFrame.
    #[must_use]
    pub fn is_described(&self) -> bool {
        self.objects.iter().all(|object| object.is_described)
    }
}
