//! Manuals, doc comments and messages are plain English: phrases that readers stumbled over do not come back.
//!
//! The list is short, and has only what is never right here: a phrase that has another, good use is left to
//! reviewers.

use regex::Regex;

use crate::architecture::sources;
use crate::common::repository;
use crate::guide::pages;

/// Regular expressions, each with what to write instead and a sentence that it must find.
const PHRASES: &[(&str, &str, &str)] = &[
    (r"\btold (?:of|as|apart|once|twice|with)\b", "reported, listed", "It is told of on all ABIs."),
    (r"\btell(?:s|ing)? (?:\w+ ){0,3}apart\b", "distinguish", "Only SP tells such frames apart."),
    (r"\b(?:does not|doesn't|do not|don't|can't) tell\b", "show, decide", "The file does not tell which."),
    (r"\b(?:it|that|this|which|these|they) (?:is|are) none\b", "is not one", "A call that is none."),
    (
        r"(?:^|[^-`\w])behind (?:the|an?|it|its|that|this|what|such|each|those|these|them)\b",
        "after",
        "The code behind the call.",
    ),
    (
        r"\b(?:in|of|for|from|than|by|at|has) so many\b|\bso many (?:bytes|instructions)\b",
        "this many, at most",
        "One in so many runs.",
    ),
    (
        r"\bwhat is so\b|\b(?:if|where|whether|because) (?:it|that|this) is so\b",
        "say what is true",
        "Compared with what is so.",
    ),
    (r"\bbut for\b|\bbut those\b", "except", "All rows, but for those of the PLT."),
    (r"\bof which (?:nothing|it) is (?:not )?known\b", "unknown", "A value of which nothing is known."),
    (
        r"\bnobody (?:knows|calls|called|has called|can|says|observes)\b",
        "unknown; was never called",
        "Faults that nobody knows.",
    ),
    (r"\bin front\b", "before", "The instruction in front of the row."),
    (r"\bheeded\b", "handled", "An interrupt is heeded."),
    (r", too\b[.;:)]", "also", "A call raises it, too."),
];

/// How a doc comment begins that can't be read without the one before.
const LEANING: &str = r"^The same(?: (?:for|as|by|in|with|of|without|including)\b|[,.])";

struct Phrases {
    anywhere: Vec<(Regex, &'static str)>,
    leaning: Regex,
}

impl Phrases {
    fn new() -> Self {
        let regex = |text| Regex::new(text).expect("a regular expression");
        let anywhere = PHRASES.iter().map(|(phrase, instead, _)| (regex(phrase), *instead)).collect();
        Self { anywhere, leaning: regex(LEANING) }
    }

    /// Describes the phrases in a text, whose lines may break within them.
    fn find(&self, text: &str) -> Vec<String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = self.anywhere.iter().flat_map(|(phrase, instead)| {
            phrase.find_iter(&text).map(move |found| format!("`{}`: write: {instead}", found.as_str().trim()))
        });
        found.collect()
    }

    /// Describes the phrases in the doc comments and messages of a file, each with its line.
    fn find_in_code(&self, code: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (line, comment) in doc_comments(code) {
            let leans =
                self.leaning.is_match(&comment).then(|| "begins with `The same`: say what".to_owned());
            found
                .extend(self.find(&comment).into_iter().chain(leans).map(|fault| format!("{line}: {fault}")));
        }
        for (line, message) in messages(code) {
            found.extend(self.find(&message).into_iter().map(|fault| format!("{line}: {fault}")));
        }
        found
    }
}

/// The doc comments of a file, each with the line that it begins on.
fn doc_comments(code: &str) -> Vec<(usize, String)> {
    let mut comments: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (index, line) in code.lines().enumerate() {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        match text {
            Some(text) if is_open => {
                let (_, comment) = comments.last_mut().expect("an open comment");
                *comment = format!("{comment} {}", text.trim());
            }
            Some(text) => comments.push((index + 1, text.trim().to_owned())),
            None => {}
        }
        is_open = text.is_some();
    }
    comments
}

/// The string literals of a file outside its tests, each with the line that it begins on. What is escaped is
/// left as it is, except that a line that continues another is joined to it.
fn messages(code: &str) -> Vec<(usize, String)> {
    let literal =
        Regex::new(r#"(?m)//.*$|'(?:\\.|[^'\\])'|"((?:[^"\\]|\\[\s\S])*)""#).expect("an expression");
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let literals = literal.captures_iter(code).filter_map(|captures| captures.get(1));
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    literals.map(|text| (line(text.start()), text.as_str().replace("\\\n", ""))).collect()
}

#[test]
fn manuals_comments_and_messages_have_no_phrase_that_readers_stumble_over() {
    let phrases = Phrases::new();
    let pages = pages();
    assert!(pages.len() > 30, "{pages:?}");
    let mut faults = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(repository().join(&page)).expect("a page");
        let found = phrases.find(&text);
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", page.display())));
    }
    let mut files = 0;
    for (file, text) in sources() {
        files += 1;
        let found = phrases.find_in_code(&text);
        faults.extend(found.into_iter().map(|fault| format!("harness/{}:{fault}", file.display())));
    }
    assert!(files > 200, "{files} files");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_phrase_is_found_and_its_good_neighbours_are_not() {
    let phrases = Phrases::new();
    for (phrase, instead, sample) in PHRASES {
        let found = phrases.find(&sample.replacen(' ', "\n", 1));
        assert_eq!(found.len(), 1, "{phrase} in {sample}: {found:?}");
        assert!(found[0].ends_with(instead), "{found:?}");
    }
    for good in [
        "unless it is told not to",
        "a return address left behind is not",
        "so many functions share rows that it takes long",
        "`error-behind-the-end`, behind one trait",
        "the value is needed, but forms no row",
        "findings that nobody has explained",
        "if there is none, too many rows are left",
    ] {
        assert_eq!(phrases.find(good), Vec::<String>::new(), "{good}");
    }
}

#[test]
fn comments_and_messages_are_found_where_they_are() {
    let phrases = Phrases::new();
    let code = "/// Good.\nfn f() {\n    // A comment: behind the call.\n    g(\"behind \\\n       the call\", '\"');\n}\n\n\
                /// The same, for\n/// the code behind\n/// the call.\nfn h(behind: u8) {}\n\n\
                #[cfg(test)]\nmod tests {\n    const X: &str = \"behind the call\";\n}\n";
    let lines: Vec<String> = phrases.find_in_code(code);
    let places: Vec<&str> = lines.iter().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(places, ["8", "8", "4"], "{lines:?}");
    assert_eq!(phrases.find_in_code("/// The same seed gives the same programs.\nfn f() {}\n"), [""; 0]);
}
