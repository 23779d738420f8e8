//! How derived toolchains make their builds.

use std::collections::BTreeMap;

use serde::Deserialize;
use sframe_engine::{Abi, Version};
use sframe_inspect::convert::layout::Layout;

/// How a derived toolchain makes its builds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Derive {
    /// The toolchain whose builds are converted.
    pub from: String,
    /// The ABIs; all of that toolchain's if not given.
    pub abis: Option<Vec<Abi>>,
    /// The programs.
    pub programs: Vec<String>,
    /// The variants of the builds, each with the layout of the derived section.
    pub variants: BTreeMap<String, Layout>,
}

/// Returns the command that derives a file from `from`, a path under `builds`, as in
/// the manifest.
pub(super) fn command(version: Version, layout: &Layout, from: &str) -> String {
    let name = from.rsplit_once('/').map_or(from, |(_, name)| name);
    let mut command = vec!["sframe-testbench convert".to_owned(), format!("--to={version}")];
    command.extend(layout.options());
    command.extend([format!("--elf={name}"), format!("../builds/{from}")]);
    command.join(" ")
}
