//! What the names in reports mean: the documentation of the enumerations that they are values of,
//! as their JSON Schemas have it.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The names of a type, and what each means, in sentences: those of the values of an enumeration,
/// or of the fields of a structure. A name without documentation is left out.
#[must_use]
pub fn meanings<T: JsonSchema>() -> BTreeMap<String, String> {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    let described = |name: &str, schema: &Value| {
        let words: Vec<&str> = schema.get("description")?.as_str()?.split_whitespace().collect();
        Some((name.to_owned(), words.join(" ").replace('`', "")))
    };
    let list = |key: &str| Schema::get(&schema, key).and_then(Value::as_array).into_iter().flatten();
    let value = |schema: &Value| described(schema.get("const")?.as_str()?, schema);
    let fields = Schema::get(&schema, "properties").and_then(Value::as_object).into_iter().flatten();
    let fields = fields.filter_map(|(name, schema)| described(name, schema));
    list("oneOf").filter_map(value).chain(fields).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Outcome;
    use sframe_judge::examine::WalkEnds;
    use sframe_judge::explore::Certainty;
    use sframe_judge::finding::{Blame, Confidence, Witness};
    use sframe_judge::vocabulary::Verdict;

    fn names<T: serde::Serialize>(values: impl IntoIterator<Item = T>) -> Vec<String> {
        let name = |value| serde_json::to_value(value).ok()?.as_str().map(str::to_owned);
        let mut names: Vec<String> = values.into_iter().filter_map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn every_name_in_a_report_has_a_sentence() {
        let of = |meanings: BTreeMap<String, String>| {
            assert!(meanings.values().all(|text| text.len() > 5 && text.ends_with('.')), "{meanings:?}");
            meanings.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(of(meanings::<Verdict>()), names(Verdict::ALL));
        assert_eq!(of(meanings::<Outcome>()), names(Outcome::ALL));
        assert_eq!(of(meanings::<Blame>()), names(Blame::ALL));
        assert_eq!(of(meanings::<Confidence>()), ["high", "low", "medium"]);
        assert_eq!(of(meanings::<Certainty>()), ["possible", "proved"]);
        assert_eq!(of(meanings::<Witness>()).len(), 6);
        let ends = serde_json::to_value(WalkEnds::default()).expect("JSON");
        let ends: Vec<&String> = ends.as_object().expect("an object").keys().collect();
        assert_eq!(of(meanings::<WalkEnds>()).iter().collect::<Vec<_>>(), ends);
    }
}
