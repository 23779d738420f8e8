//! The images of an unwinder that follows what comes and goes.

use std::ops::Range;
use std::path::Path;

use sframe_machine::{Change, overlap};
use sframe_protocol::{Address, Image, Unmapped};

use super::command::ExternalError;
use super::judge::registered;
use super::session::{Came, Session};

/// What there is, and what the unwinder knows of it.
#[derive(Default)]
pub(super) struct Following<'q> {
    /// Where files for the unwinder go.
    folder: Option<&'q Path>,
    images: Vec<Image>,
    /// The number of those that are there when the program begins. The others it loads itself, or executes.
    at_start: usize,
    /// What has come in this run, and whether the unwinder follows it.
    came: Vec<(Unmapped, bool)>,
    /// Where another file is than the one whose table the unwinder knows.
    stale: Vec<Range<u64>>,
    /// The number of files for sections that the program has registered.
    registered: u64,
}

impl<'q> Following<'q> {
    /// These images, of which `at_start` are there when the program begins.
    pub(super) fn of(images: Vec<Image>, at_start: usize, folder: &'q Path) -> Self {
        let at_start = at_start.min(images.len());
        let mut following = Self { images, at_start, folder: Some(folder), ..Self::default() };
        following.has_begun();
        following
    }

    /// The images that the program loads itself, or executes.
    fn later(&self) -> &[Image] {
        &self.images[self.at_start..]
    }

    /// Whether an image has come and not gone.
    fn is_there(&self, image: &Image) -> bool {
        self.came.iter().any(|(came, _)| *came == place_of(image))
    }

    /// Returns what an unwinder that follows gets for a change: what goes, and what comes.
    pub(super) fn told(&mut self, change: &Change) -> Result<Vec<Came>, ExternalError> {
        let told = match change {
            Change::Executed(code) => {
                let gone = self.came.iter().rev().map(|(came, _)| Came::Out(*came));
                let is_new = |image: &&Image| code.iter().any(|range| is_within(image, range));
                return Ok(gone.chain(self.images.iter().filter(is_new).cloned().map(Came::In)).collect());
            }
            Change::Registered(table) => {
                let Some(folder) = self.folder else { return Ok(Vec::new()) };
                self.registered += 1;
                let image = registered(table, folder, self.registered);
                Some(Came::In(image.map_err(ExternalError::Copy)?))
            }
            Change::Withdrawn(table) => {
                Some(Came::Out(Unmapped { start: Address(table.code.start), end: Address(table.code.end) }))
            }
            Change::Mapped(range) => {
                let is_new = |image: &&Image| is_within(image, range) && !self.is_there(image);
                self.later().iter().find(is_new).cloned().map(Came::In)
            }
            Change::Unmapped(range) => {
                let has_gone = |image: &&Image| range.contains(&image.start.0) && self.is_there(image);
                self.later().iter().find(has_gone).map(|image| Came::Out(place_of(image)))
            }
            Change::Replaced(range) => {
                let has_come =
                    |image: &&Image| is_within(image, range) && self.came.contains(&(place_of(image), true));
                self.later().iter().find(has_come).map(|image| Came::Out(place_of(image)))
            }
        };
        Ok(told.into_iter().collect())
    }

    /// Tells the unwinder what has come or gone, if it follows that.
    ///
    /// # Errors
    /// It can't be asked any more.
    pub(super) fn tell(&mut self, session: &mut Session<'_>, told: Came) -> Result<(), ExternalError> {
        let follows = session.hello.follows;
        match &told {
            Came::In(image) => {
                let came = place_of(image);
                let is_followed = follows && session.change(told)?.is_none();
                self.came.push((came, is_followed));
            }
            Came::Out(gone) => {
                let Some(last) = self.came.iter().rposition(|(came, _)| came == gone) else { return Ok(()) };
                if self.came[last].1 && session.change(told)?.is_some() {
                    // It goes on with what is not there any more.
                    self.came[last].1 = false;
                } else {
                    self.came.remove(last);
                }
            }
        }
        Ok(())
    }

    /// Goes back to what was there when the program began. Returns what the unwinder has to be told, so that it does as well.
    pub(super) fn begin_again(&self) -> Vec<Came> {
        let at_start = self.those_at_start();
        let has_come = self.came.iter().rev().filter(|came| !at_start.contains(came)).map(|(came, _)| *came);
        let gone =
            self.images[..self.at_start].iter().filter(|image| !self.came.contains(&(place_of(image), true)));
        has_come.map(Came::Out).chain(gone.cloned().map(Came::In)).collect()
    }

    /// Notes that there is what there was when the program began.
    pub(super) fn has_begun(&mut self) {
        self.came = self.those_at_start();
    }

    fn those_at_start(&self) -> Vec<(Unmapped, bool)> {
        self.images[..self.at_start].iter().map(|image| (place_of(image), true)).collect()
    }

    /// Whether something has come, or has not gone, that the unwinder does not know of.
    pub(super) fn is_behind(&self) -> bool {
        !self.stale.is_empty() || self.came.iter().any(|(_, is_followed)| !is_followed)
    }

    /// Whether another file is at some of these addresses than the one whose table the unwinder knows.
    pub(super) fn is_stale(&self, range: Option<&Range<u64>>) -> bool {
        self.stale.iter().any(|stale| range.is_some_and(|range| overlap(stale, range)))
    }

    /// Takes notice of a change that the unwinder is `told` of, if it is.
    pub(super) fn change(&mut self, change: &Change, told: bool, follows: bool) {
        match change {
            // Its memory is another.
            Change::Executed(_) => self.stale.clear(),
            Change::Mapped(gone) | Change::Unmapped(gone) => self.stale.retain(|stale| !overlap(stale, gone)),
            Change::Replaced(range) if !(told || follows && self.comes_later(range)) => {
                self.stale.push(range.clone());
            }
            Change::Replaced(_) | Change::Registered(_) | Change::Withdrawn(_) => {}
        }
    }

    /// Whether an image of the program's comes there.
    fn comes_later(&self, range: &Range<u64>) -> bool {
        self.later().iter().any(|image| is_within(image, range))
    }
}

/// Where an image is.
const fn place_of(image: &Image) -> Unmapped {
    Unmapped { start: image.start, end: image.end }
}

/// Whether an image is at some addresses of a range.
const fn is_within(image: &Image, range: &Range<u64>) -> bool {
    overlap(&(image.start.0..image.end.0), range)
}
