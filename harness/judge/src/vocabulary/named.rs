//! Enumerations whose values have names in specs and reports.

use super::suggest::{hint, quoted_list};

/// A name that is not among those allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{given}`{} (allowed: {})", self.suggestion(), quoted_list(self.allowed.iter().copied()))]
pub struct UnknownName {
    /// What kind of name it should have been, say "verdict".
    pub what: &'static str,
    /// What was given.
    pub given: String,
    /// What would have been allowed.
    pub allowed: &'static [&'static str],
}

impl UnknownName {
    fn suggestion(&self) -> String {
        hint(&self.given, self.allowed.iter().copied())
    }
}

/// Declares such an enumeration. Each name is written once, and used by
/// `Display`, `FromStr`, Serde and the JSON Schema.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $type:ident, $what:literal {
            $( $(#[$variant_meta:meta])* $variant:ident = $name:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum $type {
            $( $(#[$variant_meta])* #[serde(rename = $name)] $variant, )+
        }

        impl $type {
            /// Every value, in the order of the declaration.
            pub const ALL: &'static [Self] = &[$( Self::$variant ),+];
            const NAMES: &'static [&'static str] = &[$( $name ),+];

            /// The name, as specs and reports write it.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::vocabulary::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                match name {
                    $( $name => Ok(Self::$variant), )+
                    _ => Err($crate::vocabulary::UnknownName {
                        what: $what,
                        given: name.to_owned(),
                        allowed: Self::NAMES,
                    }),
                }
            }
        }
    };
}

pub use named;
