//! The JSON Schema of spec files, for editors.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use serde_json::Value;

use super::Spec;

/// The schema as text: what `specs/spec.schema.json` holds.
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12().with_transform(tidy);
    let schema = settings.into_generator().into_root_schema_for::<Spec>();
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

    const COMMAND: &str = "UPDATE_SCHEMA=1 cargo test -p sframe-testbench schema";

    #[test]
    fn the_committed_schema_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs/spec.schema.json");
        let current = schema();
        if std::env::var_os("UPDATE_SCHEMA").is_some_and(|value| value == "1") {
            std::fs::write(&path, &current).expect("the schema is written");
        }
        // As values: the order of keys depends on features of serde_json.
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            value(&committed) == value(&current),
            "specs/spec.schema.json is outdated; rewrite it: {COMMAND}"
        );
    }

    #[test]
    fn the_schema_refuses_unknown_keys_everywhere() {
        let schema: Value = serde_json::from_str(&schema()).expect("JSON");
        let definitions = schema["$defs"].as_object().expect("definitions");
        let objects = definitions.values().filter(|schema| schema["type"] == "object");
        let mut seen = 0;
        for object in objects.chain([&schema]) {
            assert_eq!(object["additionalProperties"], false, "{object}");
            seen += 1;
        }
        assert!(seen >= 6, "only {seen} kinds of mapping");
    }

    #[test]
    fn every_key_is_explained() {
        let schema: Value = serde_json::from_str(&schema()).expect("JSON");
        let definitions = schema["$defs"].as_object().expect("definitions");
        for object in definitions.values().chain([&schema]) {
            for (key, value) in object["properties"].as_object().into_iter().flatten() {
                assert!(value["description"].is_string(), "{key}: {value}");
            }
        }
    }
}
