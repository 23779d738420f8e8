//! What a program does, in parts that can be dropped one by one.

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its functions. Each calls only those with greater numbers, or itself.
    pub functions: Vec<FunctionPlan>,
    /// Those that its first function calls.
    pub roots: Vec<u32>,
    /// How many files it is in.
    pub files: u32,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionPlan {
    /// Its name is `f` and this.
    pub number: u32,
    /// The file that it is in.
    pub file: u32,
    /// How it gets its arguments.
    pub convention: Convention,
    /// What is said of it.
    pub attribute: Attribute,
    /// Whether other files' functions may replace it, as far as the linker goes.
    pub is_visible: bool,
    /// What it does.
    pub body: Vec<Statement>,
    /// How it ends.
    pub ending: Ending,
}

/// How a function gets its arguments. All but the first two are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// Two numbers.
    Plain,
    /// As many as it is told.
    Variable,
    /// Two, and this many constants.
    Many(u32),
    /// A structure of this many words, and returns one.
    Structure(u32),
    /// Floating point.
    Double,
    /// Two, the first of which is how often it calls itself.
    Recursive,
}

/// What is said of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// Nothing.
    None,
    /// It may not be inlined.
    NoInline,
    /// It is rarely called.
    Cold,
    /// It should be inlined.
    Inline,
    /// It aligns its stack, where the ABI lets it.
    Realigned,
    /// It has the convention of another system, where compilers know one.
    OtherSystem,
}

/// What compilers are to assume of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    None,
    /// It is likely.
    Likely,
    /// It is unlikely.
    Unlikely,
}

/// What a function does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// Computes with numbers.
    Compute(u32),
    /// Computes with floating point.
    Float(u32),
    /// Calls a function, with the result of another one if there is an inner one.
    Call {
        /// The function.
        callee: u32,
        /// The function whose result is its argument.
        inner: Option<u32>,
    },
    /// Calls one of some functions through a table.
    Indirect(Vec<u32>),
    /// Has another file call a function.
    Callback(u32),
    /// Calls itself, if it is recursive.
    Recurse,
    /// Allocates memory on the stack until the function returns.
    Allocate(u32),
    /// Allocates memory on the stack until the end of the block.
    VariableArray {
        /// At most this many words.
        words: u32,
        /// What is done meanwhile.
        body: Vec<Statement>,
    },
    /// An array of fixed size.
    Array {
        /// How many words it has.
        words: u32,
        /// Its alignment in bytes.
        align: u32,
        /// What is done meanwhile.
        body: Vec<Statement>,
    },
    /// One of two.
    If {
        /// What compilers are told.
        hint: Hint,
        /// Which bits of a number decide.
        mask: u32,
        /// What is done then.
        then: Vec<Statement>,
        /// What is done otherwise.
        otherwise: Vec<Statement>,
    },
    /// What is never done.
    Never(Vec<Statement>),
    /// Does something several times.
    Loop {
        /// At most this often.
        turns: u32,
        /// What is done each time.
        body: Vec<Statement>,
    },
    /// Does one of some things, by a table if the compiler likes.
    Switch(Vec<Vec<Statement>>),
    /// Does one of some things, by a computed jump.
    Goto(Vec<Vec<Statement>>),
    /// Calls functions, the last of which may jump back.
    Jump {
        /// How many functions it leaves at most.
        levels: u32,
    },
    /// Returns early.
    Leave {
        /// Which bits of a number decide.
        mask: u32,
    },
    /// Never returns, if it is ever called.
    Abort,
    /// Needs registers that callees preserve.
    Registers(u32),
}

/// How a function ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Returns a number.
    Value,
    /// Returns what another function returns.
    Tail(u32),
}

impl Statement {
    /// The lists of statements in it.
    #[must_use]
    pub fn blocks(&self) -> Vec<&Vec<Self>> {
        match self {
            Self::VariableArray { body, .. } | Self::Array { body, .. } | Self::Loop { body, .. } => {
                vec![body]
            }
            Self::Never(body) => vec![body],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            Self::Switch(cases) | Self::Goto(cases) => cases.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The blocks of a statement, to be changed.
    pub fn blocks_mut(&mut self) -> Vec<&mut Vec<Self>> {
        match self {
            Self::VariableArray { body, .. } | Self::Array { body, .. } | Self::Loop { body, .. } => {
                vec![body]
            }
            Self::Never(body) => vec![body],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            Self::Switch(cases) | Self::Goto(cases) => cases.iter_mut().collect(),
            _ => Vec::new(),
        }
    }

    /// The functions that it calls itself, without those in its blocks.
    #[must_use]
    pub fn callees(&self) -> Vec<u32> {
        match self {
            Self::Call { callee, inner } => std::iter::once(*callee).chain(*inner).collect(),
            Self::Indirect(callees) => callees.clone(),
            Self::Callback(callee) => vec![*callee],
            _ => Vec::new(),
        }
    }

    /// The name of its kind, for counts.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Compute(_) => "compute",
            Self::Float(_) => "float",
            Self::Call { inner: None, .. } => "call",
            Self::Call { inner: Some(_), .. } => "nested call",
            Self::Indirect(_) => "call through a table",
            Self::Callback(_) => "callback",
            Self::Recurse => "recursion",
            Self::Allocate(_) => "alloca",
            Self::VariableArray { .. } => "variable array",
            Self::Array { align: 0..=16, .. } => "array",
            Self::Array { .. } => "aligned array",
            Self::If { hint: Hint::None, .. } => "if",
            Self::If { .. } => "if with a hint",
            Self::Never(_) => "dead code",
            Self::Loop { .. } => "loop",
            Self::Switch(_) => "switch",
            Self::Goto(_) => "computed goto",
            Self::Jump { .. } => "setjmp",
            Self::Leave { .. } => "early return",
            Self::Abort => "noreturn call",
            Self::Registers(_) => "preserved registers",
        }
    }
}

/// Calls a function with each statement of some, and of their blocks.
pub(super) fn each<'s>(body: &'s [Statement], of: &mut dyn FnMut(&'s Statement)) {
    for statement in body {
        of(statement);
        statement.blocks().into_iter().for_each(|block| each(block, of));
    }
}

/// Whether any statement of some, or of their blocks, is what is looked for.
pub(super) fn any(body: &[Statement], is: impl Fn(&Statement) -> bool) -> bool {
    let mut found = false;
    each(body, &mut |statement| found |= is(statement));
    found
}

impl FunctionPlan {
    /// The functions that it calls.
    #[must_use]
    pub fn callees(&self) -> Vec<u32> {
        let mut all = Vec::new();
        each(&self.body, &mut |statement| all.extend(statement.callees()));
        if let Ending::Tail(callee) = self.ending {
            all.push(callee);
        }
        all
    }
}

impl Plan {
    /// The function of a number.
    #[must_use]
    pub fn function(&self, number: u32) -> Option<&FunctionPlan> {
        self.functions.iter().find(|function| function.number == number)
    }

    /// Whether a function has, or is called with, a number with a point.
    #[must_use]
    pub fn computes_with_floats(&self) -> bool {
        let is_float = |statement: &Statement| matches!(statement, Statement::Float(_));
        let has = |function: &FunctionPlan| {
            function.convention == Convention::Double || any(&function.body, is_float)
        };
        self.functions.iter().any(has)
    }

    /// Drops the functions that nothing calls.
    pub fn drop_unused(&mut self) {
        loop {
            let called: Vec<u32> = self.functions.iter().flat_map(FunctionPlan::callees).collect();
            let before = self.functions.len();
            let roots = &self.roots;
            self.functions
                .retain(|function| roots.contains(&function.number) || called.contains(&function.number));
            if self.functions.len() == before {
                return;
            }
        }
    }
}
