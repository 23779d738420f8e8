//! The scoreboard: static pages about all bugs, toolchains, linkers, readers and clauses, from reports that are stored.
//!
//! ```text
//! pages of faults, clauses ----+
//! stored reports -> stored ----+-> contents -> index, bugs, subjects -> frame -> files
//!                     `-> found
//! ```

mod bugs;
mod contents;
mod found;
mod frame;
mod index;
mod stored;
mod subjects;

pub use contents::Site;
pub use found::{Found, OfAbi, OfToolchain, Seen, by_rows};
pub use frame::SiteFile;
pub use stored::{NoStored, Reader, ReaderMistake, Stored};

use crate::report::changes_html;

/// Makes all files of a site.
#[must_use]
pub fn files(site: &Site<'_>) -> Vec<SiteFile> {
    let found = site.runs.last().map(Found::of).unwrap_or_default();
    let mut files = vec![index::page(site, &found), bugs::feed(site)];
    files.extend(bugs::pages(site));
    files.extend(subjects::pages(site, &found));
    files.extend(index::badges(site, &found));
    files.extend(site.changes.as_ref().map(|changes| ("changes.html".to_owned(), changes_html(changes))));
    files
}
