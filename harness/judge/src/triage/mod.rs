//! Finds the likely cause: other witnesses are asked when backtrace and
//! call stack first disagree.
//!
//! None of them judges. The call stack says that something is wrong; they say
//! where it went wrong: between the compiler's CFI and the assembler's rows, in
//! what a linker generates itself, in the unwinder that reads the rows, or in
//! the call stack itself.

mod chain;
mod collect;
mod frame_layout;
mod inquiry;
mod mistake;
mod stack;

pub use collect::MOST_FINDINGS;
pub(crate) use collect::{Findings, listing, says, words};
pub(crate) use inquiry::Circumstances;

pub(crate) use mistake::{FrameView, Mistakes};

use inquiry::{DisputedValue, Inquiry, Values, place_of};
use sframe_engine::{Found, LookupAddress, Recovery, StepError};
use sframe_inspect::diff::{Blamed, Gap, blame_for_gap};

use crate::compare::{Disagreement, Value, is_found_before_restorer};
use crate::finding::{Answer, Blame, Confidence, Evidence, Side, StackView, Witness};
use crate::target::layouts::Followed;
use crate::target::{Linked, Loaded, Module, Target};
use crate::unwind::{End, State};
use crate::vocabulary::{LayoutFact, Verdict};
use sframe_elf::cfi::{EvaluationError, LAST_REGISTER, Registers, Rules, register_column};
use sframe_isa::SavedLocation;

/// What is said where no row could lead to the caller.
pub const BEYOND_THE_FORMAT: &str =
    "SFrame can't express it: of a caller, it knows SP, FP and the return address only";

/// What other witnesses say about a disagreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Triage {
    pub(crate) blame: Blame,
    pub(crate) confidence: Confidence,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) stack: Option<StackView>,
}

impl Triage {
    /// The result for a disagreement that nobody was asked about.
    pub(crate) const UNKNOWN: Self =
        Self { blame: Blame::Unknown, confidence: Confidence::Low, evidence: Vec::new(), stack: None };

    /// The result for code of a linked file that no FDE covers.
    pub(crate) fn of_gap(gap: &Gap) -> Self {
        let Blamed { blame, confidence, evidence } = blame_for_gap(gap, false);
        let evidence = evidence.into_iter().map(|of| Evidence::new(of.witness, of.says, None));
        Self { blame, confidence, evidence: evidence.collect(), stack: None }
    }
}

/// Asks the witnesses about a disagreement. `with_stack` keeps the stack as
/// well.
pub(crate) fn triage(found: &Disagreement, scene: &Circumstances<'_, '_>, with_stack: bool) -> Triage {
    Inquiry::new(found, scene).conclude(with_stack)
}

/// Whether the topmost frame's row takes for the return address what the function itself has put into its register.
pub(crate) fn has_lost_ra(scene: &Circumstances<'_, '_>) -> bool {
    let end = Value::End(End::Unspecified);
    Inquiry::new(&Disagreement::new(scene.truth, 0, Verdict::WrongRa, end, end), scene).has_lost_ra()
}

/// What CFI and the code's origin say about the place of a finding that no walk
/// has led to.
pub fn triage_place(
    verdict: Verdict,
    address: LookupAddress,
    target: &Target<'_>,
) -> (Blame, Confidence, Vec<Evidence>) {
    let nobody = (Blame::Unknown, Confidence::Low, Vec::new());
    let Some(module) = target.module_at(address) else { return nobody };
    if module.is_made() {
        // What is missing is what CFI does not say, or the format can't.
        return nobody;
    }
    let linked = module.linked(address);
    let cfi = module.cfi().and_then(|cfi| {
        let row = cfi.row_at(linked.0).ok()??;
        Some((cfi.fde_at(linked.0)?.section, cfi.rules(&row, linked.0)))
    });
    let says_end = matches!(&cfi, Some((_, rules)) if rules.ra == Ok(Recovery::Undefined));
    if verdict == Verdict::NoFde
        && let Some(behind) = bytes_behind(module)
    {
        let says =
            format!("{behind} bytes of .sframe lie past what its header describes, and are never read");
        let evidence = Evidence::new(Witness::Layout, says, None);
        return (Blame::ProducerLinker, Confidence::High, vec![evidence]);
    }
    if verdict == Verdict::NoFde
        && cfi.is_some()
        && let Some(start) = moved_fde(module, target)
    {
        let says = format!("an FDE begins at {start:#x}, where no function does, so it has been moved");
        let evidence = Evidence::new(Witness::Layout, says, None);
        return (Blame::ProducerLinker, Confidence::Medium, vec![evidence]);
    }
    let row = target.sections.lookup(address).ok().flatten().map(|found| found.row);
    let has_mark = row.is_some_and(|row| row.is_outermost());
    let (blame, confidence) = match verdict {
        Verdict::NoFde if is_linker_made(module, linked, target.place(address).function) => {
            (Blame::ProducerLinker, Confidence::Medium)
        }
        // Which of them has lost it, the file does not tell.
        Verdict::NoFde if module.has_expressible_cfi(linked) => (Blame::Unknown, Confidence::Low),
        Verdict::NoFde if cfi.is_some() => (Blame::ProducerAssembler, Confidence::Medium),
        Verdict::NoFde => (Blame::CompilerOrCfi, Confidence::Medium),
        Verdict::WrongEnd if row.is_none() && cfi.is_some() => (Blame::ProducerAssembler, Confidence::Medium),
        Verdict::WrongEnd if row.is_none() => (Blame::CompilerOrCfi, Confidence::Medium),
        Verdict::WrongEnd if cfi.is_some() && says_end != has_mark => {
            (Blame::ProducerAssembler, Confidence::Medium)
        }
        Verdict::WrongEnd if cfi.is_some() => (Blame::CompilerOrCfi, Confidence::Low),
        _ => return nobody,
    };
    let says = match cfi {
        Some((section, rules)) if confidence == Confidence::Low && verdict == Verdict::NoFde => format!(
            "{section}: {rules}; all rows of the function can be expressed: the assembler has left it out, \
             its object has no .sframe, or the linker has dropped it"
        ),
        Some((section, rules)) => format!("{section}: {rules}"),
        None => "there is none for this address".to_owned(),
    };
    (blame, confidence, vec![Evidence::new(Witness::Cfi, says, None)])
}

/// The bytes of a section after its rows. Linkers that concatenate sections, or
/// miscount, leave some.
fn bytes_behind(module: &Module<'_>) -> Option<u64> {
    let header = module.section.as_ref()?.header();
    let rows = u64::from(header.freoff).checked_add(header.fre_len.into())?;
    let end = (header.end() as u64).checked_add(rows)?;
    let len = module.subject.sframe?.data.len() as u64;
    // Padding is less than a header.
    len.checked_sub(end).filter(|behind| *behind >= header.end() as u64)
}

/// The start of an FDE outside linker-generated code for which neither CFI nor
/// a symbol has a function: assemblers start all three at one label.
fn moved_fde(module: &Module<'_>, target: &Target<'_>) -> Option<Linked> {
    let cfi = module.cfi()?;
    module.section.as_ref()?.fdes().flatten().find_map(|fde| {
        let linked = module.linked(Loaded(fde.start));
        let place = target.place(Loaded(fde.start));
        let begins = place.function.is_some() && place.offset == 0
            || cfi.fde_at(linked.0).is_some_and(|fde| fde.range.start == linked.0);
        (!begins && fde.size > 0 && !is_linker_made(module, linked, place.function)).then_some(linked)
    })
}

/// Whether code is generated by a linker.
fn is_linker_made(module: &Module<'_>, address: Linked, function: Option<&str>) -> bool {
    let section = module.subject.section_at(address.0);
    section.is_some_and(|name| [".plt", ".iplt"].iter().any(|plt| name.starts_with(plt)))
        || function.is_some_and(|name| name.ends_with("@plt"))
}

impl<'i, 'a> Inquiry<'i, 'a> {
    fn conclude(mut self, with_stack: bool) -> Triage {
        let cfi = self.ask_cfi();
        let chain = self.ask_frame_pointers();
        let instructions = if self.scene.is_as_called { self.ask_instructions() } else { None };
        let linker_made = self.ask_layout();
        let overwritten = self.ask_stores();
        let (blame, confidence) = self.blame(cfi, chain, instructions, linker_made, overwritten);
        if blame == Blame::Format {
            self.note(Witness::Cfi, BEYOND_THE_FORMAT.to_owned(), None);
        }
        let stack = with_stack.then(|| stack::view(&self));
        Triage { blame, confidence, evidence: self.evidence, stack }
    }

    fn blame(
        &mut self,
        cfi: Option<Side>,
        chain: Option<Side>,
        instructions: Option<Side>,
        linker_made: bool,
        overwritten: bool,
    ) -> (Blame, Confidence) {
        use Confidence::{High, Low, Medium};
        use Side::{CallStack, Neither, Section};
        let is_made = self.module.is_some_and(Module::is_made);
        if let Some(mark) = self.wrong_mark_below() {
            // A made section has the marks of CFI, and an assembler adds none.
            let is_of_cfi = is_made || mark && self.has_cfi_mark_below();
            let blame = if is_of_cfi { Blame::CompilerOrCfi } else { Blame::ProducerAssembler };
            return (blame, Medium);
        }
        if let Some(confidence) = self.beyond_the_format(cfi) {
            return (Blame::Format, confidence);
        }
        if is_found_before_restorer(self.scene.truth, self.found.frame, self.scene.sections) {
            let says = "it is looked up at the byte before its first instruction, to which handlers return, and that byte is \
                        another function's: an FDE of its own has to cover it";
            self.note(Witness::Layout, says.to_owned(), None);
            return (Blame::CompilerOrCfi, Medium);
        }
        let section_is_right = self.section.agree(&self.truth, self.subject) == Some(true);
        if section_is_right {
            // The rows give the right values, and the unwinder other ones.
            return (Blame::Consumer, High);
        }
        if self.claims_no_fde_falsely() {
            return (Blame::Consumer, High);
        }
        if cfi == Some(Section) && self.copies_cfi && overwritten {
            return (Blame::CompilerOrCfi, Medium);
        }
        if cfi == Some(Section) && self.scene.truth.call_of(self.found.frame).is_none() {
            let says = "the function has no caller, and its CFI does not say so: `.cfi_undefined` of the return address";
            self.note(Witness::Cfi, says.to_owned(), None);
            return (Blame::CompilerOrCfi, Medium);
        }
        let others = [chain, instructions];
        let for_truth = others.contains(&Some(CallStack));
        let for_section = others.contains(&Some(Section)) && !self.assumes_calls;
        // Everything that describes the frame agrees; only the call stack differs. What calls were seen to do counts more
        // than what they are assumed to do.
        if cfi == Some(Section) && instructions == Some(Section) && !for_truth {
            return if self.assumes_calls { (Blame::CompilerOrCfi, Low) } else { (Blame::Bench, Medium) };
        }
        if is_made && cfi == Some(CallStack) {
            // Conversion has changed what the information means.
            return (Blame::Bench, High);
        }
        if linker_made {
            return (Blame::ProducerLinker, if cfi == Some(CallStack) || for_truth { High } else { Medium });
        }
        if is_made {
            // No assembler has written the row, and no linker has moved it.
            return match cfi {
                Some(Section) if for_truth => (Blame::CompilerOrCfi, High),
                Some(Section) if for_section => (Blame::Bench, Medium),
                Some(_) => (Blame::CompilerOrCfi, Medium),
                None => (Blame::Unknown, if for_truth { Medium } else { Low }),
            };
        }
        if cfi == Some(CallStack) && self.module.is_some_and(|module| module.subject.is_rewritten()) {
            let says =
                "the file says that BOLT has rewritten it, which changes code and .eh_frame, and not .sframe";
            self.note(Witness::Layout, says.to_owned(), None);
            return (Blame::Rewriter, Medium);
        }
        match cfi {
            Some(CallStack) if self.is_moved() => (Blame::ProducerLinker, Medium),
            Some(CallStack) => (Blame::ProducerAssembler, High),
            // Both are wrong, each in a different way.
            Some(Section | Neither) if !self.copies_cfi && self.is_moved() => (Blame::ProducerLinker, Medium),
            Some(Section | Neither) if !self.copies_cfi => (Blame::ProducerAssembler, Medium),
            Some(Section) if for_truth => (Blame::CompilerOrCfi, High),
            Some(Section) if for_section => (Blame::Bench, Medium),
            Some(Section | Neither) => (Blame::CompilerOrCfi, Medium),
            None if for_truth => (Blame::Unknown, Medium),
            None => (Blame::Unknown, Low),
        }
    }

    /// Whether the unwinder claims that there is no FDE although there is one.
    fn claims_no_fde_falsely(&self) -> bool {
        let has_fde = self.scene.sections.lookup_fde(self.address()).is_ok_and(|fde| fde.is_some());
        has_fde && self.found.got == Value::End(End::Failed(StepError::NoFde))
    }

    /// How certain it is that the format can't express what the row should say: its rules need what SFrame unwinders may
    /// not use of a caller's frame, and CFI has the same. `None` if it is not so.
    fn beyond_the_format(&self, cfi: Option<Side>) -> Option<Confidence> {
        if let Value::End(End::Failed(StepError::NoProgress { cfa, .. })) = self.found.got
            && self.truth.cfa == Some(cfa)
        {
            // The frame is as the row says, and no unwinder may walk on from it.
            return Some(Confidence::High);
        }
        if !matches!(self.found.got, Value::End(End::Failed(StepError::UnsafeRegister { .. }))) {
            return None;
        }
        match cfi {
            Some(Side::CallStack) => self.copies_cfi.then_some(Confidence::High),
            // Neither can be computed, by the same rules.
            Some(Side::Section) => Some(Confidence::Medium),
            Some(Side::Neither) => None,
            None => Some(Confidence::Low),
        }
    }

    /// Returns the mark of the frame below if it is wrong: whether its FDE says that a signal has interrupted this
    /// frame. This one is then looked up a byte too early or too late, and nothing that follows is the fault of its
    /// rows, or of who has read them.
    fn wrong_mark_below(&self) -> Option<bool> {
        let below = self.found.frame.checked_sub(1)?;
        let interrupted = self.scene.truth.call_of(below)?.interrupted;
        let fde = self.scene.sections.lookup_fde(self.scene.truth.address(below)).ok()??;
        (fde.signal != interrupted).then_some(fde.signal)
    }

    /// Whether call frame information has the mark of signals for the frame below.
    fn has_cfi_mark_below(&self) -> bool {
        let Some(below) = self.found.frame.checked_sub(1) else { return false };
        let address = self.scene.truth.address(below);
        let cfi = self.scene.target.module_at(address).and_then(|module| {
            let linked = module.linked(address);
            module.cfi()?.fde_at(linked.0)
        });
        cfi.is_some_and(|fde| fde.is_signal)
    }

    /// Whether the word that RA or FP is loaded from was last stored by an
    /// instruction that does not save it: then the program itself has
    /// overwritten the saved value.
    fn ask_stores(&mut self) -> bool {
        let Some(found) = &self.row else { return false };
        let (place, is_fp) = match (self.subject, self.found.got) {
            (DisputedValue::Ra, _) => (self.place(found.row.ra), false),
            (DisputedValue::Fp, _) => (self.place(found.row.fp), true),
            (_, Value::NotFp(place)) => (Some(place), true),
            _ => return false,
        };
        // A range of stores that is not known may hold what is no memory.
        let place = place.filter(|place| self.word(*place).is_some());
        let last = place.and_then(|place| Some((place, self.scene.last_store(place)?)));
        let Some((place, store)) = last.filter(|_| self.section.cfa == self.truth.cfa) else { return false };
        let target = self.scene.target;
        let Some(module) = target.module_at(Loaded(store)) else { return false };
        let Some(instruction) = module.instruction(Loaded(store)) else { return false };
        let saves = if is_fp {
            self.abi.is_some_and(|abi| instruction.uses.contains(abi.fp()))
        } else {
            match self.abi.and_then(sframe_engine::Abi::ra) {
                Some(ra) => instruction.uses.contains(ra),
                None => instruction.is_call(),
            }
        };
        if !saves {
            let says = format!(
                "the word at {place:#x} was last stored to by `{}` at {}, which does not save it",
                instruction.text,
                target.place(Loaded(store))
            );
            self.note(Witness::Instructions, says, None);
        }
        !saves
    }

    /// Returns the word that a register is loaded from.
    fn place(&self, recovery: Recovery) -> Option<u64> {
        let Recovery::Rule(rule) = recovery else { return None };
        place_of(&rule, self.section.cfa, &self.state).filter(|_| rule.dereference)
    }

    /// Whether a linker has moved the FDE.
    fn is_moved(&self) -> bool {
        let (Some(found), Some(module)) = (&self.row, self.module) else { return false };
        module.is_moved(Loaded(found.fde.start), self.address())
    }

    fn note(&mut self, witness: Witness, says: String, agrees_with: Option<Side>) -> Option<Side> {
        self.evidence.push(Evidence::new(witness, says, agrees_with));
        agrees_with
    }

    fn answer(
        &mut self,
        witness: Witness,
        says: String,
        agrees_with: Option<Side>,
        answer: Option<Answer>,
    ) -> Option<Side> {
        self.evidence.push(Evidence { answer, ..Evidence::new(witness, says, agrees_with) });
        agrees_with
    }

    /// The known registers of the frame: those of the CPU, carried to it by CFI
    /// for as long as that agrees with the call stack.
    fn registers(&self) -> Registers {
        /// Further out, only SP and FP are known.
        const MAX_STEPS: usize = 64;
        let (truth, frame) = (self.scene.truth, self.found.frame);
        let abi = self.abi;
        let set = |registers: &mut Registers, state: &State| {
            let Some(abi) = abi else { return };
            for (register, value) in [(abi.sp(), Some(state.sp)), (abi.fp(), state.fp.ok())] {
                if let Some(value) = value {
                    registers.insert(register_column(register), value);
                }
            }
        };
        let mut registers: Registers = (0..=LAST_REGISTER)
            .filter_map(|register| Some((register, self.scene.viewpoint.register(register.into())?)))
            .collect();
        if frame > MAX_STEPS {
            registers.clear();
            set(&mut registers, &truth.state(frame));
            return registers;
        }
        for index in 0..frame {
            let next = Some(()).and_then(|()| {
                let address = truth.address(index);
                let module = self.scene.target.module_at(address)?;
                let Linked(linked) = module.linked(address);
                let memory = |address| self.word(address);
                let caller =
                    module.cfi()?.evaluate(linked, &registers, &memory, self.scene.target.pauth()).ok()?;
                (truth.call_of(index)?.cfa == caller.cfa).then_some(caller.registers)
            });
            registers = next.unwrap_or_default();
            set(&mut registers, &truth.state(index + 1));
        }
        registers
    }

    fn ask_cfi(&mut self) -> Option<Side> {
        let (module, address) = (self.module?, self.linked_address().0);
        let cfi = module.cfi()?;
        let Some(fde) = cfi.fde_at(address) else {
            return self.note(Witness::Cfi, "there is none for this address".to_owned(), None);
        };
        let rules = match cfi.row_at(address) {
            Ok(Some(row)) => cfi.rules(&row, address),
            Ok(None) => return self.note(Witness::Cfi, "there is no row for this address".to_owned(), None),
            Err(error) => return self.note(Witness::Cfi, error.to_string(), None),
        };
        let registers = self.registers();
        let memory = |address| self.word(address);
        let evaluated = cfi.evaluate(address, &registers, &memory, self.scene.target.pauth());
        let key = if fde.key_b { 'B' } else { 'A' };
        let is_known = !rules.signed || fde.says_key_b().is_some();
        let signature = is_known.then(|| rules.signed.then_some(key));
        let values = match evaluated {
            Ok(evaluated) => {
                let ra = match evaluated.ra {
                    Ok(ra) => Some(Some(ra)),
                    Err(EvaluationError::Outermost) => Some(None),
                    Err(_) => None,
                };
                let fp = self.abi.map(|abi| register_column(abi.fp()));
                Values {
                    cfa: Some(evaluated.cfa),
                    ra,
                    fp: fp.and_then(|fp| evaluated.registers.get(&fp).copied()),
                    signature,
                    signal: fde.says_signal(),
                }
            }
            Err(_) => Values { signature, signal: fde.says_signal(), ..Values::default() },
        };
        let same_rules = self.side_of_rules(&rules);
        self.copies_cfi = self.is_copy(&rules, signature, fde.says_signal());
        let side = match self.subject {
            DisputedValue::Places => same_rules,
            // Values that neither can compute follow from the same rules.
            subject => values
                .side(&self.truth, &self.section, subject)
                .or(same_rules.filter(|side| *side == Side::Section)),
        };
        let signal = if fde.is_signal { ", of a signal frame" } else { "" };
        let key = if rules.signed && fde.key_b { ", key B" } else { "" };
        let says = format!("{}: {rules}{key}{signal}", fde.section);
        self.answer(Witness::Cfi, says, side, rules.row_rules().map(Answer::Rules))
    }

    /// Rules that read the same places are as lucky as those of the section.
    fn side_of_rules(&self, rules: &Rules) -> Option<Side> {
        let row = &self.row.as_ref()?.row;
        let all_same = row.cfa == rules.cfa.ok() && same(&row.ra, rules.ra) && same(&row.fp, rules.fp);
        Some(if all_same { Side::Section } else { Side::CallStack })
    }

    /// Whether the row has the rules of CFI, as far as the subject depends on them.
    fn is_copy(&self, rules: &Rules, signature: Option<Option<char>>, signal: Option<bool>) -> bool {
        let Some(Found { row, fde, .. }) = &self.row else { return false };
        let same_cfa = row.cfa == rules.cfa.ok();
        let same_ra = rules.ra == Ok(row.ra);
        match self.subject {
            DisputedValue::Cfa => same_cfa,
            DisputedValue::Ra => same_cfa && same_ra,
            DisputedValue::Fp => same_cfa && same(&row.fp, rules.fp),
            DisputedValue::Signature => signature.is_none() || self.section.signature == signature,
            DisputedValue::Signal => signal.is_none_or(|signal| fde.signal == signal),
            DisputedValue::Caller if row.is_outermost() => rules.ra == Ok(Recovery::Undefined),
            DisputedValue::Caller => same_cfa && same_ra,
            DisputedValue::Places => self.side_of_rules(rules) == Some(Side::Section),
        }
    }

    fn ask_frame_pointers(&mut self) -> Option<Side> {
        let (says, values) = chain::read(self)?;
        // A chain is evidence only if it is one: code need not keep FP.
        let side = values.side(&self.truth, &self.section, self.subject);
        if side.is_none() || side == Some(Side::Neither) {
            return None;
        }
        self.note(Witness::FramePointers, says, side)
    }

    fn ask_instructions(&mut self) -> Option<Side> {
        let (start, Followed { layout, assumes_calls }) = self.layout()?;
        self.assumes_calls = assumes_calls;
        let abi = self.abi?;
        let link = abi.ra().filter(|_| self.found.frame == 0 && self.subject == DisputedValue::Ra);
        let link = link.and_then(|link| self.scene.viewpoint.register(link.0));
        let link = link.map(|link| self.scene.target.pauth().strip(link));
        let memory = |address| self.word(address);
        let values = frame_layout::values(&layout, abi, &self.state, link, &memory);
        let mut says = format!("from the function's entry on: {layout}");
        let mut side = match self.subject {
            DisputedValue::Places => {
                self.row.as_ref().and_then(|found| frame_layout::side_of(&layout, &found.row))
            }
            subject => values.side(&self.truth, &self.section, subject),
        };
        if assumes_calls && side == Some(Side::Section) {
            says += ", if its calls leave SP as it was";
        }
        // A jump to a function may leave a frame there, as jumps to labels through a thunk do. Then its
        // instructions do not show the whole frame.
        if side == Some(Side::Section) && self.is_jumped_to(start) {
            says += ", had it been called; but control came by a jump";
            side = None;
        }
        let answer = match layout.row_rules() {
            Some(rules) => Some(Answer::Rules(rules)),
            None => (layout.sp.is_none() && layout.fp.is_none()).then_some(Answer::NoCfa),
        };
        self.answer(Witness::Instructions, says, side, answer)
    }

    /// The function, and its frame as its instructions make it.
    fn layout(&self) -> Option<(Loaded, Followed)> {
        let address = self.address().get();
        let start = self.scene.target.function_at(Loaded(address))?;
        let extent = self.scene.target.extent(start)?;
        // The address in a caller is within its call: what holds before the call holds there.
        let followed = self.scene.layouts.borrow_mut().at(self.module?, extent, address)?;
        Some((start, followed))
    }

    /// Whether the return address is in its register as the row says, and the function itself has put another value
    /// there.
    fn has_lost_ra(&self) -> bool {
        self.row.as_ref().is_some_and(|found| found.row.ra == Recovery::Unchanged)
            && self.layout().is_some_and(|(_, followed)| followed.layout.ra == SavedLocation::Unknown)
    }

    /// Whether the function called was another one, which then jumped to the
    /// frame's function.
    fn is_jumped_to(&self, function: Loaded) -> bool {
        let called = |callee| self.scene.target.function_at(Loaded(callee));
        let call = self.scene.truth.call_of(self.found.frame);
        call.is_some_and(|call| called(call.callee) != Some(function))
    }

    /// Whether a linker has generated the code.
    fn ask_layout(&mut self) -> bool {
        let Some(module) = self.module else { return false };
        let section = module.subject.section_at(self.linked_address().0);
        let place = self.scene.target.place(self.address());
        let linker_made = section
            .is_some_and(|name| [".plt", ".iplt"].iter().any(|plt| name.starts_with(plt)))
            || place.function.is_some_and(|name| name.ends_with("@plt"));
        if linker_made {
            let section = section.unwrap_or("a PLT");
            let says = format!("the code lies in {section}, which linkers make");
            self.answer(Witness::Layout, says, None, Some(Answer::Layout(LayoutFact::LinkageTable)));
        } else if self.row.as_ref().is_some_and(|found| found.fde.signal && found.fde.num_rows == 0) {
            let says = "the FDE is marked as that of a signal frame, and has no rows".to_owned();
            let fact = Answer::Layout(LayoutFact::SignalFrameWithoutRows);
            self.answer(Witness::Layout, says, None, Some(fact));
        } else if self.is_moved() {
            let start = self.row.as_ref().map_or(Linked(0), |found| module.linked(Loaded(found.fde.start)));
            self.note(
                Witness::Layout,
                format!("the FDE begins at {start:#x}, that of the CFI elsewhere"),
                None,
            );
        }
        linker_made
    }
}

/// Whether a row and CFI recover a register alike.
fn same<E>(row: &Recovery, cfi: Result<Recovery, E>) -> bool {
    match (row, cfi) {
        (row, Ok(cfi)) if *row == cfi => true,
        // On AMD64 "unchanged" is the fixed place of RA.
        (Recovery::Unchanged, Ok(Recovery::Undefined)) => true,
        _ => false,
    }
}
