//! Readers in separate processes, asked about the vectors.

use std::process::Command;

use rstest::rstest;
use serde_json::Value;

use crate::command::{bench, json, status};
use crate::unwinder::{ENGINE, check, shell};

/// Vectors without those of which `sed` would change megabytes.
const FEW: &str = "*/v[12]-*";

#[test]
fn vectors_find_wrong_answers_about_sections() {
    let output = bench(&["vectors", "--json"]);
    let engine = json(&output);
    assert_eq!((status(&output), &engine["agree"]), (0, &engine["vectors"]));
    let output = bench(&["vectors", "--json", "--unwinder", ENGINE]);
    let outside = json(&output);
    assert_eq!((status(&output), &outside["parts"]), (0, &engine["parts"]));

    for (part, change) in [
        ("opening", r#"s/"section":{"reject":.*/"section":{}}/"#),
        ("header", r#"s/"num_fres":1,/"num_fres":2,/"#),
        ("fdes", r#"s/"size":16,/"size":17,/"#),
        ("rows", r#"s/"cfa":"SP+8"/"cfa":"SP+16"/"#),
        ("lookups", r#"s/"fde":0,"row":1}/"fde":0,"row":0}/"#),
        ("steps", r#"s/"kind":"ra-not-saved"/"kind":"outermost"/"#),
    ] {
        let command = shell(&format!("{ENGINE} | sed -u '{change}'"));
        let output = bench(&["vectors", "--json", "--only", FEW, "--unwinder", &command]);
        let report = json(&output);
        assert_eq!(status(&output), 1, "{part}");
        assert!(report["parts"][part]["differ"].as_u64() > Some(0), "{part}");
        let others = report["differences"].as_array().expect("a list").iter();
        assert!(others.clone().all(|difference| difference["part"] == part), "{part}");
        assert!(others.clone().all(|difference| !difference["clauses"][0].is_null()));
    }
    // Reasons and offsets are matters of quality.
    for change in [
        r#"s/"kind":"bad-magic","offset":0/"kind":"bad-magic","offset":1/"#,
        r#"s/"kind":"ra-not-saved"/"kind":"no-row"/"#,
    ] {
        let command = shell(&format!("{ENGINE} | sed -u '{change}'"));
        let output = bench(&["vectors", "--json", "--only", FEW, "--unwinder", &command]);
        let report = json(&output);
        assert_eq!((status(&output), &report["agree"]), (0, &report["vectors"]), "{change}");
        assert!(!report["quality"].as_array().expect("a list").is_empty(), "{change}");
    }
    // A reader that reports no kinds is right if it rejects.
    let change = r#"s/"reject":{"kind":"[a-z-]*","offset":[0-9]*}/"reject":{"kind":"unspecified"}/g"#;
    let command = shell(&format!("{ENGINE} | sed -u '{change}'"));
    assert_eq!(status(&bench(&["vectors", "--only", FEW, "--unwinder", &command])), 0);
}

/// A reader that refuses everything is right about faulty sections, and has shown nothing.
#[rstest]
#[case("row/v[12]-*", 3)]
#[case("hostile/v[12]-*", 3)]
#[case("opening/*", 0)]
#[case(FEW, 1)]
fn refusing_everything_is_no_reading(#[case] only: &str, #[case] expected: i32) {
    let change = r#"s/"section":{.*/"section":{"reject":{"kind":"unspecified"}}}/"#;
    let command = shell(&format!("{ENGINE} | sed -u '{change}'"));
    let output = bench(&["vectors", "--only", only, "--unwinder", &command]);
    assert_eq!(status(&output), expected, "{output:?}");
    // The engine reads them.
    assert_eq!(status(&bench(&["vectors", "--only", only])), 0);
}

/// However many vectors a mistake breaks, it is told once, without the places.
#[rstest]
#[case(r#"s/"cfa":"SP+8"/"cfa":"SP+16"/"#, &["rows: cfa SP+N is 8 too high"])]
#[case(r#"s/"fde":0,"row":1}/"fde":0,"row":0}/"#, &["lookups: row N is 1 too low"])]
#[case(
    r#"s/"kind":"ra-not-saved"/"kind":"outermost"/"#,
    &["steps: end.kind outermost instead of ra-not-saved"]
)]
#[case(
    r#"s/"num_fres":1,/"num_fres":2,/; s/"cfa":"SP+16"/"cfa":"FP+16"/"#,
    &[
        "rows: cfa FP+N instead of SP+N",
        "header: num_fres N is 1 too high"
    ]
)]
fn one_mistake_is_one_line(#[case] change: &str, #[case] kinds: &[&str]) {
    let command = shell(&format!("{ENGINE} | sed -u '{change}'"));
    let output = bench(&["vectors", "--only", FEW, "--unwinder", &command]);
    assert_eq!(status(&output), 1);
    let text = String::from_utf8(output.stdout).expect("text");
    let told: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("differs     ")).collect();
    let counts =
        |line: &str| line.split(": ").filter(|part| !part.contains(" answer")).collect::<Vec<_>>().join(": ");
    assert_eq!(told.iter().map(|line| counts(line)).collect::<Vec<_>>(), kinds, "{text}");
    for start in ["    simplest: ", "    about: ", "    v"] {
        assert_eq!(text.lines().filter(|line| line.starts_with(start)).count(), kinds.len(), "{text}");
    }
}

#[test]
fn parts_that_an_unwinder_does_not_answer_are_counted() {
    let only = r#"s/"section":\["header","fdes","lookups","steps"\]/"section":["lookups"]/"#;
    let command = shell(&format!("{ENGINE} | sed -u '{only}'"));
    let output = bench(&["vectors", "--json", "--only", FEW, "--unwinder", &command]);
    let report = json(&output);
    assert_eq!(status(&output), 0);
    assert_eq!(report["parts"]["steps"]["answered"], 0);
    assert_eq!(report["parts"]["lookups"]["answered"], report["parts"]["lookups"]["questions"]);
    // Nothing but that sections can be opened.
    let only = r#"s/"section":\["header","fdes","lookups","steps"\]/"section":["steps"]/"#;
    let command = shell(&format!("{ENGINE} | sed -u '{only}'"));
    assert_eq!(status(&bench(&["vectors", "--only", "width/v1-130-rows", "--unwinder", &command])), 3);
    let none = r#"s/,"section":\["header","fdes","lookups","steps"\]//"#;
    let command = shell(&format!("{ENGINE} | sed -u '{none}'"));
    assert_eq!(status(&bench(&["vectors", "--only", FEW, "--unwinder", &command])), 3);
}

/// A number out of range is a wrong answer to its question, and costs nothing else.
#[test]
fn a_value_out_of_range_is_one_wrong_answer() {
    let change = r#"s/"fixed_ra":-8/"fixed_ra":248/; s/"row":1}/"row":-1}/"#;
    let command = shell(&format!("{ENGINE} | sed -u '{change}'"));
    let output = bench(&["vectors", "--json", "--only", "default/v3-amd64", "--unwinder", &command]);
    let report = json(&output);
    assert_eq!((status(&output), &report["restarts"]), (1, &0.into()), "{report}");
    let messages: Vec<&str> = report["differences"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["message"].as_str())
        .collect();
    assert!(
        messages[0].starts_with("header: invalid value: integer `248`, expected a whole number, -128 to 127"),
        "{messages:?}"
    );
    let differ = |part: &str| report["parts"][part]["differ"].as_u64();
    assert_eq!(
        (differ("header"), differ("lookups"), differ("rows")),
        (Some(1), Some(1), Some(0)),
        "{report}"
    );
}

/// An answer that is malformed again and again is told once, and ends the questions.
#[test]
fn a_key_that_does_not_exist_is_told_once() {
    let command = shell(&format!(r#"{ENGINE} | sed -u 's/"num_fdes":/"fdes_count":/'"#));
    let output = bench(&["vectors", "--only", FEW, "--unwinder", &command]);
    let errors = String::from_utf8_lossy(&output.stderr);
    let told = "error: --unwinder: several answers in a row are malformed in the same way: unknown field `fdes_count`";
    assert!(errors.starts_with(told) && errors.lines().count() == 1, "{errors}");
    assert_eq!(status(&output), 4);
}

/// So are lines that are no JSON, whatever they say.
#[test]
fn lines_that_are_no_json_are_told_once() {
    let command = shell(&format!(r#"{ENGINE} | sed -u 's/"section":{{/"section"{{/'"#));
    let output = bench(&["vectors", "--only", FEW, "--unwinder", &command]);
    let errors = String::from_utf8_lossy(&output.stderr);
    let told = "error: --unwinder: several answers in a row are malformed in the same way: this line is no answer: `{";
    assert!(errors.starts_with(told) && errors.lines().count() == 1, "{errors}");
    assert_eq!(status(&output), 4);
}

/// Profiles select vectors, and readings decide what is right.
#[test]
fn vectors_can_be_chosen_by_profile_and_reading() {
    let report = |arguments: &[&str]| {
        let output = bench(&[&["vectors", "--json"], arguments].concat());
        (status(&output), json(&output))
    };
    let (code, all) = report(&[]);
    let (_, some) = report(&["--profile", "v3-kernel-user"]);
    let count = |report: &Value| report["vectors"].as_u64().expect("a number");
    assert!(code == 0 && count(&some) > 100 && count(&some) < count(&all) / 2, "{}", count(&some));
    let (code, chosen) = report(&["--readings", "fixed-fp-beside-word/fixed,alignment"]);
    assert_eq!((code, &chosen["agree"]), (0, &chosen["vectors"]));
    // The engine does not read so.
    let (code, wrong) =
        report(&["--readings", "fixed-fp-beside-word/fixed", "--unwinder", ENGINE, "--only", "header/*"]);
    assert!(code == 1 && wrong["parts"]["rows"]["differ"].as_u64() >= Some(10), "{wrong}");
    for (option, name, error) in [
        (
            "--profile",
            "v3-kernel-usr",
            "error: there is no profile `v3-kernel-usr`; did you mean `v3-kernel-user`?",
        ),
        ("--readings", "alignmnt", "error: there is no reading `alignmnt`; did you mean `alignment`?"),
    ] {
        let output = bench(&["vectors", option, name]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(status(&output) == 2 && errors.trim() == error, "{errors}");
    }
}

/// One vector has no answer; all others do.
#[test]
fn a_crash_at_one_vector_does_not_affect_the_others() {
    let script = format!(r#"sed -u '/"address":"0x8000"/q' | {ENGINE}"#);
    let output = bench(&["vectors", "--json", "--unwinder", &shell(&script)]);
    let report = json(&output);
    assert_eq!(status(&output), 1);
    let differences = report["differences"].as_array().expect("a list");
    let crashed = differences.iter().filter(|difference| difference["fault"] == "crashed").count() as u64;
    assert!(crashed > 0, "{report}");
    assert_eq!(report["agree"].as_u64().map(|agree| agree + crashed), report["vectors"].as_u64());
}

/// Unwinders built with AddressSanitizer reserve terabytes.
#[test]
fn the_limit_on_address_space_does_not_apply_to_the_unwinder() {
    let unlimited = Command::new("sh").args(["-c", "ulimit -H -v"]).output().expect("a shell");
    let unlimited = String::from_utf8_lossy(&unlimited.stdout).trim().to_owned();
    let command = shell(&format!(r#"[ "$(ulimit -v)" = {unlimited} ] && exec {ENGINE}"#));
    let (status, report) = check("gnu-2.47/amd64/leaf.O2", &command, &["--memory", "6000000000"]);
    assert_eq!(status, 0, "{report}");
}

/// A mistake in walks does not show in vectors: who makes one answers none, and does not seem to have been right.
#[test]
fn an_engine_that_makes_a_mistake_in_walks_answers_no_vectors() {
    let vectors = |command: &str| status(&bench(&["vectors", "--only", "step/v3-*", "--unwinder", command]));
    assert_eq!(vectors(ENGINE), 0);
    assert_eq!(vectors(&format!("{ENGINE} --mistake row-before")), 3);
}
