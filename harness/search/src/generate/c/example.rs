//! The smallest program with a fault in one piece, as pages have it: complete, and with as few lines as show
//! it.

use sframe_corpus::corpus::{Error, Maker};
use sframe_engine::Abi;

use super::build::Level;
use super::links::{Form, ObjectForm};
use super::reduce::Reduced;
use crate::generate::outcome;
use crate::generate::reduction::{self, Smaller};

/// How many programs are made to find lines that are not needed.
const MOST_TRIES: u32 = 1000;

/// What generated functions have that others may not replace, which says nothing here.
const HIDDEN: &str = "__attribute__((visibility(\"hidden\"))) ";

/// A line of one of a program's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The file, by its number.
    pub(super) file: usize,
    /// What is in it.
    pub(super) text: String,
}

/// A complete program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Complete {
    /// Its lines, without the first function.
    pub(super) lines: Vec<Line>,
    /// What the first function does.
    pub(super) first: Vec<String>,
}

impl Complete {
    /// The first function of an example: it ends by a jump to itself.
    pub(super) fn start(&self) -> String {
        format!("void _start(void)\n{{\n{}    for (;;) {{}}\n}}\n", self.statements())
    }

    /// The main function of a program of the corpus.
    pub(super) fn main(&self) -> String {
        format!("int main(void)\n{{\n{}    return bench_check(0, 0);\n}}\n", self.statements())
    }

    fn statements(&self) -> String {
        self.first.iter().map(|line| format!("    {line}\n")).collect()
    }

    /// The example without the function that calls the others: the first one does that.
    fn with_run_inlined(&self) -> Option<Self> {
        let text = |index: &usize| self.lines.get(*index).map(|line| line.text.as_str());
        let all = items(&self.lines);
        let run = all.iter().find(|item| item.first().and_then(text) == Some("u32 run(void)"))?;
        let body = run.get(2..run.len() - 1)?;
        let first: Vec<String> = body.iter().filter_map(text).map(|line| line.trim().to_owned()).collect();
        let first = first.into_iter().filter(|line| !line.starts_with("return ")).collect();
        let left = self.lines.iter().enumerate().filter(|(index, _)| !run.contains(index));
        Some(Self { lines: left.map(|(_, line)| line.clone()).collect(), first })
    }

    /// The example with another text in each line; lines that are empty then are dropped.
    fn replaced(&self, from: &str, to: &str) -> Self {
        let change = |text: &str| text.replace(from, to);
        let lines = self.lines.iter().map(|line| Line { file: line.file, text: change(&line.text) });
        Self {
            lines: lines.filter(|line| !line.text.trim().is_empty()).collect(),
            first: self.first.iter().map(|line| change(line)).collect(),
        }
    }

    /// The example with braces at the ends of lines.
    fn joined(&self) -> Self {
        let mut lines: Vec<Line> = Vec::new();
        for line in &self.lines {
            match lines.last_mut() {
                Some(last) if line.text == "{" && last.file == line.file => last.text.push_str(" {"),
                _ => lines.push(line.clone()),
            }
        }
        Self { lines, first: self.first.clone() }
    }

    /// The example, indented as its braces say.
    fn indented(&self) -> Self {
        let (mut depth, mut is_continued) = (0_usize, false);
        let mut indent = |line: &Line| {
            let text = line.text.trim();
            if text.starts_with('#') {
                return line.clone();
            }
            let is_label = text.starts_with("case ") || text.ends_with(":;");
            let less = usize::from(text.starts_with('}') || is_label);
            let level = depth.saturating_sub(less) + usize::from(is_continued && text != "{");
            let braces = |brace| text.matches(brace).count();
            depth = (depth + braces('{')).saturating_sub(braces('}'));
            is_continued = !text.ends_with([';', '{', '}', ':']) && depth > 0;
            Line { file: line.file, text: format!("{}{text}", "    ".repeat(level)) }
        };
        Self { lines: self.lines.iter().map(&mut indent).collect(), first: self.first.clone() }
    }

    /// How many lines it has as an example.
    pub(super) fn count(&self) -> usize {
        self.lines.len() + self.start().lines().count()
    }
}

/// Returns a program with what all programs have, as the preprocessor leaves it.
///
/// # Errors
/// It has to be linked as no example is, or the preprocessor fails; in a sentence.
pub(super) fn complete(maker: &Maker, abi: Abi, level: Level, reduced: &Reduced) -> Result<Complete, String> {
    let link = &reduced.build.link;
    if link.form != Form::Static {
        return Err("the program has to relocate itself, which takes more lines than a page has".to_owned());
    }
    if link.objects.iter().any(|object| *object != ObjectForm::PLAIN) {
        return Err("its objects have to be made or joined in ways of their own".to_owned());
    }
    let recipe = reduced.build.recipe(&reduced.plan, level, maker.toolchain().one_unit);
    let source = |name: &str| recipe.sources.iter().find(|(other, _)| other == name);
    let mut lines = Vec::new();
    for (file, object) in recipe.objects.iter().enumerate() {
        let mut text = String::new();
        for (_, unit) in object.sources.iter().filter_map(|name| source(name)) {
            include(unit, &recipe.sources, &mut text);
        }
        // A program of one file is made like this; what it is made of is not linked.
        let flags = [&["-E", "-P", "-DEXAMPLE"].map(str::to_owned)[..], &recipe.compile].concat();
        let made = maker.make(abi, &[("example.c".to_owned(), text)], &flags).map_err(complaint)?;
        let text = String::from_utf8_lossy(&made.bytes).into_owned();
        let all = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
        lines.extend(all.map(|line| Line { file, text: line.to_owned() }));
    }
    Ok(Complete { lines, first: vec!["run();".to_owned()] })
}

pub(super) fn complaint(error: Error) -> String {
    match error {
        Error::Compiler { stderr, .. } => outcome::complaint(&stderr),
        error => sframe_kit::text::with_causes(&error),
    }
}

/// Writes a source with what it includes in the place of each directive. No file includes itself.
fn include(text: &str, all: &[(String, String)], into: &mut String) {
    for line in text.lines() {
        let name = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"'));
        match name.and_then(|name| all.iter().find(|(other, _)| other == name)) {
            Some((_, text)) => include(text, all, into),
            None => {
                into.push_str(line);
                into.push('\n');
            }
        }
    }
}

/// The files of a program, the first of which begins it.
pub(super) fn files(lines: &[Line]) -> Vec<String> {
    let count = lines.iter().map(|line| line.file + 1).max().unwrap_or_default().max(1);
    let text = |file| -> String {
        let of_file = lines.iter().filter(|line| line.file == file);
        of_file.map(|line| format!("{}\n", line.text)).collect()
    };
    (0..count).map(text).filter(|text| !text.is_empty()).collect()
}

/// Makes a program smaller as long as it shows what it should; `None` if it does not. `most` is the number of
/// lines that it should have at most.
///
/// # Errors
/// Those of `shows`.
pub(super) fn shortened(
    complete: Complete,
    most: usize,
    shows: &mut dyn FnMut(&Complete) -> Result<bool, Error>,
) -> Result<Option<Complete>, Error> {
    let shown = |complete: &Complete| Ok::<_, Error>(shows(complete)?.then_some(()));
    let reduced = reduction::reduce([complete], MOST_TRIES, without_lines, shown)?;
    let Some((best, ())) = reduced else { return Ok(None) };
    let mut best = best.indented();
    let changes = [
        |best: &Complete| Some(best.replaced(HIDDEN, "")),
        |best: &Complete| best.with_run_inlined(),
        |best: &Complete| Some(best.replaced("typedef unsigned u32;", "").replaced("u32", "unsigned")),
    ];
    for change in changes {
        if let Some(smaller) = change(&best).filter(|smaller| *smaller != best)
            && shows(&smaller)?
        {
            best = smaller;
        }
    }
    Ok(Some(if best.count() > most { best.joined() } else { best }))
}

/// What a program becomes without some of its lines: items, lines that follow one another, or pairs of
/// braces.
fn without_lines(complete: &Complete) -> Vec<Complete> {
    let lines = &complete.lines;
    let mut parts = Vec::new();
    // What is called comes before what calls it.
    parts.extend(items(lines).into_iter().rev());
    for size in [6, 3, 2, 1] {
        let last = lines.len().saturating_sub(size - 1);
        parts.extend((0..last).rev().map(|start| (start..start + size).collect()));
    }
    parts.extend(braces(lines).into_iter().rev());
    let mut all = Smaller::than(complete);
    for part in parts {
        let mut index = 0..;
        all.with(|all| all.lines.retain(|_| index.next().is_some_and(|index| !part.contains(&index))));
    }
    all.plans()
}

/// What braces and parentheses do to the depth.
fn depth_of(line: &str) -> i32 {
    line.chars().fold(0, |depth, character| match character {
        '{' | '(' => depth + 1,
        '}' | ')' => depth - 1,
        _ => depth,
    })
}

/// The declarations and definitions of files, by their lines.
fn items(lines: &[Line]) -> Vec<Vec<usize>> {
    let (mut all, mut item, mut depth) = (Vec::new(), Vec::new(), 0);
    for (index, line) in lines.iter().enumerate() {
        item.push(index);
        depth += depth_of(&line.text);
        let is_end = [';', '}'].iter().any(|end| line.text.ends_with(*end)) || line.text.starts_with('#');
        if depth == 0 && is_end {
            all.push(std::mem::take(&mut item));
        }
    }
    all
}

/// The lines of each pair of braces, without what is between them.
fn braces(lines: &[Line]) -> Vec<Vec<usize>> {
    let (mut all, mut open) = (Vec::new(), Vec::new());
    for (index, line) in lines.iter().enumerate() {
        if line.text.trim_start().starts_with('}')
            && let Some(start) = open.pop()
        {
            all.push(vec![start, index]);
        }
        if line.text.ends_with('{') {
            open.push(index);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Line> {
        text.lines().map(|line| Line { file: 0, text: line.to_owned() }).collect()
    }

    #[test]
    fn only_lines_that_are_needed_are_left() {
        let all = lines(
            "int a;\nint f(void)\n{\n    if (a) {\n        a = 1;\n        g();\n    }\n    return 1;\n}\nint b;",
        );
        let shows = |complete: &Complete| {
            let text = files(&complete.lines).concat();
            let is_whole = text.matches('{').count() == text.matches('}').count();
            Ok::<_, Error>((is_whole && text.contains("g();") && text.contains("int f")).then_some(()))
        };
        let all = Complete { lines: all, first: Vec::new() };
        let left = reduction::reduce([all], MOST_TRIES, without_lines, shows).expect("no error");
        let (left, ()) = left.expect("a program");
        assert_eq!(files(&left.lines), ["int f(void)\n        g();\n"]);
    }

    #[test]
    fn a_program_gets_smaller_and_stays_readable() {
        let text = "typedef unsigned u32;\nu32 f(u32 x)\n{\n        x += 1;\n    return x;\n}\nu32 run(void)\n{\n    u32 x = 1;\n    x += f(x);\n    return x;\n}";
        let all = Complete { lines: lines(text), first: vec!["run();".to_owned()] };
        let is_whole = |complete: &Complete| {
            let text = files(&complete.lines).concat() + &complete.start();
            let is_defined =
                |name: &str| ["\n{", " {"].iter().any(|open| text.contains(&format!("{name}{open}")));
            let runs = !text.contains("run();") || is_defined("run(void)");
            let defines = is_defined("f(u32 x)") || is_defined("f(unsigned x)");
            Ok(runs
                && defines
                && ["x += 1", "return x", "+= f(x)", " x = 1"].iter().all(|part| text.contains(part))
                && text.matches('{').count() == text.matches('}').count()
                && (!text.contains("u32") || text.contains("typedef")))
        };
        let small = shortened(all.clone(), 30, &mut |complete| is_whole(complete));
        let small = small.expect("no error").expect("a program");
        assert_eq!(files(&small.lines), ["unsigned f(unsigned x)\n{\n    x += 1;\n    return x;\n}\n"]);
        assert_eq!(small.first, ["unsigned x = 1;", "x += f(x);"]);
        let smaller = shortened(all, 5, &mut |complete| is_whole(complete));
        let smaller = smaller.expect("no error").expect("a program");
        assert_eq!(smaller.count() + 1, small.count());
    }

    #[test]
    fn an_item_is_a_declaration_or_a_definition() {
        let all = lines("#pragma x\nint f(int a,\n      int b);\nint f(int a, int b)\n{\n    return a;\n}");
        assert_eq!(items(&all), [vec![0], vec![1, 2], vec![3, 4, 5, 6]]);
    }

    #[test]
    fn sources_are_included_once_for_each_directive() {
        let all = [("a.h".to_owned(), "int a;\n".to_owned())];
        let mut text = String::new();
        include("#include \"a.h\"\n#include <b.h>\n", &all, &mut text);
        assert_eq!(text, "int a;\n#include <b.h>\n");
    }
}
