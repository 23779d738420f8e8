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
/// assert_eq!(closest("recurs", ["realign", "recursion"]), Some("recursion"));
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
    let by_distance = candidates
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(&given, &normalised(candidate)), candidate))
        .filter(|&(distance, _)| distance <= limit)
        // Letters in another order are a more usual mistake than other letters.
        .min_by_key(|&(distance, candidate)| (distance, letters(&given) != letters(&normalised(candidate))))
        .map(|(_, candidate)| *candidate);
    // Somebody may have stopped typing.
    let begins = |candidate: &&&str| given.len() >= 3 && normalised(candidate).starts_with(&given);
    by_distance.or_else(|| candidates.iter().filter(begins).min_by_key(|candidate| candidate.len()).copied())
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
