//! What exploring says of the rows that a run has not used, and of those that it found to be wrong.

use rustc_hash::{FxHashMap, FxHashSet};

use super::cache::{Cache, Entry};
use super::certainty::Certainty;
use super::error::ExploreError;
use super::exploration::{Exploration, ExploredFinding};
use super::file::{ExploredFile, SharedFile};
use super::options::ExploreOptions;
use super::progress::Progress;
use super::roots::Roots;
use super::rows::RowState;
use super::workers::{Job, explore_isolated};
use crate::examine::coverage::{Explored, UnexercisedRow};
use crate::external::isolation::Isolation;
use crate::finding::{Address, Blame, Confidence, Evidence, Finding, Side, Witness};
use crate::target::{Loaded, Module, SectionSource, Target};

/// Explores the images of processes.
#[derive(Clone, Debug)]
pub struct Explorer {
    /// How workers are started, and their limits.
    pub isolation: Isolation,
    /// The number of workers.
    pub jobs: usize,
    /// Where it is remembered what they have shown.
    pub cache: Option<Cache>,
}

/// Why a row that agrees is undecided.
const IN_PART: &str = "the row agrees where it was compared, but not all of its instructions were reached";

/// What exploring says of a row, and the finding or why there is none.
pub type Judged = (Explored, Option<String>);

/// What exploring says of rows, and what it proves of them, by the addresses of their first instructions.
type Known = (FxHashMap<u64, Judged>, FxHashMap<u64, Vec<Finding>>);

impl Explorer {
    /// Says of rows that a run has not used what exploring says, and adds it to the evidence of
    /// findings. The rows of an image that can't be explored are undecided. What is proved of rows
    /// that ran, and were excluded or have agreed, is returned; `rows` are all others, if anything ran.
    pub fn judge(
        &self,
        target: &Target<'_>,
        rows: &mut [UnexercisedRow],
        findings: &mut [Finding],
        has_run: bool,
        progress: &Progress,
    ) -> Vec<Finding> {
        let mut proved = Vec::new();
        for module in &target.modules {
            if module.section.is_none() {
                continue;
            }
            let is_in = |image: &Option<String>| *image == module.name;
            let asked = findings.iter_mut().filter(|finding| is_in(&finding.image) && finding.row.is_some());
            let mut asked: Vec<&mut Finding> = asked.collect();
            let rows = rows.iter_mut().filter(|row| is_in(&row.image));
            let mut known = self.explore(module, progress).map_err(|error| error.to_string());
            let mut not_compared = FxHashSet::default();
            for row in rows {
                let (says, reason) = match &known {
                    Ok((known, _)) => known.get(&row.pc.0).cloned().unwrap_or((Explored::Undecided, None)),
                    Err(error) => (Explored::Undecided, Some(error.clone())),
                };
                (row.explored, row.explored_reason) = (Some(says), reason);
                if row.used.is_never() {
                    let proof = known.as_mut().ok().and_then(|(_, proofs)| proofs.remove(&row.pc.0));
                    row.proof = proof.unwrap_or_default();
                } else {
                    not_compared.insert(row.pc.0);
                }
            }
            let Ok((known, mut proofs)) = known else { continue };
            for finding in &mut asked {
                let row = finding.row_pc.map(|row| row.0);
                let judged = row.and_then(|row| known.get(&row));
                // Then not everything else agrees that the call stack is wrong.
                if finding.blame == Blame::Bench && judged.is_some_and(|(says, _)| *says == Explored::Wrong) {
                    (finding.blame, finding.confidence) = (Blame::Unknown, Confidence::Low);
                }
                finding.evidence.extend(judged.map(evidence));
                row.and_then(|row| proofs.remove(&row));
            }
            let says_more = |(row, found): (u64, Finding)| {
                let more =
                    if not_compared.contains(&row) { "" } else { "; where it was compared, it agreed" };
                Finding { message: found.message.clone().and(more), ..found }
            };
            let mut proofs: Vec<(u64, Vec<Finding>)> = proofs.into_iter().collect();
            proofs.sort_unstable_by_key(|(row, _)| *row);
            let of_row = |(row, found): (u64, Vec<Finding>)| found.into_iter().map(move |found| (row, found));
            if has_run {
                proved.extend(proofs.into_iter().flat_map(of_row).map(says_more));
            }
        }
        proved
    }

    /// Returns what exploring says of the rows of an image, with the finding or why there is none, by the addresses in the
    /// file of their first instructions.
    ///
    /// # Errors
    /// It can't be explored.
    pub fn says_of(
        &self,
        module: &Module<'_>,
        progress: &Progress,
    ) -> Result<FxHashMap<u64, Judged>, ExploreError> {
        self.explore(module, progress).map(|(known, _)| known)
    }

    /// Explores an image. Returns what is known of its rows, and what is proved of them, by their
    /// first instructions' addresses in the file.
    fn explore(&self, module: &Module<'_>, progress: &Progress) -> Result<Known, ExploreError> {
        let source = if module.is_made() { SectionSource::EhFrame } else { SectionSource::Sframe };
        let bytes = module.image.bytes();
        let entry = self.cache.as_ref().map(|cache| cache.entry(bytes, source, module.debug, "rows"));
        if let Some((known, proofs)) = entry.as_ref().and_then(Entry::find::<Known>) {
            let of_image = |finding: Finding| Finding { image: module.name.clone(), ..finding };
            let of_image =
                |(row, found): (u64, Vec<Finding>)| (row, found.into_iter().map(of_image).collect());
            return Ok((known, proofs.into_iter().map(of_image).collect()));
        }
        let shared = SharedFile::of(bytes)?;
        let file = ExploredFile::of(bytes.to_vec(), source)?.named_by(module.debug.cloned());
        let target = file.open()?;
        let roots = Roots::of(&target);
        let options = ExploreOptions::default();
        let (file, debug) = (shared.path(), module.debug);
        // What all functions have shown is not needed again.
        let job = Job { file, debug, source, target: &target, roots: &roots, options, cache: None };
        let failures = progress.failures();
        let exploration = explore_isolated(&job, &self.isolation, self.jobs, progress)?;
        let mut proofs: FxHashMap<u64, Vec<Finding>> = FxHashMap::default();
        let proved = exploration.places().filter(|found| found.certainty == Certainty::Proved);
        for ExploredFinding { finding, .. } in proved {
            let Some(Address(row)) = finding.row_pc else { continue };
            let of_row = proofs.entry(row).or_default();
            // What is wrong first with a row is what it is known for.
            if of_row.first().is_none_or(|first| first.verdict == finding.verdict) {
                of_row.push(Finding { image: module.name.clone(), ..finding.clone() });
            }
        }
        let known = (by_row(&target, &exploration), proofs);
        if let Some(entry) = entry.filter(|_| progress.failures() == failures && !exploration.was_interrupted)
        {
            entry.remember(&known);
        }
        Ok(known)
    }
}

/// Returns what exploring the executable says of its rows, with the finding or why there is none, by the
/// addresses in the file of their first instructions.
#[must_use]
pub fn by_row(target: &Target<'_>, exploration: &Exploration) -> FxHashMap<u64, (Explored, Option<String>)> {
    let module = target.executable();
    let Some(section) = &module.section else { return FxHashMap::default() };
    let mut messages: FxHashMap<u64, String> = FxHashMap::default();
    // The surest ones come first.
    for found in exploration.findings() {
        let Some(Address(row)) = found.finding.row_pc else { continue };
        let message = match found.certainty {
            Certainty::Proved => found.finding.message.to_string(),
            Certainty::Possible => format!("{}; not proved: {}", found.finding.message, found.doubts_text()),
        };
        messages.entry(row).or_insert(message);
    }
    let mut known = FxHashMap::default();
    for fde in section.fdes().flatten() {
        for (index, row) in (0..).zip(section.rows(&fde).flatten()) {
            let pc = module.linked(Loaded(fde.start.wrapping_add(row.start.into()))).0;
            let judged = match exploration.states.get(&(fde.index, index)) {
                None => continue,
                Some(RowState::Agrees) => (Explored::Agrees, None),
                Some(RowState::Partly) => (Explored::Undecided, Some(IN_PART.to_owned())),
                Some(RowState::Proved) => (Explored::Wrong, messages.remove(&pc)),
                Some(RowState::Possible) => (Explored::Undecided, messages.remove(&pc)),
                Some(RowState::Undecided(_)) if exploration.was_interrupted => {
                    (Explored::Undecided, Some("interrupted".to_owned()))
                }
                Some(RowState::Undecided(why)) => (Explored::Undecided, Some(why.says().to_owned())),
            };
            known.insert(pc, judged);
        }
    }
    known
}

fn evidence((says, reason): &Judged) -> Evidence {
    let (says, agrees_with) = match says {
        Explored::Agrees => ("the row agrees on every path".to_owned(), Some(Side::Section)),
        Explored::Wrong => {
            ("the row is proved to be wrong without running".to_owned(), Some(Side::CallStack))
        }
        Explored::Undecided => (format!("undecided: {}", text(reason)), None),
    };
    Evidence::new(Witness::Exploration, says, agrees_with)
}

fn text(reason: &Option<String>) -> &str {
    reason.as_deref().unwrap_or("no reason")
}
