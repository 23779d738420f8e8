/* A hook puts the address of a trampoline in the place of its caller's return address, as tracers of function returns do.
   The trampoline, of which nothing is known, returns to the caller.  */

#include "frames.h"

        .bss
        .balign 8
original:
        .skip   8

        .text
        nop
        .type   trampoline, %function
trampoline:
#if defined(__x86_64__)
        pushq   original(%rip)
        ret
#elif defined(__aarch64__)
        adrp    x30, original
        ldr     x30, [x30, :lo12:original]
        ret
#else
        lgrl    %r14, original
        br      %r14
#endif
        .size   trampoline, . - trampoline

        .macro  functions name
        function hooked_\name
        frame
#if defined(__x86_64__)
        movq    16(%rsp), %rax
        movq    %rax, original(%rip)
        leaq    trampoline(%rip), %rax
        movq    %rax, 16(%rsp)
#elif defined(__aarch64__)
        ldr     x1, [sp, #8]
        adrp    x2, original
        str     x1, [x2, :lo12:original]
        adr     x1, trampoline
        str     x1, [sp, #8]
#else
        lg      %r1, 272(%r15)
        stgrl   %r1, original
        larl    %r1, trampoline
        stg     %r1, 272(%r15)
#endif
        nop
        call_of leaf
        /* The CFA is of no help to what excuses the return address.  */
        off     16
        nop
        off     -16
        end_frame
        returns
        end     hooked_\name

        function calls_\name
        frame
        call_of hooked_\name
        off     16
        nop
        call_of leaf
        nop
        off     -16
        end_frame
        returns
        end     calls_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls calls
