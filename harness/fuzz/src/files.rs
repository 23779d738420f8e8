//! What must hold for the loader, for the commands that run nothing, and for the reader of
//! specs, on any file.

use std::path::Path;

use sframe_corpus::spec::Spec;
use sframe_corpus::yaml::Source;
use sframe_elf::object_file::ObjectFile;
use sframe_elf::sframe_section::Input;
use sframe_engine::{Section, Version};
use sframe_inspect::convert::Request;
use sframe_inspect::convert::layout::Layout;
use sframe_inspect::diff::diff_file;
use sframe_inspect::dump::Dump;
use sframe_inspect::lint::lint_file;
use sframe_judge::target::Target;
use sframe_kit::text::neutral;
use sframe_machine::{Dynamic, Images, Machine, Options};

use crate::Property;

/// All properties of files, each with the name of its fuzz target.
pub const PROPERTIES: [(&str, Property); 2] = [("load", load), ("spec", spec)];

/// An error prints as one line of bounded length.
fn assert_is_sentence(error: &dyn std::error::Error) {
    let error = error.to_string();
    let text = neutral(&error);
    assert!(!text.trim().is_empty() && text.lines().count() == 1 && text.len() < 2000, "{text:?}");
}

/// An ELF file is loaded and inspected, or an error says why not. The output is again a file
/// with a section that can be read.
pub fn load(data: &[u8]) {
    if let Err(error) = Dynamic::read(data) {
        assert_is_sentence(&error);
    }
    match Images::load(data, &[]) {
        Ok(images) => {
            match Machine::with_images(&images, &Options { stack_size: 64 << 10, ..Options::default() }) {
                Ok(_) => assert!(images.executable().range().contains(&images.executable().entry)),
                Err(error) => assert_is_sentence(&error),
            }
        }
        Err(error) => assert_is_sentence(&error),
    }
    match Target::open(data) {
        Ok(target) => {
            assert!(target.sections.iter().next().is_some());
            assert!(target.executable().code().iter().all(|(_, instruction)| instruction.len > 0));
        }
        Err(error) => assert_is_sentence(&error),
    }
    match ObjectFile::parse(data) {
        Ok(subject) => {
            assert!(subject.symbols.names().all(|name| !name.is_empty()));
            if let Err(error) = subject.lines() {
                assert_is_sentence(&error);
            }
        }
        Err(error) => assert_is_sentence(&error),
    }
    match lint_file(data, "file") {
        Ok(report) => assert!(!report.text().is_empty()),
        Err(error) => assert_is_sentence(&error),
    }
    match diff_file(data, "file") {
        Ok(report) => assert!(!report.text().is_empty()),
        Err(error) => assert_is_sentence(&error),
    }
    match Input::open(data, None) {
        Ok(input) => match Dump::decode(&input.data, input.address) {
            Ok(_) => {}
            Err(error) => assert_is_sentence(&error),
        },
        Err(error) => assert_is_sentence(&error),
    }
    let request = Request { version: Version::LATEST, byte_order: None, layout: Layout::default() };
    for converted in [request.convert(data), request.synthesize(data)] {
        let converted = match converted {
            Ok(converted) => converted,
            Err(error) => {
                assert_is_sentence(&error);
                continue;
            }
        };
        match converted.section() {
            Ok(section) => assert!(Section::parse(&section, 0).is_ok()),
            Err(error) => assert_is_sentence(&error),
        }
        match converted.file() {
            Ok(file) => {
                let again = Input::open(&file, None);
                assert!(again.is_ok(), "{again:?}");
            }
            Err(error) => assert_is_sentence(&error),
        }
    }
}

/// A spec is read, or an error says where it is wrong.
pub fn spec(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let source = Source::new(Path::new("p.yaml"), text);
    if let Err(error) = Spec::from_source(&source) {
        assert_is_sentence(&error);
        let (line, column) = error.position().expect("text has places");
        let lines = text.lines().count().max(1);
        assert!((1..=lines + 1).contains(&line) && column >= 1, "{line}:{column} of {lines} lines");
        assert!(error.render(false).contains("p.yaml"));
    }
}
