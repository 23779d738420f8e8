//! Findings for a terminal: what is wrong, where, and what each witness says
//! about it.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;

use anstyle::{AnsiColor, Style as Ansi};
use sframe_corpus::spec::Blame;
use sframe_inspect::command::{Volume, volume};
use sframe_judge::finding::{Finding, Group, Message, Witness};
use sframe_judge::vocabulary::Verdict;
use sframe_kit::text::{Text, counted};

use super::omission;

/// How text is highlighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// With escape sequences for colours.
    pub colour: bool,
    /// How much is said.
    pub volume: Volume,
}

impl Style {
    /// The style for standard output: in colour on a terminal, unless `NO_COLOR`
    /// is set; as loud as this process is to be.
    #[must_use]
    pub fn for_stdout() -> Self {
        let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let colour = is_wanted && std::io::stdout().is_terminal();
        Self { colour, volume: volume() }
    }

    /// Whether only what is wrong is said, and the last lines.
    #[must_use]
    pub fn is_brief(self) -> bool {
        self.volume == Volume::Quiet
    }

    /// Whether long lists are not cut.
    #[must_use]
    pub fn is_full(self) -> bool {
        self.volume == Volume::Verbose
    }
}

const PLAIN: Ansi = Ansi::new();
const BOLD: Ansi = Ansi::new().bold();
const DIM: Ansi = Ansi::new().dimmed();
const WRONG: Ansi = AnsiColor::Red.on_default().bold();
const RULER: Ansi = AnsiColor::Blue.on_default().bold();
const HELP: Ansi = AnsiColor::Cyan.on_default();

/// Findings of one cause, in words.
pub(super) trait Described {
    /// How often, and at how many places; empty for once at one place.
    fn extent(&self) -> String;

    /// The whole group in one line.
    fn sentence(&self) -> String;

    /// Writes that line.
    fn line(&self, text: &mut Text, indent: &str, style: Style);

    /// The likely cause. `None` for findings about a whole run; those about a whole section have one.
    fn blame(&self) -> Option<String>;

    /// Writes the whole group with the instructions around it and the
    /// witnesses' statements. `file` is where it was found.
    fn diagnostic(&self, text: &mut Text, file: &str, style: Style);
}

impl Described for Group<'_> {
    fn extent(&self) -> String {
        let of_row = if self.first.row.is_some() { " of this row" } else { "" };
        match (self.places.saturating_sub(1), self.hits) {
            (0, 0 | 1) => String::new(),
            (0, hits) => format!(" ({hits} times)"),
            (more, 0) => format!(" (and at {}{of_row})", counted(more, "more place")),
            (more, hits) => {
                format!(" (and at {}{of_row}; {})", counted(more, "more place"), counted(hits, "time"))
            }
        }
    }

    fn sentence(&self) -> String {
        format!("{:<11} {}", self.first.verdict, in_a_line(self))
    }

    fn line(&self, text: &mut Text, indent: &str, style: Style) {
        let verdict = format!("{:<11}", self.first.verdict);
        let says = format!(" {}", in_a_line(self));
        text.painted(style.colour, &[(PLAIN, indent), (WRONG, &verdict), (PLAIN, &says)]);
    }

    fn blame(&self) -> Option<String> {
        Some(match self.first.blame {
            Blame::Unknown if self.first.pc.is_none() || self.first.verdict.is_of_specs() => return None,
            Blame::Unknown => "cause unknown".to_owned(),
            blame => format!("likely cause: {blame} (confidence {})", self.first.confidence),
        })
    }

    fn diagnostic(&self, text: &mut Text, file: &str, style: Style) {
        let finding = self.first;
        let function = finding.function.as_ref().map(|function| format!(" in {function}"));
        let blame = self.blame().map(|blame| format!(": {blame}"));
        let rest = function.unwrap_or_default() + &blame.unwrap_or_default();
        text.painted(style.colour, &[(WRONG, finding.verdict.as_str()), (BOLD, &rest)]);
        let Message { place, says } = &finding.message;
        let place = place.as_ref().map_or_else(String::new, |place| format!(": {place}"));
        let place = format!(" {file}{place}");
        text.painted(style.colour, &[(PLAIN, "  "), (RULER, "-->"), (PLAIN, &place)]);
        if !finding.listing.is_empty() {
            listing(finding, text, style);
        }
        note(text, style, "", &format!("{says}{}", self.extent()));
        for evidence in &finding.evidence {
            // The section's row is in the sentence above.
            if evidence.witness == Witness::Reader && finding.row.is_some() {
                continue;
            }
            let side = evidence.side().map_or_else(String::new, |side| format!(" {side}"));
            note(text, style, &format!("{}{side}: ", evidence.witness), &evidence.says.to_string());
        }
        if let Some(hint) = &finding.hint {
            note(text, style, "hint: ", &hint.to_string());
        }
        if let Some(fault) = &finding.fault {
            note(
                text,
                style,
                "matches known bug ",
                &format!("{fault} (sframe-testbench faults {})", fault.name),
            );
        }
    }
}

/// What is wrong, how often, what the unwinder may have mistaken, and which page describes it.
pub(super) fn in_a_line(group: &Group<'_>) -> String {
    let Finding { message, hint, fault, .. } = group.first;
    let hint = hint.as_ref().map_or_else(String::new, |hint| format!("; hint: {hint}"));
    let fault =
        fault.as_ref().map_or_else(String::new, |fault| format!("; matches known bug {}", fault.brief()));
    format!("{message}{}{hint}{fault}", group.extent())
}

/// Writes the instructions, with a row's start before its first one.
fn listing(finding: &Finding, text: &mut Text, style: Style) {
    /// As wide as `+0xfff`.
    const START: usize = 8;
    // A return address points past the call that it is about.
    let here = finding.listing.iter().rposition(|line| match finding.frame {
        Some(0) | None => finding.pc.is_some_and(|pc| line.pc <= pc),
        Some(_) => finding.pc.is_some_and(|pc| line.pc < pc),
    });
    let mut row = None;
    for (index, line) in finding.listing.iter().enumerate() {
        let start = match line.row {
            _ if row == Some(line.row) => String::new(),
            Some(start) => format!("+{start}"),
            None => "no row".to_owned(),
        };
        row = Some(line.row);
        let instruction = format!("{}  {}", line.pc, line.text);
        let (arrow, of_it) = if here == Some(index) { ("-->", WRONG) } else { ("   ", PLAIN) };
        let start = format!("{start:>START$}");
        let space = (PLAIN, " ");
        let parts =
            [(DIM, &*start), space, (RULER, "|"), space, (of_it, arrow), space, (of_it, &instruction)];
        text.painted(style.colour, &parts);
    }
}

/// Describes findings that are not shown: groups beyond the limit, and findings
/// that are only counted.
pub(super) fn not_shown(
    groups: usize,
    shown: usize,
    omitted: &BTreeMap<Verdict, u64>,
) -> impl Iterator<Item = String> {
    let more = groups.checked_sub(shown).filter(|more| *more > 0);
    let more = more.map(|more| match more {
        1 => "and 1 more row or finding".to_owned(),
        more => format!("and {more} more rows or findings"),
    });
    more.into_iter().chain(omission(omitted))
}

/// Writes a command to continue with.
pub(super) fn help(text: &mut Text, command: &str, style: Style) {
    text.painted(style.colour, &[(PLAIN, "    "), (BOLD, "help:"), (PLAIN, " "), (HELP, command)]);
}

pub(super) fn note(text: &mut Text, style: Style, who: &str, says: &str) {
    let parts = [(PLAIN, "      "), (RULER, "="), (PLAIN, " "), (BOLD, who), (PLAIN, says)];
    text.painted(style.colour, &parts);
}

/// A command with one more option, which comes before what the command passes on to a program.
pub(super) fn with_option(command: &str, option: &str) -> String {
    let mut quoted = false;
    let mut letters = command.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            '\'' => quoted = !quoted,
            '\\' if !quoted => {
                letters.next();
            }
            ' ' if !quoted && (command[index..].starts_with(" -- ") || &command[index..] == " --") => {
                let (own, passed_on) = command.split_at(index);
                return format!("{own} {option}{passed_on}");
            }
            _ => {}
        }
    }
    format!("{command} {option}")
}

/// Quotes an argument for a shell.
#[must_use]
pub fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sframe_judge::finding::{Address, Confidence, Evidence, FindingRow, ListedInstruction, Side, groups};

    fn finding(function: &str, pc: u64) -> Finding {
        let row = FindingRow {
            start: Address(4),
            rules: "CFA = SP+8, RA = *(CFA-8), FP unchanged".parse().expect("rules"),
        };
        let line = |pc, row| ListedInstruction { pc: Address(pc), text: "nop".to_owned(), row };
        let place = format!("{function}+{:#x} ({pc:#x})", pc - 0x100);
        let message = Message::at(place, "CFA is 0x8, the call stack has 0x10");
        Finding {
            pc: Some(Address(pc)),
            function: Some(function.to_owned()),
            frame: Some(0),
            row: Some(row),
            blame: Blame::ProducerAssembler,
            confidence: Confidence::High,
            evidence: vec![Evidence::new(Witness::Cfi, ".eh_frame: CFA = SP+16", Some(Side::CallStack))],
            listing: vec![line(0x100, Some(Address(0))), line(0x104, Some(Address(4))), line(0x108, None)],
            ..Finding::of_spec(Verdict::WrongCfa, "0x10", "0x8", message)
        }
    }

    #[test]
    fn a_diagnostic_shows_rows_the_instruction_and_who_says_what() {
        let findings = [finding("f", 0x104), finding("f", 0x106)];
        let groups = groups(&findings);
        let [group] = groups[..] else { panic!("{groups:?}") };
        let mut text = Text::default();
        group.diagnostic(&mut text, "a.out", Style::default());
        assert_eq!(
            &*text,
            "wrong-cfa in f: likely cause: producer-assembler (confidence high)\n  \
             --> a.out: f+0x4 (0x104)\n    \
             +0x0 |     0x100  nop\n    \
             +0x4 | --> 0x104  nop\n  \
             no row |     0x108  nop\n      \
             = CFA is 0x8, the call stack has 0x10 (and at 1 more place of this row; 2 times)\n      \
             = CFI agrees with the call stack: .eh_frame: CFA = SP+16\n"
        );
    }

    #[test]
    fn names_cannot_control_the_terminal() {
        let finding = finding("\u{1b}[2Jf\u{202e}\r\n", 0x104);
        let group = groups(std::slice::from_ref(&finding))[0];
        for style in [Style::default(), Style { colour: true, ..Style::default() }] {
            let mut text = Text::default();
            group.diagnostic(&mut text, "\u{7}", style);
            group.line(&mut text, "", style);
            assert!(!text.contains(['\u{202e}', '\r', '\u{7}']) && !text.contains("\u{1b}[2J"), "{text:?}");
            assert_eq!(text.contains('\u{1b}'), style.colour);
            assert!(text.contains("\\u{1b}[2Jf\\u{202e}"), "{text:?}");
        }
    }

    #[test]
    fn an_option_is_the_commands_own_and_not_its_programs() {
        for (command, expected) in [
            ("check a", "check a -r"),
            ("check a -- b", "check a -r -- b"),
            ("check 'a -- b' -- '-- c'", "check 'a -- b' -r -- '-- c'"),
            (r"check 'it'\''s -- b'", r"check 'it'\''s -- b' -r"),
        ] {
            assert_eq!(with_option(command, "-r"), expected);
        }
    }

    #[test]
    fn arguments_are_quoted_where_a_shell_would_read_them_otherwise() {
        assert_eq!(quoted("a/b.O2-pie"), "a/b.O2-pie");
        assert_eq!(quoted("it's $(here)"), r"'it'\''s $(here)'");
        assert_eq!(quoted(""), "''");
    }
}
