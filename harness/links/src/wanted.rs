//! What an output must say of its functions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::case::{LinkCase, Tool};
use crate::code::{Taken, Text};
use crate::functions::{Functions, Rows};

/// How a tool places the functions of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// Where they were, so that they are found without symbols.
    Kept,
    /// Whole sections go together, so that their code shows where each function is.
    Sections,
    /// Each function has a place of its own, and copies of old code may be left: symbols tell.
    Functions,
}

impl Placement {
    /// That of a tool.
    pub(super) const fn of(tool: Tool) -> Self {
        match tool {
            Tool::Strip | Tool::Objcopy | Tool::Patchelf => Self::Kept,
            Tool::Ld => Self::Sections,
            Tool::Bolt => Self::Functions,
        }
    }
}

/// What is known of the inputs.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'f> {
    /// Each, in the order in which they are linked.
    pub(super) files: &'f [Functions],
    /// The rules of the linter that they break themselves.
    pub(super) broken: &'f BTreeSet<&'static str>,
    /// How the last tool places functions.
    pub(super) placement: Placement,
}

/// What the output must say of its functions.
#[derive(Default)]
pub(super) struct Wanted<'i> {
    /// The names of the functions at each address, with what their objects say.
    pub(super) rows: BTreeMap<u64, (Vec<&'i str>, Vec<&'i Rows>)>,
    /// Functions with rows whose name and code are not found.
    pub(super) absent: Vec<&'i str>,
}

/// A function of an object.
struct Sought<'i> {
    /// Where it is in its section.
    offset: u64,
    name: &'i str,
    rows: &'i [Rows],
    /// Whether the output need not have it.
    is_dead: bool,
    /// Whether an earlier object also defines it: its name stands for that one.
    is_again: bool,
}

impl Sought<'_> {
    fn has_rows(&self) -> bool {
        self.rows.iter().any(|rows| !rows.is_empty())
    }
}

/// The functions of a section of an object.
struct Part<'i> {
    text: &'i Text,
    functions: Vec<Sought<'i>>,
    /// Whether the output need not have it: all is dead, or also defined by an earlier object.
    is_optional: bool,
}

impl Part<'_> {
    /// Where it would be by the names of its functions, as far as its code is there.
    fn named(&self, own: &Functions) -> Vec<u64> {
        let named = self.functions.iter().filter(|function| !function.is_again);
        let bases = named.flat_map(|function| {
            own.addresses(function.name).filter_map(|place| place.checked_sub(function.offset))
        });
        let bases: BTreeSet<u64> = bases.collect();
        bases.into_iter().filter(|base| self.text.is_at(&own.texts, *base)).collect()
    }

    /// Whether the output has the rows of all its functions there.
    fn has_rows_at(&self, own: &Functions, base: u64) -> bool {
        let rows = |offset| own.rows.get(&(base + offset)).map_or(&[][..], Vec::as_slice);
        let needed = self.functions.iter().filter(|function| function.has_rows());
        needed.clone().next().is_some() && needed.into_iter().all(|sought| rows(sought.offset) == sought.rows)
    }

    /// Where its code is, in what is not taken: of several such places, the rows tell which it is.
    fn unnamed(&self, own: &Functions, taken: &Taken) -> Option<u64> {
        let places = self.text.places(&own.texts, taken);
        let first = places.first().copied().filter(|_| self.text.is_distinct() && !self.is_optional);
        places.into_iter().find(|base| self.has_rows_at(own, *base)).or(first)
    }
}

impl<'i> Wanted<'i> {
    /// What follows from the inputs.
    pub(super) fn of(case: &LinkCase, inputs: Inputs<'i>, own: &Functions) -> Self {
        let mut wanted = Self::default();
        let mut parts = Vec::new();
        let (mut seen, mut groups) = (BTreeSet::new(), BTreeSet::new());
        for file in inputs.files {
            let mut of_file: BTreeMap<usize, Vec<Sought<'i>>> = BTreeMap::new();
            let mut news = Vec::new();
            for symbol in &file.symbols {
                let name = symbol.name.as_str();
                let rows = file.rows.get(&symbol.address).map(Vec::as_slice).unwrap_or_default();
                let rows = if case.without_rows.contains(name) { &[] } else { rows };
                let (is_dead, is_again) = (case.dead.contains(name), !symbol.is_local && seen.contains(name));
                news.extend((!symbol.is_local).then_some(name));
                let mut sought = Sought { offset: symbol.address, name, rows, is_dead, is_again };
                let text = Text::with(&file.texts, symbol.address);
                match (inputs.placement, text) {
                    (Placement::Sections, Some((section, offset))) => {
                        sought.offset = offset;
                        of_file.entry(section).or_default().push(sought);
                    }
                    (Placement::Sections | Placement::Functions, _) => wanted.add_named(own, &sought),
                    (Placement::Kept, _) if is_again => {}
                    (Placement::Kept, _) => {
                        if own.addresses(name).next().is_none() && !is_dead {
                            wanted.add(symbol.address, name, rows);
                        }
                        wanted.add_named(own, &sought);
                    }
                }
            }
            // Linkers keep code whose symbols they drop.
            for (address, rows) in file.rows.iter().filter(|_| inputs.placement == Placement::Kept) {
                wanted.rows.entry(*address).or_insert_with(|| (vec!["no symbol"], rows.iter().collect()));
            }
            let part = |(index, functions): (usize, Vec<Sought<'i>>)| {
                let is_optional = functions.iter().all(|function| function.is_dead || function.is_again);
                Part { text: &file.texts[index], functions, is_optional }
            };
            // Of groups with one signature, the first is kept.
            let is_twin =
                |part: &Part<'i>| part.text.group.as_ref().is_some_and(|group| groups.contains(group));
            parts.extend(of_file.into_iter().map(part).filter(|part| !is_twin(part)));
            seen.extend(news);
            groups.extend(file.texts.iter().filter_map(|text| text.group.clone()));
        }
        wanted.place(own, parts);
        wanted
    }

    fn add(&mut self, place: u64, name: &'i str, rows: &'i [Rows]) {
        let (names, all) = self.rows.entry(place).or_default();
        names.push(name);
        all.extend(rows.iter().filter(|rows| !all.contains(rows)).collect::<Vec<_>>());
    }

    /// Adds a function wherever its name is.
    fn add_named(&mut self, own: &Functions, sought: &Sought<'i>) {
        if !sought.is_again {
            own.addresses(sought.name).for_each(|place| self.add(place, sought.name, sought.rows));
        }
    }

    /// Finds sections by the names of their functions, as far as the code bears them out, and by their code alone: the
    /// longest ones first, which may contain code like that of others.
    fn place(&mut self, own: &Functions, mut parts: Vec<Part<'i>>) {
        parts.sort_by_key(|part| (Reverse(part.text.size()), part.is_optional));
        let mut taken = Taken::default();
        let mut rest = Vec::new();
        for part in parts {
            let named = part.named(own);
            let is_free = |base: &&u64| !taken.has(**base, part.text.size());
            let folded = named.first().filter(|_| !part.is_optional);
            match named.iter().find(is_free).or(folded).copied() {
                Some(base) => self.add_part(own, &part, base, &mut taken),
                None => rest.push(part),
            }
        }
        for part in rest {
            if let Some(base) = part.unnamed(own, &taken) {
                self.add_part(own, &part, base, &mut taken);
                continue;
            }
            part.functions.iter().for_each(|sought| self.add_named(own, sought));
            // What is folded is where another is.
            let is_lost =
                || part.text.places(&own.texts, &Taken::default()).is_empty() || !part.text.is_distinct();
            if !part.is_optional && is_lost() {
                let is_absent = |sought: &&Sought<'i>| {
                    sought.has_rows()
                        && !sought.is_dead
                        && !sought.is_again
                        && own.addresses(sought.name).next().is_none()
                };
                self.absent.extend(part.functions.iter().filter(is_absent).map(|sought| sought.name));
            }
        }
    }

    fn add_part(&mut self, own: &Functions, part: &Part<'i>, base: u64, taken: &mut Taken) {
        taken.add(base, part.text.size());
        for sought in &part.functions {
            let place = base + sought.offset;
            // Nothing calls a definition that another one overrides.
            if !sought.is_again || own.rows.contains_key(&place) {
                self.add(place, sought.name, sought.rows);
            }
        }
    }
}
