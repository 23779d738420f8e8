/* SP is moved above the frames of the callers, and comes back from a register that has kept it.  */

#include "frames.h"

        .macro  above name, bytes
        function \name
#if defined(__x86_64__)
        movq    %rsp, %rax
        .ifeq   wrong
        .cfi_def_cfa %rax, 8
        .endif
        leaq    \bytes(%rsp), %rsp
        popq    %rcx
        popq    %rdx
        nop
        movq    %rax, %rsp
        .cfi_def_cfa %rsp, 8
        ret
#elif defined(__aarch64__)
        mov     x9, sp
        .ifeq   wrong
        .cfi_def_cfa x9, 0
        .endif
        add     sp, sp, #\bytes
        nop
        nop
        mov     sp, x9
        .cfi_def_cfa sp, 0
        ret
#else
        lgr     %r1, %r15
        .ifeq   wrong
        .cfi_def_cfa %r1, 160
        .endif
        aghi    %r15, \bytes
        nopr
        nopr
        lgr     %r15, %r1
        .cfi_def_cfa %r15, 160
        br      %r14
#endif
        end     \name
        .endm

#if defined(__x86_64__)
        .set    into_callers, 8
        .set    past_callers, 40
#elif defined(__aarch64__)
        .set    into_callers, 16
        .set    past_callers, 48
#else
        .set    into_callers, 64
        .set    past_callers, 192
#endif

        .macro  functions name
        above   one_\name, into_callers
        above   several_\name, past_callers
        function calls_\name
        frame   16
        call_of one_\name
        nop
        call_of several_\name
        nop
        end_frame 16
        returns
        end     calls_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls calls
