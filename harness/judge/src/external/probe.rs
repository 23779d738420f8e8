//! Collects stops while the program runs, and asks about many at once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use sframe_engine::ByteOrder;
use sframe_machine::{Change, Moment};
use sframe_protocol::{Address, Hex, Image, Stack, Stop};

use super::answers::{Answers, Asked, SessionCounts};
use super::command::ExternalError;
use super::following::Following;
use super::judge::{EngineWalk, Judge};
use super::pending::Pending;
use super::report::UnwinderExamination;
use super::sample::{Sample, StopsPerCase};
use super::session::{Came, Session};
use super::shadow::Shadow;
use crate::calls::{Judged, Readings};
use crate::compare::{Truth, WalkEnd, disagreements};
use crate::examine::{Examination, Probe};
use crate::target::Target;
use crate::target::layouts::FrameLayouts;
use crate::triage::{Circumstances, triage};
use crate::unwind::{Backtrace, SframeUnwinder, Unwinder as _, Viewpoint};

/// The maximum number of stops in a request; twice as many within a function
/// between its calls.
const STOPS: usize = 64;
/// The maximum number of frames in a request, unless it has only one stop.
const FRAMES: usize = 1 << 16;
/// The maximum bytes of memory kept for pending stops, unless there is only one.
const BYTES: usize = 8 << 20;
/// The number of bytes of the stack that are sent along.
const SNAPSHOT: u64 = 16 << 10;
/// The number of DWARF registers that are asked for.
const REGISTERS: u32 = 96;

/// Everything that an unwinder is asked about one program.
pub(super) struct Questions<'q, 'a> {
    target: &'q Target<'a>,
    session: Session<'q>,
    engine: SframeUnwinder<'a>,
    judge: Judge<'q, 'a>,
    sample: Sample,
    shadow: Shadow,
    stops: Vec<Stop>,
    pending: Vec<Pending>,
    waiting_frames: usize,
    waiting_bytes: usize,
    answers: Answers,
    layouts: RefCell<FrameLayouts>,
    waited: Duration,
    error: Option<ExternalError>,
    following: Following<'q>,
    /// Whether the last moment was asked about.
    is_asked: bool,
    not_followed: u64,
}

impl<'q, 'a> Questions<'q, 'a> {
    pub(super) fn new(
        target: &'q Target<'a>,
        session: Session<'q>,
        stops_per_case: StopsPerCase,
        requires_reliable: bool,
    ) -> Self {
        let bits = target.executable().image.cpu.address_bits;
        Self {
            target,
            judge: Judge::new(&target.sections, Some(target), &session.hello)
                .requiring_reliable(requires_reliable),
            session,
            engine: SframeUnwinder::new(target.sections.clone(), bits),
            sample: Sample::new(stops_per_case),
            shadow: Shadow::default(),
            stops: Vec::new(),
            pending: Vec::new(),
            waiting_frames: 0,
            waiting_bytes: 0,
            answers: Answers::default(),
            layouts: RefCell::default(),
            waited: Duration::ZERO,
            error: None,
            following: Following::default(),
            is_asked: false,
            not_followed: 0,
        }
    }

    /// With the images that there are and will be, if the unwinder gets the latter when they come: `at_start` are there when
    /// the program begins.
    pub(super) fn following(self, images: Vec<Image>, at_start: usize, folder: &'q Path) -> Self {
        Self { following: Following::of(images, at_start, folder), ..self }
    }

    /// Tells the unwinder what has come or gone, if it follows that.
    fn tell(&mut self, told: Vec<Came>) {
        for told in told {
            if self.error.is_none() {
                self.error = self.following.tell(&mut self.session, told).err();
            }
        }
    }

    /// Takes a moment at which the unwinder is asked.
    fn take(&mut self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>, readings: Readings) {
        let depth = truth.call_stack.depth();
        if self.stops.len() >= STOPS
            || self.waiting_frames.saturating_add(depth) > FRAMES
            || self.waiting_bytes.saturating_add(self.shadow.later_bytes()) > BYTES
        {
            self.ask();
            if self.error.is_some() {
                return;
            }
        }
        let engine = self.of_the_engine(truth, viewpoint, &readings);
        let held_against = engine.call_stack.as_ref().unwrap_or(truth.call_stack);
        let of_walk = Truth { call_stack: held_against, ..*truth };
        let scene =
            Circumstances::new(&of_walk, viewpoint, self.target, &self.layouts).by(self.judge.sections());
        let triages = engine.found.iter().map(|found| triage(found, &scene, true)).collect();
        self.shadow.keep(viewpoint.memory, self.stops.len());
        let stack = self.snapshot(truth, viewpoint);
        let registers =
            (0..REGISTERS).filter_map(|number| Some((number, Address(viewpoint.register(number)?))));
        let registers: BTreeMap<u32, Address> = registers.collect();
        self.waiting_frames += depth;
        self.waiting_bytes += stack.bytes.0.len() + depth * size_of::<sframe_machine::Record>();
        self.stops.push(Stop { pc: Address(truth.pc), registers, stack });
        let call_stack = truth.call_stack.clone();
        let Truth { pc, sp, fp, red_zone, .. } = *truth;
        self.pending.push(Pending { pc, sp, fp, red_zone, call_stack, engine, triages, readings });
    }

    /// Returns the engine's result at a stop.
    fn of_the_engine(
        &mut self,
        truth: &Truth<'_>,
        viewpoint: &Viewpoint<'_>,
        readings: &Readings,
    ) -> EngineWalk {
        let mut backtrace = Backtrace::default();
        self.engine.unwind(viewpoint, &mut backtrace);
        // Luck is a property of the section, not of the unwinder.
        let truth = Truth { stores: None, ..*truth };
        let sections = self.judge.sections();
        let recorded = disagreements(&truth, &backtrace, sections);
        let judged = readings.judge(&truth, &backtrace, sections, recorded, Some((self.target, sections)));
        let Judged { end, found, call_stack, .. } = judged;
        let is_excluded = end == WalkEnd::Unsettled;
        let depth = call_stack.as_ref().unwrap_or(truth.call_stack).depth();
        let beyond = backtrace.frames.iter().skip(depth).map(|frame| frame.pc);
        let outermost_cfa = depth.checked_sub(1).and_then(|last| backtrace.frames.get(last)?.cfa);
        let beyond = Some(beyond.collect());
        let frames = if found.is_empty() && !is_excluded { Vec::new() } else { backtrace.frames };
        EngineWalk { end, found, beyond, outermost_cfa, frames, call_stack, is_excluded }
    }

    fn snapshot(&self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>) -> Stack {
        let Some(region) = self.shadow.region(truth.sp) else { return Stack::default() };
        let start = (truth.sp.saturating_sub(truth.red_zone) & !7).max(region.start);
        let len = (region.end - start).min(SNAPSHOT);
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        if !viewpoint.memory.read(start, &mut bytes) {
            return Stack::default();
        }
        Stack { address: Address(start), bytes: Hex(bytes) }
    }

    /// Asks about all pending stops.
    fn ask(&mut self) {
        if self.stops.is_empty() {
            return;
        }
        let Self { target, session, judge, shadow, stops, pending, answers, .. } = self;
        let order = target.executable().image.cpu.abi.byte_order();
        let read = |stop: usize, address: u64, size: u32| shadow.read(stop, address, size);
        let start = Instant::now();
        let result = session.unwind(stops, &read, &mut |index, answer| {
            let word = |address| word(order, &shadow.read(index, address, 8)?);
            let asked = Asked { target, judge, pending: &pending[index], stop: &stops[index], memory: &word };
            answers.add(&asked, answer);
        });
        self.waited += start.elapsed();
        self.error = self.error.take().or(result.err());
        self.stops.clear();
        self.pending.clear();
        self.shadow.settle();
        (self.waiting_frames, self.waiting_bytes) = (0, 0);
    }

    /// Returns the results.
    pub(super) fn finish(mut self, examination: Examination) -> UnwinderExamination {
        self.ask();
        if matches!(self.error, Some(ExternalError::Malformed(_))) {
            self.answers.forget_bad();
        }
        let Self { target, session, judge, sample, answers, .. } = self;
        let counts = SessionCounts {
            moments: sample.moments,
            different: sample.different,
            not_followed: self.not_followed,
            restarts: session.restarts,
            seconds: self.waited.as_secs_f64(),
        };
        let results =
            answers.finish(target, &judge, examination, (&session.hello, counts), &session.unplaced);
        UnwinderExamination { error: self.error, ..results }
    }
}

impl Probe for Questions<'_, '_> {
    fn start(&mut self) {
        self.ask();
        self.sample.start();
        self.shadow.start();
        self.judge.restart();
        self.engine.restart();
        // What has come or gone in the last run is as it was when that began.
        let told = self.following.begin_again();
        self.tell(told);
        self.following.has_begun();
    }

    fn changed(&mut self, moment: &Moment<'_>, change: &Change, readings: &dyn Fn() -> Readings) {
        if self.error.is_some() {
            return;
        }
        let told = match self.following.told(change) {
            Ok(told) => told,
            Err(error) => return self.error = Some(error),
        };
        let is_known = !matches!(change, Change::Replaced(_) | Change::Executed(_));
        let gone = match change {
            Change::Mapped(range) | Change::Unmapped(range) => Some(range),
            _ => None,
        };
        if told.is_empty() && is_known && !self.following.is_stale(gone) {
            return;
        }
        // Right before it, and, as the next one, right after it.
        if !self.is_asked && !self.following.is_behind() && moment.call_stack.is_settled() {
            self.take(&Truth::of(moment), &Viewpoint::new(moment), readings());
        }
        self.ask();
        self.sample.changed(match change {
            Change::Registered(table) | Change::Withdrawn(table) => Some(&table.code),
            Change::Mapped(_) | Change::Unmapped(_) | Change::Replaced(_) | Change::Executed(_) => None,
        });
        if matches!(change, Change::Executed(_)) {
            // Its memory is another.
            self.shadow.start();
        }
        self.engine.changed(change);
        self.judge.change(change);
        self.following.change(change, !told.is_empty(), self.session.hello.follows);
        self.tell(told);
    }

    fn breakpoint(&mut self) {
        self.sample.breakpoint();
    }

    fn compared(&mut self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>, readings: &dyn Fn() -> Readings) {
        self.is_asked = false;
        if self.error.is_some() {
            return self.sample.pass();
        }
        if self.following.is_behind() {
            self.not_followed += 1;
            return self.sample.pass();
        }
        if self.sample.wants(truth) {
            self.is_asked = true;
            self.take(truth, viewpoint, readings());
        }
    }

    fn stored(&mut self, address: u64, len: u64) {
        self.shadow.stored(address, len);
    }
}

/// Reads a word of memory.
fn word(order: ByteOrder, bytes: &[u8]) -> Option<u64> {
    let bytes = bytes.try_into().ok()?;
    Some(match order {
        ByteOrder::Little => u64::from_le_bytes(bytes),
        ByteOrder::Big => u64::from_be_bytes(bytes),
    })
}
