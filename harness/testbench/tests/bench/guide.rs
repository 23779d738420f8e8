//! The manuals are correct: commands print what the manuals show, quoted files
//! match, keys are those of the schema, and links have targets.
//!
//! In `README.md`, the guide, the pages of results and `CONTRIBUTING.md`, and in the tests in `tests/cmd`,
//!
//! - a block of the language `console` is run: lines with `$ ` are commands, the
//!   others their output, on either stream. `...` stands for any lines or any
//!   part of one. The status is 0 unless the next command is `echo $?`;
//! - `file=NAME` after a block's language writes it to that file first;
//! - `needs=gcc` leaves a block of commands out where no GCC for amd64 writes SFrame, and `needs=PROGRAM` where that is
//!   not installed;
//! - `from=PATH` names the file of the repository that contains the block;
//! - commands in blocks of the language `sh` are not run; [`NOT_RUN`] says why.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use sframe_corpus::spec::Blame;
use sframe_inspect::hazard::HazardKind;
use sframe_judge::vocabulary::{End, Feature, Verdict};

use crate::command::{copy_repository, has_gcc_with_sframe};

#[path = "../../../judge/examples/third_party.rs"]
mod third_party;

/// The beginnings of commands that are not run, and the reasons.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo ", "builds"),
    ("ci/", "builds, and may install packages"),
    ("sframe-testbench/bin/sframe-gate ", "is in another project: the tests of pipelines run it"),
    ("export PATH=", "the tests find the programs otherwise"),
    ("tar xf sframe-readers-", "needs an archive: the test of exports makes one, and uses it like this"),
    ("printf '#include \"../v3-kernel-user.h\"", "the same"),
    ("cc -DWITHOUT_MAIN kit/test.c ", "the same"),
    ("SFRAME_TESTBENCH_HOME=. ", "the same"),
    ("sframe-testbench check root/", "needs the root of a distribution"),
    ("sframe-testbench check --native ", "needs a program for the host: the tests of `native` run some"),
    ("sframe-testbench generate assembly ", "needs compilers"),
    ("sframe-testbench generate c ", "needs compilers"),
    ("sframe-testbench generate sections ", "may need an adapter"),
    ("sframe-testbench links ", "needs linkers"),
    ("sframe-testbench matrix ", "needs compilers"),
    ("perf record ", "needs a kernel that allows it"),
    ("sframe-testbench samples ", "needs a recording"),
];

/// The beginnings of lines that are commands, and belong in blocks marked as
/// such.
const COMMANDS: &[&str] = &["$ ", "sframe-testbench ", "cargo ", "ci/", "target/debug/"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// All pages of the repository, as relative paths.
pub(crate) fn pages() -> Vec<PathBuf> {
    fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let (path, name) = (entry.path(), entry.file_name());
            // Left by builds, runs and version control.
            let is_ours = name != "target" && name != ".git" && name != "report";
            if entry.file_type().expect("a type").is_dir() && is_ours {
                collect(&path, pages);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    let mut pages = Vec::new();
    collect(&repository(), &mut pages);
    let mut pages: Vec<PathBuf> =
        pages.iter().map(|page| page.strip_prefix(repository()).expect("ours").to_owned()).collect();
    pages.sort();
    pages
}

/// Whether a page is for users or contributors.
fn is_manual(page: &Path) -> bool {
    page == Path::new("README.md")
        || page.starts_with("harness/guide")
        || page.starts_with("harness/results")
        || page.ends_with("CONTRIBUTING.md")
}

fn text(page: &Path) -> String {
    let path = repository().join(page);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// A block of code.
#[derive(Debug)]
struct Block {
    /// The line of the page on which it begins.
    line: usize,
    /// The language; empty for none.
    language: String,
    file: Option<String>,
    from: Option<String>,
    /// What has to be installed for it.
    needs: Option<String>,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for (event, range) in parser(page).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                is_open = true;
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                let mut words = info.split_whitespace();
                let language = words.next().unwrap_or_default().to_owned();
                let word = |key: &str| {
                    info.split_whitespace().find_map(|word| word.strip_prefix(key)).map(str::to_owned)
                };
                let line = page[..range.start].lines().count() + 1;
                let (file, from) = (word("file="), word("from="));
                let needs = word("needs=");
                blocks.push(Block { line, language, file, from, needs, text: String::new() });
            }
            Event::End(TagEnd::CodeBlock) => is_open = false,
            Event::Text(text) if is_open => {
                blocks.last_mut().expect("a block").text.push_str(&text);
            }
            _ => {}
        }
    }
    blocks
}

/// A command of a block, and its documented output.
#[derive(Debug)]
struct Step {
    line: usize,
    command: String,
    output: Vec<String>,
}

fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_continued = false;
    for (index, line) in block.text.lines().enumerate() {
        if let Some(command) = line.strip_prefix("$ ") {
            let line = block.line + index + 1;
            steps.push(Step { line, command: command.to_owned(), output: Vec::new() });
            is_continued = command.ends_with('\\');
        } else if let Some(step) = steps.last_mut() {
            if is_continued {
                step.command = format!("{}\n{line}", step.command);
                is_continued = line.ends_with('\\');
            } else {
                step.output.push(line.to_owned());
            }
        }
    }
    steps
}

/// Whether a line matches; `...` is any part of a line.
fn line_matches(expected: &str, line: &str) -> bool {
    if expected == line {
        return true;
    }
    let Some((start, rest)) = expected.split_once("...") else { return false };
    let Some(mut line) = line.strip_prefix(start) else { return false };
    let parts: Vec<&str> = rest.split("...").collect();
    let (last, middle) = parts.split_last().expect("one at least");
    for part in middle {
        let Some(index) = line.find(part) else { return false };
        line = &line[index + part.len()..];
    }
    line.ends_with(last)
}

/// Whether lines match; a line of `...` is any lines.
fn lines_match(expected: &[String], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=lines.len()).any(|skipped| lines_match(rest, &lines[skipped..]))
        }
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, lines)| line_matches(first, line) && lines_match(rest, lines)),
    }
}

/// Makes a folder that looks like the repository, and may be written to.
fn sandbox() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    copy_repository(folder.path());
    // As cargo leaves it, for commands that name the programs they start.
    let programs = Path::new(env!("CARGO_BIN_EXE_sframe-testbench")).parent().expect("a folder");
    std::fs::create_dir(folder.path().join("target")).expect("a folder");
    symlink(programs, folder.path().join("target/debug")).expect("a link");
    folder
}

fn run(command: &str, status: i32, folder: &Path) -> (i32, String) {
    let programs = Path::new(env!("CARGO_BIN_EXE_sframe-testbench")).parent().expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1; (exit {status})\n{command}")])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(paths).expect("paths"))
        .env_remove("CI")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("bash");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The problems of a page's blocks. `used` collects the entries of [`NOT_RUN`] that were
/// needed.
fn problems(name: &str, page: &str, used: &mut BTreeSet<&'static str>) -> Vec<String> {
    let mut problems = Vec::new();
    let folder = sandbox();
    let mut has_gcc = None;
    for block in blocks(page) {
        let at = format!("{name}:{}", block.line);
        if let Some(from) = &block.from {
            let whole = std::fs::read_to_string(repository().join(from)).unwrap_or_default();
            if !whole.contains(&block.text) {
                problems.push(format!("{at}: this is not in {from}"));
            }
        }
        if let Some(file) = &block.file {
            let file = folder.path().join(file);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, &block.text).expect("a file");
        }
        let is_there = match block.needs.as_deref() {
            None => true,
            Some("gcc") => *has_gcc.get_or_insert_with(has_gcc_with_sframe),
            Some(program) => crate::command::program(&[program]).is_some(),
        };
        if !is_there {
            continue;
        }
        match block.language.as_str() {
            "console" => try_steps(name, &block, folder.path(), &mut problems),
            "sh" if block.file.is_none() => {
                let commands = block.text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
                for command in commands {
                    match NOT_RUN.iter().find(|(start, _)| command.starts_with(start)) {
                        Some((start, _)) => drop(used.insert(start)),
                        None => problems.push(format!("{at}: not run, and not in the list: {command}")),
                    }
                }
            }
            _ if block.file.is_some() || block.from.is_some() => {}
            _ => {
                let is_command = |line: &&str| COMMANDS.iter().any(|start| line.starts_with(start));
                if let Some(line) = block.text.lines().find(is_command) {
                    problems.push(format!("{at}: a command in a block that is not run: {line}"));
                }
            }
        }
    }
    problems
}

fn try_steps(name: &str, block: &Block, folder: &Path, problems: &mut Vec<String>) {
    let steps = steps(block);
    if steps.is_empty() {
        problems.push(format!("{name}:{}: no command", block.line));
    }
    let mut status = 0;
    for (index, Step { line, command, output }) in steps.iter().enumerate() {
        let (got, printed) = run(command, status, folder);
        status = got;
        let is_asked = steps.get(index + 1).is_some_and(|next| next.command == "echo $?");
        if status != 0 && !is_asked {
            problems.push(format!("{name}:{line}: status {status}, which the page does not show: {command}"));
        }
        let lines: Vec<&str> = printed.lines().collect();
        if !lines_match(output, &lines) {
            problems
                .push(format!("{name}:{line}: {command}\nprints\n{printed}\nand not\n{}", output.join("\n")));
        }
    }
}

/// Runs the commands of some pages. Returns the problems, and the entries of [`NOT_RUN`] that were needed.
fn try_pages(is_tried: impl Fn(&Path) -> bool) -> (Vec<String>, BTreeSet<&'static str>) {
    let pages: Vec<PathBuf> = pages().into_iter().filter(|page| is_tried(page)).collect();
    assert!(pages.len() > 5, "{pages:?}");
    std::thread::scope(|scope| {
        let tried = pages.iter().map(|page| {
            scope.spawn(move || {
                let mut used = BTreeSet::new();
                (problems(&page.display().to_string(), &text(page), &mut used), used)
            })
        });
        let tried: Vec<_> = tried.collect();
        let (found, used): (Vec<_>, Vec<_>) =
            tried.into_iter().map(|page| page.join().expect("a page")).unzip();
        (found.concat(), used.into_iter().flatten().collect())
    })
}

#[test]
fn the_commands_of_the_manuals_print_what_they_say() {
    let (found, used) = try_pages(is_manual);
    assert!(found.is_empty(), "{}", found.join("\n\n"));
    let listed: BTreeSet<&str> = NOT_RUN.iter().map(|(start, _)| *start).collect();
    assert_eq!(used, listed, "entries of NOT_RUN that no page needs");
}

/// The pages in `tests/cmd`, which are written as tests.
#[test]
fn cmd_pages_say_what_commands_print() {
    let (found, _) = try_pages(|page| page.starts_with("harness/testbench/tests/cmd"));
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[test]
fn a_page_that_is_wrong_is_noticed() {
    let refused = |page: &str, expected: &str| {
        let found = problems("page.md", page, &mut BTreeSet::new());
        let is_named = |problem: &String| problem.starts_with("page.md:") && problem.contains(expected);
        assert!(found.iter().any(is_named), "{page}\n{found:?}");
    };
    let right = |page: &str| {
        assert_eq!(problems("page.md", page, &mut BTreeSet::new()), Vec::<String>::new(), "{page}");
    };
    right("```console\n$ echo a; echo b >&2\na\nb\n```\n");
    right("```console\n$ echo a; echo b; echo c\n...\nc\n$ echo 1.2 s, 3\n... s, 3\n```\n");
    right("```console\n$ false\n$ echo $?\n1\n```\n");
    right("```console\n$ echo \\\na\na\n```\n");
    right("```text file=x\nhere\n```\n\n```console\n$ cat x\nhere\n```\n");
    right("```toml from=Cargo.toml\n[workspace]\n```\n");
    right(
        "```console\n$ sframe-testbench check corpus/builds/gnu-2.47/amd64/leaf.O2\n...\n..., all correct\n```\n",
    );
    refused("```console\n$ echo a\nb\n```\n", "prints\na\n");
    refused("```console\n$ echo a\n```\n", "prints\na\n");
    refused("```console\n$ true\na\n```\n", "and not\na");
    refused("```console\n$ echo abc\na...d\n```\n", "prints\nabc");
    refused("```console\n$ echo a; echo b\n...\na\n```\n", "prints");
    refused("```console\n$ false\n```\n", "status 1");
    refused("```console\n$ false\n$ echo $?\n0\n```\n", "prints\n1");
    refused("```console\n$ sframe-testbench no-such-command\n...\n$ echo $?\n0\n```\n", "prints\n2");
    refused("```console\nno command\n```\n", "no command");
    refused("```sh\nrm -rf everything\n```\n", "not in the list");
    refused("```text from=Cargo.toml\nis not there\n```\n", "not in Cargo.toml");
    refused("    sframe-testbench run\n", "not run");
    refused("```text\n$ ls\n```\n", "not run");
}

/// The example that the guide quotes.
#[test]
fn the_quoted_example_runs() {
    third_party::main();
}

/// The anchor that GitHub makes from a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The anchors of a page, and its links.
fn anchors_and_links(page: &str) -> (BTreeSet<String>, Vec<String>) {
    let (mut anchors, mut links) = (BTreeSet::new(), Vec::new());
    let mut heading: Option<String> = None;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for event in parser(page) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let name = anchor(&heading.take().unwrap_or_default());
                let count = seen.entry(name.clone()).or_default();
                anchors.insert(if *count == 0 { name } else { format!("{name}-{count}") });
                *count += 1;
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(dest_url.to_string());
            }
            _ => {}
        }
    }
    (anchors, links)
}

/// Links of a page without a target.
fn dead_links(page: &Path, content: &str) -> Vec<String> {
    let (_, links) = anchors_and_links(content);
    let is_dead = |link: &String| {
        if link.starts_with("https://") || link.starts_with("mailto:") {
            return false;
        }
        let (path, wanted) = link.split_once('#').unwrap_or((link, ""));
        let folder = repository().join(page).parent().expect("a folder").to_owned();
        let target = folder.join(path);
        // Readers only have what is in the repository.
        let is_ours = || target.canonicalize().is_ok_and(|target| target.starts_with(repository()));
        if !path.is_empty() && (link.starts_with('/') || !is_ours()) {
            return true;
        }
        if wanted.is_empty() {
            return false;
        }
        let of_page = if path.is_empty() {
            content.to_owned()
        } else {
            std::fs::read_to_string(target).unwrap_or_default()
        };
        !anchors_and_links(&of_page).0.contains(wanted)
    };
    links.into_iter().filter(is_dead).map(|link| format!("{}: {link}", page.display())).collect()
}

#[test]
fn links_lead_somewhere() {
    let pages = pages();
    let dead: Vec<String> = pages.iter().flat_map(|page| dead_links(page, &text(page))).collect();
    assert!(dead.is_empty(), "{}", dead.join("\n"));
    // Each page of the guide and of the results is linked from the index of its folder.
    for folder in ["harness/guide", "harness/results"] {
        let (_, links) = anchors_and_links(&text(&Path::new(folder).join("README.md")));
        for page in pages.iter().filter(|page| page.starts_with(folder)) {
            let name = page.file_name().and_then(|name| name.to_str()).expect("a name");
            let is_linked = name == "README.md" || links.iter().any(|link| link == name);
            assert!(is_linked, "{folder}/{name}: not in the index");
        }
    }
}

#[test]
fn a_link_that_leads_nowhere_is_noticed() {
    let dead = |content: &str| dead_links(Path::new("harness/guide/x.md"), content).len();
    assert_eq!(
        dead("# The `a`, b\n\n[a](#the-a-b) [b](../../README.md#licences) [c](https://x.example/)\n"),
        0
    );
    assert_eq!(dead("# a\n\n# a\n\n[a](#a-1)\n"), 0);
    for wrong in
        ["#nowhere", "nowhere.md", "../../README.md#nowhere", "/README.md", "../../../../../etc/passwd"]
    {
        assert_eq!(dead(&format!("[a]({wrong})\n")), 1, "{wrong}");
    }
    assert_eq!(dead("[a][b]\n\n[b]: nowhere.md\n"), 1);
}

/// The objects of the schema, with the section of the manual that documents their
/// keys.
const SECTIONS: &[(&str, &[&str])] = &[
    ("The keys of a spec", &[""]),
    ("stops", &["Stop"]),
    ("each: stops that share keys", &["EachStop"]),
    ("where: which builds", &["Selector"]),
    ("sweep", &["Sweep"]),
    ("uncovered, unreached and ends", &["Exception", "Ends"]),
    ("signals", &["Signal"]),
    ("distrust", &["Distrust"]),
    ("known", &["Known"]),
    ("skip", &["Skip"]),
];

/// First cells of the tables whose first column has the given title, by
/// section.
pub(crate) fn first_cells(manual: &str, title: &str) -> BTreeMap<String, Vec<String>> {
    let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut section, mut cell, mut row) = (String::new(), 0, String::new());
    let (mut in_heading, mut in_head, mut is_meant) = (false, false, false);
    for event in parser(manual) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                in_heading = true;
                section.clear();
            }
            Event::End(TagEnd::Heading(_)) => in_heading = false,
            Event::Start(Tag::TableHead) => (in_head, cell) = (true, 0),
            Event::Start(Tag::TableRow) => cell = 0,
            Event::Start(Tag::TableCell) => row.clear(),
            Event::End(TagEnd::TableCell) => {
                if cell == 0 && in_head {
                    is_meant = row == title;
                } else if cell == 0 && is_meant {
                    keys.entry(section.clone()).or_default().push(row.clone());
                }
                cell += 1;
            }
            Event::End(TagEnd::TableHead) => in_head = false,
            Event::Text(text) | Event::Code(text) => {
                if in_heading { &mut section } else { &mut row }.push_str(&text);
            }
            _ => {}
        }
    }
    keys
}

/// Entries that only one of manual and schema has.
fn undocumented(manual: &str) -> Vec<String> {
    let schema = std::fs::read_to_string(repository().join("specs/spec.schema.json")).expect("a schema");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let mut documented = first_cells(manual, "key");
    // This belongs to another file.
    documented.remove("Clauses");
    let mut problems = Vec::new();
    let definitions = schema["$defs"].as_object().expect("definitions");
    for (name, definition) in definitions {
        let is_mapped = SECTIONS.iter().any(|(_, of)| of.contains(&name.as_str()));
        if definition.get("properties").is_some() && !is_mapped {
            problems.push(format!("{name}: no section"));
        }
        // Names of values, such as verdicts.
        let values = definition["oneOf"].as_array().into_iter().flatten();
        for value in values.filter_map(|value| value["const"].as_str()) {
            if !manual.contains(&format!("`{value}`")) {
                problems.push(format!("{name}: `{value}` is not in the manual"));
            }
        }
    }
    for (section, of) in SECTIONS {
        let object = |name: &&str| if name.is_empty() { &schema } else { &definitions[*name] };
        let mut keys: Vec<String> = of
            .iter()
            .flat_map(|name| object(name)["properties"].as_object().expect("keys").keys().cloned())
            .collect();
        let mut written = documented.remove(*section).unwrap_or_default();
        keys.sort();
        written.sort();
        if keys != written {
            problems.push(format!("{section}: the schema has {keys:?}, the manual {written:?}"));
        }
    }
    problems.extend(documented.keys().map(|section| format!("{section}: keys of nothing")));
    let features = Feature::ALL.iter().filter(|feature| !manual.contains(&format!("`{feature}`")));
    problems.extend(features.map(|feature| format!("control_flow: `{feature}` is not in the manual")));
    problems
}

#[test]
fn the_manual_of_specs_has_the_keys_of_the_schema_and_no_others() {
    let manual = text(Path::new("specs/README.md"));
    assert_eq!(undocumented(&manual), Vec::<String>::new());
    for (from, to) in [
        ("| `hit` |", "| `hits` |"),
        ("| `blame` | which", "| blamed | which"),
        ("`return-addresses`", "return addresses"),
        ("## `skip`", "## Skipping"),
        ("`lazy-bindings`", "lazy bindings"),
    ] {
        assert!(manual.contains(from), "{from}");
        assert_ne!(undocumented(&manual.replacen(from, to, 9)), Vec::<String>::new(), "{from}");
    }
}

#[test]
fn the_guide_has_the_keys_of_known_findings_and_no_others() {
    let schema = std::fs::read_to_string(repository().join("specs/known.schema.json")).expect("a schema");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let keys = schema["$defs"]["KnownFinding"]["properties"].as_object().expect("keys").keys();
    let page = text(Path::new("harness/guide/check.md"));
    let mut written = first_cells(&page, "key of known").remove("Known findings").expect("a table");
    written.sort();
    let mut keys: Vec<&String> = keys.collect();
    keys.sort();
    assert_eq!(written.iter().collect::<Vec<_>>(), keys);
}

#[test]
fn the_manual_of_faults_has_the_keys_of_pages_and_no_others() {
    let schema = std::fs::read_to_string(repository().join("specs/fault.schema.json")).expect("a schema");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let manual = text(Path::new("specs/faults/README.md"));
    let definitions = schema["$defs"].as_object().expect("definitions");
    for (title, object) in [
        ("key of a page", &schema),
        ("key of an example", &definitions["Example"]),
        ("key of a site", &definitions["Site"]),
        ("key of upstream", &definitions["Upstream"]),
    ] {
        let keys: BTreeSet<&String> = object["properties"].as_object().expect("keys").keys().collect();
        let written = first_cells(&manual, title).remove("Pages of faults").expect("a table");
        assert_eq!(written.iter().collect::<BTreeSet<_>>(), keys, "{title}");
    }
    for value in definitions["UpstreamState"]["oneOf"].as_array().expect("states") {
        let value = value["const"].as_str().expect("a name");
        assert!(manual.contains(&format!("`{value}`")), "{value}");
    }
}

/// Entries that the tables of verdicts, blame, ends and hazards lack, and superfluous ones.
fn unexplained(page: &str) -> Vec<String> {
    fn names(all: &[impl ToString]) -> BTreeSet<String> {
        all.iter().map(ToString::to_string).collect()
    }
    // These are outcomes, and the last are ends that no spec can require.
    let outcomes = BTreeSet::from(["agree".to_owned(), "broken".to_owned()]);
    let no_spec = BTreeSet::from(["departing".to_owned(), "unsettled".to_owned()]);
    let expected = [
        ("verdict", &names(Verdict::ALL) - &outcomes),
        ("blame", names(Blame::ALL)),
        ("end", &names(End::ALL) | &no_spec),
        ("hazard", names(&HazardKind::ALL)),
    ];
    let mut problems = Vec::new();
    for (title, expected) in expected {
        let cells = first_cells(page, title).into_values().flatten();
        let there: BTreeSet<String> =
            cells.flat_map(|cell| cell.split(", ").map(str::to_owned).collect::<Vec<_>>()).collect();
        if there != expected {
            problems.push(format!("{title}: {there:?}, and not {expected:?}"));
        }
    }
    problems
}

#[test]
fn each_verdict_blame_end_and_hazard_is_explained() {
    let page = text(Path::new("harness/guide/verdicts.md"));
    assert_eq!(unexplained(&page), Vec::<String>::new());
    for (from, to) in
        [("| `no-fde` | code", "| `no-row` | code"), ("| `bench` |", "| |"), ("| `popped-slot` |", "| |")]
    {
        assert!(page.contains(from), "{from}");
        assert_ne!(unexplained(&page.replace(from, to)), Vec::<String>::new(), "{from}");
    }
}
