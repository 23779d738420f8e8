//! Which known mistakes explain what a section says of a function.

use std::ops::Range;

use sframe_engine::Version;

use super::model::Model;
use super::quirk::Quirk;
use super::state::Claim;
use super::writer::{Program, parts};

/// At most so many mistakes explain one function.
const MOST: usize = 6;

/// Finds those of some mistakes by which a section says exactly what it says of a function: as few as
/// possible. `said` is what it says, by instruction. With a `version`, the section is `.sframe`, and may
/// leave out what that can't express, or what it can't by mistake.
#[must_use]
pub fn explanation(
    program: &Program,
    function: u32,
    quirks: &[Quirk],
    said: &[(usize, Claim)],
    version: Option<Version>,
) -> Option<Vec<Quirk>> {
    // Each part of a function has an FDE of its own, and mistakes of its own.
    let mut found = Vec::new();
    for part in parts(program).into_iter().filter(|part| program.sites[part.start].function == function) {
        let is_left_out = !said.iter().any(|(site, _)| part.contains(site));
        let explains = |chosen: &[Quirk]| match version {
            Some(version) if is_left_out => {
                Model::new(program.abi, chosen).may_be_left_out(program, &part, version)
            }
            _ => explains(program, &part, said, chosen),
        };
        let chosen = (0..=MOST)
            .find_map(|count| subsets(quirks, count).into_iter().find(|chosen| explains(chosen)))?;
        found.extend(chosen);
    }
    found.sort_unstable();
    found.dedup();
    Some(found).filter(|found| !found.is_empty())
}

/// All choices of some of the mistakes.
fn subsets(quirks: &[Quirk], count: usize) -> Vec<Vec<Quirk>> {
    let Some((first, rest)) = quirks.split_first() else {
        return if count == 0 { vec![Vec::new()] } else { Vec::new() };
    };
    if count == 0 {
        return vec![Vec::new()];
    }
    let with = subsets(rest, count - 1).into_iter().map(|mut chosen| {
        chosen.insert(0, *first);
        chosen
    });
    with.chain(subsets(rest, count)).collect()
}

fn explains(program: &Program, part: &Range<usize>, said: &[(usize, Claim)], quirks: &[Quirk]) -> bool {
    let mut model = Model::new(program.abi, quirks);
    program.sites[part.clone()].iter().zip(part.clone()).all(|(site, index)| {
        let claim = model.read(&site.declared);
        // No mistake leaves out a row.
        let says = said.binary_search_by_key(&index, |(at, _)| *at).ok().map(|at| said[at].1);
        says.is_some_and(|says| says.agrees(&claim))
    })
}

#[cfg(test)]
mod tests {
    use sframe_engine::Abi;

    use super::super::plan::Plan;
    use super::super::state::Source;
    use super::super::writer::write;
    use super::*;

    #[test]
    fn all_subsets_have_the_size_that_was_asked_for() {
        let quirks = &Quirk::ALL[..4];
        assert_eq!(subsets(quirks, 2).len(), 6);
        assert_eq!(subsets(quirks, 1).len(), 4);
        assert_eq!(subsets(quirks, 5).len(), 0);
    }

    /// What an assembler with known mistakes says is explained by these or fewer, and nothing else is.
    #[test]
    fn mistakes_are_recognised_by_what_is_said() {
        let quirks = [Quirk::GasRegisterTakesOffsetBack, Quirk::GasIgnoresSameValue];
        let is_of_gas = |quirk: &Quirk| quirk.page().starts_with("gas-") && quirk.is_of(Source::Sframe);
        let gas: Vec<Quirk> = Quirk::ALL.iter().copied().filter(is_of_gas).collect();
        let mut found = Vec::new();
        for number in 0..100 {
            let program = write(&Plan::random(Abi::Amd64, 5, number, 1));
            let mut model = Model::new(Abi::Amd64, &quirks);
            let sites = program.sites.iter().enumerate();
            let said: Vec<_> = sites.map(|(index, site)| (index, model.read(&site.declared))).collect();
            let is_wrong =
                |(index, claim): &(usize, Claim)| !program.sites[*index].state.judge(claim).is_empty();
            if !said.iter().any(is_wrong) {
                continue;
            }
            let explained = explanation(&program, 0, &gas, &said, Some(Version::V3)).expect("an explanation");
            found.extend(explained);
            // A CFA that nobody would say.
            let mut other = said;
            if let Some(cfa) = other.last_mut().and_then(|(_, claim)| claim.cfa.as_mut()) {
                cfa.offset += 4;
            }
            assert_eq!(explanation(&program, 0, &gas, &other, Some(Version::V3)), None);
        }
        quirks.iter().for_each(|quirk| assert!(found.contains(quirk), "{quirk:?} in {found:?}"));
    }
}
