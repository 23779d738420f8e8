//! All mutants of a build in one run.
//!
//! A mutant's section gives the same answers as the true one, except at some
//! addresses. Whenever one of these is looked up, the mutant's step is compared
//! with the call stack, by the same code that compares every backtrace.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use sframe_engine::{LookupAddress, PauthKey, Recovery, RecoveryRule, Section};
use sframe_judge::calls::Readings;
use sframe_judge::compare::{Disagreement, Truth, Walked, compare_frame};
use sframe_judge::examine::Probe;
use sframe_judge::target::sections::Sections;
use sframe_judge::truth::stores::words;
use sframe_judge::unwind::{DEPTH_LIMIT, End, Frame, SframeUnwinder, State, Stepped, Stepper, Viewpoint};
use sframe_judge::vocabulary::Verdict;

/// A section's answer for an address, as far as it matters to an unwinder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Malformed,
    NoFde,
    NoRow,
    Row {
        cfa: Option<RecoveryRule>,
        ra: Recovery,
        fp: Recovery,
        /// The key, if RA is signed: it has no other use.
        mangled: Option<PauthKey>,
        signal: bool,
    },
}

impl Meaning {
    pub(super) fn of(section: &Section<'_>, address: LookupAddress) -> Self {
        let found = section.lookup_fde(address).and_then(|fde| {
            Ok((fde, fde.map(|fde| section.lookup_row(&fde, address)).transpose()?.flatten()))
        });
        match found {
            Err(_) => Self::Malformed,
            Ok((None, _)) => Self::NoFde,
            Ok((Some(_), None)) => Self::NoRow,
            Ok((Some(fde), Some(found))) => Self::Row {
                cfa: found.row.cfa,
                ra: found.row.ra,
                fp: found.row.fp,
                mangled: found.row.mangled_ra.then_some(fde.pauth_key),
                signal: fde.signal,
            },
        }
    }
}

/// Where a correct value of a mutant's rules came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    /// Where the frame's rules were looked up.
    pub(super) address: u64,
    /// Whether it was the topmost frame.
    pub(super) topmost: bool,
    /// Whether the caller had FP and SP at the same address.
    pub(super) callers_fp_is_sp: bool,
    /// The instructions that stored the words read by the step.
    pub(super) stored_by: Vec<u64>,
}

/// The outcome of a mutant.
#[derive(Clone, Debug, Default)]
pub(super) struct Trial {
    /// The verdict, if a comparison noticed it.
    pub(super) killed: Option<Verdict>,
    /// Whether an address was looked up for which its answer differs.
    pub(super) exercised: bool,
    /// How it was right when it was exercised, in frames with a caller.
    pub(super) uses: BTreeSet<Use>,
}

/// A mutant in a run.
struct Contender<'a> {
    sections: Sections<'a>,
    /// The mutated section.
    section: Section<'a>,
    /// Outside these addresses it is the same as the true one.
    scope: Option<std::ops::Range<u64>>,
    unwinder: Option<SframeUnwinder<'a>>,
    trial: Trial,
}

/// Tries the mutants of one section.
pub(super) struct Trials<'a> {
    /// The original section, and the addresses of its image.
    section: Section<'a>,
    image: std::ops::Range<u64>,
    unwinder: SframeUnwinder<'a>,
    sections: Sections<'a>,
    address_bits: u32,
    subjects: Vec<Contender<'a>>,
    /// The mutants whose answer differs for an address, determined when it is
    /// first looked up.
    affected: FxHashMap<LookupAddress, Vec<usize>>,
    /// The number of calls the last time.
    known_calls: usize,
}

impl<'a> Trials<'a> {
    pub(super) fn new(
        section: Section<'a>,
        image: std::ops::Range<u64>,
        sections: Sections<'a>,
        address_bits: u32,
    ) -> Self {
        Self {
            section,
            image,
            unwinder: SframeUnwinder::new(sections.clone(), address_bits),
            sections,
            address_bits,
            subjects: Vec::new(),
            affected: FxHashMap::default(),
            known_calls: 0,
        }
    }

    /// Adds a mutant: all sections, including the mutated one.
    pub(super) fn add(
        &mut self,
        sections: Sections<'a>,
        section: Section<'a>,
        scope: Option<std::ops::Range<u64>>,
    ) {
        let trial = Trial::default();
        self.subjects.push(Contender { sections, section, scope, unwinder: None, trial });
    }

    /// Returns the results of the mutants, in the order in which they were
    /// added.
    pub(super) fn results(self) -> Vec<Trial> {
        self.subjects.into_iter().map(|subject| subject.trial).collect()
    }

    fn find_affected(&mut self, address: LookupAddress) {
        if self.affected.contains_key(&address) {
            return;
        }
        let mut affected = Vec::new();
        if self.image.contains(&address.get()) {
            let meaning = Meaning::of(&self.section, address);
            for (index, subject) in self.subjects.iter().enumerate() {
                let is_meant = subject.scope.as_ref().is_none_or(|scope| scope.contains(&address.get()));
                if is_meant && Meaning::of(&subject.section, address) != meaning {
                    affected.push(index);
                }
            }
        }
        self.affected.insert(address, affected);
    }

    fn look(&mut self, frame: usize, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>) {
        let address = truth.address(frame);
        self.find_affected(address);
        let Some(affected) = self.affected.get_mut(&address) else { return };
        let mut of_the_true = None;
        affected.retain(|&index| {
            let subject = &mut self.subjects[index];
            subject.trial.exercised = true;
            if subject.trial.killed.is_some() {
                return false;
            }
            if !truth.has_caller(frame) {
                return true;
            }
            let (sections, bits) = (&subject.sections, self.address_bits);
            let unwinder =
                subject.unwinder.get_or_insert_with(|| SframeUnwinder::new(sections.clone(), bits));
            let step = Step::of(unwinder, frame, truth, viewpoint);
            let Some(found) = step.judge(frame, truth, &subject.sections) else {
                if subject.trial.uses.len() < USES {
                    let stored = |word: u64| Some(truth.stores?.last(word * 8)?.pc);
                    subject.trial.uses.insert(step.used(truth, frame, stored));
                }
                return true;
            };
            // A fault of the true section does not count as noticing the mutant.
            let of_the_true = *of_the_true.get_or_insert_with(|| {
                Step::of(&mut self.unwinder, frame, truth, viewpoint).judge(frame, truth, &self.sections)
            });
            if of_the_true.is_some_and(|known| known.verdict == found.verdict) {
                return true;
            }
            subject.trial.killed = Some(found.verdict);
            subject.unwinder = None;
            false
        });
    }
}

/// At most this many different uses of a mutant are kept.
pub(super) const USES: usize = 4096;

impl Probe for Trials<'_> {
    fn compared(&mut self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>, _: &dyn Fn() -> Readings) {
        if !truth.call_stack.is_settled() || truth.call_stack.departed().is_some() {
            return;
        }
        let calls = truth.call_stack.records().len();
        // The callers' frames that have not been examined yet.
        let new = calls - self.known_calls.min(truth.call_stack.kept());
        self.known_calls = calls;
        for frame in 0..=new.min(DEPTH_LIMIT) {
            self.look(frame, truth, viewpoint);
        }
    }
}

/// One step of an unwinder, from a frame of the call stack.
pub(super) struct Step {
    state: State,
    stepped: Stepped,
    words: Vec<u64>,
    frame: usize,
}

impl Step {
    pub(super) fn of(
        unwinder: &mut SframeUnwinder<'_>,
        frame: usize,
        truth: &Truth<'_>,
        viewpoint: &Viewpoint<'_>,
    ) -> Self {
        let state = truth.state(frame);
        let read = RefCell::new(Vec::new());
        let memory = |address: u64| {
            read.borrow_mut().extend(words(address, 8));
            viewpoint.memory.read_u64(address)
        };
        let topmost = (frame == 0).then_some(viewpoint);
        let stepped = unwinder.step(&state, topmost, &memory);
        Self { state, stepped, words: read.into_inner(), frame }
    }

    /// Whether it says that the topmost frame's caller is another one than the made-up one, of which alone exploring
    /// knows the frame.
    pub(super) fn is_for_another_caller(&self, truth: &Truth<'_>) -> bool {
        truth.call_of(self.frame).is_some_and(|call| self.stepped.cfa != Some(call.cfa))
    }

    fn judge(&self, frame: usize, truth: &Truth<'_>, rules: &Sections<'_>) -> Option<Disagreement> {
        let mut found = None;
        let _ = compare_frame(frame, truth, self, rules, None, &mut |disagreement| {
            found.get_or_insert(disagreement);
        });
        found
    }

    /// Says where its values came from. `stored` names the instruction that has stored a word, by the
    /// word's address / 8.
    pub(super) fn used(&self, truth: &Truth<'_>, frame: usize, stored: impl Fn(u64) -> Option<u64>) -> Use {
        let address = truth.address(frame);
        let mut stored_by: Vec<u64> = self.words.iter().copied().filter_map(stored).collect();
        stored_by.sort_unstable();
        stored_by.dedup();
        Use {
            address: address.get(),
            topmost: frame == 0,
            callers_fp_is_sp: truth.callers_fp_is_sp(frame),
            stored_by,
        }
    }
}

impl Walked for Step {
    fn count(&self) -> usize {
        self.frame + 1 + usize::from(self.stepped.caller.is_ok())
    }

    fn frame(&self, index: usize) -> Option<Frame> {
        match index.checked_sub(self.frame)? {
            0 => Some(self.state.frame(self.stepped.cfa, self.stepped.mangled)),
            1 => Some(self.stepped.caller.ok()?.frame(None, None)),
            _ => None,
        }
    }

    fn end(&self) -> End {
        self.stepped.caller.err().unwrap_or_default()
    }

    fn words_read(&self, _: usize) -> &[u64] {
        &self.words
    }
}
