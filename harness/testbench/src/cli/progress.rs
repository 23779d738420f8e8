//! One line on a terminal that says how far a run is.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sframe_inspect::command::{Volume, volume};
use sframe_judge::examine::ExamineOptions;
use sframe_judge::examine::progress::{Figures, Progress};
use sframe_judge::explore;
use sframe_kit::text::{counted, grouped, per_second};

/// Runs that take less time have no line.
const PATIENCE: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_secs(1);

/// A line that is drawn again every second, as long as this exists.
struct Line {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Line {
    /// Begins, unless standard error is no terminal.
    fn begin(text: impl Fn(Duration) -> String + Send + 'static) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if bar.is_hidden() || volume() == Volume::Quiet {
            return Self { end: None, thread: None };
        }
        let (end, ended) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let style = ProgressStyle::with_template("{msg}");
            let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            let start = Instant::now();
            let mut wait = PATIENCE;
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                bar.set_message(text(start.elapsed()));
                wait = INTERVAL;
            }
            bar.finish_and_clear();
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported, and costs no more than the line.
            let _ = thread.join();
        }
    }
}

/// The line about a run, as long as this exists.
pub(super) struct ProgressLine {
    _line: Option<Line>,
}

impl ProgressLine {
    /// Begins. `total` is the number of instructions that the program will execute, if that is
    /// known.
    pub(super) fn begin(look: &ExamineOptions, total: Option<u64>) -> Self {
        let progress = look.progress.clone();
        let begin =
            |progress: Arc<_>| Line::begin(move |elapsed| line(Progress::figures(&progress), elapsed, total));
        Self { _line: progress.map(begin) }
    }
}

/// The line about an exploration, as long as this exists.
pub(super) struct FunctionsLine {
    _line: Line,
}

impl FunctionsLine {
    pub(super) fn begin(progress: &Arc<explore::Progress>) -> Self {
        let progress = Arc::clone(progress);
        Self { _line: Line::begin(move |elapsed| functions_line(&progress, elapsed)) }
    }
}

fn functions_line(progress: &explore::Progress, elapsed: Duration) -> String {
    let (done, total) = progress.functions();
    let mut line = format!(
        "{} of {} functions, {} where a row may be wrong; {}",
        grouped(done),
        grouped(total),
        counted(progress.findings(), "place"),
        minutes(elapsed)
    );
    if done > 0 {
        #[expect(clippy::cast_precision_loss, reason = "a time for people")]
        let left = elapsed.as_secs_f64() / done as f64 * total.saturating_sub(done) as f64;
        let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
        line += &format!(", about {} left", minutes(left));
    }
    line
}

fn line(figures: Figures, elapsed: Duration, total: Option<u64>) -> String {
    let Figures { instructions, findings, depth } = figures;
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = instructions as f64 / elapsed.as_secs_f64().max(1e-6);
    let mut line = grouped(instructions);
    if let Some(total) = total {
        line += &format!(" of {}", grouped(total));
    }
    line += &format!(
        " instructions, {}, {}, {} deep; {}",
        per_second(instructions, "instruction", elapsed.as_secs_f64()),
        counted(findings, "finding"),
        grouped(depth),
        minutes(elapsed)
    );
    if let Some(left) = total.and_then(|total| total.checked_sub(instructions)).filter(|_| rate > 0.0) {
        #[expect(clippy::cast_precision_loss, reason = "a time for people")]
        let left = Duration::try_from_secs_f64(left as f64 / rate).unwrap_or(Duration::MAX);
        line += &format!(", about {} left", minutes(left));
    }
    line
}

fn minutes(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_the_run_is_and_what_is_left() {
        let figures = Figures { instructions: 30_000_000, findings: 1, depth: 1200 };
        let line = |total| line(figures, Duration::from_secs(75), total);
        assert_eq!(
            line(None),
            "30,000,000 instructions, 400,000 instructions per second, 1 finding, 1,200 deep; 1:15"
        );
        let expected = "30,000,000 of 90,000,000 instructions, 400,000 instructions per second, 1 finding, 1,200 deep; \
                        1:15, about 2:30 left";
        assert_eq!(line(Some(90_000_000)), expected);
        // More than was expected, and nothing yet.
        assert!(line(Some(1)).ends_with("1:15"));
        assert!(super::line(Figures::default(), Duration::ZERO, Some(10)).ends_with("0:00"));
    }
}
