//! The commands that make one file of a build.

use std::path::Path;

use super::program::RUNTIME;
use super::toolchain::AbiTools;
use super::variant::{C, COMMON, CXX, LINK, RUST};
use super::{Error, ProgramObject, Toolchain, Variant};

/// One command, and its standard input.
pub(super) struct Step {
    /// Its purpose, such as `link`.
    pub(super) what: String,
    pub(super) arguments: Vec<String>,
    pub(super) input: Option<String>,
}

/// Where commands run.
pub(super) struct Place {
    /// The folder of the sources, to be hidden from debug information.
    pub(super) here: String,
    /// The prefix of the names of output files.
    pub(super) made: String,
    /// The folder with the tools that the compiler should call.
    pub(super) tools: String,
}

impl Place {
    /// Returns the place used in the manifest.
    pub(super) fn of_manifest() -> Self {
        Self { here: "$PWD".to_owned(), made: String::new(), tools: "$TOOLS".to_owned() }
    }
}

/// One file of a build.
pub(super) struct Part<'a> {
    /// The build's id.
    pub(super) id: &'a str,
    /// The file's name.
    pub(super) name: String,
    pub(super) sources: &'a [String],
    /// What the runtime adds to every file of this kind.
    pub(super) start: Option<&'a str>,
    /// Objects that are compiled separately.
    pub(super) objects: &'a [ProgramObject],
    pub(super) variant: &'static Variant,
    /// Flags of the variant.
    pub(super) flags: &'a [&'a str],
    /// Compiler and linker flags of the program or library.
    pub(super) cflags: &'a [String],
    pub(super) ldflags: Vec<String>,
    /// Files that it is linked with.
    pub(super) libraries: Vec<String>,
}

impl Part<'_> {
    /// Returns the sources that it is given, without functions of the runtime.
    pub(super) fn given_sources(&self) -> impl Iterator<Item = String> {
        self.sources.iter().cloned().chain(self.start.map(str::to_owned))
    }

    /// Returns the same with files of the runtime, by their names.
    pub(super) fn sources_with(&self, runtime: &[String]) -> Vec<String> {
        let mut sources: Vec<String> = self.given_sources().collect();
        for file in runtime.iter().map(|file| format!("{RUNTIME}{file}")) {
            if !sources.contains(&file) {
                sources.push(file);
            }
        }
        sources
    }

    /// Adds the sources of its objects to those that it is linked of.
    pub(super) fn with_objects(&self, mut linked: Vec<String>) -> Vec<String> {
        linked.extend(self.objects.iter().flat_map(|object| object.sources.iter().cloned()));
        linked
    }
}

/// The language of a source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    C,
    Assembly,
    Cxx,
    Rust,
}

impl Language {
    fn of(source: &str) -> Self {
        match Path::new(source).extension().and_then(std::ffi::OsStr::to_str) {
            Some("S") => Self::Assembly,
            Some("cc") => Self::Cxx,
            Some("rs") => Self::Rust,
            _ => Self::C,
        }
    }
}

/// Whether any source is in Rust.
pub(super) fn is_rust(sources: &[String]) -> bool {
    sources.iter().any(|source| Language::of(source) == Language::Rust)
}

/// Collects the commands for one part.
pub(super) struct Steps<'a> {
    toolchain: &'a Toolchain,
    tools: &'a AbiTools,
    part: &'a Part<'a>,
    place: &'a Place,
    steps: Vec<Step>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(
        toolchain: &'a Toolchain,
        tools: &'a AbiTools,
        part: &'a Part<'a>,
        place: &'a Place,
    ) -> Self {
        Self { toolchain, tools, part, place, steps: Vec::new() }
    }

    /// Compiles one source of `object`, or of the part itself, to the file named
    /// after the part.
    pub(super) fn compile(
        mut self,
        source: &str,
        object: Option<&ProgramObject>,
    ) -> Result<Vec<Step>, Error> {
        let output = self.made("");
        // An object that is optimised later does not have its symbols in its table.
        self.object(source, object, output, &["-fno-lto"])?;
        Ok(self.steps)
    }

    /// Makes the part from `sources`, which are its own and those of the runtime.
    pub(super) fn link(mut self, sources: &[String]) -> Result<Vec<Step>, Error> {
        let mut inputs = Vec::new();
        let mut unit = String::new();
        let one_unit = self.toolchain.one_unit;
        let is_cxx = one_unit && sources.iter().any(|source| Language::of(source) == Language::Cxx);
        let (language, dialect) = if is_cxx { ("c++", CXX) } else { ("c", C) };
        for source in sources {
            match Language::of(source) {
                Language::Rust => inputs.push(self.assembly(source)?),
                Language::C if is_cxx => {
                    unit.push_str(&format!("extern \"C\" {{\n#include \"{source}\"\n}}\n"));
                }
                Language::C | Language::Cxx if one_unit => {
                    unit.push_str(&format!("#include \"{source}\"\n"));
                }
                Language::Cxx => {
                    let object = self.made_of(source, "o");
                    self.object(source, None, object.clone(), &[])?;
                    inputs.push(object);
                }
                Language::Assembly if one_unit => {
                    let preprocessed = self.made_of(source, "s");
                    let mut arguments = self.flags(C, true);
                    arguments.extend(self.own_flags(self.part.cflags));
                    arguments.extend(words(&["-E", "-P", "-o", &preprocessed, source]));
                    self.push(format!("preprocess {source}"), arguments);
                    unit.push_str(&format!("__asm__(\".include \\\"{preprocessed}\\\"\");\n"));
                }
                Language::Assembly if !self.toolchain.assembly_flags.is_empty() => {
                    let object = self.made_of(source, "o");
                    self.object(source, None, object.clone(), &[])?;
                    inputs.push(object);
                }
                Language::C | Language::Assembly => inputs.push(source.clone()),
            }
        }
        for object in self.part.objects {
            inputs.push(self.linked_object(object)?);
        }

        let mut arguments = self.flags(dialect, true);
        arguments.extend(self.own_flags(self.part.cflags));
        arguments.extend(self.own_flags(&self.part.ldflags));
        arguments.extend(words(&["-o", &self.made("")]));
        let input = (!unit.is_empty()).then_some(unit);
        let libraries = self.part.libraries.iter();
        inputs.extend(libraries.map(|library| format!("{}{library}", self.place.made)));
        if input.is_some() {
            arguments.extend(words(&["-x", language, "-"]));
        }
        if input.is_some() && !inputs.is_empty() {
            arguments.extend(words(&["-x", "none"]));
        }
        arguments.extend(inputs);
        self.steps.push(Step { what: "link".to_owned(), arguments, input });
        Ok(self.steps)
    }

    /// Makes one object of the program.
    fn linked_object(&mut self, object: &ProgramObject) -> Result<String, Error> {
        let mut inputs = Vec::new();
        for source in &object.sources {
            let output = self.made_of(&format!("{}.{source}", object.name), "o");
            self.object(source, Some(object), output.clone(), &[])?;
            inputs.push(output);
        }
        if let [only] = inputs.as_slice() {
            return Ok(only.clone());
        }
        let output = self.made(&format!(".{}.o", object.name));
        let mut arguments = vec![self.tools.compiler.clone()];
        arguments.extend(self.toolchain.flags.iter().chain(&self.tools.flags).cloned());
        arguments.extend(self.chosen_tools());
        arguments.extend(words(&["-nostdlib", "-r", "-o", &output]));
        arguments.extend(inputs);
        self.push(format!("link {} partially", object.name), arguments);
        Ok(output)
    }

    /// Compiles one source to the object `output`.
    fn object(
        &mut self,
        source: &str,
        object: Option<&ProgramObject>,
        output: String,
        more: &[&str],
    ) -> Result<(), Error> {
        let input = match Language::of(source) {
            Language::Rust => self.assembly(source)?,
            _ => source.to_owned(),
        };
        let language = if Language::of(source) == Language::Cxx { CXX } else { C };
        let mut arguments = self.flags(language, object.is_none_or(|object| object.sframe));
        arguments.extend(self.own_flags(self.part.cflags));
        arguments.extend(object.into_iter().flat_map(|object| self.own_flags(&object.cflags)));
        if Language::of(source) == Language::Assembly {
            arguments.extend(self.toolchain.assembly_flags.iter().cloned());
        }
        arguments.extend(words(more));
        arguments.extend(words(&["-c", "-o", &output, &input]));
        self.push(format!("compile {source}"), arguments);
        Ok(())
    }

    /// Compiles a Rust source to assembly.
    fn assembly(&mut self, source: &str) -> Result<String, Error> {
        let (Some(compiler), Some(flags)) = (&self.tools.rust, self.part.variant.rust_flags) else {
            return Err(Error::NoRust { build: self.part.id.to_owned() });
        };
        let output = self.made_of(source, "s");
        let mut arguments = vec![compiler.clone()];
        arguments.extend(words(RUST));
        arguments.extend(words(flags));
        arguments.push(format!("--remap-path-prefix={}=.", self.place.here));
        arguments.extend(words(&["-o", &output, source]));
        self.push(format!("compile {source}"), arguments);
        Ok(output)
    }

    /// Returns how each command of the compiler starts.
    fn flags(&self, language: &[&str], sframe: bool) -> Vec<String> {
        let mut arguments = vec![self.tools.compiler.clone()];
        arguments.extend(words(language));
        arguments.extend(words(COMMON));
        arguments.push(format!("-ffile-prefix-map={}=.", self.place.here));
        arguments.extend(words(self.part.flags));
        arguments.extend(words(LINK));
        if sframe {
            arguments.extend(self.toolchain.sframe_flags.iter().cloned());
        }
        arguments.extend(self.toolchain.flags.iter().chain(&self.tools.flags).cloned());
        arguments.extend(self.chosen_tools());
        arguments
    }

    /// Returns the flag that makes the compiler call the assembler and linker of
    /// the definition.
    fn chosen_tools(&self) -> Option<String> {
        self.tools.chosen().next().map(|_| format!("-B{}/", self.place.tools))
    }

    /// Returns the flags of a program that the toolchain understands.
    fn own_flags<'f>(&'f self, flags: &'f [String]) -> impl Iterator<Item = String> + 'f {
        flags.iter().filter(|flag| !self.toolchain.needless_flags.contains(flag)).cloned()
    }

    /// Returns the part's file, or one next to it.
    fn made(&self, suffix: &str) -> String {
        format!("{}{}{suffix}", self.place.made, self.part.name)
    }

    /// Returns the name of a file made from one source.
    fn made_of(&self, source: &str, extension: &str) -> String {
        self.made(&format!(".{}.{extension}", source.replace('/', "-")))
    }

    fn push(&mut self, what: String, arguments: Vec<String>) {
        self.steps.push(Step { what, arguments, input: None });
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Returns the commands in shell syntax.
pub(super) fn shell(steps: &[Step]) -> String {
    let line = |step: &Step| {
        let command = step.arguments.join(" ").replace("$ORIGIN", "\\$ORIGIN");
        match &step.input {
            None => command,
            Some(input) => {
                let lines: String = input.lines().map(|line| format!(" '{line}'")).collect();
                format!("printf '%s\\n'{lines} | {command}")
            }
        }
    };
    steps.iter().map(line).collect::<Vec<_>>().join(" && ")
}
