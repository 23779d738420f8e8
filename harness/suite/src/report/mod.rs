//! Reports: what a run or a check has shown, for people and for machines.

mod baseline;
mod changes;
mod claim;
mod conclusion;
mod diagnostic;
mod document;
mod explore;
mod files;
mod format;
mod formats;
mod html;
mod identity;
mod in_baseline;
mod json;
mod junit;
mod known;
mod known_faults;
mod markdown;
mod merge;
mod native;
mod no_result;
mod sarif;
mod study;
mod summary;
mod unwinders;

use std::collections::BTreeMap;

use sframe_kit::text::grouped;
use sha2::{Digest as _, Sha256};

pub use baseline::{Baseline, BaselineError, Change, Comparison, UnfitReport};
pub use changes::{
    CaseChange, CauseChange, Changed, Changes, ReportKind, Results, UnreadReport, changes_html,
    changes_markdown, changes_text,
};
pub use claim::{Claim, NoProof, Waiver};
pub use diagnostic::{Style, quoted};
pub use document::{
    CheckReport, CheckSummary, FeatureCount, JudgedImage, MISSING_FDE, MISSING_FDE_MEANS, Report,
    ReportSummary, SCHEMA,
};
pub use explore::{ExploreReport, ExploreSummary};
pub use files::{ExploredFiles, RefusedFile};
pub use format::{Document, Format, Written};
pub use formats::FORMATS;
pub(crate) use html::links_in_html;
pub(crate) use html::plain::{FOOT, class_of, escaped, head_of, policy_of, table};
pub use html::{html, html_of_check, html_of_tables};
pub use identity::{Asked, RunIdentity, RunOptions, Selection, UnwinderIdentity};
pub use junit::junit;
pub(crate) use markdown::{block, code};
pub use markdown::{markdown, markdown_of_check, markdown_of_tables};
pub use merge::{MergeError, Partial, merge};
pub use native::NativeRun;
pub use no_result::NoResult;
pub use sarif::{sarif, sarif_of_check};
pub use study::{ImageStudy, PageError, StudyReport, WrongRow, study_page};
pub use summary::{check_summary, is_alike, run_summary};
pub use unwinders::unwinder_summary;

use sframe_judge::finding::Finding;
use sframe_judge::vocabulary::Verdict;

use crate::identity::Identity;

/// Identifies a mistake across runs and rebuilds, by what it is known by: see [`Identity`]. Hexadecimal digits.
fn fingerprint(build: &str, finding: &Finding) -> String {
    let Identity { verdict, image, function, code, row, cfa } = Identity::of(finding);
    // A function whose name is its own may change.
    let code = code.filter(|code| function.is_none() || !code.is_only).map(|code| code.digest);
    let row = row.map_or_else(|| finding.expected.to_string(), |row| row.start.to_string());
    let cfa = cfa.map(|cfa| cfa.to_string());
    let parts = [image, function, code, Some(row), cfa].map(Option::unwrap_or_default);
    let digest = Sha256::digest(
        [&[build, verdict.as_str()], &parts.each_ref().map(String::as_str)[..]].concat().join("\0"),
    );
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Describes findings that are only counted. `None` without any.
fn omission(omitted: &BTreeMap<Verdict, u64>) -> Option<String> {
    if omitted.is_empty() {
        return None;
    }
    let counts = omitted.iter().map(|(verdict, count)| format!("{} {verdict}", grouped(*count)));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let total = grouped(omitted.values().sum());
    Some(format!("{total} more findings are only counted: {counts}"))
}

/// A file without its folder: its name independently of where it is.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
