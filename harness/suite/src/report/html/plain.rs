//! Pages that load nothing and have no script.

use sframe_kit::text::neutral;

/// The style of all pages.
pub(crate) const STYLE: &str = include_str!("page.css");

/// The end of a page.
pub(crate) const FOOT: &str = "</main>\n</body>\n</html>\n";

/// The start of a page about something.
pub(in crate::report) fn head(about: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>SFrame test bench: {about}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>SFrame test bench: {about}</h1></header>\n<main>\n"
    )
}

/// Opens a table with these columns.
pub(crate) fn table_of(columns: &[&str]) -> String {
    let heads: String = columns.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    format!("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>{heads}</tr></thead><tbody>\n")
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
