//! The reports of `explore --report`: page, SARIF and Markdown.

use std::path::Path;

use sframe_engine::Abi;

use crate::command::{bench, status};
use crate::common::repository;
use crate::explore_objects::written;
use crate::made_objects::{Code, object, row};
use crate::report_html::Browser;
use crate::sarif;

/// A name that would do something if it were not shown as text.
const HOSTILE: &str = "<img src=x onerror=alert()>";

/// Explores a file with a wrong row, one that may be wrong, and one that is not reached, and writes the
/// reports.
fn report(folder: &Path) -> String {
    let functions = [
        // push %rax; pop %rax; ret.
        Code::new(HOSTILE, &[0x50, 0x58, 0xc3], vec![row(0, 8), row(2, 8)]),
        // test %edi,%edi; jne 1f; push %rax; 1: nop; ret.
        Code::new("joined", &[0x85, 0xff, 0x75, 0x01, 0x50, 0x90, 0xc3], vec![row(0, 8)]),
        // ret; nop.
        Code::new("early", &[0xc3, 0x90], vec![row(0, 8), row(1, 16)]),
        Code::new("leaf", &[0x90, 0xc3], vec![row(0, 8)]),
    ];
    let file = written(folder, "made.o", &object(Abi::Amd64, &functions));
    let to = folder.join("report");
    let output = bench(&["explore", &file, "--report", to.to_str().expect("a name")]);
    assert_eq!(status(&output), 1, "{output:?}");
    file
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join("report").join(name)).expect("a report")
}

#[test]
fn sarif_and_markdown_have_what_is_proved() {
    let folder = tempfile::tempdir().expect("a folder");
    report(folder.path());
    let log = serde_json::from_str(&read(folder.path(), "report.sarif")).expect("JSON");
    assert_eq!(sarif::valid(&log), Ok(()));
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 1, "{log:#}");
    assert_eq!((&results[0]["ruleId"], &results[0]["level"]), (&"wrong-cfa".into(), &"error".into()));
    let markdown = read(folder.path(), "summary.md");
    assert!(markdown.starts_with("# SFrame test bench: FAIL\n"), "{markdown}");
    for part in [
        "1 proved finding",
        "may be wrong: 1 finding, each for one or more of these reasons:\n    1: on another path to the same instruction",
        "not checked: 1: no path leads there",
        "the file is relocatable: the addresses of its sections are made up",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    assert!(!markdown.contains("\n<img"), "{markdown}");
}

#[test]
fn the_page_says_how_sure_each_finding_is() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = report(folder.path());
    let page = folder.path().join("report/report.html");
    browser.load(&page, "");
    let tiles = browser.text("document.querySelector('.tiles').textContent");
    assert_eq!(tiles, "4functions explored83.3 %of 6 rows checked1wrong1possibly wrong3agree");
    let text = browser.text("document.querySelector('main').textContent");
    for part in [
        &*file,
        "not checked: 1: no path leads there",
        "Functions with rows that don't agree (3)",
        "1 row: no path leads there",
        HOSTILE,
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(browser.count("main img"), 0);
    let chips = "[...document.querySelectorAll('td .chip')].map(chip => chip.textContent).join()";
    assert_eq!(browser.text(chips), "proved,possible");

    // The finding that is not proved says why.
    browser.value("location.hash = [...document.querySelectorAll('td.head a')][1].hash");
    browser.wait("document.querySelector('h2').textContent.includes('in joined')");
    let text = browser.text("document.querySelector('main').textContent");
    for part in [
        "not proved, ason another path to the same instruction the row is right",
        "assumedthe branch at joined+0x2 (",
        "Reproduce withsframe-testbench explore ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Nothing is known of the rest of the function.
    assert!(!text.contains("The whole function"), "{text}");
    browser.has_no_problems();
}

/// A folder has one report: a row for each file in each format, what is wrong by cause, and what could not be explored.
#[test]
fn a_folder_has_a_report_in_all_formats() {
    let folder = tempfile::tempdir().expect("a folder");
    let (files, report) = (folder.path().join("files"), folder.path().join("report"));
    std::fs::create_dir(&files).expect("a folder");
    for (build, name) in
        [("gnu-2.44/amd64/crossing.O2-dynamic.first.so", "wrong.so"), ("gnu-2.47/amd64/leaf.O2", "right")]
    {
        std::fs::copy(repository().join("corpus/builds").join(build), files.join(name)).expect("a copy");
    }
    let bytes = std::fs::read(files.join("right")).expect("a file");
    std::fs::write(files.join("cut"), &bytes[..bytes.len() / 2]).expect("a file");
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let output = bench(&["explore", &text(&files), "--report", &text(&report)]);
    assert_ne!(status(&output), 0);
    let markdown = read(folder.path(), "summary.md");
    assert!(
        markdown.contains("\n## By cause\n") && markdown.contains("ld-plt-got, a bug of ld"),
        "{markdown}"
    );
    let json: serde_json::Value = serde_json::from_str(&read(folder.path(), "report.json")).expect("JSON");
    assert_eq!(json["files"].as_array().map(Vec::len), Some(3), "{json:#}");
    let log = serde_json::from_str(&read(folder.path(), "report.sarif")).expect("JSON");
    assert_eq!(sarif::valid(&log), Ok(()));
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(1), "{log:#}");
    let junit = read(folder.path(), "junit.xml");
    assert!(junit.contains("tests=\"3\" failures=\"1\" errors=\"1\""), "{junit}");
    let page = read(folder.path(), "report.html");
    for file in ["wrong.so", "right", "cut"] {
        for shown in [&markdown, &junit, &page] {
            assert!(shown.contains(file), "{file}: {shown}");
        }
    }
    // What can't even be opened is an error in each of them.
    let missing = text(&files.join("none"));
    let output = bench(&["explore", &text(&files.join("right")), &missing, "--report", &text(&report)]);
    assert_eq!(status(&output), 2);
    assert!(read(folder.path(), "junit.xml").contains("errors=\"1\""));
    let log: serde_json::Value = serde_json::from_str(&read(folder.path(), "report.sarif")).expect("JSON");
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false, "{log:#}");
    assert!(read(folder.path(), "summary.md").starts_with("# SFrame test bench: ERROR\n"));
    // Nothing of an earlier report stays.
    assert_eq!(status(&bench(&["explore", &text(&files.join("right")), "--report", &text(&report)])), 0);
    assert!(!read(folder.path(), "summary.md").contains("By cause"));
}
