/* `f` keeps the address of a function in its frame, and ends with a tail call of it, which nobody has called before. A row that
   takes that address for the one to return to is no hook's: the return address is in the frame as well.  */

#include "frames.h"

        .macro  functions name
        function f_\name
#if defined(__aarch64__)
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        adr     x9, helper_\name
        str     x9, [sp, #16]
        .if     wrong
        .cfi_offset x30, -16
        .endif
        nop
        .cfi_offset x30, -24
        nop
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        br      x9
#else
        frame   16
        larl    %r1, helper_\name
        stg     %r1, 160(%r15)
        .if     wrong
        .cfi_offset %r14, -176
        .endif
        nop
        .cfi_offset %r14, -48
        nop
        end_frame 16
        br      %r1
#endif
        end     f_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong
        .set    wrong, 0

        main_calls f

        .irp    name, right, wrong
        function helper_\name
        nop
        returns
        end     helper_\name
        .endr
