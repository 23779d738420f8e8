//! The suite proves itself: a linker with nothing wrong passes all cases that it can link, and each usual mistake is
//! noticed by a case, with the finding that says what it is.

mod mistake;
mod model;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use glob::Pattern;
use sframe_engine::Abi;
use sframe_inspect::command::Volume;

use crate::{
    KnownLink, LinkCases, LinkFault, LinkOutcome, LinkResult, LinksReport, Selection, Subject, Tried, run,
};
use mistake::Mistake;
use model::Model;

static CASES: LazyLock<LinkCases> = LazyLock::new(|| {
    LinkCases::load(Path::new("../../corpus/links")).unwrap_or_else(|error| panic!("{error}"))
});

fn tried(mistake: Option<Mistake>, case: &str) -> Vec<LinkResult> {
    tried_knowing(&[], mistake, case)
}

fn tried_knowing(known: &[KnownLink], mistake: Option<Mistake>, case: &str) -> Vec<LinkResult> {
    let only = vec![Pattern::new(case).expect("a pattern")];
    let selection = Selection { sframe_version: 3, only, ..Selection::default() };
    let tried = run(&CASES, &Model { mistake, unable: None }, known, &selection);
    tried.unwrap_or_else(|error| panic!("{error}")).results
}

fn report_of(known: &[KnownLink], results: Vec<LinkResult>) -> LinksReport {
    let mut subject = Subject::of_commands("model".to_owned(), 3, BTreeMap::new());
    subject.known = known.to_vec();
    LinksReport::new(&subject, Tried { results, left: 0 }, false)
}

#[test]
fn a_linker_without_mistakes_passes() {
    let results = tried(None, "*");
    let wrong: Vec<String> = results
        .iter()
        .filter(|result| result.outcome == LinkOutcome::Wrong)
        .map(|result| format!("{} {}: {:?} {}", result.case, result.abi, result.findings, result.said))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The model has no dynamic linking and no scripts. All else is judged.
    let mut reasons = BTreeSet::new();
    for result in results.iter().filter(|result| result.outcome == LinkOutcome::Unsupported) {
        let reason = result.reason.as_deref().unwrap_or_default();
        if !reason.starts_with("the model has no") {
            reasons.insert(format!("{}: {reason}", result.abi));
        }
    }
    assert!(reasons.is_empty(), "{reasons:#?}");
    let judged: Vec<_> = results.iter().filter(|result| result.outcome == LinkOutcome::Right).collect();
    assert!(judged.len() >= 150, "only {} of {} are checked", judged.len(), results.len());
    for abi in Abi::ALL {
        assert!(judged.iter().filter(|result| result.abi == abi).count() >= 40, "{abi}");
    }
}

/// What happens to sound objects shows nothing of garbage: a crash is another one than an entry for garbage has. What
/// happens without a section shows nothing of it, nor does a refusal of everything.
#[test]
fn a_linker_that_does_the_same_with_all_objects_shows_nothing() {
    for (case, says) in [("garbage_count", "also with sound objects: 1"), ("comdat", "1")] {
        let results = tried(Some(Mistake::CrashesOnSections), case);
        let findings: Vec<_> = results.iter().flat_map(|result| &result.findings).collect();
        assert!(!findings.is_empty());
        for finding in findings {
            assert_eq!((finding.kind, finding.says.as_deref()), (LinkFault::Crashed, Some(says)));
        }
    }
    for mistake in [Mistake::RefusesEverything, Mistake::CrashesAlways] {
        let results = tried(Some(mistake), "*");
        let judged = results.iter().filter(|result| result.outcome != LinkOutcome::Unsupported);
        assert_eq!(judged.map(|result| &result.case).collect::<Vec<_>>(), [""; 0], "{mistake:?}");
    }
}

/// Names are no part of what is judged: a linker that writes none is not told that rows are of nothing.
#[test]
fn a_linker_without_names_passes() {
    for (how, cases, least) in
        [(Mistake::KeepsDeadCodeWithoutNames, "gc_*", 8), (Mistake::StripsNames, "*", 150)]
    {
        let results = tried(Some(how), cases);
        let wrong: Vec<_> = results.iter().filter(|result| result.outcome == LinkOutcome::Wrong).collect();
        assert!(wrong.is_empty(), "{how:?}: {wrong:#?}");
        let right = results.iter().filter(|result| result.outcome == LinkOutcome::Right).count();
        assert!(right >= least, "{how:?}: {right}");
    }
}

/// Each mistake, the case that shows it, and what it says there.
const MISTAKES: &[(Mistake, &str, LinkFault)] = &[
    (Mistake::DropsBothTwins, "comdat", LinkFault::MissingFde),
    (Mistake::KeepsDiscardedTwin, "comdat", LinkFault::DuplicateFde),
    (Mistake::TakesRowsOfLastTwin, "comdat_other_rows", LinkFault::WrongRows),
    (Mistake::GivesTwinRowsToKept, "comdat_kept_without_rows", LinkFault::BorrowedRows),
    (Mistake::DoesNotSort, "comdat", LinkFault::Lint),
    (Mistake::ClearsSortedFlag, "two_objects", LinkFault::Lint),
    (Mistake::SortsFdesWithoutRows, "comdat", LinkFault::WrongRows),
    (Mistake::Concatenates, "two_objects", LinkFault::Concatenated),
    (Mistake::LosesFirstFde, "two_objects", LinkFault::MissingFde),
    (Mistake::LosesLastFde, "two_objects", LinkFault::MissingFde),
    (Mistake::StartsFromSection, "two_objects", LinkFault::DeadFde),
    (Mistake::StartsFourTooHigh, "two_objects", LinkFault::DeadFde),
    (Mistake::TruncatesStarts, "outermost_and_signal", LinkFault::Lint),
    (Mistake::KeepsFixedOffsetsOfFirst, "fixed_offsets_mixed", LinkFault::WrongRows),
    (Mistake::SkipsOtherVersions, "versions_mixed", LinkFault::MissingFde),
    (Mistake::AcceptsOtherAbi, "abis_mixed", LinkFault::Accepted),
    (Mistake::DropsSectionWithGc, "gc_sections", LinkFault::NoSection),
    (Mistake::KeepsDeadRows, "gc_sections", LinkFault::DeadFde),
    (Mistake::DropsObjectsWithDeadFunctions, "gc_sections", LinkFault::MissingFde),
    (Mistake::DescribesFoldedTwice, "icf_all", LinkFault::DuplicateFde),
    (Mistake::LosesFolded, "icf_all", LinkFault::MissingFde),
    (Mistake::RelocatableWithoutRelocations, "relocatable", LinkFault::DeadFde),
    (Mistake::RelocatableConcatenates, "relocatable", LinkFault::Concatenated),
    (Mistake::RelocatableLosesSecond, "relocatable", LinkFault::MissingFde),
    (Mistake::StopsAtEmptySection, "header_only_first", LinkFault::NoSection),
    (Mistake::RefusesSectionOfNoBytes, "zero_bytes_first", LinkFault::Refused),
    (Mistake::NeedsSectionInAll, "some_without_first", LinkFault::NoSection),
    (Mistake::LosesSignalMark, "outermost_and_signal", LinkFault::WrongRows),
    (Mistake::LosesOutermost, "outermost_and_signal", LinkFault::MissingFde),
    (Mistake::SizesFromSymbols, "sizeless_symbols", LinkFault::MissingFde),
    (Mistake::LosesLocalFunctions, "two_objects", LinkFault::MissingFde),
    (Mistake::LosesLastRow, "two_objects", LinkFault::WrongRows),
    (Mistake::LosesArchiveMembers, "archive", LinkFault::MissingFde),
    (Mistake::OneFdeForEachStart, "empty_function", LinkFault::MissingFde),
    (Mistake::TypeOfProgbits, "two_objects", LinkFault::Lint),
    (Mistake::LoadsNotAll, "two_objects", LinkFault::Lint),
    (Mistake::RelocatableWithoutAlignment, "relocatable", LinkFault::Lint),
    (Mistake::WritesOtherVersion, "two_objects", LinkFault::WrongHeader),
    (Mistake::CopiesGarbage, "garbage_count", LinkFault::Concatenated),
    (Mistake::CrashesOnGarbage, "garbage_rows_offset", LinkFault::Crashed),
    (Mistake::LosesLongFunctions, "row_features", LinkFault::MissingFde),
    (Mistake::LosesFlexFunctions, "row_features", LinkFault::MissingFde),
    (Mistake::ForgetsKeyB, "row_features", LinkFault::WrongRows),
    (Mistake::KeepsRowsOfOneByte, "row_features", LinkFault::WrongRows),
    (Mistake::SaysNothingOfGarbage, "garbage_version", LinkFault::Silent),
    (Mistake::SaysSomethingElse, "garbage_version", LinkFault::Silent),
    (Mistake::TalksOfSections, "garbage_version", LinkFault::Silent),
    (Mistake::NamesOtherObjects, "garbage_version", LinkFault::Silent),
    (Mistake::RefusesWithoutWord, "garbage_version", LinkFault::Silent),
    (Mistake::LosesNamesWithFdes, "two_objects", LinkFault::MissingFde),
    (Mistake::MovesNamesWithFdes, "two_objects", LinkFault::MissingFde),
    (Mistake::SpoilsFirstOfSeveral, "two_objects", LinkFault::WrongRows),
    (Mistake::LosesSecondOfAName, "local_names", LinkFault::MissingFde),
    (Mistake::KeepsFdesOfNoCode, "two_objects", LinkFault::Lint),
    (Mistake::ForgetsPcrelFlag, "relocatable", LinkFault::WrongHeader),
    (Mistake::LosesFirstOfSeveral, "many_objects", LinkFault::MissingFde),
    (Mistake::LeavesStrayHeader, "two_objects", LinkFault::Concatenated),
    (Mistake::RefusesOthersWithoutWord, "fixed_offsets_mixed", LinkFault::Silent),
    (Mistake::LosesMaskFdes, "mask_fde", LinkFault::MissingFde),
    (Mistake::CountsInTwoBytes, "large_section", LinkFault::MissingFde),
    (Mistake::LeavesStrayBits, "two_objects", LinkFault::Lint),
];

#[test]
fn each_mistake_is_noticed() {
    let mut missed = Vec::new();
    for (mistake, case, kind) in MISTAKES {
        let results = tried(Some(*mistake), case);
        let findings: Vec<_> = results.iter().flat_map(|result| &result.findings).collect();
        if !findings.iter().any(|finding| finding.kind == *kind) {
            let said: Vec<_> = results.iter().map(|result| (&result.said, &result.reason)).collect();
            missed.push(format!("{mistake:?}: {case} says {findings:?}; {said:?}"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// That sections follow one another excuses nothing that is wrong with the first one, which readers see.
#[test]
fn what_is_known_of_several_sections_does_not_excuse_the_first() {
    let known = serde_yaml::from_str("{cases: ['*'], findings: {concatenated: []}, fault: known}");
    let known = [known.expect("an entry")];
    for (mistake, outcome) in [
        (Mistake::Concatenates, LinkOutcome::Known),
        (Mistake::LeavesStrayHeader, LinkOutcome::Known),
        (Mistake::SpoilsFirstOfSeveral, LinkOutcome::Wrong),
        (Mistake::LosesFirstOfSeveral, LinkOutcome::Wrong),
    ] {
        let results = tried_knowing(&known, Some(mistake), "two_objects");
        assert!(results.iter().all(|result| result.outcome == outcome), "{mistake:?}: {results:?}");
        // What is said is what is not known.
        let report = report_of(&known, results);
        let text = report.text(Volume::Normal).to_string();
        let says = |kind: LinkFault| text.lines().any(|line| line.starts_with(&format!("{kind} ")));
        assert!(!says(LinkFault::Concatenated), "{mistake:?}: {text}");
        let others = [LinkFault::WrongRows, LinkFault::MissingFde, LinkFault::DeadFde];
        assert_eq!(others.into_iter().any(says), outcome == LinkOutcome::Wrong, "{mistake:?}: {text}");
    }
}

/// A described linker that refuses more than its description says, with or without `.sframe`, is not taken for right.
#[test]
fn what_a_described_linker_can_not_do_is_in_its_description() {
    let tried = |unable: &[&str]| {
        let entry = |text: &&str| serde_yaml::from_str(text).expect("an entry");
        let described = Model { mistake: None, unable: Some(unable.iter().map(entry).collect()) };
        let only = vec![Pattern::new("shared").expect("a pattern")];
        let selection = Selection { sframe_version: 3, only, abis: vec![Abi::Amd64], ..Selection::default() };
        let tried = run(&CASES, &described, &[], &selection).unwrap_or_else(|error| panic!("{error}"));
        let result = tried.results.into_iter().next().expect("a case");
        (result.outcome, result.findings.first().map(|finding| finding.kind))
    };
    let unlisted = (LinkOutcome::Wrong, Some(LinkFault::Unable));
    assert_eq!(tried(&["{says: 'the model has no *'}"]), (LinkOutcome::Unsupported, None));
    assert_eq!(tried(&[]), unlisted);
    assert_eq!(tried(&["{says: 'no memory'}"]), unlisted);
    assert_eq!(tried(&["{cases: [pie], says: 'the model has no *'}"]), unlisted);
}

/// What is published of the mistakes is what is tested.
#[test]
fn the_page_has_each_mistake() {
    let [start, end] = ["<!-- mistakes: UPDATE_LINK_MISTAKES=1 makes it -->\n", "<!-- end of mistakes -->"];
    let words = |mistake: &Mistake| {
        format!("{mistake:?}").chars().fold(String::new(), |mut words, letter| {
            if letter.is_uppercase() && !words.is_empty() {
                words.push(' ');
            }
            words.extend(letter.to_lowercase());
            words
        })
    };
    let row = |(mistake, case, kind): &(Mistake, &str, LinkFault)| {
        format!("| {} | `{case}` | `{kind}` |\n", words(mistake))
    };
    let rows: String = MISTAKES.iter().map(row).collect();
    let made = format!("| {} mistakes | found by | as |\n|---|---|---|\n{rows}", MISTAKES.len());
    let path = Path::new("../results/linker-mistakes.md");
    let text = std::fs::read_to_string(path).expect("the page");
    let (before, rest) = text.split_once(start).expect("the start of the table");
    let (shown, after) = rest.split_once(end).expect("the end of the table");
    if std::env::var_os("UPDATE_LINK_MISTAKES").is_some() {
        std::fs::write(path, [before, start, &made, end, after].concat()).expect("to write");
    } else {
        assert_eq!(shown, made, "UPDATE_LINK_MISTAKES=1 makes it again");
    }
}

/// Where a linker's own sections are of another version than the objects, the option that fits is named.
#[test]
fn a_linker_of_another_version_is_given_the_option() {
    let hint = |mistake| {
        let report = report_of(&[], tried(mistake, "two_objects"));
        let text = report.text(Volume::Normal).to_string();
        text.lines().find(|line| line.contains("help:")).map(str::to_owned)
    };
    assert_eq!(hint(None), None);
    assert_eq!(hint(Some(Mistake::LosesFirstFde)), None);
    let other = hint(Some(Mistake::WritesOtherVersion)).expect("a hint");
    assert!(other.contains("`--sframe-version 2` gives it such objects"), "{other}");
    // However many cases show it, it is said once, and first.
    let text = report_of(&[], tried(Some(Mistake::WritesOtherVersion), "*")).text(Volume::Normal).to_string();
    let first = text.lines().next().unwrap_or_default();
    assert!(first.starts_with("wrong-header ") && first.contains(" more cases ("), "{first}");
    assert_eq!(text.matches("the version is 2, not 3").count(), 1, "{text:.3000}");
}

/// What a case says and can't be is an error, with its place.
#[test]
fn mistakes_of_cases_have_their_places() {
    let folder = tempfile::tempdir().expect("a folder");
    for below in ["sources", "objects"] {
        let from = Path::new("../../corpus/links").canonicalize().expect("the corpus").join(below);
        std::os::unix::fs::symlink(from, folder.path().join(below)).expect("a link");
    }
    let error = |text: &str| {
        std::fs::write(folder.path().join("case.yaml"), text).expect("a file");
        LinkCases::load(folder.path()).expect_err(text).to_string()
    };
    let right = "summary: Two objects.\nsteps:\n  - {of: [start, main_two, two]}\n";
    std::fs::write(folder.path().join("case.yaml"), right).expect("a file");
    LinkCases::load(folder.path()).expect("a case");
    let twice = "  - {of: [output], to: merged}\n  - {of: [merged], to: merged}\n";
    for (text, place, message) in [
        (right.replace("Two objects.", "''"), "1:10", "`summary` is empty"),
        (format!("{right}abis: []\n"), "4:7", "`abis` is empty"),
        (format!("{right}versions: []\n"), "4:11", "`versions` is empty"),
        (format!("{right}generated:\n  many: {{functions: 5}}\n"), "5:3", "no command is of `many`"),
        (
            format!("{right}generated:\n  two: {{functions: 0}}\n"),
            "5:20",
            "an object has at least one function",
        ),
        (
            format!("{}runs: true\n", right.replace("two]}", "two], options: [relocatable]}")),
            "4:7",
            "the last command makes no program",
        ),
        (
            format!("{}patched:\n  bad: {{of: tow, size: 4}}\n", right.replace(" two]", " bad]")),
            "5:13",
            "there is no object `tow`",
        ),
        (format!("{right}{twice}"), "5:24", "an earlier command makes `merged`"),
        (right.replace("two]", "two, output]"), "3:33", "no earlier command makes `output`"),
        (right.replace(" two]", " 'v1:two']"), "3:28", "there is no object `v1:two` for s390x, version 3"),
        (right.replace("[start, main_two, two]", "[]"), "3:10", "the command is of nothing"),
        (format!("{right}versions: [1, 7]\n"), "4:15", "unknown version 7"),
        (right.replace("two]", "tow]"), "3:28", "there is no object `tow`"),
        (right.replace("two]}", "two], options: [shared, shard]}"), "3:52", "there is no option `shard`"),
        (right.replace("two]}", "two], to: 3}"), "3:38", "expected text: put it in quotes"),
        (format!("{right}dead: [two_iner]\n"), "4:7", "no object has the function `two_iner`"),
        (
            format!("{}patched:\n  bad: {{of: two, bytes: {{4444: 1}}}}\n", right.replace(" two]", " bad]")),
            "5:8",
            "its .sframe has no such bytes",
        ),
        (
            format!("{}patched:\n  bad: {{of: two, size: 4444}}\n", right.replace(" two]", " bad]")),
            "5:8",
            "its .sframe has no such bytes",
        ),
    ] {
        let said = error(&text);
        assert!(said.contains(&format!("case.yaml:{place}: ")) && said.contains(message), "{text}: {said}");
    }
}
