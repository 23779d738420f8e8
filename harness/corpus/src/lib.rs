//! What the suite is about: the specs and pages of faults that people write, and the programs,
//! toolchains and builds of the corpus that these speak of.
//!
//! ```text
//! YAML -> yaml -> spec -----+-> signs: which page describes a finding
//! manifest --> corpus ------+-> faults: what the example of a page shows
//! ```

pub mod corpus;
pub mod failure;
pub mod faults;
pub mod shard;
pub mod signs;
pub mod spec;
pub mod yaml;
