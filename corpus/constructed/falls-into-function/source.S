/* A function that runs into another one, which nobody calls. In `right` that one's rows have the frame that comes with
   control; in `wrong` they begin as for callers, and are right for nobody.  */

#include "frames.h"

        .macro  remove_frame
#if defined(__x86_64__)
        addq    $8, %rsp
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_def_cfa_offset 8
        .cfi_same_value %rbp
#elif defined(__aarch64__)
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_same_value x29
        .cfi_same_value x30
#else
        lmg     %r11, %r15, 248(%r15)
        .cfi_def_cfa_offset 160
        .cfi_same_value %r11
        .cfi_same_value %r14
        .cfi_same_value %r15
#endif
        .endm

        .macro  functions name
        function first_\name
        frame
        nop
        end     first_\name
        function second_\name
        .if     wrong
        .else
        rules_of_frame
        .endif
        nop
        nop
        remove_frame
        returns
        end     second_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls first

        .section .note.GNU-stack, "", %progbits
