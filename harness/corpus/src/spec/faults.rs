//! `specs/faults`: the pages of all faults, and what must hold for them and for the entries that
//! name them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use include_dir::{Dir, include_dir};
use sframe_engine::RowRules;
use sframe_judge::vocabulary::Verdict;
use sframe_judge::vocabulary::suggest::{closest, quoted_list, unknown};

use super::check::MIN_REASON;
use super::fault::{Component, Fault, Upstream, UpstreamState};
use super::load::{built_in_files, yaml_files};
use super::{Known, NO_ROW};
use crate::yaml::{Error, MAX_ERRORS, Source};

/// The folder of the pages, beside the specs.
const FOLDER: &str = "faults";

/// The pages as they were when this was built.
static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../specs/faults");

/// The most lines of source that a page has: whoever is to fix the fault reads all of them.
pub const MAX_LINES: usize = 30;

/// The longest title, in characters.
const MAX_TITLE: usize = 100;

/// The faults of pages, by name.
type Pages = BTreeMap<String, (Fault, Source)>;

/// All faults. Those that are built in are read when the first of them is asked for: most files have none.
#[derive(Debug, Clone)]
pub struct Faults(OnceLock<Pages>);

impl Default for Faults {
    fn default() -> Self {
        Self(Pages::default().into())
    }
}

impl Faults {
    /// The folder of the pages.
    #[must_use]
    pub fn folder(specs: &Path) -> PathBuf {
        specs.join(FOLDER)
    }

    /// Reads and checks the pages of a folder of specs. It may have none.
    ///
    /// # Errors
    /// All mistakes of all pages, each pointing at its line.
    pub fn load(specs: &Path) -> Result<Self, Vec<Error>> {
        let folder = Self::folder(specs);
        if !folder.is_dir() {
            return Ok(Self::default());
        }
        let paths = yaml_files(&folder).map_err(|error| vec![error])?;
        Ok(Self(Self::read(paths.iter().map(|path| Source::read(path)))?.into()))
    }

    /// The pages that this program has in it, for where there is no clone.
    #[must_use]
    pub const fn built_in() -> Self {
        Self(OnceLock::new())
    }

    fn pages(&self) -> &Pages {
        self.0.get_or_init(|| {
            Self::read(built_in_files(&BUILT_IN).map(Ok)).expect("a test reads the pages that are built in")
        })
    }

    fn read(pages: impl Iterator<Item = Result<Source, Error>>) -> Result<Pages, Vec<Error>> {
        let (mut faults, mut errors) = (Pages::new(), Vec::new());
        for page in pages {
            match page.map_err(|error| vec![error]).and_then(load) {
                Ok((name, page)) => drop(faults.insert(name, page)),
                Err(mistakes) => errors.extend(mistakes),
            }
        }
        if errors.is_empty() { Ok(faults) } else { Err(errors) }
    }

    /// The fault of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Fault> {
        self.pages().get(name).map(|(fault, _)| fault)
    }

    /// All of them, by name, with the texts of their pages.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Fault, &Source)> {
        self.pages().iter().map(|(name, (fault, source))| (name.as_str(), fault, source))
    }

    /// What is wrong with a name that none of them has: which was probably meant, or those of the component of that
    /// name.
    #[must_use]
    pub fn unknown(&self, name: &str) -> String {
        let is_of = |fault: &Fault| fault.component.name() == name;
        let of_component = self.iter().filter(|(_, fault, _)| is_of(fault)).map(|(page, ..)| page);
        let of_component: Vec<&str> = of_component.collect();
        let is_alike = |page: &&str| {
            page.contains(name) && closest(name, self.pages().keys().map(String::as_str)).is_none()
        };
        let alike: Vec<&str> = self.pages().keys().map(String::as_str).filter(is_alike).collect();
        match (&of_component[..], &alike[..]) {
            ([], [one, other @ ..]) if !name.is_empty() && other.len() < 8 => {
                let pages = std::iter::once(*one).chain(other.iter().copied());
                format!("unknown fault `{name}`; its name is part of {}", quoted_list(pages))
            }
            ([], _) => {
                let says = unknown("fault", name, self.pages().keys().map(String::as_str));
                let all = if says.ends_with('?') { "" } else { "; `faults` without a name lists all" };
                says + all
            }
            (pages, _) => {
                format!("`{name}` is a component, with the faults {}", quoted_list(pages.iter().copied()))
            }
        }
    }

    /// Gives entries the titles of the faults that they name.
    ///
    /// # Errors
    /// All entries that name none, or blame another component, each pointing at its line.
    pub fn explain(&self, known: &mut [Known], source: &Source) -> Result<(), Vec<Error>> {
        let mut errors = Vec::new();
        for (index, known) in known.iter_mut().enumerate() {
            let Some(name) = &known.fault else { continue };
            let index = index.to_string();
            let mut wrong = |key, message: String, help: &str| {
                if errors.len() < MAX_ERRORS {
                    errors.push(source.error_at(source.span(&["known", &index, key]), message, Some(help)));
                }
            };
            match self.get(name) {
                None if self.pages().is_empty() => {
                    let message =
                        format!("unknown fault `{name}`: there is no folder `{FOLDER}` beside the specs");
                    wrong("fault", message, "give a `reason` instead");
                }
                None => wrong("fault", self.unknown(name), "`sframe-testbench faults` lists them"),
                Some(fault) => {
                    let blame = fault.blame();
                    if blame != known.blame {
                        let message = format!("`{name}` is a bug of {}", fault.component);
                        wrong("blame", message, &format!("blame `{blame}`"));
                    }
                    known.title = Some(fault.title.clone());
                    known.signs = fault.signs.iter().flat_map(|sign| &sign.abi).copied().collect();
                }
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

/// Checks a page. Returns it with its name.
fn load(source: Source) -> Result<(String, (Fault, Source)), Vec<Error>> {
    let name = source.path().file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
    let fault = source.parse().map_err(|error| vec![error])?;
    let mut check = Check { fault: &fault, source: &source, errors: Vec::new() };
    check.name(&name);
    check.head();
    check.sites();
    check.example();
    check.upstream();
    if check.errors.is_empty() { Ok((name, (fault, source))) } else { Err(check.errors) }
}

/// Who may say something of an example: the run, exploring, and the witnesses of a finding.
const WITNESSES: [&str; 6] = ["run", "explore", "CFI", "frame pointers", "instructions", "layout"];

/// What must hold for a page beyond what the types can express.
struct Check<'a> {
    fault: &'a Fault,
    source: &'a Source,
    errors: Vec<Error>,
}

impl Check<'_> {
    fn wrong(&mut self, path: &[&str], message: impl Into<String>, help: &str) {
        self.errors.push(self.source.error_at(self.source.span(path), message, Some(help)));
    }

    fn name(&mut self, name: &str) {
        let kebab =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
        if name.is_empty() || !name.bytes().all(kebab) {
            let message = format!("`{name}` is not the name of a fault");
            self.wrong(&[], message, "name the file with lower-case letters, digits, `-` and `.`");
        }
    }

    fn head(&mut self) {
        let Fault { title, component, summary, witnesses, example, signs, .. } = self.fault;
        let length = title.trim().chars().count();
        if length == 0 || length > MAX_TITLE || title.contains('\n') || title.trim_end().ends_with('.') {
            let message = format!("a title is a line of at most {MAX_TITLE} characters, without a full stop");
            self.wrong(&["title"], message, "say what is wrong");
        }
        if summary.trim().chars().count() < MIN_REASON {
            let message = format!("a summary has at least {MIN_REASON} characters");
            self.wrong(&["summary"], message, "say what the component does, and what it should do");
        }
        match (witnesses.is_empty(), example.is_crash()) {
            (true, false) => {
                self.wrong(
                    &["witnesses"],
                    "no witness says that it is wrong",
                    "give `witnesses`, as `check` prints them",
                );
            }
            (false, true) => {
                let help = "remove them: there is no program";
                self.wrong(&["witnesses"], "a crash has no witnesses", help);
            }
            _ => {}
        }
        let is_witness = |name: &&String| WITNESSES.contains(&name.as_str());
        for name in witnesses.keys().filter(|name| !is_witness(name)) {
            let help = format!("allowed here: {}", quoted_list(WITNESSES));
            let span = self.source.key_span(&["witnesses", name]);
            let error = self.source.error_at(span, unknown("witness", name, WITNESSES), Some(help));
            self.errors.push(error);
        }
        for (index, sign) in signs.iter().enumerate() {
            let path = ["signs", &index.to_string()];
            let (wrong, help) = (sign.mistake(), "see specs/faults/README.md");
            if let Some((key, why)) = wrong {
                self.wrong(&["signs", &index.to_string(), key], why, help);
            }
            if (!sign.has_place() && sign.with.is_empty()) || example.is_crash() {
                let help = "give `after`, `at`, `begins_after`, `with`, `layout`, `code_in` or `function`";
                self.wrong(&path, "this sign is one of any finding", help);
            }
            match (component, &sign.library) {
                (Component::Library(_), None) => {
                    self.wrong(&path, "in which library?", "give its DT_SONAME as `library`");
                }
                (Component::Library(_), Some(_)) | (_, None) => {}
                (_, Some(_)) => self.wrong(&path, "the component is not a library", "remove `library`"),
            }
        }
        for (witness, says) in witnesses {
            if says.trim().is_empty() {
                self.wrong(&["witnesses", witness], "this witness says nothing", "remove it");
            }
        }
    }

    fn sites(&mut self) {
        let Fault { component, sites, .. } = self.fault;
        match (component, sites.is_empty()) {
            (Component::Library(_), true) => {
                self.wrong(&["component"], "where does the library have it?", "list the `sites`");
            }
            (Component::Library(_), false) | (_, true) => {}
            (_, false) => self.wrong(&["sites"], "only libraries have sites", "specs say where others are"),
        }
        for (index, site) in sites.iter().enumerate() {
            if site.wrong == site.right {
                let path = ["sites", &index.to_string(), "right"];
                self.wrong(&path, "the right row is the wrong one", "give what the row should be");
            }
            self.rules(&["sites", &index.to_string(), "right"], &site.right);
        }
    }

    /// What is right must be something that a row can say.
    fn rules(&mut self, path: &[&str], text: &str) {
        if text != NO_ROW && text.parse::<RowRules>().is_err() {
            let help = "as findings print them: `CFA = SP+16, RA = *(CFA-8), FP unchanged`, or `no row`";
            self.wrong(path, format!("`{text}` can't be read as the rules of a row"), help);
        }
    }

    fn example(&mut self) {
        let example = &self.fault.example;
        let at = |key| ["example", key];
        let lines: usize = example.sources.values().map(|source| source.lines().count()).sum();
        if example.sources.is_empty() || lines > MAX_LINES {
            let message = format!("an example has between 1 and {MAX_LINES} lines of source, not {lines}");
            self.wrong(&at("sources"), message, "leave out what is not needed to show the fault");
        }
        for name in example.sources.keys() {
            if name.is_empty() || name.contains('/') || name == ".." || name == "." {
                let message = format!("`{name}` is not the name of a file");
                self.wrong(&["example", "sources", name], message, "all files are in one folder");
            }
        }
        let words: Vec<Option<Vec<String>>> =
            example.commands.iter().map(|command| shlex::split(command)).collect();
        if words.is_empty() {
            self.wrong(&at("commands"), "the list is empty", "say how the program is made");
        }
        for (index, words) in words.iter().enumerate() {
            if words.as_ref().is_none_or(Vec::is_empty) {
                let help = "write words, quoted as for a shell";
                self.wrong(&["example", "commands", &index.to_string()], "this is no command", help);
            }
        }
        if !words.iter().flatten().flatten().any(|word| *word == example.program) {
            self.wrong(&at("program"), "no command makes this file", "name what `-o` names");
        }
        for (key, text) in
            [("function", &example.function), ("wrong", &example.wrong), ("right", &example.right)]
        {
            if text.trim().is_empty() {
                self.wrong(&at(key), "this is empty", "give it as findings print it");
            }
        }
        if !example.is_crash() && !example.right.trim().is_empty() {
            self.rules(&at("right"), &example.right);
        }
        if matches!(self.fault.component, Component::Library(_)) && example.is_crash() {
            self.wrong(&at("verdict"), "libraries make no programs", "give the verdict of a finding");
        }
        if example.verdict == Verdict::NoFde && (example.wrong != NO_ROW || example.right == NO_ROW) {
            let help = format!("`wrong` is `{NO_ROW}`, and `right` what `.eh_frame` says where it starts");
            self.wrong(&at("verdict"), "without an FDE there is no row, and there should be", &help);
        }
        if example.is_crash() {
            if example.row.is_some() {
                self.wrong(&at("row"), "a component that crashes writes no row", "remove it");
            }
        } else if example.row.is_none() != (example.wrong == NO_ROW) {
            let help = "give `row`, unless it is `no row` that is wrong";
            self.wrong(&at("wrong"), "this row is somewhere, or nowhere", help);
        }
        if example.wrong == example.right {
            self.wrong(&at("right"), "the right row is the wrong one", "give what the row should be");
        }
        if let Some(why) = example.verdict.not_knowable().filter(|_| !example.is_crash()) {
            let message = format!("`{}` is no verdict of a fault", example.verdict);
            self.wrong(&at("verdict"), message, why);
        }
    }

    fn upstream(&mut self) {
        let Upstream { state, link, version } = &self.fault.upstream;
        let at = |key| ["upstream", key];
        match (state, link) {
            (UpstreamState::Unreported, Some(_)) => {
                self.wrong(&at("link"), "a link, though the fault is `unreported`", "`reported` has one");
            }
            (UpstreamState::Reported, None) => {
                self.wrong(&at("state"), "reported where?", "give the `link`");
            }
            (_, Some(link)) if !link.starts_with("https://") => {
                self.wrong(&at("link"), "this is no link", "links begin with `https://`");
            }
            _ => {}
        }
        if version.is_some() && *state != UpstreamState::Fixed {
            self.wrong(&at("version"), "no version has a fix", "only what is `fixed` has one");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    const PAGE: &str = "\
title: The assembler forgets the return address
component: {assembler: gas >= 2.44 < 2.47}
summary: It writes no offset where the register is saved twice.
example:
  abi: amd64
  toolchain: gnu-2.44
  sources:
    twice.s: |
      f: ret
  commands:
    - gcc -o twice twice.s
  program: twice
  function: f
  row: 0x1
  verdict: wrong-ra
  wrong: CFA = SP+8, RA = *(CFA-16), FP unchanged
  right: CFA = SP+8, RA = *(CFA-8), FP unchanged
witnesses:
  run: RA = 0x1, should be 0x2
upstream: {state: unreported}
";

    #[test]
    fn the_pages_that_are_built_in_have_no_mistakes() {
        let faults = Faults::built_in();
        assert!(faults.iter().all(|(name, ..)| faults.get(name).is_some()));
        assert!(faults.iter().next().is_some());
    }

    /// A folder of specs with a page and a spec.
    fn specs(page: &str, entry: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let pages = folder.path().join(FOLDER);
        std::fs::create_dir(&pages).expect("a folder");
        std::fs::write(pages.join("gas-forgets.yaml"), page).expect("a page");
        let known = "verdict: wrong-ra, where: {abi: amd64}";
        let spec = format!(
            "program: p\nsummary: s\ntargets: all\nstops: [{{at: main}}]\nknown:\n  - {{{known}, {entry}}}\n"
        );
        std::fs::write(folder.path().join("p.yaml"), spec).expect("a spec");
        folder
    }

    fn of_folder(page: &str, entry: &str) -> Result<Spec, String> {
        let folder = specs(page, entry);
        let read = super::super::load_dir(folder.path());
        let mut read = read.map_err(|errors| {
            errors.iter().map(|error| error.render(false).to_string()).collect::<String>()
        })?;
        Ok(read.specs.remove(0).0)
    }

    #[test]
    fn an_entry_has_the_title_of_the_fault_that_it_names() {
        let spec = of_folder(PAGE, "blame: producer-assembler, fault: gas-forgets").expect("a spec");
        assert_eq!(spec.known[0].why(), "The assembler forgets the return address");
    }

    #[test]
    fn an_entry_that_names_no_fault_or_blames_another_component_is_refused() {
        let unknown = of_folder(PAGE, "blame: producer-assembler, fault: gas-forgot").unwrap_err();
        for part in ["p.yaml:6:", "unknown fault `gas-forgot`; did you mean `gas-forgets`?"] {
            assert!(unknown.contains(part), "{unknown}");
        }
        let blame = of_folder(PAGE, "blame: producer-linker, fault: gas-forgets").unwrap_err();
        for part in ["`gas-forgets` is a bug of gas >= 2.44 < 2.47", "blame `producer-assembler`"] {
            assert!(blame.contains(part), "{blame}");
        }
        let folder = specs(PAGE, "blame: producer-assembler, fault: gas-forgets");
        std::fs::remove_dir_all(folder.path().join(FOLDER)).expect("removed");
        let errors = super::super::load_dir(folder.path()).expect_err("no pages");
        assert!(errors[0].message().contains("there is no folder `faults`"), "{}", errors[0]);
    }

    #[test]
    fn a_component_is_one_tool_in_some_versions() {
        let fault: Fault = Source::new(Path::new("f.yaml"), PAGE).parse().expect("a page");
        let producer = |assembler: &str| crate::spec::Producer {
            assembler: Some(assembler.parse().expect("a tool")),
            ..crate::spec::Producer::default()
        };
        for (tool, has) in [("gas 2.40", false), ("gas 2.44", true), ("gas 2.46", true), ("gas 2.47", false)]
        {
            assert_eq!(fault.component.contains(&producer(tool)), has, "{tool}");
            assert_eq!(fault.component.tool_of(&producer(tool)).as_deref(), Some(tool));
        }
        assert_eq!(fault.component.tool_of(&producer("llvm 22")), None);
        assert!(matches!(fault.component, Component::Assembler(_)));
    }

    #[test]
    fn mistakes_of_a_page_are_shown_where_they_are() {
        let lines = "      nop\n".repeat(31);
        for (from, to, line, message) in [
            ("title: The", "title: >-\n  The", 0, ""),
            ("address\ncomponent", "address.\ncomponent", 1, "a line of at most 100 characters"),
            (
                "{assembler: gas >= 2.44 < 2.47}",
                "{assembler: gas, linker: ld}",
                2,
                "expected map with a single key",
            ),
            ("{assembler: gas >= 2.44 < 2.47}", "{}", 2, "expected map with a single key"),
            ("{assembler", "{asembler", 2, "unknown name `asembler`; did you mean `assembler`?"),
            ("gas >= 2.44", "gasp >= 2.44", 2, "unknown assembler `gasp`; did you mean `gas`?"),
            ("wrong-ra\n", "no-fde\n", 15, "without an FDE there is no row, and there should be"),
            ("wrong-ra\n", "crashed\n", 14, "a component that crashes writes no row"),
            ("wrong-ra\n", "crashed\n", 19, "a crash has no witnesses"),
            (
                "upstream:",
                "signs: [{abi: amd64, wrong: w, section: s, row: r, after: []}]\nupstream:",
                20,
                "this sign is one of any finding",
            ),
            (
                "upstream:",
                "signs: [{abi: amd64, wrong: wrong-ra, section: .sframe, row: none, at: ret, entry: [nop, nop, ret]}]\nupstream:",
                20,
                "with the name of their `function`",
            ),
            (
                "upstream:",
                "signs: [{abi: amd64, wrong: wrong-ra, section: .sframe, row: none, function: f, entry: [endbr64]}]\nupstream:",
                20,
                "these are at least three instructions",
            ),
            ("It writes no offset where the register is saved twice.", "Wrong.", 3, "at least 20 characters"),
            ("      f: ret\n", lines.as_str(), 8, "between 1 and 30 lines of source, not 31"),
            ("twice.s: |", "../twice.s: |", 8, "`../twice.s` is not the name of a file"),
            ("gcc -o twice twice.s", "gcc 'twice.s", 11, "this is no command"),
            ("program: twice", "program: once", 12, "no command makes this file"),
            ("function: f", "function: ''", 13, "this is empty"),
            ("  row: 0x1\n", "", 15, "this row is somewhere, or nowhere"),
            ("verdict: wrong-ra", "verdict: broken", 15, "`broken` is no verdict of a fault"),
            ("*(CFA-16)", "*(CFA-8)", 17, "the right row is the wrong one"),
            (
                "*(CFA-8)",
                "*(CFA--8)",
                17,
                "`CFA = SP+8, RA = *(CFA--8), FP unchanged` can't be read as the rules of a row",
            ),
            ("  run: RA = 0x1, should be 0x2\n", "  run: ' '\n", 19, "this witness says nothing"),
            ("\n  run: RA = 0x1, should be 0x2", " {}", 18, "no witness says that it is wrong"),
            ("{assembler: gas >= 2.44 < 2.47}", "{library: glibc}", 2, "where does the library have it?"),
            ("{assembler: gas >= 2.44 < 2.47}", "{library: glib}", 2, "unknown library `glib`"),
            (
                "example:\n",
                "sites:\n  - {file: f, abi: amd64, function: f, row: 0, wrong: a, right: no row}\nexample:\n",
                5,
                "only libraries have sites",
            ),
            (
                "{assembler: gas >= 2.44 < 2.47}\n",
                "{library: glibc}\nsites:\n  - {file: f, abi: amd64, function: f, row: 0, wrong: a, right: a}\n",
                4,
                "the right row is the wrong one",
            ),
            ("{state: unreported}", "{state: reported}", 20, "reported where?"),
            ("{state: unreported}", "{state: known}", 20, "unknown name `known`"),
            (
                "{state: unreported}",
                "{state: unreported, link: 'https://x'}",
                20,
                "though the fault is `unreported`",
            ),
            ("{state: unreported}", "{state: fixed, link: PR 1}", 20, "links begin with `https://`"),
            ("{state: unreported}", "{state: unreported, version: '1'}", 20, "no version has a fix"),
        ] {
            let page = PAGE.replacen(from, to, 1);
            assert_ne!(page, PAGE, "{from}");
            let read = of_folder(&page, "blame: producer-assembler, fault: gas-forgets");
            match (line, read) {
                (0, read) => assert!(read.is_ok(), "{read:?}"),
                (line, read) => {
                    let error = read.expect_err(message);
                    assert!(error.contains(&format!("gas-forgets.yaml:{line}:")), "{message}: {error}");
                    assert!(error.contains(message), "{message}: {error}");
                }
            }
        }
    }

    #[test]
    fn a_page_has_a_plain_name() {
        let folder = specs(PAGE, "blame: producer-assembler, fault: gas-forgets");
        let pages = folder.path().join(FOLDER);
        std::fs::copy(pages.join("gas-forgets.yaml"), pages.join("Gas_forgets.yaml")).expect("copied");
        let errors = Faults::load(folder.path()).expect_err("a name");
        assert!(errors[0].message().contains("`Gas_forgets` is not the name of a fault"), "{}", errors[0]);
    }
}
