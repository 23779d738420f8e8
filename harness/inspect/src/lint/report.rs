//! The linter's findings in a file.

use serde::Serialize;
use sframe_engine::lint::{Rule, Severity};

#[cfg(feature = "cli")]
use super::catalogue::MISSING_FDE;
use crate::known::{Known, KnownFindings, Place};
use sframe_elf::function_code::FunctionCode;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::{Text, counted};

/// A place that breaks a rule, or has what the rule points out.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The rule's ID.
    pub rule: &'static str,
    /// The rule's name.
    pub name: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// Where, in bytes from the start of the section.
    pub offset: usize,
    /// The index of the FDE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fde: Option<u32>,
    /// The index of the row among its function's rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<u32>,
    /// The function, if a symbol names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The function's code, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<FunctionCode>,
    /// The clause of the specification, by number (of version 3) and title.
    pub clause: &'static str,
    /// The finding, in one sentence.
    pub message: String,
    /// The page of a known bug that it seems to come from, in short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    #[serde(skip)]
    pub(super) severity_rank: Severity,
    /// The number of functions that it is about, or 1.
    #[serde(skip)]
    pub(super) places: u64,
}

impl Finding {
    pub(super) fn new(rule: &'static Rule, offset: usize, message: String) -> Self {
        Self {
            rule: rule.id,
            name: rule.name,
            severity: rule.severity.name(),
            offset,
            fde: None,
            row: None,
            function: None,
            code: None,
            clause: rule.clause.title(),
            message,
            fault: None,
            severity_rank: rule.severity,
            places: 1,
        }
    }

    /// Returns the severity.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.severity_rank
    }
}

/// The number of findings of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Findings that break the format.
    pub errors: usize,
    /// Findings that are legal but unwise.
    pub warnings: usize,
    /// Facts.
    pub notes: usize,
}

impl Summary {
    /// Counts findings.
    pub(super) fn of(findings: &[Finding]) -> Self {
        let count = |severity| findings.iter().filter(|finding| finding.severity_rank == severity).count();
        Self {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
        }
    }
}

/// The linter's findings in a file: the output of `lint --json`.
#[derive(Clone, Debug, Serialize)]
pub struct LintReport {
    /// Version of this document's format.
    pub schema: u32,
    /// The file.
    pub file: String,
    /// The ABI that the section is for, if its header can be read.
    pub abi: Option<&'static str>,
    /// The version of the section, if its header can be read.
    pub sframe_version: Option<u8>,
    /// The number of findings.
    pub summary: Summary,
    /// Why it is not known whether as much has an FDE as was demanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage_unknown: Option<String>,
    /// The findings, sorted by section and position.
    pub findings: Vec<Finding>,
    /// Those that are known, which are not among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownFindings>,
}

/// The number of places shown for each rule in the text; all are counted.
const SHOWN: usize = 3;
/// The number of places shown for each rule whose breach is an error.
const SHOWN_ERRORS: usize = 10;

impl LintReport {
    /// Takes out what is known.
    pub fn settle(&mut self, known: &dyn Known) {
        self.known = KnownFindings::of(&self.file, &mut self.findings, known, |finding| Place {
            rule: [finding.rule, finding.name],
            function: finding.function.as_deref(),
            code: finding.code.as_ref(),
            row: None,
            fault: finding.fault.as_deref(),
            places: finding.places,
        });
        self.summary = Summary::of(&self.findings);
    }

    /// Whether functions without an FDE are among the findings.
    #[cfg(feature = "cli")]
    pub(crate) fn lacks_fdes(&self) -> bool {
        self.findings.iter().any(|finding| finding.rule == MISSING_FDE.id)
    }

    /// Returns the report as text: one paragraph for each rule, the most severe first.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = self.text_from(Severity::Note);
        if text.is_empty() {
            text.line(self.heading());
        } else {
            text.blank();
        }
        text
    }

    /// How many findings there are.
    #[must_use]
    pub fn conclusion(&self, ending: Ending) -> Conclusion {
        let Summary { errors, warnings, notes } = self.summary;
        let counts = [(errors, "error"), (warnings, "warning"), (notes, "note")];
        let counts = counts.map(|(count, name)| counted(count as u64, name)).join(", ");
        let is_uncovered = ending == Ending::Fail && errors == 0;
        let uncovered = is_uncovered.then(|| "less has an FDE than was demanded (SF416)".to_owned());
        let known = self.known.iter().map(KnownFindings::fact);
        let facts = uncovered.into_iter().chain([counts]).chain(self.coverage_unknown.clone());
        let facts = facts.chain(known).collect();
        Conclusion { ending, facts }
    }

    /// Returns what is wrong as text: the report without notes; nothing if there is nothing else.
    #[must_use]
    pub fn brief(&self) -> Text {
        let mut text = self.text_from(Severity::Warning);
        if let Some(why) = &self.coverage_unknown {
            text.line(format!("{}: {why}", self.heading()));
        }
        text
    }

    /// The name of the file, and what its section is.
    fn heading(&self) -> String {
        let what = match (self.sframe_version, self.abi) {
            (Some(version), Some(abi)) => format!(" (version {version}, {abi})"),
            _ => String::new(),
        };
        format!("{}{what}", self.file)
    }

    /// Returns what is at least as severe, below the heading; nothing if there is none.
    fn text_from(&self, least: Severity) -> Text {
        let mut text = Text::default();
        let mut rules: Vec<(Severity, &str)> =
            self.findings.iter().map(|finding| (finding.severity_rank, finding.rule)).collect();
        rules.retain(|(severity, _)| *severity >= least);
        rules.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        rules.dedup();
        if !rules.is_empty() {
            text.line(self.heading());
        }
        for (severity, rule) in rules {
            let findings: Vec<&Finding> =
                self.findings.iter().filter(|finding| finding.rule == rule).collect();
            let Some(first) = findings.first() else { continue };
            let times =
                if findings.len() == 1 { String::new() } else { format!(", {} times", findings.len()) };
            text.blank();
            let _ = writeln!(text, "{} {} {} ({}){times}", first.severity, rule, first.name, first.clause);
            let shown = if severity == Severity::Error { SHOWN_ERRORS } else { SHOWN };
            for finding in findings.iter().take(shown) {
                let _ = writeln!(text, "    {}{}", finding.place(), finding.message);
                finding
                    .fault
                    .iter()
                    .for_each(|fault| text.line(format!("      = matches known bug {fault}")));
            }
            if findings.len() > shown {
                let _ = writeln!(text, "    and {} more", findings.len() - shown);
            }
        }
        text
    }
}

impl Finding {
    fn place(&self) -> String {
        // Findings about the whole file have no place in the section.
        if self.rule.starts_with("SF4") {
            return String::new();
        }
        let mut place = format!("at {:#x}", self.offset);
        if let Some(fde) = self.fde {
            place += &format!(", FDE {fde}");
        }
        if let Some(function) = &self.function {
            place += &format!(" ({function})");
        }
        if let Some(row) = self.row {
            place += &format!(", row {row}");
        }
        place + ": "
    }
}
