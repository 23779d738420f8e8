//! Statistics of what an unwinder was asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_kit::text::{Text, counted, per_second};

use super::command::ExternalError;
use crate::compare::{ByTopmost, Reliabilities};
use crate::examine::{Examination, WalkEnds};
use crate::finding::Finding;

/// What a program has shown about an unwinder.
#[derive(Debug)]
pub struct UnwinderExamination {
    /// The program's run, as seen by this project's engine.
    pub examination: Examination,
    /// The unwinder's statistics.
    pub report: UnwinderReport,
    /// Findings that the engine has at the same stops: faults of the section.
    pub shared: Vec<Finding>,
    /// The other findings.
    pub findings: Vec<Finding>,
    /// Why it was not asked about everything.
    pub error: Option<ExternalError>,
}

/// Statistics of what an unwinder was asked about a program. Its fields are keys of reports.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct UnwinderReport {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it reads: `sframe`, `eh_frame`, or its own word.
    pub data: String,
    /// Instructions before which it could have been asked.
    pub moments: u64,
    /// Those with a new combination of PC and call stack. After 4,194,304, later
    /// ones all count as new.
    pub different: u64,
    /// Stops at which it was asked.
    pub stops: u64,
    /// Those at which nothing could be compared: it has no data there for unwinding
    /// the topmost frame.
    #[serde(default)]
    pub nothing_compared: u64,
    /// Those of them at which its answers could not be read, until it was asked no more.
    #[serde(default)]
    pub unread: u64,
    /// Instructions before which it was not asked, since the program had registered sections that it can't follow.
    #[serde(default)]
    pub not_followed: u64,
    /// Stops at which something was compared, without a disagreement.
    pub agree: u64,
    /// Frames compared.
    pub frames: u64,
    /// Those for which it did not report the frame pointer.
    pub fp_untold: u64,
    /// Those for which it did not report the CFA; outermost frames may have none.
    #[serde(default)]
    pub cfa_untold: u64,
    /// Those of which it said whether they were interrupted.
    #[serde(default)]
    pub interrupted_told: u64,
    /// Those whose return address it called signed.
    #[serde(default)]
    pub signed_told: u64,
    /// How its walks ended.
    pub walk_ends: WalkEnds,
    /// What the walks were worth, by what the topmost frame was in.
    #[serde(default)]
    pub reliability_by_topmost: ByTopmost,
    /// What those of them were worth at which the rows are wrong: the engine of this project, which does what they say,
    /// disagrees with the call stack as well.
    #[serde(default)]
    pub where_rows_are_wrong: Reliabilities,
    /// Whether it says of each walk if it is reliable.
    #[serde(default)]
    pub declares: bool,
    /// The complete walks that it calls reliable.
    #[serde(default)]
    pub called_reliable: u64,
    /// Walks of which it was not settled, or only later, what they are worth: the function was leaving for elsewhere.
    #[serde(default)]
    pub not_settled: u64,
    /// Findings of this project's engine, at every instruction.
    pub section_findings: u64,
    /// How often it had to be restarted.
    pub restarts: u32,
    /// How long the bench has waited for it, in seconds.
    pub seconds: f64,
}

impl UnwinderReport {
    /// Replaces the engine's numbers with the unwinder's.
    pub fn count_instead(&self, examination: &mut Examination) {
        examination.agree = self.agree;
        let counts = &mut examination.counts;
        counts.comparisons = self.stops - self.nothing_compared;
        counts.nothing_compared = self.nothing_compared;
        counts.frames = self.frames;
        counts.frames_derived = self.frames;
        counts.walk_ends = self.walk_ends;
        counts.reliability = self.reliability_by_topmost.total();
        examination.reliability_by_topmost.clone_from(&self.reliability_by_topmost);
    }

    /// Adds another report's counts.
    pub fn add(&mut self, other: &Self) {
        self.name.clone_from(&other.name);
        self.version.clone_from(&other.version);
        self.data.clone_from(&other.data);
        self.moments += other.moments;
        self.different += other.different;
        self.stops += other.stops;
        self.nothing_compared += other.nothing_compared;
        self.unread += other.unread;
        self.not_followed += other.not_followed;
        self.agree += other.agree;
        self.frames += other.frames;
        self.fp_untold += other.fp_untold;
        self.cfa_untold += other.cfa_untold;
        self.interrupted_told += other.interrupted_told;
        self.signed_told += other.signed_told;
        self.walk_ends.add(&other.walk_ends);
        self.reliability_by_topmost.add(&other.reliability_by_topmost);
        self.where_rows_are_wrong.add(&other.where_rows_are_wrong);
        self.declares |= other.declares;
        self.called_reliable += other.called_reliable;
        self.not_settled += other.not_settled;
        self.section_findings += other.section_findings;
        self.restarts += other.restarts;
        self.seconds += other.seconds;
    }

    /// Returns how many of the complete walks it calls reliable, as text.
    fn said(&self) -> String {
        if !self.declares {
            return String::new();
        }
        format!(
            "; it calls {} of the complete ones reliable",
            sframe_kit::text::grouped(self.called_reliable)
        )
    }

    /// Returns how many walks are not settled, as text.
    fn unsettled(&self) -> String {
        match self.not_settled {
            0 => String::new(),
            count => format!(", {} not settled", sframe_kit::text::grouped(count)),
        }
    }

    /// Returns how many walks are silent or wrong where the rows are wrong, as text.
    fn led_astray(&self) -> String {
        let Reliabilities { silent, wrong, .. } = self.where_rows_are_wrong;
        if (silent, wrong) == (0, 0) {
            return String::new();
        }
        let grouped = sframe_kit::text::grouped;
        format!(" ({} silent and {} wrong where the rows are wrong)", grouped(silent), grouped(wrong))
    }

    /// Returns the statistics as text.
    #[must_use]
    pub fn text(&self) -> Text {
        let grouped = sframe_kit::text::grouped;
        let mut text = Text::default();
        let _ = writeln!(
            text,
            "unwinder {} {}, which reads {}: asked at {} of {} ({} with a PC or call stack of their own), {} compared, {} agree",
            self.name,
            self.version,
            self.data,
            grouped(self.stops),
            counted(self.moments, "stop"),
            grouped(self.different),
            grouped(self.stops - self.nothing_compared),
            grouped(self.agree)
        );
        // Lines of zeroes say nothing.
        if self.frames > 0 {
            let _ = writeln!(
                text,
                "    {}, {} of them without FP, {} without CFA; {}; {}",
                counted(self.frames, "frame"),
                grouped(self.fp_untold),
                grouped(self.cfa_untold),
                per_second(self.stops, "stop", self.seconds),
                counted(self.restarts.into(), "restart")
            );
        } else if self.restarts > 0 {
            text.line(format!("    {}", counted(self.restarts.into(), "restart")));
        }
        if self.unread > 0 {
            text.line(format!("    {} could not be read", counted(self.unread, "answer")));
        }
        let ends = self.walk_ends;
        let worth = self.reliability_by_topmost.total();
        if worth != Reliabilities::default() {
            let _ = writeln!(
                text,
                "    its walks ended: {} outermost, {} unmarked, {} context, {} no-fde, {} in-register, {} no-progress, {} in disagreement",
                grouped(ends.outermost),
                grouped(ends.unmarked),
                grouped(ends.context),
                grouped(ends.no_fde),
                grouped(ends.in_register),
                grouped(ends.no_progress),
                grouped(ends.disagreed)
            );
            let (led, unsettled, said) = (self.led_astray(), self.unsettled(), self.said());
            let _ = writeln!(text, "    reliability: {worth}{led}{unsettled}{said}");
        }
        if self.not_followed > 0 {
            let _ = writeln!(
                text,
                "    not asked at {}: the program had registered sections or replaced images, which it can't follow",
                counted(self.not_followed, "stop")
            );
        }
        if self.section_findings > 0 {
            let _ = writeln!(
                text,
                "    the sections themselves have {} at all instructions, known ones included: see the same run without --unwinder",
                counted(self.section_findings, "finding")
            );
        }
        text
    }
}
