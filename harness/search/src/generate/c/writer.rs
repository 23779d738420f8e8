//! Writes a plan in C.

use std::collections::BTreeSet;

use super::declare::{apply, call, called_back, calls_back, is_static, signature, words};
use super::plan::{Convention, Ending, FunctionPlan, Hint, Plan, Statement, any};

/// The name of the header with the declarations of one program.
const PROGRAM: &str = "program.h";
/// What all programs have.
pub(super) const COMMON: [(&str, &str); 2] =
    [("generated.h", include_str!("generated.h")), ("runtime.c", include_str!("runtime.c"))];

/// A file of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// Writes a program: its header first, then its files, without what all programs have.
#[must_use]
pub fn write(plan: &Plan) -> Vec<Source> {
    let mut all = vec![Source { name: PROGRAM.to_owned(), text: header(plan) }];
    for file in 0..plan.files {
        let mut text = format!("#include \"{PROGRAM}\"\n\n");
        let own = || plan.functions.iter().filter(move |function| function.file == file);
        let is_static = |function: &&FunctionPlan| is_static(plan, function);
        let statics: Vec<String> =
            own().filter(is_static).map(|function| format!("{};\n", signature(plan, function))).collect();
        if !statics.is_empty() {
            text.push_str(&statics.concat());
            text.push('\n');
        }
        if called_back(plan, file) {
            text.push_str(&format!(
                "{}\n{{\n    x = f(x, y) + 1;\n    BARRIER;\n    return x;\n}}\n\n",
                apply(file)
            ));
        }
        for function in own() {
            text.push_str(&Writer::new(plan, function).function());
            text.push('\n');
        }
        if file == 0 {
            text.push_str(&run(plan));
        }
        let is_empty = own().next().is_none() && file != 0 && !called_back(plan, file);
        if !is_empty {
            all.push(Source { name: format!("part{file}.c"), text });
        }
    }
    all
}

fn header(plan: &Plan) -> String {
    let mut text = String::from("#include \"generated.h\"\n#ifndef PROGRAM_H\n#define PROGRAM_H\n");
    let words: BTreeSet<u32> = plan.functions.iter().filter_map(words).collect();
    for words in words {
        text.push_str(&format!("struct s{words} {{ u32 w[{words}]; }};\n"));
    }
    for function in plan.functions.iter().filter(|function| !is_static(plan, function)) {
        text.push_str(&format!("{};\n", signature(plan, function)));
    }
    for file in (0..plan.files).filter(|file| called_back(plan, *file)) {
        text.push_str(&format!("{};\n", apply(file)));
    }
    text.push_str("#endif\n");
    text
}

/// The first function, which calls the others.
fn run(plan: &Plan) -> String {
    let mut text = String::from("u32 run(void)\n{\n    u32 x = 1;\n\n");
    for root in plan.roots.iter().filter_map(|root| plan.function(*root)) {
        for argument in ["x", "6u"] {
            text.push_str(&format!("    x = x * 31 + {};\n", call(root, argument, "2u")));
        }
    }
    text.push_str("    return x;\n}\n");
    text
}

struct Writer<'p> {
    plan: &'p Plan,
    function: &'p FunctionPlan,
    text: String,
    /// How many names have been made.
    names: u32,
    /// Whether a computed jump may not be written: compilers refuse one into the scope of an array of variable
    /// size, and some that know no better let one lead to where `__builtin_longjmp` goes.
    avoids_goto: bool,
}

impl<'p> Writer<'p> {
    fn new(plan: &'p Plan, function: &'p FunctionPlan) -> Self {
        let avoids_goto = any(&function.body, |statement| matches!(statement, Statement::Jump { .. }));
        Self { plan, function, text: String::new(), names: 0, avoids_goto }
    }

    fn function(mut self) -> String {
        let (plan, function) = (self.plan, self.function);
        self.line(0, &signature(plan, function));
        self.line(0, "{");
        let is_number = function.convention != Convention::Double;
        match function.convention {
            Convention::Plain => {}
            Convention::Variable => {
                for line in [
                    "__builtin_va_list list;",
                    "u32 x, y;",
                    "__builtin_va_start(list, count);",
                    "x = __builtin_va_arg(list, u32);",
                    "y = __builtin_va_arg(list, u32);",
                    "for (u32 i = 2; i < count; i++)",
                    "    y = y * 3 + __builtin_va_arg(list, u32);",
                    "__builtin_va_end(list);",
                ] {
                    self.line(1, line);
                }
            }
            Convention::Many(more) => {
                for argument in 0..more {
                    self.line(1, &format!("{} += a{argument};", if argument % 2 == 0 { "x" } else { "y" }));
                }
            }
            Convention::Structure(words) => {
                self.line(1, &format!("u32 x = s.w[0] ^ s.w[{}];", words - 1));
            }
            Convention::Double => self.line(1, "u32 x = (u32)(long long)d;"),
            Convention::Recursive => self.line(1, "u32 x = y ^ levels;"),
        }
        let floats = any(&function.body, |statement| matches!(statement, Statement::Float(_)));
        if floats && is_number {
            self.line(1, "double d = 0;");
        }
        self.block(&function.body, 1);
        if floats {
            self.line(1, "x ^= (u32)(long long)d;");
        }
        let tail = match function.ending {
            Ending::Tail(callee) => self.plan.function(callee).map(|callee| call(callee, "x", "y")),
            Ending::Value => None,
        };
        let value = tail.unwrap_or_else(|| "x + y".to_owned());
        self.leave(1, &value);
        self.line(0, "}");
        self.text
    }

    fn line(&mut self, depth: usize, line: &str) {
        self.text.push_str(&"    ".repeat(depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn name(&mut self) -> u32 {
        self.names += 1;
        self.names
    }

    /// Returns a number in the form that the function returns.
    fn leave(&mut self, depth: usize, value: &str) {
        match self.function.convention {
            Convention::Structure(words) => {
                self.line(depth, &format!("s.w[{}] += {value};", words - 1));
                self.line(depth, "return s;");
            }
            Convention::Double => self.line(depth, &format!("return (double)(({value}) & 0xfffff);")),
            _ => self.line(depth, &format!("return {value};")),
        }
    }

    fn block(&mut self, body: &[Statement], depth: usize) {
        body.iter().for_each(|statement| self.statement(statement, depth));
    }

    /// Writes a statement: an arm for each form, as long as there are forms.
    fn statement(&mut self, statement: &Statement, depth: usize) {
        match statement {
            Statement::Compute(number) => {
                let code = match number % 5 {
                    0 => format!("x = x * {number}u + y;"),
                    1 => format!("y = (y ^ x >> 3) + {number}u;"),
                    2 => format!("x += y * {number}u;"),
                    3 => format!("y = (y << 5 | y >> 27) ^ {number}u;"),
                    _ => format!("x ^= {number}u + y;"),
                };
                self.line(depth, &code);
            }
            Statement::Float(number) => {
                self.line(depth, &format!("d += (double)(x & 255) * {}.0;", number % 7 + 1));
            }
            Statement::Call { callee, inner } => {
                let plan = self.plan;
                let Some(callee) = plan.function(*callee) else { return };
                let inner = inner.and_then(|inner| plan.function(inner));
                let x = inner.map_or_else(|| "x".to_owned(), |inner| call(inner, "y", "x"));
                self.line(depth, &format!("x += {};", call(callee, &x, "y")));
            }
            Statement::Indirect(callees) => {
                let of = callees.iter().filter(|callee| self.plan.function(**callee).is_some());
                let names: Vec<String> = of.map(|callee| format!("f{callee}")).collect();
                if names.is_empty() {
                    return;
                }
                let table = self.name();
                self.line(depth, "{");
                let all = names.join(", ");
                self.line(depth + 1, &format!("static volatile function t{table}[] = {{{all}}};"));
                self.line(depth + 1, &format!("x += t{table}[y % {}](x, y);", names.len()));
                self.line(depth, "}");
            }
            Statement::Callback(callee) => {
                if self.plan.function(*callee).is_some() {
                    let file = calls_back(self.plan, self.function);
                    self.line(depth, &format!("y ^= apply{file}(f{callee}, y, x);"));
                }
            }
            Statement::Recurse => {
                self.line(depth, "if (levels > 0)");
                self.line(depth + 1, &format!("x += f{}(levels - 1, x);", self.function.number));
            }
            Statement::Allocate(words) => {
                let name = self.name();
                self.line(depth, "{");
                let size = format!("((x & 7) + {words}) * sizeof(u32)");
                self.line(depth + 1, &format!("u32 *p{name} = __builtin_alloca({size});"));
                self.fill(depth + 1, &format!("p{name}"), *words);
                self.line(depth, "}");
            }
            Statement::VariableArray { words, body } => {
                let name = self.name();
                let outer = std::mem::replace(&mut self.avoids_goto, true);
                self.line(depth, "{");
                self.line(depth + 1, &format!("u32 v{name}[(x & 7) + {words}];"));
                self.block(body, depth + 1);
                self.fill(depth + 1, &format!("v{name}"), *words);
                self.line(depth, "}");
                self.avoids_goto = outer;
            }
            Statement::Array { words, align, body } => {
                let name = self.name();
                let align = if *align <= 4 { String::new() } else { format!("_Alignas({align}) ") };
                self.line(depth, "{");
                self.line(depth + 1, &format!("{align}u32 v{name}[{words}];"));
                self.line(depth + 1, &format!("v{name}[0] = x;"));
                self.line(depth + 1, &format!("v{name}[{}] = y;", words / 2));
                self.block(body, depth + 1);
                let from = words / 2;
                self.line(depth + 1, &format!("x += sink(v{name}, 1) ^ sink(v{name} + {from}, 1);"));
                self.line(depth, "}");
            }
            Statement::If { hint, mask, then, otherwise } => {
                let condition = match hint {
                    Hint::None => format!("x & {mask}"),
                    Hint::Likely => format!("__builtin_expect((x & {mask}) != 0, 1)"),
                    Hint::Unlikely => format!("__builtin_expect((x & {mask}) != 0, 0)"),
                };
                self.line(depth, &format!("if ({condition}) {{"));
                self.block(then, depth + 1);
                if !otherwise.is_empty() {
                    self.line(depth, "} else {");
                    self.block(otherwise, depth + 1);
                }
                self.line(depth, "}");
            }
            Statement::Never(body) => {
                self.line(depth, "if (zero > 5) {");
                self.block(body, depth + 1);
                self.line(depth, "}");
            }
            Statement::Loop { turns, body } => {
                let name = self.name();
                let start = format!("u32 i{name} = y % {turns} + 1");
                self.line(depth, &format!("for ({start}; i{name} > 0; i{name}--) {{"));
                self.block(body, depth + 1);
                self.line(depth, "}");
            }
            Statement::Goto(cases) if !self.avoids_goto && !cases.is_empty() => self.goto(cases, depth),
            Statement::Switch(cases) | Statement::Goto(cases) => self.switch(cases, depth),
            Statement::Jump { levels } => {
                let name = self.name();
                self.line(depth, "{");
                self.line(depth + 1, &format!("static void *b{name}[5];"));
                self.line(depth + 1, &format!("volatile u32 x{name} = x, y{name} = y;"));
                self.line(depth + 1, &format!("if (__builtin_setjmp(b{name}) == 0) {{"));
                self.line(depth + 2, &format!("x += leap({levels}, y, b{name});"));
                self.line(depth + 1, "} else {");
                self.line(depth + 2, &format!("x = x{name} * 3;"));
                self.line(depth + 2, &format!("y = y{name};"));
                self.line(depth + 1, "}");
                self.line(depth, "}");
            }
            Statement::Leave { mask } => {
                self.line(depth, &format!("if ((y & {mask}) == {mask}) {{"));
                self.leave(depth + 1, "x ^ y");
                self.line(depth, "}");
            }
            Statement::Abort => {
                self.line(depth, "if (zero)");
                self.line(depth + 1, "never(x);");
            }
            Statement::Registers(which) => self.line(depth, &format!("REGISTERS_{which};")),
        }
    }

    /// Fills an array, and has another function read it.
    fn fill(&mut self, depth: usize, array: &str, words: u32) {
        self.line(depth, &format!("for (u32 i = 0; i < {words}; i++)"));
        self.line(depth + 1, &format!("{array}[i] = y + i;"));
        self.line(depth, &format!("x += sink({array}, {words});"));
    }

    fn switch(&mut self, cases: &[Vec<Statement>], depth: usize) {
        self.line(depth, &format!("switch (x % {}) {{", cases.len().max(1)));
        for (number, case) in cases.iter().enumerate() {
            self.line(depth, &format!("case {number}:"));
            self.block(case, depth + 1);
            self.line(depth + 1, "break;");
        }
        self.line(depth, "}");
    }

    fn goto(&mut self, cases: &[Vec<Statement>], depth: usize) {
        let name = self.name();
        let labels: Vec<String> = (0..cases.len()).map(|case| format!("&&l{name}_{case}")).collect();
        self.line(depth, "{");
        let table = labels.join(", ");
        self.line(depth + 1, &format!("static const void *const t{name}[] = {{{table}}};"));
        self.line(depth + 1, &format!("goto *t{name}[x % {}];", cases.len()));
        self.line(depth, "}");
        for (number, case) in cases.iter().enumerate() {
            self.line(depth, &format!("l{name}_{number}:;"));
            self.block(case, depth + 1);
            self.line(depth + 1, &format!("goto e{name};"));
        }
        self.line(depth, &format!("e{name}:;"));
    }
}
