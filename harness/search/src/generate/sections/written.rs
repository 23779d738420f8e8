//! A plan as the engine's writer writes it.

use std::collections::BTreeMap;

use sframe_engine::write::{Function, Layout, Section, WideRow};
use sframe_engine::{self as engine, DataWordSize, DwarfRegister, Flags, RecoveryRule, Row};
use sframe_vectors::{Base, Equation, Flag, FreType, PcType, Recovery};

use super::plan::{FunctionPlan, RowPlan, SectionPlan};

impl SectionPlan {
    /// Returns the bytes that the engine's writer makes of a plan that breaks no rule.
    ///
    /// # Errors
    /// What the writer says that it can't express.
    pub fn written(&self) -> Result<Vec<u8>, String> {
        let order = self.row_order();
        let mut positions = vec![0; order.len()];
        for (position, index) in (0..).zip(order) {
            positions[index] = position;
        }
        let flag = |is_set: bool, flag: Flag| if is_set { flag.bit() } else { 0 };
        let flags = flag(self.sorted, Flag::Sorted)
            | flag(self.frame_pointer, Flag::FramePointer)
            | flag(self.pcrel, Flag::Pcrel);
        let functions = self.functions.iter().zip(positions);
        let section = Section {
            version: self.version,
            flags: Flags(flags),
            abi: self.abi,
            fixed_fp_offset: self.fixed_fp,
            fixed_ra_offset: self.fixed_ra,
            auxiliary: self.auxiliary.clone(),
            functions: functions.map(|(function, position)| self.function(function, position)).collect(),
        };
        let layout = Layout {
            header_gap: self.header_gap.into(),
            sub_section_gap: self.sub_section_gap.into(),
            trailing: self.trailing.into(),
            filler: self.filler,
            data_words: None,
        };
        section.write_with(self.address, &layout).map_err(|error| error.to_string())
    }

    fn function(&self, function: &FunctionPlan, rows_position: u32) -> Function {
        let rows: Vec<Row> = function.rows.iter().map(row).collect();
        let wide = function.rows.iter().zip(&rows).filter_map(|(plan, row)| {
            let data_words = match plan.width {
                2 => DataWordSize::Two,
                4 => DataWordSize::Four,
                _ => return None,
            };
            plan.rules.is_some().then_some((plan.start, WideRow { row: *row, data_words }))
        });
        let wide_rows: BTreeMap<u32, WideRow> = wide.collect();
        Function {
            start: function.start,
            size: function.size,
            fre_type: Some(match function.fre_type {
                FreType::Addr1 => engine::FreType::Addr1,
                FreType::Addr2 => engine::FreType::Addr2,
                FreType::Addr4 => engine::FreType::Addr4,
            }),
            pc_type: match function.pc_type {
                PcType::Inc => engine::PcType::Inc,
                PcType::Mask => engine::PcType::Mask,
            },
            fde_type: if function.flex { engine::FdeType::Flex } else { engine::FdeType::Default },
            pauth_key: if function.key_b { engine::PauthKey::B } else { engine::PauthKey::A },
            signal: function.signal,
            rep_size: self.version.has_rep_size().then_some(function.rep_size),
            rows_position,
            rows,
            wide_rows,
        }
    }
}

fn row(row: &RowPlan) -> Row {
    let recovery = |recovery: Recovery| match recovery {
        Recovery::Undefined => engine::Recovery::Undefined,
        Recovery::Unchanged => engine::Recovery::Unchanged,
        Recovery::Rule(equation) => engine::Recovery::Rule(rule(equation)),
    };
    let undefined = engine::Recovery::Undefined;
    Row {
        start: row.start,
        // The writer does not write it.
        end: row.start,
        cfa: row.rules.map(|rules| rule(rules.cfa)),
        ra: row.rules.map_or(undefined, |rules| recovery(rules.ra)),
        fp: row.rules.map_or(undefined, |rules| recovery(rules.fp)),
        mangled_ra: row.mangled,
    }
}

fn rule(Equation { base, offset, dereference }: Equation) -> RecoveryRule {
    let base = match base {
        Base::Cfa => engine::Base::Cfa,
        Base::Sp => engine::Base::Sp,
        Base::Fp => engine::Base::Fp,
        Base::Register(number) => engine::Base::Register(DwarfRegister(number)),
    };
    RecoveryRule { base, offset, dereference }
}
