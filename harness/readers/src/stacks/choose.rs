//! Which moments are kept: few, that show as much as all.

use std::collections::{BTreeMap, BTreeSet};

use sframe_judge::moments::Candidate;

/// What to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The most moments.
    pub moments: usize,
    /// Decides between those that are equally good.
    pub seed: u64,
    /// In how many moments, if possible, the same is shown.
    pub copies: u32,
}

impl Default for Choice {
    fn default() -> Self {
        Self { moments: 500, seed: 1, copies: 2 }
    }
}

/// The candidates of a program.
pub(super) struct Candidates {
    /// Bytes of the sections.
    pub(super) size: usize,
    pub(super) candidates: Vec<Candidate>,
}

/// What one frame costs, in bytes of the document.
const FRAME: usize = 250;
/// What a moment costs besides its frames.
const MOMENT: usize = 1500;

/// Mixes numbers into one: equal candidates are ordered by it.
fn mixed(seed: u64, program: usize, position: usize) -> u64 {
    let mut value = seed ^ (program as u64) << 32 ^ position as u64;
    for _ in 0..2 {
        value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^= value >> 31;
    }
    value
}

/// Chooses moments: the positions, by program. Each is the one that shows the most of what is not yet shown often
/// enough, for its size.
pub(super) fn choose(programs: &[Candidates], choice: &Choice) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all: Vec<(usize, usize, Vec<usize>, usize)> = Vec::new();
    for (program, of) in programs.iter().enumerate() {
        for candidate in &of.candidates {
            let covers = candidate.covers.iter().map(|it| {
                let next = numbers.len();
                *numbers.entry(it).or_insert(next)
            });
            let covers = covers.collect();
            all.push((program, candidate.position, covers, MOMENT + candidate.depth * FRAME));
        }
    }
    let mut shown = vec![0; numbers.len()];
    let mut chosen: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let mut count = 0;
    while count < choice.moments {
        let worth = |(program, position, covers, cost): &(usize, usize, Vec<usize>, usize)| {
            let gain = covers.iter().filter(|it| shown[**it] < choice.copies).count();
            let is_new = !chosen.contains_key(program);
            let cost = cost + if is_new { programs[*program].size * 2 } else { 0 };
            let worth = (gain as u64) << 32;
            (worth / cost.max(1) as u64, mixed(choice.seed, *program, *position))
        };
        let best = all.iter().enumerate().map(|(index, it)| (worth(it), index)).max();
        let Some(((worth, _), index)) = best else { break };
        if worth == 0 {
            break;
        }
        let (program, position, covers, _) = all.swap_remove(index);
        for it in covers {
            shown[it] += 1;
        }
        chosen.entry(program).or_default().insert(position);
        count += 1;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(position: usize, covers: &[&str], depth: usize) -> Candidate {
        Candidate { position, covers: covers.iter().map(|it| (*it).to_owned()).collect(), depth }
    }

    fn programs() -> Vec<Candidates> {
        vec![
            Candidates {
                size: 100,
                candidates: vec![candidate(0, &["a"], 1), candidate(5, &["a", "b", "c"], 1)],
            },
            Candidates {
                size: 90_000,
                candidates: vec![candidate(1, &["a", "b", "c"], 1), candidate(2, &["d"], 9)],
            },
        ]
    }

    #[test]
    fn what_shows_most_for_its_size_is_chosen_and_all_is_shown() {
        let choice = Choice { copies: 1, ..Choice::default() };
        let chosen = choose(&programs(), &choice);
        assert_eq!(chosen, [(0, [5].into()), (1, [2].into())].into());
        let one = choose(&programs(), &Choice { moments: 1, ..choice });
        assert_eq!(one, [(0, [5].into())].into());
    }

    #[test]
    fn the_seed_decides_between_equals() {
        let equals: Vec<Candidates> =
            (0..20).map(|_| Candidates { size: 10, candidates: vec![candidate(0, &["a"], 1)] }).collect();
        let of = |seed| choose(&equals, &Choice { seed, copies: 1, ..Choice::default() });
        assert_eq!(of(1), of(1));
        assert!((2..20).any(|seed| of(seed) != of(1)));
    }
}
