//! What a toolchain is made of: what its definition says, or else its tools.

use sframe_engine::Abi;

use super::{Error, Maker, Properties};
use crate::spec::{Assembler, Compiler, Linker, Producer, Tool, ToolName, ToolVersion};

impl Maker {
    /// The compiler, the assembler and the linker, with their versions: as declared, or as they say. What
    /// neither says is `None`.
    ///
    /// # Errors
    /// The toolchain does not compile for the ABI.
    pub fn producer(&self, abi: Abi) -> Result<Producer, Error> {
        let properties = &self.toolchain().properties;
        let is_declared = matches!(
            properties,
            Properties { compiler: Some(_), assembler: Some(_), linker: Some(_), can: _ }
        );
        let asked = if is_declared {
            self.command(abi, &[])?;
            Producer::default()
        } else {
            self.asked(abi)?
        };
        Ok(properties.or_those_of(&asked))
    }

    /// Where the tools say that they are others than the definition declares, a sentence for each. Specs and pages of
    /// known bugs apply by what is declared.
    ///
    /// # Errors
    /// The toolchain does not compile for the ABI.
    pub fn contradictions(&self, abi: Abi) -> Result<Vec<String>, Error> {
        let Properties { compiler, assembler, linker, can: _ } = &self.toolchain().properties;
        if (compiler, assembler, linker) == (&None, &None, &None) {
            return Ok(Vec::new());
        }
        let asked = self.asked(abi)?;
        let all = [
            contradiction("compiler", compiler.as_ref(), asked.compiler.as_ref()),
            contradiction("assembler", assembler.as_ref(), asked.assembler.as_ref()),
            contradiction("linker", linker.as_ref(), asked.linker.as_ref()),
        ];
        Ok(all.into_iter().flatten().collect())
    }

    /// What the tools say.
    fn asked(&self, abi: Abi) -> Result<Producer, Error> {
        let command = self.command(abi, &[])?;
        let compiler_command = &command[0];
        let compiler = self.line(&[compiler_command, "--version"]).and_then(|line| compiler_of(&line));
        let assembler = match compiler.as_ref().filter(|tool| tool.name == Compiler::Clang) {
            Some(clang) if !command.iter().any(|word| word == "-fno-integrated-as") => {
                Some(Tool { name: Assembler::Llvm, version: clang.version.clone() })
            }
            _ => self.assembler(abi, compiler_command),
        };
        let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
        words.push("-Wl,--version");
        let linker = self.line(&words).and_then(|line| linker_of(&line));
        Ok(Producer { compiler, assembler, linker, ..Producer::default() })
    }

    fn assembler(&self, abi: Abi, compiler: &str) -> Option<Tool<Assembler>> {
        let chosen = self.toolchain().abis.get(&abi).and_then(|tools| tools.assembler.clone());
        let program = chosen.or_else(|| self.line(&[compiler, "-print-prog-name=as"]))?;
        let line = self.line(&[&program, "--version"])?;
        let version = line.strip_prefix("GNU assembler ").and_then(last_version)?;
        Some(Tool { name: Assembler::Gas, version })
    }
}

/// What is declared and what is said, if they are not the same as far as versions are declared.
fn contradiction<N: ToolName>(
    key: &str,
    declared: Option<&Tool<N>>,
    said: Option<&Tool<N>>,
) -> Option<String> {
    let (declared, said) = (declared?, said?);
    let is_same = declared.name == said.name && declared.version.includes(&said.version);
    (!is_same).then(|| format!("`{key}: {declared}` is declared, and the tool says that it is {said}"))
}

/// Reads the first line of `gcc --version` or `clang --version`.
fn compiler_of(line: &str) -> Option<Tool<Compiler>> {
    if let Some((_, rest)) = line.split_once("clang version ") {
        return Some(Tool { name: Compiler::Clang, version: first_version(rest)? });
    }
    let is_gcc = line.split_whitespace().next().is_some_and(|name| name.contains("gcc"));
    is_gcc.then(|| Some(Tool { name: Compiler::Gcc, version: last_version(line)? })).flatten()
}

/// Reads the first line of what a linker says of itself.
fn linker_of(line: &str) -> Option<Tool<Linker>> {
    let of = |name, version: Option<ToolVersion>| Some(Tool { name, version: version? });
    match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["GNU", "ld", ..] => of(Linker::Ld, last_version(line)),
        ["GNU", "gold", ..] => of(Linker::Gold, last_version(line)),
        ["mold", version, ..] => of(Linker::Mold, first_version(version)),
        _ => line.split_once("LLD ").and_then(|(_, rest)| of(Linker::Lld, first_version(rest))),
    }
}

/// The version that is the first word: what is neither a digit nor a dot ends it, as in `22.1.0-rc1`.
fn first_version(text: &str) -> Option<ToolVersion> {
    let word = text.split_whitespace().next()?;
    let end = word.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(word.len());
    word[..end].trim_end_matches('.').parse().ok()
}

/// The version that is the last word, or the last one that begins with a digit: `12.2.0 20230101` has a date.
fn last_version(line: &str) -> Option<ToolVersion> {
    let outside = line.rsplit_once(')').map_or(line, |(_, rest)| rest);
    let word =
        outside.split_whitespace().find(|word| word.starts_with(|char: char| char.is_ascii_digit()))?;
    first_version(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_held_against_what_tools_say() {
        let told = |declared: &str, said: &str| {
            let [declared, said] = [declared, said].map(|tool| tool.parse::<Tool<Linker>>().expect("a tool"));
            contradiction("linker", Some(&declared), Some(&said))
        };
        for said in ["ld 2.47", "ld 2.47.50", "ld 2.47.0.20260322"] {
            assert_eq!(told("ld 2.47", said), None);
        }
        for said in ["ld 2.4", "ld 2.48", "ld 2.470", "gold 2.47"] {
            let told = told("ld 2.47", said).expect(said);
            assert_eq!(told, format!("`linker: ld 2.47` is declared, and the tool says that it is {said}"));
        }
        assert_eq!(contradiction::<Linker>("linker", None, None), None);
    }

    #[test]
    fn tools_say_what_they_are() {
        let gcc = |line| compiler_of(line).map(|tool| tool.to_string());
        assert_eq!(gcc("gcc (Debian 12.2.0-14+deb12u1) 12.2.0").as_deref(), Some("gcc 12.2"));
        assert_eq!(
            gcc("s390x-linux-gnu-gcc-16 (Debian 16-20260322-1) 16.0.1 20260322").as_deref(),
            Some("gcc 16.0.1")
        );
        assert_eq!(gcc("Debian clang version 22.1.0-rc1 (1)").as_deref(), Some("clang 22.1"));
        assert_eq!(gcc("icc 3.0"), None);
        let ld = |line| linker_of(line).map(|tool| tool.to_string());
        assert_eq!(ld("GNU ld (GNU Binutils for Debian) 2.40").as_deref(), Some("ld 2.40"));
        assert_eq!(ld("GNU ld version 2.41.20230801").as_deref(), Some("ld 2.41.20230801"));
        assert_eq!(ld("GNU gold (GNU Binutils 2.41) 1.16").as_deref(), Some("gold 1.16"));
        assert_eq!(ld("mold 2.4.0 (compatible with GNU ld)").as_deref(), Some("mold 2.4"));
        assert_eq!(ld("Debian LLD 22.1.0 (compatible with GNU linkers)").as_deref(), Some("lld 22.1"));
        assert_eq!(ld("collect2 version"), None);
    }
}
