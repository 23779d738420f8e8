//! How executed instructions move control, decoded once.

use crate::address_space::AddressSpace;
use crate::cpu::{Control, Cpu};

/// How each executed instruction moves control, decoded once per address.
#[derive(Debug, Default)]
pub(crate) struct ControlCache {
    tables: Vec<ControlTable>,
}

#[derive(Debug)]
struct ControlTable {
    start: u64,
    end: u64,
    controls: Vec<Option<Control>>,
}

impl ControlCache {
    /// How the instruction at an address moves control.
    pub(crate) fn get(&mut self, cpu: &Cpu, space: &AddressSpace, pc: u64) -> Control {
        let index = match self.tables.iter().position(|table| (table.start..table.end).contains(&pc)) {
            Some(index) => index,
            None => match space.executable(pc) {
                Some((range, false)) => {
                    let len = usize::try_from((range.end - range.start) / cpu.alignment).unwrap_or(0);
                    let controls = vec![None; len];
                    self.tables.push(ControlTable { start: range.start, end: range.end, controls });
                    self.tables.len() - 1
                }
                // Code that the program can change is decoded each time.
                _ => return decode(cpu, space, pc),
            },
        };
        let table = &mut self.tables[index];
        let slot = usize::try_from((pc - table.start) / cpu.alignment)
            .ok()
            .and_then(|slot| table.controls.get_mut(slot));
        match slot {
            Some(slot) => *slot.get_or_insert_with(|| decode(cpu, space, pc)),
            None => decode(cpu, space, pc),
        }
    }
}

fn decode(cpu: &Cpu, space: &AddressSpace, pc: u64) -> Control {
    let mut code = [0; 16];
    // Near the end of a region the instruction is shorter than the longest.
    (1..=cpu.longest)
        .rev()
        .find(|len| space.read(pc, &mut code[..*len]))
        .map_or(Control::Other, |len| cpu.control(&code[..len]))
}
