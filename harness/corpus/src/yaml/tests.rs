//! Tests of reading YAML.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use serde::Deserialize;

use super::{Error, Source, from_str, read};

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    name: String,
    #[serde(default)]
    stops: Vec<Item>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    at: String,
    #[serde(default)]
    hit: u32,
    #[serde(default)]
    kind: Option<Kind>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    WrongCfa,
    WrongRa,
}

fn source(text: &str) -> Source {
    Source::new(Path::new("a.yaml"), text)
}

fn fails(text: &str) -> Error {
    source(text).parse::<Sample>().expect_err("must be refused")
}

/// The text of the value at a path.
fn at<'a>(source: &'a Source, path: &[&str]) -> &'a str {
    &source.text()[source.span(path)]
}

/// The line, counted from 1, on which a range begins.
fn line(text: &str, range: &Range<usize>) -> usize {
    text[..range.start].matches('\n').count() + 1
}

#[test]
fn an_unknown_key_is_shown_with_its_line_and_what_was_meant() {
    let error = fails("name: x\nstosp:\n  - at: main\n");
    assert_eq!(error.position(), Some((2, 1)));
    assert_eq!(
        error.to_string(),
        "a.yaml:2:1: unknown key `stosp`; did you mean `stops`? (allowed here: `name`, `stops`)"
    );
    let expected = "error: unknown key `stosp`; did you mean `stops`?
 --> a.yaml:2:1
  |
2 | stosp:
  | ^^^^^
  |
  = help: allowed here: `name`, `stops`
";
    assert_eq!(error.render(false), expected);
}

#[test]
fn colours_are_drawn_only_on_request() {
    let error = fails("name: x\nstosp: []\n");
    assert!(!error.render(false).contains('\u{1b}'));
    assert!(error.render(false).is_ascii());
    assert!(error.render(true).contains("\u{1b}["));
}

#[test]
fn an_unknown_key_in_a_nested_mapping_says_where_it_is_nested() {
    let error = fails("name: x\nstops:\n  - at: main\n  - at: leaf\n    hits: 3\n");
    assert_eq!(error.position(), Some((5, 5)));
    assert_eq!(error.message(), "stops[1]: unknown key `hits`; did you mean `hit`?");
}

#[test]
fn an_unknown_name_is_answered_with_what_is_allowed() {
    let error = fails("name: x\nstops: [{at: main, kind: wrong_cfa}]\n");
    assert_eq!(error.position(), Some((2, 26)));
    assert_eq!(error.message(), "stops[0].kind: unknown name `wrong_cfa`; did you mean `wrong-cfa`?");
    assert_eq!(error.help(), Some("allowed here: `wrong-cfa`, `wrong-ra`"));
    let error = fails("name: x\nstops: [{at: main, kind: tomato}]\n");
    assert_eq!(error.message(), "stops[0].kind: unknown name `tomato`");
}

#[test]
fn a_value_of_the_wrong_type_is_pointed_at() {
    let error = fails("name: x\nstops:\n  - at: main\n    hit: often # each time\n");
    assert_eq!(error.position(), Some((4, 10)));
    assert_eq!(
        error.message(),
        "stops[0].hit: invalid type: string \"often\", expected a whole number, 0 to 4,294,967,295"
    );
    let error = fails("name: x\nstops: main\n");
    assert_eq!(error.message(), "stops: invalid type: string \"main\", expected a list");
}

#[test]
fn a_missing_key_is_named() {
    let error = fails("name: x\nstops:\n  - hit: 1\n");
    assert_eq!(error.to_string(), "a.yaml:3:5: stops[0]: missing key `at`");
}

#[test]
fn an_empty_file_is_an_error() {
    for text in ["", "\n\n", "# only a comment\n", "---\n", "\u{feff}", "---\n...\n"] {
        assert_eq!(fails(text).to_string(), "a.yaml:1:1: the file is empty", "{text:?}");
    }
}

#[test]
fn a_tab_in_the_indentation_is_named() {
    let error = fails("name: x\nstops:\n\t- at: main\n");
    assert_eq!(error.position().map(|(line, _)| line), Some(3));
    assert_eq!(
        error.help(),
        Some("YAML is indented with spaces, and this line begins with a tab"),
        "{error}"
    );
}

#[test]
fn a_duplicate_key_is_shown_at_its_second_place() {
    let error = fails("name: x\nstops: []\nname: y\n");
    assert_eq!(error.position(), Some((3, 1)));
    assert_eq!(error.message(), "duplicate key `name`");
    // Serde alone lets the last one win in a map.
    let error = from_str::<BTreeMap<String, u8>>(Path::new("m.yaml"), "{a: 1, b: 2, a: 3}").unwrap_err();
    assert_eq!(error.to_string(), "m.yaml:1:14: duplicate key `a` (this mapping already has that key)");
}

#[test]
fn broken_syntax_is_an_error_with_a_position() {
    let error = fails("name: x\nstops: [{at: main}\n");
    assert_eq!(error.position(), Some((3, 1)));
    assert!(error.message().contains("did not find expected ',' or ']'"), "{error}");
    let error = fails("name: 'x\n");
    assert!(error.position().is_some(), "{error}");
    let error = fails("name: x\nstops: @main\n");
    assert_eq!(error.position(), Some((2, 8)));
}

#[test]
fn a_control_character_is_shown_where_it_stands() {
    let error = fails("name: x\nstops: \u{0}[]\n");
    assert_eq!(error.position(), Some((2, 8)));
    assert_eq!(error.message(), "character U+0000 is not allowed in YAML");
    assert!(error.render(false).contains("a.yaml:2:8"));
}

#[test]
fn a_second_document_is_an_error() {
    let error = fails("---\nname: x\n---\nname: y\n");
    assert_eq!(error.position(), Some((3, 1)));
    assert_eq!(error.message(), "a second document begins here");
}

#[test]
fn aliases_are_followed_but_may_not_multiply() {
    let text = "name: &n x\nstops: [{at: *n}]\n";
    assert_eq!(source(text).parse::<Sample>().unwrap().stops[0].at, "x");

    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let alias = format!("*a{}", level - 1);
        let list = [alias.as_str(); 9].join(", ");
        bomb += &format!("a{level}: &a{level} [{list}]\n");
    }
    let started = Instant::now();
    let error = fails(&bomb);
    assert_eq!(error.message(), "aliases repeat too much of the file");
    let _ = source(&bomb).span(&["a29", "8", "8", "8"]);
    assert!(started.elapsed().as_secs() < 5);
}

#[test]
fn an_alias_to_itself_is_an_error() {
    let error = fails("name: x\nstops: &a [*a, *a]\n");
    assert!(error.position().is_some(), "{error}");
}

#[test]
fn a_file_of_brackets_is_refused_quickly() {
    let started = Instant::now();
    for unit in ["[", "{", "[{", "- ", "? ", "a: "] {
        for size in [200, 50_000] {
            let text = unit.repeat(size);
            let _ = fails(&text);
            let _ = source(&text).span(&["0", "0"]);
        }
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn a_message_is_never_longer_than_a_paragraph() {
    let error = fails(&"x".repeat(100_000));
    assert!(error.message().chars().count() < 500, "{error}");
    assert!(error.message().ends_with("expected a mapping"), "{error}");
}

#[test]
fn a_missing_file_is_named_with_the_cause() {
    let error = read::<Sample>(Path::new("no/such/file.yaml")).unwrap_err();
    assert!(error.to_string().starts_with("no/such/file.yaml: cannot be read: "), "{error}");
    assert_eq!(error.position(), None);
    assert!(error.render(false).contains("no/such/file.yaml"));
}

#[test]
fn a_file_that_is_not_utf8_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("latin1.yaml");
    std::fs::write(&path, b"name: caf\xe9\n").unwrap();
    let error = read::<Sample>(&path).unwrap_err();
    assert_eq!(error.message(), "is not UTF-8 text: byte 9 begins no character");
}

#[test]
fn a_file_that_is_far_too_large_is_an_error() {
    let error = fails(&format!("name: {}\n", "x".repeat(Source::MAX_BYTES)));
    assert!(error.message().contains("too large"), "{error}");
}

#[test]
fn a_byte_order_mark_shifts_no_column() {
    let text = "\u{feff}name: x\nstops:\n  - at: main\n";
    let source = source(text);
    assert_eq!(source.parse::<Sample>().unwrap().name, "x");
    assert_eq!(at(&source, &["name"]), "x");
    let error = source.error_at(source.span(&["name"]), "bad", None::<&str>);
    assert_eq!(error.position(), Some((1, 7)));
    assert!(error.render(false).contains("a.yaml:1:7"), "{}", error.render(false));
    assert_eq!(fails("\u{feff}nam: x\n").position(), Some((1, 1)));
}

#[test]
fn windows_line_ends_shift_no_line() {
    let text = "name: x\r\nstops:\r\n  - at: main\r\n    hits: 1\r\n";
    let error = fails(text);
    assert_eq!(error.position(), Some((4, 5)));
    let source = source(text);
    assert_eq!(at(&source, &["stops", "0", "at"]), "main");
    assert!(!error.render(false).contains("\r\r"));
}

#[test]
fn columns_count_characters() {
    let error = fails("name: x\nstops: [{at: 'größe', hits: 1}]\n");
    assert_eq!(error.position(), Some((2, 23)));
}

const BLOCK: &str = "\
# a comment: with a colon
name: sample   # stops: no
stops:
  - at: leaf
    hit: 3
    frames:
      # inner
      - leaf
      - 'it''s'   # quoted
  -
    at: \"a\\\"b: c\"
    frames: [leaf, \"x, y\",
             main]
known:
- where: {abi: [amd64, s390x], toolchain: gnu-2.40}
  reason: >-
    folded
    text
";

#[test]
fn values_are_found_in_block_style() {
    let source = source(BLOCK);
    assert_eq!(at(&source, &["name"]), "sample");
    assert_eq!(at(&source, &["stops", "0", "at"]), "leaf");
    assert_eq!(at(&source, &["stops", "0", "hit"]), "3");
    assert_eq!(at(&source, &["stops", "0", "frames", "0"]), "leaf");
    assert_eq!(at(&source, &["stops", "0", "frames", "1"]), "'it''s'");
    assert_eq!(at(&source, &["stops", "1", "at"]), "\"a\\\"b: c\"");
    assert_eq!(at(&source, &["stops", "1", "frames", "1"]), "\"x, y\"");
    assert_eq!(at(&source, &["stops", "1", "frames", "2"]), "main");
    assert_eq!(at(&source, &["known", "0", "where", "abi", "1"]), "s390x");
    assert_eq!(at(&source, &["known", "0", "where", "toolchain"]), "gnu-2.40");
    assert_eq!(at(&source, &["known", "0", "reason"]), ">-");
}

#[test]
fn collections_begin_where_they_are_written() {
    let source = source(BLOCK);
    let first_stop = source.span(&["stops", "0"]);
    assert_eq!(line(BLOCK, &first_stop), 4);
    assert_eq!(&BLOCK[first_stop], "at: leaf");
    assert_eq!(line(BLOCK, &source.span(&["stops", "1"])), 11);
    assert_eq!(at(&source, &["stops", "0", "frames"]), "- leaf");
    assert_eq!(line(BLOCK, &source.span(&["stops", "0", "frames"])), 8);
    assert_eq!(at(&source, &["known", "0", "where", "abi"]), "[amd64, s390x], toolchain: gnu-2.40}");
}

#[test]
fn keys_are_found_beside_their_values() {
    let source = source(BLOCK);
    let key = |path: &[&str]| &BLOCK[source.key_span(path)];
    assert_eq!(key(&["name"]), "name");
    assert_eq!(key(&["stops", "1", "frames"]), "frames");
    assert_eq!(line(BLOCK, &source.key_span(&["stops", "1", "frames"])), 12);
    assert_eq!(line(BLOCK, &source.key_span(&["known"])), 14);
}

#[test]
fn a_missing_value_points_at_the_nearest_one_around_it() {
    let source = source(BLOCK);
    assert!(!source.has(&["stops", "0", "where"]));
    assert!(source.has(&["stops", "1", "frames"]));
    assert_eq!(source.span(&["stops", "0", "where", "abi"]), source.span(&["stops", "0"]));
    assert_eq!(source.key_span(&["stops", "0", "end"]), source.span(&["stops", "0"]));
    assert_eq!(source.span(&["stops", "7", "at"]), source.span(&["stops"]));
    assert_eq!(source.span(&["name", "0"]), source.span(&["name"]));
    assert_eq!(line(BLOCK, &source.span(&["nothing"])), 2);
    assert_eq!(source.span(&["stops", "x"]), source.span(&["stops"]));
}

#[test]
fn text_that_is_not_yaml_points_at_the_first_line() {
    let source = source("[unfinished\n");
    assert_eq!(source.span(&["stops", "0"]).start, 0);
    assert_eq!(Source::new(Path::new("e.yaml"), "").span(&["a"]), 0..0);
}

#[test]
fn values_are_found_in_flow_style() {
    let text = "{\"name\": 'x', stops: [{at: main, hit: 2}, # one\n {at: leaf}]}\n";
    let source = source(text);
    assert_eq!(at(&source, &["name"]), "'x'");
    assert_eq!(at(&source, &["stops", "0", "hit"]), "2");
    assert_eq!(at(&source, &["stops", "1", "at"]), "leaf");
    assert_eq!(&text[source.key_span(&["name"])], "\"name\"");
}

#[test]
fn errors_can_point_anywhere_without_harm() {
    let source = source("name: ä\n");
    for start in 0..20 {
        for end in 0..20 {
            let error = source.error_at(start..end, "bad", Some("help"));
            assert!(error.render(false).contains("bad"));
        }
    }
}
