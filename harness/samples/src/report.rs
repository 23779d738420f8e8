//! What a recording shows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::InstructionPointer;
use sframe_judge::examine::coverage::Explored;
use sframe_judge::explore::{Explorer, Progress};
use sframe_judge::study::{Popped, PoppedSlots};
use sframe_judge::target::{Loaded, MadeSections, Target};
use sframe_kit::Address;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::percent::share;
use sframe_kit::table::Table;
use sframe_kit::text::{Text, counted, first_of, grouped};

use crate::process::Files;
use crate::recording::{Recording, Sample};
use crate::walks::{Stop, Walk, Walker, methods};

/// The version of the document.
pub const SCHEMA: u32 = 1;

/// How many places are printed of each reason.
const SHOWN: usize = 3;
/// How many are in tables.
const IN_TABLE: usize = 10;

/// The largest copy of a stack that `perf record` makes, in bytes.
const LARGEST_COPY: u64 = 65_528;

/// The part of the samples that has to be comparable.
const ENOUGH: (u64, u64) = (1, 2);

/// Why a report of samples can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// It has another form.
    #[error("this is no report of `samples`: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Another version of the bench has written it.
    #[error("the report has format {0}, and this bench reads {SCHEMA}")]
    Schema(u32),
    /// It counts more than there is, or has other methods.
    #[error("the report contradicts itself: it counts more than it has samples, or has other methods")]
    Contradicts,
}

/// The output of `samples --json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SamplesReport {
    /// The version of this document: [`SCHEMA`].
    pub schema: u32,
    /// The recordings as given.
    pub recordings: Vec<String>,
    /// The ABI.
    pub abi: String,
    /// Whether they are core dumps: each thread is a sample.
    pub core_dumps: bool,
    /// Processes, from one execution of a program to the next.
    pub processes: u64,
    /// The files that were read.
    pub files: u64,
    /// The files that could not be used, with the reason.
    pub unusable: BTreeMap<String, String>,
    /// The files whose sections were made from `.eh_frame`.
    pub synthesized: Vec<String>,
    /// Samples with registers and a copy of the stack. All other numbers of samples are of these.
    pub samples: u64,
    /// Those in which the kernel was executing for the program.
    pub in_kernel: u64,
    /// Samples without registers or stack.
    pub without_stack: u64,
    /// Events that the recording says were lost.
    pub lost: u64,
    /// Samples in which both SFrame and CFI lead to a caller, or to the end.
    pub comparable: u64,
    /// By method: SFrame, CFI, frame pointers, and these after a look at the code.
    pub methods: Vec<Method>,
    /// Samples in whose topmost frame the row has FP below SP: readers that give up there lose all callers.
    pub popped_slots: Places,
    /// How many those are by the compilers that the topmost frame's file names.
    #[serde(default)]
    pub popped_by_compiler: PoppedSlots,
    /// The rows of SFrame that say another CFA, caller or FP than CFI.
    pub differences: Vec<Difference>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Core dumps that end before what they say that they have.
    #[serde(default)]
    pub cut_short: Vec<String>,
}

/// Samples by place, each with how many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Places(pub BTreeMap<String, u64>);

impl Places {
    fn more(&mut self, place: String, count: u64) {
        let own = self.0.entry(place).or_default();
        *own = own.saturating_add(count);
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().copied().fold(0, u64::saturating_add)
    }

    /// The most frequent ones, with how many.
    fn most_frequent(&self, count: usize) -> String {
        let mut all: Vec<(&String, u64)> = self.0.iter().map(|(place, count)| (place, *count)).collect();
        all.sort_by_key(|(place, count)| (std::cmp::Reverse(*count), *place));
        let words: Vec<String> =
            all.into_iter().map(|(place, count)| format!("{place} ({})", grouped(count))).collect();
        first_of(&words, count)
    }
}

/// What the walks of a method were worth.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Walks that lead to the outermost frame.
    pub complete: u64,
    /// Those of them that CFI leads along as well, frame by frame.
    pub as_cfi: u64,
    /// Where the others stop, and in how many samples at each place.
    pub stopped: BTreeMap<Stop, Places>,
    /// How large the copy of the stack has to be for the walks that it is too short for: half of them go on with the first
    /// number of bytes, nine of ten with the second.
    pub needs: Option<[u64; 2]>,
}

/// A row of SFrame that says another CFA, caller or FP than CFI.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Where the row begins; if there is none, the place.
    pub place: String,
    /// The function, with its file.
    #[serde(default)]
    pub function: String,
    /// What the row says; if there is none, nothing.
    #[serde(default)]
    pub rules: String,
    /// The file that has the row.
    #[serde(default)]
    pub file: String,
    /// In how many samples, at any place of the row.
    pub samples: u64,
    /// What exploring says of the row.
    pub explored: Explored,
    /// What is proved, or why nothing is.
    pub reason: Option<String>,
}

/// A sample's stack, by each method: a line of `samples --walks`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WalkedSample {
    /// Its position in the recording, among those with registers and stack.
    pub sample: usize,
    /// The process.
    pub process: i32,
    /// The thread.
    pub thread: i32,
    /// Whether the kernel was executing for it.
    pub in_kernel: bool,
    /// By method: the PC of each frame, the topmost first, and where the walk stops.
    pub walks: BTreeMap<&'static str, WalkedBy>,
}

/// A walk by one method.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WalkedBy {
    /// The PC of each frame, the topmost first; return addresses as they are.
    pub pcs: Vec<Address>,
    /// Where it stops.
    pub stop: Stop,
}

/// The addresses at which walks differ, each with the number of samples.
type Differing = BTreeMap<u64, u64>;

impl SamplesReport {
    /// Walks the stacks of a recording, and explores the rows that say something else than CFI. `each` sees every sample
    /// that is walked.
    #[must_use]
    pub fn of(
        name: &str,
        recording: &Recording,
        files: &Files,
        made: &MadeSections,
        explorer: &Explorer,
        progress: &Progress,
        each: &mut dyn FnMut(WalkedSample),
    ) -> Self {
        let mut report = Self {
            schema: SCHEMA,
            recordings: vec![name.to_owned()],
            abi: recording.abi.name().to_owned(),
            core_dumps: recording.is_core_dump,
            files: files.len() as u64,
            unusable: files.missing.clone(),
            without_stack: recording.without_stack,
            lost: recording.lost,
            cut_short: recording.is_cut_short.then(|| name.to_owned()).into_iter().collect(),
            methods: methods().map(Method::new).into(),
            ..Self::default()
        };
        let mut needs: [Vec<u64>; 4] = Default::default();
        for (index, process) in recording.processes.iter().enumerate() {
            let samples = recording.samples.iter().enumerate();
            let mut samples = samples.filter(|(_, sample)| sample.process == index).peekable();
            if samples.peek().is_none() {
                continue;
            }
            report.processes += 1;
            let (target, left_out) = files.open(process, made);
            report.unusable.extend(left_out);
            let Some(target) = target else {
                let count = samples.count() as u64;
                report.samples += count;
                for method in &mut report.methods {
                    let places = method.stopped.entry(Stop::MissingFile).or_default();
                    places.more("no file of the process".to_owned(), count);
                }
                continue;
            };
            let synthesized = target.modules.iter().filter(|module| matches!(module.made(), Some(Ok(_))));
            report.synthesized.extend(synthesized.filter_map(|module| module.name.clone()));
            let mut differing = Differing::new();
            let mut walker = Walker::new(&target, process);
            let mut popped: BTreeMap<Option<u64>, Popped> = BTreeMap::new();
            for (position, sample) in samples.take_while(|_| progress.stop.reason().is_none()) {
                report.samples += 1;
                report.in_kernel += u64::from(sample.in_kernel);
                let walks = walker.walk(sample);
                each(WalkedSample::new(position, process.id, sample, &walks));
                let sp = sample.memory.first().map_or(0, |piece| piece.address);
                let topmost = walks[0].address(0).and_then(|address| target.module_at(Loaded(address)));
                let of_file = popped.entry(topmost.map(|module| module.image.bias)).or_default();
                report.count(&walker, &walks, sp, &mut needs, &mut differing, of_file);
            }
            for module in &target.modules {
                if let Some(more) = popped.get(&Some(module.image.bias)) {
                    report.popped_by_compiler.add(&PoppedSlots::compilers(module), *more);
                }
            }
            report.explore(&target, &walker, differing, explorer, progress);
        }
        report.synthesized.sort();
        report.synthesized.dedup();
        for (method, mut needs) in report.methods.iter_mut().zip(needs) {
            needs.sort_unstable();
            let at =
                |tenths: usize| needs.get((needs.len() * tenths / 10).min(needs.len().saturating_sub(1)));
            method.needs = at(5).zip(at(9)).map(|(half, most)| [*half, *most]);
        }
        report.differences.sort_by_key(|it| (it.explored, std::cmp::Reverse(it.samples), it.place.clone()));
        report.interrupted = progress.stop.reason().is_some();
        report
    }

    fn count(
        &mut self,
        walker: &Walker<'_, '_>,
        walks: &[Walk; 4],
        sp: u64,
        needs: &mut [Vec<u64>; 4],
        differing: &mut Differing,
        of_file: &mut Popped,
    ) {
        let [sframe, cfi, ..] = walks;
        let place =
            |address: Option<u64>| address.map_or_else(|| "nowhere".to_owned(), |it| walker.place(it));
        for ((method, walk), needs) in self.methods.iter_mut().zip(walks).zip(needs) {
            if walk.is_complete() {
                method.complete += 1;
                method.as_cfi += u64::from(cfi.is_complete() && walk.pcs().eq(cfi.pcs()));
            } else {
                let places = method.stopped.entry(walk.stop).or_default();
                places.more(place(walk.last_address()), 1);
            }
            needs.extend(walk.needs);
        }
        let leads_on = |walk: &Walk| walk.is_complete() || walk.frames.len() > 1;
        self.comparable += u64::from(leads_on(sframe) && leads_on(cfi));
        of_file.walks += 1;
        if sframe.has_popped_slot(sp) {
            of_file.below_sp += 1;
            self.popped_slots.more(place(sframe.address(0)), 1);
        }
        if let Some(address) = sframe.differs_from(cfi).and_then(|frame| sframe.address(frame)) {
            *differing.entry(address).or_default() += 1;
        }
    }

    /// Asks exploring about the rows by which SFrame and CFI differ.
    fn explore(
        &mut self,
        target: &Target<'_>,
        walker: &Walker<'_, '_>,
        differing: Differing,
        explorer: &Explorer,
        progress: &Progress,
    ) {
        let mut known = BTreeMap::new();
        for (address, samples) in differing {
            let row = target.sections.lookup(InstructionPointer(address)).ok().flatten();
            let module = target.module_at(Loaded(address));
            let at = row.as_ref().map_or(address, |row| row.fde.start.wrapping_add(row.row.start.into()));
            let (explored, reason) = match row.as_ref().and(module) {
                None => (Explored::Undecided, Some("there is no row".to_owned())),
                Some(module) => {
                    let says = known.entry(module.image.bias).or_insert_with(|| {
                        explorer.says_of(module, progress).map_err(|error| error.to_string())
                    });
                    match says {
                        Ok(says) => says
                            .get(&module.linked(Loaded(at)).0)
                            .cloned()
                            .unwrap_or((Explored::Undecided, None)),
                        Err(error) => (Explored::Undecided, Some(error.clone())),
                    }
                }
            };
            self.differ(Difference {
                place: walker.place(at),
                function: walker.function(at),
                rules: row.map_or_else(String::new, |row| row.row.rules().to_string()),
                file: module.and_then(|module| module.name.clone()).unwrap_or_default(),
                samples,
                explored,
                reason,
            });
        }
    }

    fn differ(&mut self, more: Difference) {
        match self.differences.iter_mut().find(|own| own.place == more.place && own.rules == more.rules) {
            Some(own) => own.samples = own.samples.saturating_add(more.samples),
            None => self.differences.push(more),
        }
    }

    /// Reads a report.
    ///
    /// # Errors
    /// It is no report, of another version, or contradicts itself.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReportError> {
        let report: Self = serde_json::from_slice(bytes)?;
        if report.schema != SCHEMA {
            return Err(ReportError::Schema(report.schema));
        }
        let parts = report.methods.iter().flat_map(|method| [method.complete, method.as_cfi]);
        let by_compiler = report.popped_by_compiler.0.values().flat_map(|of| [of.walks, of.below_sp]);
        let parts = parts.chain([report.comparable, report.in_kernel, report.popped_slots.total()]);
        let parts = parts.chain(by_compiler);
        let is_sound = report.methods.iter().map(|method| &*method.name).eq(methods());
        if !is_sound || parts.max() > Some(report.samples) {
            return Err(ReportError::Contradicts);
        }
        Ok(report)
    }

    /// Why two reports can't be put together, if so.
    #[must_use]
    pub fn is_no_pair(&self, other: &Self) -> Option<String> {
        let [own, others] = [self, other].map(|report| report.recordings.join(", "));
        (self.abi != other.abi)
            .then(|| format!("{others} was recorded on {}, and {own} on {}", other.abi, self.abi))
    }

    /// Joins the report of another recording.
    ///
    /// # Errors
    /// It is of another ABI.
    pub fn add(&mut self, other: Self) -> Result<(), String> {
        if let Some(why) = self.is_no_pair(&other) {
            return Err(why);
        }
        self.recordings.extend(other.recordings);
        self.unusable.extend(other.unusable);
        self.synthesized.extend(other.synthesized);
        self.synthesized.sort();
        self.synthesized.dedup();
        self.core_dumps &= other.core_dumps;
        self.interrupted |= other.interrupted;
        self.cut_short.extend(other.cut_short);
        for (own, more) in [
            (&mut self.processes, other.processes),
            (&mut self.samples, other.samples),
            (&mut self.in_kernel, other.in_kernel),
            (&mut self.without_stack, other.without_stack),
            (&mut self.lost, other.lost),
            (&mut self.comparable, other.comparable),
        ] {
            *own = own.saturating_add(more);
        }
        self.files = self.files.max(other.files);
        for (place, count) in other.popped_slots.0 {
            self.popped_slots.more(place, count);
        }
        for (name, more) in other.popped_by_compiler.0 {
            self.popped_by_compiler.add(&name, more);
        }
        for (own, more) in self.methods.iter_mut().zip(other.methods) {
            own.add(more);
        }
        other.differences.into_iter().for_each(|more| self.differ(more));
        Ok(())
    }

    /// Rows that are proved to be wrong.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.differences.iter().filter(|it| it.explored == Explored::Wrong).count() as u64
    }

    /// Whether there is enough for a verdict.
    #[must_use]
    pub const fn is_enough(&self) -> bool {
        self.samples > 0 && self.comparable.saturating_mul(ENOUGH.1) >= self.samples.saturating_mul(ENOUGH.0)
    }

    /// How the command ends, and the numbers that made it so.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let ending = match () {
            () if self.interrupted => Ending::Interrupted,
            () if self.wrong() > 0 => Ending::Fail,
            () if !self.is_enough() => Ending::Inconclusive,
            () => Ending::Pass,
        };
        let of = if self.core_dumps { "thread" } else { "sample" };
        let mut facts = Vec::new();
        if self.wrong() > 0 {
            facts.push(format!("{} of SFrame wrong, proved by exploring", counted(self.wrong(), "row")));
        }
        facts.push(format!(
            "{} of {}; SFrame and CFI comparable in {}",
            counted(self.samples, of),
            counted(self.processes, "program run"),
            share(self.comparable, self.samples),
        ));
        let shares = |methods: &[Method], of: fn(&Method) -> u64| {
            let share = |method: &Method| format!("{} {}", method.name, share(of(method), self.samples));
            methods.iter().map(share).collect::<Vec<_>>().join("; ")
        };
        facts.push(format!("complete: {}", shares(&self.methods, |method| method.complete)));
        // A chain of frame pointers may end well, and have left out callers.
        if self.methods.iter().any(|method| method.as_cfi < method.complete) {
            facts.push(format!(
                "complete, with CFI's callers: {}",
                shares(&self.methods, |method| method.as_cfi)
            ));
        }
        let differ = self.differences.iter().map(|it| it.samples).fold(0, u64::saturating_add);
        let rows = |explored| self.differences.iter().filter(|it| it.explored == explored).count() as u64;
        let agree = || {
            let proves =
                "SFrame and CFI lead to the same callers; that proves neither: both may have one source";
            (self.comparable > 0).then(|| proves.to_owned())
        };
        facts.extend(match differ {
            0 => agree(),
            _ => Some(format!(
                "they differ in {}, first by {}: {} proved wrong, {} right, {} undecided",
                counted(differ, of),
                counted(self.differences.len() as u64, "row"),
                grouped(self.wrong()),
                grouped(rows(Explored::Agrees)),
                grouped(rows(Explored::Undecided)),
            )),
        });
        let more = [
            (self.popped_slots.total(), "with FP below SP in the topmost row, where some readers give up"),
            (self.in_kernel, "taken in the kernel, walked from where it was entered"),
            (self.without_stack, "more without registers or stack"),
            (self.lost, "more lost while they were recorded"),
        ];
        let more = more.into_iter().filter(|(count, _)| *count > 0);
        facts.extend(more.map(|(count, what)| format!("{} {what}", counted(count, of))));
        if self.samples == 0 && self.without_stack > 0 {
            facts.push("perf record --call-graph dwarf records both".to_owned());
        }
        if !self.cut_short.is_empty() {
            facts.push(format!("cut short, with memory missing: {}", first_of(&self.cut_short, SHOWN)));
        }
        if !self.synthesized.is_empty() {
            facts.push(format!(
                "SFrame is synthesized from .eh_frame in {}",
                counted(self.synthesized.len() as u64, "file")
            ));
        }
        if !self.unusable.is_empty() {
            let first: Vec<String> =
                self.unusable.iter().map(|(path, why)| format!("{path} ({why})")).collect();
            facts.push(format!("files not used: {}", first_of(&first, SHOWN)));
        }
        Conclusion { ending, facts }
    }

    /// For people: where walks stop, where they differ, and the conclusion.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        for difference in &self.differences {
            text.line(format!(
                "{}{}: SFrame and CFI differ in {}: {}",
                difference.place,
                difference.row(),
                counted(difference.samples, "sample"),
                difference.says()
            ));
        }
        for method in self.methods.iter().take(2) {
            let mut stopped: Vec<(&Stop, &Places)> = method.stopped.iter().collect();
            stopped.sort_by_key(|(_, places)| std::cmp::Reverse(places.total()));
            if !stopped.is_empty() {
                text.line(format!("{} stops:", method.name));
            }
            for (stop, places) in stopped {
                text.line(format!(
                    "    {:>8}  {}: {}",
                    grouped(places.total()),
                    stop.words(),
                    places.most_frequent(SHOWN)
                ));
                let mut advice = stop.advice();
                if let (Stop::CopyTooShort, Some([half, most])) = (stop, method.needs) {
                    text.line(format!(
                        "              half of them would go on with {} bytes, nine of ten with {}",
                        grouped(half),
                        grouped(most)
                    ));
                    advice = advice.filter(|_| half <= LARGEST_COPY);
                }
                if let Some(advice) = advice {
                    text.line(format!("              {advice}"));
                }
            }
        }
        if self.popped_slots.total() > 0 {
            text.line(format!("FP below SP: {}", self.popped_slots.most_frequent(SHOWN)));
            for (name, walks, share) in self.popped_by_compiler.shares() {
                text.line(format!("    {share} of {} in code of {name}", grouped(walks)));
            }
        }
        self.conclusion().show(&mut text);
        text
    }
}

impl SamplesReport {
    /// For pages: the methods, where walks stop, and where they differ.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let methods = self.methods.iter().map(|method| {
            let cells = [share(method.complete, self.samples), grouped(method.as_cfi)];
            [vec![method.name.clone(), grouped(method.complete)], cells.into()].concat()
        });
        let stops = self.methods.iter().flat_map(|method| {
            let mut stopped: Vec<_> = method.stopped.iter().collect();
            stopped.sort_by_key(|(_, places)| std::cmp::Reverse(places.total()));
            stopped.into_iter().map(|(stop, places)| {
                let total = places.total();
                let cells = [stop.words(), &grouped(total), &share(total, self.samples)].map(str::to_owned);
                [vec![method.name.clone()], cells.into(), vec![places.most_frequent(IN_TABLE)]].concat()
            })
        });
        let differences = self
            .differences
            .iter()
            .map(|it| vec![it.place.clone(), it.rules.clone(), grouped(it.samples), it.says()]);
        let popped = &self.popped_slots;
        let popped = (popped.total() > 0).then(|| {
            vec![share(popped.total(), self.samples), grouped(popped.total()), popped.most_frequent(IN_TABLE)]
        });
        let by_compiler = self.popped_by_compiler.shares();
        let by_compiler = by_compiler
            .into_iter()
            .map(|(name, walks, share)| vec![self.abi.clone(), name.to_owned(), grouped(walks), share]);
        let unusable = self.unusable.iter().map(|(path, why)| vec![path.clone(), why.clone()]);
        let tables = [
            (
                "Where SFrame and CFI differ",
                &["row", "rules", "samples", "exploring says"][..],
                differences.collect(),
            ),
            (
                "Complete walks",
                &["method", "samples", "share", "along the same callers as CFI"],
                methods.collect(),
            ),
            (
                "Where the others stop",
                &["method", "reason", "samples", "share", "most frequent places"],
                stops.collect(),
            ),
            (
                "FP below SP in the topmost row",
                &["share", "samples", "most frequent places"],
                Vec::from_iter(popped),
            ),
            (
                "FP below SP, by who has made the code",
                &["ABI", "compilers of the file", "samples", "share"],
                by_compiler.collect(),
            ),
            ("Files that were not used", &["file", "reason"], unusable.collect()),
        ];
        let tables =
            tables.map(|(title, columns, rows): (_, _, Vec<Vec<String>>)| Table { title, columns, rows });
        tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
    }
}

impl WalkedSample {
    fn new(sample: usize, process: i32, of: &Sample, walks: &[Walk; 4]) -> Self {
        let walk = |walk: &Walk| WalkedBy { pcs: walk.pcs().map(Address).collect(), stop: walk.stop };
        let walks = methods().into_iter().zip(walks.iter().map(walk)).collect();
        Self { sample, process, thread: of.thread, in_kernel: of.in_kernel, walks }
    }
}

impl Difference {
    /// The row in words, after its place.
    pub(crate) fn row(&self) -> String {
        if self.rules.is_empty() { String::new() } else { format!(", row {}", self.rules) }
    }

    /// What exploring says of the row.
    fn says(&self) -> String {
        let says = match self.explored {
            Explored::Wrong => "the row is proved to be wrong",
            Explored::Agrees => "the row is right, where it was explored",
            Explored::Undecided => "undecided",
        };
        let reason = self.reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"));
        format!("{says}{reason}")
    }
}

impl Method {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), complete: 0, as_cfi: 0, stopped: BTreeMap::new(), needs: None }
    }

    fn add(&mut self, other: Self) {
        self.complete = self.complete.saturating_add(other.complete);
        self.as_cfi = self.as_cfi.saturating_add(other.as_cfi);
        for (stop, places) in other.stopped {
            let own = self.stopped.entry(stop).or_default();
            for (place, count) in places.0 {
                own.more(place, count);
            }
        }
        self.needs = match (self.needs, other.needs) {
            (Some(one), Some(other)) => Some([one[0].max(other[0]), one[1].max(other[1])]),
            (one, other) => one.or(other),
        };
    }
}
