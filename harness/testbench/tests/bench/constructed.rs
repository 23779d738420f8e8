//! Programs in assembly that are right or wrong by construction, and what each command says of
//! them: `corpus/constructed`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use sframe_corpus::corpus::{MadeExample, Toolchain};
use sframe_corpus::faults::{digest_of, record, recorded};
use sframe_corpus::spec::Example;
use sframe_engine::Abi;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::vocabulary::Verdict;

use crate::command::{bench, json, status, toolchains};
use crate::common::repository;

/// Makes the committed builds, which needs the toolchains.
const UPDATE: &str = "UPDATE_CONSTRUCTED";

/// The toolchain that makes them.
const TOOLCHAIN: &str = "gnu-2.47";

/// What is linked with each source, or included by it.
const RUNTIME: [&str; 2] = ["start.S", "assembly.h"];

/// What sources may include that have functions of one kind for all ABIs.
const FRAMES: &str = "frames.h";

/// How a file is made, unless its description says so.
const PROGRAM: &str = "{cc} -fno-pie -nostdlib -static -I. -Wa,--gsframe -Wl,--build-id=none -Wl,-z,max-page-size=4096 \
                       -Wl,-z,noseparate-code -o {out} source.S runtime/start.S";

/// `corpus/constructed/NAME/case.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What it is, and why the answers are right.
    #[expect(dead_code, reason = "for people")]
    summary: String,
    /// The ABIs that the source is for.
    abis: Vec<Abi>,
    /// The commands that make the file: `{cc}` is the compiler, `{out}` the file.
    #[serde(default)]
    make: Vec<String>,
    answers: Vec<Answer>,
}

/// What a command answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// The command, without the file and `--json`.
    command: String,
    /// The ABIs for which it is so; all if left out.
    #[serde(default)]
    abis: Vec<Abi>,
    /// The exit status.
    status: i32,
    /// All findings, each once: for `check` `VERDICT in FUNCTION: BLAME`, for `explore`
    /// `CERTAINTY VERDICT in FUNCTION`, for `diff` `FIELD in FUNCTION`, for `lint` the rule.
    findings: BTreeSet<String>,
    /// Places in the document, as JSON pointers, and what is there.
    #[serde(default)]
    figures: BTreeMap<String, Value>,
    /// The functions with the hazard `unknown-fp`; not looked at if left out.
    unknown_fp: Option<BTreeSet<String>>,
    /// What the command prints without `--json`, among other things.
    #[serde(default)]
    prints: Vec<String>,
    /// What it does not print then.
    #[serde(default)]
    omits: Vec<String>,
}

fn folder() -> PathBuf {
    repository().join("corpus/constructed")
}

fn cases() -> Vec<(String, Case)> {
    let mut names: Vec<_> = std::fs::read_dir(folder())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    names.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a name").to_str().expect("text").to_owned();
        let case = sframe_corpus::yaml::read(&path.join("case.yaml"));
        (name, case.unwrap_or_else(|error| panic!("{error}")))
    };
    names.into_iter().map(read).collect()
}

/// All that a build is made of.
fn example(name: &str, case: &Case, abi: Abi, toolchain: &Toolchain) -> Example {
    let text =
        |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut sources: Vec<_> = std::fs::read_dir(folder().join(name))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "S"))
        .map(|path| (path.file_name().expect("a name").to_str().expect("text").to_owned(), text(&path)))
        .collect();
    if sources.iter().any(|(_, source)| source.contains(FRAMES)) {
        sources.push((FRAMES.to_owned(), text(&folder().join(FRAMES))));
    }
    let runtime = repository().join("corpus/programs/runtime");
    let runtime = RUNTIME.map(|file| (file.to_owned(), text(&runtime.join(file))));
    let tools = toolchain.abis.get(&abi).expect("a compiler");
    let compiler: Vec<_> = std::iter::once(&tools.compiler).chain(&tools.flags).map(String::as_str).collect();
    let out = abi.to_string();
    let command = |line: &str| line.replace("{cc}", &compiler.join(" ")).replace("{out}", &out);
    let program = [PROGRAM.to_owned()];
    let lines = if case.make.is_empty() { &program[..] } else { &case.make[..] };
    let mut commands = vec!["mkdir -p runtime".to_owned(), format!("mv {} runtime", RUNTIME.join(" "))];
    commands.extend(lines.iter().map(|line| command(line)));
    Example {
        abi,
        toolchain: TOOLCHAIN.to_owned(),
        sources: sources.into_iter().chain(runtime).collect(),
        commands,
        program: out,
        function: String::new(),
        row: None,
        verdict: Verdict::Agree,
        wrong: String::new(),
        right: String::new(),
    }
}

fn make(name: &str, case: &Case, toolchain: &Toolchain, digest: String) {
    for abi in &case.abis {
        let example = example(name, case, *abi, toolchain);
        let made = MadeExample::make(name, &example, toolchain, &toolchains(), &StopRequest::default());
        let made = made.unwrap_or_else(|error| panic!("{name}: {}", sframe_kit::text::with_causes(&error)));
        std::fs::copy(made.program(), folder().join(name).join(abi.to_string())).expect("a copy");
    }
    record(&folder(), name, digest).expect("a list");
}

/// The digest of what all builds of a case are made of.
fn digest(name: &str, case: &Case, toolchain: &Toolchain) -> String {
    let of = |abi: &Abi| format!("{abi}:{}", digest_of(&example(name, case, *abi, toolchain)));
    case.abis.iter().map(of).collect::<Vec<_>>().join(" ")
}

/// What a finding is, in a line.
fn line(command: &str, finding: &Value) -> String {
    let text = |key: &str| finding[key].as_str().unwrap_or("-").to_owned();
    match command {
        "lint" => text("rule"),
        "diff" => format!("{} in {}", text("field"), text("function")),
        "explore" => format!("{} {} in {}", text("certainty"), text("verdict"), text("function")),
        _ => format!("{} in {}: {}", text("verdict"), text("function"), text("blame")),
    }
}

/// What is different from the answer.
fn differences(name: &str, abi: Abi, answer: &Answer) -> Vec<String> {
    let words: Vec<_> = answer.command.split_whitespace().collect();
    let file = format!("corpus/constructed/{name}/{abi}");
    let run = |more: &[&str]| {
        let (command, options) = words.split_first().expect("a command");
        let ending = match options.iter().position(|word| *word == "--") {
            Some(at) => [&options[..at], &[file.as_str()], &options[at..]].concat(),
            None => [options, &[file.as_str()]].concat(),
        };
        bench(&[&[*command], more, &ending[..]].concat())
    };
    let output = run(&["--json"]);
    let mut wrong = Vec::new();
    let mut expect = |what: &str, got: String, wanted: String| {
        if got != wanted {
            wrong.push(format!("{name}, {abi}, `{}`: {what} {got}, not {wanted}", answer.command));
        }
    };
    expect("the status is", status(&output).to_string(), answer.status.to_string());
    let document = if output.stdout.is_empty() { Value::Null } else { json(&output) };
    let empty = Vec::new();
    let found = document["findings"].as_array().unwrap_or(&empty);
    let found: BTreeSet<_> = found.iter().map(|finding| line(words[0], finding)).collect();
    expect("the findings are", format!("{found:?}"), format!("{:?}", answer.findings));
    if let Some(wanted) = &answer.unknown_fp {
        let hazards = document["hazards"].as_array().unwrap_or(&empty);
        let unknown = hazards.iter().filter(|hazard| hazard["kind"] == "unknown-fp");
        let functions: BTreeSet<_> = unknown.filter_map(|hazard| hazard["function"].as_str()).collect();
        expect("FP is unknown in", format!("{functions:?}"), format!("{wanted:?}"));
    }
    for (place, wanted) in &answer.figures {
        expect(place, document.pointer(place).unwrap_or(&Value::Null).to_string(), wanted.to_string());
    }
    if !(answer.prints.is_empty() && answer.omits.is_empty()) {
        // With all that there is to say.
        let output = run(&["--verbose"]);
        let printed =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        // Standard error also says what is being done then.
        let surplus: Vec<_> = answer.omits.iter().filter(|text| printed[0].contains(*text)).collect();
        let printed = printed.concat();
        let missing: Vec<_> = answer.prints.iter().filter(|text| !printed.contains(*text)).collect();
        if !missing.is_empty() || !surplus.is_empty() {
            expect(&format!("{missing:?} is missing and {surplus:?} is there, in"), printed, String::new());
        }
    }
    wrong
}

#[test]
fn commands_answer_as_the_programs_were_constructed() {
    let path = Toolchain::path_in(&repository().join("corpus"), TOOLCHAIN);
    let toolchain = Toolchain::load(&path).expect("a toolchain");
    let cases = cases();
    assert!(!cases.is_empty(), "there is nothing in {:?}", folder());
    let updates = std::env::var_os(UPDATE).is_some_and(|value| value == "1");
    let wrong: Vec<String> = cases
        .par_iter()
        .flat_map(|(name, case)| {
            let kept = recorded(&folder(), name).unwrap_or_default();
            let digest = digest(name, case, &toolchain);
            if kept != digest && updates {
                make(name, case, &toolchain, digest);
            } else if kept != digest {
                return vec![format!(
                    "{name}: the builds are of other sources: {UPDATE}=1, with the toolchain"
                )];
            }
            let answers = case.answers.iter().flat_map(|answer| {
                let abis = if answer.abis.is_empty() { &case.abis } else { &answer.abis };
                abis.iter().map(move |abi| (*abi, answer))
            });
            answers.flat_map(|(abi, answer)| differences(name, abi, answer)).collect()
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
