//! What a spec must fulfil beyond what its types can express.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use sframe_engine::{Abi, RowRules, Version};
use sframe_judge::vocabulary::Verdict;
use sframe_machine::Options;

use super::{Ability, Exception, Frames, Known, KnownPlace, NO_ROW, Selector, Spec, Targets};
use crate::spec::catalogue::Catalogue;
use crate::yaml::{Error, MAX_ERRORS, Source};

/// A reason shorter than this many characters explains nothing.
pub(super) const MIN_REASON: usize = 20;

/// A spec has no more bytes than these: entries are compared with each other.
const MAX_BYTES: usize = 256 << 10;

/// The mistakes in a spec, in the order of the keys.
pub(super) fn check(spec: &Spec, source: &Source) -> Vec<Error> {
    let mut check = Check { spec, source, errors: Vec::new() };
    if source.text().len() > MAX_BYTES {
        check.wrong_key(&["program"], format!("the spec is larger than {MAX_BYTES} bytes"), "make it two");
        return check.errors;
    }
    check.head();
    check.stops();
    check.sweep();
    check.exceptions("uncovered", &spec.uncovered);
    check.exceptions("unreached", &spec.unreached);
    check.ends();
    check.signals();
    check.distrust();
    check.known();
    check.skip();
    check.errors
}

/// The clauses of a spec that are not in the catalogue.
pub(super) fn check_clauses(spec: &Spec, source: &Source, catalogue: Option<&Catalogue>) -> Vec<Error> {
    let mut errors = Vec::new();
    for (index, id) in spec.clauses.iter().enumerate() {
        if errors.len() == MAX_ERRORS {
            break;
        }
        let message = match catalogue {
            Some(catalogue) if catalogue.get(id).is_some() => continue,
            Some(catalogue) => catalogue.unknown(id),
            None => format!("unknown clause `{id}`: there is no clauses.yaml beside the specs"),
        };
        let span = source.span(&["clauses", &index.to_string()]);
        errors.push(source.error_at(span, message, Some("clauses.yaml lists the clauses")));
    }
    errors
}

/// The mistakes in a file of known findings.
pub(super) fn check_known(known: &[Known], source: &Source) -> Vec<Error> {
    let mut check = Check { spec: known, source, errors: Vec::new() };
    let mut seen = HashSet::new();
    for (index, known) in known.iter().enumerate() {
        let at = index.to_string();
        check.known_failure(&at, known);
        let Known { verdict, blame, function, code, row, cfa, fault, .. } = known;
        if !seen.insert((verdict, blame, function, code, row, cfa, fault)) {
            check.wrong(&["known", &at], "an earlier entry says the same", "remove one");
        }
    }
    check.errors
}

/// Checks the entries for findings of `lint`, or of `diff`.
pub(super) fn check_places(key: &'static str, entries: &[KnownPlace], source: &Source) -> Vec<Error> {
    let mut check = Check { spec: entries, source, errors: Vec::new() };
    for (index, entry) in entries.iter().enumerate() {
        let at = index.to_string();
        if let Some((at_fault, message, help)) = entry.mistake(key == "lint") {
            check.wrong(&[key, &at, at_fault], message, help);
        }
        match (&entry.fault, &entry.reason) {
            (None, Some(reason)) => check.reason(&[key, &at, "reason"], reason),
            (Some(_), None) => {}
            _ => check.wrong(&[key, &at], "one of `fault` and `reason` is needed", "give one of them"),
        }
    }
    check.errors
}

/// The library and the name in `lib.so:f`, which names nothing.
fn of_a_library(name: &str) -> Option<(&str, &str)> {
    let (library, name) = name.split_once(':')?;
    (library.contains(".so") && !library.contains('!') && !name.starts_with(':')).then_some((library, name))
}

struct Check<'a, T: ?Sized> {
    spec: &'a T,
    source: &'a Source,
    errors: Vec<Error>,
}

impl<T: ?Sized> Check<'_, T> {
    /// A mistake in the value at a path.
    fn wrong<S: AsRef<str>>(&mut self, path: &[S], message: impl Into<String>, help: &str) {
        if self.errors.len() < MAX_ERRORS {
            self.wrong_at(self.source.span(path), message, help);
        }
    }

    /// A mistake that is best shown at a key.
    fn wrong_key<S: AsRef<str>>(&mut self, path: &[S], message: impl Into<String>, help: &str) {
        if self.errors.len() < MAX_ERRORS {
            self.wrong_at(self.source.key_span(path), message, help);
        }
    }

    fn wrong_at(&mut self, span: std::ops::Range<usize>, message: impl Into<String>, help: &str) {
        self.errors.push(self.source.error_at(span, message, Some(help)));
    }

    fn reason(&mut self, path: &[&str], reason: &str) {
        if reason.trim().chars().count() < MIN_REASON {
            let message = match reason.trim() {
                "" => "the reason is missing".to_owned(),
                _ => format!("a reason has at least {MIN_REASON} characters"),
            };
            let help = "say what is wrong, whose fault it is, and where it is reported";
            self.wrong(path, message, help);
        }
    }

    /// An entry of `known`, apart from the builds that it is about.
    fn known_failure(&mut self, at: &str, known: &Known) {
        if let Some(why) = known.verdict.not_knowable() {
            let message = format!("`{}` cannot be a known failure", known.verdict);
            self.wrong(&["known", at, "verdict"], message, why);
        }
        if known.function.as_ref().is_some_and(|name| name.trim().is_empty()) {
            let help = "leave the key out to mean any function";
            self.wrong(&["known", at, "function"], "this name is empty", help);
        }
        if let Some((library, name)) = known.function.as_ref().and_then(|name| of_a_library(name)) {
            let message = format!("the function of a library is named with `!`: `{library}!{name}`");
            self.wrong(&["known", at, "function"], message, "names of C++ have `::`, and no library");
        }
        if known.verdict == Verdict::NoFde && known.function.is_none() {
            let help = "name the `function` that has none; any other must not lose its own unseen";
            self.wrong(&["known", at, "verdict"], "no FDE for which function?", help);
        }
        if known.row.is_some() && known.function.is_none() {
            let help = "a row is counted from the beginning of a function: give `function`";
            self.wrong_key(&["known", at, "row"], "a row of which function?", help);
        }
        let is_nowhere =
            |rules: &BTreeMap<String, u64>| rules.is_empty() || rules.values().any(|count| *count == 0);
        if known.rules.as_ref().is_some_and(|rules| rules.iter().any(is_nowhere)) {
            let help = "give each of the rules, as findings print them, with the number of its places";
            self.wrong_key(&["known", at, "rules"], "rules that occur at no place", help);
        }
        for (index, rules) in known.rules.iter().flatten().enumerate() {
            for text in rules.keys().filter(|text| *text != NO_ROW && text.parse::<RowRules>().is_err()) {
                let help = "as findings print them: `CFA = SP+16, RA = *(CFA-8), FP unchanged`, or `no row`";
                let message = format!("`{text}` can't be read as the rules of a row");
                let place = index.to_string();
                let is_list = known.rules.as_ref().is_some_and(|rules| rules.len() > 1);
                let path: &[&str] = if is_list {
                    &["known", at, "rules", &place, text]
                } else {
                    &["known", at, "rules", text]
                };
                self.wrong_key(path, message, help);
            }
        }
        match (&known.fault, &known.reason) {
            (None, Some(reason)) => self.reason(&["known", at, "reason"], reason),
            (Some(_), None) => {}
            (None, None) => {
                let help = "name the `fault`, or give the `reason`";
                self.wrong(&["known", at], "why is this known?", help);
            }
            (Some(_), Some(_)) => {
                let help = "the page of the fault has the reason; remove it here";
                self.wrong_key(&["known", at, "reason"], "both a fault and a reason", help);
            }
        }
    }
}

impl Check<'_, Spec> {
    fn head(&mut self) {
        let spec = self.spec;
        let named = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if spec.program.is_empty() || !spec.program.chars().all(named) {
            let help = "letters, digits, `_`, `-` and `.`, as the folder of programs has it";
            self.wrong(&["program"], "this names no program", help);
        }
        if spec.summary.trim().is_empty() {
            let help = "say what is special about the program";
            self.wrong(&["summary"], "the summary is empty", help);
        }
        self.names("clauses", &spec.clauses);
        if let Some(toolchains) = &spec.toolchains {
            if toolchains.is_empty() {
                let help = "leave the key out to mean all toolchains";
                self.wrong(&["toolchains"], "the spec is about no toolchain", help);
            }
            self.names("toolchains", toolchains);
        }
        if let Targets::Only(abis) = &spec.targets {
            if abis.is_empty() {
                let help = "name ABIs, or write `all`";
                self.wrong(&["targets"], "the spec is about no ABI", help);
            }
            let names: Vec<String> = abis.iter().map(Abi::to_string).collect();
            self.names("targets", &names);
        }
        for (index, argument) in spec.args.iter().enumerate() {
            if argument.contains('\0') {
                let help = "a zero byte ends an argument";
                self.wrong(&["args", &index.to_string()], "no program can be given this", help);
            }
        }
        if spec.stack_size.is_some_and(|size| !Options::STACK_SIZES.contains(&size)) {
            let help = "64 KiB (65536) to 1 GiB (1073741824)";
            self.wrong(&["stack_size"], "no stack of this size", help);
        }
        if spec.stops.is_empty() && spec.sweep.is_none() && spec.signals.is_empty() {
            let help = "give `stops`, `signals`, or `sweep` with a floor";
            self.wrong_key(&["program"], "the spec demands nothing", help);
        }
    }

    /// A list of names: none may be empty or appear twice.
    fn names(&mut self, key: &str, names: &[String]) {
        let mut seen = BTreeSet::new();
        for (index, name) in names.iter().enumerate() {
            let at = index.to_string();
            if name.trim().is_empty() {
                self.wrong(&[key, &at], "this name is empty", "remove it");
            } else if !seen.insert(name) {
                self.wrong(&[key, &at], format!("`{name}` is listed twice"), "remove one");
            }
        }
    }

    fn stops(&mut self) {
        let stops = &self.spec.stops;
        let identity = |index: usize| {
            let stop = &stops[index];
            (&stop.at, stop.hit, stop.selector.as_ref().map(Selector::normalised))
        };
        for (index, stop) in stops.iter().enumerate() {
            if let Some(selector) = &stop.selector {
                self.selector(&stop.path_of("where"), selector);
            }
            if stop.frames.as_ref().is_some_and(Frames::is_empty) {
                let message = "a stack has at least one frame";
                self.wrong(&stop.path_of("frames"), message, "leave the key out, or bless");
            }
            if (0..index).any(|earlier| identity(earlier) == identity(index)) {
                let help = "another arrival is another `hit`";
                self.wrong(&stop.path_of("at"), "an earlier stop is the same", help);
            }
        }
    }

    fn sweep(&mut self) {
        let Some(sweep) = &self.spec.sweep else {
            return;
        };
        let alone = self.source.has(&["sweep"]) && !self.source.has(&["sweep", "0"]);
        let mut all_are_taken = false;
        for (index, floors) in sweep.iter().enumerate() {
            let at = index.to_string();
            let path: Vec<&str> = if alone { vec!["sweep"] } else { vec!["sweep", &at] };
            let nothing = floors.min_instructions == 0
                && floors.rows.is_none()
                && floors.covered.is_none()
                && floors.excluded.is_none()
                && floors.min_depth.get() == 1
                && floors.control_flow.is_empty();
            if nothing {
                let help =
                    "give `min_instructions`, `rows`, `covered`, `excluded`, `min_depth` or `control_flow`";
                self.wrong(&path, "a sweep without a floor", help);
            }
            if all_are_taken {
                let help = "the first that is about a build holds; put those with `where` first";
                self.wrong(&path, "an earlier entry is about every build already", help);
            }
            match &floors.selector {
                Some(selector) => {
                    let path: Vec<&str> = path.iter().copied().chain(["where"]).collect();
                    self.selector(&path, selector);
                }
                None => all_are_taken = true,
            }
        }
    }

    fn signals(&mut self) {
        for (index, signal) in self.spec.signals.iter().enumerate() {
            let at = index.to_string();
            let path = ["signals", &at];
            match (&signal.during, &signal.at) {
                (Some(_), Some(_)) => {
                    let help = "give `during` for a whole function, or `at` for one place";
                    self.wrong(&path, "delivered in two places", help);
                }
                (None, None) => {
                    let help = "give `during: FUNCTION`, or `at: PLACE`";
                    self.wrong(&path, "delivered nowhere", help);
                }
                (Some(functions), None) if functions.iter().any(|name| name.trim().is_empty()) => {
                    self.wrong(&["signals", &at, "during"], "this name is empty", "name the function");
                }
                _ => {}
            }
            if !(1..=64).contains(&signal.signal) {
                let message = format!("there is no signal {}", signal.signal);
                self.wrong(&["signals", &at, "signal"], message, "signals have the numbers 1 to 64");
            }
            if signal.complete == super::Percent::ALL && !signal.ends.is_empty() {
                let help = "give `complete` with the part that is whole";
                self.wrong(&["signals", &at, "ends"], "every backtrace has to be whole", help);
            }
            if let Some(selector) = &signal.selector {
                self.selector(&["signals", &at, "where"], selector);
            }
        }
    }

    fn exceptions(&mut self, key: &str, all: &[Exception]) {
        for (index, exception) in all.iter().enumerate() {
            let at = index.to_string();
            if let Some(selector) = &exception.selector {
                self.selector(&[key, &at, "where"], selector);
            }
            if key == "unreached" && exception.instructions.is_some() {
                let help = "it counts instructions without an FDE: leave it out";
                self.wrong_key(&[key, &at, "instructions"], "not a key of `unreached`", help);
            }
            self.reason(&[key, &at, "reason"], &exception.reason);
        }
    }

    fn ends(&mut self) {
        let mut all_are_taken = false;
        for (index, entry) in self.spec.ends.iter().enumerate() {
            let at = index.to_string();
            if entry.ends.is_empty() {
                self.wrong(&["ends", &at, "ends"], "backtraces end somehow", "name the ends");
            }
            let names: Vec<String> = entry.ends.iter().map(ToString::to_string).collect();
            for (end, name) in names.iter().enumerate() {
                if names[..end].contains(name) {
                    let path = ["ends", &at, "ends", &end.to_string()];
                    self.wrong(&path, format!("`{name}` is listed twice"), "remove one");
                }
            }
            if all_are_taken {
                let help = "the first that is about a build holds; put those with `where` first";
                self.wrong(&["ends", &at], "an earlier entry is about every build already", help);
            }
            match &entry.selector {
                Some(selector) => self.selector(&["ends", &at, "where"], selector),
                None => all_are_taken = true,
            }
        }
    }

    fn distrust(&mut self) {
        let all = &self.spec.distrust;
        for (index, distrust) in all.iter().enumerate() {
            let at = index.to_string();
            self.reason(&["distrust", &at, "reason"], &distrust.reason);
            if all[..index].iter().any(|other| other.trace == distrust.trace) {
                self.wrong(&["distrust", &at], "an earlier entry says the same", "remove one");
            }
        }
    }

    fn known(&mut self) {
        let all = &self.spec.known;
        let identity = |index: usize| {
            let known = &all[index];
            (known.selector.normalised(), known.verdict, &known.function, &known.row)
        };
        for (index, known) in all.iter().enumerate() {
            let at = index.to_string();
            self.selector(&["known", &at, "where"], &known.selector);
            self.known_failure(&at, known);
            if (0..index).any(|earlier| identity(earlier) == identity(index)) {
                self.wrong(&["known", &at], "an earlier entry says the same", "remove one");
            }
        }
    }

    fn skip(&mut self) {
        let all = &self.spec.skip;
        for (index, skip) in all.iter().enumerate() {
            let at = index.to_string();
            self.selector(&["skip", &at, "where"], &skip.selector);
            self.reason(&["skip", &at, "reason"], &skip.reason);
            let same = |other: &super::Skip| other.selector.normalised() == skip.selector.normalised();
            if all[..index].iter().any(same) {
                self.wrong(&["skip", &at], "an earlier entry says the same", "remove one");
            }
        }
    }

    /// A selector must name something, and nothing that the spec excludes.
    fn selector<S: AsRef<str>>(&mut self, path: &[S], selector: &Selector) {
        let spec = self.spec;
        let path: &[&str] = &path.iter().map(AsRef::as_ref).collect::<Vec<_>>();
        if selector.is_empty() {
            let help = "give `abi`, `variant`, `sframe_version`, or who made the build";
            self.wrong_key(path, "this selects nothing in particular", help);
        }
        let names = |name: &String| name.trim().is_empty().then(|| "this name is empty".to_owned());
        self.values(path, "toolchain", selector.toolchain.as_ref(), |name| {
            names(name).or_else(|| {
                let allowed = spec.toolchains.as_ref()?;
                (!allowed.contains(name)).then(|| format!("`{name}` is not among `toolchains`"))
            })
        });
        self.values(path, "abi", selector.abi.as_ref(), |&abi| {
            (!spec.targets.contains(abi)).then(|| format!("`{abi}` is not among `targets`"))
        });
        self.values(path, "variant", selector.variant.as_ref(), names);
        self.values(path, "sframe_version", selector.sframe_version.as_ref(), |version| {
            Version::from_number(*version).is_none().then(|| format!("there is no SFrame version {version}"))
        });
        self.values(path, "compiler", selector.compiler.as_ref(), |_| None);
        self.values(path, "assembler", selector.assembler.as_ref(), |_| None);
        self.values(path, "linker", selector.linker.as_ref(), |_| None);
        self.values(path, "can", selector.can.as_ref(), |ability| {
            let version = selector.sframe_version.as_ref()?;
            let lacks =
                |number: &u8| Version::from_number(*number).is_some_and(|v| !ability.is_expressible_in(v));
            version.iter().all(lacks).then(|| format!("no such version can express `{ability}`"))
        });
        self.values(path, "cannot", selector.cannot.as_ref(), |ability: &Ability| {
            let is_both = selector.can.iter().flatten().any(|can| can == ability);
            is_both.then(|| format!("`{ability}` is in `can` too"))
        });
    }

    /// The values of one key of a selector, and what is wrong with each.
    fn values<T>(
        &mut self,
        path: &[&str],
        key: &str,
        values: Option<&super::OneOrMany<T>>,
        wrong: impl Fn(&T) -> Option<String>,
    ) {
        let Some(values) = values else {
            return;
        };
        let path: Vec<&str> = path.iter().copied().chain([key]).collect();
        for (index, value) in values.iter().enumerate() {
            if let Some(message) = wrong(value) {
                let index = index.to_string();
                // A value that stands alone has no index; the nearest is the value.
                let path: Vec<&str> = path.iter().copied().chain([index.as_str()]).collect();
                self.wrong(&path, message, "this entry can never apply");
            }
        }
    }
}
