/* Functions that keep their return address in another place, put the address of a function into its register, and jump
   there as a return does. That one returns to the caller. In `wrong` the rows forget where the return address is, and
   have it in its register.  */

#include "frames.h"

        .macro  thunk name
#if defined(__aarch64__)
        function to_\name            /* removes the frame */
        rules_of_frame
        nop
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_same_value x29
        .cfi_same_value x30
        ret
        end     to_\name

        function thunk_\name
        frame
        nop
        adr     x30, to_\name
        .if     wrong
        .cfi_restore x30
        .cfi_restore x29
        .endif
        nop
        ret
        end     thunk_\name
#else
        function to_\name
        .cfi_register %r14, %r1
        nop
        br      %r1
        end     to_\name

        function thunk_\name
        lgr     %r1, %r14
        .cfi_register %r14, %r1
        nop
        larl    %r14, to_\name
        .if     wrong
        .cfi_same_value %r14
        .endif
        nop
        br      %r14
        end     thunk_\name
#endif
        .endm

        thunk   right
        .set    wrong, 1
        thunk   wrong

        main_calls thunk

        .section .note.GNU-stack, "", %progbits
