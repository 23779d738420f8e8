//! Bug reports: a page in the form of the tracker where its component is developed. What they ask for is done with public tools
//! alone, and they use no names of the bench.

use std::fmt::Write as _;

use sframe_corpus::spec::{Example, Fault, FaultySection, NO_ROW, Site};
use sframe_kit::text::{Text, neutral, wrapped};
use sframe_links::LinkPage;

use super::report::FaultReport;
use crate::report::{block, code};

/// Lines of plain text are no longer.
const WIDTH: usize = 76;

/// The form of a bug report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain text, with a summary for the field of that name: GNU's tracker.
    Bugzilla,
    /// Markdown: LLVM's, mold's and others'.
    Github,
    /// A letter to a list.
    Mail,
}

/// A report while it is written.
struct Writer {
    form: Form,
    text: String,
}

impl Writer {
    fn new(form: Form, component: &str, title: &str) -> Self {
        let title = format!("{component}: {}", in_line(title));
        let text = match form {
            Form::Bugzilla => format!("Summary: {title}\n"),
            Form::Github => format!("# {}\n", prose(&title)),
            Form::Mail => format!("Subject: {title}\n"),
        };
        Self { form, text }
    }

    fn heading(&mut self, heading: &str) {
        let _ = match self.form {
            Form::Github => writeln!(self.text, "\n### {heading}"),
            _ => writeln!(self.text, "\n{heading}:"),
        };
    }

    fn prose(&mut self, words: &str) {
        let _ = match self.form {
            Form::Github => writeln!(self.text, "\n{}", prose(words)),
            _ => writeln!(self.text, "\n{}", wrapped(&neutral(words), WIDTH)),
        };
    }

    fn lines<L: std::fmt::Display>(&mut self, lines: impl IntoIterator<Item = L>) {
        let mut text = Text::default();
        let indent = if self.form == Form::Github { "" } else { "    " };
        for line in lines {
            let line = format!("{indent}{line}");
            text.line(line.trim_end());
        }
        self.text.push('\n');
        self.text += &if self.form == Form::Github { block(&text) } else { format!("{text}") };
    }

    fn name(&self, name: &str) -> String {
        if self.form == Form::Github { code(name) } else { name.to_owned() }
    }
}

/// Writes the report of a fault. `made_by` is what the example's toolchain is, in words.
#[must_use]
pub fn upstream(report: &FaultReport<'_>, made_by: Option<&str>, form: Form) -> String {
    let FaultReport { fault, dump, .. } = report;
    let Fault { title, component, summary, section, sites, example, .. } = *fault;
    let Example { abi, sources, commands, program, function, row, wrong, right, .. } = example;
    let mut text = Writer::new(form, &component.name(), title);
    text.prose(summary);
    // What follows the tools is about SFrame.
    let tools = made_by.map(in_line).and_then(|tools| Some(tools.split(". ").next()?.to_owned()));
    let tried =
        tools.map_or_else(String::new, |tools| format!(" Tried with {}.", tools.trim_end_matches('.')));
    text.prose(&format!("Versions: {component}.{tried}"));
    for Site { file, abi, function, row, wrong, right } in sites {
        text.prose(&format!("In {file} for {abi}, {function}, at offset {row}, the rules are"));
        text.lines([wrong]);
        text.prose("and should be");
        text.lines([right]);
    }

    text.heading(if sites.is_empty() { "Steps to reproduce" } else { "The same mistake in a small program" });
    let written = sources.iter().flat_map(|(name, source)| {
        let begin = format!("$ cat > {name} <<'EOF'");
        [begin].into_iter().chain(source.lines().map(str::to_owned)).chain(["EOF".to_owned()])
    });
    let shown = match section {
        _ if example.is_crash() => Vec::new(),
        FaultySection::Sframe => vec![format!("$ objdump --sframe=.sframe {program}")],
        FaultySection::EhFrame => vec![format!("$ readelf --debug-dump=frames-interp {program}")],
    };
    let disassembled = (!example.is_crash()).then(|| format!("$ objdump --disassemble={function} {program}"));
    let made = commands.iter().map(|command| format!("$ {command}"));
    text.lines(written.chain(made).chain(shown).chain(disassembled));

    let place = match row {
        Some(row) => format!("From offset {row} of {} on ({abi})", text.name(function)),
        None => format!("In {} ({abi})", text.name(function)),
    };
    text.heading("Actual results");
    if example.is_crash() {
        text.prose("It crashes:");
    } else {
        text.prose(&format!("{place}, {} says:", text.name(section.as_str())));
    }
    text.lines([if wrong == NO_ROW { "nothing" } else { wrong }]);
    if !dump.is_empty() {
        text.lines(dump);
    }
    text.heading("Expected results");
    if right == NO_ROW {
        text.prose(&format!("{place}: nothing, since no rules are right there."));
    } else {
        text.prose(&format!("{place}:"));
        text.lines([right]);
    }
    text.text
}

/// Writes that of one that cases of `links` show: its objects are an attachment.
#[must_use]
pub fn link_upstream(page: &LinkPage, form: Form) -> String {
    let LinkPage { title, component, summary, .. } = page;
    let tool = component.split(' ').next().unwrap_or_default();
    let mut text = Writer::new(form, tool, title);
    text.prose(summary);
    text.prose(&format!("Versions: {component}."));
    text.heading("Steps to reproduce");
    text.prose("The objects and the commands are attached.");
    text.text
}

fn in_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text of a page, which may have no HTML.
fn prose(text: &str) -> String {
    neutral(&in_line(text)).replace('&', "&amp;").replace('<', "&lt;")
}
