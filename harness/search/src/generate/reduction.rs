//! How what shows something is made smaller: as long as it shows that.

/// What a plan becomes by one change each.
pub(super) struct Smaller<'p, P> {
    plan: &'p P,
    all: Vec<P>,
}

impl<'p, P: Clone + PartialEq> Smaller<'p, P> {
    pub(super) const fn than(plan: &'p P) -> Self {
        Self { plan, all: Vec::new() }
    }

    /// Adds the plan with a change, if that changes anything.
    pub(super) fn with(&mut self, change: impl FnOnce(&mut P)) {
        let mut smaller = self.plan.clone();
        change(&mut smaller);
        if smaller != *self.plan {
            self.all.push(smaller);
        }
    }

    pub(super) fn plans(self) -> Vec<P> {
        self.all
    }
}

/// Reduces the first of some plans that shows something, if one does, and returns what is known of the
/// smallest one. Every plan that is `smaller` than the best is tried, the greatest step first, as long as one
/// of them shows it: what was dropped may make other things needless. At most `most` plans are tried.
pub(super) fn reduce<P: PartialEq, K, E>(
    plans: impl IntoIterator<Item = P>,
    most: u32,
    smaller: impl Fn(&P) -> Vec<P>,
    mut shows: impl FnMut(&P) -> Result<Option<K>, E>,
) -> Result<Option<(P, K)>, E> {
    let (mut tries, mut best) = (0, None);
    for plan in plans {
        tries += 1;
        if let Some(known) = shows(&plan)? {
            best = Some((plan, known));
            break;
        }
    }
    let Some(mut best) = best else { return Ok(None) };
    loop {
        let (mut number, mut is_smaller) = (0, false);
        let mut left = smaller(&best.0).into_iter();
        while let Some(plan) = left.next() {
            if tries >= most {
                return Ok(Some(best));
            }
            number += 1;
            if plan == best.0 {
                continue;
            }
            tries += 1;
            if let Some(known) = shows(&plan)? {
                best = (plan, known);
                is_smaller = true;
                // What comes behind a change that was made has its number.
                number -= 1;
                left = smaller(&best.0).into_iter();
                left.by_ref().take(number).for_each(drop);
            }
        }
        if !is_smaller {
            return Ok(Some(best));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reduces numbers of which the sum has to stay at least 10. The first plan does not show that.
    fn reduced(plans: &[&[u32]], most: u32) -> Option<(Vec<u32>, u32)> {
        let smaller = |plan: &Vec<u32>| {
            let mut all = Smaller::than(plan);
            (0..plan.len()).for_each(|index| all.with(|plan| _ = plan.remove(index)));
            all.plans()
        };
        let shows = |plan: &Vec<u32>| {
            let sum: u32 = plan.iter().sum();
            Ok::<_, ()>((sum >= 10).then_some(sum))
        };
        reduce(plans.iter().map(|plan| plan.to_vec()), most, smaller, shows).expect("no error")
    }

    #[test]
    fn a_reduced_case_shows_the_fault_and_nothing_smaller_does() {
        let plans: [&[u32]; 2] = [&[9], &[8, 1, 2, 3]];
        assert_eq!(reduced(&plans, 100), Some((vec![8, 3], 11)));
        // Two plans to begin with, one that does not show it, and one that does.
        assert_eq!(reduced(&plans, 4), Some((vec![8, 2, 3], 13)));
        assert_eq!(reduced(&[&[1], &[2]], 100), None);
    }
}
