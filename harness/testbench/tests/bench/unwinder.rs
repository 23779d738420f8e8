//! Unwinders in separate processes: a correct one, and faulty ones, which are
//! shell scripts around it.

use std::collections::BTreeSet;
use std::time::Instant;

use rstest::rstest;
use serde_json::Value;
use sframe_judge::target::Target;

use crate::command::{bench, conclusion, json, status};
use crate::common::repository;

pub(crate) const ENGINE: &str = env!("CARGO_BIN_EXE_sframe-engine-unwinder");
pub(crate) const HELLO: &str =
    r#"{"id":1,"hello":{"protocol":1,"name":"shell","version":"1","data":"sframe","section":["lookups"]}}"#;

pub(crate) fn build(id: &str) -> String {
    format!("corpus/builds/{id}")
}

/// A shell script as a command.
pub(crate) fn shell(script: &str) -> String {
    shlex::try_join(["sh", "-c", script]).expect("no zeroes")
}

/// A script that answers `hello` and `open`, and then runs something else.
pub(crate) fn after_the_handshake(script: &str) -> String {
    shell(&format!(
        r#"read hello; echo '{HELLO}'
           read open; case "$open" in *'"open"'*) echo '{{"id":2}}';; esac
           {script}"#
    ))
}

pub(crate) fn check(build_id: &str, command: &str, more: &[&str]) -> (i32, Value) {
    let file = build(build_id);
    let arguments = [&["check", "--json", "--unwinder", command], more, &[&file]];
    let output = bench(&arguments.concat());
    (status(&output), json(&output))
}

pub(crate) fn verdicts(report: &Value) -> Vec<&str> {
    let mut verdicts: Vec<_> =
        report["summary"]["verdicts"].as_object().expect("verdicts").keys().map(String::as_str).collect();
    verdicts.sort_unstable();
    verdicts
}

pub(crate) fn stops(report: &Value) -> u64 {
    report["unwinder"]["stops"].as_u64().expect("a number")
}

/// At every instruction, the engine gives the same answers through the protocol as
/// inside the bench.
#[rstest]
#[case("gnu-2.47/amd64/realign.O2")]
#[case("gnu-2.47/aarch64_be/pauth.O2")]
#[case("gnu-2.47/s390x/saved_fprs.O2")]
#[case("gnu-2.40/aarch64/recursion.O0")]
#[case("llvm-22/amd64/coroutines.O2")]
#[case("gnu-2.44/amd64/crossing.O2-dynamic")]
fn the_engine_behind_the_protocol_is_the_engine(#[case] id: &str) {
    let (_, outside) = check(id, ENGINE, &["--stops-per-case", "all"]);
    let inside = json(&bench(&["check", "--json", &build(id)]));
    // Where SP has left a frame and control has not, its walks end as they do.
    let departing = inside["summary"]["walk_ends"]["departing"].as_u64().expect("a number");
    let frames = if departing == 0 { "frames" } else { "instructions" };
    for key in ["instructions", "comparisons", "agree", "rows_exercised", frames] {
        let count = |report: &Value| report["summary"][key].as_u64().expect("a number");
        assert_eq!(count(&outside), count(&inside), "{key}");
    }
    let all = |report: &Value| {
        let ends = report["summary"]["walk_ends"].as_object().expect("an object").iter();
        ends.filter(|(end, _)| *end != "entry_without_fde")
            .map(|(_, count)| count.as_u64())
            .sum::<Option<u64>>()
    };
    assert_eq!(all(&outside), all(&inside));
    if departing == 0 {
        assert_eq!(outside["summary"]["walk_ends"], inside["summary"]["walk_ends"]);
    }
    let place = |finding: &Value| {
        ["verdict", "pc", "function", "frame", "hits", "row", "expected", "got"]
            .map(|key| finding[key].clone())
            .to_vec()
    };
    // Luck depends on the section, not on the unwinder.
    let places = |report: &Value| {
        let findings = report["findings"].as_array().expect("findings").iter();
        findings.filter(|finding| finding["verdict"] != "by-luck").map(place).collect::<Vec<_>>()
    };
    assert_eq!(places(&outside), places(&inside));
    assert_eq!(outside["unwinder"]["fp_untold"], 0);
}

/// One that can't be asked about a program leaves a report, as any check does, and the last line says why.
#[rstest]
#[case::ends("exit 7", 4, "failed where `open` was to be answered")]
#[case::is_silent("exec sleep 60", 4, "failed where `open` was to be answered")]
#[case::refuses(r#"echo '{"id":2,"unsupported":"nothing but riscv"}'; cat >&2"#, 3, "nothing but riscv")]
#[case::says_not_why(r#"echo '{"id":2,"unsupported":" "}'; cat >&2"#, 3, "it gave no reason")]
fn an_unwinder_that_fails_at_open_leaves_a_report(
    #[case] at_open: &str,
    #[case] expected: i32,
    #[case] reason: &str,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report");
    let command = shell(&format!("read hello; echo '{HELLO}'; if read open; then {at_open}; fi"));
    let to = report.display().to_string();
    let file = build("gnu-2.47/amd64/leaf.O2");
    let output = bench(&["check", "--unwinder", &command, "--unwinder-timeout=1", "--report", &to, &file]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(status(&output), expected, "{said}{output:?}");
    let last = conclusion(&said);
    assert!(last.contains(reason) && last.contains("nothing was executed"), "{said}");
    for name in ["report.json", "report.sarif", "junit.xml", "summary.md"] {
        let text = std::fs::read_to_string(report.join(name)).expect(name);
        assert!(text.contains(reason), "{name}: {text}");
    }
    let junit = std::fs::read_to_string(report.join("junit.xml")).expect("a report");
    assert!(junit.contains("errors=\"1\""), "{junit}");
}

/// A wrong row is one finding of the sections, as everywhere, at however many places it is wrong.
#[test]
fn findings_of_the_sections_are_counted_by_cause() {
    let id = "gnu-2.44/amd64/remember_restore.O2";
    let inside = json(&bench(&["check", "--json", &build(id)]));
    let findings = inside["findings"].as_array().expect("findings");
    let places: u64 = findings.iter().filter_map(|finding| finding["places"].as_u64()).sum();
    let (_, outside) = check(id, ENGINE, &["--stops-per-case", "0"]);
    assert_eq!(outside["unwinder"]["section_findings"], findings.len());
    assert!(places > findings.len() as u64, "{places}");
}

/// Most stops are equivalent to another one.
#[test]
fn what_is_not_asked_is_counted() {
    let id = "gnu-2.47/amd64/realign.O2";
    let (_, report) = check(id, ENGINE, &[]);
    let unwinder = &report["unwinder"];
    assert_eq!(unwinder["stops"], unwinder["different"]);
    assert!(unwinder["moments"].as_u64() > unwinder["stops"].as_u64().map(|stops| stops * 10));
    let (_, few) = check("gnu-2.47/amd64/recursion.O2", ENGINE, &["--stops-per-case", "0"]);
    let (_, many) = check("gnu-2.47/amd64/recursion.O2", ENGINE, &["--stops-per-case", "50"]);
    assert_eq!(stops(&many), stops(&few) + 50, "beside each PC once");
    assert!(few["unwinder"]["different"].as_u64() > Some(stops(&few)));
}

/// Three stops of the spec are later arrivals.
#[test]
fn the_stops_of_a_spec_are_asked() {
    let (_, checked) = check("gnu-2.44/amd64/tail_calls.O2", ENGINE, &["--stops-per-case", "0"]);
    let run = bench(&[
        "run",
        "--json",
        "--unwinder",
        ENGINE,
        "--stops-per-case",
        "0",
        "--spec",
        "tail_calls",
        "--toolchain",
        "gnu-2.44",
        "--abi",
        "amd64",
    ]);
    let run = json(&run);
    let cases = run["cases"].as_array().expect("cases");
    let case = cases.iter().find(|case| case["build"] == "gnu-2.44/amd64/tail_calls.O2").expect("the build");
    assert_eq!(stops(case), stops(&checked) + 3);
}

/// Memory is that of the stop, although the program has continued: most of the
/// stack is beyond the snapshot, and is stored to all the time.
/// Functions that leave for a landing pad say so before they have left. An
/// unwinder that follows them is right, however many stops are asked about at a
/// time.
#[rstest]
#[case::all("all")]
#[case::some("40")]
fn naming_where_a_function_leaves_for_is_not_wrong(#[case] stops: &str) {
    let arguments = ["run", "--json", "--spec", "eh_return", "--toolchain", "gnu-2.47", "--unwinder", ENGINE];
    let output = bench(&[&arguments[..], &["--stops-per-case", stops]].concat());
    let report = json(&output);
    assert_eq!((status(&output), &report["summary"]["unexpected"]), (0, &0.into()));
    let cases = report["cases"].as_array().expect("cases");
    // Stops at which the function says so are not compared.
    let unsettled = |case: &&Value| case["unwinder"]["nothing_compared"] != 0;
    assert_eq!((cases.len(), cases.iter().filter(unsettled).count() > 0), (16, true));
}

/// What the engine also says is taken back only where the whole run has borne it out: rows that are wrong stay findings, and
/// the walks count as wrong.
#[test]
fn what_the_engine_also_says_is_not_excused_by_that() {
    let (status, report) = check("gnu-2.47/amd64/realign.O2", ENGINE, &["--stops-per-case", "all"]);
    let findings = report["findings"].as_array().expect("findings");
    assert_eq!((status, findings.len()), (1, 4), "{report}");
    let is_shared = |found: &Value| {
        found["verdict"] == "wrong-fp"
            && found["message"]
                .as_str()
                .is_some_and(|said| said.contains("the engine of this project says the same"))
    };
    assert!(findings.iter().all(is_shared), "{findings:#?}");
}

#[test]
fn what_is_read_is_as_it_was_at_the_stop() {
    let (status, report) = check("gnu-2.47/amd64/deep_recursion.O2", ENGINE, &["--stops-per-case", "20"]);
    assert_eq!(status, 0, "{report}");
    assert!(report["summary"]["max_depth"].as_u64() > Some(10_000));
    let (status, report) = check("gnu-2.47/amd64/coroutines.O2", ENGINE, &["--stops-per-case", "all"]);
    assert_eq!(status, 0, "{report}");
}

/// The same without any snapshot: the whole stack is read when the program is
/// up to 64 stops further on, and may have unmapped it.
#[rstest]
#[case("gnu-2.47/amd64/realign.O2")]
#[case("gnu-2.47/s390x/saved_fprs.O2")]
#[case("gnu-2.44/aarch64_be/coroutines.O2")]
#[case("../constructed/mapped-stacks/amd64")]
#[case("../constructed/mapped-stacks/aarch64")]
#[case("../constructed/mapped-stacks/aarch64_be")]
#[case("../constructed/mapped-stacks/s390x")]
fn memory_is_that_of_the_stop(#[case] id: &str) {
    let change =
        r#"s/"stack":{"address":"[0-9a-fx]*","bytes":"[0-9a-f]*"}/"stack":{"address":"0x0","bytes":""}/g"#;
    let command = shell(&format!("sed -u '{change}' | {ENGINE}"));
    let (_, blind) = check(id, &command, &["--stops-per-case", "100"]);
    let (_, seeing) = check(id, ENGINE, &["--stops-per-case", "100"]);
    for part in ["findings", "broken"] {
        assert_eq!(blind[part], seeing[part]);
    }
    for key in ["stops", "agree", "frames", "walk_ends", "restarts"] {
        assert_eq!(blind["unwinder"][key], seeing["unwinder"][key], "{key}");
    }
    let findings = blind["findings"].as_array().expect("a list");
    assert!(findings.iter().all(|found| found["blame"] != "consumer"), "{findings:#?}");
    assert!(stops(&blind) > 64);
}

#[test]
fn known_findings_of_a_build_are_known_of_any_unwinder() {
    let run = ["run", "--json", "--spec", "realign", "--toolchain", "gnu-2.47", "--abi", "amd64"];
    let output = bench(&[&run[..], &["--unwinder", ENGINE]].concat());
    assert_eq!(status(&output), 0);
    let report = json(&output);
    assert!(report["summary"]["known"].as_u64() > Some(0), "{}", report["summary"]);
    assert_eq!(report["summary"]["unexpected"], 0);
    // The same values are the build's fault; others are the unwinder's.
    let wrong = r#"s/"fp":"0x0"/"fp":"0x8"/g"#;
    let output =
        bench(&[&run[..], &["--unwinder", &shell(&format!("{ENGINE} | sed -u '{wrong}'"))]].concat());
    assert_eq!(status(&output), 1);
    let report = json(&output);
    let cases = report["cases"].as_array().expect("cases").iter();
    let findings: Vec<&Value> =
        cases.flat_map(|case| case["findings"].as_array().expect("findings")).collect();
    let (own, others): (Vec<&Value>, Vec<_>) =
        findings.into_iter().partition(|finding| finding["blame"] == "consumer");
    assert!(!own.is_empty(), "{report}");
    // If the build is wrong, and the unwinder differently, the blame is unknown.
    let otherwise =
        |finding: &&Value| finding["message"].as_str().is_some_and(|it| it.ends_with("differently"));
    assert!(others.iter().all(otherwise), "{report}");
}

/// Wrong answers, each found with its verdict.
#[rstest]
#[case::a_wrong_cfa(r#"s/"cfa":"0x3ffff/"cfa":"0x3fffe/"#, "wrong-cfa")]
#[case::no_caller(r#"s/\("frames":\[{[^}]*}\),.*\],"end":.*/\1],"end":{"kind":"outermost"}}/"#, "truncated")]
#[case::no_mark(r#"s/"kind":"outermost"/"kind":"failed"/"#, "wrong-end")]
#[case::malformed(r#"s/"kind":"outermost"/"kind":"malformed"/"#, "decode-error")]
#[case::one_frame_more(r#"s/\],"end"/,{"pc":"0x1234"},{"pc":"0x5678"}],"end"/"#, "extra-frames")]
#[case::another_pc(r#"s/"frames":\[{"pc":"0x/"frames":[{"pc":"0x1/"#, "bad-answer")]
fn a_wrong_answer_is_found(#[case] change: &str, #[case] verdict: &str) {
    let command = shell(&format!("{ENGINE} --claim nothing | sed -u '{change}'"));
    let (status, report) = check("gnu-2.47/amd64/leaf.O2", &command, &[]);
    assert_eq!((status, verdicts(&report)), (1, vec![verdict]), "{report}");
    let findings = report["findings"].as_array().expect("findings");
    assert!(findings.iter().all(|finding| finding["blame"] == "consumer"), "{report}");
}

/// Findings and hints of the engine with a mistake.
fn mistaken(mistake: &str, build_id: &str) -> (usize, Vec<String>) {
    let command = format!("{ENGINE} --claim nothing --mistake {mistake}");
    let (_, report) = check(build_id, &command, &[]);
    let findings = report["findings"].as_array().expect("findings");
    let hints = findings.iter().filter_map(|finding| Some(finding["hint"].as_str()?.to_owned()));
    (findings.len(), hints.collect())
}

/// An unwinder that makes a usual mistake is told which one, in nearly all findings,
/// and never another.
#[rstest]
#[case("look-up-at-return-address", "gnu-2.40/aarch64/rows_at_returns.O2", "of a look-up at RA;")]
#[case("look-up-before-pc", "gnu-2.47/s390x/recursion.O2", "of a look-up at PC - 1;")]
#[case("cfa-offset-as-stored", "gnu-2.47/s390x/recursion.O2", "of the CFA offset as it is stored;")]
#[case("not-loaded", "gnu-2.44/aarch64_be/pauth.O2", "the address that the rule computes;")]
#[case("other-cfa-base", "gnu-2.47/amd64/recursion.O0", "of the other base register;")]
#[case("swapped-places", "gnu-2.47/amd64/recursion.O0", "of RA and FP in the wrong order;")]
#[case("own-fp", "gnu-2.47/amd64/recursion.O0", "the frame's own FP;")]
#[case("code-not-removed", "gnu-2.44/aarch64_be/pauth.O2", "RA with its authentication code;")]
#[case("row-before", "llvm-22/amd64/recursion.O0", "of the row before;")]
#[case("row-after", "gnu-2.44/aarch64_be/pauth.O2", "of the row after;")]
#[case("cfa-too-low", "gnu-2.47/s390x/recursion.O2", "the CFA is a word too low")]
#[case("cfa-too-high", "gnu-2.47/amd64/recursion.O0", "the CFA is a word too high")]
#[case("place-too-low", "gnu-2.47/s390x/recursion.O2", "the word below the right one")]
#[case("place-too-high", "gnu-2.47/amd64/recursion.O0", "the word above the right one")]
fn a_usual_mistake_is_named(#[case] mistake: &str, #[case] id: &str, #[case] says: &str) {
    let (findings, hints) = mistaken(mistake, id);
    assert!(findings >= 3, "{findings} findings");
    assert!(hints.len() * 10 >= findings * 9, "{} of {findings} have a hint", hints.len());
    let others: Vec<&String> = hints.iter().filter(|hint| !hint.contains(says)).collect();
    assert!(others.is_empty(), "{others:?}");
}

/// What no usual mistake explains has no hint.
#[test]
fn an_unusual_mistake_is_not_named() {
    let command = shell(&format!(r#"{ENGINE} | sed -u 's/"cfa":"0x3ffff/"cfa":"0x3fffe/'"#));
    let (_, report) = check("gnu-2.47/amd64/leaf.O2", &command, &[]);
    let findings = report["findings"].as_array().expect("findings");
    assert!(!findings.is_empty());
    assert!(findings.iter().all(|finding| finding["hint"].is_null()), "{report}");
}

/// One program shows it in every build: with most others, the row of a call and of
/// its return address are the same.
#[test]
fn a_look_up_at_the_return_address_is_found_in_every_build() {
    let command = format!("{ENGINE} --mistake look-up-at-return-address");
    let output = bench(&["run", "--json", "--spec", "rows_at_returns", "--unwinder", &command]);
    assert_eq!(status(&output), 1);
    let report = json(&output);
    let cases = report["cases"].as_array().expect("cases");
    assert!(cases.len() >= 44, "{} cases", cases.len());
    for case in cases {
        let findings = case["findings"].as_array().expect("findings");
        assert!(findings.len() >= 3, "{}: {} findings", case["id"], findings.len());
        let is_named = |finding: &Value| {
            finding["hint"].as_str().is_some_and(|hint| hint.contains("agrees if RA - 1 is looked up"))
        };
        assert!(findings.iter().all(is_named), "{case}");
    }
}

/// What an unwinder does not report is not judged, but counted.
#[test]
fn what_an_unwinder_does_not_tell_is_not_judged() {
    let change = r#"s/,"fp":"0x[0-9a-f]*"//g; s/,"interrupted":[a-z]*//g"#;
    let command = shell(&format!("{ENGINE} | sed -u '{change}'"));
    let (status, report) = check("gnu-2.47/amd64/leaf.O2", &command, &[]);
    assert_eq!(status, 0, "{report}");
    assert_eq!(report["unwinder"]["fp_untold"], report["unwinder"]["frames"]);
    // Outermost frames have none.
    assert!(report["unwinder"]["cfa_untold"].as_u64() < report["unwinder"]["frames"].as_u64(), "{report}");
    let change = r#"s/,"cfa":"0x[0-9a-f]*"//g"#;
    let (_, report) = check("gnu-2.47/amd64/leaf.O2", &shell(&format!("{ENGINE} | sed -u '{change}'")), &[]);
    assert_eq!(report["unwinder"]["cfa_untold"], report["unwinder"]["frames"]);
}

/// One stop has no answer; all others do.
#[rstest]
#[case::a_crash("{ echo 'out of luck' >&2; kill -9 0; }", "crashed", "standard error: out of luck")]
#[case::silence("sleep 60", "timed-out", "no answer within 2 s")]
#[case::garbage("echo garbage", "bad-answer", "garbage")]
#[case::an_endless_line("tr '\\0' x </dev/zero", "bad-answer", "a line of more than")]
#[case::too_many_frames(
    r#"{ printf '{"id":3,"stop":0,"frames":['; yes '{"pc":"0x1"},' | head -n 200000 | tr -d '\n'; echo; }"#,
    "bad-answer",
    "more than 131072 frames"
)]
fn one_bad_stop_costs_no_other(#[case] misdeed: &str, #[case] verdict: &str, #[case] why: &str) {
    let id = "gnu-2.47/amd64/leaf.O2";
    // Each PC is asked about once.
    let findings = |command: &str| check(id, command, &["--stops-per-case", "0", "--unwinder-timeout", "2"]);
    let (_, all) = findings(ENGINE);
    let pc = {
        let bytes = std::fs::read(repository().join(build(id))).expect("a build");
        let target = sframe_judge::target::Target::open(&bytes).expect("a target");
        format!("{:#x}", target.addresses_of("main")[0].0)
    };
    let script = format!(
        r#"{ENGINE} | while IFS= read -r line; do
               case "$line" in *'"frames":[{{"pc":"{pc}"'*) {misdeed};; *) printf '%s\n' "$line";; esac
           done"#
    );
    let start = Instant::now();
    let (status, report) = findings(&shell(&script));
    assert_eq!((status, verdicts(&report)), (1, vec![verdict]), "{report}");
    assert_eq!(stops(&report), stops(&all), "{report}");
    assert_eq!(report["summary"]["agree"].as_u64(), Some(stops(&all) - 1));
    let finding = &report["findings"][0];
    assert_eq!((&finding["function"], &finding["pc"]), (&"main".into(), &pc.into()));
    assert!(finding["message"].as_str().is_some_and(|message| message.contains(why)), "{finding}");
    assert!(report["broken"].is_null());
    assert!(start.elapsed().as_secs() < 60, "it took {:?}", start.elapsed());
}

/// A fault that does not recur is still reported.
#[test]
fn a_fault_that_does_not_come_back_is_not_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("mark").display().to_string();
    // The first process is only asked for its identity; the second dies after its second stop; the
    // others are sound.
    let script = format!(
        r#"[ -e {mark}2 ] && exec {ENGINE}
           [ -e {mark}1 ] || {{ touch {mark}1; exec {ENGINE}; }}
           touch {mark}2
           {ENGINE} | {{ sed -u 4q; kill -9 0; }}"#
    );
    let (status, report) = check("gnu-2.47/amd64/leaf.O2", &shell(&script), &[]);
    assert_eq!((status, verdicts(&report)), (1, vec!["crashed"]), "{report}");
    let message = report["findings"][0]["message"].as_str().expect("a message");
    assert!(message.contains("did not happen again"), "{message}");
    assert_eq!(report["summary"]["agree"].as_u64(), Some(stops(&report)));
}

/// An unwinder that fails after some stops is told that first, whatever it has got wrong before.
#[test]
fn failures_come_before_wrong_answers() {
    let script = format!(r#"{ENGINE} | sed -u -e 's/"kind":"outermost"/"kind":"no-fde"/' -e '90q'"#);
    let more = ["--no-explore", "--unwinder-timeout", "1"];
    let (status, report) = check("gnu-2.47/amd64/recursion.O2", &shell(&script), &more);
    assert!(status != 0 && verdicts(&report).contains(&"wrong-end"), "{report}");
    let first = report["findings"][0]["verdict"].as_str().expect("a verdict");
    assert!(["crashed", "timed-out"].contains(&first), "{report}");
}

/// An unwinder without information on any frame is believed if the bench can't
/// read what it reads. This does not count as agreement.
#[test]
fn an_unwinder_that_has_nothing_for_the_topmost_frame_is_compared_nowhere() {
    let script = format!(
        r#"{ENGINE} --claim nothing | sed -u -e 's/"data":"sframe"/"data":"other"/' \
           -e 's/"frames":\[\({{[^}}]*}}\).*\],"end":.*/"frames":[\1],"end":{{"kind":"no-fde"}}}}/'"#
    );
    let (status, report) = check("gnu-2.47/amd64/leaf.O2", &shell(&script), &[]);
    assert_eq!((status, verdicts(&report)), (3, Vec::new()), "{report}");
    let summary = &report["summary"];
    assert_eq!((&summary["comparisons"], &summary["agree"]), (&0.into(), &0.into()), "{summary}");
    assert_eq!(summary["nothing_compared"].as_u64(), Some(stops(&report)));
}

/// An unwinder that is never right breaks the case, after the maximum number of
/// restarts.
#[rstest]
#[case::another_request(
    "while read -r request; do echo '{\"id\":99,\"stop\":0,\"frames\":[],\"end\":{\"kind\":\"failed\"}}'; done"
)]
#[case::another_stop(
    "while read -r request; do echo '{\"id\":3,\"stop\":7,\"frames\":[],\"end\":{\"kind\":\"failed\"}}'; done"
)]
#[case::a_read_of_nothing(
    "while read -r request; do echo '{\"id\":3,\"read\":{\"stop\":0,\"address\":\"0x0\",\"size\":0}}'; done"
)]
#[case::an_end("exit 3")]
fn an_unwinder_that_never_answers_breaks_the_case(#[case] misdeed: &str) {
    let (status, report) = check("gnu-2.47/amd64/leaf.O2", &after_the_handshake(misdeed), &[]);
    assert_eq!(status, 4, "{report}");
    let broken = report["broken"].as_str().expect("a reason");
    assert!(broken.contains("32 times"), "{broken}");
    assert_eq!(report["unwinder"]["restarts"], 32);
}

/// Answers that are malformed in the same way, each time, end the questions. Nothing of it counts as compared.
#[rstest]
#[case::garbage("s/^/x/", "expected value")]
#[case::a_key("s/\"frames\":/\"frame\":/", "unknown key `frame`; did you mean `frames`?")]
#[case::a_key_of_a_frame("s/\"cfa\":/\"CFA\":/", "`frames[0]`: unknown key `CFA`; did you mean `cfa`?")]
#[case::a_name(
    "s/\"outermost\"/\"outermos\"/",
    "`end.kind`: unknown name `outermos`; did you mean `outermost`?"
)]
#[case::an_address("s/\"pc\":\"0x/\"pc\":\"x/", "is not an address; write it as \"0x1000\"")]
#[case::a_number(
    "s/\"pc\":\"[^\"]*\"/\"pc\":5/",
    "`frames[0].pc`: invalid type: integer `5`, expected a string"
)]
#[case::a_truth(
    "s/\"interrupted\":[a-z]*/\"interrupted\":0/",
    "invalid type: integer `0`, expected a boolean"
)]
#[case::a_list("s/\"frames\":\\[/\"frames\":[[],/", "expected a mapping")]
#[case::no_end("s/\"end\":{[^}]*}/\"end\":null/", "the answer to a stop has no `end`")]
#[case::no_stop("s/\"stop\":[0-9]*,//", "the answer to a stop has no `stop`")]
#[case::another_stop(
    "s/\"stop\":[0-9]*/\"stop\":99/",
    "was expected, and it is to stop `99`; `frames` is there"
)]
#[case::no_frames("s/\"frames\":\\[.*\\],//", "the answer to a stop has no `frames`")]
#[case::an_empty_list(
    "s/\"frames\":\\[.*\\],/\"frames\":[],/",
    "`frames` is empty: the first frame is the one"
)]
#[case::half_a_line("s/}}$/}/", "EOF while parsing an object")]
fn the_same_malformed_answer_is_asked_for_three_times(#[case] sed: &str, #[case] why: &str) {
    let command = shell(&format!("{ENGINE} --claim nothing | sed -u '/\"stop\"/{sed}'"));
    let (status, report) = check("gnu-2.47/amd64/leaf.O2", &command, &["--stops-per-case", "20"]);
    assert_eq!(status, 4, "{report}");
    let broken = report["broken"].as_str().expect("a reason");
    assert!(broken.starts_with("several answers in a row are malformed in the same way: "), "{broken}");
    assert!(broken.contains(why), "{broken}");
    assert!(report["unwinder"]["restarts"].as_u64() < Some(4), "{report}");
    // What could not be read is counted as that, among all stops at which it could have been asked.
    assert!(report["unwinder"]["unread"].as_u64() > Some(0), "{report}");
    assert_eq!(report["unwinder"]["moments"], report["summary"]["instructions"], "{report}");
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(0), "{report}");
    // Answers about leaves of the stack may be right.
    assert_eq!(report["summary"]["comparisons"], report["summary"]["agree"], "{report}");
}

/// What is wrong in all cases is said once, and not asked again and again.
#[test]
fn a_misspelt_key_is_one_message_for_all_cases() {
    let command = shell(&format!("{ENGINE} | sed -u 's/\"frames\":/\"frame\":/'"));
    let run = ["run", "--spec", "re*", "--toolchain", "gnu-2.47", "--abi", "amd64", "--unwinder", &command];
    let output = bench(&run);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(status(&output), 4, "{text}");
    assert!(text.lines().count() < 12, "{text}");
    assert_eq!(text.matches("\nbroken ").count() + usize::from(text.starts_with("broken ")), 1, "{text}");
    assert!(text.contains("; alike: ") && text.contains("did you mean `frames`?"), "{text}");
    let restarts = text.lines().find_map(|line| line.split("; ").last()?.strip_suffix(" restarts"));
    assert!(restarts.and_then(|count| count.parse::<u32>().ok()) < Some(17), "{text}");
}

/// Requests have to be read: nothing is queued for a process that does not
/// read.
#[test]
fn endless_questions_are_not_an_answer() {
    let read = r#"{"id":3,"read":{"stop":0,"address":"0x3fffe00000","size":65536}}"#;
    let (status, report) =
        check("gnu-2.47/amd64/leaf.O2", &after_the_handshake(&format!("exec yes '{read}'")), &[]);
    assert_eq!(status, 4, "{report}");
    let broken = report["broken"].as_str().expect("a reason");
    assert!(broken.contains("does not read the answers"), "{broken}");
}

/// Answers that come too late are discarded.
#[test]
fn late_answers_do_not_count() {
    let script = format!(
        r#"{ENGINE} | while IFS= read -r line; do
               case "$line" in *'"stop"'*) sleep 1.3;; esac; printf '%s\n' "$line"
           done"#
    );
    let file = build("gnu-2.47/amd64/leaf.O2");
    let command = shell(&script);
    let limits = ["--unwinder-timeout", "1", "--stops-per-case", "0", "--budget", "3"];
    let output = bench(&[&["check", "--json", "--unwinder", &command], &limits[..], &[&file]].concat());
    let report = json(&output);
    assert_eq!((status(&output), verdicts(&report)), (4, vec!["timed-out"]), "{report}");
    assert_eq!(report["summary"]["agree"], 0);
}

/// A command that can't be started, or doesn't speak the protocol, is unusable.
#[rstest]
#[case::no_such_program("/nowhere/unwinder", "can't be started")]
#[case::nothing("", "is not a command")]
#[case::an_open_quote("'unwinder", "is not a command")]
#[case::an_end("true", "has ended: exit status: 0")]
#[case::silence("sleep 60", "no answer within 1 s")]
#[case::garbage("echo garbage", "this line is no answer: `garbage")]
#[case::another_version(
    r#"echo '{"id":1,"hello":{"protocol":2,"name":"new","version":"1","data":"sframe"}}'"#,
    "speaks version 2"
)]
#[case::a_version_with_other_keys(
    r#"echo '{"id":1,"hello":{"protocol":99,"name":"new"}}'"#,
    "speaks version 99"
)]
fn an_unwinder_that_does_not_come_up_is_unusable(#[case] command: &str, #[case] error: &str) {
    let file = build("gnu-2.47/amd64/leaf.O2");
    let unwinder = ["--unwinder-timeout", "1", "--unwinder", command];
    for command in [&["check", &file][..], &["run", "--spec", "leaf"], &["vectors"]] {
        let output = bench(&[command, &unwinder].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(status(&output), 2, "{errors}");
        assert!(errors.contains(error), "{errors}");
        assert!(output.stdout.is_empty());
    }
}

/// An unwinder may say that it can't do something: that is neither a finding nor a
/// comparison.
#[test]
fn what_is_not_supported_is_skipped() {
    let script =
        format!(r#"read hello; echo '{HELLO}'; read open; echo '{{"id":2,"unsupported":"no s390x"}}'"#);
    let command = shell(&script);
    let run = ["run", "--json", "--spec", "leaf", "--abi", "s390x", "--unwinder", &command];
    let output = bench(&run);
    let report = json(&output);
    assert_eq!(status(&output), 3, "{report}");
    assert_eq!(report["summary"]["skipped"], report["summary"]["cases"]);
    assert!(report["cases"][0]["reason"].as_str().is_some_and(|reason| reason.contains("no s390x")));
    // The last line says why.
    let check = bench(&["check", "--unwinder", &command, &build("gnu-2.47/s390x/leaf.O2")]);
    let run = bench(&["run", "--spec", "leaf", "--abi", "s390x", "--unwinder", &command]);
    for (output, said) in [(&check, &check.stdout), (&run, &run.stderr)] {
        let said = String::from_utf8_lossy(said);
        assert_eq!(status(output), 3, "{said}");
        assert!(said.trim_end().ends_with("no s390x"), "{said}");
    }
    // Once.
    assert!(check.stderr.is_empty(), "{}", String::from_utf8_lossy(&check.stderr));
}

/// What an unwinder says of its walks, and what is found: no false word of one that is honest, and every false one.
#[rstest]
#[case("marks", "mixed_objects.O2", &[])]
#[case("marks", "recursion.O2", &[])]
#[case("nothing", "mixed_objects.O2", &[])]
#[case("always", "recursion.O2", &[])]
#[case("always", "mixed_objects.O2", &["silent"])]
#[case("hidden-ends", "mixed_objects.O2", &["silent", "truncated"])]
#[case("past-marks", "recursion.O2", &["extra-frames", "falsely-reliable"])]
// The first function of a context returns to one that is marked, and that of a thread to nothing.
#[case("marks", "contexts.O2", &[])]
#[case("always", "contexts.O2", &["silent"])]
#[case("marks", "threads.O2", &[])]
#[case("nothing", "threads.O2", &[])]
#[case("always", "threads.O2", &["falsely-reliable"])]
#[case("hidden-ends", "threads.O2", &["falsely-reliable"])]
fn a_false_word_about_a_walk_is_a_finding(#[case] claim: &str, #[case] id: &str, #[case] verdicts: &[&str]) {
    let command = format!("{ENGINE} --claim {claim}");
    let (_, report) = check(&format!("gnu-2.47/amd64/{id}"), &command, &["--no-explore"]);
    let findings = report["findings"].as_array().expect("a list");
    assert_eq!(verdicts_of(&report), BTreeSet::from_iter(verdicts.iter().copied()), "{findings:#?}");
    assert!(findings.iter().all(|found| found["blame"] == "consumer"), "{findings:#?}");
    let total = |reliability: &str| report["summary"]["reliability"][reliability].as_u64().expect("a number");
    let by = report["summary"]["reliability_by_topmost"].as_object().expect("a mapping");
    for reliability in ["complete", "incomplete", "silent", "wrong"] {
        let sum: u64 = by.values().filter_map(|of| of[reliability].as_u64()).sum();
        assert_eq!(sum, total(reliability), "{reliability}: {by:?}");
    }
    assert_eq!(total("silent") > 0, verdicts.contains(&"silent"), "{by:?}");
    assert_eq!(total("wrong") > 0, verdicts.contains(&"falsely-reliable"), "{by:?}");
    let all: u64 = ["complete", "incomplete", "silent", "wrong"].iter().map(|worth| total(worth)).sum();
    assert_eq!(Some(all), report["unwinder"]["stops"].as_u64(), "each walk counts, however it has ended");
    let called = report["unwinder"]["called_reliable"].as_u64().expect("a number");
    assert!(called <= total("complete"), "{called}");
    if claim == "marks" {
        assert_eq!(called < total("complete"), id == "threads.O2", "a thread's first function has no mark");
    }
}

/// Whatever is said of them, by the end or of the walk as a whole.
#[rstest]
#[case("no-fde", "false")]
#[case("outermost", "false")]
#[case("no-fde", "true")]
fn frames_beyond_a_mark_are_wrong(#[case] end: &str, #[case] reliable: &str) {
    let change =
        format!(r#"s/"kind":"outermost"\(.*\)"reliable":true/"kind":"{end}"\1"reliable":{reliable}/"#);
    let command = shell(&format!("{ENGINE} --claim past-marks | sed -u '{change}'"));
    let (status, report) = check("gnu-2.47/amd64/recursion.O2", &command, &["--no-explore"]);
    assert_eq!(
        (status, report["summary"]["reliability"]["complete"].as_u64()),
        (1, Some(0)),
        "{report:.3000}"
    );
    assert!(verdicts_of(&report).contains("extra-frames"), "{report:.3000}");
    assert_eq!(verdicts_of(&report).contains("falsely-reliable"), reliable == "true", "{report:.3000}");
}

/// A walk that has every frame can't be called reliable if it has ended for another reason than that there are no more.
#[test]
fn an_end_that_was_not_meant_is_not_reliable() {
    let change = r#"s/"kind":"outermost"/"kind":"failed"/"#;
    let command = shell(&format!("{ENGINE} --claim always | sed -u '{change}'"));
    let (status, report) = check("gnu-2.40/amd64/recursion.O2", &command, &["--no-explore"]);
    assert_eq!((status, verdicts_of(&report)), (1, BTreeSet::from(["falsely-reliable"])), "{report:.3000}");
    let (status, _) = check("gnu-2.40/amd64/recursion.O2", ENGINE, &["--no-explore"]);
    assert_eq!(status, 0);
}

/// Wrong rows excuse wrong frames, and not the word about an end that was not meant. What was not settled is counted.
#[test]
fn wrong_rows_do_not_excuse_a_false_word() {
    let change = r#"s/"reliable":false/"reliable":true/"#;
    let command = shell(&format!("{ENGINE} | sed -u '{change}'"));
    let run = |command: &str| {
        let case = "traced_returns/gnu-2.47/aarch64_be/O2";
        json(&bench(&["run", "--json", "--no-explore", "--case", case, "--unwinder", command]))
    };
    let lies = run(&command)["cases"][0]["findings"].to_string();
    assert!(lies.contains("falsely-reliable"), "{lies:.3000}");
    let honest = run(ENGINE);
    let case = &honest["cases"][0];
    assert_eq!((&case["outcome"], honest["summary"]["unexpected"].as_u64()), (&"known".into(), Some(0)));
    let worth = case["reliability_by_topmost"].as_object().expect("a mapping").values();
    let counted: u64 =
        worth.filter_map(Value::as_object).flat_map(|of| of.values().filter_map(Value::as_u64)).sum();
    let left = case["unwinder"]["not_settled"].as_u64().expect("a number");
    assert!(left > 0);
    assert_eq!(Some(counted + left), case["unwinder"]["stops"].as_u64());
}

/// What walks are worth where the rows are wrong is counted apart: the engine, which follows them, is wrong nowhere else.
#[test]
fn walks_are_counted_apart_where_the_rows_are_wrong() {
    let (_, report) = check("gnu-2.47/amd64/realign.O2", ENGINE, &["--no-explore"]);
    let unwinder = &report["unwinder"];
    let (all, apart) = (&report["summary"]["reliability"], &unwinder["where_rows_are_wrong"]);
    assert!(all["wrong"].as_u64() > Some(0), "{report:.3000}");
    assert_eq!([&all["silent"], &all["wrong"]], [&apart["silent"], &apart["wrong"]]);
    let (_, report) =
        check("gnu-2.47/amd64/recursion.O0", &format!("{ENGINE} --frame-pointers"), &["--no-explore"]);
    let (all, apart) = (&report["summary"]["reliability"], &report["unwinder"]["where_rows_are_wrong"]);
    assert!(all["wrong"].as_u64() > Some(0), "{report:.3000}");
    assert_eq!(apart["wrong"], 0);
}

/// What an unwinder says of frames beyond the first function of a context, which nobody has called: frames that it invents
/// there, another address to return to than the program has put there, and another CFA. `EXIT` is that address, `MAIN` that of
/// another function, within it.
#[rstest]
#[case("", "gnu-2.47/amd64/contexts.O2", &[])]
#[case("", "gnu-2.44/aarch64/contexts.O2", &[])]
#[case(r#"/"EXIT"/s/\],"end"/,{"pc":"MAIN"}&/"#, "gnu-2.47/amd64/contexts.O2", &["extra-frames"])]
#[case(r#"/"EXIT"/s/\],"end"/,{"pc":"MAIN"}&/"#, "gnu-2.47/s390x/contexts.O2", &["extra-frames"])]
#[case(r#"/"EXIT"/s/\],"end"/,{"pc":"0x8"},{"pc":"0x8"}&/"#, "gnu-2.44/aarch64/contexts.O2", &["extra-frames"])]
// What a context returns to is marked here: beyond that, there is nothing.
#[case(r#"/"EXIT"/s/\],"end"/,{"pc":"0x0"}&/"#, "gnu-2.47/amd64/contexts.O2", &["extra-frames"])]
#[case(r#"/"EXIT"/s/\],"end"/,{"pc":"0x0"}&/"#, "gnu-2.47/s390x/contexts.O2", &["extra-frames"])]
#[case(r#"s/"EXIT"/"MAIN"/"#, "gnu-2.47/amd64/contexts.O2", &["wrong-ra"])]
#[case(r#"s/"EXIT"/"MAIN"/"#, "gnu-2.44/aarch64_be/contexts.O2", &["wrong-ra"])]
#[case(r#"s/"cfa":"0x[0-9a-f]*\([^{]*{[^{]*"EXIT"\)/"cfa":"0x8\1/"#, "gnu-2.47/amd64/contexts.O2", &["wrong-cfa"])]
#[case(r#"/"pc":"0x0"/s/\],"end"/,{"pc":"MAIN"}&/"#, "gnu-2.44/aarch64/coroutines.O2", &["extra-frames"])]
// Where it is not known what the program has put there, it is what the rows say, which is nowhere here.
#[case(r#"s/"pc":"0x0"/"pc":"MAIN"/"#, "gnu-2.47/amd64/threads.O2", &["extra-frames"])]
#[case(r#"s/"pc":"0x0"/"pc":"MAIN"/"#, "gnu-2.47/aarch64/threads.O2", &["extra-frames"])]
#[case(r#"s/"pc":"0x0"/"pc":"MAIN"/"#, "gnu-2.47/s390x/threads.O2", &["extra-frames"])]
#[case(r#"s/"pc":"0x0"/"pc":"0x8"/"#, "gnu-2.47/amd64/threads.O2", &["extra-frames"])]
#[case(r#"/"pc":"0x0"/s/\],"end"/,{"pc":"0x8"}&/"#, "gnu-2.44/amd64/coroutines.O2", &["extra-frames"])]
fn what_is_beyond_a_context_is_judged(#[case] change: &str, #[case] id: &str, #[case] verdicts: &[&str]) {
    let bytes = std::fs::read(repository().join(build(id))).expect("a build");
    let target = Target::open(&bytes).expect("a target");
    let address = |name: &str| target.addresses_of(name).first().map_or(0, |address| address.0);
    let change = change.replace("EXIT", &format!("{:#x}", address("context_exit")));
    let change = change.replace("MAIN", &format!("{:#x}", address("main") + 8));
    let command = shell(&format!("{ENGINE} --claim nothing | sed -u '{change}'"));
    let (_, report) = check(id, &command, &["--no-explore"]);
    let findings = report["findings"].as_array().expect("a list");
    let of_unwinder = findings.iter().filter(|found| found["blame"] == "consumer");
    let found: BTreeSet<&str> = of_unwinder.filter_map(|found| found["verdict"].as_str()).collect();
    assert!(verdicts.iter().all(|verdict| found.contains(verdict)), "{findings:#?}");
    assert_eq!(found.is_empty(), verdicts.is_empty(), "{findings:#?}");
}

/// What rows may say before a frame is left, the engine says as well: an unwinder that says it where the engine does not has
/// invented it. The frame that is there twice is one that control leaves for, in some of the stops.
#[rstest]
#[case("gnu-2.47/amd64/coroutines.O2")]
#[case("gnu-2.44/aarch64/coroutines.O2")]
fn an_unwinder_knows_no_more_of_where_control_goes_than_the_rows(#[case] id: &str) {
    let twice = r"s/\[\({[^{}]*}\),\({[^{}]*}\),/[\1,\2,\2,/";
    for (change, is_right) in [("", true), (twice, false)] {
        let (_, report) = check(id, &shell(&format!("{ENGINE} | sed -u '{change}'")), &["--no-explore"]);
        assert_eq!(report["unwinder"]["not_settled"], 0, "{report:.3000}");
        let [stops, agree, nothing] = ["stops", "agree", "nothing_compared"]
            .map(|key| report["unwinder"][key].as_u64().expect("a number"));
        // Walks of one frame are as they were.
        assert_eq!(agree + nothing == stops, is_right, "{report:.3000}");
        assert!(is_right || agree * 4 < stops, "{report:.3000}");
    }
}

/// The registers of the topmost frame are those of the stop.
#[rstest]
#[case(r#"s/\("frames":\[{[^}]*"fp":"\)0x[0-9a-f]*/\10x1238/"#)]
#[case(r#"s/\("frames":\[{[^}]*"fp":\)"0x[0-9a-f]*"/\1{"unreadable":"0x8"}/"#)]
#[case(r#"s/\("frames":\[{"pc":"\)0x[0-9a-f]*/\10x1238/"#)]
fn the_topmost_frame_is_that_of_the_stop(
    #[case] change: &str,
    #[values("gnu-2.47/amd64/recursion.O2", "gnu-2.44/aarch64/recursion.O2", "gnu-2.47/s390x/recursion.O2")]
    id: &str,
) {
    let (status, report) = check(id, &shell(&format!("{ENGINE} | sed -u '{change}'")), &["--no-explore"]);
    assert_eq!((status, report["unwinder"]["agree"].as_u64()), (1, Some(0)), "{report:.3000}");
    assert!(verdicts_of(&report).contains("bad-answer"), "{report:.3000}");
}

/// What is claimed of a walk is false from the first wrong frame on, however far the walk goes on.
#[test]
fn a_false_word_is_found_where_the_walk_goes_wrong() {
    let command = format!("{ENGINE} --claim always --mistake place-too-high");
    let (_, report) = check("gnu-2.47/s390x/recursion.O2", &command, &["--no-explore"]);
    let findings = report["findings"].as_array().expect("a list");
    let place = |found: &Value| (found["frame"].as_u64(), found["pc"].to_string());
    let of = |is_claim: bool| {
        let is_it = move |found: &&Value| (found["verdict"] == "falsely-reliable") == is_claim;
        findings.iter().filter(is_it).map(place).collect::<Vec<_>>()
    };
    let (claims, wrong) = (of(true), of(false));
    assert!(claims.len() == 1 && wrong.contains(&claims[0]), "{claims:?}, {wrong:?}");
}

/// The rarest places, told by symbols and by where calls return to.
#[rstest]
#[case("gnu-2.47/amd64/thunks.O2", &["thunk"])]
#[case("gnu-2.47/s390x/thunks.O2", &["thunk"])]
#[case("gnu-2.47/amd64/noreturn_call.O2", &["after-noreturn-call"])]
#[case("gnu-2.47/aarch64/noreturn_call.O2", &["after-noreturn-call"])]
// Inline ones are part of their functions.
#[case("gnu-2.47/amd64/thunks_inline.O2", &[])]
#[case("gnu-2.47/amd64/recursion.O2", &[])]
fn thunks_and_callees_that_never_return_are_told(#[case] id: &str, #[case] places: &[&str]) {
    let report = json(&bench(&["check", "--json", "--no-explore", &build(id)]));
    let by = report["summary"]["reliability_by_topmost"].as_object().expect("a mapping");
    for place in ["thunk", "after-noreturn-call"] {
        assert_eq!(by.contains_key(place), places.contains(&place), "{place}: {by:?}");
        assert!(by.get(place).is_none_or(|of| of["complete"].as_u64() > Some(0)), "{by:?}");
    }
}

/// Where a look-up at the return address itself takes the rows of another function.
#[test]
fn a_look_up_of_the_next_function_is_wrong_after_a_noreturn_call() {
    let command = format!("{ENGINE} --claim nothing --mistake look-up-at-return-address");
    let (_, report) = check("gnu-2.47/amd64/noreturn_call.O2", &command, &["--no-explore"]);
    let by = &report["summary"]["reliability_by_topmost"];
    assert!(by["after-noreturn-call"]["wrong"].as_u64() > Some(0), "{by}");
}

/// Walks that are excluded when control lands are counted no more, and all others are.
#[rstest]
#[case("gnu-2.47/s390x/builtin_jump.O2-fp")]
#[case("gnu-2.40/aarch64/eh_return.O0")]
fn excluded_walks_count_nothing(#[case] id: &str) {
    let report = json(&bench(&["check", "--json", "--no-explore", "--allow-excluded", &build(id)]));
    let excluded = report["excluded"].as_array().expect("a list");
    assert!(excluded.iter().any(|of| of["reason"] == "leaves-elsewhere"), "{excluded:#?}");
    let worth = report["summary"]["reliability"].as_object().expect("a mapping");
    let all: u64 = worth.values().filter_map(Value::as_u64).sum();
    let walks = ["comparisons", "nothing_compared"].map(|of| report["summary"][of].as_u64());
    assert_eq!(all, walks.into_iter().flatten().sum::<u64>(), "{worth:?}");
    assert_eq!([&worth["wrong"], &worth["silent"]], [0, 0], "{worth:?}");
}

/// Demands some verdicts, perhaps beside others; none at all if these are none.
pub(crate) fn has_verdicts(report: &Value, verdicts: &[&str]) {
    let found = verdicts_of(report);
    assert!(verdicts.iter().all(|verdict| found.contains(verdict)), "{report:#}");
    assert_eq!(found.is_empty(), verdicts.is_empty(), "{report:#}");
}

pub(crate) fn verdicts_of(report: &Value) -> BTreeSet<&str> {
    let findings = report["findings"].as_array().expect("a list").iter();
    findings.map(|found| found["verdict"].as_str().expect("a verdict")).collect()
}

/// One that promises to say whether a walk is reliable must, and one that does not promise it must not.
#[rstest]
#[case(",\"reliable\":true", "", "the answer to a stop has no `reliable`, which `hello` has promised")]
#[case("", ",\"reliable\":false", "the answer to a stop has `reliable`, which `hello` has not promised")]
fn what_hello_promises_of_reliability_is_kept(#[case] promise: &str, #[case] word: &str, #[case] says: &str) {
    let hello = HELLO.replace("}}", &format!("{promise}}}}}"));
    let answer = r#"{"id":3,"stop":0,"frames":[{"pc":"0x0"}],"end":{"kind":"failed"}"#;
    let command = shell(&format!(
        r#"read hello; echo '{hello}'; read open; echo '{{"id":2}}'; read unwind; echo '{answer}{word}}}'; cat >/dev/null"#
    ));
    let (_, report) = check("gnu-2.47/amd64/recursion.O2", &command, &["--no-explore"]);
    assert!(report.to_string().contains(says), "{report:.3000}");
}

/// Where only complete backtraces will do, every other way to end is a finding, whoever walks.
#[rstest]
#[case("recursion.O2", &[])]
#[case("mixed_objects.O2", &["incomplete"])]
// Nothing marks the first function there.
#[case("../../gnu-2.44/amd64/recursion.O2", &["incomplete"])]
fn what_is_not_complete_is_a_finding_on_demand(#[case] id: &str, #[case] verdicts: &[&str]) {
    let file = build(&format!("gnu-2.47/amd64/{id}"));
    for unwinder in [&[][..], &["--unwinder", ENGINE]] {
        let require = ["check", "--json", "--no-explore", "--require-reliable", &file];
        let report = json(&bench(&[&require[..], unwinder].concat()));
        assert_eq!(verdicts_of(&report), BTreeSet::from_iter(verdicts.iter().copied()), "{report:.3000}");
    }
}

/// Over the corpus as well, in each kind of process, also where a spec expects another end.
#[rstest]
#[case("recursion/gnu-2.47/amd64/O2", &[], &[])]
#[case("mixed_objects/gnu-2.47/amd64/O2", &["no-fde"], &["bare_leaf", "bare_middle"])]
// A signal has interrupted what keeps its return address in a register.
#[case("signals_cfi/gnu-2.47/s390x/O0", &["in-register"], &["leaf"])]
fn a_run_demands_complete_walks_at_each_stop(
    #[case] id: &str,
    #[case] ends: &[&str],
    #[case] functions: &[&str],
) {
    for more in [&[][..], &["--in-process"], &["--unwinder", ENGINE]] {
        let arguments = ["run", "--json", "--no-explore", "--case", id];
        let output = bench(&[&arguments[..], more].concat());
        assert_eq!(status(&output), 0, "{more:?}: {output:?}");
        let output = bench(&[&arguments[..], &["--require-reliable"], more].concat());
        assert_eq!(status(&output), i32::from(!ends.is_empty()), "{more:?}: {output:?}");
        let report = json(&output);
        assert_eq!(report["run"]["options"]["require_reliable"], true);
        let findings = report["cases"][0]["findings"].as_array().expect("a list");
        assert!(findings.iter().all(|found| found["verdict"] == "incomplete"), "{findings:#?}");
        if more.contains(&"--unwinder") {
            // What it reads is right: one finding says of all its walks that they are not complete.
            continue;
        }
        let got: BTreeSet<_> = findings.iter().filter_map(|found| found["got"].as_str()).collect();
        assert_eq!(got, BTreeSet::from_iter(ends.iter().copied()), "{more:?}: {findings:#?}");
        let names: BTreeSet<_> = findings.iter().filter_map(|found| found["function"].as_str()).collect();
        assert!(functions.iter().all(|function| names.contains(function)), "{more:?}: {names:?}");
    }
}
