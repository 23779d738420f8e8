//! How what shows something is made smaller: as long as it shows that.

/// Says what is known of a plan if it shows what it should.
type Shows<'r, P, K, E> = &'r mut dyn FnMut(&P) -> Result<Option<K>, E>;

/// The smallest plan that was found so far.
pub(super) struct Reduction<'r, P, K, E> {
    shows: Shows<'r, P, K, E>,
    /// How many plans are tried at most.
    most: u32,
    tries: u32,
    best: P,
    known: K,
}

impl<'r, P: Clone + PartialEq, K, E> Reduction<'r, P, K, E> {
    /// Begins with the first of some plans that shows it, if one does.
    pub(super) fn of(
        plans: impl IntoIterator<Item = P>,
        most: u32,
        shows: Shows<'r, P, K, E>,
    ) -> Result<Option<Self>, E> {
        for (tries, best) in (1..).zip(plans) {
            if let Some(known) = shows(&best)? {
                return Ok(Some(Self { shows, most, tries, best, known }));
            }
        }
        Ok(None)
    }

    /// The smallest plan.
    pub(super) const fn best(&self) -> &P {
        &self.best
    }

    /// The smallest plan, and what is known of it.
    pub(super) fn end(self) -> (P, K) {
        (self.best, self.known)
    }

    const fn is_at_end(&self) -> bool {
        self.tries >= self.most
    }

    /// Tries a plan. It is the smallest one then, if it shows what it should.
    pub(super) fn attempt(&mut self, plan: P) -> Result<bool, E> {
        self.tries += 1;
        let known = (self.shows)(&plan)?;
        let is_kept = known.is_some();
        if let Some(known) = known {
            (self.best, self.known) = (plan, known);
        }
        Ok(is_kept)
    }

    /// Takes the first smaller plan that shows it, and begins again with that, until there is none: what was
    /// taken may make other things needless.
    pub(super) fn by_first<I: Iterator<Item = P>>(&mut self, smaller: impl Fn(&P) -> I) -> Result<(), E> {
        'again: loop {
            for plan in smaller(&self.best) {
                if self.is_at_end() {
                    return Ok(());
                }
                if self.attempt(plan)? {
                    continue 'again;
                }
            }
            return Ok(());
        }
    }

    /// Makes all changes of each kind in turn, as far as it is still shown, and begins again while there are
    /// any. A change has a kind and a number, and what comes behind one that was made has its number.
    pub(super) fn by_kind<S>(
        &mut self,
        kinds: &[S],
        change: impl Fn(&S, &P, usize) -> Option<P>,
    ) -> Result<(), E> {
        let mut is_smaller = true;
        while std::mem::take(&mut is_smaller) {
            for kind in kinds {
                let mut number = 0;
                while !self.is_at_end()
                    && let Some(plan) = change(kind, &self.best, number)
                {
                    if plan != self.best && self.attempt(plan)? {
                        is_smaller = true;
                    } else {
                        number += 1;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type OfNumbers<'r> = Reduction<'r, Vec<u32>, u32, ()>;

    /// Numbers of which the sum has to stay at least 10.
    fn reduced(most: u32, way: fn(&mut OfNumbers<'_>) -> Result<(), ()>) -> (Vec<u32>, u32) {
        let mut shows = |plan: &Vec<u32>| {
            let sum: u32 = plan.iter().sum();
            Ok((sum >= 10).then_some(sum))
        };
        let plans = [vec![9], vec![8, 1, 2, 3]];
        let mut reduction = Reduction::of(plans, most, &mut shows).expect("no error").expect("a plan");
        way(&mut reduction).expect("no error");
        reduction.end()
    }

    fn without(plan: &[u32], index: usize) -> Option<Vec<u32>> {
        let left = plan.iter().enumerate().filter(|(other, _)| *other != index);
        (index < plan.len()).then(|| left.map(|(_, number)| *number).collect())
    }

    #[test]
    fn a_reduced_case_shows_the_fault_and_nothing_smaller_does() {
        let by_first = reduced(100, |it| {
            it.by_first(|plan| {
                let plan = plan.clone();
                (0..plan.len()).map_while(move |index| without(&plan, index))
            })
        });
        assert_eq!(by_first, (vec![8, 3], 11));
        let by_kind = reduced(100, |it| it.by_kind(&[()], |(), plan, index| without(plan, index)));
        assert_eq!(by_kind, by_first);
        // Two plans to begin with, one that does not show it, and one that does.
        let (early, _) = reduced(4, |it| it.by_kind(&[()], |(), plan, index| without(plan, index)));
        assert_eq!(early, [8, 2, 3]);
    }

    #[test]
    fn a_case_that_does_not_show_the_fault_is_not_reduced() {
        let mut shows = |_: &i32| Ok::<Option<()>, ()>(None);
        assert!(Reduction::of([1, 2], 100, &mut shows).expect("no error").is_none());
    }
}
