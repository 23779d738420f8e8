//! Judges the answers of an unwinder.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use sframe_engine::{LookupAddress, Mangled, PauthKey, ReturnAddress, StepError, Tracked};
use sframe_machine::{CallStack, Change, Table};
use sframe_protocol::{Address, EndKind, Fp, Hello, Image, Open, Range};

use super::process::Fault;
use crate::calls::Readings;
use crate::compare::{
    Disagreement, Rules, RulesAt, Truth, Value, WalkEnd, disagreements, first_wrong_frame, frames_compared,
    reliability,
};
use crate::finding::{Blame, Confidence, Finding, Message, Said};
use crate::target::sections::Sections;
use crate::target::{Linked, Loaded, Target};
use crate::unwind::{Backtrace, End, Frame, Unreadable};
use crate::vocabulary::{Reliability, Verdict};

/// Returns the request `open` for a program.
pub(super) fn open(target: &Target<'_>, name: &str, folder: &Path) -> std::io::Result<Open> {
    let cpu = target.executable().image.cpu;
    let mut images = Vec::new();
    for (index, module) in target.modules.iter().enumerate() {
        let bytes = module.image.bytes();
        let range = module.image.range();
        let mut copy = Copy { bytes, made: &[] };
        let sframe = match module.made() {
            None => module.subject.sframe.map(|section| Range {
                address: Address(module.loaded(Linked(section.address)).0),
                // A section is part of the file's bytes.
                offset: (section.data.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize) as u64,
                size: section.data.len() as u64,
            }),
            Some(_) => module.section.as_ref().map(|section| {
                copy.made = section.data();
                Range {
                    address: Address(section.address()),
                    offset: bytes.len() as u64,
                    size: copy.made.len() as u64,
                }
            }),
        };
        images.push(Image {
            name: module.name.clone().unwrap_or_else(|| name.to_owned()),
            path: copy.write(folder, index)?,
            start: Address(range.start),
            end: Address(range.end),
            bias: Address(module.image.bias),
            sframe,
        });
    }
    Ok(Open { abi: cpu.abi, endian: cpu.abi.byte_order(), address_bits: cpu.address_bits, images })
}

/// Returns what is sent of code for which the program has registered a section: the file has the section alone.
pub(super) fn registered(table: &Table, folder: &Path, number: u64) -> std::io::Result<Image> {
    let path = folder.join(format!("registered{number}"));
    std::fs::write(&path, &table.bytes)?;
    Ok(Image {
        name: "registered".to_owned(),
        path,
        start: Address(table.code.start),
        end: Address(table.code.end),
        bias: Address(0),
        sframe: Some(Range { address: Address(table.address), offset: 0, size: table.bytes.len() as u64 }),
    })
}

/// A file for the unwinder: exactly the bytes that the machine has loaded, followed
/// by the section if it is in no file.
struct Copy<'f> {
    bytes: &'f [u8],
    made: &'f [u8],
}

impl Copy<'_> {
    fn write(&self, folder: &Path, index: usize) -> std::io::Result<PathBuf> {
        let path = folder.join(format!("image{index}"));
        let mut file = std::fs::File::create(&path)?;
        file.write_all(self.bytes)?;
        file.write_all(self.made)?;
        Ok(path)
    }
}

/// The judgement of an answer.
pub(super) struct Judged {
    pub(super) end: WalkEnd,
    /// Disagreements that the engine does not have.
    pub(super) own: Vec<Disagreement>,
    /// Disagreements that the engine also has.
    pub(super) shared: Vec<Disagreement>,
    /// Disagreements where the engine has different ones.
    pub(super) unclear: Vec<Disagreement>,
    /// What is wrong with what it says of itself, or with a walk that ends early where only complete ones will do.
    pub(super) beyond: Option<Disagreement>,
    pub(super) frames: u64,
    pub(super) fp_untold: u64,
    /// Frames whose CFA it did not report.
    pub(super) cfa_untold: u64,
    /// Frames of which it said whether they were interrupted, and return addresses that it called signed.
    pub(super) told: [u64; 2],
    pub(super) reliability: Reliability,
    /// Whether it is complete, and called reliable.
    pub(super) is_called_reliable: bool,
    /// Whether the engine, which does what the rows say, disagrees with the call stack.
    pub(super) are_rows_wrong: bool,
    /// Whether it says nothing: the function leaves for elsewhere, or it is not known what is right.
    pub(super) is_excluded: bool,
}

impl Judged {
    /// That of a walk whose truth is unknown: perhaps it is not by the rows.
    fn excluded(own: Option<Disagreement>) -> Self {
        let is_own = own.is_some();
        Self {
            end: if is_own { WalkEnd::Disagreed } else { WalkEnd::Unsettled },
            own: own.into_iter().collect(),
            shared: Vec::new(),
            unclear: Vec::new(),
            beyond: None,
            frames: 0,
            fp_untold: 0,
            cfa_untold: 0,
            told: [0; 2],
            reliability: Reliability::Wrong,
            is_called_reliable: false,
            are_rows_wrong: false,
            is_excluded: !is_own,
        }
    }
}

/// An answer, read as a walk.
struct AnsweredWalk {
    backtrace: Backtrace,
    /// Whether its last frame is none: the return address of an entry function that is not marked.
    leads_nowhere: bool,
    fp_untold: u64,
    cfa_untold: u64,
    told: [u64; 2],
}

/// What has come of holding a walk against the call stack.
struct Held {
    end: WalkEnd,
    found: Vec<Disagreement>,
    /// What it was held against, if that is not the call stack of the witness.
    call_stack: Option<CallStack>,
    is_excluded: bool,
}

/// Checks that an answer begins at the stop.
fn check_topmost(truth: &Truth<'_>, answer: &sframe_protocol::Backtrace) -> Result<(), Fault> {
    let topmost = answer.frames.first().ok_or_else(|| Fault::bad_answer("a backtrace without a frame"))?;
    if topmost.pc.0 != truth.pc {
        let message = format!("the topmost frame's PC is {}, at the stop {:#x}", topmost.pc, truth.pc);
        return Err(Fault::bad_answer(message));
    }
    let is_given = match topmost.fp {
        Some(Fp::Value(fp)) => fp.0 == truth.fp,
        Some(Fp::Unreadable { .. }) => false,
        None => true,
    };
    if !is_given {
        let message = format!("the topmost frame's FP is not the {:#x} of the stop", truth.fp);
        return Err(Fault::bad_answer(message));
    }
    Ok(())
}

/// Compares answers with call stacks.
pub(super) struct Judge<'q, 'a> {
    sections: Sections<'a>,
    /// Where call frame information is; `None` if only the sections are known.
    target: Option<&'q Target<'a>>,
    reads: Data,
    /// Whether a walk that is not complete is a finding, whatever it says.
    requires_reliable: bool,
}

/// What an unwinder reads, and so which code it must be able to unwind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    Sframe,
    EhFrame,
    Other,
}

impl<'q, 'a> Judge<'q, 'a> {
    pub(super) fn new(sections: &Sections<'a>, target: Option<&'q Target<'a>>, hello: &Hello) -> Self {
        let reads = match hello.data.as_str() {
            "sframe" => Data::Sframe,
            "eh_frame" => Data::EhFrame,
            _ => Data::Other,
        };
        Self { sections: sections.clone(), target, reads, requires_reliable: false }
    }

    /// Demands that each walk is complete.
    pub(super) const fn requiring_reliable(mut self, requires: bool) -> Self {
        self.requires_reliable = requires;
        self
    }

    /// Notes that sections have come or gone. Returns whether look-ups may have changed.
    pub(super) fn change(&mut self, change: &Change) -> bool {
        self.sections.change(change)
    }

    /// Forgets all such changes.
    pub(super) fn restart(&mut self) {
        self.sections.start_again();
    }

    /// The sections as they are now.
    pub(super) const fn sections(&self) -> &Sections<'a> {
        &self.sections
    }

    /// Judges an answer, given what the engine of this project says.
    ///
    /// # Errors
    /// It is not valid.
    pub(super) fn judge(
        &self,
        truth: &Truth<'_>,
        engine: &EngineWalk,
        answer: &sframe_protocol::Backtrace,
        readings: Option<&Readings>,
    ) -> Result<Judged, Fault> {
        // Rows may be of another call stack; who reads them has it from there.
        let of_rows = engine.call_stack.as_ref().filter(|_| self.reads == Data::Sframe);
        let truth = &Truth { call_stack: of_rows.unwrap_or(truth.call_stack), ..*truth };
        check_topmost(truth, answer)?;
        let walk = self.walk(truth, answer);
        let Held { end, mut found, call_stack, is_excluded } = self.hold(truth, engine, &walk, readings);
        if is_excluded {
            let own =
                engine.is_excluded.then(|| self.not_by_the_rows(truth, engine, &answer.frames)).flatten();
            return Ok(Judged::excluded(own));
        }
        let truth = &Truth { call_stack: call_stack.as_ref().unwrap_or(truth.call_stack), ..*truth };
        let depth = truth.call_stack.depth();
        let count = walk.backtrace.frames.len();
        let last = found.last().map(|found| found.frame);
        let frames = frames_compared(end, last, count.min(depth)) as u64;
        self.find_at_the_end(truth, engine, answer, (&walk, end), &mut found);
        let relies_on_nowhere = answer.reliable == Some(true) && self.goes_nowhere(&walk, depth);
        // Where control is under way, its callers are those of no frame yet.
        let known = if engine.end == WalkEnd::Departing && found.is_empty() { 1 } else { depth };
        let reliability = match reliability(end, &found, known, answer.reliable) {
            Reliability::Complete | Reliability::Incomplete if relies_on_nowhere => Reliability::Wrong,
            reliability => reliability,
        };
        let beyond = self.wrong_of_itself(answer, reliability, &found, engine);
        // Where it ought to have stopped.
        let wrong_frame = first_wrong_frame(&found);
        let last = count.min(depth) - 1;
        let beyond = beyond.map(|verdict| {
            let frame = wrong_frame.filter(|_| verdict == Verdict::FalselyReliable);
            at(truth, frame.map_or(last, |frame| frame.min(last)), verdict, walk.backtrace.end)
        });
        let end = if found.is_empty() { end } else { WalkEnd::Disagreed };
        let engines = &engine.found;
        let (mut own, mut shared): (Vec<Disagreement>, Vec<Disagreement>) = (Vec::new(), Vec::new());
        for disagreement in found {
            // Consequences of a wrong FP belong to whoever caused it.
            let follows = disagreement.after_wrong_fp.is_some() && !own.is_empty();
            match engines.iter().find(|engines| !follows && is_same(&disagreement, engines)) {
                Some(engines) => shared.push(*engines),
                None if follows => own.push(disagreement),
                None => own.push(Disagreement { after_wrong_fp: None, ..disagreement }),
            }
        }
        // Whoever follows wrong rows can't know that they are wrong: these are findings already.
        let are_rows_wrong = !engines.is_empty();
        let unclear = if are_rows_wrong { std::mem::take(&mut own) } else { Vec::new() };
        Ok(Judged {
            end,
            own,
            shared,
            unclear,
            beyond,
            frames,
            fp_untold: walk.fp_untold,
            cfa_untold: walk.cfa_untold,
            told: walk.told,
            reliability,
            is_called_reliable: reliability == Reliability::Complete && answer.reliable == Some(true),
            are_rows_wrong,
            is_excluded: false,
        })
    }

    /// Reads an answer as a walk. What it doesn't report is not judged.
    fn walk(&self, truth: &Truth<'_>, answer: &sframe_protocol::Backtrace) -> AnsweredWalk {
        let depth = truth.call_stack.depth();
        let (mut fp_untold, mut cfa_untold, mut told) = (0, 0, [0; 2]);
        let frame = |(index, frame): (usize, &sframe_protocol::Frame)| {
            let fp = match frame.fp {
                Some(Fp::Value(value)) => Ok(value.0),
                Some(Fp::Unreadable { unreadable }) => Err(Unreadable(unreadable.0)),
                None if index < depth => {
                    fp_untold += 1;
                    truth.state(index).fp
                }
                None => Ok(0),
            };
            let mangled = frame.mangled.map(|mangled| Mangled {
                value: mangled.value.0,
                key: match mangled.key {
                    sframe_vectors::PauthKey::A => PauthKey::A,
                    sframe_vectors::PauthKey::B => PauthKey::B,
                },
            });
            let cfa = frame.cfa.map(|cfa| cfa.0);
            cfa_untold += u64::from(cfa.is_none() && index < depth);
            told[0] += u64::from(frame.interrupted.is_some() && index < depth);
            told[1] += u64::from(mangled.is_some() && index < depth);
            Frame { pc: frame.pc.0, cfa, fp, mangled, interrupted: frame.interrupted }
        };
        let frames: Vec<Frame> = answer.frames.iter().enumerate().map(frame).collect();
        // Beyond an entry function without a mark there is a return address that leads nowhere.
        // Whatever end an unwinder reports there is accepted.
        let leads_nowhere = frames.len() == depth + 1
            && !self.marks(truth.address(depth - 1))
            && frames.last().is_some_and(|frame| !self.has_fde(frame.pc));
        let end = if leads_nowhere { End::Failed(StepError::NoFde) } else { end_of(&answer.end) };
        let backtrace = Backtrace { frames, end, words: Vec::new(), limit: None };
        AnsweredWalk { backtrace, leads_nowhere, fp_untold, cfa_untold, told }
    }

    /// Whether what the unwinder reads has an FDE for the code before a return address.
    fn has_fde(&self, pc: u64) -> bool {
        let address = ReturnAddress(pc).into();
        match self.reads {
            Data::Sframe => Rules::at(&self.sections, address).has_fde,
            Data::EhFrame => self.cfi_at(address),
            Data::Other => false,
        }
    }

    /// Whether there is call frame information for an address.
    fn cfi_at(&self, address: LookupAddress) -> bool {
        self.target.is_some_and(|target| has_cfi(target, address))
    }

    /// Holds a walk against the call stack, and where rows say nothing, against what else it may be.
    fn hold(
        &self,
        truth: &Truth<'_>,
        engine: &EngineWalk,
        walk: &AnsweredWalk,
        readings: Option<&Readings>,
    ) -> Held {
        let backtrace = &walk.backtrace;
        let cfi = OnlyFdes(|address| self.cfi_at(address));
        // If an unwinder reports that it has no data there, it is believed if the bench can't
        // read that data. The number of such reports is counted.
        let unknown = OnlyFdes(|_| false);
        let (end, found) = match self.reads {
            Data::Sframe => disagreements(truth, backtrace, &self.sections),
            Data::EhFrame => disagreements(truth, backtrace, &cfi),
            Data::Other => disagreements(truth, backtrace, &unknown),
        };
        // What reads other data may be of another call stack as well.
        let Some(readings) = readings.filter(|_| self.reads != Data::Sframe) else {
            let is_excluded = self.reads == Data::Sframe && engine.is_excluded && !found.is_empty();
            return Held { end, found, call_stack: None, is_excluded };
        };
        let truth = Truth { ignores_fp: walk.fp_untold > 0, ..*truth };
        let judged = match self.reads {
            Data::EhFrame => readings.judge(&truth, backtrace, &cfi, (end, found), None),
            Data::Sframe | Data::Other => readings.judge(&truth, backtrace, &unknown, (end, found), None),
        };
        let is_excluded = judged.end == WalkEnd::Unsettled;
        Held { end: judged.end, found: judged.found, call_stack: judged.call_stack, is_excluded }
    }

    /// Adds what is wrong with the end of a walk, where its frames agree.
    fn find_at_the_end(
        &self,
        truth: &Truth<'_>,
        engine: &EngineWalk,
        answer: &sframe_protocol::Backtrace,
        (walk, end): (&AnsweredWalk, WalkEnd),
        found: &mut Vec<Disagreement>,
    ) {
        let AnsweredWalk { backtrace, leads_nowhere, .. } = walk;
        let EngineWalk { end: engines_end, found: engines, beyond: engines_beyond, outermost_cfa, .. } =
            engine;
        let (depth, count) = (truth.call_stack.depth(), backtrace.frames.len());
        let of_rows = self.reads == Data::Sframe && engines.is_empty();
        let ends = |frame: usize, verdict| at(truth, frame, verdict, backtrace.end);
        if answer.end.kind == EndKind::Malformed && !leads_nowhere {
            for disagreement in &mut *found {
                if disagreement.verdict == Verdict::Truncated {
                    disagreement.verdict = Verdict::DecodeError;
                }
            }
            if found.is_empty() {
                found.push(ends(count.min(depth) - 1, Verdict::DecodeError));
            }
        }
        if found.is_empty() && of_rows && rank(end) < rank(*engines_end) {
            let less = ends(count.min(depth) - 1, Verdict::WrongEnd);
            found.push(match *engines_end {
                // What is beyond a mark is a frame that is not there, whatever is said of its end.
                WalkEnd::Outermost if count > depth => Disagreement {
                    verdict: Verdict::ExtraFrames,
                    expected: Value::Frames(depth),
                    got: Value::Frames(count),
                    ..less
                },
                WalkEnd::Outermost => Disagreement { expected: Value::End(End::Outermost), ..less },
                _ => less,
            });
        }
        // Whatever it reads, it may not give up where the stack is said to end.
        let has_given_up = matches!(answer.end.kind, EndKind::Failed | EndKind::NoRow | EndKind::Unreadable);
        if found.is_empty() && has_given_up && count == depth && self.marks(truth.address(depth - 1)) {
            let expected = Value::End(End::Outermost);
            found.push(Disagreement { expected, ..ends(depth - 1, Verdict::WrongEnd) });
        }
        // Nobody has called the outermost frame, so that only the rows say where it is.
        let outermost = backtrace.frames.get(depth - 1).and_then(|frame| frame.cfa).zip(*outermost_cfa);
        if found.is_empty()
            && of_rows
            && let Some((got, expected)) = outermost.filter(|(got, expected)| got != expected)
        {
            let (expected, got) = (Value::Word(expected), Value::Word(got));
            found.push(Disagreement { expected, got, ..ends(depth - 1, Verdict::WrongCfa) });
        }
        if found.is_empty() && matches!(end, WalkEnd::Context { .. }) && engines.is_empty() {
            let beyond: Vec<u64> = backtrace.frames.iter().skip(depth).map(|frame| frame.pc).collect();
            if engines_beyond.as_ref().is_some_and(|engines| !self.may_be_beyond(&beyond, engines)) {
                let (expected, got) = (Value::Frames(depth), Value::Frames(count));
                found.push(Disagreement { expected, got, ..ends(depth - 1, Verdict::ExtraFrames) });
            }
        }
    }

    /// Whether a walk goes beyond the outermost frame, to no code: an unmarked stack may end with an address that leads
    /// nowhere, and that is no frame to rely on.
    fn goes_nowhere(&self, walk: &AnsweredWalk, depth: usize) -> bool {
        let frames = &walk.backtrace.frames;
        frames.last().filter(|_| frames.len() > depth).is_some_and(|Frame { pc, .. }| {
            let is_in_image = self.target.is_some_and(|target| target.module_at(Loaded(*pc)).is_some());
            !is_in_image || self.reads == Data::Sframe && !self.has_fde(*pc)
        })
    }

    /// What is wrong with what it says of itself, or with a walk that ends early where only complete ones will do.
    fn wrong_of_itself(
        &self,
        answer: &sframe_protocol::Backtrace,
        reliability: Reliability,
        found: &[Disagreement],
        engine: &EngineWalk,
    ) -> Option<Verdict> {
        let is_early = matches!(reliability, Reliability::Incomplete | Reliability::Silent);
        let beyond = match (reliability, answer.reliable) {
            (Reliability::Silent, Some(true)) => Some(Verdict::Silent),
            (Reliability::Wrong, Some(true)) => Some(Verdict::FalselyReliable),
            _ if is_early && self.requires_reliable && found.is_empty() => Some(Verdict::Incomplete),
            _ => None,
        };
        // Whoever follows wrong rows can't know that they are wrong.
        let beyond = beyond.filter(|verdict| *verdict == Verdict::Incomplete || engine.found.is_empty());
        // But how they have ended a walk, they know.
        let is_contradicted = answer.reliable == Some(true) && answer.end.kind != EndKind::Outermost;
        beyond.or(is_contradicted.then_some(Verdict::FalselyReliable))
    }

    /// How an unwinder that reads the same rows as the engine walks otherwise than it, where neither has the call stack's
    /// frames. `None` if it reads something else, or does not.
    fn not_by_the_rows(
        &self,
        truth: &Truth<'_>,
        engine: &EngineWalk,
        answer: &[sframe_protocol::Frame],
    ) -> Option<Disagreement> {
        if self.reads != Data::Sframe {
            return None;
        }
        let last = truth.call_stack.depth().checked_sub(1)?;
        let differs = |frame: usize, verdict, expected, got| {
            let found = at(truth, frame.min(last), verdict, End::Outermost);
            Some(Disagreement { expected, got, ..found })
        };
        for (index, (frame, engines)) in answer.iter().zip(&engine.frames).enumerate() {
            let word = |verdict, frame, engines, its| {
                differs(frame, verdict, Value::Word(engines), Value::Word(its))
            };
            if frame.pc.0 != engines.pc {
                return word(Verdict::WrongRa, index.saturating_sub(1), engines.pc, frame.pc.0);
            }
            if let (Some(Fp::Value(fp)), Ok(engines)) = (frame.fp, engines.fp)
                && fp.0 != engines
            {
                return word(Verdict::WrongFp, index.saturating_sub(1), engines, fp.0);
            }
            if let Some((cfa, engines)) = frame.cfa.zip(engines.cfa)
                && cfa.0 != engines
            {
                return word(Verdict::WrongCfa, index, engines, cfa.0);
            }
        }
        // To end before what is not the call stack is no fault.
        let (its, engines) = (answer.len(), engine.frames.len());
        let more = || {
            let (expected, got) = (Value::Frames(engines), Value::Frames(its));
            differs(engines.saturating_sub(1), Verdict::ExtraFrames, expected, got)
        };
        (its > engines).then(more).flatten()
    }

    /// Whether a walk may have these frames beyond the first function of a context, where nobody is: the address that the
    /// program has put there to return to, and what rows say of it. That is what the engine finds, by the same rows.
    fn may_be_beyond(&self, beyond: &[u64], engines: &[u64]) -> bool {
        match self.reads {
            Data::Sframe => engines.starts_with(beyond),
            // It may find more, or more of it.
            Data::EhFrame | Data::Other => {
                beyond.iter().zip(engines).take(1).all(|(its, engines)| its == engines)
            }
        }
    }

    /// Whether the unwinder reads SFrame, so that it can be mistaken about rows.
    pub(super) fn reads_sframe(&self) -> bool {
        self.reads == Data::Sframe
    }

    /// Whether the section marks an outermost frame there.
    fn marks(&self, address: LookupAddress) -> bool {
        matches!(self.sections.lookup(address), Ok(Some(found)) if found.row.is_outermost())
    }

    /// Returns the finding with the blame, if the engine does not have it.
    pub(super) fn blame(&self, finding: Finding) -> Finding {
        let (blame, confidence, whose) = match self.reads {
            Data::Sframe => {
                (Blame::Consumer, Confidence::High, "the engine of this project agrees with the call stack")
            }
            Data::EhFrame | Data::Other => (
                Blame::Unknown,
                Confidence::Low,
                "the engine of this project has no finding there: the fault is in what the unwinder reads, or in the unwinder",
            ),
        };
        Finding {
            blame,
            confidence,
            message: finding.message.clone().and(format_args!("; {whose}")),
            ..finding
        }
    }
}

/// What the engine of this project makes of a stop.
pub(super) struct EngineWalk {
    /// How its walk ends.
    pub(super) end: WalkEnd,
    /// What it finds.
    pub(super) found: Vec<Disagreement>,
    /// The PCs of its frames beyond the outermost one, if they are known.
    pub(super) beyond: Option<Vec<u64>>,
    /// The CFA of its frame that is the outermost one, if it has one.
    pub(super) outermost_cfa: Option<u64>,
    /// All of its frames, if it finds something.
    pub(super) frames: Vec<Frame>,
    /// What it was held against, if that is not the call stack of the witness.
    pub(super) call_stack: Option<CallStack>,
    /// Whether it says nothing of the rows.
    pub(super) is_excluded: bool,
}

/// Returns a disagreement about the end of a walk.
fn at(truth: &Truth<'_>, frame: usize, verdict: Verdict, end: End) -> Disagreement {
    Disagreement {
        verdict,
        frame,
        pc: truth.state(frame).pc.get(),
        address: truth.address(frame),
        expected: Value::Frames(truth.call_stack.depth()),
        got: Value::End(end),
        after_wrong_fp: None,
    }
}

/// Returns how much of the stack an agreeing walk has shown.
const fn rank(end: WalkEnd) -> u8 {
    match end {
        WalkEnd::Outermost => 2,
        WalkEnd::Unmarked { .. } | WalkEnd::Context { .. } => 1,
        _ => 0,
    }
}

/// Whether the engine has the same disagreement: the same value, or, if the engine
/// has a wrong value, no value at all.
fn is_same(found: &Disagreement, engines: &Disagreement) -> bool {
    let gives_up = matches!(
        found.verdict,
        Verdict::Truncated | Verdict::BadMemory | Verdict::NoProgress | Verdict::DecodeError
    );
    found.frame == engines.frame
        && (gives_up || (found.verdict == engines.verdict && found.got == engines.got))
}

fn end_of(end: &sframe_protocol::End) -> End {
    let tracked = match end.what {
        Some(sframe_vectors::Tracked::Ra) => Tracked::Ra,
        Some(sframe_vectors::Tracked::Fp) => Tracked::Fp,
        Some(sframe_vectors::Tracked::Cfa) | None => Tracked::Cfa,
    };
    let value = |address: Option<Address>| address.map_or(0, |address| address.0);
    let register = sframe_engine::DwarfRegister(end.register.unwrap_or_default());
    End::Failed(match end.kind {
        EndKind::Outermost => return End::Outermost,
        EndKind::TooDeep => return End::TooDeep,
        EndKind::Failed | EndKind::Malformed => return End::Unspecified,
        EndKind::NoFde => StepError::NoFde,
        EndKind::NoRow => StepError::NoRow,
        EndKind::Unreadable => StepError::Unreadable { tracked, address: value(end.address) },
        // An end without a register has no message about it.
        EndKind::UnknownRegister if end.register.is_none() => return End::Unspecified,
        EndKind::UnknownRegister => StepError::UnknownRegister { tracked, register },
        // The comparison treats these two alike.
        EndKind::UnsafeRegister if end.register.is_none() => StepError::RaNotSaved,
        EndKind::UnsafeRegister => StepError::UnsafeRegister { tracked, register },
        EndKind::RaNotSaved => StepError::RaNotSaved,
        EndKind::Misaligned => StepError::MisalignedCfa { cfa: value(end.cfa) },
        EndKind::NoProgress => StepError::NoProgress { cfa: value(end.cfa), sp: 0 },
    })
}

/// What is known about unwind data other than SFrame: where it has FDEs. It may use
/// any register.
struct OnlyFdes<F>(F);

impl<F: Fn(LookupAddress) -> bool> Rules for OnlyFdes<F> {
    fn at(&self, address: LookupAddress) -> RulesAt {
        RulesAt::of_other_data(self.0(address))
    }
}

/// Whether the call frame information of an image has an FDE for an address.
fn has_cfi(target: &Target<'_>, address: LookupAddress) -> bool {
    let Some(module) = target.module_at(address) else { return false };
    module.cfi().is_some_and(|cfi| cfi.fde_at(module.linked(address).0).is_some())
}

/// A stop without an answer.
pub(super) struct FaultFinding {
    pc: u64,
    depth: usize,
    message: String,
    pub(super) hits: u64,
    /// Whether the answer is none of the protocol.
    pub(super) is_malformed: bool,
}

impl FaultFinding {
    /// At a PC, with a call stack of `depth` frames.
    pub(super) fn new(pc: u64, depth: usize, fault: Fault) -> Self {
        let Fault { message, malformed, .. } = fault;
        Self { pc, depth, message, hits: 0, is_malformed: malformed.is_some() }
    }

    pub(super) fn finding(self, verdict: Verdict, target: &Target<'_>) -> Finding {
        let place = target.place(Loaded(self.pc));
        let expected = Said::words(format!("a backtrace of {} frames", self.depth));
        let message = Message::at(place, &*self.message);
        Finding {
            pc: Some(crate::finding::Address(place.address.0)),
            image: place.image.map(str::to_owned),
            function: place.function.map(str::to_owned),
            frame: Some(0),
            hits: self.hits,
            blame: Blame::Consumer,
            confidence: Confidence::High,
            ..Finding::of_spec(verdict, expected, Said::words(self.message), message)
        }
    }
}

/// Returns the finding for a fault whose stop is unknown.
pub(super) fn unplaced(fault: &Fault) -> Finding {
    let message = format!("{fault}; when each of the stops was asked alone, it did not happen again");
    let finding =
        Finding::of_spec(fault.verdict, Said::words("a backtrace"), Said::words(&*fault.message), message);
    Finding { blame: Blame::Consumer, confidence: Confidence::High, ..finding }
}
