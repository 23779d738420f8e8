//! Tables of reports, for pages and for Markdown.

/// A table: what it is about, its columns, and a row for each thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its heading.
    pub title: &'static str,
    /// What its columns say; the first one names the row's thing.
    pub columns: &'static [&'static str],
    /// The rows, each with a cell for each column.
    pub rows: Vec<Vec<String>>,
}
