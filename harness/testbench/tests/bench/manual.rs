//! Manual pages and completions are complete, and their readers accept them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sframe-testbench")).args(arguments).output().expect("the bench")
}

fn text(arguments: &[&str]) -> String {
    let output = bench(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The names in the list of subcommands, and in theirs.
fn commands() -> Vec<Vec<String>> {
    fn collect(command: &[String], commands: &mut Vec<Vec<String>>) {
        let arguments: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = text(&arguments);
        let Some((_, list)) = help.split_once("\nCommands:\n") else { return };
        for line in list.lines().take_while(|line| !line.is_empty()) {
            let name = line.split_whitespace().next().expect("a name");
            if name != "help" {
                let command = [command, &[name.to_owned()]].concat();
                commands.push(command.clone());
                collect(&command, commands);
            }
        }
    }
    let mut commands = Vec::new();
    collect(&[], &mut commands);
    assert!(commands.len() > 14, "{commands:?}");
    commands
}

#[test]
fn each_command_has_a_page_with_its_sections() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("man1");
    text(&["man", "--dir", dir.to_str().expect("a name")]);
    let page = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap_or_else(|_| panic!("{name}"));

    let main = page("sframe-testbench.1");
    assert_eq!(main, text(&["man"]));
    for section in [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "OPTIONS",
        "COMMANDS",
        "EXAMPLES",
        "\"EXIT STATUS\"",
        "FILES",
        "ENVIRONMENT",
    ] {
        assert!(main.lines().any(|line| line == format!(".SH {section}")), "{section}:\n{main}");
    }
    for status in 0..=4 {
        assert!(main.contains(&format!("\\fB{status}\\fR\n")), "{status}:\n{main}");
    }
    let mut expected = BTreeSet::from(["sframe-testbench.1".to_owned()]);
    for command in commands() {
        let name = format!("sframe-testbench-{}.1", command.join("-"));
        let of_command: Vec<&str> = ["man"].into_iter().chain(command.iter().map(String::as_str)).collect();
        assert_eq!(page(&name), text(&of_command));
        expected.insert(name);
    }
    let there = std::fs::read_dir(&dir).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let there: BTreeSet<String> = there.map(|name| name.to_string_lossy().into_owned()).collect();
    assert_eq!(there, expected);
    let inspect = folder.path().join("inspect");
    text(&["man", "--program", "sframe-inspect", "--dir", inspect.to_str().expect("a name")]);
    let there =
        std::fs::read_dir(&inspect).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut there: Vec<String> = there.map(|name| name.to_string_lossy().into_owned()).collect();
    there.sort();
    let names = ["-convert", "-diff", "-dump", "-lint", ""].map(|name| format!("sframe-inspect{name}.1"));
    assert_eq!(there, names);
    for name in names {
        let page = std::fs::read_to_string(inspect.join(&name)).expect("a page");
        assert!(!page.contains("testbench (1)") && page.contains("sframe\\-inspect"), "{name}: {page}");
    }
}

/// Whether a program is installed.
fn is_there(program: &str) -> bool {
    Command::new("sh").args(["-c", &format!("command -v {program}")]).output().expect("sh").status.success()
}

/// What formatters of manual pages complain about; `None` without a formatter.
fn complaints(page: &Path) -> Option<String> {
    let (program, arguments): (&str, &[&str]) = if is_there("mandoc") {
        ("mandoc", &["-T", "lint", "-W", "warning"])
    } else if is_there("groff") {
        // As called by `man --warnings -l`.
        ("groff", &["-ww", "-mandoc", "-z", "-Tutf8"])
    } else {
        return None;
    };
    let output = Command::new(program).args(arguments).arg(page).output().expect("a formatter");
    Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn formatters_of_manual_pages_have_nothing_to_complain_of() {
    let folder = tempfile::tempdir().expect("a folder");
    for program in ["sframe-testbench", "sframe-inspect"] {
        text(&["man", "--program", program, "--dir", folder.path().to_str().expect("a name")]);
    }
    let wrong = folder.path().join("wrong");
    std::fs::write(&wrong, ".TH x 1\n.SH NAME\nx\n.no-such-request\n").expect("a file");
    let Some(found) = complaints(&wrong) else {
        eprintln!("not tested: neither mandoc nor groff is on this machine");
        return;
    };
    assert!(!found.is_empty(), "a formatter that notices nothing");
    std::fs::remove_file(wrong).expect("a file");
    for entry in std::fs::read_dir(folder.path()).expect("a folder") {
        let page = entry.expect("an entry").path();
        assert_eq!(complaints(&page).as_deref(), Some(""), "{}", page.display());
    }
}

#[test]
fn each_command_has_examples_and_one_line_that_says_what_it_does() {
    for command in commands() {
        let arguments: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = text(&arguments);
        let first = help.lines().next().expect("a line");
        let is_sentence = first.starts_with(|c: char| c.is_ascii_uppercase()) && !first.ends_with('.');
        assert!(is_sentence && first.len() <= 100, "{command:?}: {first}");
        // `baseline` has the examples of its subcommands.
        let has_examples = help.contains("\nExamples:\n  sframe-testbench ");
        assert!(has_examples || command[0] == "baseline", "{command:?}: {help}");
        // Each option has a description, on its line or on the next one.
        let mut lines = help.lines().peekable();
        while let Some(line) = lines.next() {
            if line.starts_with("      --") || line.starts_with("  -") {
                let says = line.trim_start().contains("  ");
                let next = lines.peek().is_some_and(|next| next.starts_with("          "));
                assert!(says || next, "{command:?}: {line}");
            }
        }
    }
}

#[test]
fn bash_completes_commands_options_and_values() {
    let script =
        text(&["completions", "bash"]) + &text(&["completions", "bash", "--program", "sframe-inspect"]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("completions");
    std::fs::write(&path, script).expect("a file");
    let bash = |script: &str, words: &[&str]| {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", script, "bash"]).arg(&path).args(words).output().expect("bash")
    };
    let output = bash("bash -n \"$1\"", &[]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    // As readline does: the registered function, with the words so far.
    let complete = "source \"$1\"; shift; name=$(complete -p \"$1\"); name=${name#*-F }; \
                    COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
                    ${name%% *} \"$1\" \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"; \
                    printf '%s\\n' \"${COMPREPLY[@]}\"";
    for (words, expected) in [
        (&["sframe-testbench", "che"][..], &["check"][..]),
        (&["sframe-testbench", "run", "--tool"], &["--toolchain"]),
        (&["sframe-testbench", "baseline", "cr"], &["create"]),
        (&["sframe-testbench", "convert", "--from", ""], &["sframe", "eh-frame"]),
        (&["sframe-testbench", "nothing-such"], &[]),
        (&["sframe-inspect", "du"], &["dump"]),
        (&["sframe-inspect", "lint", "--sar"], &["--sarif"]),
        (&["sframe-inspect", "run"], &[]),
    ] {
        let output = bash(complete, words);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let printed: Vec<&str> = printed.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(printed, expected, "{words:?}: {output:?}");
    }
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(text(&["completions", shell]).contains("baseline"), "{shell}");
    }
}
