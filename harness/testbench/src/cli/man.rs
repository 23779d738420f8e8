//! `man`: manual pages, and `completions`: shell completions; both generated
//! from the definitions of the command line.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::{Args, CommandFactory as _, ValueEnum};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use sframe_inspect::command::{Failure, Status, print, program as inspect, write_file};
use sframe_judge::vocabulary::suggest::hint;
use sframe_kit::text::Text;

use super::{Arguments, PROGRAM, report};

/// A program of this project.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Program {
    SframeTestbench,
    SframeInspect,
}

impl Program {
    const fn name(self) -> &'static str {
        match self {
            Self::SframeTestbench => PROGRAM,
            Self::SframeInspect => inspect::NAME,
        }
    }

    fn definition(self) -> clap::Command {
        match self {
            Self::SframeTestbench => Arguments::command(),
            Self::SframeInspect => inspect::definition(),
        }
    }
}

#[derive(Args)]
pub(crate) struct Manual {
    /// The command whose page to show, in roff if not to a terminal, such as `run` or `baseline create`; by default that of the bench
    /// itself.
    command: Vec<String>,
    /// Write the pages of all commands into this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
    /// The program whose pages they are.
    #[arg(long, value_enum, default_value_t = Program::SframeTestbench)]
    program: Program,
}

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
    /// The program that is completed.
    #[arg(long, value_enum, default_value_t = Program::SframeTestbench)]
    program: Program,
}

impl Manual {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        let mut main = self.program.definition().disable_help_subcommand(true);
        main.build();
        if let Some(folder) = &self.dir {
            report::create(folder)?;
            write_pages(self.program, &main, folder)?;
            return Ok(Status::AsExpected);
        }
        let mut command = &main;
        for name in &self.command {
            command = command.find_subcommand(name).ok_or_else(|| {
                let names = command.get_subcommands().map(clap::Command::get_name);
                let help = hint(name, names);
                Failure::unusable(format!("error: there is no command `{}`{help}", self.command.join(" ")))
            })?;
        }
        let page = page(self.program, command)?;
        if !(std::io::stdout().is_terminal() && is_shown(&page)) {
            print(&Text::made_neutral(page))?;
        }
        Ok(Status::AsExpected)
    }
}

/// Shows a page by the system's `man`. Returns whether that was possible.
fn is_shown(page: &str) -> bool {
    let viewer = Command::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn();
    let Ok(mut viewer) = viewer else { return false };
    // Whoever ends the viewer has seen enough.
    let _ = viewer.stdin.take().map(|mut stdin| stdin.write_all(page.as_bytes()));
    viewer.wait().is_ok_and(|status| status.success())
}

impl Completions {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut self.program.definition(), self.program.name(), &mut script);
        // The script transforms the hyphen of the name in one way where it asks for a subcommand
        // and in another where it answers: clap-rs/clap#6421.
        let script =
            String::from_utf8_lossy(&script).replace("sframe__subcmd__testbench", "sframe__testbench");
        let script = script.replace("sframe__subcmd__inspect", "sframe__inspect");
        print(&Text::made_neutral(script))?;
        Ok(Status::AsExpected)
    }
}

/// Writes the page of a command, and those of its subcommands.
fn write_pages(program: Program, command: &clap::Command, folder: &std::path::Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    write_file(&folder.join(format!("{name}.1")), &page(program, command)?)?;
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    for command in shown {
        write_pages(program, command, folder)?;
    }
    Ok(())
}

/// Returns the page of a command, in roff.
fn page(program: Program, command: &clap::Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    render(program, command, &mut page)
        .map_err(|error| Failure::broken(format!("a manual page: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn render(program: Program, command: &clap::Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    let is_main = command.get_name() == program.name();
    let man = Man::new(command.clone()).manual("SFrame test bench");
    let man = man.source(format!("{} {}", program.name(), env!("CARGO_PKG_VERSION")));
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if command.has_subcommands() {
        page.write_all(b".SH COMMANDS\n")?;
        man.render_subcommands_section(&mut *page)?;
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    sections(&help).to_writer(page)?;
    if is_main && program == Program::SframeTestbench {
        lists().to_writer(page)?;
    } else if !is_main {
        let mut roff = Roff::new();
        roff.control("SH", ["SEE ALSO"]);
        roff.text([bold(program.name()), roman("(1)")]);
        roff.to_writer(page)?;
    }
    Ok(())
}

/// Formats the blocks of [`super::help`].
fn sections(help: &str) -> Roff {
    let mut roff = Roff::new();
    let mut remarks = Vec::new();
    for block in help.split("\n\n").filter(|block| !block.is_empty()) {
        let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
        let Some(title) = first.strip_suffix(':') else {
            remarks.push(block);
            continue;
        };
        roff.control("SH", [title.to_uppercase().as_str()]);
        let is_literal = title == "Examples";
        if is_literal {
            roff.control("nf", []);
        }
        for line in rest.lines() {
            // A status, two spaces, and its meaning.
            match line.trim_start().split_once("  ") {
                Some((status, meaning)) if !is_literal => {
                    roff.control("TP", []);
                    roff.text([bold(status)]);
                    roff.text([roman(meaning)]);
                }
                _ => {
                    roff.text([roman(line.trim_start())]);
                }
            }
        }
        if is_literal {
            roff.control("fi", []);
        }
    }
    if !remarks.is_empty() {
        roff.control("SH", ["NOTES"]);
    }
    for remark in remarks {
        roff.control("PP", []);
        for line in remark.lines() {
            roff.text([roman(line)]);
        }
    }
    roff
}

const FILES: &[(&str, &str)] = &[
    ("corpus", "Programs, builds, and the manifest that says where each build comes from; --corpus."),
    ("specs", "What must be true of each program; --specs."),
    ("DIR/report.html", "With --report DIR: a page for people, which needs no other file."),
    ("DIR/report.json", "The whole report, as --json prints it."),
    ("DIR/report.sarif", "The findings in SARIF 2.1.0, for code review."),
    ("DIR/junit.xml", "The cases, or the checked program, as tests, for CI systems."),
    ("DIR/cases.jsonl", "The cases of a run, each as soon as it is finished."),
    ("DIR/summary.md", "The summary in Markdown, for job summaries and comments."),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("CI", "Where it is set, bless writes no specs."),
    (
        "SFRAME_TESTBENCH_HOME",
        "A clone, whose corpus and specs are used where the current folder has none, and not those of the release.",
    ),
    ("NO_COLOR", "Where it is set, and not empty, nothing is printed in colour."),
];

/// The sections that concern all commands: files and environment.
fn lists() -> Roff {
    let mut roff = Roff::new();
    for (title, entries) in [("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)] {
        roff.control("SH", [title]);
        for (name, what) in entries {
            roff.control("TP", []);
            roff.text([bold(*name)]);
            roff.text([roman(*what)]);
        }
    }
    roff
}
