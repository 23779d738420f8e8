//! JSON Schemas: of the documents that people write, for editors, and of those that the bench
//! writes, for programs that read them.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::Value;
use sframe_corpus::spec::{Fault, KnownFindings, Spec};
use sframe_judge::finding::Finding;
use sframe_judge::moments::Stacks;
use sframe_vectors::{Mistakes, Profiles, Readings};

use sframe_kit::conclusion::Concluded;
use sframe_readers::export::{ExportedVectors, VectorFile};
use sframe_samples::report::SamplesReport;
use sframe_suite::report::{Baseline, CheckReport, ExploreReport, Report};

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// `report.json` of a run, also of a shard or of `merge`.
    Report,
    /// What `check --json` prints, and `report.json` of a check.
    Check,
    /// What `explore --json` prints, and `report.json` of an exploration.
    Explore,
    /// What `samples --json` prints.
    Samples,
    /// A finding in any of these.
    Finding,
    /// What `baseline create` writes.
    Baseline,
    /// A line of the protocol for unwinders, from either side.
    Protocol,
    /// A spec.
    Spec,
    /// A file of known findings.
    Known,
    /// The page of a fault.
    Fault,
    /// What `export vectors` writes.
    Vectors,
    /// What `export vectors --format bin` writes beside each section.
    Vector,
    /// What `export stacks` writes, and `vectors --stacks` reads.
    Stacks,
    /// Profiles of readers, `profiles.yaml` of the vectors or a file of one's own.
    Profiles,
    /// The readings of the text, `readings.yaml` of the vectors.
    Readings,
    /// Usual mistakes of readers, `mistakes.yaml` of the vectors.
    Mistakes,
}

/// A line of the protocol: the bench writes requests, and replies with memory; the unwinder
/// writes answers.
#[derive(serde::Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Line {
    Request(Box<sframe_protocol::Request>),
    Reply(sframe_protocol::Reply),
    Answer(Box<sframe_protocol::Answer>),
}

impl Kind {
    /// Its schema, in the draft of 2020-12.
    #[must_use]
    pub(crate) fn schema(self) -> Value {
        match self {
            Self::Report => written::<Concluded<Report>>(),
            Self::Check => written::<Concluded<CheckReport>>(),
            Self::Explore => written::<Concluded<ExploreReport>>(),
            Self::Samples => written::<Concluded<SamplesReport>>(),
            Self::Finding => written::<Finding>(),
            Self::Baseline => written::<Baseline>(),
            // Unwinders may leave out what the bench writes.
            Self::Protocol => read::<Line>(),
            Self::Spec => read::<Spec>(),
            Self::Known => read::<KnownFindings>(),
            Self::Fault => read::<Fault>(),
            Self::Vectors => written::<ExportedVectors<'_>>(),
            Self::Vector => written::<VectorFile<'_>>(),
            Self::Stacks => written::<Stacks>(),
            Self::Profiles => read::<Profiles>(),
            Self::Readings => read::<Readings>(),
            Self::Mistakes => read::<Mistakes>(),
        }
    }
}

/// The schema of a document that the bench writes: what is always there is required.
fn written<T: JsonSchema>() -> Value {
    schema_of::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// The schema of a document that the bench reads.
fn read<T: JsonSchema>() -> Value {
    schema_of::<T>(SchemaSettings::draft2020_12())
}

fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    settings.with_transform(tidy).into_generator().into_root_schema_for::<T>().to_value()
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
    use clap::ValueEnum as _;
    use std::path::Path;

    const COMMAND: &str = "UPDATE_SCHEMA=1 cargo test --workspace --bin sframe-testbench schema";

    fn assert_current(name: &str, kind: Kind) {
        let current = kind.schema();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs").join(name);
        if std::env::var_os("UPDATE_SCHEMA").is_some_and(|value| value == "1") {
            std::fs::write(&path, format!("{current:#}\n")).expect("the schema is written");
        }
        // As values: the order of keys depends on features of serde_json.
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        let committed: Value = serde_json::from_str(&committed).unwrap_or_default();
        assert!(committed == current, "specs/{name} is outdated; rewrite it: {COMMAND}");
    }

    #[test]
    fn the_committed_schemas_are_current() {
        assert_current("spec.schema.json", Kind::Spec);
        assert_current("known.schema.json", Kind::Known);
        assert_current("fault.schema.json", Kind::Fault);
    }

    /// All mappings of a schema.
    fn objects(schema: &Value) -> impl Iterator<Item = &Value> {
        let definitions = schema["$defs"].as_object().expect("definitions");
        definitions.values().filter(|schema| schema["type"] == "object").chain([schema])
    }

    #[test]
    fn the_schemas_refuse_unknown_keys_everywhere() {
        for (kind, least) in [(Kind::Spec, 6), (Kind::Known, 2), (Kind::Fault, 3)] {
            let schema = kind.schema();
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
        for kind in Kind::value_variants() {
            let schema = kind.schema();
            for object in objects(&schema) {
                for (key, value) in object["properties"].as_object().into_iter().flatten() {
                    assert!(value["description"].is_string(), "{kind:?}: {key}: {value}");
                }
            }
        }
    }
}
