//! Faults for a terminal.

use sframe_corpus::faults::{Reproduced, Reproduction};
use sframe_corpus::spec::{Fault, FaultySection, Site, Upstream, UpstreamState};
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::{Text, counted, wrapped};
use sframe_links::LinkPage;

use super::reach::Reach;
use super::report::{FaultReport, FaultsReport};

/// The width of lines of prose.
const WIDTH: usize = 100;

/// Lists faults, one in a line.
#[must_use]
pub fn list(report: &FaultsReport<'_>) -> Text {
    let mut text = Text::default();
    let names = report.faults.iter().map(|fault| fault.name);
    let names = names.chain(report.links.iter().map(|page| page.name.as_str()));
    let widest = names.map(str::len).max().unwrap_or_default();
    for FaultReport { name, fault, reach, .. } in &report.faults {
        let builds = reach.as_ref().map(|reach| format!("; {}", counted(reach.builds, "build")));
        let builds = builds.unwrap_or_default();
        let state = fault.upstream.state;
        text.line(format_args!("{name:<widest$}  {} ({}; {state}{builds})", fault.title, fault.component));
    }
    for LinkPage { name, title, component, upstream, .. } in &report.links {
        let state = upstream.state;
        text.line(format_args!("{name:<widest$}  {title} ({component}; {state}; by cases of `links`)"));
    }
    text
}

/// Shows the page of a fault.
#[must_use]
pub fn page(report: &FaultReport<'_>) -> Text {
    let FaultReport { name, fault, reach, build, dump } = report;
    let Fault { title, component, summary, section, sites, example, witnesses, upstream, .. } = *fault;
    let mut text = Text::default();
    text.line(format_args!("{title} (fault {name})"));
    text.blank();
    text.quote("", &wrapped(summary, WIDTH));
    text.blank();
    text.line(format_args!("component   {component}: {}", component.blame()));
    text.line(format_args!("upstream    {}", known_upstream(upstream)));
    if *section == FaultySection::EhFrame {
        text.line("section     .eh_frame: .sframe is right, or lacks the function");
    }
    for (index, line) in reach.iter().flat_map(reached).enumerate() {
        text.line(format_args!("{:<12}{line}", if index == 0 { "reach" } else { "" }));
    }
    for Site { file, abi, function, row, wrong, right } in sites {
        text.blank();
        text.line(format_args!("{file} for {abi}: {function}, row +{row}"));
        text.line(format_args!("    wrong   {wrong}"));
        text.line(format_args!("    right   {right}"));
    }
    for (name, source) in &example.sources {
        text.blank();
        text.line(format_args!("{name}"));
        text.quote("    ", source);
    }
    text.blank();
    let build = build.as_ref().map_or_else(|| "no program".to_owned(), |build| build.display().to_string());
    text.line(format_args!("{}, by {}: {build}", example.abi, example.toolchain));
    for command in &example.commands {
        text.line(format_args!("    $ {command}"));
    }
    text.blank();
    let row = example.row.map_or_else(String::new, |row| format!(", row +{row}"));
    text.line(format_args!("{}{row}: {}", example.function, example.verdict));
    let wrong = if example.is_crash() { "says " } else { "wrong" };
    text.line(format_args!("    {wrong}   {}", example.wrong));
    text.line(format_args!("    right   {}", example.right));
    dump.iter().for_each(|line| text.line(line));
    text.blank();
    let widest = witnesses.keys().map(String::len).max().unwrap_or_default();
    for (witness, says) in witnesses {
        text.line(format_args!("{witness:<widest$}  {says}"));
    }
    text
}

/// Shows the page of a fault that cases of `links` show.
#[must_use]
pub fn link_page(page: &LinkPage) -> Text {
    let LinkPage { name, title, component, summary, upstream, .. } = page;
    let mut text = Text::default();
    text.line(format_args!("{title} (fault {name})"));
    text.blank();
    text.quote("", &wrapped(summary, WIDTH));
    text.blank();
    text.line(format_args!("component   {component}"));
    text.line(format_args!("upstream    {}", known_upstream(upstream)));
    text.line("shown by    `sframe-testbench links`: corpus/links/linkers says by which cases");
    text
}

/// How trying toolchains has ended, which have these names.
#[must_use]
pub fn tried(all: &[Reproduction], names: &[String]) -> Conclusion {
    let count = |is: &dyn Fn(&Reproduction) -> bool| all.iter().filter(|tried| is(tried)).count() as u64;
    let failed = count(&|tried| matches!(tried.result, Reproduced::Failed { .. }));
    let as_said = count(&Reproduction::is_as_expected);
    let other = all.len() as u64 - failed - as_said;
    let (ending, first) = if all.is_empty() {
        let names = names.join(", ");
        let why = format!(
            "by its `properties`, which say the versions of its tools, {names} has none of the components of these faults"
        );
        return Conclusion { ending: Ending::Inconclusive, facts: vec!["nothing was made".to_owned(), why] };
    } else if other > 0 {
        (Ending::Fail, format!("{} other than the pages say", counted(other, "example")))
    } else if failed > 0 {
        (Ending::Error, format!("{} can't be checked", counted(failed, "example")))
    } else {
        (Ending::Pass, format!("{} as the pages say", counted(as_said, "example")))
    };
    let of_all = format!(
        "{} tried: {as_said} as the pages say, {failed} can't be checked",
        counted(all.len() as u64, "example")
    );
    let more = (ending != Ending::Pass).then_some(of_all);
    Conclusion { ending, facts: std::iter::once(first).chain(more).collect() }
}

/// Says which toolchains have faults.
#[must_use]
pub fn reproductions(all: &[Reproduction]) -> Text {
    let mut text = Text::default();
    for Reproduction { fault, toolchain, tool, expected, result } in all {
        let (word, lines) = match result {
            Reproduced::Shown => ("has it", &[][..]),
            Reproduced::NotShown { instead } if *expected => ("does not have it", &instead[..]),
            Reproduced::NotShown { .. } => ("does not have it", &[][..]),
            Reproduced::Failed { reason } => ("can't be checked", std::slice::from_ref(reason)),
        };
        let said = match (result, expected) {
            (Reproduced::Shown, false) => ", though the page says that it does not",
            (Reproduced::NotShown { .. }, true) => ", though the page says that it does",
            _ => "",
        };
        text.line(format_args!("{fault}: {tool} of {toolchain} {word}{said}"));
        lines.iter().for_each(|line| text.quote("    ", line));
    }
    text
}

/// Says what is known where the component is developed.
pub(crate) fn known_upstream(upstream: &Upstream) -> String {
    let Upstream { state, link, version } = upstream;
    let version = version.as_ref().map_or_else(String::new, |version| format!(" in {version}"));
    let link = link.as_ref().map_or_else(String::new, |link| format!(": {link}"));
    let state = match state {
        UpstreamState::Unreported => "no report is known",
        UpstreamState::Reported => "reported",
        UpstreamState::Fixed => "fixed",
    };
    format!("{state}{version}{link}")
}

/// How far a fault reaches: in numbers, and then each spec with the places.
pub(crate) fn reached(reach: &Reach) -> Vec<String> {
    let Reach { builds, toolchains, abis, specs } = reach;
    if specs.is_empty() {
        return vec!["no program of the corpus, only its own".to_owned()];
    }
    let joined = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>().join(", ");
    let first = format!(
        "{} by {} for {}",
        counted(*builds, "build"),
        joined(&mut toolchains.iter().cloned()),
        joined(&mut abis.iter().map(ToString::to_string)),
    );
    let of_spec = |(spec, places): (&String, &std::collections::BTreeSet<String>)| {
        format!("{spec}: {}", joined(&mut places.iter().cloned()))
    };
    std::iter::once(first).chain(specs.iter().map(of_spec)).collect()
}
