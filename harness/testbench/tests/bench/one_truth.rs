//! All that judges walks judges them by the same calls: `check`, `study`, and an unwinder under test.

use rayon::prelude::*;
use serde_json::Value;

use crate::command::{bench, status};
use crate::doctor::{constructed, stride};

/// This project's engine, as an unwinder under test.
const ENGINE: &str = env!("CARGO_BIN_EXE_sframe-engine-unwinder");

/// What walks were worth: complete, incomplete (whether or not they say so), and wrong.
fn worth(of: &Value) -> [u64; 3] {
    let count = |key: &str| of[key].as_u64().expect("a number");
    [count("complete"), count("incomplete") + count("silent"), count("wrong")]
}

/// What the walks of SFrame were worth in a study.
fn studied(study: &Value) -> [u64; 3] {
    let images = study["images"].as_array().expect("images").iter().map(|image| &image["executed"]);
    let topmosts = images.chain([&study["elsewhere"]]).flat_map(|executed| {
        executed["sframe"]["by_topmost"].as_object().expect("an object").values().map(worth)
    });
    topmosts.fold([0; 3], |all, of| [0, 1, 2].map(|index| all[index] + of[index]))
}

/// What is different for a build. `None` if it does not run.
fn difference(name: &str, file: &str) -> Option<Result<(), String>> {
    let run = |arguments: &[&str]| {
        let output = bench(&[arguments, &["--json", file]].concat());
        (status(&output), serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default())
    };
    let (checked, check) = run(&["check", "--no-explore"]);
    if check["summary"]["comparisons"].as_u64().unwrap_or_default() == 0 {
        return None;
    }
    let (asked, unwinder) = run(&["check", "--no-explore", "--unwinder", ENGINE, "--stops-per-case", "all"]);
    let (_, study) = run(&["study"]);
    // It is only made once more, with an empty stack, where it is checked.
    let is_studied = study["broken"].is_null();
    let expected = worth(&check["summary"]["reliability"]);
    let of_unwinder = worth(&unwinder["summary"]["reliability"]);
    let of_study = if is_studied { studied(&study) } else { expected };
    let is_same = checked == asked && expected == of_unwinder && expected == of_study;
    Some(if is_same {
        Ok(())
    } else {
        Err(format!(
            "{name}: check has {expected:?} and ends with {checked}, the unwinder {of_unwinder:?} and {asked}, study \
             {of_study:?}"
        ))
    })
}

#[test]
fn check_study_and_an_unwinder_judge_by_one_truth() {
    let (stride, builds) = (stride(3), constructed());
    let judged: Vec<Result<(), String>> = builds
        .par_iter()
        .step_by(stride)
        .filter_map(|(name, file)| difference(name, file.to_str().expect("text")))
        .collect();
    let wrong: Vec<&String> = judged.iter().filter_map(|judged| judged.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(judged.len() > 200 / stride, "{}", judged.len());
}
