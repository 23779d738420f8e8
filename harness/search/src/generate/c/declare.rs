//! How functions are declared and called in C.

use super::plan::{Attribute, Convention, FunctionPlan, Plan, Statement, any};

pub(super) const fn words(function: &FunctionPlan) -> Option<u32> {
    match function.convention {
        Convention::Structure(words) => Some(words),
        _ => None,
    }
}

/// Whether only functions of its file call a function.
pub(super) fn is_static(plan: &Plan, function: &FunctionPlan) -> bool {
    let mut callers = plan.functions.iter().filter(|caller| caller.callees().contains(&function.number));
    !function.is_visible
        && !plan.roots.contains(&function.number)
        && callers.all(|caller| caller.file == function.file)
}

/// The file whose function calls another one back.
pub(super) fn calls_back(plan: &Plan, function: &FunctionPlan) -> u32 {
    (function.file + 1) % plan.files.max(1)
}

/// Whether a file's function has to call others.
pub(super) fn called_back(plan: &Plan, file: u32) -> bool {
    let is_called = |statement: &Statement| matches!(statement, Statement::Callback(callee) if plan.function(*callee).is_some());
    let mut callers = plan.functions.iter().filter(|function| calls_back(plan, function) == file);
    callers.any(|function| any(&function.body, is_called))
}

pub(super) fn apply(file: u32) -> String {
    format!("__attribute__((noinline)) u32 apply{file}(function f, u32 x, u32 y)")
}

pub(super) fn signature(plan: &Plan, function: &FunctionPlan) -> String {
    let attribute = match function.attribute {
        Attribute::None => "",
        Attribute::NoInline => "__attribute__((noinline)) ",
        Attribute::Cold => "__attribute__((cold)) ",
        Attribute::Inline if is_static(plan, function) => "inline ",
        Attribute::Inline => "",
        Attribute::Realigned => "REALIGNED ",
        Attribute::OtherSystem => "OTHER_SYSTEM ",
    };
    let linkage = match (is_static(plan, function), function.is_visible) {
        (true, _) => "static ",
        (false, true) => "",
        (false, false) => "__attribute__((visibility(\"hidden\"))) ",
    };
    let name = format!("f{}", function.number);
    let of = match function.convention {
        Convention::Plain => format!("u32 {name}(u32 x, u32 y)"),
        Convention::Variable => format!("u32 {name}(u32 count, ...)"),
        Convention::Many(more) => {
            let more: Vec<String> = (0..more).map(|argument| format!(", u32 a{argument}")).collect();
            format!("u32 {name}(u32 x, u32 y{})", more.concat())
        }
        Convention::Structure(words) => format!("struct s{words} {name}(struct s{words} s, u32 y)"),
        Convention::Double => format!("double {name}(double d, u32 y)"),
        Convention::Recursive => format!("u32 {name}(u32 levels, u32 y)"),
    };
    format!("{linkage}{attribute}{of}")
}

/// A call with two numbers, which yields a number.
pub(super) fn call(callee: &FunctionPlan, x: &str, y: &str) -> String {
    let name = format!("f{}", callee.number);
    match callee.convention {
        Convention::Plain => format!("{name}({x}, {y})"),
        Convention::Variable => {
            let more = callee.number % 9;
            let rest: Vec<String> = (0..more).map(|argument| format!(", {}u", argument * 7 + 1)).collect();
            format!("{name}({}u, {x}, {y}{})", more + 2, rest.concat())
        }
        Convention::Many(more) => {
            let rest: Vec<String> = (0..more).map(|argument| format!(", {}u", argument * 5 + 2)).collect();
            format!("{name}({x}, {y}{})", rest.concat())
        }
        Convention::Structure(words) => {
            let value = if words == 1 { format!("{{{{{x}}}}}") } else { format!("{{{{{x}, 3}}}}") };
            format!("{name}((struct s{words}){value}, {y}).w[{}]", words - 1)
        }
        Convention::Double => format!("(u32)(long long){name}((double)(({x}) & 1023), {y})"),
        Convention::Recursive => format!("{name}(({x}) & 3, {y})"),
    }
}
