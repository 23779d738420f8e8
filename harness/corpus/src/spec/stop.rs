//! Stops: as they are written, where several share what they have in common, and
//! one by one.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use sframe_judge::vocabulary::End;

use super::de::{list, present};
use super::{Frames, Location, Selector};

/// A PC and an arrival there at which stacks are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The place: `symbol`, `symbol+0x1c` or `file.c:42`. The stacks are
    /// compared before the instruction there executes.
    pub at: Location,
    /// Which arrival at the place is meant, counted from 1.
    pub hit: NonZeroU32,
    /// The builds that the stop is for; all by default.
    pub selector: Option<Selector>,
    /// The functions on the stack. Without them, only the call stack and the
    /// backtrace are compared with one another.
    pub frames: Option<Frames>,
    /// How the backtrace must end. Without it, it must be whole.
    pub end: Option<End>,
    /// Where it is written.
    pub(super) place: Place,
}

/// Where a stop is written: in an entry of `stops`, and maybe in one of its `each`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) entry: usize,
    pub(super) each: Option<usize>,
    /// The keys that it has in `each`.
    pub(super) own: Vec<&'static str>,
}

impl Place {
    /// The path of the mapping that is this stop's own.
    pub(super) fn path(&self) -> Vec<String> {
        let entry = ["stops".to_owned(), self.entry.to_string()];
        let each = self.each.map(|each| ["each".to_owned(), each.to_string()]);
        entry.into_iter().chain(each.into_iter().flatten()).collect()
    }

    /// Notes that a stop has got a key of its own.
    pub(super) fn gain(&mut self, key: &'static str) {
        let order = ["at", "hit", "where", "frames", "end"];
        self.own.push(key);
        self.own.sort_by_key(|own| order.iter().position(|key| key == own));
    }

    /// The path of one of its keys.
    pub(super) fn path_of(&self, key: &str) -> Vec<String> {
        let shared = Self { entry: self.entry, ..Self::default() };
        let holder = if self.own.contains(&key) { self } else { &shared };
        holder.path().into_iter().chain([key.to_owned()]).collect()
    }
}

impl Stop {
    /// The path in the file of one of its keys, which other stops may share.
    pub fn path_of(&self, key: &str) -> Vec<String> {
        self.place.path_of(key)
    }
}

/// A PC and an arrival there at which stacks are compared; or several that have
/// some keys in common.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Stop", extend("anyOf" = [{"required": ["at"]}, {"required": ["each"]}]))]
#[serde(deny_unknown_fields, expecting = "a stop, which is a mapping with `at`")]
pub(super) struct Entry {
    /// The place: `symbol`, `symbol+0x1c` or `file.c:42`. The stacks are
    /// compared before the instruction there executes.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Location")]
    at: Option<Location>,
    /// Which arrival at the place is meant, counted from 1. Without this key:
    /// the first.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "NonZeroU32")]
    hit: Option<NonZeroU32>,
    /// The builds that the stop is for. Without this key: all.
    #[serde(default, rename = "where", deserialize_with = "present")]
    #[schemars(with = "Selector")]
    selector: Option<Selector>,
    /// The functions on the stack, from the topmost to the outermost frame;
    /// `f x 24` are 24 frames of `f`. Without this key, only the call stack and
    /// the backtrace are compared with one another.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Frames")]
    frames: Option<Frames>,
    /// How the backtrace must end. Without this key, it must be whole.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "End")]
    end: Option<End>,
    /// Several stops, each with these keys and those around it.
    #[serde(default, deserialize_with = "some_list")]
    #[schemars(with = "Vec<Own>", length(min = 2))]
    each: Option<Vec<Own>>,
}

/// What one stop has that the others of its entry have not.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "EachStop", extend("minProperties" = 1))]
#[serde(deny_unknown_fields, expecting = "a mapping with what is this stop's own")]
struct Own {
    /// The place, as in a stop.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Location")]
    at: Option<Location>,
    /// Which arrival at the place is meant, counted from 1.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "NonZeroU32")]
    hit: Option<NonZeroU32>,
    /// The builds that the stop is for.
    #[serde(default, rename = "where", deserialize_with = "present")]
    #[schemars(with = "Selector")]
    selector: Option<Selector>,
    /// The functions on the stack, as in a stop.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Frames")]
    frames: Option<Frames>,
    /// How the backtrace must end.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "End")]
    end: Option<End>,
}

impl Entry {
    /// The stops, in the order in which they are written. They don't know yet
    /// which entry they are of.
    fn stops<E: Error>(self) -> Result<Vec<Stop>, E> {
        let Self { at, hit, selector, frames, end, each } = self;
        let Some(each) = each else {
            let at = at.ok_or_else(|| E::missing_field("at"))?;
            let hit = hit.unwrap_or(NonZeroU32::MIN);
            return Ok(vec![Stop { at, hit, selector, frames, end, place: Place::default() }]);
        };
        if each.len() < 2 {
            return Err(E::custom("`each` is for two stops or more; write one without it"));
        }
        let mut stops = Vec::new();
        for (index, own) in each.into_iter().enumerate() {
            let mut keys = Vec::new();
            let at = one_of("at", &at, own.at, &mut keys)?.ok_or_else(|| E::missing_field("at"))?;
            let hit = one_of("hit", &hit, own.hit, &mut keys)?.unwrap_or(NonZeroU32::MIN);
            let selector = one_of("where", &selector, own.selector, &mut keys)?;
            let frames = one_of("frames", &frames, own.frames, &mut keys)?;
            let end = one_of("end", &end, own.end, &mut keys)?;
            if keys.is_empty() {
                return Err(E::custom("an entry of `each` has nothing of its own"));
            }
            let place = Place { entry: 0, each: Some(index), own: keys };
            stops.push(Stop { at, hit, selector, frames, end, place });
        }
        Ok(stops)
    }
}

/// Reads `each`, which may not be empty if it is there.
fn some_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Own>>, D::Error> {
    list(deserializer).map(Some)
}

/// A key's value, which is either shared or a stop's own.
fn one_of<T: Clone, E: Error>(
    key: &'static str,
    shared: &Option<T>,
    own: Option<T>,
    keys: &mut Vec<&'static str>,
) -> Result<Option<T>, E> {
    match (shared, own) {
        (Some(_), Some(_)) => Err(E::custom(format!("`{key}` is given for all of `each`, and again in one"))),
        (shared, None) => Ok(shared.clone()),
        (None, own @ Some(_)) => {
            keys.push(key);
            Ok(own)
        }
    }
}

/// Reads `stops`: entries of one stop or several.
pub(super) fn stops<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Stop>, D::Error> {
    let entries: Vec<Group> = list(deserializer)?;
    let mut stops = Vec::new();
    for (entry, Group(group)) in entries.into_iter().enumerate() {
        stops.extend(group.into_iter().map(|stop| Stop { place: Place { entry, ..stop.place }, ..stop }));
    }
    Ok(stops)
}

/// The stops of an entry. It is taken apart while it is read, so that a mistake
/// is at its place.
struct Group(Vec<Stop>);

impl<'de> Deserialize<'de> for Group {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(GroupVisitor)
    }
}

struct GroupVisitor;

impl<'de> Visitor<'de> for GroupVisitor {
    type Value = Group;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a stop, which is a mapping with `at`")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Group, A::Error> {
        let entry = Entry::deserialize(MapAccessDeserializer::new(map))?;
        entry.stops().map(Group)
    }
}
