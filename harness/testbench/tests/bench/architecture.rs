//! How the code is structured. [`CRATES`] is the order of the crates and of their rooms,
//! which are the top-level modules of a crate: each uses only what is below it. Within a
//! room, at most two files need each other. The map in harness/MAP.md is made from the
//! same list, and from what the rooms say of themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

use crate::common::repository;

/// The crates, and the rooms of each, from the top down.
const CRATES: [(&str, &[&str]); 17] = [
    ("fuzz", &["files"]),
    ("testbench", &["cli", "explain", "schema"]),
    ("search", &["generate", "mutate"]),
    ("readers", &["export", "stacks", "vectors"]),
    (
        "suite",
        &[
            "site",
            "clauses",
            "faults",
            "check",
            "explore",
            "report",
            "meanings",
            "matrix",
            "suite",
            "case",
            "provenance",
            "identity",
        ],
    ),
    (
        "samples",
        &["changes", "report", "walks", "process", "read", "perf", "core_dump", "recording", "registers"],
    ),
    (
        "links",
        &[
            "run",
            "toolchain",
            "report",
            "tools",
            "unable",
            "known",
            "result",
            "judge",
            "wanted",
            "generated",
            "case",
            "page",
            "options",
            "functions",
            "code",
        ],
    ),
    ("corpus", &["faults", "signs", "corpus", "spec", "failure", "yaml", "shard"]),
    (
        "judge",
        &[
            "study",
            "explore",
            "external",
            "moments",
            "examine",
            "triage",
            "finding",
            "calls",
            "compare",
            "unwind",
            "truth",
            "target",
            "process",
            "vocabulary",
        ],
    ),
    (
        "machine",
        &[
            "explore",
            "machine",
            "native",
            "prelude",
            "run",
            "options",
            "observer",
            "straight",
            "block",
            "process",
            "follow",
            "witness",
            "effect_cache",
            "call_stack",
            "answers",
            "images",
            "outcome",
            "pc_map",
            "control_flow",
            "link",
            "linux",
            "image",
            "places",
            "address_space",
            "cpu",
        ],
    ),
    ("inspect", &["command", "version", "convert", "lint", "diff", "dump", "hazard", "known"]),
    (
        "elf",
        &[
            "kernel",
            "link",
            "replace_section",
            "sframe_section",
            "linked_code",
            "code_digest",
            "function_code",
            "object_file",
            "relocatable",
            "merge_faults",
            "symbols",
            "find_sframe",
            "call_frame_info",
            "debug_file",
            "cfi",
            "plt",
            "dynamic_relocations",
            "line_table",
            "compile_units",
            "dwarf",
            "unknown_symbol",
            "abi",
            "bounded",
            "numbers",
            "file",
            "source",
        ],
    ),
    (
        "isa",
        &[
            "disassembly",
            "removal",
            "frame_layout",
            "known_lengths",
            "aarch64",
            "amd64",
            "s390x",
            "instruction",
            "stored",
            "operation",
            "registers",
        ],
    ),
    ("kit", &["sarif", "table", "json", "percent", "de", "ranges", "blame", "address", "conclusion", "text"]),
    ("protocol", &["serve", "message"]),
    (
        "vectors",
        &[
            "engine",
            "compare",
            "accept",
            "model",
            "load",
            "encode",
            "profile",
            "question",
            "boundary",
            "vector",
            "alternative",
            "read",
            "change",
            "query",
            "answer",
            "expect",
            "section",
            "step",
            "catalogue",
            "recipe",
            "yaml",
            "words",
            "suggest",
            "equation",
            "number",
            "names",
            "schema",
        ],
    ),
    ("engine", &["lint", "write", "step", "read", "rule", "error", "version", "address", "abi", "constants"]),
];

type ModulePath = Vec<String>;

/// The modules of a crate that have a file, by their paths.
#[derive(Default)]
struct Crate(BTreeMap<ModulePath, Module>);

/// The paths that a file refers to in its crate, from the crate's root.
#[derive(Default)]
struct Module {
    uses: BTreeSet<ModulePath>,
    /// The names it re-exports that are defined elsewhere.
    exports: BTreeMap<String, ModulePath>,
}

impl Crate {
    fn read(folder: &Path) -> Self {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).expect("a name");
        let name = name.trim_matches('"').replace('-', "_");
        let mut read = Self::default();
        read.add(&name, &folder.join("src"), &[]);
        read
    }

    fn add(&mut self, name: &str, folder: &Path, at: &[String]) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let stem = path.file_stem().expect("a name").to_str().expect("text").to_owned();
            let inner = || at.iter().cloned().chain([stem.clone()]).collect::<ModulePath>();
            if path.is_dir() {
                // Separate programs, and tests.
                if stem != "bin" && stem != "tests" {
                    self.add(name, &path, &inner());
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "tests" {
                let module =
                    if ["lib", "main", "mod"].contains(&stem.as_str()) { at.to_vec() } else { inner() };
                let text = std::fs::read_to_string(&path).expect("a file");
                self.take(name, module, &text);
            }
        }
    }

    fn take(&mut self, name: &str, at: ModulePath, text: &str) {
        let file = syn::parse_file(text).expect("Rust");
        let declared = file.items.iter().filter_map(|item| match item {
            Item::Mod(module) => Some(module.ident.to_string()),
            _ => None,
        });
        let mut reader = Reader { name, at: &at, children: declared.collect(), module: Module::default() };
        reader.visit_file(&file);
        // A crate may have two roots: of its library, and of its program.
        let module = self.0.entry(at.clone()).or_default();
        module.uses.extend(reader.module.uses);
        module.exports.extend(reader.module.exports);
    }

    /// The file that contains a definition.
    fn file_of(&self, path: &[String]) -> Option<ModulePath> {
        let len = (0..=path.len()).rev().find(|len| self.0.contains_key(&path[..*len]))?;
        let (module, rest) = path.split_at(len);
        let exported = rest.first().and_then(|name| self.0[module].exports.get(name));
        match exported {
            Some(elsewhere) if elsewhere.as_slice() != path => self.file_of(elsewhere),
            _ => Some(module.to_vec()),
        }
    }

    /// Which files need which others.
    fn arrows(&self) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
        let of = |(at, module): (&ModulePath, &Module)| {
            let needed = module.uses.iter().filter_map(|path| self.file_of(path));
            (at.clone(), needed.filter(|other| other != at && !other.is_empty()).collect())
        };
        self.0.iter().filter(|(at, _)| !at.is_empty()).map(of).collect()
    }
}

struct Reader<'a> {
    name: &'a str,
    at: &'a [String],
    children: BTreeSet<String>,
    module: Module,
}

impl Reader<'_> {
    /// Returns a path from the crate's root; `None` if it leads out of the
    /// crate.
    fn absolute(&self, path: &[String]) -> Option<ModulePath> {
        let mut base = self.at.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (base, rest) = (Vec::new(), &rest[1..]),
            first if first == self.name => (base, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while let Some(("super", after)) =
                    rest.split_first().map(|(first, after)| (first.as_str(), after))
                {
                    base.pop()?;
                    rest = after;
                }
            }
            first if self.children.contains(first) => {}
            _ => return None,
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    fn import(&mut self, tree: &UseTree, before: &[String], is_export: bool) {
        let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident), is_export),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.import(item, before, is_export)),
            UseTree::Name(name) if name.ident == "self" => {
                self.note(before, before.last().cloned(), is_export)
            }
            UseTree::Name(name) => self.note(&with(&name.ident), Some(name.ident.to_string()), is_export),
            UseTree::Rename(name) => self.note(&with(&name.ident), Some(name.rename.to_string()), is_export),
            UseTree::Glob(_) => self.note(before, None, false),
        }
    }

    fn note(&mut self, path: &[String], name: Option<String>, is_export: bool) {
        let Some(path) = self.absolute(path) else { return };
        match name.filter(|_| is_export) {
            Some(name) => drop(self.module.exports.insert(name, path)),
            None => drop(self.module.uses.insert(path)),
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|of| of.is_ident("test"))
    };
    attributes.iter().any(is_test)
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_test(&item.attrs) {
            self.import(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 {
            self.note(&names, None, false);
        }
        visit::visit_path(self, path);
    }
}

/// The groups of items that lead back to one another.
fn circles<T: Clone + Ord>(arrows: &BTreeMap<T, BTreeSet<T>>) -> Vec<Vec<T>> {
    let reached = |from: &T| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from.clone()];
        while let Some(next) = open.pop() {
            for other in arrows.get(&next).into_iter().flatten() {
                if seen.insert(other.clone()) {
                    open.push(other.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&T, BTreeSet<T>> = arrows.keys().map(|from| (from, reached(from))).collect();
    let circle = |at: &T| -> Vec<T> {
        let back = |other: &&T| reached.get(*other).is_some_and(|all| all.contains(at));
        reached[at].iter().filter(back).cloned().collect()
    };
    let all: BTreeSet<Vec<T>> = arrows.keys().map(circle).filter(|circle| circle.len() > 1).collect();
    all.into_iter().collect()
}

/// What is wrong with the structure of a crate whose rooms have this order.
fn faults(of: &Crate, order: &[&str]) -> Vec<String> {
    let arrows = of.arrows();
    let mut faults = Vec::new();
    let rooms: BTreeSet<&str> = of.0.keys().filter_map(|at| at.first()).map(String::as_str).collect();
    let listed: BTreeSet<&str> = order.iter().copied().collect();
    faults.extend(rooms.difference(&listed).map(|room| format!("{room} has no place in the order")));
    faults.extend(listed.difference(&rooms).map(|room| format!("there is no {room}")));
    let place = |room: &str| order.iter().position(|other| *other == room);
    let mut upwards = BTreeSet::new();
    for (from, to) in &arrows {
        for to in to.iter().filter(|to| place(&to[0]) < place(&from[0])) {
            upwards.insert(format!("{} uses {}, which is above it", from[0], to[0]));
        }
    }
    faults.extend(upwards);
    for circle in circles(&arrows).iter().filter(|circle| circle.len() > 2) {
        let names: Vec<String> = circle.iter().map(|path| path.join("/")).collect();
        faults.push(format!("files: {}", names.join(", ")));
    }
    faults
}

fn folder(name: &str) -> PathBuf {
    repository().join("harness").join(name)
}

#[test]
fn each_room_uses_only_those_below_it() {
    let of_crate = |(name, order): &(&str, &[&str])| {
        let read = Crate::read(&folder(name));
        let faults = faults(&read, order);
        (read.arrows().values().map(BTreeSet::len).sum::<usize>(), faults)
    };
    let all: Vec<(usize, Vec<String>)> = CRATES.iter().map(of_crate).collect();
    assert!(all.iter().map(|(arrows, _)| arrows).sum::<usize>() > 500, "too little was read");
    let faults: Vec<&String> = all.iter().flat_map(|(_, faults)| faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The other crates of this repository that a manifest names as dependencies.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let sections = manifest.split("\n[").filter(|section| section.starts_with("dependencies]"));
    let lines = sections.flat_map(str::lines).filter_map(|line| line.strip_prefix("sframe-"));
    lines.filter_map(|line| line.split(['.', ' ']).next()).map(str::to_owned).collect()
}

#[test]
fn each_crate_uses_only_those_below_it() {
    let workspace = std::fs::read_to_string(repository().join("Cargo.toml")).expect("a manifest");
    let members = workspace.lines().find(|line| line.starts_with("members = ")).expect("members");
    let members: BTreeSet<&str> =
        members.split('"').filter_map(|name| name.strip_prefix("harness/")).collect();
    assert_eq!(members, CRATES.iter().map(|(name, _)| *name).collect());
    let place = |of: &str| CRATES.iter().position(|(name, _)| *name == of);
    for (name, _) in CRATES {
        let manifest = std::fs::read_to_string(folder(name).join("Cargo.toml")).expect("a manifest");
        for used in dependencies(&manifest) {
            assert!(place(&used) > place(name), "{name} uses {used}, which is above it");
        }
    }
    assert_eq!(
        dependencies(
            "[package]\n[dependencies]\nsframe-a.workspace = true\nx = 1\nsframe-b = {}\n[dev-dependencies]\nsframe-c = 1"
        ),
        BTreeSet::from(["a".to_owned(), "b".to_owned()])
    );
}

/// The first sentence of a module's documentation.
fn first_sentence(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    let end = paragraph.find(". ").map_or(paragraph.len(), |end| end + 1);
    paragraph[..end].to_owned()
}

/// The map of the crates and rooms.
fn map() -> String {
    let mut map = String::from("\n");
    for (name, rooms) in CRATES {
        let folder = folder(name);
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let about =
            manifest.lines().find_map(|line| line.strip_prefix("description = ")).expect("a description");
        writeln!(map, "**`harness/{name}`**: {}\n", about.trim_matches('"')).expect("memory");
        map.push_str("| room | what |\n|---|---|\n");
        for room in rooms {
            let files = [format!("src/{room}.rs"), format!("src/{room}/mod.rs")];
            let file = files.iter().map(|file| folder.join(file)).find(|file| file.is_file());
            let text = std::fs::read_to_string(file.expect("a room")).expect("a file");
            writeln!(map, "| `{room}` | {} |", first_sentence(&text)).expect("memory");
        }
        map.push('\n');
    }
    map
}

/// Holds a part of harness/MAP.md, between two lines, against what it should be, or writes it.
fn hold(start: &str, end: &str, made: &str) {
    let path = repository().join("harness/MAP.md");
    let text = std::fs::read_to_string(&path).expect("the page");
    let (before, rest) = text.split_once(start).expect("the start of the part");
    let (shown, after) = rest.split_once(end).expect("the end of the part");
    if std::env::var_os("UPDATE_MAP").is_some() {
        std::fs::write(&path, [before, start, made, end, after].concat()).expect("to write");
    } else {
        assert_eq!(shown, made, "UPDATE_MAP=1 makes it again");
    }
}

/// One test, because all parts are of one file.
#[test]
fn the_map_shows_the_crates_as_they_are() {
    hold("<!-- made by the test `architecture` -->\n", "<!-- end of the map -->", &map());
    for (of, what) in [("Abi", "an ABI"), ("Version", "a version")] {
        let start = format!("  <!-- made by the test `architecture`: files of {what} -->\n");
        hold(&start, "  <!-- end of the files -->", &files_that_match(of));
    }
}

/// The files in which the compiler asks for a new ABI or version, with their number: that of its table, and those
/// that match its values, but for those that are an ABI's own.
fn files_that_match(of: &str) -> String {
    let own = ["amd64", "aarch64", "s390x"];
    let is_own =
        |file: &Path| file.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| own.contains(&stem));
    let table = PathBuf::from(format!("engine/src/{}.rs", of.to_lowercase()));
    let asks = |(file, text): &(PathBuf, String)| {
        !is_own(file) && (*file == table || Uses::of(of, text).matches_values)
    };
    let tests: Vec<(PathBuf, String)> = tests().into_iter().filter(asks).collect();
    let sources: Vec<(PathBuf, String)> = sources().into_iter().filter(asks).collect();
    let line = |(file, _): &(PathBuf, String)| format!("  - `harness/{}`\n", file.display());
    let lines = |files: &[(PathBuf, String)]| files.iter().map(line).collect::<String>();
    let mut text = format!("  {} source files:\n\n{}", sources.len(), lines(&sources));
    if !tests.is_empty() {
        write!(text, "\n  {} files of tests:\n\n{}", tests.len(), lines(&tests)).expect("memory");
    }
    text
}

fn is_of_tests(file: &Path) -> bool {
    file.iter().any(|part| part == "tests" || part == "tests.rs")
}

/// The files of tests of all crates: their paths in `harness`, and their texts.
fn tests() -> BTreeMap<PathBuf, String> {
    texts(CRATES.iter().flat_map(|(name, _)| walk(&folder(name))).filter(|file| is_of_tests(file)))
}

/// The source files of all crates, without those of tests: their paths in `harness`, and their texts.
pub(crate) fn sources() -> BTreeMap<PathBuf, String> {
    let files = CRATES.iter().flat_map(|(name, _)| walk(&folder(name).join("src")));
    texts(files.filter(|file| !is_of_tests(file)))
}

/// The texts of files, by their paths in `harness`.
fn texts(files: impl Iterator<Item = PathBuf>) -> BTreeMap<PathBuf, String> {
    let harness = repository().join("harness");
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).expect("a file");
        (file.strip_prefix(&harness).expect("a file of the harness").to_owned(), text)
    };
    files.map(read).collect()
}

/// Makes a crate of some files, given by their module paths.
fn of(files: &[(&str, &str)]) -> Crate {
    let mut made = Crate::default();
    for (at, text) in files {
        made.take("made", at.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect(), text);
    }
    made
}

#[test]
fn imports_upwards_and_cycles_of_files_are_found() {
    let made = of(&[
        ("", "mod a; mod b; mod c; pub use b::B;"),
        ("a", "use crate::B; struct A;"),
        ("b", "pub struct B; fn f() -> crate::c::C { c() }"),
        ("c", "pub use crate::a::A as C;"),
    ]);
    // What `c` exports is defined in `a`.
    assert_eq!(faults(&made, &["a", "b", "c"]), ["b uses a, which is above it"]);
    assert_eq!(faults(&made, &["b", "a", "c"]), ["a uses b, which is above it"]);
    let unlisted = faults(&made, &["a", "b", "d"]);
    assert_eq!(unlisted[..2], ["c has no place in the order", "there is no d"]);
    let made = of(&[
        ("a", "mod x; mod y; mod z;"),
        ("a/x", "use super::y;"),
        ("a/y", "use super::z::{self, Z};"),
        ("a/z", "use super::super::a::x::X;"),
    ]);
    assert_eq!(faults(&made, &["a"]), ["files: a/x, a/y, a/z"]);
}

#[test]
fn imports_of_tests_and_other_crates_do_not_count() {
    let made = of(&[
        ("a", "use std::b::B; #[cfg(test)] mod tests { use crate::b::B; } #[cfg(test)] use crate::b;"),
        ("b", "use crate::a::A;"),
    ]);
    assert_eq!(faults(&made, &["b", "a"]), Vec::<String>::new());
}

/// How code uses ABIs or versions, outside of its tests.
struct Uses<'f> {
    /// `Abi`, or `Version`.
    of: &'f str,
    /// How often it asks for one, and treats all others alike: a new one would be forgotten there.
    defaults: u32,
    /// Whether it has a match of its values: the compiler asks for a new one there.
    matches_values: bool,
}

impl<'f> Uses<'f> {
    fn of(of: &'f str, text: &str) -> Self {
        let mut uses = Self { of, defaults: 0, matches_values: false };
        uses.visit_file(&syn::parse_file(text).expect("Rust"));
        uses
    }

    fn names(&self, path: &syn::Path) -> bool {
        path.segments.len() > 1 && path.segments[path.segments.len() - 2].ident == self.of
    }

    fn is_value(&self, expression: &syn::Expr) -> bool {
        matches!(expression, syn::Expr::Path(path) if self.names(&path.path))
    }

    fn is_in(&self, pattern: &syn::Pat) -> bool {
        match pattern {
            syn::Pat::Path(path) => self.names(&path.path),
            syn::Pat::Or(or) => or.cases.iter().any(|case| self.is_in(case)),
            syn::Pat::Tuple(tuple) => tuple.elems.iter().any(|part| self.is_in(part)),
            _ => false,
        }
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let compares = matches!(
            binary.op,
            syn::BinOp::Eq(_)
                | syn::BinOp::Ne(_)
                | syn::BinOp::Ge(_)
                | syn::BinOp::Gt(_)
                | syn::BinOp::Le(_)
                | syn::BinOp::Lt(_)
        );
        self.defaults += u32::from(compares && (self.is_value(&binary.left) || self.is_value(&binary.right)));
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let is_value = |argument: &syn::Expr| matches!(argument, syn::Expr::Reference(reference) if self.is_value(&reference.expr));
        self.defaults += u32::from(call.method == "cmp" && call.args.iter().any(is_value));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let tokens = call.tokens.to_string();
        self.defaults +=
            u32::from(call.path.is_ident("matches") && tokens.contains(&format!("{} ::", self.of)));
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        let names = expression.arms.iter().any(|arm| self.is_in(&arm.pat));
        let has_default =
            expression.arms.iter().any(|arm| arm.guard.is_none() && matches!(arm.pat, syn::Pat::Wild(_)));
        self.defaults += u32::from(names && has_default);
        self.matches_values |= names && !has_default;
        visit::visit_expr_match(self, expression);
    }
}

/// The enums of a file that have a list of all their values which lacks some, with what it lacks.
fn incomplete_lists(text: &str) -> Vec<String> {
    let file = syn::parse_file(text).expect("Rust");
    let mut variants: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut listed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let last = |path: &syn::Path| path.segments.last().map(|segment| segment.ident.to_string());
    for item in &file.items {
        match item {
            Item::Enum(of) => {
                let names = of.variants.iter().map(|variant| variant.ident.to_string());
                variants.insert(of.ident.to_string(), names.collect());
            }
            Item::Impl(of) => {
                let (syn::Type::Path(name), None) = (&*of.self_ty, &of.trait_) else { continue };
                for item in &of.items {
                    let syn::ImplItem::Const(list) = item else { continue };
                    let array = match &list.expr {
                        syn::Expr::Array(array) => array,
                        syn::Expr::Reference(of) => match &*of.expr {
                            syn::Expr::Array(array) => array,
                            _ => continue,
                        },
                        _ => continue,
                    };
                    let values = array.elems.iter().filter_map(|element| match element {
                        syn::Expr::Path(path) => last(&path.path),
                        _ => None,
                    });
                    if list.ident == "ALL" {
                        listed.insert(last(&name.path).unwrap_or_default(), values.collect());
                    }
                }
            }
            _ => {}
        }
    }
    let lacks = |(name, list): (&String, &BTreeSet<String>)| {
        let lacking: Vec<&String> = variants.get(name)?.difference(list).collect();
        (!lacking.is_empty()).then(|| format!("{name} lacks {lacking:?}"))
    };
    listed.iter().filter_map(lacks).collect()
}

#[test]
fn lists_of_all_values_are_complete() {
    let all = sources().into_iter().flat_map(|(file, text)| {
        let lists = incomplete_lists(&text).into_iter();
        lists.map(move |list| format!("{}: {list}", file.display()))
    });
    assert_eq!(all.collect::<Vec<_>>(), Vec::<String>::new());
    let of = |list: &str| incomplete_lists(&format!("enum E {{ A, B }} impl E {{ const ALL: X = {list}; }}"));
    assert_eq!(of("[Self::A, E::B]"), Vec::<String>::new());
    assert_eq!(of("&[Self::A]"), ["E lacks [\"B\"]"]);
}

/// The files with defaults, and how many there are.
fn defaults(of: &str) -> BTreeMap<String, u32> {
    let count = |(file, text): (PathBuf, String)| (file.display().to_string(), Uses::of(of, &text).defaults);
    sources().into_iter().map(count).filter(|(_, count)| *count > 0).collect()
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let inner = |path: PathBuf| if path.is_dir() { walk(&path) } else { vec![path] };
    let files = entries.flat_map(inner);
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

#[test]
fn no_code_asks_for_one_abi_and_treats_the_others_alike() {
    assert_eq!(defaults("Abi"), BTreeMap::new());
}

#[test]
fn no_code_asks_for_one_version_and_treats_the_others_alike() {
    assert_eq!(defaults("Version"), BTreeMap::new());
}

#[test]
fn comparisons_with_one_value_are_found() {
    let count = |code: &str| Uses::of("Abi", &format!("fn f(abi: Abi) -> u8 {{ {code} }}")).defaults;
    assert_eq!(count("if abi == Abi::Amd64 { 1 } else { 0 }"), 1);
    assert_eq!(count("u8::from(Abi::Amd64 > abi)"), 1);
    assert_eq!(count("abi.cmp(&Abi::Amd64) as u8"), 1);
    assert_eq!(count("u8::from(matches!(abi, Abi::Aarch64 | Abi::Aarch64Be))"), 1);
    assert_eq!(count("match abi { Abi::Amd64 => 1, _ => 0 }"), 1);
    assert_eq!(count("match (abi, 1) { (Abi::Amd64 | Abi::S390x, 1) => 1, _ => 0 }"), 1);
    assert_eq!(count("match abi { Abi::Amd64 => 1, Abi::Aarch64 | Abi::Aarch64Be | Abi::S390x => 0 }"), 0);
    assert_eq!(count("u8::from(abi == other)"), 0);
    let in_tests = "#[cfg(test)] mod tests { fn f(abi: Abi) -> bool { abi == Abi::Amd64 } }";
    assert_eq!(Uses::of("Abi", in_tests).defaults, 0);
}
