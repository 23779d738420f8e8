//! Pages that load nothing and have no script.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sframe_kit::conclusion::Ending;
use sframe_kit::text::neutral;
use sha2::{Digest as _, Sha256};

/// The style of all pages.
pub(super) const STYLE: &str = include_str!("page.css");

/// The end of a page.
pub(crate) const FOOT: &str = "</main>\n</body>\n</html>\n";

/// The start of a page about something.
pub(in crate::report) fn head(about: &str) -> String {
    let title = format!("SFrame test bench: {about}");
    head_of(&title, &format!("<h1>{title}</h1>"), "")
}

/// The start of a page: its title, what is above its content, and what its policy allows besides styles.
pub(crate) fn head_of(title: &str, header: &str, policy: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{policy}\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header>{header}</header>\n<main>\n"
    )
}

/// The style of a verdict.
pub(crate) const fn class_of(ending: Ending) -> &'static str {
    match ending {
        Ending::Pass => "agree",
        Ending::Fail => "unexpected",
        Ending::Inconclusive => "skipped",
        Ending::Interrupted | Ending::Error => "broken",
    }
}

/// Opens a table with these columns.
pub(in crate::report) fn table_of(columns: &[&str]) -> String {
    let heads: String = columns.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    format!("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>{heads}</tr></thead><tbody>\n")
}

/// A table whose cells are HTML, the first of each row its name.
pub(crate) fn table(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = table_of(columns);
    for row in rows {
        let cells: String = row.iter().skip(1).map(|cell| format!("<td>{cell}</td>")).collect();
        let name = row.first().map_or("", String::as_str);
        table += &format!("<tr><th scope=\"row\">{name}</th>{cells}</tr>\n");
    }
    table + "</tbody></table></div>\n"
}

/// The policy that allows a script.
pub(crate) fn policy_of(script: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(script.as_bytes())))
}

/// Text of reports, which nothing may interpret.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in neutral(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}
