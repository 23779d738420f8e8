//! Pages of tables.

use std::fmt::Write as _;

use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::table::Table;
use sframe_kit::text::demangled;

use super::plain::{self, escaped};

/// Renders a page: the verdict, and a table after the other.
pub fn html_of_tables(about: &str, conclusion: &Conclusion, tables: &[Table]) -> String {
    let mut page = plain::head(about);
    let class = if conclusion.ending == Ending::Pass { "agree" } else { "unexpected" };
    let shown = |text: &str| escaped(&demangled(text));
    let _ = writeln!(page, "<p class=\"verdict {class}\">{}</p>", shown(&conclusion.sentence()));
    for table in tables {
        let _ = writeln!(page, "<h2>{}</h2>", escaped(table.title));
        let rows = table.rows.iter().map(|row| row.iter().map(|cell| shown(cell)).collect());
        page += &plain::table(table.columns, rows);
    }
    page += plain::FOOT;
    page
}
