//! Hazards in a program as it executes. Those of a whole file are tested with
//! `diff`.

use serde_json::Value;

use crate::command::{bench, json};

#[test]
fn check_counts_the_hazards_of_what_has_executed() {
    let output = bench(&["check", "--json", "corpus/builds/gnu-2.47/aarch64/discarded_return.O2"]);
    let report = json(&output);
    let hazards = report["hazards"].as_array().expect("hazards");
    let of = |kind: &str| hazards.iter().filter(|hazard| hazard["kind"] == kind).collect::<Vec<_>>();
    let below = of("below-red-zone");
    let mut functions: Vec<&str> = below.iter().filter_map(|hazard| hazard["function"].as_str()).collect();
    functions.sort_unstable();
    assert_eq!(functions, ["drop_return", "drop_two"]);
    for hazard in hazards {
        assert!(hazard["instructions"].as_u64() > Some(0), "{hazard}");
        assert!(hazard["row"]["rules"].is_string() && hazard["message"].is_string(), "{hazard}");
    }
    assert!(!of("link-register").is_empty() && of("other-register").is_empty());
    // As hazards, they change no result.
    let sound = "corpus/builds/gnu-2.47/aarch64/recursion.O2";
    let output = bench(&["check", "-v", sound]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("hazard      link-register"));
    let none = json(&bench(&["check", "--json", "corpus/builds/gnu-2.47/amd64/noreturn_call.O2"]));
    assert_eq!(none["hazards"], Value::Array(Vec::new()));
}
