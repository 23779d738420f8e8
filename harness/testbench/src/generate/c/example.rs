//! The smallest program with a fault in one piece, as pages have it: complete, and with as few lines as show it.

use sframe_engine::Abi;

use super::build::Level;
use super::links::{Form, ObjectForm};
use super::reduce::Reduced;
use crate::corpus::{Error, Maker};

/// The first function of examples: it ends by a jump to itself.
pub(super) const START: &str = "void _start(void)\n{\n    run();\n    for (;;)\n        ;\n}\n";

/// How many programs are made to find lines that are not needed.
const MOST_TRIES: u32 = 600;

/// A line of one of a program's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The file, by its number.
    pub(super) file: usize,
    /// What is in it.
    pub(super) text: String,
}

/// Returns a program with what all programs have, as the preprocessor leaves it, without [`START`].
///
/// # Errors
/// It has to be linked as no example is, or the preprocessor fails; in a sentence.
pub(super) fn complete(
    maker: &Maker,
    abi: Abi,
    level: Level,
    reduced: &Reduced,
) -> Result<Vec<Line>, String> {
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
    Ok(lines)
}

pub(super) fn complaint(error: Error) -> String {
    match error {
        Error::Compiler { stderr, .. } => super::shape::complaint(&stderr),
        error => sframe_inspect::text::with_causes(&error),
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

/// Drops lines as long as a program shows what it should.
///
/// # Errors
/// Those of `shows`.
pub(super) fn shortened(
    mut lines: Vec<Line>,
    shows: &mut dyn FnMut(&[Line]) -> Result<bool, Error>,
) -> Result<Vec<Line>, Error> {
    let mut tries = 0;
    loop {
        let before = lines.len();
        let mut changes = |lines: &mut Vec<Line>, parts: &dyn Fn(&[Line]) -> Vec<Vec<usize>>| {
            let mut all = parts(lines);
            // What is called comes before what calls it.
            while let Some(part) = all.pop() {
                if tries >= MOST_TRIES || part.iter().any(|index| *index >= lines.len()) {
                    continue;
                }
                let left = lines.iter().enumerate().filter(|(index, _)| !part.contains(index));
                let smaller: Vec<Line> = left.map(|(_, line)| line.clone()).collect();
                tries += 1;
                if shows(&smaller)? {
                    *lines = smaller;
                    all = parts(lines).into_iter().take(all.len()).collect();
                }
            }
            Ok::<_, Error>(())
        };
        changes(&mut lines, &items)?;
        for size in [6, 3, 2, 1] {
            changes(&mut lines, &|lines| {
                let last = lines.len().saturating_sub(size - 1);
                (0..last).map(|start| (start..start + size).collect()).collect()
            })?;
        }
        changes(&mut lines, &braces)?;
        if lines.len() == before || tries >= MOST_TRIES {
            return Ok(lines);
        }
    }
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
        let mut shows = |lines: &[Line]| {
            let text = files(lines).concat();
            let is_whole = text.matches('{').count() == text.matches('}').count();
            Ok(is_whole && text.contains("g();") && text.contains("int f"))
        };
        let left = shortened(all, &mut shows).expect("lines");
        assert_eq!(files(&left), ["int f(void)\n        g();\n"]);
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
