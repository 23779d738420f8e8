//! Names as they are in source code, for people.

use std::borrow::Cow;
use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

use super::neutral;

/// How much of a name is shown.
const LENGTH: usize = 100;

/// Returns a line with the names of C++ and Rust in it as they are in source code.
pub fn demangled(line: &str) -> Cow<'_, str> {
    if !line.contains("_Z") && !line.contains("_R") {
        return Cow::Borrowed(line);
    }
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let mut all = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(|c| is_of_name(c) || c == '\x1b') {
        let is_style = rest[start..].starts_with('\x1b');
        let end = match is_style {
            true => rest[start..].find('m').map_or(rest.len(), |len| start + len + 1),
            false => rest[start..].find(|c| !is_of_name(c)).map_or(rest.len(), |len| start + len),
        };
        let name = &rest[start..end];
        all.push_str(&rest[..start]);
        // What follows a slash is a file.
        let is_file = rest[..start].ends_with('/');
        match in_source(name).filter(|_| !is_style && !is_file) {
            Some(source) => all.push_str(&neutral(&source)),
            None => all.push_str(name),
        }
        rest = &rest[end..];
    }
    all.push_str(rest);
    Cow::Owned(all)
}

/// A name as it is in source code, if it is mangled.
fn in_source(name: &str) -> Option<String> {
    let mut start = Start::default();
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        // The alternate form is without the hash. What is too long is cut.
        let _ = write!(start, "{rust:#}");
    } else {
        // What compilers put behind a name tells its parts apart, such as `.cold`.
        let (name, part) = name.split_at(name.find('.').unwrap_or(name.len()));
        let symbol = Symbol::new(name).ok().filter(|_| name.starts_with("_Z"))?;
        let options = DemangleOptions::new().no_return_type();
        let _ = symbol.structured_demangle(&mut start, &options);
        let _ = start.write_str(part);
    }
    if start.is_cut {
        start.text.push_str("...");
    }
    Some(start.text).filter(|text| !text.is_empty())
}

/// Writes the start of a text: some short names stand for very long ones.
#[derive(Default)]
struct Start {
    text: String,
    is_cut: bool,
}

impl Write for Start {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if self.text.len() >= LENGTH {
                self.is_cut = true;
                return Err(fmt::Error);
            }
            self.text.push(c);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("in _ZN3foo3barEi@plt+0x4", "in foo::bar(int)@plt+0x4")]
    #[case("(_ZN4core3fmt5write17h0123456789abcdefE, f)", "(core::fmt::write, f)")]
    #[case("_RNvCs1234_7mycrate4main", "mycrate::main")]
    #[case("_Z1fv.cold", "f().cold")]
    #[case("\x1b[1m_Z1fv\x1b[0m", "\x1b[1mf()\x1b[0m")]
    #[case("in lib/_Z1fv.o: _Z1fv", "in lib/_Z1fv.o: f()")]
    #[case("_Znope _Zoo_Zoo _R main", "_Znope _Zoo_Zoo _R main")]
    fn names_are_those_of_the_source(#[case] line: &str, #[case] shown: &str) {
        assert_eq!(demangled(line), shown);
    }

    #[test]
    fn a_name_that_stands_for_a_very_long_one_is_cut() {
        let pair = |name: String, _| format!("St4pairI{name}{name}E");
        let name = (0..12).fold("i".to_owned(), pair);
        let line = format!("_Z1f{name}");
        let cut = demangled(&line);
        assert!(cut.len() <= LENGTH + 3, "{cut}");
    }
}
