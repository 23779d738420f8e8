//! What becomes of a program that a toolchain is given, and how what is found in all of them is told.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use sframe_corpus::corpus::{Error, MadeProgram};
use sframe_judge::vocabulary::Verdict;

/// What became of a program.
pub(super) enum Outcome<J, W> {
    /// What is known of it.
    Judged(J),
    /// It was made, and can't be judged: why.
    Unjudged(W),
    /// It was not made: what the tools say.
    Refused(String),
}

impl<J, W> Outcome<J, W> {
    /// Judges what a toolchain has made.
    ///
    /// # Errors
    /// The toolchain does not compile for the ABI, or can't be started.
    pub(super) fn of(
        made: Result<MadeProgram, Error>,
        judge: impl FnOnce(&[u8]) -> Result<J, W>,
    ) -> Result<Self, Error> {
        match made {
            Ok(made) => Ok(judge(&made.bytes).map_or_else(Self::Unjudged, Self::Judged)),
            Err(Error::Compiler { stderr, .. }) => Ok(Self::Refused(stderr)),
            Err(error) => Err(error),
        }
    }
}

/// Whether a verdict says that the values are wrong which a row gives.
pub(super) const fn is_of_value(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::WrongCfa | Verdict::WrongRa | Verdict::WrongFp)
}

/// Tells causes as a list.
pub(super) fn listed<C: Serialize, G: Serialize, S: Serializer>(
    causes: &BTreeMap<C, G>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Entry<'e, C, G> {
        #[serde(flatten)]
        cause: &'e C,
        #[serde(flatten)]
        group: &'e G,
    }
    serializer.collect_seq(causes.iter().map(|(cause, group)| Entry { cause, group }))
}
