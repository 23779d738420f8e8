//! Pages of tables.

use std::fmt::Write as _;

use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::table::Table;
use sframe_kit::text::demangled;

use super::plain::{self, escaped, table_of};

/// Renders a page: the verdict, and a table after the other.
pub fn html_of_tables(about: &str, conclusion: &Conclusion, tables: &[Table]) -> String {
    let mut page = plain::head(about);
    let class = if conclusion.ending == Ending::Pass { "agree" } else { "unexpected" };
    let shown = |text: &str| escaped(&demangled(text));
    let _ = writeln!(page, "<p class=\"verdict {class}\">{}</p>", shown(&conclusion.sentence()));
    for table in tables {
        let _ = writeln!(page, "<h2>{}</h2>", escaped(table.title));
        page += &table_of(table.columns);
        for row in &table.rows {
            let cells: String = row.iter().skip(1).map(|cell| format!("<td>{}</td>", shown(cell))).collect();
            let name = row.first().map(|name| shown(name)).unwrap_or_default();
            let _ = writeln!(page, "<tr><th scope=\"row\">{name}</th>{cells}</tr>");
        }
        page += "</tbody></table></div>\n";
    }
    page += plain::FOOT;
    page
}
