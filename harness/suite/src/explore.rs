//! A file whose rows are judged without running it: from its contents to a report, with known bugs named.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sframe_corpus::signs::point_out;
use sframe_corpus::spec::{Faults, NamePattern};
use sframe_inspect::command::{detail, detail_since};
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::explore::{
    Cache, ExploreError, ExploreOptions, ExploredFile, Job, PatchedFile, Progress, Roots, SharedFile,
    explore_isolated,
};
use sframe_judge::external::isolation::Isolation;
use sframe_judge::target::{Loaded, SectionSource, Target};
use sframe_kit::text::counted;

use crate::provenance::Began;
use crate::report::ExploreReport;

/// How files are explored.
pub struct FileExplorer<'e> {
    /// Which section is judged.
    pub source: SectionSource,
    /// The functions that are asked for; all if there are none.
    pub functions: &'e [NamePattern],
    /// How far functions are explored.
    pub options: ExploreOptions,
    /// The processes that do it.
    pub isolation: Isolation,
    /// How many there are.
    pub jobs: usize,
    /// Where it is remembered what functions have shown.
    pub cache: Option<&'e Cache>,
    /// The pages of known bugs.
    pub faults: &'e Faults,
    /// Ends it soon if somebody asks for that.
    pub stop: &'e StopRequest,
}

impl FileExplorer<'_> {
    /// Explores a file, which workers find at `path`, and its code as it is while a kernel traces it. What `shows`
    /// returns is kept while it lasts.
    ///
    /// # Errors
    /// The file can't be explored, or the bench could not do its work.
    pub fn explore(
        &self,
        name: &str,
        path: &Path,
        file: &ExploredFile,
        shows: &dyn Fn(&Arc<Progress>) -> Box<dyn Any>,
    ) -> Result<ExploreReport, ExploreError> {
        let began = Began::now();
        let target = file.open()?;
        let roots = self.roots(&target);
        let Self { source, options, cache, .. } = *self;
        // Workers need not load a module again.
        let loaded = file.module().map(|_| SharedFile::of(file.linked())).transpose()?;
        let path = loaded.as_ref().map_or(path, SharedFile::path);
        let job = Job {
            file: path,
            debug: file.debug_file(),
            source,
            target: &target,
            roots: &roots,
            options,
            cache,
        };
        let explore = |job: &Job<'_, '_>| {
            let progress = Arc::new(Progress::new(self.stop.clone()));
            let _shown = shows(&progress);
            explore_isolated(job, &self.isolation, self.jobs, &progress)
        };
        detail(|| {
            let (functions, jobs) = (roots.entries.len() as u64, self.jobs as u64);
            format!("{} of {name}, by {}", counted(functions, "function"), counted(jobs, "worker"))
        });
        let start = Instant::now();
        let mut explored = explore(&job)?;
        let (patched, unread) = PatchedFile::of(file, &target, source);
        let mut forms = Vec::new();
        for form in patched {
            if form.roots(&target, roots.clone()).roots.is_empty() {
                continue;
            }
            let shared = SharedFile::of(form.file.linked())?;
            let target = form.file.open()?;
            let roots = form.roots(&target, self.roots(&target));
            let other = explore(&Job { file: shared.path(), target: &target, roots: &roots, ..job })?;
            forms.push(explored.add_form(&form, other));
        }
        detail_since(start, || "explored");
        let mut explored = explored.with_section_faults(&target);
        point_out(explored.each_place(), &target, self.faults, None, None);
        let mut report = ExploreReport::new(name.to_owned(), &target, explored)
            .of_relocatable(file.unapplied())
            .of_module(file.module());
        if !self.functions.is_empty() {
            report.only_functions = self.functions.iter().map(ToString::to_string).collect();
            report = report.only(|function, pc| self.is_wanted(function, pc));
        }
        (report.forms, report.unread_tables) = (forms, unread);
        report.provenance = Some(began.ended([(name.to_owned(), file.digest().to_owned())]));
        Ok(report)
    }

    /// The functions to explore, by their entries.
    fn roots(&self, target: &Target<'_>) -> Roots {
        let mut roots = Roots::of(target);
        if !self.functions.is_empty() {
            roots.retain(|entry| {
                let place = target.place(Loaded(entry));
                self.is_wanted(place.function, &format!("{:#x}", place.address))
            });
        }
        roots
    }

    /// Whether a function is asked for.
    fn is_wanted(&self, function: Option<&str>, address: &str) -> bool {
        self.functions.is_empty() || self.functions.iter().any(|pattern| is_named(pattern, function, address))
    }
}

/// Whether a pattern names a function, or its address.
#[must_use]
pub fn is_named(pattern: &NamePattern, function: Option<&str>, address: &str) -> bool {
    [function.unwrap_or_default(), address].iter().any(|name| pattern.matches(name))
}
