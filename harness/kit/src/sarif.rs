//! Logs in SARIF 2.1.0, for tools that show findings next to code.

use std::path::Path;

use serde_json::{Value, json};

use crate::text::{demangled, neutral};

/// Returns the log of one run of a program.
#[must_use]
pub fn document(
    program: &str,
    rules: &[Value],
    results: &[Value],
    notifications: &[Value],
    is_broken: bool,
) -> Value {
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": program,
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "invocations": [{
                "executionSuccessful": !is_broken,
                "toolExecutionNotifications": notifications,
            }],
            "originalUriBaseIds": { SOURCE_ROOT: {
                "description": { "text": "The folder in which the bench was run: the top of a repository." },
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// The name of the folder that relative paths start at: GitHub's own tools use it
/// for the root of a repository.
const SOURCE_ROOT: &str = "%SRCROOT%";

/// Returns a file, by its path relative to the working directory if it is in there.
#[must_use]
pub fn artifact(file: &str) -> Value {
    let folder = std::env::current_dir().unwrap_or_default();
    let path = Path::new(file).strip_prefix(&folder).ok().and_then(Path::to_str).unwrap_or(file);
    let path = path.trim_start_matches("./");
    if path.starts_with('/') {
        return json!({ "uri": format!("file://{}", uri(path).trim_start_matches("/.")) });
    }
    json!({ "uri": uri(path), "uriBaseId": SOURCE_ROOT })
}

/// Returns a message. `[text](target)` in a message is a link (3.11.6), which names
/// must not produce.
#[must_use]
pub fn message(text: &str) -> Value {
    json!({ "text": neutral(&demangled(text)).replace("](", r"]\u{28}") })
}

/// Returns a path as a URI reference (RFC 3986, 4.2).
#[must_use]
pub fn uri(path: &str) -> String {
    let mut uri = String::new();
    if path.starts_with("//") {
        // Must not be read as a host.
        uri.push_str("/.");
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~+,=@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_from_the_folder_of_the_run() {
        let inside = std::env::current_dir().expect("a folder").join("a/b c");
        let relative = json!({ "uri": "a/b%20c", "uriBaseId": "%SRCROOT%" });
        assert_eq!(artifact(inside.to_str().expect("a name")), relative);
        assert_eq!(artifact("./a/b c"), relative);
        assert_eq!(artifact("/else where"), json!({ "uri": "file:///else%20where" }));
        assert_eq!(artifact("//else"), json!({ "uri": "file:////else" }));
    }

    #[test]
    fn a_name_cannot_make_a_link() {
        assert_eq!(message("[a](http://b)\n")["text"], r"[a]\u{28}http://b)\n");
    }

    #[test]
    fn paths_become_uri_references() {
        assert_eq!(uri("corpus/builds/a.O2-pie"), "corpus/builds/a.O2-pie");
        assert_eq!(uri("a b:c%\u{e9}"), "a%20b%3Ac%25%C3%A9");
        assert_eq!(uri("//host/x"), "/.//host/x");
    }
}
