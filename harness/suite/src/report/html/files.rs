//! The page of files that were explored together: causes, and a row for each file.

use std::fmt::Write as _;

use sframe_kit::conclusion::Ending;
use sframe_kit::text::first_of;

use super::plain::{self, escaped, table_of};
use crate::report::files::{COLUMNS, ExploredFiles, LISTED, RefusedFile};

/// Renders the page.
pub(super) fn html_of_files(files: &ExploredFiles) -> String {
    let mut page = plain::head("explored files");
    let class = if files.ending == Ending::Pass { "agree" } else { "unexpected" };
    let _ = writeln!(page, "<p class=\"verdict {class}\">{}</p>", escaped(&files.conclusion().sentence()));
    let causes = files.causes();
    if !causes.is_empty() {
        page += "<h2>By cause</h2>\n";
        page += &table_of(&["cause", "findings", "files", "for example"]);
        for (cause, count, of) in causes {
            let [cause, examples] = [cause, first_of(&of, LISTED)].map(|text| escaped(&text));
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{cause}</th><td>{count}</td><td>{}</td><td>{examples}</td></tr>",
                of.len()
            );
        }
        page += "</tbody></table></div>\n";
    }
    page += "<h2>Files</h2>\n";
    page += &table_of(&COLUMNS);
    for report in &files.reports {
        let cells = ExploredFiles::cells(report).map(|text| format!("<td>{}</td>", escaped(&text)));
        let _ = writeln!(page, "<tr>{}</tr>", cells.concat());
    }
    page += "</tbody></table></div>\n";
    for RefusedFile { file, error } in &files.refused {
        let _ = writeln!(page, "<p>{} could not be explored: {}</p>", escaped(file), escaped(error));
    }
    for report in files.with_findings() {
        let findings =
            ExploredFiles::findings(report).lines().map(|line| escaped(line) + "\n").collect::<String>();
        let file = escaped(&report.file);
        let _ = writeln!(page, "<details><summary>{file}</summary><pre>{findings}</pre></details>");
    }
    page += plain::FOOT;
    page
}
