//! The page of a run or check, in a headless Chromium, driven through its
//! debugging pipe.
//!
//! Without a browser, the test says so and proves nothing. ci/test installs
//! one, and sets `SFRAME_NEEDS_PROGRAMS`, with which that fails.
//! `SFRAME_BROWSER` names a browser.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sframe_judge::UnexercisedRow;
use sframe_judge::examine::coverage::RowUse;
use sframe_judge::examine::listings::Listings;
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::finding::{Address, Finding, FindingRow};
use sframe_judge::target::Target;
use sframe_judge::triage::MOST_FINDINGS;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;
use sframe_suite::report::{CheckReport, html_of_check};

use crate::common::repository;

/// Time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

fn bench(arguments: &[&str], status: i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(repository())
        .args(arguments)
        .output()
        .expect("the bench runs");
    assert_eq!(output.status.code(), Some(status), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The browser's program.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("SFRAME_BROWSER").map(PathBuf::from);
    named.or_else(|| {
        crate::command::program(&["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"])
    })
}

pub(crate) struct Browser {
    child: Child,
    messages: Receiver<Value>,
    session: Option<String>,
    last_id: u64,
    /// The browser's complaints.
    problems: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn start() -> Option<Self> {
        let program = program()?;
        let profile = tempfile::tempdir().expect("a folder");
        // The pipe has the descriptors 3 and 4.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 1>&2"#])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--remote-debugging-pipe", "--no-first-run", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let mut output = child.stdout.take().expect("a pipe");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let (mut text, mut buffer) = (Vec::new(), [0; 1 << 16]);
            while let Ok(len @ 1..) = output.read(&mut buffer) {
                text.extend_from_slice(&buffer[..len]);
                while let Some(end) = text.iter().position(|byte| *byte == 0) {
                    let message: Vec<u8> = text.drain(..=end).collect();
                    if sender.send(serde_json::from_slice(&message[..end]).expect("JSON")).is_err() {
                        return;
                    }
                }
            }
        });
        let mut browser =
            Self { child, messages, session: None, last_id: 0, problems: Vec::new(), _profile: profile };
        let targets = browser.call("Target.getTargets", json!({}));
        let target = targets["targetInfos"].as_array().expect("targets").iter();
        let page = target.clone().find(|target| target["type"] == "page").expect("a page");
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": page["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut text = message.to_string().into_bytes();
        text.push(0);
        self.child.stdin.as_mut().expect("a pipe").write_all(&text).expect("the browser is there");
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("the browser answers");
            if message["id"] == self.last_id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            let is_problem = match message["method"].as_str() {
                Some("Runtime.exceptionThrown" | "Log.entryAdded") => true,
                Some("Runtime.consoleAPICalled") => message["params"]["type"] != "log",
                _ => false,
            };
            if is_problem {
                self.problems.push(message);
            }
        }
    }

    /// Evaluates an expression; a promise is awaited.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn count(&mut self, selector: &str) -> u64 {
        self.value(&format!("document.querySelectorAll({}).length", json!(selector))).as_u64().unwrap_or(0)
    }

    /// Waits until an expression is true.
    pub(crate) fn wait(&mut self, expression: &str) {
        let start = Instant::now();
        while self.value(&format!("!!({expression})")) != true {
            assert!(start.elapsed() < PATIENCE, "never: {expression}; {:?}", self.problems);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn open(&mut self, page: &Path, place: &str) {
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        let url = format!("file://{}{place}", page.display());
        self.call("Page.navigate", json!({ "url": url }));
    }

    pub(crate) fn load(&mut self, page: &Path, place: &str) {
        self.open(page, place);
        self.wait("document.body && 'ready' in document.body.dataset");
    }

    fn press(&mut self, key: &str) {
        let text = if key == "Enter" { "\r" } else { "" };
        let code = match key {
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "Escape" => 27,
            "Enter" => 13,
            _ => 9,
        };
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    fn scheme(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    fn width(&mut self, width: u32) {
        let size = json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// As on a phone with a screen of 390 by 844.
    fn phone(&mut self) {
        let size = json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// As on paper, of a browser with the dark scheme.
    fn print(&mut self) {
        let features = json!([{ "name": "prefers-color-scheme", "value": "dark" }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": "print", "features": features }));
        self.value("dispatchEvent(new Event('beforeprint'))");
    }

    /// What a button saves.
    fn saved(&mut self, button: &str) -> String {
        let save = "(button => new Promise(resolve => {
            const make = URL.createObjectURL;
            URL.createObjectURL = blob => { blob.text().then(resolve); URL.createObjectURL = make; return make.call(URL, blob); };
            document.querySelector(button).click();
        }))";
        self.text(&format!("{save}({})", json!(button)))
    }

    pub(crate) fn has_no_problems(&self) {
        assert!(self.problems.is_empty(), "{:#?}", self.problems);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Contrast of the selected text with its background (WCAG 2.2, 1.4.3).
const CONTRAST: &str = r"(selector => {
    const channels = color => color.match(/[\d.]+/g).map(Number);
    const light = color => channels(color).slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const backdrop = element => {
        const color = getComputedStyle(element).backgroundColor;
        return channels(color)[3] === 0 ? backdrop(element.parentElement) : color;
    };
    return Math.min(...[...document.querySelectorAll(selector)].map(element => {
        const pair = [light(getComputedStyle(element).color), light(backdrop(element))].sort((a, b) => b - a);
        return (pair[0] + 0.05) / (pair[1] + 0.05);
    }));
})";

/// Beside what is worse than in the baseline, no page says that nothing is unexpected.
#[test]
fn the_page_of_a_run_that_is_worse_says_so_first() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let cases =
        ["run", "--spec", "realign", "--toolchain", "gnu-2.47", "--abi", "amd64", "--report", &path("one")];
    bench(&cases, 0);
    bench(&["baseline", "create", &path("baseline"), &path("one/report.json")], 0);
    let mut baseline: Value =
        serde_json::from_slice(&std::fs::read(path("baseline")).expect("a file")).expect("JSON");
    baseline["cases"]["realign/gnu-2.47/amd64/O2"]["rows_exercised"] = json!(1000);
    std::fs::write(path("baseline"), baseline.to_string()).expect("a file");
    bench(&[&cases[..], &["--baseline", &path("baseline")]].concat(), 1);
    browser.load(&folder.path().join("one/report.html"), "");
    let verdict = browser.text("document.querySelector('.verdict.unexpected').textContent");
    assert!(verdict.trim_start().starts_with("FAIL: 1 worse than in the baseline"), "{verdict}");
}

/// One page, opened once: what is done to it depends on what was done before.
#[test]
fn the_page_of_a_run_can_be_read_filtered_and_linked_to() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    bench(&["run", "--spec", "realign", "--spec", "leaf", "--report", &path], 0);
    let page = folder.path().join("report.html");
    let report = std::fs::read(folder.path().join("report.json")).expect("report.json");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let cases = report["cases"].as_array().expect("cases");
    let known: usize = cases.iter().filter_map(|case| case["known"].as_array()).map(Vec::len).sum();
    assert!(cases.len() > 20 && known > 0);

    browser.width(1200);
    browser.load(&page, "");
    assert_eq!(browser.count(".cells a"), cases.len() as u64);
    assert_eq!(browser.count("figure svg[role=img][aria-label]"), 3);
    assert!(browser.text("document.querySelector('.verdict').textContent").contains(" known failures"));
    assert!(
        browser.text("document.querySelector('section h2').textContent").len() > 3
            && browser
                .text("document.querySelector('main').textContent")
                .contains(&format!("Known findings ({known})"))
    );

    // A filter, typed; and its link, opened afresh.
    let of_leaf = cases.iter().filter(|case| case["program"] == "leaf").count() as u64;
    browser.value("document.getElementById('f-program').focus()");
    browser.call("Input.insertText", json!({ "text": "leaf" }));
    browser.wait("location.hash === '#/?program=leaf'");
    browser.wait(&format!("document.querySelectorAll('.cells a').length === {of_leaf}"));
    assert_eq!(browser.text("document.activeElement.id"), "f-program", "typing can go on");
    let of_abi = cases.iter().filter(|case| case["abi"] == "s390x" && case["program"] == "realign").count();
    browser.load(&page, "#/?abi=s390x&text=realign");
    assert_eq!(browser.count(".cells a"), of_abi as u64);
    assert_eq!(browser.text("document.getElementById('f-abi').value"), "s390x");
    assert!(
        browser.text("document.getElementById('count').textContent").starts_with(&format!("{of_abi} of"))
    );
    browser.load(&page, "#/?verdict=wrong-fp");
    let verdict = "main table:not(.matrix table, .causes table, .cases table) tbody td:first-child a";
    let verdicts = browser.value(&format!(
        "[...new Set([...document.querySelectorAll('{verdict}')].map(link => link.textContent))]"
    ));
    assert_eq!(verdicts, json!(["wrong-fp"]));

    // A finding: its reason, the arrow, the stack; and the function around it.
    browser.value(&format!("document.querySelector('{verdict}').click()"));
    browser.wait("location.hash.startsWith('#/finding/')");
    browser.wait("document.querySelector('.stack')");
    assert!(browser.text("document.title").starts_with("wrong-fp in "));
    assert_eq!(browser.text("document.activeElement.tagName"), "H2", "readers aloud begin there");
    assert!(browser.text("document.querySelector('.reason').textContent").len() > 20);
    browser.value("document.querySelector('details.fault summary').click()");
    let fault = browser.text("document.querySelector('details.fault[open]').textContent");
    for part in
        ["gcc-popped-frame-pointer", "$ gcc -O2", "_Alignas(64)", "CFA = r10, RA = *(CFA-8), FP unchanged"]
    {
        assert!(fault.contains(part), "{part}: {fault}");
    }
    let source = "document.querySelector('details.fault pre').textContent.split('\\n').length";
    assert!(browser.value(source).as_u64() > Some(3), "a source has lines");
    assert_eq!(browser.count("tr.here .arrow [role=img]"), 1);
    assert!(browser.count(".stack tbody tr") > 5 && browser.count(".mark.claim") > 1);
    browser.value("[...document.querySelectorAll('main a')].at(-1).click()");
    browser.wait("document.querySelector('details[open] tr.here .wrong')");
    let wrong = browser.text("document.querySelector('tr.here .wrong').textContent");
    assert!(wrong.starts_with("FP "), "{wrong}");
    let here = browser.text("location.hash");
    browser.load(&page, &here);
    browser.wait("document.querySelector('details[open] tr.here .wrong')");

    // Details elsewhere are shown when opened.
    let closed = browser.count("details:not([open]) table.code");
    assert_eq!(closed, 0, "rendered on demand");
    browser.value("document.querySelector('main details.library > summary').click()");
    browser.wait("document.querySelector('details.library > .body > details')");
    browser.value("document.querySelector('details.library > .body > details > summary').click()");
    browser.wait("document.querySelectorAll('details.library details[open] table.code').length === 1");

    // The matrix by keyboard.
    browser.load(&page, "");
    browser.value("document.querySelector('.cells a').focus()");
    browser.press("ArrowRight");
    browser.press("ArrowDown");
    let link = browser.text("document.activeElement.getAttribute('href')");
    assert!(link.starts_with("#/case/realign/"), "one row down: {link}");
    browser.press("Enter");
    browser.wait(&format!("location.hash === {}", json!(link)));

    // Links to something that does not exist.
    browser.load(&page, "#/case/%E0%A4%A");
    assert!(browser.text("document.querySelector('h2').textContent").contains("Not in this report"));

    // Both schemes, and a narrow screen.
    let mut backs = Vec::new();
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        for place in ["", here.as_str()] {
            browser.load(&page, place);
            let contrast = browser.value(&format!(
                "{CONTRAST}('main p, main td, th, main a, .chip, .mark, h2, summary, button, label, .note')"
            ));
            assert!(contrast.as_f64() >= Some(4.5), "{scheme} {place}: {contrast}");
        }
        backs.push(browser.text("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(backs[0], backs[1]);
    browser.width(360);
    for place in ["", here.as_str()] {
        browser.load(&page, place);
        browser.wait("document.querySelector('svg, details')");
        let width = browser.value("document.documentElement.scrollWidth");
        assert!(width.as_u64() <= Some(360), "{place}: {width}");
    }
    let nameless = "[...document.querySelectorAll('a, button, input, select')]
        .filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length";
    assert_eq!(browser.value(nameless), 0);
    browser.has_no_problems();
}

/// A wide screen cuts nothing and leaves no box half empty; a finding of a known bug is not called
/// unexpected.
#[test]
fn boxes_are_as_wide_as_the_screen() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    let page = folder.path().join("report.html");
    browser.width(1440);
    let narrower = "[...document.querySelectorAll('details, .reason, section > div > .scroll')]
        .filter(box => box.offsetParent && box.offsetWidth < box.parentElement.clientWidth - 50).length";
    let cut =
        "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth).length";
    let breakable = "[...document.querySelectorAll('.listing td:last-child')]
        .filter(cell => [...cell.childNodes].some(node => node.data?.includes('*('))).length";
    let badges = "[...document.querySelectorAll('td.head .chip')].map(badge => badge.textContent)";
    for (file, expected) in [
        ("corpus/builds/gnu-2.47/amd64/overwritten.O2", ["unexpected"; 2].as_slice()),
        ("corpus/faults/gcc-popped-frame-pointer/align", &["known bug"; 2]),
    ] {
        bench(&["check", file, "--report", &path], 1);
        browser.load(&page, "");
        browser.wait("document.querySelector('.listing')");
        for (what, count) in [("narrower", narrower), ("cut", cut), ("breakable", breakable)] {
            assert_eq!(browser.value(count), 0, "{file}: {what}");
        }
        assert_eq!(browser.value(badges), json!(expected), "{file}");
        let said = browser.text("document.querySelector('details.finding summary').textContent");
        assert!(said.ends_with(&format!(": {}", expected[0])), "{said}");
    }
    browser.has_no_problems();
}

#[test]
fn words_are_explained_tables_sorted_saved_and_printed() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    bench(&["run", "--spec", "realign", "--spec", "leaf", "--toolchain", "gnu-2.47", "--report", &path], 0);
    let page = folder.path().join("report.html");

    // A name is explained by pointing at it, and by its key.
    browser.width(1200);
    browser.load(&page, "");
    let nameless =
        "[...document.querySelectorAll('td.head a')].filter(link => !link.title.endsWith('.')).length";
    assert_eq!(browser.value(nameless), 0);
    let term =
        "[...document.querySelectorAll('td .term')].find(term => !term.closest('details:not([open])'))";
    let note = &format!("{term}.nextElementSibling");
    assert_eq!(browser.value(&format!("{note}.matches('.note') && {note}.hidden")), true);
    browser.value(&format!("{term}.focus()"));
    browser.press("Enter");
    browser.wait(&format!("!{note}.hidden"));
    assert_eq!(browser.text("document.activeElement.getAttribute('aria-expanded')"), "true");
    let said = browser.text(&format!("{note}.textContent"));
    assert!(said.ends_with('.') && said == browser.text("document.activeElement.title"), "{said}");
    browser.press("Escape");
    browser.wait(&format!("{note}.hidden"));

    // A column, both ways round; kept in the address.
    let sorts =
        "[...document.querySelectorAll('.cases th button')].find(head => head.textContent === 'compared')";
    let column = "[...document.querySelectorAll('.cases tbody tr')].map(row => Number(row.children[6].textContent.replaceAll(',', '')))";
    browser.value(&format!("{sorts}.focus()"));
    browser.press("Enter");
    browser.wait("location.hash.endsWith('cases=-compared')");
    let fall: Vec<u64> = serde_json::from_value(browser.value(column)).expect("numbers");
    assert!(fall.len() > 5 && fall.is_sorted_by(|a, b| a >= b), "{fall:?}");
    assert_eq!(browser.text("document.activeElement.textContent"), "compared", "the focus stays");
    browser.press("Enter");
    browser.wait("document.querySelector('.cases th[aria-sort=ascending]')");
    let rise: Vec<u64> = serde_json::from_value(browser.value(column)).expect("numbers");
    assert!(rise.is_sorted() && rise != fall, "{rise:?}");
    let here = browser.text("location.hash");
    browser.load(&page, &here);
    assert_eq!(browser.value(column), json!(rise));
    let shown = "[...document.querySelectorAll('.cases tbody tr')].map(row => row.children[0].textContent)";
    let shown: Vec<String> = serde_json::from_value(browser.value(shown)).expect("names");
    let saved = browser.saved(".cases .csv");
    let names = saved.lines().skip(1).filter_map(|line| line.split(',').next());
    assert!(names.take(shown.len()).eq(&shown), "saved in another order than is shown: {saved}");

    // What the filters show, saved.
    browser.load(&page, "#/?abi=amd64&outcome=known");
    let (cases, rows) = (browser.saved(".cases .csv"), browser.count(".cases tbody tr"));
    assert!(rows > 0);
    assert_eq!(cases.matches("\r\n").count() as u64, rows + 1, "{cases}");
    assert!(
        cases.starts_with("case,program,") && !cases.contains("s390x") && !cases.contains(",agree,,"),
        "{cases}"
    );
    let findings = browser.saved("button.csv");
    assert!(findings.contains("\"CFA = r10, RA = *(CFA-8), FP = *(FP)\""), "{findings}");

    // On paper: everything that is shown, nothing that sticks, and what colours mean.
    browser.print();
    let style = |of: &str, name: &str| format!("getComputedStyle(document.querySelector('{of}')).{name}");
    for (of, name, expected) in [
        ("form", "display", "none"),
        (".csv", "display", "none"),
        ("thead th", "position", "static"),
        (".matrix tbody th", "position", "static"),
        (".matrix", "overflow", "visible"),
        (".cells a", "printColorAdjust", "exact"),
        (".legend i", "printColorAdjust", "exact"),
        (".printed", "display", "block"),
        ("th > button", "display", "contents"),
        ("body", "backgroundColor", "rgb(255, 255, 255)"),
    ] {
        assert_eq!(browser.text(&style(of, name)), expected, "{of} {name}");
    }
    assert!(
        browser
            .text("document.querySelector('.printed').textContent")
            .starts_with("Only abi amd64, outcome known:")
    );
    assert_eq!(browser.count("details.glossary:not([open]), footer details:not([open])"), 0);
    browser.has_no_problems();
}

#[test]
fn the_verdict_is_on_the_first_screen_of_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    let page = folder.path().join("report.html");
    browser.phone();
    let build = "corpus/builds/gnu-2.47/amd64/realign.O2";
    for (command, status, verdict) in [
        (&["run", "--spec", "leaf", "--toolchain", "gnu-2.44"][..], 0, "PASS: 12 cases: 12 correct; "),
        (
            &["run", "--spec", "leaf", "--toolchain", "gnu-2.44", "--budget", "10"],
            4,
            "ERROR: 12 cases: 12 could not finish; ",
        ),
        (&["check", build], 1, "FAIL: 4 findings; "),
        (&["check", "corpus/builds/gnu-2.47/amd64/leaf.O2"], 0, "instructions checked, all correct."),
        (&["explore", build], 1, "FAIL: 4 proved findings; "),
    ] {
        let arguments: Vec<&str> = command.iter().copied().chain(["--report", &path]).collect();
        bench(&arguments, status);
        browser.load(&page, "");
        let said = browser.text("document.querySelector('.verdict').textContent");
        assert!(said.contains(verdict), "{command:?}: {said}");
        let top = "(of => document.querySelector(of).getBoundingClientRect().bottom)";
        let ends = if command[0] == "run" { ".tiles li" } else { "main h2" };
        assert!(browser.value(&format!("{top}('{ends}')")).as_f64() < Some(600.0), "{command:?}");
        assert_eq!(browser.value("document.documentElement.scrollWidth"), 390, "{command:?}");
    }
    browser.has_no_problems();
}

/// A name of 20 bytes that would end the script, ring the bell and reverse the
/// direction of the text that follows.
const HOSTILE: &[u8; 20] = b"</script><b>\x07\xe2\x80\xaeabcd";

/// The page of a check of a file with nothing right.
fn page_of_many_findings() -> String {
    const MANY: u64 = 100_000;
    let bytes = std::fs::read(repository().join("corpus/builds/gnu-2.47/amd64/realign.O2")).expect("a build");
    let target = Target::open(&bytes).expect("a target");
    let mut unwinder = sframe_unwinder(&target);
    let options = Options::default();
    let mut examination =
        examine(&target, &mut *unwinder, &ExamineOptions::default(), &options).expect("a run");
    let finding = examination.findings.first().expect("a finding").clone();
    let row = finding.row.expect("a row");
    let at = |start: u64| FindingRow { start: Address(start), ..row };
    let numbered = (0..MOST_FINDINGS as u64).map(|start| Finding { row: Some(at(start)), ..finding.clone() });
    examination.findings = numbered.collect();
    examination.findings_omitted = [(finding.verdict, MANY - MOST_FINDINGS as u64)].into();
    let unexercised = |start| UnexercisedRow {
        used: RowUse::Never,
        image: None,
        function: "f".to_owned(),
        row: at(start),
        instructions: Vec::new(),
        reason: None,
        pc: Address(start),
        explored: None,
        explored_reason: None,
        proof: Vec::new(),
    };
    examination.coverage.unexercised = (0..MANY).map(unexercised).collect();
    examination.coverage.uncovered = (0..MANY).map(|function| (format!("f{function}"), 1)).collect();
    let report = CheckReport::new("many".to_owned(), &target, examination, None);
    assert_eq!(report.summary.verdicts[finding.verdict.as_str()], MANY);
    html_of_check(&report, &Listings::default()).expect("a page")
}

#[test]
fn a_hundred_thousand_findings_can_be_looked_at() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("report.html");
    let text = page_of_many_findings();
    assert!(text.len() < 4 << 20, "{} bytes", text.len());
    std::fs::write(&page, text).expect("a file");
    browser.load(&page, "#/case/many");
    let shown = browser.text("document.querySelector('main').textContent");
    assert!(shown.contains("Findings (3,000 of 10,000)"), "{shown:.3000}");
    assert!(shown.contains("7,000 more findings are in report.json only."), "{shown:.3000}");
    assert!(shown.contains("90,000 more findings are only counted: "), "{shown:.3000}");
    assert!(shown.contains("and 99,900 more"), "{shown:.3000}");
    // Tables grow by a hundred rows on request.
    let nodes = browser.count("main *");
    assert!(nodes < 10_000, "{nodes} elements");
    let rows = "main > section:first-of-type > div tbody tr";
    assert_eq!(browser.count(rows), 100);
    browser.value("document.querySelector('button.more').click()");
    assert_eq!(browser.count(rows), 200);
    browser.has_no_problems();
}

/// The page of a check with one finding in a caller's frame, in a function without a name.
fn page_of_a_nameless_caller() -> String {
    let bytes = std::fs::read(repository().join("corpus/builds/gnu-2.47/amd64/realign.O2")).expect("a build");
    let target = Target::open(&bytes).expect("a target");
    let mut unwinder = sframe_unwinder(&target);
    let mut examination =
        examine(&target, &mut *unwinder, &ExamineOptions::default(), &Options::default()).expect("a run");
    let finding = examination.findings.first().expect("a finding").clone();
    let here = finding.listing.iter().position(|line| Some(line.pc) == finding.pc).expect("its line");
    // A frame that has made a call has the address behind the call as its PC.
    let pc = Some(finding.listing[here + 1].pc);
    examination.findings = vec![Finding { function: None, frame: Some(1), pc, ..finding }];
    let report = CheckReport::new("nameless".to_owned(), &target, examination, None);
    html_of_check(&report, &Listings::default()).expect("a page")
}

/// A finding without a name is headed by the address of the instruction that is marked, also in frames that have made a
/// call.
#[test]
fn a_nameless_finding_is_headed_by_the_marked_instruction() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("report.html");
    std::fs::write(&page, page_of_a_nameless_caller()).expect("a file");
    browser.load(&page, "#/case/nameless");
    let marked =
        browser.text("document.querySelector('details.finding tr.here td:nth-child(3)').textContent");
    assert!(marked.starts_with("0x"), "{marked}");
    let head = browser.text("document.querySelector('details.finding > summary').textContent");
    assert!(head.contains(&format!(" in {marked}:")), "{head}: {marked}");
    let listed = browser.text("document.querySelector('td.name').textContent");
    assert_eq!(listed, marked);
    browser.has_no_problems();
}

/// A list with a finding that is not there.
const GONE: &str = "known:
- verdict: wrong-fp
  function: leaf
  rules:
    CFA = SP+8, RA = *(CFA-8), FP unchanged: 1
  blame: producer-assembler
  reason: It was wrong once, and is right now.
";

/// What is wrong comes first and is open, with the functions that it is in; those that are right are folded, by library;
/// what was run comes last. Of a row's rules none is broken over lines.
#[test]
fn the_page_of_a_check_begins_with_what_is_wrong() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    bench(&["check", "corpus/constructed/pointer-removes-arguments/amd64", "--report", &path], 1);
    let page = folder.path().join("report.html");
    browser.load(&page, "");
    browser.wait("document.querySelector('details.library')");
    let heads = browser.value("[...document.querySelectorAll('main h2')].map(head => head.textContent)");
    let heads: Vec<String> = serde_json::from_value(heads).expect("texts");
    assert!(heads[0].starts_with("corpus/constructed/"), "{heads:?}");
    assert_eq!(heads[1..], ["Findings (1)", "Functions", "What was run"]);
    assert_eq!(browser.count("details.finding[open] .stack"), 1);
    let open = "[...document.querySelectorAll('details[open]:not(.finding) > summary b')].map(name => name.textContent)";
    assert_eq!(browser.value(open), json!(["calls_wrong"]));
    assert_eq!(browser.count("details.library:not([open])"), 1);
    let whole = "[...document.querySelectorAll('details.finding .whole')].map(rule => rule.textContent)";
    let whole = browser.value(whole).to_string();
    for rule in ["CFA = SP+56", "RA = *(CFA-8)", "FP = *(CFA-16)"] {
        assert!(whole.contains(rule), "{rule}: {whole}");
    }
    // What is known is counted as in the verdict, and folded by what explains it.
    bench(&["check", "corpus/faults/gcc-popped-frame-pointer/align", "--known-faults", "--report", &path], 0);
    browser.load(&page, "");
    let shown = browser.text("document.querySelector('main').textContent");
    for part in ["All findings are known, ", "Findings (0)", "Known findings (2)"] {
        assert!(shown.contains(part), "{part}: {shown:.3000}");
    }
    assert_eq!(browser.count("details.group"), 1);
    let group = browser.text("document.querySelector('details.group:not([open]) > summary').textContent");
    assert!(group.starts_with("2 findings at 2 places: gcc-popped-frame-pointer: "), "{group}");
    assert_eq!(browser.count("details.group tbody tr"), 2);
    // What the format can't express is not called known: no list has accepted it.
    bench(&["check", "corpus/constructed/format-at-its-limit/amd64", "--report", &path], 0);
    browser.load(&page, "");
    let shown = browser.text("document.querySelector('main').textContent");
    let head = browser.text("document.querySelector('main h2').textContent");
    assert!(head.ends_with(" right except for 1 place that can't be expressed in SFrame"), "{head}");
    assert!(!shown.contains("known findings were seen"), "{shown:.3000}");
    // A list expects what is not found: that is no word of the call stack.
    let list = folder.path().join("known.yaml");
    std::fs::write(&list, GONE).expect("a list");
    let known = format!("--known={}", list.display());
    bench(&["check", "corpus/builds/gnu-2.47/amd64/leaf.O2", &known, "--report", &path], 1);
    browser.load(&page, "");
    let facts =
        browser.value("[...document.querySelectorAll('details.finding dt')].map(name => name.textContent)");
    let facts = facts.to_string();
    assert!(facts.contains(r#""found","expected""#) && !facts.contains("call stack"), "{facts}");
    // Of a run without skipped and broken cases, nothing is said of these; a number of unchanged frames helps nobody.
    bench(&["run", "--quiet", "--spec", "leaf", "--toolchain", "gnu-2.47", "--report", &path], 0);
    browser.load(&page, "");
    let tiles = browser.text("document.querySelector('.tiles').textContent");
    for none in ["skipped", "broken", "unexpected", "unchanged"] {
        assert!(!tiles.contains(none), "{none}: {tiles}");
    }
    browser.has_no_problems();
}

/// The page of a check of a build with findings in a function of this name.
fn page_with(hostile: &[u8; 20], folder: &Path) -> PathBuf {
    let mut file =
        std::fs::read(repository().join("corpus/builds/gnu-2.47/amd64/realign.O2")).expect("a build");
    let name = b"aligned_and_variable";
    let starts: Vec<usize> =
        (0..file.len() - name.len()).filter(|at| file[*at..].starts_with(name)).collect();
    assert!(!starts.is_empty());
    for at in starts {
        file[at..at + name.len()].copy_from_slice(hostile);
    }
    let path = folder.join("a file").display().to_string();
    std::fs::write(&path, file).expect("a file");
    bench(&["check", &path, "--report", &folder.display().to_string()], 1);
    folder.join("report.html")
}

#[test]
fn a_name_is_not_a_formula_in_a_saved_table() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for (name, cell) in [
        (b"=HYPERLINK(\"ab\",\"c\")", r#","'=HYPERLINK(""ab"",""c"")","#),
        (b"+123456789+123456789", ",\"'+123456789+123456789\","),
        (b"-123456789+123456789", ",\"'-123456789+123456789\","),
        (b"@SUM(A1:A9)+cmd|1!A0", ",\"'@SUM(A1:A9)+cmd|1!A0\","),
        (b"\t=1+1,\r\n\"quoted\",123", r#","\t=1+1,\r\n""quoted"",123","#),
    ] {
        let page = page_with(name, folder.path());
        browser.load(&page, "");
        let text = browser.saved("button.csv");
        assert!(text.contains(cell), "{text}");
        assert_eq!(text.matches('\n').count(), 5, "{text}");
        let cells = text.split("\r\n").flat_map(|line| line.split(','));
        let is_formula =
            |cell: &str| cell.trim_start_matches('"').starts_with(['=', '+', '-', '@', '\t', '\r']);
        let formulas: Vec<&str> = cells.filter(|cell| is_formula(cell)).collect();
        // Parts of quoted cells, which their quotes keep together.
        assert!(formulas.iter().all(|cell| !text.contains(&format!(",{cell},"))), "{formulas:?}");
    }
    browser.has_no_problems();
}

#[test]
fn names_of_hostile_files_are_shown_without_effect() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page_with(HOSTILE, folder.path());
    let html = std::fs::read_to_string(&page).expect("a page");
    assert_eq!(html.matches("</script>").count(), 3, "the page's own");

    browser.load(&page, "");
    browser.wait("document.querySelectorAll('main details.library').length > 0");
    let unfold =
        "document.querySelectorAll('details:not([open]) > summary').forEach(summary => summary.click())";
    browser.value(unfold);
    browser.wait("document.querySelectorAll('details.library > .body > details').length > 2");
    browser.value(unfold);
    browser.wait("document.querySelectorAll('details.library details[open] table.code').length > 2");
    let text = browser.text("document.body.innerText");
    assert!(text.contains(r"</script><b>\u{7}\u{202e}abcd"), "{text}");
    assert!(!text.contains(['\u{7}', '\u{202e}']));
    browser.value("document.querySelector('main td a').click()");
    browser.wait("document.querySelector('.stack')");
    let title = browser.text("document.querySelector('h2').textContent");
    assert!(title.contains(r"</script><b>\u{7}\u{202e}abcd"), "{title}");
    assert_eq!((browser.count("main script"), browser.count("main b b")), (0, 0));
    browser.has_no_problems();
}

#[test]
fn a_page_with_another_script_is_refused_and_that_is_noticed() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let build = "corpus/builds/gnu-2.47/amd64/leaf.O2";
    bench(&["check", build, "--report", &folder.path().display().to_string()], 0);
    let page = folder.path().join("report.html");
    let html = std::fs::read_to_string(&page).expect("a page");
    std::fs::write(&page, html.replacen("\"use strict\";", "\"use strict\"; ", 1)).expect("a file");
    browser.open(&page, "");
    browser.wait("document.querySelector('#loading')");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(browser.value("'ready' in document.body.dataset"), false);
    assert!(!browser.problems.is_empty(), "the policy of the page is a problem to the browser");
}
