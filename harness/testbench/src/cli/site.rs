//! `site`: a scoreboard of static pages from stored reports.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use sframe_corpus::corpus::Toolchain;
use sframe_corpus::failure::of_documents;
use sframe_elf::file;
use sframe_inspect::command::{Failure, Status, print, write_file};
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::counted;
use sframe_links::{LinkCases, LinksTable};
use sframe_suite::clauses::{Catalogue, ClausesReport, Proved, prove};
use sframe_suite::faults::FaultsReport;
use sframe_suite::report::{Changes, Results};
use sframe_suite::site::{Site, Stored, files};
use sframe_suite::suite::Filter;

use super::clauses::unusable;
use super::definitions::failure;
use super::options::Folders;
use super::report::{self, MAX_REPORT_BYTES};

/// What a folder has that a site was written into.
const MARK: &str = ".sframe-site";

#[derive(Args)]
pub(crate) struct SiteCommand {
    /// The folder to write, which is empty, or has a site already.
    folder: PathBuf,
    /// Stored reports, the oldest first: of run (report.json, or its folder), links, vectors and study, all as JSON. Of
    /// several about the same linker, reader or program, the last one counts; the last two runs are compared, if they have asked the same.
    #[arg(value_name = "REPORT")]
    reports: Vec<PathBuf>,
    #[command(flatten)]
    folders: Folders,
}

impl SiteCommand {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        self.folders.check()?;
        let suite = self.folders.open(&Filter::default())?;
        let cases = LinkCases::load(&suite.corpus().join("links"))?;
        let clauses = Catalogue::load(&self.folders.specs.join("clauses.yaml"));
        let clauses = clauses.map_err(|errors| of_documents(&errors))?;
        let vectors = super::vectors::load(&self.folders)?.vectors;
        let proved = prove(&clauses, &vectors, &suite).map_err(|errors| unusable(&errors))?;
        let proved: Vec<&Proved<'_>> = proved.iter().collect();
        let toolchains = Toolchain::load_all(suite.corpus()).map_err(failure)?;
        let mut site = Site {
            faults: FaultsReport::new(suite.faults(), Some(&suite), &cases.pages, |_| true)?,
            toolchains: toolchains.into_iter().map(|it| (it.name, it.summary)).collect(),
            clauses: ClausesReport::new(&proved),
            runs: Vec::new(),
            changes: None,
            links: LinksTable {
                cases: cases.cases.iter().map(|it| (it.name.clone(), it.summary.clone())).collect(),
                pages: cases.pages.clone(),
                ..LinksTable::default()
            },
            readers: Vec::new(),
            studies: Vec::new(),
        };
        let mut runs = Vec::new();
        for path in &self.reports {
            let path = report::file_of(path);
            let unusable = |error: &dyn std::fmt::Display| {
                Failure::unusable(format!("error: {}: {error}", path.display()))
            };
            let bytes = file::read(&path, MAX_REPORT_BYTES).map_err(|error| unusable(&error))?;
            match Stored::parse(&bytes).map_err(|error| unusable(&error))? {
                Stored::Run(run) => {
                    runs.push(Results::parse(&bytes).map_err(|error| unusable(&error))?);
                    site.runs.push(*run);
                }
                Stored::Links(reports) => {
                    for report in reports {
                        replace(&mut site.links.reports, report, |report| report.linker.clone());
                    }
                }
                Stored::Reader(reader) => {
                    replace(&mut site.readers, reader, |it| (it.name.clone(), it.version.clone()));
                }
                Stored::Study(study) => {
                    replace(&mut site.studies, *study, |it| (it.file.clone(), it.abi.clone()));
                }
            }
        }
        if let [.., before, after] = &runs[..]
            && before.has_same_sample(after)
            && before.has_same_sections(after)
        {
            site.changes = Some(Changes::between(before, after));
        }
        self.write(&site)
    }

    fn write(&self, site: &Site<'_>) -> Result<Status, Failure> {
        begin(&self.folder)?;
        let files = files(site);
        let paths = files.iter().filter_map(|(path, _)| Path::new(path).parent());
        for parent in paths.collect::<BTreeSet<_>>() {
            report::create(&self.folder.join(parent))?;
        }
        for (path, text) in &files {
            write_file(&self.folder.join(path), text)?;
        }
        let reports = counted(self.reports.len() as u64, "report");
        let facts = vec![
            format!("{} from {reports}", counted(files.len() as u64, "file")),
            format!("the first page: {}", self.folder.join("index.html").display()),
        ];
        print(&Conclusion { ending: Ending::Pass, facts }.text())?;
        Ok(Status::AsExpected)
    }
}

/// Takes something in, in place of what has the same key.
fn replace<T, K: PartialEq>(all: &mut Vec<T>, new: T, key: impl Fn(&T) -> K) {
    all.retain(|old| key(old) != key(&new));
    all.push(new);
}

/// Makes the folder, or removes the site that is in it: nothing else.
fn begin(folder: &Path) -> Result<(), Failure> {
    let unusable =
        |why: &dyn std::fmt::Display| Failure::unusable(format!("error: {}: {why}", folder.display()));
    report::create(folder)?;
    let mark = folder.join(MARK);
    let mut entries = std::fs::read_dir(folder).map_err(|error| unusable(&error))?;
    if entries.next().is_some() && !mark.is_file() {
        return Err(unusable(&"the folder is not empty, and has no site in it"));
    }
    for part in ["bugs", "toolchains", "badges"] {
        report::removed(folder, std::fs::remove_dir_all(folder.join(part)))?;
    }
    report::removed(folder, std::fs::remove_file(folder.join("changes.html")))?;
    write_file(&mark, "")
}
