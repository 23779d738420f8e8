//! Who made the builds of the corpus.

use std::collections::BTreeMap;
use std::path::Path;

use sframe_engine::Version;

use super::{Error, Manifest, Toolchain};
use crate::spec::Producer;

impl Toolchain {
    /// Returns the producer of the builds of a toolchain of the corpus.
    fn producer(&self, corpus: &Path) -> Result<Producer, Error> {
        let named = Producer { toolchain: Some(self.name.clone()), ..Producer::default() };
        let Some(derive) = &self.derive else { return Ok(self.properties.or_those_of(&named)) };
        let invalid = |message: String| Error::Invalid { path: Self::path_in(corpus, &self.name), message };
        let from = Self::load_of_corpus(&Self::path_in(corpus, &derive.from))?;
        if from.derive.is_some() {
            return Err(invalid(format!("`{}`, which it is made of, does not compile", derive.from)));
        }
        // `load_of_corpus` has checked that there is one.
        let version = self.sframe_version.and_then(Version::from_number);
        let version = version.ok_or_else(|| invalid("it needs `sframe_version`".to_owned()))?;
        Ok(from.producer(corpus)?.derived(&self.name, version))
    }
}

impl Manifest {
    /// Returns the producers of the builds, by toolchain name.
    ///
    /// # Errors
    ///
    /// The definition of a toolchain that has a build is missing or invalid.
    pub fn producers(&self, corpus: &Path) -> Result<BTreeMap<String, Producer>, Error> {
        let mut producers = BTreeMap::new();
        for build in &self.builds {
            if !producers.contains_key(&build.toolchain) {
                let toolchain = Toolchain::load_of_corpus(&Toolchain::path_in(corpus, &build.toolchain))?;
                producers.insert(build.toolchain.clone(), toolchain.producer(corpus)?);
            }
        }
        Ok(producers)
    }
}
