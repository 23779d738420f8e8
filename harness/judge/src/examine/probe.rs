//! Those who look at a run while it is examined.

use sframe_machine::{Change, Moment};

use crate::calls::Readings;
use crate::compare::Truth;
use crate::unwind::Viewpoint;

/// Observes a program while it is examined. What its calls were is known before: a run is made for that alone.
pub trait Probe {
    /// Called before each run of the program.
    fn start(&mut self) {}

    /// Called before each instruction of the run without signals, whether or not it is compared; after that, if it is.
    /// `readings` gives what walks are to be held against.
    fn executes(&mut self, moment: &Moment<'_>, readings: &dyn Fn() -> Readings) {
        let _ = (moment, readings);
    }

    /// Called before the comparison at a moment that a spec names.
    fn breakpoint(&mut self) {}

    /// Called after the comparison.
    fn compared(&mut self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>, readings: &dyn Fn() -> Readings);

    /// Called when what there is to unwind by has changed, by the system call at a moment that has been compared.
    fn changed(&mut self, moment: &Moment<'_>, change: &Change, readings: &dyn Fn() -> Readings) {
        let _ = (moment, change, readings);
    }

    /// Called for each store: see [`Observer::store`](sframe_machine::Observer::store).
    fn stored(&mut self, address: u64, len: u64) {
        let _ = (address, len);
    }
}
