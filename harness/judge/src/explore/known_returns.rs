//! Functions of which the name says whether they return: those of C and C++ libraries that compilers
//! call without code after the call, and those that profilers and thread-local variables need.

use sframe_machine::explore::Returns;

/// Names without the version that follows an `@`.
const NEVER: &[&str] = &[
    "_Exit",
    "_Unwind_Resume",
    "_ZSt9terminatev",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__assert_rtn",
    "__chk_fail",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_call_terminate",
    "__cxa_call_unexpected",
    "__cxa_deleted_virtual",
    "__cxa_pure_virtual",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_new_length",
    "__fortify_fail",
    "__libc_assert_fail",
    "__libc_fatal",
    "__libc_start_main",
    "__longjmp",
    "__longjmp_chk",
    "__malloc_assert",
    "__pthread_unwind",
    "__pthread_unwind_next",
    "__stack_chk_fail",
    "__stack_chk_fail_local",
    "_dl_signal_error",
    "_exit",
    "_longjmp",
    "abort",
    "err",
    "errx",
    "exit",
    "g_assertion_message_expr",
    "longjmp",
    "pthread_exit",
    "quick_exit",
    "rust_begin_unwind",
    "rust_panic",
    "siglongjmp",
    "thrd_exit",
    "verr",
    "verrx",
];

/// They have conventions of their own, by which their code alone does not seem to return: on s390x,
/// `__fentry__` has its return address in r0.
const ALWAYS: &[&str] = &[
    "__cyg_profile_func_enter",
    "__cyg_profile_func_exit",
    "__fentry__",
    "__tls_get_addr",
    "__tls_get_offset",
    "_mcount",
    "mcount",
];

/// Whether a function with this name returns; `None` if the name does not say it.
pub(super) fn returns(name: &str) -> Option<Returns> {
    let name = name.split('@').next().unwrap_or(name);
    // std::__throw_...
    let throws = name.starts_with("_ZSt") && name.contains("__throw_");
    if throws || NEVER.binary_search(&name).is_ok() {
        return Some(Returns::Never);
    }
    ALWAYS.binary_search(&name).is_ok().then_some(Returns::Sometimes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found_with_versions() {
        assert!(NEVER.is_sorted() && ALWAYS.is_sorted());
        for name in ["abort", "exit@GLIBC_2.2.5", "_ZSt20__throw_length_errorPKc", "_exit@plt", "verrx"] {
            assert_eq!(returns(name), Some(Returns::Never), "{name}");
        }
        for name in ["aborted", "error", "printf", "__throw_away", ""] {
            assert_eq!(returns(name), None, "{name}");
        }
        assert_eq!(returns("_mcount@GLIBC_2.2.5"), Some(Returns::Sometimes));
    }
}
