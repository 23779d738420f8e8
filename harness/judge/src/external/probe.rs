//! Collects stops while the program runs, and asks about many at once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use sframe_engine::{ByteOrder, DwarfRegister};
use sframe_machine::{CallStack, Change, Moment, overlap};
use sframe_protocol::{Address, Hex, Image, Stack, Stop, Unmapped};

use super::command::ExternalError;
use super::judge::{EngineWalk, FaultFinding, Judge};
use super::report::{UnwinderExamination, UnwinderReport};
use super::sample::{Sample, StopsPerCase};
use super::session::{Came, Session};
use super::shadow::Shadow;
use crate::calls::{Judged, Readings};
use crate::compare::{
    ByPc, Disagreement, LastInstructions, Reliabilities, Truth, Value, WalkEnd, disagreements,
};
use crate::examine::{Examination, Probe, WalkEnds};
use crate::finding::{self, Blame, Confidence, Finding};
use crate::target::layouts::FrameLayouts;
use crate::target::{Linked, Loaded, Target};
use crate::triage::{Circumstances, Findings, FrameView, Mistakes, Triage, triage};
use crate::unwind::{Backtrace, SframeUnwinder, Unwinder as _, Viewpoint};
use crate::vocabulary::Verdict;

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

/// A stop that waits for its answer, and the true state there.
pub(super) struct Pending {
    pub(super) pc: u64,
    sp: u64,
    fp: u64,
    red_zone: u64,
    pub(super) call_stack: CallStack,
    /// The engine's result.
    pub(super) engine: EngineWalk,
    /// What other witnesses say about these.
    triages: Vec<Triage>,
    /// What walks are held against besides the call stack.
    readings: Readings,
}

impl Pending {
    pub(super) fn truth(&self) -> Truth<'_> {
        Truth {
            pc: self.pc,
            sp: self.sp,
            fp: self.fp,
            red_zone: self.red_zone,
            call_stack: &self.call_stack,
            stores: None,
            viewpoint: None,
            ignores_fp: false,
        }
    }
}

impl Pending {
    /// Returns what other witnesses say about a disagreement that the engine also has.
    fn triage_of(&self, found: &Disagreement) -> Triage {
        let same = self.engine.found.iter().zip(&self.triages).find(|(engines, _)| *engines == found);
        same.map_or(Triage::UNKNOWN, |(_, triage)| triage.clone())
    }
}

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
    asked: u64,
    nothing_compared: u64,
    unread: u64,
    /// Walks that are worth nothing: where the function leaves for was not yet settled.
    not_settled: u64,
    agree: u64,
    frames: u64,
    fp_untold: u64,
    cfa_untold: u64,
    walk_ends: WalkEnds,
    reliability: ByPc,
    /// Those where the rows are wrong.
    where_rows_are_wrong: Reliabilities,
    /// The complete walks that the unwinder calls reliable.
    called_reliable: u64,
    last_instructions: LastInstructions,
    /// Disagreements that only the unwinder has.
    own: Findings,
    layouts: RefCell<FrameLayouts>,
    /// Those that the engine also has.
    shared: Findings,
    /// Disagreements where the engine has a different one.
    unclear: Findings,
    /// What is wrong with what it says of its walks, and walks that are not complete where only complete ones will do.
    beyond: BTreeMap<Verdict, (Disagreement, u64)>,
    faults: FxHashMap<(Verdict, u64), FaultFinding>,
    /// The unwinder's words about ends that are findings, by verdict and PC without
    /// bias.
    said: FxHashMap<(Verdict, Linked), String>,
    waited: Duration,
    error: Option<ExternalError>,
    /// Where files for the unwinder go.
    folder: Option<&'q Path>,
    /// The images of an unwinder that follows what comes and goes.
    images: Vec<Image>,
    /// The number of those that are there when the program begins. The others it loads itself, or executes.
    at_start: usize,
    /// What has come in this run, and whether the unwinder follows it.
    came: Vec<(Unmapped, bool)>,
    /// Where another file is than the one whose table the unwinder knows.
    stale: Vec<Range<u64>>,
    /// The number of files for sections that the program has registered.
    registered: u64,
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
            asked: 0,
            nothing_compared: 0,
            not_settled: 0,
            unread: 0,
            agree: 0,
            frames: 0,
            fp_untold: 0,
            cfa_untold: 0,
            walk_ends: WalkEnds::default(),
            reliability: ByPc::default(),
            where_rows_are_wrong: Reliabilities::default(),
            called_reliable: 0,
            last_instructions: LastInstructions::default(),
            own: Findings::default(),
            layouts: RefCell::default(),
            shared: Findings::default(),
            unclear: Findings::default(),
            beyond: BTreeMap::new(),
            faults: FxHashMap::default(),
            said: FxHashMap::default(),
            waited: Duration::ZERO,
            error: None,
            folder: None,
            images: Vec::new(),
            at_start: 0,
            came: Vec::new(),
            stale: Vec::new(),
            registered: 0,
            is_asked: false,
            not_followed: 0,
        }
    }

    /// With the images that there are and will be, if the unwinder gets the latter when they come: `at_start` are there when
    /// the program begins.
    pub(super) fn following(self, images: Vec<Image>, at_start: usize, folder: &'q Path) -> Self {
        let at_start = at_start.min(images.len());
        let came = images[..at_start].iter().map(|image| (place_of(image), true)).collect();
        Self { images, at_start, came, folder: Some(folder), ..self }
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
    fn told(&mut self, change: &Change) -> Result<Vec<Came>, ExternalError> {
        let told = match change {
            Change::Executed(code) => {
                let gone = self.came.iter().rev().map(|(came, _)| Came::Out(*came));
                let is_new = |image: &&Image| code.iter().any(|range| is_within(image, range));
                return Ok(gone.chain(self.images.iter().filter(is_new).cloned().map(Came::In)).collect());
            }
            Change::Registered(table) => {
                let Some(folder) = self.folder else { return Ok(Vec::new()) };
                self.registered += 1;
                let image = super::judge::registered(table, folder, self.registered);
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
    fn tell(&mut self, told: Came) -> Result<(), ExternalError> {
        let follows = self.session.hello.follows;
        match &told {
            Came::In(image) => {
                let came = place_of(image);
                let is_followed = follows && self.session.change(told)?.is_none();
                self.came.push((came, is_followed));
            }
            Came::Out(gone) => {
                let Some(last) = self.came.iter().rposition(|(came, _)| came == gone) else { return Ok(()) };
                if self.came[last].1 && self.session.change(told)?.is_some() {
                    // It goes on with what is not there any more.
                    self.came[last].1 = false;
                } else {
                    self.came.remove(last);
                }
            }
        }
        Ok(())
    }

    /// Tells it what has come or gone in the last run, so that there is what there was when that began.
    fn begin_again(&mut self) {
        let at_start: Vec<(Unmapped, bool)> =
            self.images[..self.at_start].iter().map(|image| (place_of(image), true)).collect();
        let has_come = self.came.iter().rev().filter(|came| !at_start.contains(came)).map(|(came, _)| *came);
        let gone =
            self.images[..self.at_start].iter().filter(|image| !self.came.contains(&(place_of(image), true)));
        let told: Vec<Came> = has_come.map(Came::Out).chain(gone.cloned().map(Came::In)).collect();
        for told in told {
            if self.error.is_none() {
                self.error = self.tell(told).err();
            }
        }
        self.came = at_start;
    }

    /// Whether something has come, or has not gone, that the unwinder does not know of.
    fn is_behind(&self) -> bool {
        !self.stale.is_empty() || self.came.iter().any(|(_, is_followed)| !is_followed)
    }

    /// Whether it was told what was at some addresses when that came, and so when it went.
    fn knows_to_come(&self, range: &Range<u64>) -> bool {
        self.session.hello.follows && self.later().iter().any(|image| is_within(image, range))
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
        let Self {
            target,
            session,
            judge,
            shadow,
            stops,
            pending,
            faults,
            said,
            own,
            shared,
            unclear,
            beyond,
            reliability,
            where_rows_are_wrong,
            called_reliable,
            last_instructions,
            ..
        } = self;
        let (stops, reads_sframe) = (&**stops, judge.reads_sframe());
        let order = target.executable().image.cpu.abi.byte_order();
        let read = |stop: usize, address: u64, size: u32| shadow.read(stop, address, size);
        let (mut agree, mut frames, mut fp_untold, mut cfa_untold, mut ends) =
            (0, 0, 0, 0, WalkEnds::default());
        let start = Instant::now();
        let (mut asked, mut nothing_compared, mut not_settled) = (0, 0, 0);
        let result = session.unwind(stops, &read, &mut |index, answer| {
            let pending = &pending[index];
            asked += 1;
            let judged = answer.and_then(|answer| {
                let judged =
                    judge.judge(&pending.truth(), &pending.engine, &answer, Some(&pending.readings))?;
                Ok((judged, answer.frames, answer.end.message))
            });
            let (judged, answered, message) = match judged {
                Ok(judged) => judged,
                Err(fault) => {
                    ends.count(WalkEnd::Disagreed, 0);
                    let found = faults.entry((fault.verdict, pending.pc));
                    let depth = pending.call_stack.depth();
                    found.or_insert_with(|| FaultFinding::new(pending.pc, depth, fault)).hits += 1;
                    return;
                }
            };
            if judged.is_excluded {
                nothing_compared += 1;
                not_settled += 1;
                ends.count(WalkEnd::Unsettled, 0);
                return;
            }
            if judged.end.has_compared(pending.call_stack.depth()) {
                frames += judged.frames;
                fp_untold += judged.fp_untold;
                cfa_untold += judged.cfa_untold;
                agree += u64::from(judged.end != WalkEnd::Disagreed);
            } else {
                nothing_compared += 1;
            }
            let first = [&judged.own, &judged.shared, &judged.unclear].into_iter().flatten();
            let first = first.min_by_key(|found| found.frame).map(std::slice::from_ref);
            let began = last_instructions.start(pending.pc, &pending.call_stack, target);
            reliability.count(began, first.unwrap_or_default(), judged.reliability);
            *called_reliable += u64::from(judged.is_called_reliable);
            if judged.are_rows_wrong {
                where_rows_are_wrong.count(judged.reliability);
            }
            ends.count(judged.end, pending.call_stack.depth());
            if let Some(message) = message {
                for found in judged.own.iter().chain(&judged.unclear) {
                    if matches!(found.got, Value::End(_)) {
                        let key = (found.verdict, target.linked(Loaded(found.pc)));
                        said.entry(key).or_insert_with(|| super::process::shown(message.as_bytes()));
                    }
                }
            }
            if let Some(found) = judged.beyond {
                // One finding, however many walks: what they have in common is the word that is false.
                beyond.entry(found.verdict).or_insert((found, 0)).1 += 1;
            }
            for found in judged.own {
                let entry = own.add_triaged(found, target, |_| Triage::UNKNOWN);
                if reads_sframe {
                    let word = |address| word(order, &shadow.read(index, address, 8)?);
                    own.explain(entry, mistakes(&found, pending, &answered, target, &stops[index], &word));
                }
            }
            for found in judged.shared {
                shared.add_triaged(found, target, |_| pending.triage_of(&found));
            }
            for found in judged.unclear {
                unclear.add_triaged(found, target, |_| pending.triage_of(&found));
            }
        });
        self.waited += start.elapsed();
        self.asked += asked;
        self.nothing_compared += nothing_compared;
        self.not_settled += not_settled;
        self.agree += agree;
        self.frames += frames;
        self.fp_untold += fp_untold;
        self.cfa_untold += cfa_untold;
        self.walk_ends.add(&ends);
        self.error = self.error.take().or(result.err());
        self.stops.clear();
        self.pending.clear();
        self.shadow.settle();
        (self.waiting_frames, self.waiting_bytes) = (0, 0);
    }

    /// Forgets answers that are not of the protocol: why nothing more is asked need not be said for each of them.
    fn forget_bad_answers(&mut self) {
        let bad = self.faults.extract_if(|_, found| found.is_malformed);
        let answers: u64 = bad.map(|(_, found)| found.hits).sum();
        self.nothing_compared += answers;
        self.unread += answers;
        self.walk_ends.disagreed = self.walk_ends.disagreed.saturating_sub(answers);
    }

    /// Returns the results.
    pub(super) fn finish(mut self, mut examination: Examination) -> UnwinderExamination {
        self.ask();
        if matches!(self.error, Some(ExternalError::Malformed(_))) {
            self.forget_bad_answers();
        }
        let of_engine = std::mem::take(&mut examination.findings);
        let of_sections = of_engine.iter().filter(|found| found.blame != Blame::Format);
        let section_findings =
            finding::count(of_sections) + examination.findings_omitted.values().sum::<u64>();
        let hello = self.session.hello.clone();
        let report = UnwinderReport {
            name: hello.name,
            version: hello.version,
            data: hello.data,
            moments: self.sample.moments,
            different: self.sample.different,
            stops: self.asked,
            nothing_compared: self.nothing_compared,
            unread: self.unread,
            not_followed: self.not_followed,
            agree: self.agree,
            frames: self.frames,
            fp_untold: self.fp_untold,
            cfa_untold: self.cfa_untold,
            walk_ends: self.walk_ends,
            reliability_by_topmost: self.reliability.by_topmost(self.target),
            where_rows_are_wrong: self.where_rows_are_wrong,
            declares: hello.reliable,
            called_reliable: self.called_reliable,
            not_settled: self.not_settled,
            section_findings,
            restarts: self.session.restarts,
            seconds: self.waited.as_secs_f64(),
        };
        examination.findings_omitted.clear();
        for findings in [&self.own, &self.shared, &self.unclear] {
            for (verdict, count) in findings.omitted() {
                *examination.findings_omitted.entry(*verdict).or_default() += count;
            }
        }
        let judge = &self.judge;
        let said = &self.said;
        let quoting = |found: Finding| match found.pc.and_then(|pc| said.get(&(found.verdict, Linked(pc.0))))
        {
            Some(words) => noting(found, &format!("the unwinder says: {words}")),
            None => found,
        };
        let mut findings: Vec<_> = self
            .own
            .into_findings(self.target)
            .into_iter()
            .map(|found| judge.blame(quoting(found)))
            .collect();
        // What makes an unwinder fail comes before what it gets wrong.
        let mut faults: Vec<_> = self.faults.into_iter().collect();
        faults.sort_by_key(|((_, pc), found)| (*pc, found.hits));
        let faults = faults.into_iter().map(|((verdict, _), found)| found.finding(verdict, self.target));
        let faults = faults.chain(self.session.unplaced.iter().map(super::judge::unplaced));
        findings.splice(0..0, faults);
        for (verdict, (found, walks)) in self.beyond {
            let mut one = Findings::default();
            one.add_triaged(found, self.target, |_| Triage::UNKNOWN);
            findings.extend(one.into_findings(self.target).into_iter().map(|found| match verdict {
                // Nobody but the unwinder has declared anything.
                Verdict::Silent | Verdict::FalselyReliable => Finding {
                    hits: walks,
                    blame: Blame::Consumer,
                    confidence: Confidence::High,
                    ..noting(found, "the unwinder declares the walk reliable")
                },
                _ => Finding { hits: walks, ..found },
            }));
        }
        let unclear = self.unclear.into_findings(self.target).into_iter();
        findings.extend(unclear.map(|found| {
            let found = quoting(found);
            noting(
                found,
                "the engine of this project does not agree with the call stack either, but differently",
            )
        }));
        let same = |found| noting(found, "the engine of this project says the same");
        let shared = self.shared.into_findings(self.target).into_iter().map(same);
        // What no walk shows is wrong for all who read the section.
        let is_of_section = |found: &Finding| {
            self.judge.reads_sframe() && matches!(found.verdict, Verdict::ByLuck | Verdict::NoFde)
        };
        let shared = shared.chain(of_engine.into_iter().filter(is_of_section)).collect();
        UnwinderExamination { examination, report, shared, findings, error: self.error }
    }
}

impl Probe for Questions<'_, '_> {
    fn start(&mut self) {
        self.ask();
        self.sample.start();
        self.shadow.start();
        self.judge.restart();
        self.engine.restart();
        self.begin_again();
    }

    fn changed(&mut self, moment: &Moment<'_>, change: &Change, readings: &dyn Fn() -> Readings) {
        if self.error.is_some() {
            return;
        }
        let told = match self.told(change) {
            Ok(told) => told,
            Err(error) => return self.error = Some(error),
        };
        let is_executed = matches!(change, Change::Executed(_));
        let is_replaced = matches!(change, Change::Replaced(_));
        let gone = match change {
            Change::Mapped(range) | Change::Unmapped(range) => Some(range),
            _ => None,
        };
        let is_stale = |stale: &Range<u64>| gone.is_some_and(|gone| overlap(stale, gone));
        if told.is_empty() && !is_replaced && !is_executed && !self.stale.iter().any(is_stale) {
            return;
        }
        // Right before it, and, as the next one, right after it.
        if !self.is_asked && !self.is_behind() && moment.call_stack.is_settled() {
            self.take(&Truth::of(moment), &Viewpoint::new(moment), readings());
        }
        self.ask();
        self.sample.changed(match change {
            Change::Registered(table) | Change::Withdrawn(table) => Some(&table.code),
            Change::Mapped(_) | Change::Unmapped(_) | Change::Replaced(_) | Change::Executed(_) => None,
        });
        if is_executed {
            // Its memory is another.
            self.shadow.start();
            self.stale.clear();
        }
        self.engine.changed(change);
        self.judge.change(change);
        self.stale.retain(|stale| !is_stale(stale));
        if let Change::Replaced(range) = change
            && told.is_empty()
            && !self.knows_to_come(range)
        {
            self.stale.push(range.clone());
        }
        for told in told {
            if self.error.is_none() {
                self.error = self.tell(told).err();
            }
        }
    }

    fn breakpoint(&mut self) {
        self.sample.breakpoint();
    }

    fn compared(&mut self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>, readings: &dyn Fn() -> Readings) {
        self.is_asked = false;
        if self.error.is_some() {
            return self.sample.pass();
        }
        if self.is_behind() {
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

/// Where an image is.
const fn place_of(image: &Image) -> Unmapped {
    Unmapped { start: image.start, end: image.end }
}

/// Whether an image is at some addresses of a range.
const fn is_within(image: &Image, range: &Range<u64>) -> bool {
    overlap(&(image.start.0..image.end.0), range)
}

/// Returns the usual mistakes that give an unwinder's answer at a stop.
fn mistakes(
    found: &Disagreement,
    pending: &Pending,
    answered: &[sframe_protocol::Frame],
    target: &Target<'_>,
    stop: &Stop,
    memory: &dyn Fn(u64) -> Option<u64>,
) -> Mistakes {
    let registers = |register: DwarfRegister| stop.registers.get(&register.0).map(|value| value.0);
    let truth = pending.truth();
    let frame = FrameView {
        sections: &target.sections,
        state: truth.state(found.frame),
        call: truth.call_of(found.frame),
        gives_cfa: answered.get(found.frame).is_some_and(|frame| frame.cfa.is_some()),
        caller: answered.get(found.frame + 1).map(|frame| frame.pc.0),
        registers: (found.frame == 0).then_some(&registers),
        memory,
        pauth: target.pauth(),
    };
    Mistakes::of(found, &frame)
}

/// Reads a word of memory.
fn word(order: ByteOrder, bytes: &[u8]) -> Option<u64> {
    let bytes = bytes.try_into().ok()?;
    Some(match order {
        ByteOrder::Little => u64::from_le_bytes(bytes),
        ByteOrder::Big => u64::from_be_bytes(bytes),
    })
}

fn noting(finding: Finding, what: &str) -> Finding {
    let message = finding.message.clone().and(format_args!("; {what}"));
    Finding { message, ..finding }
}
