/* Calls by jumps, three deep; the innermost function removes its arguments.  */

#include "frames.h"

        /* `name` jumps to `callee`, which returns to behind the jump.  */
        .macro  calls_by_jump name, callee
        function \name
        frame
#if defined(__x86_64__)
        leaq    1f(%rip), %rax
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        jmp     \callee
        .cfi_adjust_cfa_offset -8
#elif defined(__aarch64__)
        adr     x30, 1f
        b       \callee
#else
        larl    %r14, 1f
        jg      \callee
#endif
1:
        nop
        end_frame
        returns
        end     \name
        .endm

        .macro  functions name
        calls_by_jump first_\name, second_\name
        calls_by_jump second_\name, third_\name
        calls_by_jump third_\name, innermost_\name

        function innermost_\name
        frame
        nop
        off     16
        nop
        off     -16
        call_of leaf
        end_frame
        returns
        end     innermost_\name

        function passes_\name
        frame
#if defined(__x86_64__)
        pushq   $1
        .cfi_adjust_cfa_offset 8
        pushq   $2
        .cfi_adjust_cfa_offset 8
        leaq    1f(%rip), %rax
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        jmp     removes_\name
1:
        .cfi_adjust_cfa_offset -24
#elif defined(__aarch64__)
        sub     sp, sp, #16
        .cfi_adjust_cfa_offset 16
        adr     x30, 1f
        b       removes_\name
1:
        .cfi_adjust_cfa_offset -16
#else
        aghi    %r15, -16
        .cfi_adjust_cfa_offset 16
        larl    %r14, 1f
        jg      removes_\name
1:
        .cfi_adjust_cfa_offset -16
#endif
        nop
        end_frame
        returns
        end     passes_\name

        function removes_\name
        nop
        off     16
        nop
        off     -16
#if defined(__x86_64__)
        ret     $16
#elif defined(__aarch64__)
        add     sp, sp, #16
        .cfi_adjust_cfa_offset -16
        ret
#else
        aghi    %r15, 16
        .cfi_adjust_cfa_offset -16
        br      %r14
#endif
        end     removes_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls first, passes
