//! Tests of reading specs.

use std::fs;
use std::path::Path;

use sframe_engine::Abi;
use sframe_judge::vocabulary::{End, Verdict};

use super::*;
use crate::spec::catalogue::Catalogue;
use crate::yaml::{Error, Source};

const HEAD: &str = "program: p\nsummary: s\n";

fn read(text: &str) -> Result<Spec, Error> {
    Spec::from_source(&Source::new(Path::new("p.yaml"), text))
}

/// Reads a spec of which the first two lines are given.
fn body(body: &str) -> Result<Spec, Error> {
    read(&format!("{HEAD}{body}"))
}

/// The error of a spec whose own lines begin at line 3.
fn refused(text: &str) -> Error {
    body(text).expect_err("must be refused")
}

#[track_caller]
fn assert_refused(text: &str, position: (usize, usize), message: &str) {
    let error = refused(text);
    assert_eq!(error.position(), Some(position), "{error}");
    assert!(error.message().contains(message), "{error}");
    assert!(error.render(false).contains(&format!("p.yaml:{}:{}", position.0, position.1)));
}

const FULL: &str = "\
# yaml-language-server: $schema=spec.schema.json
program: recursion
summary: Direct recursion.
clauses: [v3-default-fde]
targets: [amd64, s390x]
toolchains: [gnu-2.40, gnu-2.47]
args: [-x, '3']
exit_status: 7
stack_size: 67108864
stops:
  - at: leaf
    hit: 3
    where: {abi: [amd64, s390x], sframe_version: 3}
    frames: [leaf, descend, main, _start]
    end: outermost
  - at: recursion.c:42
sweep:
  - where: {variant: O0}
    min_instructions: 500
    rows: 99.5%
    covered: 100%
    min_depth: 5
  - min_instructions: 400
known:
  - where: {toolchain: gnu-2.40, abi: s390x}
    verdict: wrong-ra
    blame: producer-assembler
    function: leaf
    row: 0x1c
    reason: >-
      The assembler forgets the RA. Reported to its
      authors.
skip:
  - where: {variant: fancy}
    reason: The compiler refuses this program.
";

fn producer(toolchain: &str) -> Producer {
    Producer { toolchain: Some(toolchain.to_owned()), ..Producer::default() }
}

fn facts<'a>(producer: &'a Producer, abi: Abi, variant: &'a str) -> BuildFacts<'a> {
    BuildFacts { producer, abi, variant, sframe_version: 3 }
}

#[test]
fn a_full_spec_is_understood() {
    let spec = read(FULL).unwrap();
    assert_eq!(spec.targets, Targets::Only(vec![Abi::Amd64, Abi::S390x]));
    assert_eq!(spec.args, ["-x", "3"]);
    assert_eq!(spec.exit_status, 7);
    assert_eq!(spec.stack_size, Some(64 << 20));
    assert_eq!(spec.stops[0].hit.get(), 3);
    assert_eq!(spec.stops[0].end, Some(End::Outermost));
    assert_eq!(spec.stops[1].hit.get(), 1);
    assert_eq!(spec.stops[1].frames, None);
    assert_eq!(spec.known[0].verdict, Verdict::WrongRa);
    assert_eq!(spec.known[0].row, Some(vec![RowOffset(28)].into()));
    assert!(spec.known[0].why().ends_with("Reported to its authors."));
}

#[test]
fn what_is_left_out_has_its_default() {
    let spec = body("stops: [{at: main}]\n").unwrap();
    assert_eq!(spec.targets, Targets::All);
    assert_eq!((spec.toolchains, spec.sweep), (None, None));
    assert_eq!((spec.args.len(), spec.exit_status, spec.stack_size), (0, 0, None));
}

#[test]
fn entries_are_chosen_by_build() {
    let spec = read(FULL).unwrap();
    let (first, last) = (producer("gnu-2.40"), producer("gnu-2.47"));
    let build = facts(&first, Abi::S390x, "O0");
    assert!(spec.applies_to(&build));
    assert!(!spec.applies_to(&facts(&first, Abi::Aarch64, "O0")));
    assert!(!spec.applies_to(&facts(&producer("gnu-2.41"), Abi::S390x, "O0")));
    assert_eq!(spec.sweep_for(&build).unwrap().min_depth.get(), 5);
    let other = facts(&last, Abi::Amd64, "O2");
    assert_eq!(spec.sweep_for(&other).unwrap().min_instructions, 400);
    assert_eq!(spec.known_for(&build).count(), 1);
    assert_eq!(spec.known_for(&other).count(), 0);
    let old = BuildFacts { sframe_version: 2, ..other };
    let stops: Vec<usize> = spec.stops_for(&old).map(|(index, _)| index).collect();
    assert_eq!(stops, [1]);
    assert!(spec.skip_for(&other).is_none());
    assert!(spec.skip_for(&facts(&last, Abi::Amd64, "fancy")).is_some());
}

#[test]
fn a_spec_in_braces_is_the_same() {
    let text = "{program: p, summary: s, targets: all, stops: [{at: leaf+0x4, hit: 2}],\n \
                sweep: {rows: 100%, min_depth: 2}}\n";
    let spec = read(text).unwrap();
    assert_eq!(spec.stops[0].at.to_string(), "leaf+0x4");
    assert_eq!(spec.sweep.unwrap().len(), 1);
    let error = read(&text.replace("hit: 2", "hit: 0")).unwrap_err();
    assert_eq!(error.position(), Some((1, 68)), "{error}");
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
    let windows = format!("\u{feff}{}", FULL.replace('\n', "\r\n"));
    assert_eq!(read(&windows).unwrap(), read(FULL).unwrap());
    let error = read(&windows.replace("wrong-ra", "agree")).unwrap_err();
    assert_eq!(error.position(), Some((26, 14)));
}

#[test]
fn an_unknown_key_is_shown_with_its_line() {
    let error = refused("stosp: [{at: main}]\n");
    assert_eq!(error.position(), Some((3, 1)));
    assert_eq!(error.message(), "unknown key `stosp`; did you mean `stops`?");
    let shown = error.render(false);
    assert!(shown.contains("p.yaml:3:1"), "{shown}");
    assert!(shown.contains("3 | stosp: [{at: main}]"), "{shown}");
}

#[test]
fn unknown_keys_are_found_at_every_depth() {
    let stop = "stops:\n  - at: main\n    were: {abi: amd64}\n";
    assert_refused(stop, (5, 5), "did you mean `where`?");
    assert_refused("sweep: {row: 100%}\n", (3, 9), "did you mean `rows`?");
    assert_refused("sweep:\n- rows: 1%\n- row: 100%\n", (5, 3), "did you mean `rows`?");
    let stop = "stops: [{at: main, where: {abis: amd64}}]\n";
    assert_refused(stop, (3, 28), "did you mean `abi`?");
    assert_refused("known:\n- reson: x\n", (4, 3), "did you mean `reason`?");
    assert_refused("skip: [{row: 1}]\n", (3, 9), "unknown key `row`");
}

#[test]
fn a_misspelt_abi_is_answered_with_the_right_one() {
    assert_refused("targets: [amd64, arch64]\n", (3, 18), "did you mean `aarch64`?");
    assert_refused("targets: [aarch64-be]\n", (3, 11), "did you mean `aarch64_be`?");
    let alone = "stops: [{at: main, where: {abi: s390}}]\n";
    assert_refused(alone, (3, 33), "unknown name `s390`; did you mean `s390x`?");
    assert_refused("targets: amd64\n", (3, 10), "write `[amd64]`");
    assert_refused("targets: some\n", (3, 10), "neither `all` nor a list");
}

#[test]
fn values_of_the_wrong_type_are_refused() {
    assert_refused("stops: main\n", (3, 8), "expected a list");
    assert_refused("stops: [main]\n", (3, 9), "expected a stop, which is a mapping with `at`");
    assert_refused("exit_status: 256\n", (3, 14), "expected a whole number, 0 to 255");
    assert_refused("exit_status: ok\n", (3, 14), "expected a whole number, 0 to 255");
    assert_refused("stops: [{at: main, hit: 0}]\n", (3, 25), "1 or more");
    assert_refused("stops: [{at: main, hit: -1}]\n", (3, 25), "1 or more");
    assert_refused("stops: [{at: [main]}]\n", (3, 14), "expected a location");
    assert_refused("stops: [{at: main, end: nowhere}]\n", (3, 25), "unknown name `nowhere`");
    assert_refused("stops: [{at: main, where: amd64}]\n", (3, 27), "expected a mapping with");
    assert_refused("sweep: 100%\n", (3, 8), "expected the floors of a sweep");
    let version = "stops: [{at: main, where: {toolchain: 2.40}}]\n";
    assert_refused(version, (3, 39), "expected a string");
}

#[test]
fn a_stack_of_a_size_that_no_program_needs_is_refused() {
    for size in ["0", "65535", "1073741825", "18446744073709551615"] {
        assert_refused(
            &format!("stack_size: {size}\nstops: [{{at: main}}]\n"),
            (3, 13),
            "no stack of this size",
        );
    }
    for size in ["1k", "2G", "63 KiB"] {
        assert_refused(
            &format!("stack_size: {size}\nstops: [{{at: main}}]\n"),
            (3, 13),
            "no stack of this size",
        );
    }
    for size in ["-1", "1e9", "18446744073709551616", "much", "1.5M", "8 parsecs", "[8M]", "true"] {
        assert_refused(
            &format!("stack_size: {size}\nstops: [{{at: main}}]\n"),
            (3, 13),
            "a size in bytes, such as 65536, 64K or 8M",
        );
    }
    for (size, bytes) in [("8M", 8 << 20), ("64k", 64 << 10), ("1 GiB", 1 << 30)] {
        let spec = body(&format!("stack_size: {size}\nstops: [{{at: main}}]\n")).expect("a size");
        assert_eq!(spec.stack_size, Some(bytes), "{size}");
    }
    assert!(body("stack_size: 65536\nstops: [{at: main}]\n").is_ok());
    assert!(body("stack_size: 1073741824\nstops: [{at: main}]\n").is_ok());
}

#[test]
fn signals_that_cannot_be_delivered_are_refused() {
    assert_refused("signals: [{}]\n", (3, 11), "delivered nowhere");
    assert_refused("signals: [{during: f, at: f}]\n", (3, 11), "delivered in two places");
    assert_refused("signals: [{during: []}]\n", (3, 20), "the list is empty");
    assert_refused("signals: [{during: f, signal: 65}]\n", (3, 31), "there is no signal 65");
    assert_refused("signals: [{during: f, hits: 0}]\n", (3, 29), "1 or more");
    assert_refused("signals: [{during: f, min_deliveries: 0}]\n", (3, 39), "1 or more");
    assert_refused("signals: [{during: f, ends: [no-fde]}]\n", (3, 29), "every backtrace has to be whole");
    assert_refused("signals: [{during: f, complete: 1%, ends: [never]}]\n", (3, 44), "unknown name `never`");
    assert!(body("signals: [{during: [f, g], complete: 0%, ends: [no-fde]}]\n").is_ok());
}

#[test]
fn traces_are_distrusted_once_and_with_a_reason() {
    let reason = "reason: The program overwrites them on purpose.";
    assert_refused("distrust: [{trace: stack, reason: x}]\n", (3, 20), "unknown name `stack`");
    let short = "stops: [{at: f}]\ndistrust: [{trace: backchain, reason: x}]\n";
    assert_refused(short, (4, 39), "at least 20 characters");
    let twice = format!(
        "stops: [{{at: f}}]\ndistrust:\n- trace: backchain\n  {reason}\n- trace: backchain\n  {reason}\n"
    );
    assert_refused(&twice, (7, 3), "an earlier entry says the same");
}

#[test]
fn unknown_control_flow_features_are_refused() {
    assert_refused("sweep: {control_flow: {contexts: 1}}\n", (3, 24), "unknown name `contexts`");
    assert!(body("sweep: {control_flow: {contexts-begun: 1}}\n").is_ok());
}

#[test]
fn a_key_without_a_value_is_refused() {
    for key in
        ["toolchains", "stops", "sweep", "known", "skip", "targets", "args", "exit_status", "stack_size"]
    {
        let error = refused(&format!("{key}:\n"));
        assert_eq!(error.position().map(|(line, _)| line), Some(3), "{key}: {error}");
    }
    for key in ["where", "frames", "end", "hit"] {
        let error = refused(&format!("stops:\n  - at: main\n    {key}:\n"));
        assert_eq!(error.position().map(|(line, _)| line), Some(5), "{key}: {error}");
    }
    let error = read("program:\nsummary: s\nstops: [{at: main}]\n").unwrap_err();
    assert_eq!(error.position().map(|(line, _)| line), Some(1), "{error}");
}

#[test]
fn an_invalid_location_says_why() {
    assert_refused("stops:\n- at: 'a.c:x'\n", (4, 7), "must be a line number");
    assert_refused("stops:\n- at: leaf+ten\n", (4, 7), "must be an offset");
}

#[test]
fn percentages_end_at_a_hundred() {
    assert_refused("sweep: {rows: 101%}\n", (3, 15), "`101%` is no share; write `0%` to `100%`");
    assert_refused("sweep: {rows: '90'}\n", (3, 15), "write `90%`");
    assert_refused("sweep: {rows: 90}\n", (3, 15), "a percentage with its sign");
}

#[test]
fn a_spec_that_demands_nothing_is_refused() {
    let error = read("program: p\nsummary: s\ntargets: all\n").unwrap_err();
    assert_eq!(error.message(), "the spec demands nothing");
    assert_eq!(body("stops: []\n").unwrap_err().message(), "the spec demands nothing");
    assert_refused("sweep: {}\n", (3, 8), "a sweep without a floor");
    assert_refused("sweep: []\n", (3, 8), "the list is empty");
}

#[test]
fn an_entry_of_the_sweep_that_never_holds_is_refused() {
    assert_refused("sweep:\n- rows: 1%\n- rows: 2%\n", (5, 3), "about every build already");
}

#[test]
fn names_may_be_neither_empty_nor_twice() {
    assert_refused("clauses: [a, b, a]\n", (3, 17), "`a` is listed twice");
    assert_refused("toolchains: ['']\n", (3, 14), "this name is empty");
    assert_refused("toolchains: []\n", (3, 13), "about no toolchain");
    assert_refused("targets: []\n", (3, 10), "about no ABI");
    assert_refused("targets: [amd64, amd64]\n", (3, 18), "`amd64` is listed twice");
    let error = read("program: ../p\nsummary: s\nstops: [{at: main}]\n").unwrap_err();
    assert_eq!(error.position(), Some((1, 10)));
    let error = read("program: p\nsummary: ' '\nstops: [{at: main}]\n").unwrap_err();
    assert_eq!(error.position(), Some((2, 10)));
}

#[test]
fn frames_may_not_be_empty() {
    assert_refused("stops:\n- at: main\n  frames: []\n", (5, 11), "a stack has at least one frame");
    assert_refused("stops:\n- at: main\n  frames: [main, '']\n", (5, 18), "this name is empty");
    let slip = "`f y 25`: frames of a function in a row are written `f x 25`";
    assert_refused("stops:\n- at: main\n  frames: [f y 25, main]\n", (5, 12), slip);
    let slip = "`f x many`: there can be 2 to 1000000 frames of a function in a row";
    assert_refused("stops:\n- at: main\n  frames: [g, f x many, main]\n", (5, 15), slip);
}

#[test]
fn the_same_stop_twice_is_refused() {
    let twice = "stops:\n- {at: f+4, where: {abi: [amd64, s390x]}}\n\
                 - {at: f+0x4, where: {abi: [s390x, amd64]}, hit: 1}\n";
    assert_refused(twice, (5, 8), "an earlier stop is the same");
    assert!(body("stops: [{at: f}, {at: f, hit: 2}, {at: f, where: {abi: amd64}}]").is_ok());
}

#[test]
fn stops_that_share_keys_are_those_written_one_by_one() {
    let shared = "stops:\n- at: main\n- hit: 2\n  frames: [f x 3, main]\n  each:\n  - {at: f}\n  \
                  - at: g\n    where: {abi: amd64}\n    end: no-fde\n- {at: last}\n";
    let alone = "stops:\n- at: main\n- {at: f, hit: 2, frames: [f, f, f, main]}\n\
                 - {at: g, hit: 2, frames: [f, f, f, main], where: {abi: amd64}, end: no-fde}\n- {at: last}\n";
    let plain = |text: &str| -> Vec<_> {
        let stops = body(text).expect("a spec").stops.into_iter();
        stops.map(|stop| (stop.at, stop.hit, stop.selector, stop.frames, stop.end)).collect()
    };
    assert_eq!(plain(shared), plain(alone));
}

#[test]
fn a_mistake_in_a_stop_that_shares_keys_is_shown_where_it_is_written() {
    let each = |own: &str| format!("stops:\n- hit: 2\n  where: {{abi: amd64}}\n  each:\n{own}");
    for (own, position, message) in [
        ("  - at: f\n  - at: g\n    hit: 3\n", (4, 3), "`hit` is given for all of `each`, and again in one"),
        ("  - at: f\n  - frames: [main]\n", (4, 3), "missing"),
        ("  - at: f\n", (4, 3), "`each` is for two stops or more"),
        ("  - at: f\n  - {}\n", (4, 3), "missing"),
        ("  - at: f\n  - at: f\n", (8, 9), "an earlier stop is the same"),
        ("  - at: f\n  - at: g\n    frames: []\n", (9, 13), "a stack has at least one frame"),
        ("  - at: f\n  - at: g\n    hits: 2\n", (9, 5), "unknown key `hits`"),
    ] {
        assert_refused(&each(own), position, message);
    }
    let nothing = "stops:\n- at: f\n  each:\n  - {}\n  - hit: 2\n";
    assert_refused(nothing, (4, 3), "an entry of `each` has nothing of its own");
    let shared = "stops:\n- where: {abi: amd64, variant: ''}\n  each:\n  - at: f\n  - at: g\n";
    assert_refused(shared, (4, 32), "this name is empty");
}

#[test]
fn a_selector_that_can_never_apply_is_refused() {
    let stop = |selector: &str| format!("stops: [{{at: main, where: {selector}}}]\n");
    for (selector, position, message) in [
        ("{compiler: gc}", (3, 38), "unknown compiler `gc`; did you mean `gcc`?"),
        ("{compiler: gcc > 14}", (3, 38), "`gcc > 14` is not a range of versions"),
        ("{linker: ld >= 2.47 < 2.47}", (3, 36), "the first number must be below the second"),
        ("{assembler: []}", (3, 39), "the list is empty"),
        ("{can: flexible}", (3, 33), "unknown name `flexible`"),
        ("{can: flex, sframe_version: [1, 2]}", (3, 33), "no such version can express `flex`"),
        ("{can: flex, cannot: [outermost, flex]}", (3, 59), "`flex` is in `can` too"),
        ("{derived: maybe}", (3, 37), "invalid type"),
    ] {
        assert_refused(&stop(selector), position, message);
    }
}

fn known(entry: &str) -> String {
    format!("stops: [{{at: main}}]\nknown:\n  - {entry}\n")
}

const REASON: &str = "the assembler is wrong, reported";

#[test]
fn success_is_not_a_known_failure() {
    for verdict in ["agree", "broken", "unexpected-pass", "changed-failure"] {
        let entry =
            format!("{{where: {{abi: amd64}}, verdict: {verdict}, reason: '{REASON}', blame: unknown}}");
        let expected = format!("`{verdict}` cannot be a known failure");
        assert_refused(&known(&entry), (5, 36), &expected);
    }
    assert_refused(
        &known("{where: {abi: amd64}, verdict: wrong-pc, reason: x, blame: unknown}"),
        (5, 36),
        "unknown name `wrong-pc`; did you mean `wrong-",
    );
}

#[test]
fn a_known_failure_needs_a_reason() {
    let missing = "the reason is missing";
    for (reason, message) in
        [("''", missing), ("bug", "at least 20 characters"), ("'                         '", missing)]
    {
        let entry = format!("{{where: {{abi: amd64}}, verdict: wrong-ra, reason: {reason}, blame: unknown}}");
        assert_refused(&known(&entry), (5, 54), message);
    }
}

#[test]
fn a_known_failure_names_a_fault_or_has_a_reason_not_both() {
    let entry =
        |why: &str| known(&format!("{{where: {{abi: amd64}}, verdict: wrong-ra, blame: unknown{why}}}"));
    assert!(body(&entry(", fault: gas-forgets")).is_ok());
    assert!(body(&entry(&format!(", reason: '{REASON}'"))).is_ok());
    assert_refused(&entry(""), (5, 5), "why is this known?");
    let both = entry(&format!(", fault: gas-forgets, reason: '{REASON}'"));
    assert_refused(&both, (5, 82), "both a fault and a reason");
}

#[test]
fn a_known_row_needs_its_function() {
    let entry =
        format!("{{where: {{abi: amd64}}, verdict: wrong-ra, row: 4, reason: '{REASON}', blame: unknown}}");
    assert_refused(&known(&entry), (5, 46), "a row of which function?");
}

#[test]
fn a_known_missing_fde_needs_its_function() {
    let entry = format!("{{where: {{abi: amd64}}, verdict: no-fde, reason: '{REASON}', blame: unknown}}");
    assert_refused(&known(&entry), (5, 36), "no FDE for which function?");
}

#[test]
fn the_same_known_failure_twice_is_refused() {
    let one = format!("verdict: wrong-ra, function: f, row: 0x10, reason: '{REASON}', blame: unknown");
    let text = format!(
        "{}  - {{where: {{abi: [amd64]}}, {one}}}\n",
        known(&format!("{{where: {{abi: amd64}}, {one}}}")),
    );
    assert_refused(&text, (6, 5), "an earlier entry says the same");
    assert!(body(&text.replacen("0x10", "0x14", 1)).is_ok());
}

#[test]
fn the_same_skip_twice_is_refused() {
    let one = format!("  - {{where: {{abi: amd64}}, reason: '{REASON}'}}\n");
    let text = format!("stops: [{{at: main}}]\nskip:\n{one}{one}");
    assert_refused(&text, (6, 5), "an earlier entry says the same");
}

#[test]
fn a_selector_must_select_something_possible() {
    let stop = |selector: &str| format!("stops: [{{at: main, where: {selector}}}]\n");
    assert_refused(&stop("{}"), (3, 20), "selects nothing in particular");
    assert_refused(&stop("{abi: []}"), (3, 33), "the list is empty");
    assert_refused(&stop("{variant: ''}"), (3, 37), "this name is empty");
    assert_refused(&stop("{sframe_version: [3, 4]}"), (3, 48), "no SFrame version 4");
    let text = stop("{abi: s390x}") + "targets: [amd64]\n";
    assert_refused(&text, (3, 33), "`s390x` is not among `targets`");
    let text = stop("{toolchain: [b, c]}") + "toolchains: [a, b]\n";
    assert_refused(&text, (3, 43), "`c` is not among `toolchains`");
    let sweep = "sweep: {where: {sframe_version: 9}, rows: 1%}\n";
    assert_refused(sweep, (3, 33), "no SFrame version 9");
}

#[test]
fn all_specs_of_a_folder_are_read_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("b.yaml", &format!("{HEAD}stops: [{{at: b}}]\n"));
    write("a.yaml", &format!("{HEAD}stops: [{{at: a}}]\n"));
    write("clauses.yaml", CLAUSES);
    write("spec.schema.json", "{}");
    write("README.md", "");
    let SpecFolder { specs, .. } = load_dir(folder.path()).unwrap();
    let read: Vec<String> = specs.iter().map(|(spec, _)| spec.stops[0].at.to_string()).collect();
    assert_eq!(read, ["a", "b"]);
    let (spec, source) = Spec::load(&folder.path().join("b.yaml")).unwrap();
    assert_eq!((&spec, &source), (&specs[1].0, &specs[1].1));
}

const CLAUSES: &str = "\
sections: {3: [Top The format]}
clauses:
  - {name: cfa-sp, versions: {3: Top}, side: both, summary: The CFA is based on SP.}
";

#[test]
fn clauses_are_of_the_catalogue_beside_the_specs() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.yaml", &format!("{HEAD}clauses: [v3-cfa-sp, v3-cfasp, v2-nothing]\nstops: [{{at: a}}]\n"));
    let told = || {
        let errors = load_dir(folder.path()).unwrap_err();
        errors.iter().map(|error| (error.message().to_owned(), error.position())).collect::<Vec<_>>()
    };
    assert!(told()[0].0.contains("there is no clauses.yaml"));
    write("clauses.yaml", CLAUSES);
    assert_eq!(
        told(),
        [
            ("unknown clause `v3-cfasp`; did you mean `v3-cfa-sp`?".to_owned(), Some((3, 22))),
            ("unknown clause `v2-nothing`".to_owned(), Some((3, 32))),
        ]
    );
    write("clauses.yaml", "sections: {}\n");
    assert!(told()[0].0.contains("`clauses`"), "{:?}", told());
    write("clauses.yaml", CLAUSES);
    write("a.yaml", &format!("{HEAD}clauses: [v3-cfa-sp]\nstops: [{{at: a}}]\n"));
    assert!(load_dir(folder.path()).is_ok());
}

#[test]
fn all_mistakes_of_a_folder_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.yaml", &format!("{HEAD}stops: [{{at: a, frames: []}}, {{at: b, frames: []}}]\n"));
    write("b.yaml", "");
    write("c.yaml", &format!("{HEAD}stops: [{{at: a}}]\n"));
    let errors = load_dir(folder.path()).unwrap_err();
    let told: Vec<&str> = errors.iter().map(Error::message).collect();
    let no_frames = "a stack has at least one frame";
    assert_eq!(told, [no_frames, no_frames, "the file is empty"]);
}

#[test]
fn a_folder_without_specs_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let errors = load_dir(folder.path()).unwrap_err();
    assert!(errors[0].to_string().contains("holds no specs"));
    assert!(load_dir(&folder.path().join("absent")).is_err());
    fs::write(folder.path().join("a.yml"), "").unwrap();
    let errors = load_dir(folder.path()).unwrap_err();
    assert!(errors[0].to_string().contains("must be named *.yaml"));
}

#[test]
fn names_are_read_as_they_are_printed() {
    for &verdict in Verdict::ALL {
        assert_eq!(verdict.to_string().parse(), Ok(verdict));
        assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
    }
    for &end in End::ALL {
        assert_eq!(end.to_string().parse(), Ok(end));
    }
    let error = "wrong_cfa".parse::<Verdict>().unwrap_err().to_string();
    assert!(error.starts_with("unknown verdict `wrong_cfa`; did you mean `wrong-cfa`?"), "{error}");
    let error = parse_abi("aarch64be").unwrap_err().to_string();
    assert!(error.contains("did you mean `aarch64_be`?"), "{error}");
}

#[test]
fn a_damaged_spec_is_read_or_is_an_error() {
    let junk = [
        "", "\t", "\n", "[", "]", "{", "}", ":", ": ", "- ", "'", "\"", "#", "&a ", "*a ", "!", "|", "é", "0",
    ];
    for at in (0..FULL.len()).step_by(3) {
        for junk in junk {
            let mut text = FULL.to_owned();
            text.replace_range(at..at + 1, junk);
            let source = Source::new(Path::new("p.yaml"), &text);
            match Spec::from_source(&source) {
                Ok(_) => {
                    let edit = [(0, vec!["a".to_owned(), "b".to_owned()])];
                    if let Err(error) = bless::set_frames(&source, &edit) {
                        assert!(error.position().is_some());
                    }
                }
                Err(error) => assert!(error.render(false).contains("p.yaml"), "{text}"),
            }
        }
    }
}

/// The YAML blocks of the manual: the words after the fence, and the text.
fn blocks(manual: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in manual.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(words), None) => open = Some((words.to_owned(), String::new())),
            (None, Some((words, text))) => open = Some((words, text + line + "\n")),
            (None, None) => {}
        }
    }
    assert_eq!(open, None, "a block is not closed");
    blocks
}

#[test]
fn exceptions_and_ends_are_checked() {
    let reason = "reason: a reason that says why it is so";
    let refused = |text: &str, at, message| {
        assert_refused(&format!("{text}stops: [{{at: f}}]\n"), at, message);
    };
    refused(&format!("uncovered: [{{functions: [], {reason}}}]\n"), (3, 25), "the list is empty");
    refused(&format!("unreached: [{{functions: [''], {reason}}}]\n"), (3, 26), "not the name of a function");
    refused("uncovered: [{functions: f, reason: luck}]\n", (3, 36), "at least 20 characters");
    refused("ends: [{ends: []}]\n", (3, 15), "backtraces end somehow");
    refused("ends: [{ends: [context, context]}]\n", (3, 25), "listed twice");
    refused("ends:\n- ends: [context]\n- ends: [unmarked]\n", (5, 3), "about every build already");
    refused("ends: [{ends: [somewhere]}]\n", (3, 16), "somewhere");
}

#[test]
fn only_the_star_is_special_in_the_name_of_a_function() {
    let matches = |pattern: &str, name| {
        let pattern: super::NamePattern = pattern.parse().expect("a pattern");
        pattern.matches(name)
    };
    assert!(matches("*@plt", "leaf@plt") && !matches("*@plt", "leaf"));
    assert!(matches("[x]", "[x]") && !matches("[x]", "x"));
    assert!(matches(".plt", ".plt") && !matches("l?af", "leaf"));
}

#[test]
fn the_manual_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs/README.md");
    let manual = fs::read_to_string(path).expect("the manual");
    let (mut right, mut wrong) = (0, 0);
    let mut last_error = None;
    for (words, text) in blocks(&manual) {
        let source = |name: &str| Source::new(Path::new(name), &text);
        let read = match words.as_str() {
            "yaml" | "yaml,error" => Spec::from_source(&source("specs/recursion.yaml")).map(drop),
            "yaml,clauses" | "yaml,clauses,error" => Catalogue::from_source(&source("specs/clauses.yaml"))
                .map(drop)
                .map_err(|mut errors| errors.remove(0)),
            _ => Ok(()),
        };
        match words.as_str() {
            "yaml" | "yaml,clauses" => {
                right += 1;
                if let Err(error) = read {
                    panic!("an example of the manual is wrong:\n{}", error.render(false));
                }
            }
            "yaml,error" | "yaml,clauses,error" => {
                wrong += 1;
                let error = read.expect_err("an example of a mistake is valid");
                last_error = Some(error.render(false));
            }
            // What follows a mistake is the answer to it.
            "text,error" => {
                let error = last_error.take().expect("a mistake before its answer");
                assert_eq!(error.trim_end(), text.trim_end());
            }
            _ => {}
        }
    }
    assert!(right >= 5 && wrong >= 3, "{right} examples, {wrong} mistakes");
}
