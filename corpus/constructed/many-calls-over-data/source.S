/* More calls over data in one function than are held open at a time. Rows are right, or wrong, after the last of them as
   after the first.  */

#include "frames.h"

        .macro  fetch
#if defined(__x86_64__)
        call    1f
        .asciz  "message"
1:
        .cfi_adjust_cfa_offset 8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
#elif defined(__aarch64__)
        bl      1f
        .asciz  "message"
1:      mov     x0, x30
#else
        bras    %r14, 1f
        .asciz  "message"
1:      lgr     %r2, %r14
#endif
        call_of leaf
        .endm

        .macro  functions name
        function fetches_\name
        frame
        .rept   6
        fetch
        .endr
        off     16
        nop
        call_of leaf
        off     -16
        end_frame
        returns
        end     fetches_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls fetches
