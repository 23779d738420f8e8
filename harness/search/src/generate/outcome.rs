//! What becomes of a program that a toolchain is given.

use sframe_corpus::corpus::{Error, MadeProgram, is_crash};
use sframe_corpus::signs::without_numbers;
use sframe_judge::vocabulary::Verdict;

use super::found::Kind;

/// What became of a program.
pub(super) enum Outcome<J, W> {
    /// What is known of it.
    Judged(J),
    /// It was made, and can't be judged: why.
    Unjudged(W),
    /// It was not made: what the tools say.
    Refused(String),
}

impl<J, W> Outcome<J, W> {
    /// Judges what a toolchain has made.
    ///
    /// # Errors
    /// The toolchain does not compile for the ABI, or can't be started.
    pub(super) fn of(
        made: Result<MadeProgram, Error>,
        judge: impl FnOnce(&[u8]) -> Result<J, W>,
    ) -> Result<Self, Error> {
        match made {
            Ok(made) => Ok(judge(&made.bytes).map_or_else(Self::Unjudged, Self::Judged)),
            Err(Error::Compiler { stderr, .. }) => Ok(Self::Refused(stderr)),
            Err(error) => Err(error),
        }
    }
}

/// Whether a verdict says that the values are wrong which a row gives.
pub(super) const fn is_of_value(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::WrongCfa | Verdict::WrongRa | Verdict::WrongFp)
}

/// The first complaint of a compiler, assembler or linker, without the place and numbers.
pub(super) fn complaint(said: &str) -> String {
    // The surest words first; what follows from others comes last.
    const WORDS: [&str; 5] =
        ["undefined reference", "internal compiler error", "Internal error", "rror: ", "ld: "];
    let lines = || said.lines().filter(|line| !line.contains("returned 1 exit status"));
    let complaint = WORDS.iter().find_map(|words| lines().find(|line| line.contains(words)));
    let line = complaint.or_else(|| lines().next()).unwrap_or_default();
    let message = line.rsplit_once("rror: ").map_or(line, |(_, message)| message);
    without_numbers(message.trim())
}

/// What a program is that tools do not make.
pub(super) fn not_made<C>(stderr: &str) -> Kind<C> {
    if is_crash(stderr) { Kind::Crashed(complaint(stderr)) } else { Kind::Refused(complaint(stderr)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_reduced_to_what_they_say() {
        let exits = "collect2: error: ld returned 1 exit status";
        let said = format!("unit0.c: In function 'f':\nunit0.c:3:9: error: expected ';'\n{exits}");
        assert_eq!(complaint(&said), "expected ';'");
        let said = format!("/usr/bin/ld: unit0.o: relocation R_390_12 overflows\n{exits}");
        assert_eq!(complaint(&said), "/usr/bin/ld: unit0.o: relocation R_N_N overflows");
        let said = "generated.s: Assembler messages:\ngenerated.s:12: Error: no such instruction: `x'\n";
        assert_eq!(complaint(said), "no such instruction: `x'");
        assert_eq!(complaint("killed"), "killed");
        let crash = "x.s: Assembler messages:\nx.s: Internal error (Segmentation fault).\n";
        assert_eq!(complaint(crash), "x.s: Internal error (Segmentation fault).");
    }
}
