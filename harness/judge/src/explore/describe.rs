//! Assumptions in words.

use sframe_elf::kernel::Why;
use sframe_machine::explore::{Assumption, Callee, Returns};

use crate::target::{Loaded, Target};

/// Says what an assumption is, for people.
pub(super) fn describe(assumption: &Assumption, target: &Target<'_>) -> String {
    let place = |address: u64| target.place(Loaded(address)).to_string();
    match *assumption {
        Assumption::Forced { at, to } => format!("the branch at {} can go to {}", place(at), place(to)),
        Assumption::Call { at, callee, returns, removes, passes: _ } => {
            let callee = match callee {
                Callee::Function(entry) => place(entry),
                Callee::Slot(slot) => format!("the function whose address is in {}", place(slot)),
                Callee::Unknown => "the callee".to_owned(),
            };
            let returns = match returns {
                Returns::Sometimes => "",
                Returns::Never | Returns::Unknown => ", returns,",
            };
            let removes = match removes {
                Some(bytes @ 1..) => format!(", and removes {bytes} bytes of arguments"),
                _ => String::new(),
            };
            format!("{callee}, called at {}{returns} keeps the ABI{removes}", place(at))
        }
        Assumption::Table { at, to, is_bounded } => {
            let bounded = if is_bounded { "" } else { ", whose length is unknown" };
            format!("the jump at {} through a table{bounded} can go to {}", place(at), place(to))
        }
        Assumption::LandingPad { at, to } => {
            format!("an exception leaves the call at {} for {}", place(at), place(to))
        }
        Assumption::Skipped { at, .. } => format!("{} does nothing but set registers", place(at)),
        Assumption::Detour { at, to, why } => {
            let (at, to) = (place(at), place(to));
            match why {
                Why::JumpLabel => format!("the jump label at {at} is patched, and control goes to {to}"),
                Why::Fault => format!("a fault of {at} continues at {to}"),
                Why::Warning => format!("the trap at {at} warns, and goes on"),
            }
        }
        Assumption::Traced { at } => format!("the tracer, called at {}, changes nothing", place(at)),
        Assumption::SystemCall { at } => format!("the system call at {} returns", place(at)),
        Assumption::Shortened { at } => format!("{} may be repeated fewer times", place(at)),
        Assumption::Internal { at } => format!("the call at {} is a jump within the function", place(at)),
        Assumption::RunsInto { to } => format!("the function goes on at {}", place(to)),
        Assumption::JumpWithFrame { to } => format!("{} is jumped to with a frame", place(to)),
    }
}
