//! A plain reader, which can read otherwise than the vectors do: as the text may be read elsewhere, or with a usual
//! mistake. It finds the answers of a reader that departs in a known way, so that such a reader can be recognised; it
//! is compared with the vectors as any reader is.

mod section;
mod table;
mod walk;
mod ways;

pub use ways::{Way, Ways};

use std::collections::BTreeMap;

use crate::answer::SectionAnswer;
use crate::expect::Reject;
use crate::question::SectionQuestion;
use section::Section;

/// Returns the answers of a reader that differs in these ways.
#[must_use]
pub fn answer(question: &SectionQuestion, ways: &Ways) -> SectionAnswer {
    let section = match Section::open(question, ways) {
        Ok(section) => section,
        Err(kind) => {
            let reject = Some(Reject { kind, offset: None });
            return SectionAnswer { reject, ..SectionAnswer::default() };
        }
    };
    let functions = section.functions();
    let lookups = question.lookups.iter().map(|lookup| section.look_up(&functions, *lookup));
    let steps = question.steps.iter().map(|step| section.step(&functions, step));
    SectionAnswer {
        reject: None,
        lookups: Some(lookups.collect()),
        steps: Some(steps.collect()),
        header: Some(section.header.clone()),
        fdes: Some(functions.into_iter().map(|function| function.fde).collect()),
        said: BTreeMap::new(),
    }
}
