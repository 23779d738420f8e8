//! What unwinders in separate processes were asked, in all cases.

use sframe_judge::external::UnwinderReport;
use sframe_kit::text::Text;

use crate::case::CaseReport;

/// Sums the numbers of all cases.
#[must_use]
pub fn unwinder_summary(cases: &[CaseReport]) -> Text {
    let mut total = UnwinderReport::default();
    cases.iter().filter_map(|case| case.unwinder.as_ref()).for_each(|report| total.add(report));
    total.text()
}
