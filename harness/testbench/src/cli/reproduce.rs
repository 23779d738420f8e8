//! Commands that reproduce findings: this process's own command line, without what does not change
//! results, and for one case instead of all.

use std::ffi::OsString;
use std::sync::OnceLock;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Command};
use sframe_suite::report::quoted;

/// Makes the definition of the command line.
type Definition = fn() -> Command;

static DEFINITION: OnceLock<Definition> = OnceLock::new();

/// Says how command lines are read.
pub(super) fn begin(definition: Definition) {
    // There is one definition, so it does not matter who is first.
    let _ = DEFINITION.set(definition);
}

/// Options of every command that only say where results go, what is taken from earlier runs, and
/// how many are made at once. Those that select cases are replaced.
const LEFT_OUT: [&str; 13] = [
    "abi",
    "baseline",
    "case",
    "in-process",
    "jobs",
    "json",
    "report",
    "resume",
    "shard",
    "spec",
    "toolchain",
    "variant",
    "write-known",
];

/// The command line that this process was started with.
pub(super) struct Invocation {
    /// The names of the program and the command.
    command: String,
    /// The options that change results, as words for a shell.
    options: Vec<String>,
    /// The file, or whatever else has no name.
    positional: Vec<String>,
    /// What comes after `--`.
    last: Vec<String>,
}

impl Invocation {
    /// Reads it. The arguments were parsed before, so there is one.
    pub(super) fn of_this_process() -> Self {
        let definition = DEFINITION.get().map(|definition| definition()).unwrap_or_default();
        Self::of(&definition, std::env::args_os())
    }

    fn of(definition: &Command, words: impl IntoIterator<Item = OsString>) -> Self {
        let mut invocation =
            Self { command: String::new(), options: Vec::new(), positional: Vec::new(), last: Vec::new() };
        let parsed = definition.clone().try_get_matches_from(words).ok();
        if let Some((name, matches)) = parsed.as_ref().and_then(ArgMatches::subcommand) {
            invocation.command = format!("{} {name}", definition.get_name());
            if let Some(command) = definition.find_subcommand(name) {
                invocation.read(command, matches);
            }
        }
        invocation
    }

    fn read(&mut self, command: &Command, matches: &ArgMatches) {
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let id = argument.get_id().as_str();
            if matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            let values: Vec<String> = matches
                .get_raw(id)
                .into_iter()
                .flatten()
                .map(|value| quoted(&value.to_string_lossy()))
                .collect();
            match argument.get_long() {
                Some(long) if LEFT_OUT.contains(&long) => {}
                Some(long) if matches!(argument.get_action(), ArgAction::SetTrue) => {
                    self.options.push(format!("--{long}"));
                }
                // A value may begin with a hyphen.
                Some(long) => self.options.extend(values.iter().map(|value| match value.strip_prefix('-') {
                    Some(_) => format!("--{long}={value}"),
                    None => format!("--{long} {value}"),
                })),
                None if argument.is_last_set() => self.last.extend(values),
                None => self.positional.extend(values),
            }
        }
    }

    /// The command for the same file.
    pub(super) fn again(&self) -> String {
        self.words(&self.positional, &[])
    }

    /// The command for other things, with more options: each is a name and a value.
    pub(super) fn instead(&self, positional: &str, options: &[(&str, &str)]) -> String {
        self.words(&[quoted(positional)], options)
    }

    /// The command with more options.
    pub(super) fn with(&self, options: &[(&str, &str)]) -> String {
        self.words(&self.positional, options)
    }

    fn words(&self, positional: &[String], options: &[(&str, &str)]) -> String {
        let mut words = vec![self.command.clone()];
        words.extend_from_slice(positional);
        words.extend(options.iter().map(|(name, value)| format!("--{name} {}", quoted(value))));
        words.extend_from_slice(&self.options);
        if !self.last.is_empty() {
            words.push("--".to_owned());
            words.extend_from_slice(&self.last);
        }
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::Arguments;
    use super::*;

    fn of(words: &[&str]) -> Invocation {
        Invocation::of(&Arguments::command(), words.iter().map(Into::into))
    }

    #[test]
    fn only_options_that_change_results_are_kept() {
        let run = of(&[
            "sframe-testbench",
            "run",
            "--spec",
            "leaf*",
            "--report",
            "r",
            "--jobs=3",
            "--json",
            "--shard",
            "1/2",
            "--pattern=second",
            "--budget",
            "77",
            "--unwinder",
            "my unwinder -x",
            "--no-explore",
            "--in-process",
        ]);
        assert_eq!(
            run.with(&[("case", "leaf/gnu-2.47/amd64/O0")]),
            "sframe-testbench run --case leaf/gnu-2.47/amd64/O0 --budget 77 --pattern second --unwinder \
             'my unwinder -x' --no-explore"
        );
        let check = of(&[
            "sframe-testbench",
            "check",
            "--report",
            "r",
            "a b",
            "--from",
            "eh-frame",
            "--env",
            "A=1",
            "--env",
            "B=$x",
            "--write-known",
            "k",
            "--",
            "-n",
            "it's",
        ]);
        assert_eq!(
            check.again(),
            "sframe-testbench check 'a b' --from eh-frame --env A=1 --env 'B=$x' -- -n 'it'\\''s'"
        );
        let explore = of(&["sframe-testbench", "explore", "x", "--functions", "f", "--functions", "g"]);
        assert_eq!(explore.again(), "sframe-testbench explore x --functions f --functions g");
        assert_eq!(explore.instead("y", &[]), "sframe-testbench explore y --functions f --functions g");
    }
}
