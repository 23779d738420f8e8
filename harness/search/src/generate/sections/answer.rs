//! Header, functions and look-ups that follow from a plan.

use sframe_vectors::{
    Address, Answer, Fde, FdeType, Flag, Header, Lookup, PauthKey, Question, Reject, Row, Rules,
    SectionSource, boundaries,
};

use super::dialect::outermost_without_rows;
use super::fault::Rule;
use super::plan::{FunctionPlan, RowPlan, SectionPlan};
use super::words::fre_len;

/// Functions with more rows are not asked about at each of them.
const MANY_ROWS: usize = 64;

/// The rejection of a function or row that breaks a rule, wherever it is.
const fn reject(rule: Rule) -> Reject {
    Reject { kind: rule.kind, offset: None }
}

impl SectionPlan {
    /// Returns what the header says.
    #[must_use]
    pub fn header(&self, source: &SectionSource) -> Header {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let fdes = self.functions.len() * self.version.fde_size();
        Header {
            version: self.version.number(),
            abi: self.abi,
            flags: source.flags.iter().copied().map(Flag::bit).sum(),
            fixed_fp: self.fixed_fp.unwrap_or(0),
            fixed_ra: self.fixed_ra.unwrap_or(0),
            aux_len: u8::try_from(self.auxiliary.len()).unwrap_or(u8::MAX),
            num_fdes: count(self.functions.len()),
            num_fres: count(self.functions.iter().map(|function| function.rows.len()).sum()),
            fre_len: fre_len(source),
            fdeoff: self.header_gap.into(),
            freoff: u32::from(self.header_gap) + count(fdes) + u32::from(self.sub_section_gap),
        }
    }

    /// Returns the functions with their rows.
    #[must_use]
    pub fn fdes(&self) -> Vec<Fde> {
        self.functions.iter().map(|function| self.fde(function)).collect()
    }

    fn fde(&self, function: &FunctionPlan) -> Fde {
        if let Some(fault) = function.broken.filter(|fault| fault.is_of_function()) {
            return Fde::rejected(reject(fault.rule()));
        }
        let mut rows = Vec::new();
        for row in &function.rows {
            if let Some(fault) = row.broken {
                rows.push(Row::Reject(reject(fault.rule())));
                break;
            }
            rows.push(Row::Rules(rules(row)));
        }
        rows.extend(function.broken.map(|fault| Row::Reject(reject(fault.rule()))));
        Fde {
            reject: None,
            start: Some(Address(function.start)),
            size: Some(function.size),
            fre_type: function.fre_type,
            pc_type: function.pc_type,
            fde_type: if function.flex { FdeType::Flex } else { FdeType::Default },
            pauth_key: if function.key_b { PauthKey::B } else { PauthKey::A },
            signal: function.signal,
            rep_size: function.rep_size,
            outermost: self.is_outermost(function),
            rows,
        }
    }

    /// Returns whether a function says by itself that its frames have no caller.
    #[must_use]
    pub fn is_outermost(&self, function: &FunctionPlan) -> bool {
        outermost_without_rows(self.version)
            && !function.flex
            && function.rows.is_empty()
            && function.broken.is_none()
    }

    /// Returns the answer to a question; `None` if a reader may answer in several ways, since it may read
    /// all rows of a function before it answers.
    #[must_use]
    pub fn look_up(&self, question: Question) -> Option<Answer> {
        let Question { pc: Address(pc), return_address } = question;
        let address = if return_address { pc.wrapping_sub(1) } else { pc };
        let Some(index) = self.function_at(address) else { return Some(Answer::NoFde) };
        let function = &self.functions[index];
        match function.broken {
            Some(fault) if fault.is_of_function() => return Some(Answer::Reject(reject(fault.rule()))),
            Some(_) => return None,
            None => {}
        }
        if self.is_outermost(function) {
            return Some(Answer::Outermost(index));
        }
        let row = function.row_at(address);
        if function.is_broken() {
            let fault = row.and_then(|row| function.rows[row].broken)?;
            return Some(Answer::Reject(reject(fault.rule())));
        }
        Some(row.map_or(Answer::NoRow(index), |row| Answer::Row(index, row)))
    }

    /// Returns the look-ups at all boundaries, and at some other places, with their answers.
    #[must_use]
    pub fn lookups(&self, fdes: &[Fde]) -> Vec<Lookup> {
        let mut questions = boundaries(fdes);
        for function in &self.functions {
            let within = u64::from(function.extent() / 2);
            let mut ask = |offset: u64| {
                let pc = Address(function.start.wrapping_add(offset));
                questions.insert(Question { pc, return_address: false });
            };
            // Faulty functions, too.
            ask(within);
            if function.is_broken() && function.size > 0 {
                ask(0);
                function.rows.iter().filter(|row| row.broken.is_some()).for_each(|row| ask(row.start.into()));
            }
        }
        let answered = questions.into_iter().filter_map(|question| {
            let answer = self.look_up(question).filter(|answer| self.is_asked(answer))?;
            Some(Lookup { pc: question.pc, return_address: question.return_address, answer })
        });
        answered.collect()
    }
}

impl SectionPlan {
    /// Whether there is a question with this answer: of functions with many rows, only some rows are asked
    /// for, since readers need time for each row before one.
    fn is_asked(&self, answer: &Answer) -> bool {
        let Answer::Row(function, row) = *answer else { return true };
        let rows = self.functions[function].rows.len();
        rows <= MANY_ROWS || row < 4 || row + 4 >= rows || row % 32 == 0
    }
}

fn rules(row: &RowPlan) -> Rules {
    Rules {
        start: row.start,
        cfa: row.rules.map(|rules| rules.cfa),
        ra: row.rules.map_or(sframe_vectors::Recovery::Undefined, |rules| rules.ra),
        fp: row.rules.map(|rules| rules.fp),
        mangled: row.mangled,
    }
}
