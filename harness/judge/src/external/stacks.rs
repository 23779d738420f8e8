//! Asks an unwinder about moments that are data.

use sframe_engine::LookupAddress;
use sframe_protocol::{Address, Open, Range, Stop};

use super::judge::{EngineWalk, Judge};
use super::session::Session;
use super::{External, ExternalError, Fault};
use crate::compare::{Disagreement, WalkEnd};
use crate::moments::{Moment, Program};
use crate::target::sections::Sections;
use crate::triage::{says, words};
use crate::vocabulary::Verdict;

/// What an unwinder has answered at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// How its walk ended.
    pub end: WalkEnd,
    /// What is wrong with it.
    pub differences: Vec<WalkDifference>,
}

/// What is wrong with a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkDifference {
    /// The kind.
    pub verdict: Verdict,
    /// The frame whose rules gave the wrong value, 0 for the topmost.
    pub frame: usize,
    /// In a sentence.
    pub message: String,
}

impl WalkDifference {
    /// Describes a disagreement with the call stack.
    #[must_use]
    pub fn of(found: &Disagreement, sections: &Sections<'_>) -> Self {
        let address = |address: u64| format!("{address:#x}");
        let (expected, got) = (words(found.expected, address), words(found.got, address));
        let mut message =
            format!("frame {} at {:#x}: {}", found.frame, found.pc, says(found.verdict, &expected, &got));
        let lookup: LookupAddress = found.address;
        if let Ok(Some(row)) = sections.lookup(lookup) {
            message += &format!("; row +{}: {}", row.row.start, row.row.rules());
        }
        Self { verdict: found.verdict, frame: found.frame, message }
    }
}

impl External {
    /// Asks about the moments of a program, in order. Returns how often the unwinder was restarted.
    ///
    /// # Errors
    /// It can't be asked, does not support such a program, or was restarted too often.
    pub fn walks(
        &self,
        program: &Program,
        sections: &Sections<'_>,
        got: &mut dyn FnMut(usize, Walk),
    ) -> Result<u32, ExternalError> {
        // Dropped last, when no process reads it any more.
        let folder = tempfile::tempdir().map_err(ExternalError::Copy)?;
        let open = open(program, folder.path()).map_err(ExternalError::Copy)?;
        let mut session = Session::start(&self.command, Some(open), self.stop.clone())?;
        let judge = Judge::new(sections, None, &session.hello.clone());
        let stops: Vec<Stop> = program.moments.iter().map(Moment::stop).collect();
        let read = |stop: usize, address: u64, size: u32| {
            program.moments.get(stop).and_then(|moment| program.read(moment, address, size))
        };
        session.unwind(&stops, &read, &mut |index, answer| {
            let Some(moment) = program.moments.get(index) else { return };
            let engine = EngineWalk {
                end: moment.end.walk_end(),
                found: Vec::new(),
                beyond: None,
                outermost_cfa: None,
                frames: Vec::new(),
                call_stack: None,
                is_excluded: false,
            };
            let call_stack = moment.call_stack();
            let judged =
                answer.and_then(|answer| judge.judge(&moment.truth(&call_stack), &engine, &answer, None));
            got(
                index,
                match judged {
                    Ok(judged) => Walk {
                        end: judged.end,
                        differences: judged
                            .own
                            .iter()
                            .chain(&judged.beyond)
                            .map(|found| WalkDifference::of(found, sections))
                            .collect(),
                    },
                    Err(Fault { verdict, message, .. }) => Walk {
                        end: WalkEnd::Disagreed,
                        differences: vec![WalkDifference { verdict, frame: 0, message }],
                    },
                },
            );
        })?;
        Ok(session.restarts)
    }
}

/// The request `open`: the files have the sections and nothing else.
fn open(program: &Program, folder: &std::path::Path) -> std::io::Result<Open> {
    let mut images = Vec::new();
    for (index, image) in program.images.iter().enumerate() {
        let path = folder.join(format!("image{index}"));
        let bytes = image.sframe.as_ref().map_or(&[][..], |section| &section.bytes.0);
        std::fs::write(&path, bytes)?;
        let sframe = image.sframe.as_ref().map(|section| Range {
            address: section.address,
            offset: 0,
            size: section.bytes.0.len() as u64,
        });
        images.push(sframe_protocol::Image {
            name: image.name.clone(),
            path,
            start: image.start,
            end: image.end,
            bias: Address(image.bias.0),
            sframe,
        });
    }
    Ok(Open { abi: program.abi, endian: program.endian, address_bits: program.address_bits, images })
}
