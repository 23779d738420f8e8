//! Tests of the catalogue's format.

use std::path::Path;

use super::*;
use sframe_corpus::yaml::Source;

const SOUND: &str = "\
sections:
  1: [Top]
  2: [Top The format]
  3: [2.4 SFrame FRE, Top The format]
clauses:
  - name: magic
    versions: {1: Top, 2: Top, 3: Top}
    erratum: 2
    side: both
    summary: It starts so.
    lints: [SF101, SF107]
    constants: [SFRAME_MAGIC]
    unproved: {3: Nothing at all can prove it.}
  - {name: fre, versions: {3: '2.4'}, side: consumer, summary: It is a row.}
";

fn read(text: &str) -> Result<Catalogue, Vec<sframe_corpus::yaml::Error>> {
    Catalogue::from_source(&Source::new(Path::new("clauses.yaml"), text))
}

#[test]
fn an_entry_is_a_clause_in_each_of_its_versions() {
    let catalogue = read(SOUND).unwrap();
    let ids: Vec<_> = catalogue.clauses.iter().map(|clause| clause.id.as_str()).collect();
    assert_eq!(ids, ["v1-magic", "v2-magic", "v3-fre", "v3-magic"]);
    let [first, second, fourth, third] = &catalogue.clauses[..] else { panic!("four clauses") };
    assert_eq!((first.erratum, second.erratum, third.erratum), (None, Some(2), None));
    assert_eq!(first.lints, ["SF101", "SF107"]);
    assert_eq!(third.lints, ["SF101"], "SF107 is a rule of version 1");
    assert_eq!((&second.unproved, third.unproved.is_some()), (&None, true));
    assert_eq!((fourth.section.as_str(), fourth.title.as_str()), ("2.4", "SFrame FRE"));
    assert_eq!(catalogue.get("v3-fre").map(|clause| clause.side), Some(Side::Consumer));
    assert!(catalogue.get("v2-fre").is_none());
}

#[test]
fn mistakes_are_reported_with_their_place() {
    for (from, to, position, message) in [
        ("name: magic", "name: Magic", (6, 11), "this is not a name"),
        ("name: fre", "name: magic", (14, 12), "`v3-magic` is listed twice"),
        ("{1: Top, 2: Top, 3: Top}", "{}", (7, 15), "a clause of no version"),
        ("'2.4'}, side", "'2.5'}, side", (14, 31), "unknown section `2.5`; did you mean `2.4`?"),
        ("2: Top, 3: Top}", "2: Top, 4: Top}", (7, 35), "`sections` has no version 4"),
        ("[2.4 SFrame FRE,", "[A B, 2.4 SFrame FRE,", (4, 7), "no clause is of section `A`"),
        ("[2.4 SFrame FRE,", "[2.4, 2.4 SFrame FRE,", (4, 12), "section `2.4` is listed twice"),
        ("  1: [Top", "  9: [Top", (2, 6), "unknown version 9"),
        ("erratum: 2", "erratum: 3", (8, 14), "no clause of version 2 came with erratum 3"),
        ("side: both", "side: reader", (9, 11), "`reader`"),
        ("It starts so.", "It starts so", (10, 14), "the summary is not a sentence"),
        ("SF101, SF107", "SF010", (11, 13), "unknown rule `SF010`; did you mean `SF1"),
        ("SF101, SF107", "SF107, SF107", (11, 20), "`SF107` is listed twice"),
        ("summary: It is a row.", "summary: A row., lints: [SF107]", (14, 80), "SF107 applies to none"),
        ("summary: It is a row.", "summary: A row., lints: [SF301]", (14, 80), "a rule can't prove what"),
        ("{3: Nothing at all can prove it.}", "{3: Because.}", (13, 19), "at least 20 characters"),
        ("unproved: {3", "unproved: {4", (13, 19), "version 4 does not have the clause"),
        ("constants:", "constant:", (12, 5), "unknown key `constant`"),
    ] {
        assert!(SOUND.contains(from), "{from}");
        let errors = read(&SOUND.replacen(from, to, 1)).expect_err(to);
        let found = errors
            .iter()
            .any(|error| error.message().contains(message) && error.position() == Some(position));
        assert!(found, "{to}: {:?}", errors.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
}
