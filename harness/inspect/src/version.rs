//! The version of these programs.

use std::sync::OnceLock;

/// The version of the bench: that of its packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that a release was built of, in hexadecimal, with `+changes` after it if files were changed.
/// `None` in development builds, and outside of a repository.
pub const COMMIT: Option<&str> = {
    let commit = env!("SFRAME_COMMIT");
    if commit.is_empty() { None } else { Some(commit) }
};

/// The version and the commit, as `--version` prints them.
#[must_use]
pub fn version() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| match COMMIT {
        Some(commit) => format!("{VERSION} ({})", short(commit)),
        None => format!("{VERSION} (development build)"),
    })
}

/// The commit's first digits.
fn short(commit: &str) -> String {
    let (digits, changes) = commit.split_once('+').map_or((commit, ""), |(digits, _)| (digits, ", changed"));
    let digits: String = digits.chars().take(12).collect();
    format!("{digits}{changes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_shortened_and_changes_are_told() {
        assert_eq!(short("0123456789abcdef0123"), "0123456789ab");
        assert_eq!(short("0123456789abcdef0123+changes"), "0123456789ab, changed");
    }
}
