//! The gate of a CI system: runs in shards, joined again, and compared with a
//! baseline.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::command::{bench, conclusion, link_origins, status};
use crate::reports;

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A small run, with its report in a folder.
fn run(folder: &Path, rest: &[&str]) -> Output {
    let folder = folder.to_str().expect("a name");
    let selection = ["run", "--spec", "recursion", "--toolchain", "gnu-2.44", "--report", folder];
    bench(&[&selection[..], rest].concat())
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut document: Value = serde_json::from_str(&text(path)).expect("JSON");
    change(&mut document);
    std::fs::write(path, document.to_string()).expect("a file");
}

#[test]
fn the_merged_reports_of_shards_are_the_report_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    assert_eq!(status(&run(&at("whole"), &[])), 0);
    for shard in 1..=3 {
        let output = run(&at(&shard.to_string()), &["--shard", &format!("{shard}/3")]);
        assert_eq!(status(&output), 0, "{output:?}");
    }
    let name = |name: &str| at(name).to_str().expect("a name").to_owned();
    // In any order.
    let output = bench(&["merge", &name("2"), &name("3"), &name("1"), "--report", &name("merged")]);
    assert_eq!(status(&output), 0, "{output:?}");
    for file in ["report.json", "junit.xml", "report.sarif", "report.html"] {
        assert!(
            reports::timeless(&at("merged").join(file)) == reports::timeless(&at("whole").join(file)),
            "{file} is not the same"
        );
    }
    // Each says what it was made of.
    for file in ["report.json", "junit.xml", "report.sarif", "summary.md"] {
        let text = text(&at("merged").join(file));
        for shard in 1..=3 {
            assert!(text.contains(&format!("--shard {shard}/3")), "{file} does not name shard {shard}");
        }
    }
    // A shard may come with its report alone: then its code is not on the page.
    std::fs::rename(at("2").join("cases.jsonl"), at("cases")).expect("a journal");
    let output = bench(&["merge", &name("2"), &name("3"), &name("1"), "--report", &name("merged")]);
    assert_eq!(status(&output), 0, "{output:?}");
    assert!(
        reports::timeless(&at("merged").join("report.json"))
            == reports::timeless(&at("whole").join("report.json"))
    );
    assert!(text(&at("merged").join("report.html")) != text(&at("whole").join("report.html")));
    for (journal, expected) in [("[]\n", "names no form"), ("", "its first line has no end")] {
        std::fs::write(at("2").join("cases.jsonl"), journal).expect("a file");
        let output = bench(&["merge", &name("2"), &name("3"), &name("1"), "--report", &name("merged")]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(status(&output), 2, "{message}");
        assert!(message.contains(expected) && message.lines().count() == 1, "{message}");
    }
    let damaged = text(&at("cases")).replace("\"listing\":\"", "\"listing\":\"AAAA");
    std::fs::write(at("2").join("cases.jsonl"), damaged).expect("a file");
    let output = bench(&["merge", &name("2"), &name("3"), &name("1"), "--report", &name("merged")]);
    assert_eq!(status(&output), 2, "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("can't be read"), "{output:?}");
    std::fs::rename(at("cases"), at("2").join("cases.jsonl")).expect("a journal");

    let refused = |folders: &[&str], expected: &str| {
        let folders: Vec<String> = folders.iter().map(|folder| name(folder)).collect();
        let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
        let output = bench(&[&["merge"], &folders[..]].concat());
        assert_eq!(status(&output), 2, "{output:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains(expected) && message.lines().count() == 1, "{message}");
    };
    refused(&["1", "3"], "of 3 shards, one is missing: 2");
    refused(&["3"], "of 3 shards, some are missing: 1, 2");
    refused(&["1", "2", "3", "2"], "shard 2/3 is given twice");
    refused(&["whole"], "the report is of a whole run");
    refused(&["nowhere"], "No such file");
    run(&at("other"), &["--shard", "1/2"]);
    refused(&["1", "other"], "in 2 shards, the first one");
    edit(&at("2").join("report.json"), |report| {
        let copy = report["cases"][0].clone();
        report["cases"].as_array_mut().expect("cases").push(copy);
    });
    refused(&["1", "2", "3"], "different cases together");
    edit(&at("2").join("report.json"), |report| report["schema"] = json!(7));
    refused(&["1", "2", "3"], "the report has format 7");
    std::fs::write(at("2").join("report.json"), "{}").expect("a file");
    refused(&["1", "2", "3"], "this is not a report of a run");
}

#[test]
fn a_run_that_is_worse_than_its_baseline_fails_and_nothing_loosens_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (report, baseline) = (at("report.json"), at("baseline.json"));
    assert_eq!(status(&run(folder.path(), &[])), 0);
    let (report, baseline_name) = (report.to_str().expect("a name"), baseline.to_str().expect("a name"));
    let create = ["baseline", "create", baseline_name, report];
    let update = ["baseline", "update", baseline_name, report];
    assert_eq!(status(&bench(&create)), 0);
    let original = text(&baseline);
    let again = bench(&create);
    assert_eq!(status(&again), 2, "it is not replaced");

    let gate = || run(folder.path(), &["--baseline", baseline_name]);
    let says = |output: &Output, expected: &str| {
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(told.contains(expected), "{expected}: {told}");
    };
    assert_eq!(status(&gate()), 0);
    let case = "recursion/gnu-2.44/amd64/O2";
    let rows = |by: i64| {
        edit(&baseline, |baseline| {
            let rows = &mut baseline["cases"][case]["rows_exercised"];
            *rows = json!(rows.as_i64().expect("a number") + by);
        });
    };

    // More rows than the run exercises: it has become worse, and the baseline stays.
    rows(1);
    let output = gate();
    assert_eq!(status(&output), 1);
    says(&output, &format!("worse   {case}: "));
    let higher: Value = serde_json::from_str(&text(&baseline)).expect("JSON");
    assert_eq!(status(&bench(&update)), 1);
    assert_eq!(serde_json::from_str::<Value>(&text(&baseline)).expect("JSON"), higher);

    // Fewer rows, and a finding that is gone: it has become better.
    rows(-2);
    edit(&baseline, |baseline| {
        baseline["cases"][case]["outcome"] = json!("unexpected");
        baseline["cases"][case]["found"] = json!([found("leaf")]);
    });
    let output = gate();
    assert_eq!(status(&output), 0);
    says(&output, &format!("better  {case}: wrong-cfa leaf +0x0: unknown to blame: gone"));
    says(&output, &format!("better  {case}: agree, was unexpected"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("tighten it"));
    assert_eq!(status(&bench(&update)), 0);
    assert_eq!(text(&baseline), original);

    // A case that the baseline does not have, and one that only the baseline has.
    edit(&baseline, |baseline| {
        let cases = baseline["cases"].as_object_mut().expect("cases");
        let case = cases.remove(case).expect("a case");
        cases.insert("recursion/gnu-2.44/amd64/gone".to_owned(), case);
    });
    let output = gate();
    assert_eq!(status(&output), 1, "the selection is that of the baseline");
    says(&output, &format!("new     {case}"));
    says(&output, "worse   recursion/gnu-2.44/amd64/gone: no longer run");
    let selection = ["run", "--spec", "recursion", "--toolchain", "gnu-2.44", "--variant", "O0"];
    let smaller = bench(&[&selection[..], &["--baseline", baseline_name]].concat());
    assert_eq!(status(&smaller), 0, "{smaller:?}");
    assert!(String::from_utf8_lossy(&smaller.stderr).contains("not run: "), "{smaller:?}");
    let output = bench(&update);
    assert_eq!(status(&output), 1);
    says(&output, "worse   recursion/gnu-2.44/amd64/gone: no longer run");

    // New findings, broken and skipped cases are worse.
    std::fs::write(&baseline, &original).expect("a file");
    for (outcome, finding) in [("unexpected", true), ("broken", false), ("skipped", false)] {
        edit(Path::new(report), |report| {
            let cases = report["cases"].as_array_mut().expect("cases");
            let case = cases.iter_mut().find(|found| found["id"] == case).expect("the case");
            case["outcome"] = json!(outcome);
            case["findings"] = if finding { json!([a_finding()]) } else { json!([]) };
        });
        let output = bench(&update);
        assert_eq!(status(&output), 1);
        says(&output, &format!("worse   {case}: {outcome}, was agree"));
        assert_eq!(text(&baseline), original);
    }

    std::fs::write(&baseline, "[]").expect("a file");
    let output = gate();
    assert_eq!(status(&output), 2, "{output:?}");
}

/// What fails as it does in the baseline is no failure of a run, in any report; anything else is.
#[test]
fn failures_of_the_baseline_are_none_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let name = |name: &str| at(name).display().to_string();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut manifest =
        sframe_corpus::corpus::Manifest::load(&repository.join("corpus")).expect("the manifest");
    let ids = ["gnu-2.47/amd64/realign.O2", "gnu-2.47/amd64/leaf.O2", "gnu-2.47/amd64/recursion.O2"];
    manifest.builds.retain(|build| ids.contains(&build.id.as_str()));
    std::fs::create_dir_all(at("corpus/builds/gnu-2.47/amd64")).expect("a folder");
    for id in ids {
        let build = repository.join("corpus/builds").join(id);
        std::fs::copy(build, at("corpus/builds").join(id)).expect("a build");
    }
    manifest.write(&at("corpus")).expect("a manifest");
    link_origins(&at("corpus"));
    std::fs::create_dir(at("specs")).expect("a folder");
    let spec = |program: &str, more: &str| {
        let spec = format!(
            "program: {program}\nsummary: x\ntargets: [amd64]\ntoolchains: [gnu-2.47]\nstops: [{{at: main}}]\n{more}"
        );
        std::fs::write(at("specs").join(format!("{program}.yaml")), spec).expect("a spec");
    };
    // Unexplained findings, another exit status, and nothing wrong.
    spec("realign", "");
    spec("leaf", "exit_status: 9\n");
    spec("recursion", "");
    let run = |more: &[&str]| {
        let [corpus, specs, report] = ["corpus", "specs", "report"].map(name);
        let run = ["run", "--corpus", &corpus, "--specs", &specs, "--report", &report];
        let output = bench(&[&run[..], more].concat());
        let read = |file: &str| text(&at("report").join(file));
        let sarif: Value = serde_json::from_str(&read("report.sarif")).expect("JSON");
        let said = String::from_utf8_lossy(&output.stdout);
        let last = if said.is_empty() { String::new() } else { conclusion(&said) };
        (status(&output), last, read("junit.xml"), read("summary.md"), sarif)
    };
    let new_results = |sarif: &Value| {
        let results = sarif["runs"][0]["results"].as_array().expect("results").iter();
        results.filter(|result| result["suppressions"].is_null()).count()
    };
    let succeeded = |sarif: &Value| sarif["runs"][0]["invocations"][0]["executionSuccessful"].clone();
    let (first, last, junit, summary, sarif) = run(&[]);
    assert_eq!(first, 4, "{last}");
    assert!(junit.contains("failures=\"1\" errors=\"1\""), "{junit}");
    assert!(summary.starts_with("# SFrame test bench: ERROR\n"), "{summary}");
    assert!(new_results(&sarif) > 0 && succeeded(&sarif) == false, "{sarif:#}");

    let report = name("report/report.json");
    assert_eq!(status(&bench(&["baseline", "create", &name("baseline"), &report])), 0);
    let baseline = ["--baseline", &name("baseline")];
    let (same, last, junit, summary, sarif) = run(&baseline);
    assert_eq!(same, 0, "{last}");
    assert!(
        last.contains("PASS: 2 as in the baseline; 3 cases: 1 could not finish, 1 unexpected, "),
        "{last}"
    );
    assert!(
        junit.contains("failures=\"0\" errors=\"0\"") && junit.contains("as in the baseline:"),
        "{junit}"
    );
    assert!(junit.contains("<skipped message=\"broken, as in the baseline: "), "{junit}");
    assert!(summary.starts_with("# SFrame test bench: PASS\n"), "{summary}");
    let list = "\n## As in the baseline\n\n- `leaf/gnu-2.47/amd64/O2`: broken\n- `realign/gnu-2.47/amd64/O2`: unexpected\n";
    assert!(summary.contains(list) && !summary.contains("## Unexpected"), "{summary}");
    assert!(new_results(&sarif) == 0 && succeeded(&sarif) == true, "{sarif:#}");

    // One finding of the case is new, and one case breaks.
    edit(&at("baseline"), |baseline| {
        let findings = &mut baseline["cases"]["realign/gnu-2.47/amd64/O2"]["found"];
        findings.as_array_mut().expect("findings").pop().expect("a finding");
    });
    spec("recursion", "exit_status: 9\n");
    let (worse, last, junit, summary, sarif) = run(&baseline);
    assert_eq!(worse, 1, "{last}");
    assert!(last.contains("FAIL: 2 worse than in the baseline, 1 as in the baseline; "), "{last}");
    assert!(junit.contains("failures=\"1\" errors=\"1\""), "{junit}");
    let title = "# SFrame test bench: FAIL\n";
    assert!(summary.starts_with(title) && summary.contains("## Unexpected findings\n"), "{summary}");
    assert!(new_results(&sarif) > 0 && succeeded(&sarif) == false, "{sarif:#}");

    // A case that agrees is worse with fewer rows exercised, and so is one that is gone.
    spec("recursion", "");
    edit(&at("baseline"), |baseline| {
        let cases = baseline["cases"].as_object_mut().expect("cases");
        let [agrees, fails] = ["recursion", "realign"].map(|name| format!("{name}/gnu-2.47/amd64/O2"));
        cases[&agrees]["rows_exercised"] = json!(1000);
        cases[&fails]["found"] = json!([found("main")]);
        let case = cases[&agrees].clone();
        cases.insert("gone/gnu-2.47/amd64/O2".to_owned(), case);
    });
    let (worse, last, junit, summary, _) = run(&baseline);
    assert_eq!(worse, 1, "{last}");
    assert!(junit.contains("failures=\"3\" errors=\"0\""), "{junit}");
    assert!(junit.contains("worse than in the baseline: no longer run"), "{junit}");
    // Both numbers of the one case, and nothing else.
    assert!(junit.matches(", not 1,000").count() == 2, "{junit}");
    assert!(junit.contains(": rows exercised: 15, not 1,000; rows: 15, not 1,000\""), "{junit}");
    let list = summary.split_once("\n## Worse than in the baseline\n\n").expect("a list").1;
    let list: Vec<&str> = list.lines().take_while(|line| line.starts_with("- ")).collect();
    assert!(list.len() == 3 && list[0].starts_with("- `gone/") && list[2].contains("not 1,000"), "{summary}");
}

/// A finding as baselines have it.
fn found(function: &str) -> Value {
    json!({
        "finding": {
            "verdict": "wrong-cfa", "function": function,
            "row": {"start": "0x0", "rules": "CFA = SP+8, RA = *(CFA-8), FP unchanged"}
        },
        "cause": {"name": "wrong-cfa, unknown to blame", "is_known": false},
        "places": 1
    })
}

fn a_finding() -> Value {
    json!({
        "verdict": "wrong-cfa", "pc": "0x401000", "image": null, "function": "leaf", "frame": 0, "hits": 1,
        "row": {"start": "0x0", "rules": "CFA = SP+8, RA = *(CFA-8), FP unchanged"}, "expected": "0x0", "got": "0x8", "instruction": null,
        "blame": "unknown", "confidence": "low", "evidence": [], "listing": [], "stack": null, "message": ""
    })
}

/// Shards that would make up a run, if they came from the same one.
#[test]
fn shards_of_different_runs_are_refused_with_what_differs() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let name = |name: &str| at(name).to_str().expect("a name").to_owned();
    let shard = |folder: &str, rest: &[&str]| {
        let folder = name(folder);
        let selection = ["run", "--spec", "leaf", "--report", &folder];
        let output = bench(&[&selection[..], rest].concat());
        assert!(matches!(status(&output), 0 | 3), "{output:?}");
    };
    let merged = |one: &str, other: &str| {
        let output = bench(&["merge", &name(one), &name(other)]);
        (status(&output), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let gnu = ["--toolchain", "gnu-2.47"];
    shard("amd64", &[&gnu[..], &["--abi", "amd64", "--shard", "1/2"]].concat());
    shard("other half", &[&gnu[..], &["--abi", "amd64", "--shard", "2/2"]].concat());
    assert_eq!(merged("amd64", "other half").0, 0);
    let engine = env!("CARGO_BIN_EXE_sframe-engine-unwinder");
    for (folder, rest, expected) in [
        (
            "s390x",
            &["--abi", "s390x"][..],
            "selection: --spec leaf --abi amd64 --toolchain gnu-2.47 / --spec leaf --abi s390x --toolchain gnu-2.47",
        ),
        ("pattern", &["--abi", "amd64", "--pattern", "second"], "pattern: first / second"),
        ("budget", &["--abi", "amd64", "--budget", "1000000"], " / 1000000"),
        ("reliable", &["--abi", "amd64", "--require-reliable"], "require-reliable: false / true"),
        ("unwinder", &["--abi", "amd64", "--unwinder", engine], "unwinder: sframe-engine 0.1.0 / "),
    ] {
        shard(folder, &[&gnu[..], rest, &["--shard", "2/2"]].concat());
        let (status, message) = merged("amd64", folder);
        assert_eq!(status, 2, "{message}");
        let says_which = message.contains(&name("amd64")) && message.contains(&name(folder));
        assert!(says_which && message.contains("are of different runs: "), "{message}");
        assert!(message.contains(expected) && message.lines().count() == 1, "{expected}: {message}");
    }
    for (key, at_key, value, expected) in [
        ("bench", "/bench", json!("0.0.1"), "bench: 0.1.0 / 0.0.1"),
        ("build of the bench", "/bench_digest", json!("ef"), " / ef"),
        ("corpus", "/corpus", json!("ab"), " / ab"),
        ("specs", "/specs", json!("cd"), " / cd"),
        ("unwinder", "/unwinder", json!({"name": "u", "version": "1", "files": ["ab"]}), " / u 1 ab"),
    ] {
        let original = text(&at("other half").join("report.json"));
        edit(&at("other half").join("report.json"), |report| {
            *report["run"].pointer_mut(at_key).expect("a key") = value;
        });
        let (status, message) = merged("amd64", "other half");
        assert!(
            status == 2 && message.contains(&format!("{key}: ")) && message.contains(expected),
            "{message}"
        );
        std::fs::write(at("other half").join("report.json"), original).expect("a file");
    }
    // On different days it is still the same run, which began on the first.
    edit(&at("other half").join("report.json"), |report| report["run"]["date"] = json!("2001-02-03"));
    let output = bench(&["merge", &name("amd64"), &name("other half"), "--json"]);
    let joined: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(joined["run"]["date"], "2001-02-03");
    assert_eq!(joined["run"]["selection"]["abi"], json!(["amd64"]));
    // Only the user's own command names one.
    let mut report: Value = serde_json::from_str(&text(&at("amd64").join("report.json"))).expect("JSON");
    assert!(report["provenance"]["command"].take().is_string());
    assert!(!report.to_string().contains(&name("")), "the report has a path of its machine");
    edit(&at("other half").join("report.json"), |report| report["run"] = Value::Null);
    let (status, message) = merged("amd64", "other half");
    assert!(status == 2 && message.contains("does not say which run it is of"), "{message}");
}

#[test]
fn a_baseline_is_of_a_whole_run_and_tells_what_was_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let name = |name: &str| at(name).to_str().expect("a name").to_owned();
    let report = at("shard").join("report.json");
    assert_eq!(status(&run(&at("shard"), &["--shard", "1/2"])), 0);
    let create = || {
        let output = bench(&["baseline", "create", &name("baseline"), report.to_str().expect("a name")]);
        assert!(!at("baseline").exists());
        (status(&output), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let refused = |expected: &str| {
        let (status, message) = create();
        assert!(status == 2 && message.contains(expected) && message.lines().count() == 1, "{message}");
    };
    refused("only of shard 1/2 of a run");
    edit(&report, |report| {
        report["shard"] = Value::Null;
        let cases = report["cases"].as_array_mut().expect("cases");
        cases.push(cases[0].clone());
    });
    refused("twice");
    edit(&report, |report| report["schema"] = json!(9));
    refused("the report has format 9");

    assert_eq!(status(&run(&at("whole"), &[])), 0);
    let whole = name("whole/report.json");
    assert_eq!(status(&bench(&["baseline", "create", &name("baseline"), &whole])), 0);
    let cases = serde_json::from_str::<Value>(&text(&at("baseline"))).expect("JSON");
    let all = cases["cases"].as_object().expect("cases").len();
    let output = run(&at("less"), &["--abi", "amd64", "--baseline", &name("baseline")]);
    assert_eq!(status(&output), 0, "{output:?}");
    let less: Value = serde_json::from_str(&text(&at("less").join("report.json"))).expect("JSON");
    let left_out = all - less["cases"].as_array().expect("cases").len();
    let says = format!(
        "not run: {left_out} cases of the baseline (selection: --spec recursion --abi amd64 --toolchain gnu-2.44)"
    );
    assert!(left_out > 0 && String::from_utf8_lossy(&output.stderr).contains(&says), "{says}: {output:?}");
    // A case that was not run is not gone.
    let before = text(&at("baseline"));
    let output = bench(&["baseline", "update", &name("baseline"), &name("less/report.json")]);
    assert_eq!(status(&output), 0, "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains(&says), "{output:?}");
    assert_eq!(text(&at("baseline")), before);
}

#[test]
fn the_files_of_the_corpus_are_those_of_its_manifest() {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = folder.path().join("corpus");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let build = "gnu-2.47/amd64/leaf.O2";
    let mut manifest =
        sframe_corpus::corpus::Manifest::load(&repository.join("corpus")).expect("the manifest");
    manifest.check_files(&repository.join("corpus")).expect("the committed corpus");
    let file = corpus.join("builds").join(build);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::create_dir(folder.path().join("specs")).expect("a folder");
    std::fs::copy(repository.join("corpus/builds").join(build), &file).expect("a build");
    manifest.builds.retain(|other| other.id == build);
    manifest.write(&corpus).expect("a manifest");
    link_origins(&corpus);
    let spec = "program: leaf\nsummary: x\ntargets: [amd64]\ntoolchains: [gnu-2.47]\nstops: [{at: main}]\n";
    std::fs::write(folder.path().join("specs/leaf.yaml"), spec).expect("a spec");
    let run = || {
        let specs = folder.path().join("specs");
        let [corpus, specs] = [&corpus, &specs].map(|path| path.to_str().expect("a name"));
        let output = bench(&["run", "--corpus", corpus, "--specs", specs]);
        (status(&output), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(run().0, 0, "{}", run().1);
    std::fs::write(file.with_file_name(".hidden"), "").expect("a file");
    assert_eq!(run().0, 0);
    let other = file.with_file_name("recursion.O2");
    std::fs::write(&other, "").expect("a file");
    let (status, message) = run();
    assert!(
        status == 2 && message.contains("recursion.O2: the manifest has no build of this file"),
        "{message}"
    );
    std::fs::remove_file(&other).expect("a file");
    std::fs::remove_file(&file).expect("a file");
    let (status, message) = run();
    assert!(status == 2 && message.contains("its file is missing"), "{message}");
}
