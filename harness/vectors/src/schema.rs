//! JSON Schemas of types that are written as text.

/// Describes the text of a type, with a regular expression of ECMA 262.
macro_rules! text_schema {
    ($type:ident, $description:literal, $pattern:literal) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "description": $description,
                    "type": "string",
                    "pattern": $pattern,
                })
            }
        }
    };
}

pub(crate) use text_schema;
