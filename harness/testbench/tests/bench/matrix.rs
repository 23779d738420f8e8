//! Arbitrary toolchains, whose compilers are shell scripts: they deliver
//! committed builds, modified ones, or nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::command::{conclusion, json, status};
use crate::common::repository;
use crate::damaged_builds::remove_section;
use crate::doctor;
use crate::doctor::patch_first_row;
use crate::interrupts::{interrupt, wait};
use crate::isolate::is_there;
use crate::reproduce::reproduce;

/// The start of every fake compiler: it finds the name of its output, prints
/// its version, and logs that it was called.
const START: &str = r#"#!/bin/sh
for word; do case "$last" in -o) out=$word ;; esac; last=$word; done
case "$1" in
    --version) echo "fake 1.0"; exit ;;
    -print-prog-name=*) echo "${1#*=}"; exit ;;
esac
name=${out##*-amd64-}
echo "$name $*" >>"$here/log"
"#;

/// A folder with a toolchain.
pub(crate) struct Vendor {
    folder: TempDir,
}

impl Vendor {
    /// A toolchain whose compiler is a script that delivers `builds/<name>`, after
    /// running `script`; `definition` is appended to the usual one.
    pub(crate) fn new(script: &str, definition: &str) -> Self {
        let vendor = Self { folder: tempfile::tempdir().expect("a folder") };
        let here = vendor.path("").display().to_string();
        let start = START.replace("$here", &here);
        let text = format!("{start}{script}\ncp \"{here}/builds/$name\" \"$out\"\n").replace("$here", &here);
        vendor.script("cc", &text);
        std::fs::create_dir(vendor.path("builds")).expect("a folder");
        vendor.define(&format!("abis:\n  amd64: {{compiler: ./cc}}\n{definition}"));
        vendor
    }

    fn define(&self, rest: &str) {
        let text = format!("name: fake\nsummary: A script.\nsframe_flags: [-Wa,--gsframe]\n{rest}");
        std::fs::write(self.path("fake.yaml"), text).expect("a file");
    }

    /// Writes the definition under another name as well.
    pub(crate) fn named(&self, name: &str) {
        let text = std::fs::read_to_string(self.path("fake.yaml")).expect("a definition");
        let text = text.replace("name: fake", &format!("name: {name}"));
        std::fs::write(self.path(&format!("{name}.yaml")), text).expect("a file");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o755)).expect("rights");
    }

    /// Makes the compiler deliver bytes as the build with a name.
    pub(crate) fn delivers(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path("builds").join(name), bytes).expect("a file");
    }

    /// Makes it deliver a toolchain's committed builds of a program.
    pub(crate) fn delivers_builds(&self, toolchain: &str, program: &str) {
        let folder = repository().join("corpus/builds").join(toolchain).join("amd64");
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
            if name.starts_with(&format!("{program}.")) {
                self.delivers(&name, &std::fs::read(&path).expect("a build"));
            }
        }
    }

    /// The builds that were made, once for each command.
    fn log(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    fn command(&self, work: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"));
        command.current_dir(repository()).env_remove("CI").arg("matrix").arg(self.path("fake.yaml"));
        command.arg("--work").arg(self.path(work)).args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command("work", arguments).output().expect("the bench runs")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The result of each build, by program and variant.
fn results(report: &Value) -> BTreeMap<String, String> {
    let builds = report["toolchains"][0]["builds"].as_array().expect("builds").iter();
    let name = |build: &Value| build["id"].as_str().expect("an id").rsplit('/').next().map(str::to_owned);
    builds
        .map(|build| (name(build).expect("a name"), build["result"].as_str().expect("a result").to_owned()))
        .collect()
}

fn case<'r>(report: &'r Value, id: &str) -> &'r Value {
    let mut cases = report["toolchains"][0]["cases"].as_array().expect("cases").iter();
    cases.find(|case| case["id"] == id).unwrap_or_else(|| panic!("no {id} in {report:#}"))
}

#[test]
fn builds_as_the_references_are_the_same_and_are_made_once() {
    let vendor = Vendor::new("", "");
    vendor.delivers_builds("gnu-2.44", "leaf");
    let report = vendor.path("report");
    let arguments = ["--spec", "leaf", "--report", report.to_str().expect("a path")];
    let output = vendor.run(&arguments);
    assert_eq!(status(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
    let document: Value =
        serde_json::from_slice(&std::fs::read(report.join("matrix.json")).expect("a file")).expect("JSON");
    let counts = &document["toolchains"][0]["abis"]["amd64"];
    assert_eq!((&counts["built"], &counts["same"], &counts["worse"]), (&4.into(), &4.into(), &0.into()));
    // The definition gives no version: the files determine it, and thus the reference.
    assert_eq!(document["toolchains"][0]["references"], serde_json::json!(["gnu-2.44"]));
    let leaf = case(&document, "leaf/fake/amd64/O2");
    assert!(leaf["comparisons"].as_u64() > Some(1000), "{leaf}");
    for file in ["matrix.md", "report.html", "report.json", "report.sarif", "junit.xml"] {
        assert!(report.join(file).is_file(), "{file}");
    }
    assert!(text(&output.stdout).contains("compared with gnu-2.44"), "{}", text(&output.stdout));

    // Again, everything is compiled; to go on, nothing, and with other flags everything.
    let before = vendor.log().len();
    assert_eq!(status(&vendor.run(&["--spec", "leaf"])), 0);
    assert!(vendor.log().len() > before);
    let before = vendor.log().len();
    assert_eq!(status(&vendor.run(&["--spec", "leaf", "--resume"])), 0);
    assert_eq!(vendor.log().len(), before);
    // A build that differs from what was kept is made again, and only that one.
    std::fs::write(vendor.path("work/builds/fake/amd64/leaf.O2"), "half").expect("a file");
    assert_eq!(status(&vendor.run(&["--spec", "leaf", "--resume"])), 0);
    let again = vendor.log().split_off(before);
    assert!(!again.is_empty() && again.iter().all(|line| line.starts_with("leaf.O2 ")), "{again:?}");
    let before = vendor.log().len();
    vendor.define("flags: [-mother]\nabis: {amd64: {compiler: ./cc}}\n");
    assert_eq!(status(&vendor.run(&["--spec", "leaf", "--resume"])), 0);
    let again = vendor.log().split_off(before);
    assert!(again.len() > 8 && again.iter().all(|line| line.contains(" -mother")), "{again:?}");
}

/// The linker of a toolchain is tried with the cases for linkers: what is wrong with it is worse than the reference, in
/// each format, and one that can't link at all is not judged.
#[test]
fn the_linker_of_a_toolchain_is_tried() {
    let vendor = Vendor::new("", "");
    vendor.delivers_builds("gnu-2.47", "leaf");
    vendor.define("abis: {amd64: {compiler: ./cc, linker: ./ld}}\n");
    let report = vendor.path("report");
    // Without --spec: who selects programs does not ask for the linker.
    let arguments = ["--report", report.to_str().expect("a path")];
    let tried = |script: &str| {
        vendor.script("ld", script);
        let output = vendor.run(&arguments);
        let file = |name: &str| std::fs::read_to_string(report.join(name)).expect(name);
        let document: Value = serde_json::from_str(&file("matrix.json")).expect("JSON");
        let links = document["toolchains"][0]["links"].clone();
        (status(&output), text(&output.stdout), file("matrix.md"), links)
    };
    let outcomes = |links: &Value| {
        let all = links["results"].as_array().expect("results").iter();
        let all = all.map(|result| (result["abi"].as_str(), result["outcome"].as_str()));
        let all: std::collections::BTreeSet<_> =
            all.map(|(abi, outcome)| (abi.expect("a name"), outcome.expect("a name"))).collect();
        format!("{all:?}")
    };
    // It says that it has linked, and has made nothing.
    let (found, shown, markdown, links) = tried("#!/bin/sh\n");
    assert_eq!(found, 1, "{shown}");
    assert!(outcomes(&links).contains(r#"("amd64", "wrong")"#), "{links:#}");
    assert!(!outcomes(&links).contains("aarch64"), "the toolchain has no other ABI");
    assert!(shown.contains("no-output "), "{shown}");
    assert!(markdown.contains("linker of fake: ") && markdown.contains(" wrong"), "{markdown}");
    // It can't link.
    let (found, shown, markdown, links) = tried("#!/bin/sh\necho 'no such emulation' >&2; exit 1\n");
    assert_eq!(found, 1, "{shown}");
    assert_eq!(outcomes(&links), r#"{("amd64", "unsupported")}"#);
    assert!(markdown.contains("linker of fake: "), "{markdown}");
    assert!(markdown.contains("\n### Lost\n"), "the other programs: {markdown}");
}

#[test]
fn every_way_to_fail_is_a_result_with_a_reason_and_the_rest_goes_on() {
    let script = r#"case "$name" in
    leaf.O2) echo "cc: error: unrecognized option '-fomit-frame-pointer'" >&2; exit 1 ;;
    leaf.O2-fp) kill -SEGV $$ ;;
    leaf.O2-pie) sleep 600 & wait ;;
    recursion.O0) echo garbage >"$out"; exit ;;
    recursion.O2-fp) exit 0 ;;
esac"#;
    let vendor = Vendor::new(script, "excluded: [{program: alloca, reason: It is not for this test.}]\n");
    vendor.delivers_builds("gnu-2.47", "leaf");
    let mut bare = doctor::build("gnu-2.47/amd64/recursion.O2");
    remove_section(&mut bare);
    vendor.delivers("recursion.O2", &bare);
    vendor.delivers("recursion.O2-pie", &doctor::build("gnu-2.47/aarch64/recursion.O2-pie"));

    let arguments = [
        "--spec",
        "leaf",
        "--spec",
        "recursion",
        "--spec",
        "alloca",
        "--timeout",
        "1",
        "--reference",
        "gnu-2.47",
    ];
    let start = Instant::now();
    let output = vendor.run(&[&arguments[..], &["--json"]].concat());
    assert!(start.elapsed() < Duration::from_secs(300), "a compiler that hangs is ended");
    assert_eq!(status(&output), 1, "the reference has them: {}", text(&output.stderr));
    let report = json(&output);
    assert_eq!(report["toolchains"][0]["abis"]["amd64"]["lost"], 7);
    let expected = [
        ("alloca.O0", "excluded"),
        ("alloca.O2", "excluded"),
        ("alloca.O2-fp", "excluded"),
        ("alloca.O2-pie", "excluded"),
        ("leaf.O0", "built"),
        ("leaf.O2", "refused"),
        ("leaf.O2-fp", "refused"),
        ("leaf.O2-pie", "refused"),
        ("recursion.O0", "refused"),
        ("recursion.O2", "no-section"),
        ("recursion.O2-fp", "refused"),
        ("recursion.O2-pie", "refused"),
    ];
    let results = results(&report);
    for (build, result) in expected {
        assert_eq!(results[build], result, "{build}");
    }
    assert_eq!(results.len(), expected.len());
    let refusal = |name: &str| {
        let builds = report["toolchains"][0]["builds"].as_array().expect("builds");
        let id = format!("fake/amd64/{name}");
        builds.iter().find(|build| build["id"] == *id).expect("a build")["refusal"].clone()
    };
    for (name, key, what) in [
        ("leaf.O2", "said", "unrecognized option"),
        ("leaf.O2", "ended", "exit status: 1"),
        ("leaf.O2", "step", "compile leaf.c"),
        ("leaf.O2", "command", "-fomit-frame-pointer"),
        ("leaf.O2-fp", "ended", "SIGSEGV"),
        ("leaf.O2-pie", "ended", "did not end within 1 s"),
        ("recursion.O0", "ended", "not an ELF file"),
        ("recursion.O2-fp", "ended", "wrote no file"),
        ("recursion.O2-pie", "said", "aarch64, little-endian; the ABI's `flags`"),
    ] {
        let refusal = refusal(name);
        assert!(refusal[key].as_str().is_some_and(|text| text.contains(what)), "{name}: {refusal}");
    }
    assert_eq!(case(&report, "leaf/fake/amd64/O0")["standing"], "same");
    assert_eq!(case(&report, "recursion/fake/amd64/O2")["standing"], "lost");

    // For people: the compiler's message, and the command; and each format has what is lost.
    let folder = vendor.path("report").display().to_string();
    let output = vendor.run(&[&arguments[..], &["--report", &folder]].concat());
    assert_eq!(status(&output), 1);
    let file = |name: &str| std::fs::read_to_string(vendor.path("report").join(name)).expect(name);
    assert!(file("junit.xml").contains(" errors=\"7\""), "{}", file("junit.xml"));
    assert!(file("report.sarif").contains("\"executionSuccessful\": false"));
    assert!(file("matrix.md").contains("\n### Lost\n"));
    let shown = text(&output.stdout);
    for line in [
        "lost        its build has no .sframe: recursion/fake/amd64/O2",
        "compile: unrecognized option '-fomit-frame-pointer' (exit status: 1): fake/amd64/leaf.O2",
        "no section  fake/amd64/recursion.O2",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    // Where that is all, it was built, and the key is named that asks for sections.
    let output = vendor.run(&["--spec", "recursion", "--variant", "O2"]);
    let why = "nothing was compared: the only build has no section: does `sframe_flags` of the definition ask for it";
    assert!(status(&output) == 3 && text(&output.stdout).contains(why), "{output:?}");
}

#[test]
fn a_wrong_version_in_a_definition_names_its_key() {
    let vendor = Vendor::new("", "sframe_version: 2\n");
    vendor.delivers_builds("gnu-2.47", "leaf");
    let output = vendor.run(&["--spec", "leaf", "--reference", "gnu-2.47"]);
    let why = "the section has version 3, but `sframe_version` of the toolchain's definition is 2";
    assert!(status(&output) == 4 && text(&output.stdout).contains(why), "{output:?}");
}

#[test]
fn a_wrong_row_is_worse_with_its_place_and_blame() {
    let vendor = Vendor::new("", "");
    vendor.delivers_builds("gnu-2.47", "leaf");
    let mut wrong = doctor::build("gnu-2.47/amd64/leaf.O2");
    patch_first_row(&mut wrong, "leaf");
    vendor.delivers("leaf.O2", &wrong);
    let report = vendor.path("report");
    let output = vendor.run(&["--spec", "leaf", "--report", report.to_str().expect("a path")]);
    assert_eq!(status(&output), 1, "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("worse       leaf (amd64): wrong-cfa in leaf: O2 +0x0\n"), "{shown}");
    assert!(shown.contains("likely cause: producer-assembler"), "{shown}");
    let markdown = std::fs::read_to_string(report.join("matrix.md")).expect("a file");
    assert!(
        markdown.contains("### Worse\n\n- **leaf \\(amd64\\): wrong-cfa in leaf: O2 +0x0**: "),
        "{markdown}"
    );
    let document: Value =
        serde_json::from_slice(&std::fs::read(report.join("matrix.json")).expect("a file")).expect("JSON");
    let worse = case(&document, "leaf/fake/amd64/O2");
    assert_eq!(worse["standing"], "worse");
    let command = worse["reproduce"].as_str().expect("a command");
    assert!(command.contains(" --spec leaf --abi amd64 --variant O2 --work "), "{command}");
    assert!(shown.contains(&format!("    help: {command}\n")), "{shown}");
    assert!(markdown.contains("- reproduce with <code>sframe-testbench matrix "), "{markdown}");
    let again = reproduce(command, "--json");
    assert_eq!(status(&again), 1, "{}", text(&again.stderr));
    let again = json(&again);
    assert_eq!(case(&again, "leaf/fake/amd64/O2")["worse"], worse["worse"]);
    assert_eq!(again["toolchains"][0]["cases"].as_array().map(Vec::len), Some(1));
    for variant in ["O0", "O2-fp", "O2-pie"] {
        assert_eq!(case(&document, &format!("leaf/fake/amd64/{variant}"))["standing"], "same");
    }
}

#[test]
fn what_the_reference_has_as_known_counts_as_its_finding_row_by_row() {
    // binutils 2.44 has known failures there that 2.47 does not have. Of the same code, 2.47 has other rows wrong.
    let vendor = Vendor::new("", "");
    vendor.delivers_builds("gnu-2.47", "remember_restore");
    let arguments = ["--spec", "remember_restore", "--json", "--reference"];
    let output = vendor.run(&[&arguments[..], &["gnu-2.44"]].concat());
    let report = json(&output);
    assert_eq!(status(&output), 1, "{report:#}");
    let compared = case(&report, "remember_restore/fake/amd64/O2");
    assert_eq!(compared["standing"], "worse", "{compared:#}");
    let functions = |key: &str| -> Vec<&str> {
        let kinds = compared[key].as_array().expect("kinds").iter();
        kinds.filter_map(|kind| kind["function"].as_str()).collect()
    };
    assert_eq!(functions("better"), ["same_value"]);
    assert_eq!(functions("worse"), ["many_epilogues", "nested_states"]);
    let shown = text(&vendor.run(&["--spec", "remember_restore", "--reference", "gnu-2.44"]).stdout);
    let line =
        "better      remember_restore (amd64): without the reference's wrong-fp in same_value: O2, O2-pie\n";
    assert!(shown.contains(line), "{shown}");
    // The other way round it is worse; compared with itself it is the same.
    vendor.delivers_builds("gnu-2.44", "remember_restore");
    for (reference, standing, ended) in [("gnu-2.47", "worse", 1), ("gnu-2.44", "same", 0)] {
        // The compiler has not changed: only a new folder makes it compile again.
        let mut command = vendor.command(reference, &arguments);
        let output = command.arg(reference).output().expect("the bench runs");
        assert_eq!(status(&output), ended, "{}", text(&output.stderr));
        assert_eq!(case(&json(&output), "remember_restore/fake/amd64/O2")["standing"], standing);
    }
}

#[test]
fn a_function_without_an_fde_is_not_better_for_having_no_wrong_rows() {
    // 2.47 writes wrong rows for it, and 2.44 can't describe it at all.
    let vendor = Vendor::new("", "");
    vendor.delivers_builds("gnu-2.44", "realign");
    let arguments = ["--spec", "realign", "--variant", "O2", "--json", "--reference", "gnu-2.47"];
    let output = vendor.run(&arguments);
    let report = json(&output);
    assert_eq!(status(&output), 1, "{report:#}");
    let case = case(&report, "realign/fake/amd64/O2");
    let worse: Vec<_> =
        case["worse"].as_array().expect("kinds").iter().map(|kind| &kind["verdict"]).collect();
    assert!(!worse.is_empty() && worse.iter().all(|verdict| *verdict == "no-fde"), "{case:#}");
    assert_eq!(case["better"], serde_json::json!([]), "{case:#}");
    let notes = case["not_checked"].to_string();
    assert!(notes.contains("wrong-fp in realigned of the reference: code of it has no FDE"), "{notes}");
}

#[test]
fn a_section_that_nobody_can_read_is_broken_and_the_rest_goes_on() {
    let vendor = Vendor::new("", "");
    vendor.delivers_builds("gnu-2.47", "leaf");
    let mut wrong = doctor::build("gnu-2.47/amd64/leaf.O2");
    let section = doctor::section_offset(&wrong);
    wrong[section + 2] = 9;
    vendor.delivers("leaf.O2", &wrong);
    let output = vendor.run(&["--spec", "leaf", "--json", "--reference", "gnu-2.47"]);
    assert_eq!(status(&output), 4, "{}", text(&output.stderr));
    let report = json(&output);
    let broken = case(&report, "leaf/fake/amd64/O2");
    assert_eq!(broken["standing"], "broken");
    assert!(broken["reason"].as_str().is_some_and(|reason| reason.contains('9')), "{broken}");
    assert_eq!(case(&report, "leaf/fake/amd64/O0")["standing"], "same");
}

#[test]
fn a_wrapper_is_put_before_each_command_and_chosen_tools_are_passed_on() {
    let vendor = Vendor::new("", "");
    vendor.delivers_builds("gnu-2.47", "crossing");
    vendor.script("as", "#!/bin/sh\necho fake as 2.0\n");
    vendor.script(
        "wrap",
        &format!("#!/bin/sh\necho \"$PWD\" >>{}\nexec \"$@\"\n", vendor.path("wrapped").display()),
    );
    let cc = vendor.path("cc").display().to_string();
    let tools = format!("abis: {{amd64: {{compiler: {cc}, assembler: {}}}}}\n", vendor.path("as").display());
    let arguments = ["--spec", "crossing", "--variant", "O2-dynamic", "--json"];
    for (wrapper, work) in
        [("[./wrap]", "one"), ("[sh, -c, \"cd / && cd {sources} && {command}\"]", "two"), ("[]", "three")]
    {
        vendor.define(&format!("wrapper: {wrapper}\n{tools}"));
        let before = vendor.log().len();
        let output = vendor.command(work, &arguments).output().expect("the bench runs");
        assert_eq!(status(&output), 0, "{wrapper}: {}{}", text(&output.stdout), text(&output.stderr));
        let report = json(&output);
        assert_eq!(report["toolchains"][0]["abis"]["amd64"]["same"], 1, "{wrapper}");
        assert_eq!(report["toolchains"][0]["tools"]["amd64"]["binutils"], "fake as 2.0");
        let log = vendor.log().split_off(before);
        assert!(log.iter().any(|line| line.contains("-Wl,-rpath,$ORIGIN")), "{wrapper}: {log:?}");
        assert!(log.iter().all(|line| line.contains("/tools-amd64/")), "{wrapper}: {log:?}");
    }
    let wrapped = std::fs::read_to_string(vendor.path("wrapped")).expect("a file");
    assert!(
        wrapped.lines().count() > 4 && wrapped.lines().all(|line| line.ends_with("/programs")),
        "{wrapped}"
    );
}

/// What a wrapper leads to may have changed, whatever version it says that it has.
#[test]
fn builds_behind_a_wrapper_are_made_again() {
    let vendor = Vendor::new("", "");
    vendor.delivers_builds("gnu-2.47", "leaf");
    vendor.script("wrap", "#!/bin/sh\nexec \"$@\"\n");
    let cc = vendor.path("cc").display().to_string();
    vendor.define(&format!("wrapper: [./wrap]\nabis: {{amd64: {{compiler: {cc}}}}}\n"));
    let arguments = ["--spec", "leaf", "--variant", "O2", "--resume"];
    let run = || status(&vendor.command("work", &arguments).output().expect("the bench runs"));
    assert_eq!(run(), 0);
    let mut wrong = doctor::build("gnu-2.47/amd64/leaf.O2");
    patch_first_row(&mut wrong, "leaf");
    vendor.delivers("leaf.O2", &wrong);
    assert_eq!(run(), 1);
}

#[test]
fn a_run_that_is_killed_leaves_what_is_finished_and_the_next_one_completes_it() {
    let vendor = Vendor::new("sleep 0.05", "");
    vendor.delivers_builds("gnu-2.47", "leaf");
    vendor.delivers_builds("gnu-2.47", "recursion");
    vendor.delivers_builds("gnu-2.47", "varargs");
    let specs = ["--spec", "leaf", "--spec", "recursion", "--spec", "varargs"];
    let arguments = [&specs[..], &["--jobs", "2", "--json", "--resume"]].concat();
    let whole = vendor.command("whole", &arguments).output().expect("the bench runs");
    assert_eq!(status(&whole), 0, "{}", text(&whole.stderr));

    let finished = |work: &str| -> Vec<PathBuf> {
        let folder = vendor.path(work).join("finished/fake/amd64");
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files.map(|entry| entry.path()).collect()
    };
    let (mut killed, mut before) = (0, Vec::new());
    for enough in [1, 4, 8] {
        let mut child = vendor
            .command("work", &arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("the bench runs");
        let deadline = Instant::now() + Duration::from_secs(120);
        while finished("work").len() < enough && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a group");
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).expect("it runs");
        killed += i32::from(!child.wait().expect("it ended").success());
        before = finished("work");
        assert!(before.len() >= enough);
        // Everything listed as finished is complete.
        for path in &before {
            let document: Value =
                serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("a whole document");
            let id = document["build"]["id"].as_str().expect("an id");
            let name = id.rsplit('/').next().expect("a name");
            let made = std::fs::read(vendor.path("work/builds").join(id)).expect("a build");
            assert_eq!(made, std::fs::read(vendor.path("builds").join(name)).expect("a build"), "{id}");
        }
    }
    assert_eq!(killed, 3);
    let names: Vec<String> =
        before.iter().filter_map(|path| Some(format!("{} ", path.file_stem()?.to_str()?))).collect();
    // Compilers of the killed run may still be writing to the log.
    std::thread::sleep(Duration::from_millis(500));
    let lines = vendor.log().len();
    let resumed = vendor.command("work", &arguments).output().expect("the bench runs");
    let [mut resumed_report, mut whole_report] = [json(&resumed), json(&whole)];
    for report in [&mut resumed_report, &mut whole_report] {
        assert!(report["provenance"].take().is_object());
    }
    assert_eq!(resumed_report, whole_report);
    assert_eq!(status(&resumed), 0);
    let again = vendor.log().split_off(lines);
    assert!(!again.is_empty(), "it was killed before its end");
    assert!(!again.iter().any(|line| names.iter().any(|name| line.starts_with(name))), "{names:?} {again:?}");
    let left: Vec<_> = std::fs::read_dir(vendor.path("work/scratch")).expect("a folder").collect();
    assert!(left.is_empty(), "what killed runs leave is removed: {left:?}");
}

#[test]
fn a_work_folder_is_used_by_one_run_at_a_time() {
    let vendor = Vendor::new("sleep 5", "");
    let mut first = vendor
        .command("work", &["--spec", "leaf"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the bench runs");
    let deadline = Instant::now() + Duration::from_secs(120);
    while vendor.log().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    let second = vendor.run(&["--spec", "leaf"]);
    first.kill().expect("it runs");
    first.wait().expect("it ended");
    assert_eq!(status(&second), 2);
    assert!(text(&second.stderr).contains("in use by another run"), "{}", text(&second.stderr));
}

#[test]
fn mistakes_in_a_definition_are_one_clear_error_each() {
    let vendor = Vendor::new("", "");
    let abis = "abis: {amd64: {compiler: ./cc}}\n";
    let cc = vendor.path("cc").display().to_string();
    for (definition, message) in [
        (format!("{abis}compiler: gcc\n"), "unknown key `compiler`"),
        ("abis: {vax: {compiler: ./cc}}\n".to_owned(), "unknown name `vax`"),
        ("abis: {}\n".to_owned(), "either `abis`"),
        ("abis: {amd64: {compiler: ./none}}\n".to_owned(), "/none is not there"),
        ("abis: {amd64: {compiler: ./cc, assembler: bin/as}}\n".to_owned(), "/bin/as is not there"),
        ("abis: {amd64: {compiler: ./cc, linker: /no/such/ld}}\n".to_owned(), "/no/such/ld is not there"),
        (
            format!("abis: {{amd64: {{compiler: {cc}, assembler: /no/such/as}}}}\nwrapper: [env]\n"),
            "toolchain fake: /no/such/as (amd64): ",
        ),
        (format!("{abis}root: {{folder: .}}\n"), "there is no `usr/bin` in"),
        (format!("{abis}path: [bin]\n"), "/bin is not there"),
        (format!("{abis}wrapper: [./wrap]\n"), "/wrap is not there"),
        (
            format!(
                "{abis}wrapper: [sh, -c, \"echo ${{wrok}} {{{{.Work}}}}; cd {{source}}; {{command}}\"]\n"
            ),
            "`{source}` in `wrapper` is unknown; did you mean `{sources}`?",
        ),
        (format!("{abis}root: {{folder: tree}}\n"), "/tree is not there"),
        (format!("{abis}root: {{folder: ., suite: sid}}\n"), "either `folder`, or `suite`"),
        (format!("{abis}root: {{folder: .}}\nwrapper: [sh]\n"), "either `root` or `wrapper`"),
        (format!("{abis}sframe_version: 7\n"), "SFrame has no version 7"),
        (format!("{abis}reference: gnu-2.45\n"), "did you mean `gnu-2.4"),
        (
            format!("{abis}excluded: [{{program: leav, reason: It can not be built.}}]\n"),
            "`leav`, which is no program",
        ),
        (
            "abis: {amd64: {compiler: no-such-compiler}}\n".to_owned(),
            "no compiler can be used: no-such-compiler",
        ),
    ] {
        vendor.define(&definition);
        let output = vendor.run(&["--spec", "leaf"]);
        let shown = text(&output.stderr);
        assert_eq!(status(&output), 2, "{definition}{shown}");
        assert!(shown.contains(message), "{definition}{shown}");
        assert!(!shown.contains("panicked") && text(&output.stdout).is_empty(), "{shown}");
    }
    vendor.define(abis);
    for (arguments, message) in [
        (["--variant", "O9"], "no variant `O9`"),
        (["--abi", "s390x"], "it has no ABI `s390x`"),
        (["--spec", "nothing*"], "no spec matches"),
        (["--reference", "gnu-2.4"], "the corpus has no build by the reference"),
        (["--timeout", "0"], "--timeout"),
        // A program that is for other ABIs only.
        (["--spec", "packed_stack"], "`fake` builds none of the selected programs"),
    ] {
        let output = vendor.run(&arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(text(&output.stderr).contains(message), "{arguments:?}: {}", text(&output.stderr));
    }
    let bench = |name: &str| {
        let mut bench = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"));
        bench.current_dir(repository()).args(["matrix", name, "--work"]).arg(vendor.path("work"));
        bench.output().expect("the bench runs")
    };
    let output = bench("gnu-2.48");
    assert_eq!(status(&output), 2);
    let shown = text(&output.stderr);
    assert!(shown.contains("neither a file nor a toolchain of the corpus; did you mean `gnu-2.4"), "{shown}");
    // Names of the corpus are definitions too, except for toolchains that compile nothing.
    let output = bench("derived-v2");
    assert_eq!(status(&output), 2);
    assert!(text(&output.stderr).contains("nothing to compile"), "{}", text(&output.stderr));
}

#[test]
fn a_toolchain_all_of_whose_builds_are_refused_has_compared_nothing() {
    let vendor = Vendor::new("echo no >&2; exit 1", "");
    let output = vendor.run(&["--spec", "leaf"]);
    assert_eq!(status(&output), 3, "{}", text(&output.stdout));
    let shown = text(&output.stdout);
    assert!(shown.contains("refused     compile: no (exit status: 1): fake/amd64/leaf.O0, "), "{shown}");
    let last = conclusion(&shown);
    assert!(
        last.contains("; nothing was compared: ") && last.contains("compile: no (exit status: 1)"),
        "{last}"
    );
}

#[test]
fn the_machines_own_compiler_is_compared_where_it_writes_sframe() {
    let folder = tempfile::tempdir().expect("a folder");
    let object = folder.path().join("empty.o");
    let compiled = Command::new("gcc")
        .args(["-Wa,--gsframe", "-fasynchronous-unwind-tables", "-x", "c", "-c", "-o"])
        .arg(&object)
        .arg("-")
        .stdin(Stdio::null())
        .output();
    if !cfg!(target_arch = "x86_64") || !compiled.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: this machine has no gcc for amd64 whose assembler knows --gsframe");
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(repository())
        .args([
            "matrix",
            "corpus/matrix/host.yaml",
            "--spec",
            "leaf",
            "--spec",
            "recursion",
            "--json",
            "--work",
        ])
        .arg(folder.path().join("work"))
        .output()
        .expect("the bench runs");
    let report = json(&output);
    let counts = &report["toolchains"][0]["abis"]["amd64"];
    assert_eq!((&counts["built"], &counts["broken"]), (&8.into(), &0.into()), "{report:#}");
    // A compiler of the corpus behaves as it did there; another one may be worse.
    let compiler = report["toolchains"][0]["tools"]["amd64"]["compiler"].as_str().expect("a compiler");
    if compiler.contains("(Debian 12.2.0") || compiler.contains("(Debian 14.2.0") {
        assert_eq!((status(&output), &counts["same"]), (0, &8.into()), "{report:#}");
    } else {
        assert!(status(&output) <= 1, "{report:#}");
    }
}

/// The example definitions beside the corpus can be used.
#[test]
fn the_examples_are_definitions() {
    for name in ["host", "template"] {
        let path = repository().join("corpus/matrix").join(format!("{name}.yaml"));
        let toolchain = sframe_corpus::corpus::Toolchain::load(Path::new(&path)).expect("a definition");
        assert_eq!(toolchain.name, name);
        assert!(toolchain.sframe_version.is_none(), "what they write is what they say");
    }
    let text = std::fs::read_to_string(repository().join("corpus/matrix/host.yaml")).expect("a file");
    assert!(text.lines().count() <= 10, "ten lines are enough");
}

#[test]
fn an_interrupted_matrix_leaves_no_compiler_behind() {
    let vendor = Vendor::new("echo $$ >>\"$here/pids\"; sleep 1000", "");
    for format in [&[][..], &["--json"]] {
        let arguments = [&["--spec", "leaf"], format].concat();
        let child = vendor
            .command("work", &arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the bench runs");
        let pids = || std::fs::read_to_string(vendor.path("pids")).unwrap_or_default();
        wait("no compiler runs", || pids().ends_with('\n').then_some(()));
        interrupt(&child, rustix::process::Signal::TERM);
        let output = child.wait_with_output().expect("it ended");
        assert_eq!(status(&output), 4, "{output:?}");
        if format.is_empty() {
            let said = text(&output.stdout);
            assert!(said.starts_with("INTERRUPTED: 0 builds made, 0 cases run\n    "), "{said}");
            assert!(said.contains("with --resume"), "{said}");
        } else {
            assert_eq!(json(&output)["verdict"], "INTERRUPTED");
        }
        assert!(!pids().is_empty());
        assert!(pids().lines().all(|pid| !is_there(pid.parse().expect("a process"))), "{}", pids());
        std::fs::remove_file(vendor.path("pids")).expect("a file");
    }
}
