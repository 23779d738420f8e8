//! Functions that never return, by their names: those of C and C++ libraries that compilers call
//! without code after the call.

/// Names without the version that follows an `@`.
const NAMES: &[&str] = &[
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

/// Whether a function with this name never returns.
pub(super) fn never_returns(name: &str) -> bool {
    let name = name.split('@').next().unwrap_or(name);
    // std::__throw_...
    let throws = name.starts_with("_ZSt") && name.contains("__throw_");
    throws || NAMES.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found_with_versions() {
        assert!(NAMES.is_sorted());
        for name in ["abort", "exit@GLIBC_2.2.5", "_ZSt20__throw_length_errorPKc", "_exit@plt", "verrx"] {
            assert!(never_returns(name), "{name}");
        }
        for name in ["aborted", "error", "printf", "__throw_away", ""] {
            assert!(!never_returns(name), "{name}");
        }
    }
}
