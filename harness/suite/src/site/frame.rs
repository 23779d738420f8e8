//! What all pages of a site have around them.

use std::fmt::Display;

use sframe_kit::conclusion::Ending;

use crate::report::{FOOT, class_of, escaped, head_of, policy_of, table};

/// A file: its path below the site's folder, and its text.
pub type SiteFile = (String, String);

/// The parts that every page leads to.
const PARTS: [(&str, &str); 5] = [
    ("bugs.html", "bugs"),
    ("toolchains.html", "toolchains"),
    ("linkers.html", "linkers"),
    ("readers.html", "readers"),
    ("clauses.html", "clauses"),
];

/// A page that is made.
pub(super) struct Page {
    path: String,
    title: String,
    body: String,
}

impl Page {
    pub(super) fn new(path: impl Into<String>, title: &str) -> Self {
        Self { path: path.into(), title: title.to_owned(), body: String::new() }
    }

    /// Adds a part that is HTML.
    pub(super) fn html(&mut self, html: &str) {
        self.body += html;
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.body += &format!("<h2>{}</h2>\n", escaped(text));
    }

    pub(super) fn paragraph(&mut self, text: impl Display) {
        self.body += &format!("<p>{}</p>\n", escaped(&text.to_string()));
    }

    /// A verdict, coloured by how it ends.
    pub(super) fn verdict(&mut self, ending: Ending, text: &str) {
        self.body += &format!("<p class=\"verdict {}\">{}</p>\n", class_of(ending), escaped(text));
    }

    /// Lines as they are.
    pub(super) fn lines(&mut self, lines: &str) {
        let lines: Vec<String> = lines.lines().map(|line| escaped(&line.replace('\t', "        "))).collect();
        self.body += &format!("<pre class=\"scroll\" tabindex=\"0\">{}</pre>\n", lines.join("\n"));
    }

    /// Names and what there is to say of them, which is HTML.
    pub(super) fn facts(&mut self, facts: &[(&str, String)]) {
        let facts: String =
            facts.iter().map(|(name, html)| format!("<dt>{}</dt><dd>{html}</dd>\n", escaped(name))).collect();
        self.body += &format!("<dl>\n{facts}</dl>\n");
    }

    /// A table whose cells are HTML, the first of each row its name.
    pub(super) fn table(&mut self, columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        self.body += &table(columns, rows);
    }

    /// The page, with a script if it has one.
    pub(super) fn end(self, script: Option<&str>) -> SiteFile {
        let Self { path, title, body } = self;
        let root = "../".repeat(path.matches('/').count());
        let policy = script.map(|script| format!("; script-src '{}'", policy_of(script))).unwrap_or_default();
        let script = script.map_or_else(String::new, |script| format!("<script>{script}</script>\n"));
        let parts = PARTS.map(|(to, name)| format!("<a href=\"{root}{to}\">{name}</a>")).join(" · ");
        let title = escaped(&title);
        let header = format!(
            "<h1><a href=\"{root}index.html\">SFrame test bench</a>: {title}</h1>\n<nav>{parts}</nav>"
        );
        let head = head_of(&format!("{title}: SFrame test bench"), &header, &policy);
        (path, format!("{head}{body}{script}{FOOT}"))
    }
}

/// A link, where `to` is a path below the site's folder, seen from a page that is in it (`root` is empty) or below.
pub(super) fn link(root: &str, to: &str, text: &str) -> String {
    format!("<a href=\"{root}{}\">{}</a>", escaped(to), escaped(text))
}

/// A link to a page elsewhere, if it is one; otherwise the text.
pub(super) fn outside(to: &str) -> String {
    match to.starts_with("https://") || to.starts_with("http://") {
        true => format!("<a href=\"{0}\">{0}</a>", escaped(to)),
        false => escaped(to),
    }
}

/// A name as part of a path: what could lead elsewhere is replaced.
pub(super) fn file_name(name: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    let kept: String = name.chars().map(|c| if is_kept(c) { c } else { '-' }).collect();
    if kept.starts_with('.') { format!("-{kept}") } else { kept }
}

/// Hides the rows of the page's table that do not have all words of its field.
pub(super) const FILTER: &str = "\nconst field = document.getElementById('words'), count = document.getElementById('count');\n\
const rows = [...document.querySelectorAll('tbody tr')];\n\
const show = () => {\n\
  const words = field.value.toLowerCase().split(/\\s+/);\n\
  let left = 0;\n\
  for (const row of rows) {\n\
    const text = row.textContent.toLowerCase();\n\
    row.hidden = !words.every(word => text.includes(word));\n\
    left += row.hidden ? 0 : 1;\n\
  }\n\
  count.textContent = left + ' of ' + rows.length;\n\
};\n\
field.addEventListener('input', show);\n\
document.getElementById('search').hidden = false;\n\
const asked = new URLSearchParams(location.search).get('words');\n\
if (asked) field.value = asked;\n\
show();\n\
document.body.dataset.ready = '';\n";

/// The field of [`FILTER`].
pub(super) fn filter(what: &str) -> String {
    format!(
        "<p id=\"search\" role=\"search\" hidden><label>words in {what} <input id=\"words\" type=\"search\"></label> \
         <output id=\"count\" for=\"words\"></output></p>\n"
    )
}
