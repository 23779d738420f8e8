//! The JSON Schemas of spec files, of files of known findings, and of pages of faults, for
//! editors.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::{Fault, KnownFindings, Spec};

/// The schema as text: what `specs/spec.schema.json` holds.
pub fn schema() -> String {
    schema_of::<Spec>()
}

/// The schema of files of known findings: what `specs/known.schema.json` holds.
pub fn schema_of_known() -> String {
    schema_of::<KnownFindings>()
}

/// The schema of pages of faults: what `specs/fault.schema.json` holds.
pub fn schema_of_fault() -> String {
    schema_of::<Fault>()
}

fn schema_of<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().with_transform(tidy);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    format!("{:#}\n", schema.as_value())
}

/// Makes a schema fit for people to read in their editors.
fn tidy(schema: &mut Schema) {
    // No key may be null: what an absent key means is in its description.
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    // Comments are wrapped for the source file, paragraph by paragraph.
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let paragraphs: Vec<String> = text.split("\n\n").map(|text| text.replace('\n', " ")).collect();
        *text = paragraphs.join("\n\n");
    }
    transform_subschemas(&mut tidy, schema);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const COMMAND: &str = "UPDATE_SCHEMA=1 cargo test --workspace --lib schema";

    fn assert_current(name: &str, current: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs").join(name);
        if std::env::var_os("UPDATE_SCHEMA").is_some_and(|value| value == "1") {
            std::fs::write(&path, current).expect("the schema is written");
        }
        // As values: the order of keys depends on features of serde_json.
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(value(&committed) == value(current), "specs/{name} is outdated; rewrite it: {COMMAND}");
    }

    #[test]
    fn the_committed_schemas_are_current() {
        assert_current("spec.schema.json", &schema());
        assert_current("known.schema.json", &schema_of_known());
        assert_current("fault.schema.json", &schema_of_fault());
    }

    /// All mappings of a schema.
    fn objects(schema: &Value) -> impl Iterator<Item = &Value> {
        let definitions = schema["$defs"].as_object().expect("definitions");
        definitions.values().filter(|schema| schema["type"] == "object").chain([schema])
    }

    #[test]
    fn the_schemas_refuse_unknown_keys_everywhere() {
        for (schema, least) in [(schema(), 6), (schema_of_known(), 2), (schema_of_fault(), 3)] {
            let schema: Value = serde_json::from_str(&schema).expect("JSON");
            let mut seen = 0;
            for object in objects(&schema) {
                assert_eq!(object["additionalProperties"], false, "{object}");
                seen += 1;
            }
            assert!(seen >= least, "only {seen} kinds of mapping");
        }
    }

    #[test]
    fn every_key_is_explained() {
        for schema in [schema(), schema_of_known(), schema_of_fault()] {
            let schema: Value = serde_json::from_str(&schema).expect("JSON");
            for object in objects(&schema) {
                for (key, value) in object["properties"].as_object().into_iter().flatten() {
                    assert!(value["description"].is_string(), "{key}: {value}");
                }
            }
        }
    }
}
