//! Who has made a file, or some code in it, as the file says.

use std::cell::OnceCell;

use sframe_elf::compile_units::{CompileUnits, Producer};
use sframe_elf::object_file::ObjectFile;

use crate::spec::{Assembler, Compiler, Component, Library, Linker, Tool, ToolName};

/// Who has made the code of a file.
pub(super) struct MakersOfCode<'o> {
    /// Those of the file as a whole.
    pub(super) file: Makers,
    object: &'o ObjectFile<'o>,
    /// Read when the first code is asked about.
    units: OnceCell<CompileUnits>,
}

impl<'o> MakersOfCode<'o> {
    pub(super) fn of(object: &'o ObjectFile<'o>) -> Self {
        Self { file: Makers::of(object), object, units: OnceCell::new() }
    }

    /// Who has made the code at an address: where debug information does not say so, it may be anybody whom the file
    /// names.
    pub(super) fn at(&self, address: u64) -> Makers {
        // Of what is not linked yet, each unit begins at 0.
        let units = || match self.object.is_relocatable() {
            true => CompileUnits::default(),
            false => self.object.compile_units(),
        };
        let producer = self.units.get_or_init(units).producer_at(address);
        producer.map_or_else(|| self.file.clone(), |who| self.file.of_unit(who))
    }
}

/// The tools that a file names in `.comment`, or in a note, as compilers and some linkers write it, and the C library
/// that it says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Makers {
    compilers: Vec<Tool<Compiler>>,
    linkers: Vec<Tool<Linker>>,
    libraries: Vec<Tool<Library>>,
    /// Whether another compiler has named itself that has LLVM's code generator, of an unknown version.
    has_other_llvm: bool,
    /// Whether a linker has named itself of which no page says anything.
    has_other_linker: bool,
    /// If these compilers are that of the code, and not only all of the file: the assembler of code without one of these.
    unit: Option<Assembler>,
}

impl Makers {
    /// Those of a file.
    fn of(file: &ObjectFile<'_>) -> Self {
        let libraries = file.c_library().and_then(|version| tool("glibc", version)).into_iter().collect();
        Self { libraries, ..Self::named_in(&file.comments()) }
    }

    fn named_in(comments: &[String]) -> Self {
        let mut makers = Self::default();
        for comment in comments {
            // `GCC: (Debian 14.2.0-19) 14.2.0`, `Debian clang version 19.1.7 (3)`, `ldc version 1.42.0`,
            // `Linker: LLD 22.1.0`, `mold 2.40.1 (compatible with GNU ld)`, `gold 1.16`, `Linker: Wild version 0.10.0`
            if let Some(version) = comment.strip_prefix("GCC: (").and_then(|rest| rest.rsplit_once(") ")) {
                makers.compilers.extend(tool("gcc", version.1));
            } else if let Some((_, version)) = comment.split_once("clang version ") {
                makers.compilers.extend(tool("clang", version));
            } else if let Some((_, version)) = comment.split_once("LLD ") {
                makers.linkers.extend(tool("lld", version));
            } else if let Some(version) = comment.strip_prefix("mold ") {
                makers.linkers.extend(tool("mold", version));
            } else if let Some(version) = comment.strip_prefix("gold ") {
                makers.linkers.extend(tool("gold", version));
            } else if comment.starts_with("ldc version ") {
                makers.has_other_llvm = true;
            } else if comment.starts_with("Linker: ") {
                makers.has_other_linker = true;
            }
        }
        makers
    }

    /// Those of code in the file whose producer says this of itself: `GNU C17 14.2.0 -O2`, `GNU AS 2.47`, `clang version
    /// 22.1.0`, `clang LLVM (rustc version 1.95.0)`.
    fn of_unit(&self, Producer { name, is_assembled }: Producer<'_>) -> Self {
        let of_clang = || tool("clang", name.split_once("clang version ")?.1);
        let of_gnu = || name.strip_prefix("GNU ").filter(|rest| !rest.starts_with("AS "));
        let of_gcc = || tool("gcc", of_gnu()?.split(' ').find(|word| word.contains('.'))?);
        let compilers: Vec<_> =
            if is_assembled { Vec::new() } else { of_clang().or_else(of_gcc).into_iter().collect() };
        let is_of_llvm = ["LLVM", "LDC", "flang", "clang"].iter().any(|of| name.contains(of));
        let brings_llvm = compilers.is_empty() && is_of_llvm;
        let has_other_llvm = brings_llvm && !is_assembled;
        let unit = Some(if brings_llvm { Assembler::Llvm } else { Assembler::Gas });
        Self { compilers, has_other_llvm, unit, ..self.clone() }
    }

    /// Whether a component may have made the file. Of a tool that writes no version, the last one must have the fault:
    /// one that is mended may have come back.
    pub(super) fn may_have(&self, component: &Component) -> bool {
        match component {
            Component::Compiler(range) => {
                let is_of_llvm = range.name == Compiler::Clang && self.has_other_llvm;
                !self.may_be_of_clang(range.name)
                    && (self.compilers.iter().any(|compiler| range.contains(compiler))
                        || is_of_llvm && range.since.is_none() && range.before.is_none())
            }
            Component::Assembler(range) => range.before.is_none() && self.may_have_used(range.name),
            Component::Linker(range) if self.linkers.iter().any(|linker| linker.name == range.name) => {
                self.linkers.iter().any(|linker| range.contains(linker))
            }
            Component::Linker(range) => {
                let is_of_another = !self.linkers.is_empty() || self.has_other_linker;
                range.name == Linker::Ld && range.before.is_none() && !is_of_another
            }
            Component::Library(range) if self.libraries.iter().any(|library| library.name == range.name) => {
                self.libraries.iter().any(|library| range.contains(library))
            }
            // The signs name the library.
            Component::Library(range) => range.before.is_none(),
        }
    }

    /// Whether the file does not name such components, but can have been made by one or contain it.
    pub(super) fn may_be_unnamed(&self, component: &Component) -> bool {
        match component {
            Component::Compiler(range) => {
                self.unit.is_none() && (self.compilers.is_empty() || self.may_be_of_clang(range.name))
            }
            Component::Library(_) => self.libraries.is_empty(),
            Component::Assembler(_) | Component::Linker(_) => false,
        }
    }

    /// Whether it is not known that GCC has made code: each program that Clang makes has start files of GCC's.
    pub(super) fn may_be_of_clang(&self, compiler: Compiler) -> bool {
        let is_named = |name: Compiler| self.compilers.iter().any(|compiler| compiler.name == name);
        let has_llvm = self.has_other_llvm || is_named(Compiler::Clang);
        compiler == Compiler::Gcc && is_named(Compiler::Gcc) && has_llvm
    }

    /// Whether an assembler may have made code: compilers have one that they use, or bring their own.
    fn may_have_used(&self, assembler: Assembler) -> bool {
        let compiler = match assembler {
            Assembler::Gas => Compiler::Gcc,
            Assembler::Llvm => Compiler::Clang,
        };
        match &self.compilers[..] {
            [] => assembler == self.unit.unwrap_or(Assembler::Gas),
            compilers => compilers.iter().any(|it| it.name == compiler),
        }
    }
}

/// A tool, with the version that text begins with.
fn tool<N: ToolName>(name: &str, text: &str) -> Option<Tool<N>> {
    let is_of_version = |char: char| char.is_ascii_digit() || char == '.';
    let version = text.split(|char: char| !is_of_version(char)).next()?.trim_end_matches('.');
    format!("{name} {version}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_name_their_compilers_and_lld() {
        let comments = [
            "GCC: (Debian 12.2.0-14+deb12u1) 12.2.0",
            "Debian clang version 19.1.7 (3)",
            "clang version 22.1.0 (https://github.com/llvm/llvm-project 0123)",
            "Linker: Debian LLD 22.1.0 (++2026)",
            "rustc version 1.95.0",
            "GCC: (GNU) experimental",
        ];
        let makers = Makers::named_in(&comments.map(str::to_owned));
        let compilers: Vec<String> = makers.compilers.iter().map(Tool::to_string).collect();
        assert_eq!(compilers, ["gcc 12.2", "clang 19.1.7", "clang 22.1"]);
        assert_eq!(makers.linkers.iter().map(Tool::to_string).collect::<Vec<_>>(), ["lld 22.1"]);
        let may_have = |makers: &Makers, component: Component| makers.may_have(&component);
        let compiler = |range: &str| Component::Compiler(range.parse().expect("a range"));
        assert!(may_have(&makers, compiler("clang >= 22")) && !may_have(&makers, compiler("clang < 19")));
        // GCC may have made the start files alone.
        let gcc = || compiler("gcc >= 12");
        assert!(!may_have(&makers, gcc()) && makers.may_be_unnamed(&gcc()));
        let of_gcc = Makers::named_in(&[comments[0].to_owned()]);
        // Of which version its LLVM is, nothing says.
        let of_ldc = Makers::named_in(&["ldc version 1.42.0", comments[0]].map(str::to_owned));
        assert!(may_have(&of_ldc, compiler("clang")) && !may_have(&of_ldc, compiler("clang >= 3")));
        assert!(!may_have(&of_ldc, gcc()) && !may_have(&of_gcc, compiler("clang")));
        assert!(may_have(&of_gcc, gcc()) && !of_gcc.may_be_unnamed(&gcc()));
        assert!(!may_have(&of_gcc, compiler("gcc >= 13")));
        // Who is not named may have made anything: nothing is said of that.
        let nobody = Makers::default();
        assert!(!may_have(&nobody, compiler("gcc")));
        let assembler = |range: &str| Component::Assembler(range.parse().expect("a range"));
        assert!(may_have(&nobody, assembler("gas >= 2.47")) && !may_have(&nobody, assembler("gas < 2.47")));
        let linker = |range: &str| Component::Linker(range.parse().expect("a range"));
        assert!(may_have(&nobody, linker("ld >= 2.44")) && !may_have(&nobody, linker("ld < 2.44")));
        // These say who they are.
        assert!(!may_have(&nobody, linker("lld")) && !may_have(&nobody, linker("mold")));
        let of = |comment: &str| Makers::named_in(&[comment.to_owned()]);
        let mold = of("mold 2.40.1 (compatible with GNU ld)");
        assert!(may_have(&mold, linker("mold < 3")) && !may_have(&mold, linker("ld")));
        let gold = of("gold 1.16");
        assert!(may_have(&gold, linker("gold")) && !may_have(&gold, linker("ld")));
        assert!(!may_have(&of("Linker: Wild version 0.10.0"), linker("ld")));
        assert!(!may_have(&makers, linker("ld")) && may_have(&makers, linker("lld < 23")));
    }

    /// What has made the unit of some code has made it, whatever else the file names.
    #[test]
    fn code_is_of_the_compiler_that_its_unit_names() {
        let file =
            Makers::named_in(&["GCC: (Debian 14.2.0-19) 14.2.0", "clang version 22.1.0"].map(str::to_owned));
        let of_unit = |name, is_assembled| file.of_unit(Producer { name, is_assembled });
        let may_have = |makers: &Makers| {
            ["gcc >= 14", "gcc < 14", "clang >= 22", "clang"].map(|range| {
                let compiler = Component::Compiler(range.parse().expect("a range"));
                (makers.may_have(&compiler), makers.may_be_unnamed(&compiler))
            })
        };
        let (yes, no, unnamed) = ((true, false), (false, false), (false, true));
        assert_eq!(may_have(&file), [unnamed, unnamed, yes, yes]);
        assert_eq!(may_have(&of_unit("GNU C17 14.2.0 -mtune=generic -O2", false)), [yes, no, no, no]);
        assert_eq!(may_have(&of_unit("GNU C++17 13.3.1 20240522 -O2", false)), [no, yes, no, no]);
        assert_eq!(may_have(&of_unit("Debian clang version 22.1.0 (3)", false)), [no, no, yes, yes]);
        assert_eq!(may_have(&of_unit("clang version 19.1.7", false)), [no, no, no, yes]);
        assert_eq!(
            may_have(&of_unit("clang LLVM (rustc version 1.95.0 (59807616e 2026-04-14))", false)),
            [no, no, no, yes]
        );
        assert_eq!(may_have(&of_unit("LDC 1.42.0 (LLVM 21.1.8)", false)), [no, no, no, yes]);
        assert_eq!(may_have(&of_unit("GNU AS 2.47.50", true)), [no; 4]);
        assert_eq!(may_have(&of_unit("Go cmd/compile go1.25; regabi", false)), [no; 4]);
        assert_eq!(may_have(&of_unit("clang version 22.1.0", true)), [no; 4]);
        let assembler = |makers: &Makers| {
            ["gas", "llvm"].map(|name| makers.may_have(&Component::Assembler(name.parse().expect("a range"))))
        };
        assert_eq!(assembler(&of_unit("GNU AS 2.47.50", true)), [true, false]);
        assert_eq!(assembler(&of_unit("GNU C17 14.2.0", false)), [true, false]);
        assert_eq!(assembler(&of_unit("clang version 22.1.0", false)), [false, true]);
        assert_eq!(assembler(&of_unit("clang version 22.1.0", true)), [false, true]);
        assert_eq!(assembler(&of_unit("clang LLVM (rustc version 1.95.0)", false)), [false, true]);
    }

    /// Static programs do not say which version of the library they have.
    #[test]
    fn an_unnamed_library_may_have_a_fault_of_old_versions() {
        let range = |range: &str| Component::Library(range.parse().expect("a range"));
        let of = |libraries: &[&str]| Makers {
            libraries: libraries.iter().map(|tool| tool.parse().expect("a library")).collect(),
            ..Makers::default()
        };
        assert!(of(&[]).may_be_unnamed(&range("glibc < 2.37")) && !of(&[]).may_have(&range("glibc < 2.37")));
        assert!(!of(&["glibc 2.41"]).may_be_unnamed(&range("glibc < 2.37")));
        assert!(of(&["glibc 2.36"]).may_have(&range("glibc < 2.37")));
    }
}
