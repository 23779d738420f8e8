//! Text that is written for people, most of which is not ours: names and
//! messages come from the files, specs and unwinders under test.
//!
//! [`Text`] is lines, and each is written at once: whatever is in it, it is one
//! line, has no character that a terminal obeys or a reader does not see, and
//! is no command for a CI system that reads the log. The command line prints
//! nothing else.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Deref;

use anstyle::Style;

/// Text without what is not seen or not printed as it is: control characters,
/// marks that change the direction of writing, separators of lines, spaces of
/// other widths, what joins others, and code points that are no characters; and
/// without commands for CI systems, which obey `##`, a word and a bracket
/// wherever they are in a line.
///
/// They are written as Rust writes them in a string, such as `\n` and
/// `\u{1b}`. A backslash is doubled where it would be read as the start of one
/// of these, so that the text can be had back.
#[must_use]
pub fn neutral(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'\\');
    if is_plain && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let mut neutral = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let starts_none =
            |c: char| matches!(c, ' '..='~') && !matches!(c, '\\' | '0' | 't' | 'r' | 'n' | 'u');
        match c {
            '\\' if !rest.clone().next().is_none_or(starts_none) => neutral.push_str(r"\\"),
            '#' if neutral.ends_with('#') && is_command(rest.as_str()) => neutral.push_str(r"\u{23}"),
            '\\' | '\'' | '"' => neutral.push(c),
            // The standard library knows what can be printed.
            c => neutral.extend(c.escape_debug()),
        }
    }
    if neutral.len() == text.len() { Cow::Borrowed(text) } else { Cow::Owned(neutral) }
}

/// Whether this, after `##`, makes a command of it.
fn is_command(rest: &str) -> bool {
    rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '#').starts_with('[')
}

/// Whether a character is written as it is.
#[must_use]
pub fn is_shown(c: char) -> bool {
    matches!(c, '\\' | '\'' | '"') || c.escape_debug().next() != Some('\\')
}

/// The same as [`neutral`], for the start of a line: GitHub's runner obeys one
/// that begins with `::`, whatever is before it of spaces.
fn line_of(text: &str) -> Cow<'_, str> {
    let mut text = neutral(text);
    let start = text.len() - text.trim_start().len();
    if text[start..].starts_with("::") {
        text.to_mut().replace_range(start..=start, r"\u{3a}");
    }
    text
}

/// Lines for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(String);

impl Text {
    /// A text of one line.
    #[must_use]
    pub fn of(line: impl fmt::Display) -> Self {
        let mut text = Self::default();
        text.line(line);
        text
    }

    /// Text that is not to be changed: it has no part that is not ours, or each
    /// of them is [`neutral`] already.
    #[must_use]
    pub const fn made_neutral(text: String) -> Self {
        Self(text)
    }

    /// A line.
    pub fn line(&mut self, line: impl fmt::Display) {
        self.0.push_str(&line_of(&line.to_string()));
        self.0.push('\n');
    }

    /// What `write!` and `writeln!` call: a line, whichever of them it is.
    ///
    /// # Errors
    /// None.
    pub fn write_fmt(&mut self, line: fmt::Arguments<'_>) -> fmt::Result {
        let line = line.to_string();
        self.line(line.strip_suffix('\n').unwrap_or(&line));
        Ok(())
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.0.push('\n');
    }

    /// Each line of a text, indented: what a tool has said in several.
    pub fn quote(&mut self, indent: &str, text: &str) {
        for line in text.lines() {
            self.line(format_args!("{indent}{line}"));
        }
    }

    /// A line of parts that are set off from one another, if they are to be.
    pub fn painted(&mut self, colour: bool, parts: &[(Style, &str)]) {
        if !colour {
            return self.line(parts.iter().map(|(_, part)| *part).collect::<String>());
        }
        for (style, part) in parts {
            let _ = write!(self.0, "{style}{}{style:#}", line_of(part));
        }
        self.0.push('\n');
    }

    /// All lines of another text.
    pub fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }
}

impl FromIterator<Text> for Text {
    fn from_iter<T: IntoIterator<Item = Self>>(parts: T) -> Self {
        parts.into_iter().fold(Self::default(), |mut text, part| {
            text.append(&part);
            text
        })
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A number with its thousands set off.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many of something, with its name in the plural where it has to be.
#[must_use]
pub fn counted(count: u64, name: &str) -> String {
    match count {
        1 => format!("1 {name}"),
        count => format!("{} {name}s", grouped(count)),
    }
}

/// An error with all that led to it, in a line.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        // Some errors repeat their cause in their own message.
        if !text.ends_with(&message) {
            text += &format!(": {message}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`neutral`] was given.
    fn original(neutral: &str) -> String {
        let mut text = String::new();
        let mut rest = neutral.chars();
        while let Some(c) = rest.next() {
            if c != '\\' {
                text.push(c);
                continue;
            }
            match rest.clone().next() {
                Some('\\') => text.push('\\'),
                Some('0') => text.push('\0'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('n') => text.push('\n'),
                Some('u') => {
                    let number: String = rest.by_ref().skip(2).take_while(|c| *c != '}').collect();
                    let number = u32::from_str_radix(&number, 16).expect("a number");
                    text.push(char::from_u32(number).expect("a character"));
                    continue;
                }
                _ => {
                    text.push('\\');
                    continue;
                }
            }
            rest.next();
        }
        text
    }

    #[test]
    fn what_is_not_seen_is_shown_and_can_be_had_back() {
        for (text, shown) in [
            ("plain_name@plt+0x1c", "plain_name@plt+0x1c"),
            ("größe→", "größe→"),
            ("a\nb\tc\r\0", r"a\nb\tc\r\0"),
            ("\u{1b}[2J\u{9b}31m\u{7f}", r"\u{1b}[2J\u{9b}31m\u{7f}"),
            ("\u{202e}\u{2066}\u{200b}\u{2028}\u{feff}", r"\u{202e}\u{2066}\u{200b}\u{2028}\u{feff}"),
            ("\u{fffe}\u{ffff}\u{10ffff}\u{e0041}\u{a0}", r"\u{fffe}\u{ffff}\u{10ffff}\u{e0041}\u{a0}"),
            (r"it'\''s a\b", r"it'\''s a\b"),
            (r"\n \u{1b} \\", r"\\n \\u{1b} \\\"),
        ] {
            assert_eq!(neutral(text), shown);
            assert_eq!(original(shown), text);
        }
        for c in (0..0x11_0000).filter_map(char::from_u32) {
            let text = format!("\\{c}\\");
            let shown = neutral(&text);
            assert_eq!(original(&shown), text);
            assert!(!shown.contains(|c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}')));
        }
    }

    #[test]
    fn a_line_is_one_line_and_no_command() {
        let mut text = Text::default();
        let [lines, line, command] = ["f\n::error::forged\n", "x\n", "::error::forged"];
        let [others, none] = ["##[error]forged ###vso[task.complete]", "# ## ## [x]"];
        let _ = writeln!(text, "{lines}");
        let _ = write!(text, "{line}");
        let _ = writeln!(text, "  {command}");
        let _ = writeln!(text, "a::b {others}");
        let _ = writeln!(text, "{none}");
        let _ = writeln!(text);
        assert_eq!(
            &*text,
            "f\\n::error::forged\\n\nx\n  \\u{3a}:error::forged\n\
             a::b #\\u{23}[error]forged #\\u{23}#vso[task.complete]\n# ## ## [x]\n\n"
        );
        let mut painted = Text::default();
        let red = Style::new().bold();
        painted.painted(true, &[(red, "::error::\u{1b}[0m"), (Style::new(), "\n")]);
        assert_eq!(&*painted, "\u{1b}[1m\\u{3a}:error::\\u{1b}[0m\u{1b}[0m\\n\n");
    }
}
