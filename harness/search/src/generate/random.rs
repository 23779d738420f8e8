//! Seeded choices: the same seed chooses the same, on every machine.

use std::ops::RangeInclusive;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xorshift::XorShiftRng;

/// A source of choices.
#[derive(Clone, Debug)]
pub struct Random(XorShiftRng);

impl Random {
    /// The choices of one program of a seed. Programs are independent of one another, so that one can be
    /// made again without those before it.
    #[must_use]
    pub fn new(seed: u64, program: u64) -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..].copy_from_slice(&(program ^ 0x9e37_79b9_7f4a_7c15).to_le_bytes());
        let mut generator = XorShiftRng::from_seed(bytes);
        // Seeds that differ in few bits begin alike.
        (0..16).for_each(|_| {
            generator.next_u64();
        });
        Self(generator)
    }

    /// Returns a number below a bound, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bounds are small: the bias is far below what anybody would see.
        self.0.next_u64() % bound.max(1)
    }

    /// Returns a number of a range.
    pub fn within(&mut self, range: RangeInclusive<i64>) -> i64 {
        let count = range.end().abs_diff(*range.start()) + 1;
        range.start() + self.below(count).cast_signed()
    }

    /// Returns true in this many cases of a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns one of some values.
    ///
    /// # Panics
    /// There is none.
    pub fn pick<'t, T>(&mut self, values: &'t [T]) -> &'t T {
        let index = self.below(values.len() as u64);
        &values[usize::try_from(index).unwrap_or_default()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_number_choose_the_same_again_and_others_choose_otherwise() {
        let some = |seed, program| {
            let mut random = Random::new(seed, program);
            (0..20).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(some(1, 2), some(1, 2));
        assert_ne!(some(1, 2), some(1, 3));
        assert_ne!(some(1, 2), some(2, 2));
        let mut random = Random::new(0, 0);
        let numbers: Vec<i64> = (0..200).map(|_| random.within(-2..=2)).collect();
        assert!((-2..=2).all(|number| numbers.contains(&number)));
        assert!(numbers.iter().all(|number| (-2..=2).contains(number)));
    }
}
