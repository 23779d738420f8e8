//! Tests of editing specs.

use super::*;

fn source(stops: &str) -> Source {
    let text = format!("# top\nprogram: p\nsummary: s\nstops:\n{stops}\nargs: [a] # end\n");
    Source::new(Path::new("p.yaml"), &text)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// Blesses one stop, and gives the text of the stops.
fn bless(stops: &str, index: usize, frames: &[&str]) -> String {
    let blessed = set_frames(&source(stops), &[(index, names(frames))]).expect("an edit");
    let stops = blessed.strip_prefix("# top\nprogram: p\nsummary: s\nstops:\n").expect("the head");
    stops.strip_suffix("\nargs: [a] # end\n").expect("the tail").to_owned()
}

fn refused(stops: &str, frames: &[&str]) -> Error {
    set_frames(&source(stops), &[(0, names(frames))]).expect_err("must be refused")
}

#[test]
fn a_list_in_brackets_is_replaced() {
    assert_eq!(
        bless("  - at: a\n    frames: [x, 'y']   # why\n    end: outermost", 0, &["a", "main"]),
        "  - at: a\n    frames: [a, main]   # why\n    end: outermost"
    );
}

#[test]
fn a_list_on_several_lines_is_replaced() {
    assert_eq!(
        bless("  - at: a\n    frames: [\n      x,\n      y,\n    ] # why\n  - at: b", 0, &["a"]),
        "  - at: a\n    frames: [a] # why\n  - at: b"
    );
}

#[test]
fn a_list_below_its_key_is_replaced_in_place() {
    assert_eq!(
        bless("- at: a\n  frames:\n    [x,\n     y]\n- at: b", 0, &["a"]),
        "- at: a\n  frames:\n    [a]\n- at: b"
    );
}

#[test]
fn a_list_with_dashes_keeps_its_dashes() {
    assert_eq!(
        bless("  - at: a\n    frames:\n      - x # last\n    hit: 2", 0, &["a", "main"]),
        "  - at: a\n    frames:\n      - a\n      - main # last\n    hit: 2"
    );
    assert_eq!(
        bless("  - at: a\n    frames: # these\n    - x\n    - y\n  - at: b", 0, &["a"]),
        "  - at: a\n    frames: # these\n    - a\n  - at: b"
    );
}

#[test]
fn frames_are_added_below_at_and_hit() {
    assert_eq!(
        bless("  - at: a   # here\n    end: outermost", 0, &["a", "main"]),
        "  - at: a   # here\n    frames: [a, main]\n    end: outermost"
    );
    assert_eq!(
        bless("  - hit: 3\n    where: {abi: amd64}\n    at: a\n  - at: b", 0, &["a"]),
        "  - hit: 3\n    where: {abi: amd64}\n    at: a\n    frames: [a]\n  - at: b"
    );
    assert_eq!(
        bless("-   at: a\n    hit: 2\n\n# next\n-   at: b", 0, &["a"]),
        "-   at: a\n    hit: 2\n    frames: [a]\n\n# next\n-   at: b"
    );
    assert_eq!(
        bless("  -\n    at:\n      a\n  - at: b", 0, &["a"]),
        "  -\n    at:\n      a\n    frames: [a]\n  - at: b"
    );
}

#[test]
fn frames_are_added_inside_braces() {
    assert_eq!(
        bless("  - {at: a, end: outermost}\n  - {at: b, hit: 2}", 1, &["b", "main"]),
        "  - {at: a, end: outermost}\n  - {at: b, hit: 2, frames: [b, main]}"
    );
    assert_eq!(bless("  - {at: a, end: outermost}", 0, &["a"]), "  - {at: a, frames: [a], end: outermost}");
}

#[test]
fn frames_are_added_at_the_end_of_a_file_without_a_line_end() {
    let text = "program: p\nsummary: s\nstops:\n- at: a";
    let source = Source::new(Path::new("p.yaml"), text);
    let blessed = set_frames(&source, &[(0, names(&["a"]))]).unwrap();
    assert_eq!(blessed, format!("{text}\n  frames: [a]\n"));
}

#[test]
fn several_stops_are_edited_at_once() {
    let stops = "  - at: a\n    frames: [x]\n  - at: b\n  - {at: c, frames: [y, z]}";
    let edits = [(2, names(&["c", "main"])), (0, names(&["a", "main"])), (1, names(&["b", "main"]))];
    let blessed = set_frames(&source(stops), &edits).unwrap();
    let expected = "  - at: a\n    frames: [a, main]\n  - at: b\n    frames: [b, main]\n  \
                    - {at: c, frames: [c, main]}";
    assert!(blessed.contains(expected), "{blessed}");
}

#[test]
fn frames_of_one_function_in_a_row_are_written_once() {
    assert_eq!(
        bless("  - at: a\n    frames: [x]", 0, &["f", "f", "f", "g h", "g h", "g h", "m", "m"]),
        "  - at: a\n    frames: [f x 3, 'g h x 3', m, m]"
    );
    let stops = "  - at: a\n    frames: [f, f, f x 2]";
    assert_eq!(bless(stops, 0, &["f", "f", "f", "f"]), stops);
    assert_eq!(bless("  - at: a\n    frames: [f x 2, g]", 0, &["f", "g"]), "  - at: a\n    frames: [f, g]");
}

#[test]
fn frames_that_stops_share_are_edited_together_or_not_at_all() {
    let stops = "  - at: a\n    frames: [x]\n    each:\n      - hit: 1\n      - hit: 2";
    let both = [(0, names(&["a"])), (1, names(&["a"]))];
    let blessed = set_frames(&source(stops), &both).expect("an edit");
    assert!(blessed.contains(&stops.replace("[x]", "[a]")), "{blessed}");
    for edits in [&both[..1], &[(0, names(&["a"])), (1, names(&["b"]))]] {
        let error = set_frames(&source(stops), edits).expect_err("must be refused");
        assert!(error.message().contains("without changing something else"), "{error}");
    }
}

#[test]
fn frames_are_added_to_what_a_stop_has_of_its_own() {
    let stops = "  - at: a\n    each:\n      - hit: 1\n      - {where: {abi: amd64}, hit: 2}";
    let edits = [(0, names(&["a"])), (1, names(&["b", "main"]))];
    let blessed = set_frames(&source(stops), &edits).expect("an edit");
    let expected = "  - at: a\n    each:\n      - frames: [a]\n        hit: 1\n      \
                    - {frames: [b, main], where: {abi: amd64}, hit: 2}";
    assert!(blessed.contains(expected), "{blessed}");
    let edits = [(0, names(&["c"])), (1, names(&["d"]))];
    let again = set_frames(&Source::new(Path::new("p.yaml"), &blessed), &edits).expect("an edit");
    assert_eq!(
        again,
        blessed.replace("[a]", "[c]").replace("[b, main]", "[d]").replace("args: [c]", "args: [a]")
    );
}

#[test]
fn frames_as_given_are_not_touched() {
    let stops = "  - at: a\n    frames: [ a ,  # top\n      \"main\" ]";
    assert_eq!(bless(stops, 0, &["a", "main"]), stops);
}

#[test]
fn long_lists_are_wrapped() {
    let long: Vec<String> = (0..40).map(|level| format!("function_{level:02}")).collect();
    for stops in ["  - at: a", "  - at: a\n    frames: [x]", "  - {at: a}"] {
        let blessed = set_frames(&source(stops), &[(0, long.clone())]).unwrap();
        assert!(blessed.lines().all(|line| line.chars().count() <= WIDTH), "{blessed}");
        assert!(blessed.lines().count() > 8, "{blessed}");
    }
    let blessed = set_frames(&source("  - at: a"), &[(0, long[..9].to_vec())]).unwrap();
    let expected = "    frames: [function_00, function_01, function_02, function_03, function_04, \
                    function_05,\n      function_06, function_07, function_08]\n";
    assert!(blessed.contains(expected), "{blessed}");
}

#[test]
fn names_that_yaml_could_misread_are_quoted() {
    let odd = ["null", "a, b", "operator new(unsigned long)", "it's", "1f", "a\tb", "é", "No"];
    for stops in ["  - at: a", "  - at: a\n    frames:\n      - x", "  - {at: a}"] {
        let blessed = set_frames(&source(stops), &[(0, names(&odd))]).unwrap();
        let spec = Spec::from_source(&Source::new(Path::new("p.yaml"), &blessed)).unwrap();
        assert_eq!(spec.stops[0].frames, Some(names(&odd).iter().collect()));
    }
    assert_eq!(scalar("memcpy.isra.0@plt"), "memcpy.isra.0@plt");
}

#[test]
fn line_ends_and_byte_order_mark_are_kept() {
    let text = "\u{feff}program: p\r\nsummary: s\r\nstops:\r\n  - at: a\r\n  - at: b\r\n    \
                frames: [x]\r\n";
    let source = Source::new(Path::new("p.yaml"), text);
    let edits = [(0, names(&["a"])), (1, names(&["b"]))];
    let blessed = set_frames(&source, &edits).unwrap();
    assert_eq!(
        blessed,
        "\u{feff}program: p\r\nsummary: s\r\nstops:\r\n  - at: a\r\n    frames: [a]\r\n  - at: b\r\n    \
         frames: [b]\r\n"
    );
}

#[test]
fn a_comment_among_the_frames_is_not_thrown_away() {
    let error = refused("  - at: a\n    frames: [x, # the leaf\n      y]", &["a"]);
    assert_eq!(error.position(), Some((6, 17)));
    assert!(error.message().contains("would be lost"));
    let error = refused("  - at: a\n    frames:\n      - x\n      # the caller\n      - y", &["a"]);
    assert_eq!(error.position(), Some((8, 7)));
    let error = refused("  - at: a\n    frames: [x # last\n      ]", &["a"]);
    assert_eq!(error.position(), Some((6, 16)));
}

#[test]
fn a_hash_in_a_name_is_not_a_comment() {
    let stops = "  - at: a\n    frames: ['x # y', \"z#\"]";
    assert_eq!(bless(stops, 0, &["a"]), "  - at: a\n    frames: [a]");
}

#[test]
fn shared_lists_are_not_edited() {
    let stops = "  - at: a\n    frames: &f [x]\n  - at: b\n    frames: *f";
    for index in [0, 1] {
        let error = set_frames(&source(stops), &[(index, names(&["a"]))]).unwrap_err();
        assert!(error.message().contains("cannot be edited"), "{error}");
    }
}

#[test]
fn a_stop_that_is_not_there_cannot_be_edited() {
    let error = set_frames(&source("  - at: a"), &[(1, names(&["a"]))]).unwrap_err();
    assert_eq!(error.message(), "there is no stop 1 to put frames into");
    let twice = [(0, names(&["a"])), (0, names(&["b"]))];
    assert!(set_frames(&source("  - at: a"), &twice).is_err());
}

#[test]
fn frames_that_no_spec_may_have_are_refused() {
    assert!(set_frames(&source("  - at: a"), &[(0, Vec::new())]).is_err());
    assert!(set_frames(&source("  - at: a"), &[(0, names(&[""]))]).is_err());
}

#[test]
fn the_difference_is_shown() {
    let path = Path::new("specs/p.yaml");
    assert_eq!(
        diff(path, "a\nb\nc\n", "a\nB\nc\n"),
        "--- specs/p.yaml\n+++ specs/p.yaml (blessed)\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
    );
    assert_eq!(diff(path, "a\n", "a\n"), "");
}

fn failures(known: &str) -> Source {
    Source::new(
        Path::new("p.yaml"),
        &format!("program: p\nsummary: s\nstops: [{{at: main}}]\nknown:\n{known}"),
    )
}

const FAILURE: &str = "  - where: {abi: amd64}\n    verdict: wrong-ra\n    blame: unknown\n    \
                       reason: &why >-\n      a reason of some length\n";

fn rules(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
    of.iter().map(|(rules, count)| ((*rules).to_owned(), *count)).collect()
}

#[test]
fn rules_go_before_the_reason_and_in_the_place_of_others() {
    let source = failures(FAILURE);
    let one = vec![rules(&[("CFA = SP+8, RA = *(CFA-8), FP unchanged", 2), ("no row", 1)])];
    let blessed = set_rules(&source, &[(0, one.clone())]).expect("an edit");
    let written =
        "    rules:\n      CFA = SP+8, RA = *(CFA-8), FP unchanged: 2\n      no row: 1\n    reason: &why";
    assert!(blessed.contains(written), "{blessed}");
    let again = Source::new(Path::new("p.yaml"), &blessed);
    assert_eq!(set_rules(&again, &[(0, one)]).expect("an edit"), blessed);
    let two = vec![rules(&[("RA undefined", 1)]), rules(&[("RA undefined", 2)])];
    let blessed = set_rules(&again, &[(0, two)]).expect("an edit");
    let written = "    rules:\n      - RA undefined: 1\n      - RA undefined: 2\n    reason: &why";
    assert!(blessed.contains(written), "{blessed}");
}

/// Entries that name a fault have no reason.
#[test]
fn rules_go_before_the_fault() {
    let entry =
        "  - where: {abi: amd64}\n    verdict: wrong-ra\n    blame: producer-linker\n    fault: ld-it\n";
    let blessed = set_rules(&failures(entry), &[(0, vec![rules(&[("no row", 1)])])]).expect("an edit");
    assert!(blessed.contains("    rules:\n      no row: 1\n    fault: ld-it\n"), "{blessed}");
}

#[test]
fn rules_of_an_entry_in_braces_are_left_to_a_person() {
    let source = failures(
        "  - {where: {abi: amd64}, verdict: wrong-ra, blame: unknown, reason: a reason of some length}\n",
    );
    assert!(set_rules(&source, &[(0, vec![rules(&[("no row", 1)])])]).is_err());
    assert!(set_rules(&source, &[(1, Vec::new())]).is_err());
}
