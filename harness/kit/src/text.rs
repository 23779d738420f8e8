//! Text for people, most of which comes from outside: names and messages from the
//! files, specs and unwinders under test.
//!
//! [`Text`] consists of lines, and each is written as a whole: whatever is in it,
//! it stays one line, has no character that a terminal interprets or that is
//! invisible, and is not a command for a CI system that reads the log. The command
//! line prints nothing else.

mod demangle;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Deref;

use anstyle::Style;
use textwrap::{Options, WordSeparator, WordSplitter};

pub use demangle::demangled;

/// Returns text with everything escaped that is invisible or not printed literally:
/// control characters, marks that change the direction of writing, line separators,
/// unusual spaces, joiners, and code points that are not characters. Commands for
/// CI systems, which recognize `##`, a word and a bracket anywhere in a line, are
/// escaped too.
///
/// Escapes are written as in Rust strings, such as `\n` and `\u{1b}`. A backslash
/// is doubled if it would be read as the start of an escape, so that the original
/// text can be recovered.
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
            // The standard library knows what is printable.
            c => neutral.extend(c.escape_debug()),
        }
    }
    if neutral.len() == text.len() { Cow::Borrowed(text) } else { Cow::Owned(neutral) }
}

/// Whether this text after `##` makes a command of it.
fn is_command(rest: &str) -> bool {
    rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '#').starts_with('[')
}

/// Whether a character is written literally.
#[must_use]
pub fn is_shown(c: char) -> bool {
    matches!(c, '\\' | '\'' | '"') || c.escape_debug().next() != Some('\\')
}

/// Does what [`neutral`] does, for the start of a line: GitHub's runner interprets
/// lines that begin with `::`, with or without leading spaces.
fn line_of(text: &str) -> Cow<'_, str> {
    let mut text = neutral(text);
    let start = text.len() - text.trim_start().len();
    if text[start..].starts_with("::") {
        text.to_mut().replace_range(start..=start, r"\u{3a}");
    }
    text
}

/// How wide lines are at most, in columns, where they can be wrapped.
pub const WIDTH: usize = 110;

/// Lines for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(String);

impl Text {
    /// Returns a text of one line.
    #[must_use]
    pub fn of(line: impl fmt::Display) -> Self {
        let mut text = Self::default();
        text.line(line);
        text
    }

    /// Wraps text that must not be changed: every part from outside has passed
    /// [`neutral`] already.
    #[must_use]
    pub const fn made_neutral(text: String) -> Self {
        Self(text)
    }

    /// Adds a line.
    pub fn line(&mut self, line: impl fmt::Display) {
        self.0.push_str(&line_of(&line.to_string()));
        self.0.push('\n');
    }

    /// Adds a line that begins with `begin`, and more lines, behind `indent`, where it would be too wide.
    pub fn wrap(&mut self, begin: &str, line: &str, indent: &str) {
        let options = Options::new(WIDTH)
            .initial_indent(begin)
            .subsequent_indent(indent)
            .break_words(false)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation);
        textwrap::wrap(line, options).into_iter().for_each(|line| self.line(line));
    }

    /// Adds a line, and more lines, each two columns further in, where it would be too wide.
    pub fn wrap_line(&mut self, line: &str) {
        let (indent, line) = line.split_at(line.len() - line.trim_start().len());
        self.wrap(indent, line, &format!("{indent}  "));
    }

    /// Adds a line; both `write!` and `writeln!` call this.
    ///
    /// # Errors
    /// Never fails.
    pub fn write_fmt(&mut self, line: fmt::Arguments<'_>) -> fmt::Result {
        let line = line.to_string();
        self.line(line.strip_suffix('\n').unwrap_or(&line));
        Ok(())
    }

    /// Returns it with names as they are in source code, except in lines with commands: they take names as in symbols.
    #[must_use]
    pub fn demangled(&self) -> Self {
        let mut text = Self::default();
        for line in self.0.lines() {
            let is_command = line.trim_start().starts_with("help: ");
            let shown = if is_command { Cow::Borrowed(line) } else { demangled(line) };
            text.0.push_str(&shown);
            text.0.push('\n');
        }
        text
    }

    /// Adds an empty line.
    pub fn blank(&mut self) {
        self.0.push('\n');
    }

    /// Adds each line of a text, indented, such as the output of a tool.
    pub fn quote(&mut self, indent: &str, text: &str) {
        for line in text.lines() {
            self.line(format_args!("{indent}{line}"));
        }
    }

    /// Adds a line of styled parts, in colour if asked for.
    pub fn painted(&mut self, colour: bool, parts: &[(Style, &str)]) {
        if !colour {
            return self.line(parts.iter().map(|(_, part)| *part).collect::<String>());
        }
        for (style, part) in parts {
            let _ = write!(self.0, "{style}{}{style:#}", line_of(part));
        }
        self.0.push('\n');
    }

    /// Adds all lines of another text.
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

/// Returns a number with its thousands separated.
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

/// Returns a count with its noun, in the plural if needed.
#[must_use]
pub fn counted(count: u64, name: &str) -> String {
    match count {
        1 => format!("1 {name}"),
        count => format!("{} {name}s", grouped(count)),
    }
}

/// Returns the first of some names, at most `most`, and the number of the others.
#[must_use]
pub fn first_of(names: &[impl AsRef<str>], most: usize) -> String {
    let shown = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<&str>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns a rate with its noun: in millions, if it is half a million or more.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate for people"
)]
pub fn per_second(count: u64, name: &str, seconds: f64) -> String {
    let rate = count as f64 / seconds.max(1e-6);
    if rate < 5e5 {
        format!("{} per second", counted(rate.round() as u64, name))
    } else {
        format!("{:.1} million {name}s per second", rate / 1e6)
    }
}

/// Breaks prose into lines of at most `width` characters, except for words that are longer.
#[must_use]
pub fn wrapped(prose: &str, width: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    for word in prose.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            text.push('\n');
            used = 0;
        }
        if used > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
    }
    text
}

/// Returns an error with all its causes, in one line.
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

    #[test]
    fn no_rate_is_rounded_to_nothing() {
        assert_eq!(per_second(12, "instruction", 10.0), "1 instruction per second");
        assert_eq!(per_second(20_000, "stop", 5.0), "4,000 stops per second");
        assert_eq!(per_second(50_000_000, "stop", 80.0), "0.6 million stops per second");
        assert_eq!(per_second(0, "stop", 0.0), "0 stops per second");
    }

    /// Reverses [`neutral`].
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
    fn invisible_characters_are_shown_and_can_be_restored() {
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
    fn a_line_stays_one_line_and_is_not_a_command() {
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
