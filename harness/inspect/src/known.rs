//! Findings that somebody has explained: they are counted, and fail nothing.

use std::collections::BTreeMap;

use serde::Serialize;
use sframe_elf::function_code::FunctionCode;
use sframe_kit::FindingRow;
use sframe_kit::text::counted;

/// A finding of `lint` or `diff`, by what lists of known ones name it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'f> {
    /// The rule of `lint`, by ID and by name; the field of `diff`, or `missing-fde`, twice.
    pub rule: [&'f str; 2],
    /// The function, if it has a name.
    pub function: Option<&'f str>,
    /// The function's code.
    pub code: Option<&'f FunctionCode>,
    /// The row, if it is told which.
    pub row: Option<&'f FindingRow>,
    /// The page of a known bug that it seems to come from, in short.
    pub fault: Option<&'f str>,
    /// The number of places that it is about: instructions, functions, or 1.
    pub places: u64,
}

/// Why a finding is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Why {
    /// What explains it.
    pub reason: String,
    /// Where somebody has written that, and at how many places of a file it may be; more are another finding.
    pub entry: Option<(String, u64)>,
}

/// What is known of findings.
pub trait Known {
    /// Why a finding is known, if it is. The file's name is as it was given.
    fn why(&self, file: &str, finding: &Place<'_>) -> Option<Why>;
}

/// Nothing is known.
impl Known for () {
    fn why(&self, _: &str, _: &Place<'_>) -> Option<Why> {
        None
    }
}

/// Findings that are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownFindings {
    /// The rule, by ID, or the field.
    pub rule: String,
    /// The function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// What explains them.
    pub reason: String,
    /// At how many places they are.
    pub places: u64,
    /// Where it is written down, and at how many places it may be, if the findings that it is about are at more: then none of
    /// them is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceeds: Option<(String, u64)>,
}

impl KnownFindings {
    /// Takes the known ones out of `findings`.
    pub(crate) fn of<T>(
        file: &str,
        findings: &mut Vec<T>,
        known: &dyn Known,
        place: impl Fn(&T) -> Place<'_>,
    ) -> Vec<Self> {
        let why: Vec<Option<Why>> = findings.iter().map(|finding| known.why(file, &place(finding))).collect();
        let mut all: BTreeMap<Why, u64> = BTreeMap::new();
        let mut places: BTreeMap<(Why, String, Option<String>), u64> = BTreeMap::new();
        for (finding, why) in findings.iter().zip(&why) {
            let Some(why) = why else { continue };
            let Place { rule: [rule, _], function, places: count, .. } = place(finding);
            *all.entry(why.clone()).or_default() += count;
            *places.entry((why.clone(), rule.to_owned(), function.map(str::to_owned))).or_default() += count;
        }
        let exceeds = |why: &Why| why.entry.clone().filter(|(_, most)| all[why] > *most);
        let mut why = why.into_iter();
        findings.retain(|_| why.next().flatten().is_none_or(|why| exceeds(&why).is_some()));
        let seen = |((why, rule, function), count): (&(Why, String, Option<String>), &u64)| Self {
            rule: rule.clone(),
            function: function.clone(),
            reason: why.reason.clone(),
            places: *count,
            exceeds: exceeds(why),
        };
        places.iter().map(seen).collect()
    }

    /// What there is to say of them, in a line.
    pub(crate) fn fact(&self) -> String {
        let places = counted(self.places, "place");
        let of = self.function.as_ref().map_or_else(String::new, |function| format!(" in {function}"));
        let what = format!("{}{of}, {places}", self.rule);
        match &self.exceeds {
            None => format!("known: {what}: {}", self.reason),
            Some((entry, most)) => format!("not known: {what}, and {entry} has {most}: {}", self.reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(u64);

    impl Known for List {
        fn why(&self, _: &str, finding: &Place<'_>) -> Option<Why> {
            let entry = Some(("list:3".to_owned(), self.0));
            (finding.function == Some("f")).then(|| Why { reason: "a reason".to_owned(), entry })
        }
    }

    /// How many findings are left of four, three of which are in a function of the list.
    fn left(most: u64) -> (usize, Vec<String>) {
        let mut findings = vec!["f", "g", "f", "f"];
        let known = KnownFindings::of("file", &mut findings, &List(most), |name| Place {
            rule: ["SF1", "rule"],
            function: Some(name),
            code: None,
            row: None,
            fault: None,
            places: 1,
        });
        (findings.len(), known.iter().map(KnownFindings::fact).collect())
    }

    #[test]
    fn what_is_at_more_places_than_the_list_says_is_not_known() {
        for enough in [3, 4] {
            assert_eq!(left(enough), (1, vec!["known: SF1 in f, 3 places: a reason".to_owned()]));
        }
        assert_eq!(
            left(2),
            (4, vec!["not known: SF1 in f, 3 places, and list:3 has 2: a reason".to_owned()])
        );
    }
}
