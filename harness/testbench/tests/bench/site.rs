//! `site`: its pages, and what is refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::command::{bench_in, status};
use crate::common::repository;
use crate::known::text;
use crate::report_html::Browser;

/// Makes a site of reports, and returns how that has ended and what was said.
fn site(folder: &Path, reports: &[&Path]) -> (i32, String) {
    let [corpus, specs] = ["corpus", "specs"].map(|name| repository().join(name).display().to_string());
    let mut words = vec!["site", "site", "--corpus", &corpus, "--specs", &specs];
    let names: Vec<String> = reports.iter().map(|path| path.display().to_string()).collect();
    words.extend(names.iter().map(String::as_str));
    let output = bench_in(folder, &words);
    (status(&output), text(&output.stdout) + &text(&output.stderr))
}

/// A document, in a file.
fn stored(folder: &Path, name: &str, document: &Value) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, document.to_string()).expect("a report");
    path
}

/// The report of a run of one program.
fn run(folder: &Path) -> Value {
    let report = folder.join("report");
    let toolchains =
        ["--toolchain", "gnu-2.47", "--toolchain", "derived-v2", "--toolchain", "derived-v2-pcrel"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(repository())
        .args(["run", "--no-explore", "--spec", "leaf"])
        .args(toolchains)
        .arg("--report")
        .arg(&report)
        .output()
        .expect("the bench runs");
    assert_eq!(status(&output), 0, "{output:?}");
    let text = std::fs::read(report.join("report.json")).expect("a report");
    serde_json::from_slice(&text).expect("JSON")
}

fn reader(verdict: &str) -> Value {
    json!({
        "verdict": verdict, "schema": 1, "name": "mine <b>", "version": "1", "vectors": 9, "agree": 6, "partly": 1,
        "skipped": [{}], "differences": [{}, {}], "mistakes": [
            { "summary": "it adds", "clause": "2.1", "sentence": "Nothing is added.", "answers": 2, "names": [] }
        ]
    })
}

/// All files below a folder, by their path in it.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let all = glob::glob(&format!("{}/**/*", folder.display())).expect("a pattern").flatten();
    all.filter(|path| path.is_file())
        .map(|path| path.strip_prefix(folder).expect("it is below").to_owned())
        .collect()
}

/// The places that a page leads to.
fn links(page: &str) -> Vec<&str> {
    page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn every_link_leads_somewhere_and_every_bug_has_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (mut newer, reader) = (run(folder), stored(folder, "reader.json", &reader("FAIL")));
    let mut older = newer.clone();
    older["provenance"]["started"] = "2026-01-31T12:00:00Z".into();
    // One case was wrong before, and one is now.
    older["cases"][0]["outcome"] = "unexpected".into();
    older["summary"]["unexpected"] = 1.into();
    newer["cases"][1]["outcome"] = "unexpected".into();
    newer["summary"]["unexpected"] = 1.into();
    let (older, newer) = (stored(folder, "older.json", &older), stored(folder, "newer.json", &newer));
    let (ended, said) = site(folder, &[&older, &newer, &reader]);
    assert_eq!(ended, 0, "{said}");
    let root = folder.join("site");
    let all = files(&root);
    for path in all.iter().filter(|path| path.extension().is_some_and(|it| it == "html")) {
        let page = std::fs::read_to_string(root.join(path)).expect("a page");
        assert!(page.len() < 200_000, "{}: {}", path.display(), page.len());
        for link in links(&page).into_iter().filter(|link| !link.starts_with("http")) {
            let to = link.split(['?', '#']).next().unwrap_or_default();
            let to = root.join(path).parent().expect("a folder").join(to);
            assert!(to.is_file(), "{}: {link}", path.display());
        }
    }
    for pages in ["specs/faults", "corpus/links/faults"] {
        let names = glob::glob(&format!("{}/{pages}/*.yaml", repository().display())).expect("a pattern");
        for name in names.flatten() {
            let page = Path::new("bugs").join(name.with_extension("html").file_name().expect("a name"));
            assert!(all.contains(&page), "{}", page.display());
        }
    }
    let index = std::fs::read_to_string(root.join("index.html")).expect("a page");
    assert!(index.contains("<p class=\"verdict unexpected\">FAIL: 32 cases: 1 unexpected, "), "{index}");
    assert!(index.contains("2026-01-31T12:00:00Z") && index.contains("1 better"), "{index}");
    // What a report says is text.
    assert!(index.contains("mine &lt;b&gt; 1") && !index.contains("mine <b>"), "{index}");
    let derived = std::fs::read_to_string(root.join("toolchains/derived.html")).expect("a page");
    let command = "sframe-testbench run --toolchain derived-v2 --toolchain derived-v2-pcrel";
    assert!(derived.contains("FAIL: 1 case unexpected; ") && derived.contains(command), "{derived}");
    let badges = all.iter().filter(|path| path.starts_with("badges"));
    let badges: Vec<Value> = badges
        .map(|path| serde_json::from_slice(&std::fs::read(root.join(path)).expect("a badge")).expect("JSON"))
        .collect();
    assert!(badges.iter().all(|badge| badge["schemaVersion"] == 1 && badge["message"].is_string()));
    assert_eq!(badges.iter().filter(|badge| badge["color"] == "red").count(), 2, "{badges:?}");
    let feed = std::fs::read_to_string(root.join("feed.xml")).expect("a feed");
    assert!(feed.matches("<entry>").count() == 50 && feed.ends_with("</feed>\n"), "{feed}");
    // A page that is gone does not stay.
    std::fs::write(root.join("bugs/gone.html"), "").expect("a file");
    assert_eq!(site(folder, &[&newer]).0, 0);
    assert!(!root.join("bugs/gone.html").exists() && !root.join("changes.html").exists());
}

#[test]
fn the_list_of_bugs_is_searched_in_a_browser() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(site(folder.path(), &[]).0, 0);
    let page = folder.path().join("site/bugs.html");
    browser.load(&page, "?words=gcc+longjmp");
    assert_eq!(browser.count("tbody tr:not([hidden])"), 1);
    browser.value("words.value = ''; words.dispatchEvent(new Event('input'))");
    let all = browser.count("tbody tr");
    assert!(all > 100 && browser.count("tbody tr:not([hidden])") == all);
    assert_eq!(browser.text("count.textContent"), format!("{all} of {all}"));
    browser.has_no_problems();
}

#[test]
fn what_proves_nothing_and_what_is_not_its_own_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let other = stored(folder, "other.json", &json!({ "file": "a", "rows": 1 }));
    let interrupted = stored(folder, "interrupted.json", &reader("INTERRUPTED"));
    let whole = run(folder);
    let mut cut = whole.clone();
    cut["cases"].as_array_mut().expect("cases").pop();
    let cut = stored(folder, "cut.json", &cut);
    let mut shard = whole;
    shard["shard"] = "1/2".into();
    let shard = stored(folder, "shard.json", &shard);
    for (report, says) in [
        (&*other, "other.json: not a report of `run`, `links`, `vectors` or `study`"),
        (&*interrupted, "interrupted.json: the command was interrupted"),
        (&*cut, "cases, and its run had"),
        (&*shard, "only of shard 1/2 of a run"),
        (Path::new("none.json"), "none.json: No such file"),
    ] {
        let (ended, said) = site(folder, &[report]);
        assert!(ended == 2 && said.contains(says), "{said}");
        assert!(!folder.join("site").exists(), "nothing is written");
    }
    std::fs::create_dir(folder.join("site")).expect("a folder");
    std::fs::write(folder.join("site/mine"), "").expect("a file");
    let (ended, said) = site(folder, &[]);
    assert!(ended == 2 && said.contains("the folder is not empty, and has no site in it"), "{said}");
    assert!(folder.join("site/mine").exists());
}

/// A bug without a date is in no feed.
#[test]
fn all_bugs_say_when_their_page_was_written() {
    for pages in ["specs/faults", "corpus/links/faults"] {
        let names = glob::glob(&format!("{}/{pages}/*.yaml", repository().display())).expect("a pattern");
        for name in names.flatten() {
            let page = std::fs::read_to_string(&name).expect("a page");
            assert!(page.contains("\nfound: 20"), "{}", name.display());
        }
    }
}
