//! What a rule of reading calls is.

/// A rule by which calls are read.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub text: &'static str,
    /// The program that needs it, of `corpus/constructed` or of the corpus.
    pub case: &'static str,
}
