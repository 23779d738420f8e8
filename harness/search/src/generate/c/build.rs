//! Makes a program at a level of optimisation.

use sframe_corpus::corpus::{Error, MadeProgram, Maker, Recipe, RecipeObject};
use sframe_engine::Abi;

use super::flags::{self, Compiler};
use super::links::{self, Link, ObjectForm};
use super::plan::Plan;
use super::writer::{COMMON as FILES, write};
use crate::generate::Random;

/// Flags of objects without call frame information.
const UNDESCRIBED: &[&str] = &["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions"];

/// A level of optimisation.
pub type Level = &'static str;

/// All of them.
pub(super) const LEVELS: [Level; 5] = ["-O0", "-O1", "-O2", "-O3", "-Os"];

/// What decides how a plan is compiled and linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// Flags of the compiler. Each entry can be dropped alone.
    pub flags: Vec<Vec<String>>,
    /// How it is linked.
    pub link: Link,
}

impl Build {
    /// Draws one for a program of a seed.
    #[must_use]
    pub fn draw(
        maker: &Maker,
        abi: Abi,
        seed: u64,
        program: u64,
        plan: &Plan,
        known: &[Vec<String>],
        links: bool,
    ) -> Self {
        // Others than those that the plan is made of.
        let mut random = Random::new(seed ^ 0x666c_6167_7300, program);
        let compiler = Compiler::of(maker, abi);
        let mut flags = flags::draw(&mut random, compiler, abi);
        // Without its instructions, floating point needs a library that these programs do not have.
        if plan.computes_with_floats() {
            flags.retain(|flags| !flags.iter().any(|flag| flag == "-msoft-float"));
        }
        let is_one_unit = maker.toolchain().one_unit;
        let link = links::draw(&mut random, compiler, abi, plan.files, is_one_unit);
        let count = if is_one_unit { 1 } else { plan.files as usize };
        // Last, so that a seed's other choices stay.
        flags.extend(flags::draw_hardened(&mut random));
        flags.retain(|flags| known.contains(flags));
        Self { flags, link: if links { link } else { Link::plain(count) } }
    }

    /// The flags of the compiler and linker at a level, and which objects are made in another way than usual.
    #[must_use]
    pub fn words(&self, level: Level) -> Vec<String> {
        let mut words = vec![level.to_owned()];
        words.extend(self.flags.iter().flatten().cloned());
        words.extend(self.link.form.flags().iter().map(|flag| (*flag).to_owned()));
        words.extend(self.link.flags.iter().cloned());
        for (file, object) in self.link.objects.iter().enumerate() {
            words.extend(object.says().map(|says| format!("({says} {file})")));
        }
        words
    }

    /// What a toolchain does to make a plan at a level; as one unit, if its linker can merge nothing.
    #[must_use]
    pub fn recipe(&self, plan: &Plan, level: Level, is_one_unit: bool) -> Recipe {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        let mut sources: Vec<(String, String)> = FILES.iter().map(owned).collect();
        let parts: Vec<String> = write(plan)
            .into_iter()
            .map(|source| {
                sources.push((source.name.clone(), source.text));
                source.name
            })
            .filter(|name| name.starts_with("part"))
            .collect();
        let include = |name: &String| format!("#include \"{name}\"\n");
        let units: Vec<String> = if is_one_unit {
            vec![parts.iter().map(include).collect()]
        } else {
            parts.iter().map(include).collect()
        };
        let mut objects = Vec::new();
        for (index, mut text) in units.into_iter().enumerate() {
            let name = format!("unit{index}.c");
            if index == 0 {
                text.insert_str(0, "#include \"runtime.c\"\n");
            }
            sources.push((name.clone(), text));
            let form = self.link.objects.get(index).copied().unwrap_or(ObjectForm::PLAIN);
            let flags = if form.is_described { &[] } else { UNDESCRIBED };
            objects.push(RecipeObject {
                sources: vec![name],
                flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
                writes_sframe: form.is_described,
                joint: form.joint,
            });
        }
        let mut compile: Vec<String> = flags::COMMON.iter().map(|flag| (*flag).to_owned()).collect();
        compile.push(level.to_owned());
        compile.extend(self.flags.iter().flatten().cloned());
        compile.extend(self.link.form.flags().iter().map(|flag| (*flag).to_owned()));
        Recipe { sources, objects, compile, link: self.link.flags.clone() }
    }
}

/// Makes a program.
///
/// # Errors
/// The toolchain refuses it, or can't be started.
pub fn build(
    maker: &Maker,
    abi: Abi,
    plan: &Plan,
    build: &Build,
    level: Level,
) -> Result<MadeProgram, Error> {
    maker.link(abi, &build.recipe(plan, level, maker.toolchain().one_unit))
}
