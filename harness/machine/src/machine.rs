//! The machine: an image, a CPU, and the loop that runs them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use sframe_engine::Abi;
use unicorn_engine::uc_error;

use crate::address_space::{AddressSpace, MapError};
use crate::answers::Answers;
use crate::call_stack::Bottom;
use crate::cpu::Cpu;
use crate::image::{Image, LoadError};
use crate::images::{Images, Loader, Mapped};
use crate::link::Plan;
use crate::linux::kernel::Linux;
use crate::linux::objects::programs::{Placed, Programs};
use crate::native::{self, NativeError};
use crate::observer::{Flow, Moment, Observer};
use crate::options::Options;
use crate::outcome::Outcome;
use crate::prelude;
use crate::process::{self, Pattern, ProcessError, Program, Started, interpreter_image};
use crate::run::blocks::{ByBlock, execute};
use crate::run::{Hook, RESERVED_ADDRESSES, Run, Start, set_up};
use crate::witness::WitnessFaults;

/// A machine could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// Its memory could not be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The image can't be linked.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The arguments do not fit onto the stack.
    #[error("{0}")]
    Stack(String),
    /// The host has no room for the emulator.
    #[error(
        "out of memory: the program's memory does not fit beside the {RESERVED_ADDRESSES} bytes of addresses that the \
         emulator reserves; --memory allows more"
    )]
    Memory,
    /// The host's processor can't execute the program.
    #[error("--native: {0}")]
    Native(#[from] NativeError),
    /// The emulator refused to be set up.
    #[error("Unicorn can't be set up for {cpu}: {error:?}")]
    Unicorn {
        /// The CPU.
        cpu: Abi,
        /// What Unicorn says.
        error: uc_error,
    },
}

impl From<ProcessError> for MachineError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Map(error) => Self::Map(error),
            ProcessError::Interpreter(error) => Self::Load(error),
            ProcessError::StackTooSmall(_) | ProcessError::NoRoom => Self::Stack(error.to_string()),
        }
    }
}

/// Runs a program to its end, in the emulator unless the options say otherwise, and shows the observer each instruction.
///
/// # Errors
/// The machine can't be set up, or the host's processor can't execute the program. Later failures are an
/// [`End::Broken`](crate::End::Broken), with everything that was observed before.
pub fn run(
    images: &Images<'_>,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, MachineError> {
    match &options.native {
        Some(native) => Ok(native::run(native, images, options, observer)?),
        None => Machine::with_images(images, options)?.run(observer),
    }
}

/// An address at which nothing is ever mapped; emulation has no end address.
const NOWHERE: u64 = 0xffff_ffff_ffff_f000;

/// A loaded program.
#[derive(Debug)]
pub struct Machine {
    cpu: &'static Cpu,
    entry: u64,
    sp: u64,
    pattern: Pattern,
    budget: u64,
    /// The first stack.
    stack: Range<u64>,
    witness_faults: WitnessFaults,
    answers: Arc<Answers>,
    stepped: Arc<BTreeSet<u64>>,
    blocks_after: u64,
    space: AddressSpace,
    plan: Plan,
    linux: Linux,
}

impl Machine {
    /// Maps an executable that needs no library, and lays out its first stack.
    ///
    /// # Errors
    /// As for [`Self::with_images`], or the executable needs a library.
    pub fn new(image: &Image<'_>, options: &Options) -> Result<Self, MachineError> {
        Self::with_images(&Images::of(image.clone())?, options)
    }

    /// Maps an executable with its libraries, links them, and lays out the
    /// first stack.
    ///
    /// # Errors
    /// The host lacks memory, or the arguments do not fit.
    pub fn with_images(images: &Images<'_>, options: &Options) -> Result<Self, MachineError> {
        let image = images.executable();
        let system = Rc::new(options.system.clone());
        let program = Program {
            executable: image,
            arguments: &system.all_arguments(),
            environment: &system.environment,
            stack_size: options.stack_size,
            pattern: options.pattern,
        };
        let started = match images.loader {
            Loader::Program(interpreter) => {
                let interpreter = interpreter.map(|bytes| interpreter_image(image, bytes)).transpose()?;
                program.start(interpreter.as_ref())?
            }
            Loader::Machine => program.start_linked(images)?,
        };
        let Started { space, sp, entry, places: _, layout } = started;
        let stack = layout.stack.clone();
        let file = system.root.is_some().then(|| image.bytes().to_vec());
        // What a program executes that the machine has linked was not surveyed.
        let is_followed = file.is_some() && matches!(images.loader, Loader::Program(_));
        let programs = if is_followed {
            let first = images.iter().take(images.present_at_start()).map(|(_, image)| image);
            Programs::of(first, images.plan.places)
        } else {
            Programs::default()
        };
        Ok(Self {
            cpu: image.cpu,
            entry,
            sp,
            pattern: options.pattern,
            budget: options.budget,
            stack,
            witness_faults: options.witness_faults,
            answers: Arc::clone(&options.answers),
            stepped: Arc::clone(&options.stepped),
            blocks_after: options.blocks_after,
            space,
            plan: images.plan.clone(),
            linux: Linux::new(image.cpu, system, layout, file).executing(programs),
        })
    }

    /// Runs the program to its end without an observer, and returns what it has mapped to
    /// execute, and then other programs that it has executed. Runs with the same options map the same files to the same addresses.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn survey(self, is_stopped: &dyn Fn() -> bool) -> Result<Survey, MachineError> {
        let mut nobody = Nobody { is_stopped };
        let (outcome, linux) = self.execute(&mut nobody, Hook::Observer, false)?;
        let mut images: Vec<Mapped> = Vec::new();
        for file in &linux.mapped {
            let bias = Image::bias_of(&file.bytes, file.address, file.offset);
            let Some(bias) = bias.filter(|bias| !images.iter().any(|known| known.bias == *bias)) else {
                continue;
            };
            images.push(Mapped { path: file.path.clone(), bytes: Arc::clone(&file.bytes), bias });
        }
        let programs = linux.programs.later().iter();
        images.extend(programs.map(|Placed { path, bytes, bias, .. }| Mapped {
            path: path.clone(),
            bytes: Arc::clone(bytes),
            bias: *bias,
        }));
        Ok(Survey { outcome, images })
    }

    /// Runs the program to its end and shows the observer each instruction.
    ///
    /// # Errors
    /// The emulator can't be set up. Later failures are an [`End::Broken`](crate::End::Broken), with
    /// everything that was observed before.
    pub fn run(self, observer: &mut dyn Observer) -> Result<Outcome, MachineError> {
        self.run_with(observer, Hook::Observer)
    }

    /// Runs the program, for measuring what observing it costs. Unless it is observed, its
    /// instructions are not counted.
    ///
    /// # Errors
    /// As for [`Self::run`].
    #[doc(hidden)]
    pub fn run_with(self, observer: &mut dyn Observer, each: Hook) -> Result<Outcome, MachineError> {
        self.execute(observer, each, true).map(|(outcome, _)| outcome)
    }

    fn execute(
        self,
        observer: &mut dyn Observer,
        each: Hook,
        observes: bool,
    ) -> Result<(Outcome, Rc<Linux>), MachineError> {
        let cpu = self.cpu;
        let failed = |error| match error {
            uc_error::NOMEM => MachineError::Memory,
            error => MachineError::Unicorn { cpu: cpu.abi, error },
        };
        let entry = self.entry;
        let (sp, pattern) = (self.sp, self.pattern);
        let plan = self.plan.clone();
        let mut linux = self.linux;
        linux.keeps_mapped = !observes;
        // The state outlives the emulator, which has pointers into its memory.
        let run = RefCell::new(Run::new(
            Start {
                cpu,
                entry,
                sp,
                budget: self.budget,
                stack: self.stack,
                witness_faults: self.witness_faults,
                answers: self.answers,
                stepped: self.stepped,
                space: self.space,
                places: plan.places,
                slots: self.plan.slots,
                linux,
                pattern,
                observes,
            },
            observer,
        ));
        let mut unicorn = set_up(&run, cpu, each).map_err(failed)?;
        let mut by_block = ByBlock::default();
        let result = match prelude::run(&plan, &run, &mut unicorn, sp, pattern) {
            Ok(true) => {
                process::set_registers(&mut unicorn, cpu, sp, pattern, plan.places).map_err(failed)?;
                run.borrow_mut().follower.witness.start_again(sp, Bottom::Entry);
                run.borrow_mut().go_by_block(self.blocks_after);
                execute(&run, &mut unicorn, entry, NOWHERE, Some(&mut by_block))
            }
            other => other.map(|_| ()),
        };
        let end = run.borrow_mut().conclude(&unicorn, result);
        drop((unicorn, by_block));
        let run = run.into_inner();
        let output = run.linux.output();
        let outcome = Outcome {
            end,
            instructions: run.instructions,
            unobserved: run.unobserved,
            passed: run.passed,
            by_block: run.by_block(),
            lost: run.lost(),
            control_flow: run.control_flow(),
            output: output.all.clone(),
            standard_output: output.standard.clone(),
            is_output_cut: output.is_cut,
            system_calls: run.linux.usage.clone(),
            digest: None,
        };
        Ok((outcome, run.linux))
    }
}

/// Sees nothing, and may end the run.
struct Nobody<'n> {
    is_stopped: &'n dyn Fn() -> bool,
}

impl Observer for Nobody<'_> {
    fn instruction(&mut self, _: &Moment<'_>) -> Flow {
        Flow::Continue
    }

    fn is_stopped(&mut self) -> bool {
        (self.is_stopped)()
    }
}

/// What a run without an observer has shown.
#[derive(Clone, Debug)]
pub struct Survey {
    /// How it ended.
    pub outcome: Outcome,
    /// The images that the program has loaded, in their order, without executable and interpreter.
    pub images: Vec<Mapped>,
}
