//! What another toolchain makes of the smallest program with a fault.

use sframe_corpus::corpus::{Error, Maker};

use super::found::Example;
use super::judge::{Judged, judge};
use super::reduce::complaint;
use super::state::Source;
use crate::generate::Elsewhere;
use crate::generate::outcome::Outcome;

/// Makes an example with another toolchain.
///
/// # Errors
/// The toolchain does not compile for the ABI, or can't be started.
pub fn try_with(maker: &Maker, example: &Example) -> Result<Elsewhere, Error> {
    let program = &example.reduced.program;
    Ok(match Outcome::of(program.make(maker), |bytes| judge(program, bytes))? {
        Outcome::Judged(judged) => of(&judged, example),
        Outcome::Unjudged(why) => Elsewhere::Unjudged { why },
        Outcome::Refused(stderr) => {
            let says = complaint(&stderr);
            let is_same = example.refused.as_ref() == Some(&says);
            if is_same { Elsewhere::Same } else { Elsewhere::Refused { says } }
        }
    })
}

fn of(judged: &Judged, example: &Example) -> Elsewhere {
    let Some(fault) = &example.reduced.fault else { return Elsewhere::Right };
    let of_section = |other: &&super::judge::Fault| other.source == fault.source;
    let mut others = judged.faults.iter().filter(of_section);
    match judged.faults.iter().filter(of_section).find(|other| other.site == fault.site) {
        Some(other) if other.says == fault.says => Elsewhere::Same,
        Some(other) => Elsewhere::Other { says: other.says.clone() },
        None if fault.source == Source::Sframe && judged.left_out.contains(&fault.function) => {
            Elsewhere::LeftOut
        }
        None => others.next().map_or(Elsewhere::Right, |other| Elsewhere::Other { says: other.says.clone() }),
    }
}
