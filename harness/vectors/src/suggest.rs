//! "Did you mean ...?"

/// What others call the ABIs, and what we do.
const OTHER_NAMES: [(&str, &str); 9] = [
    ("x86", "amd64"),
    ("x86-64", "amd64"),
    ("x64", "amd64"),
    ("arm64", "aarch64"),
    ("armv8", "aarch64"),
    ("arm64be", "aarch64_be"),
    ("arm64-be", "aarch64_be"),
    ("aarch64eb", "aarch64_be"),
    ("s390", "s390x"),
];

/// The candidate that `given` was probably meant to be, if any is close.
///
/// ```
/// use sframe_vectors::suggest::closest;
///
/// assert_eq!(closest("stosp", ["stops", "sweep"]), Some("stops"));
/// assert_eq!(closest("AArch64", ["amd64", "aarch64"]), Some("aarch64"));
/// assert_eq!(closest("arm64", ["amd64", "aarch64"]), Some("aarch64"));
/// assert_eq!(closest("gnu-2.74", ["gnu-2.44", "gnu-2.47"]), Some("gnu-2.47"));
/// assert_eq!(closest("gnu-2.45", ["gnu-2.40", "gnu-2.44", "gnu-2.47"]), Some("gnu-2.44"));
/// assert_eq!(closest("ld-2.48", ["ld-2.44", "ld-2.47", "lld-22"]), Some("ld-2.47"));
/// assert_eq!(closest("gnu-2.39", ["gnu-2.44", "gnu-2.40", "gnu-3.39"]), Some("gnu-2.40"));
/// assert_eq!(closest("O22", ["O0", "O2", "O3"]), Some("O2"));
/// assert_eq!(closest("O9", ["O0", "O2", "O3"]), Some("O3"));
/// assert_eq!(closest("recurs", ["realign", "recursion"]), Some("recursion"));
/// assert_eq!(closest("assembler", ["producer-assembler", "producer-linker"]), Some("producer-assembler"));
/// assert_eq!(closest("mips", ["amd64", "aarch64"]), None);
/// ```
pub fn closest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = normalised(given);
    // One typing mistake in every three characters is still recognisable.
    let limit = given.chars().count().div_ceil(3);
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let other = OTHER_NAMES.iter().find(|(name, _)| *name == given).map(|(_, name)| *name);
    if let Some(meant) = candidates.iter().find(|candidate| Some(**candidate) == other) {
        return Some(meant);
    }
    if let Some(meant) = nearest_number(&given, &candidates) {
        return Some(meant);
    }
    let by_distance = candidates
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(&given, &normalised(candidate)), candidate))
        .filter(|&(distance, _)| distance <= limit)
        // Letters in another order are a more usual mistake than other letters.
        .min_by_key(|&(distance, candidate)| (distance, letters(&given) != letters(&normalised(candidate))))
        .map(|(_, candidate)| *candidate);
    // Somebody may have stopped typing.
    let begins = |candidate: &&&str| given.len() >= 3 && normalised(candidate).starts_with(&given);
    by_distance
        .or_else(|| candidates.iter().filter(begins).min_by_key(|candidate| candidate.len()).copied())
        .or_else(|| only_end(&given, &candidates))
}

/// The only name whose last word this is.
fn only_end<'a>(given: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let end = format!("-{given}");
    let mut ending = candidates.iter().filter(|candidate| normalised(candidate).ends_with(&end));
    let first = ending.next().filter(|_| given.len() >= 3)?;
    ending.all(|other| other == first).then_some(*first)
}

/// Of the names that differ from `given` in a number only, such as a version, the one with the same digits in another
/// order, or one digit more or less, or else with the nearest number.
fn nearest_number<'a>(given: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let (shape, number) = numbered(given)?;
    let distance = |candidate: &&'a str| {
        let name = normalised(candidate);
        let (other, found) = numbered(&name)?;
        let part = |of: &[u64], index: usize| of.get(index).copied().unwrap_or(0);
        let parts = 0..number.len().max(found.len());
        let apart: Vec<u64> = parts.map(|index| part(&number, index).abs_diff(part(&found, index))).collect();
        let is_slip = name.len() != given.len() && strsim::damerau_levenshtein(given, &name) == 1;
        (other == shape).then_some((letters(given) != letters(&name), !is_slip, apart))
    };
    let near = candidates.iter().filter_map(|candidate| Some((distance(candidate)?, *candidate)));
    near.min_by_key(|(distance, _)| distance.clone()).map(|(_, candidate)| candidate)
}

/// A name around its last number, which may be a version, and the parts of that. `None` without a number, or letters.
fn numbered(name: &str) -> Option<((&str, &str), Vec<u64>)> {
    let is_of_number = |char: char| char.is_ascii_digit() || char == '.';
    let end = name.rfind(|char: char| char.is_ascii_digit())? + 1;
    let start = name[..end].trim_end_matches(is_of_number).len();
    let parts: Result<Vec<u64>, _> = name[start..end].split('.').map(str::parse).collect();
    let around = (&name[..start], &name[end..]);
    let has_letters = around.0.chars().chain(around.1.chars()).any(char::is_alphabetic);
    parts.ok().filter(|_| has_letters).map(|parts| (around, parts))
}

/// The letters of a name, in order.
fn letters(name: &str) -> Vec<char> {
    let mut letters: Vec<char> = name.chars().collect();
    letters.sort_unstable();
    letters
}

/// The end of a message about an unknown name: which was probably meant, if any is close.
pub fn hint<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let meant = closest(given, candidates);
    meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"))
}

/// The end of such a message: which name was probably meant, or else which there are.
pub fn hint_or_all<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    const LISTED: usize = 40;
    let mut all: Vec<&str> = candidates.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    let hint = hint(given, all.iter().copied());
    match all.len() {
        0 => hint,
        _ if !hint.is_empty() => hint,
        count if count > LISTED => {
            format!("; there are {}, and {} more", quoted_list(all[..LISTED].iter().copied()), count - LISTED)
        }
        _ => format!("; there are {}", quoted_list(all)),
    }
}

/// Says that a name is none of those that are known, and which was probably meant.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    format!("unknown {what} `{name}`{}", hint(name, known))
}

/// Normalises case and the kind of separator, which do not distinguish names.
fn normalised(name: &str) -> String {
    name.to_lowercase().replace(['_', ' '], "-")
}

/// `` `a`, `b`, `c` ``
pub fn quoted_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
