//! What exploring an example's build says of its row, without running it.

use std::path::Path;

use sframe_judge::explore::{
    Certainty, ExploreError, ExploreOptions, ExploredFile, ExploredFinding, Roots, explore,
};
use sframe_judge::target::SectionSource;
use sframe_kit::text::counted;

use crate::spec::{Example, NO_ROW};

/// Explores the build of an example, and says how sure it is that the row is wrong. `None` if it says
/// nothing of that row.
pub(super) fn explored(
    program: &Path,
    example: &Example,
    source: SectionSource,
) -> Result<Option<String>, ExploreError> {
    let file = ExploredFile::read(program, source)?;
    let target = file.open()?;
    let exploration = explore(&target, &Roots::of(&target), &ExploreOptions::default())?;
    Ok(exploration.findings().iter().find(|found| is_about(found, example)).map(says))
}

fn is_about(ExploredFinding { finding, .. }: &ExploredFinding, example: &Example) -> bool {
    let Example { function, verdict, wrong, row: wanted, .. } = example;
    let is_row = match (&finding.row, wanted) {
        (None, None) => wrong == NO_ROW,
        (Some(row), Some(wanted)) => row.start.0 == wanted.0 && row.rules.to_string() == *wrong,
        _ => false,
    };
    is_row && finding.verdict == *verdict && finding.function.as_ref() == Some(function)
}

fn says(found: &ExploredFinding) -> String {
    match found.certainty {
        Certainty::Proved => {
            format!("proves that it is wrong at {}", counted(found.finding.places, "instruction"))
        }
        Certainty::Possible => format!("may be wrong: {}", found.doubts_text()),
    }
}
