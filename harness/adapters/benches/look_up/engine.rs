//! This project's engine.

use std::hint::black_box;

use sframe_engine::{
    Cache, DwarfRegister, Error, Found, Frame, Index, InstructionPointer, PauthMask, Recovery, Section, Step,
};

use crate::input::CACHE;
use crate::{Contender, Group, Input, processor_time};

fn section(input: &Input) -> Result<Section<'_>, String> {
    Section::parse(&input.data, input.address).map_err(|error| error.to_string())
}

/// A value that has to be waited for.
fn value(found: &Result<Option<Found>, Error>) -> u64 {
    match black_box(found) {
        Ok(Some(found)) => found.row.start.into(),
        Ok(None) | Err(_) => 0,
    }
}

fn read(section: &Section<'_>) -> u64 {
    let mut sum = 0_i64;
    for fde in section.fdes().flatten() {
        for row in section.rows(&fde).flatten() {
            sum += row.cfa.map_or(0, |rule| rule.offset) + offset(row.ra) + offset(row.fp);
        }
    }
    sum.cast_unsigned()
}

/// The offset of a rule.
fn offset(recovery: Recovery) -> i64 {
    match recovery {
        Recovery::Rule(rule) => rule.offset,
        Recovery::Undefined | Recovery::Unchanged => 0,
    }
}

pub fn contenders(input: &Input) -> Result<Vec<Contender<'_>>, String> {
    let mut contenders = Vec::new();
    for (group, pcs) in [(Group::Random, &input.random), (Group::Hot, &input.hot)] {
        let section = section(input)?;
        let look_up = move |pc| value(&section.lookup(InstructionPointer(pc)));
        contenders.push(Contender::look_up(group, "engine", pcs, look_up));
    }
    let index = Index::new(&section(input)?);
    let look_up = move |pc| value(&index.lookup(InstructionPointer(pc)));
    contenders.push(Contender::look_up(Group::Random, "engine, with index", &input.random, look_up));
    let mut cache = Box::new(Cache::<_, CACHE>::new(section(input)?));
    contenders.push(Contender::look_up(Group::Hot, "engine, cached", &input.hot, move |pc| match black_box(
        cache.lookup(InstructionPointer(pc)),
    ) {
        Ok(Some(found)) => found.row.start.into(),
        Ok(None) | Err(_) => 0,
    }));
    let mut cache = Box::new(Cache::<_, CACHE>::new(section(input)?));
    contenders.push(Contender::look_up(
        Group::Hot,
        "engine, cached; look-up and step",
        &input.hot,
        move |pc| step(&mut cache, pc).unwrap_or_default(),
    ));
    contenders.push(Contender::read("engine", input, || section(input).map(|section| read(&section))));
    Ok(contenders)
}

/// Steps to the caller; returns its SP.
fn step(cache: &mut Cache<Section<'_>, CACHE>, pc: u64) -> Option<u64> {
    let abi = cache.source().header().abi;
    let frame = Frame::topmost(InstructionPointer(pc), 0x7000, 0x7100);
    let found = cache.lookup(InstructionPointer(pc)).ok()??;
    let registers = |_: DwarfRegister| None;
    let memory = |address: u64| Some(address);
    match found.apply(abi, &frame, Some(&registers), &memory, PauthMask::NONE) {
        Ok(Step::Caller(caller)) => {
            black_box((caller.ra.ok(), caller.fp.ok()));
            Some(caller.sp)
        }
        Ok(Step::Outermost) | Err(_) => None,
    }
}

/// What an index costs.
pub fn memory(input: &Input) -> Result<String, String> {
    let section = section(input)?;
    let start = processor_time();
    let index = Index::new(&section);
    let (microseconds, bytes) = ((processor_time() - start) / 1e3, index.memory());
    Ok(format!(
        "index: {bytes} bytes for {} bytes of section; made in {microseconds:.0} us",
        input.data.len()
    ))
}
