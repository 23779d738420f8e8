/* A function without a frame keeps its return address in another register, reads a literal after a call, and returns by
   that register: the call has ended with it.  */

#include "frames.h"

        .macro  functions name
        function reads_\name
        lgr     %r1, %r14
        .cfi_register %r14, %r1
        bras    %r14, 1f
        .quad   5
1:      lg      %r2, 0(%r14)
        br      %r1
        end     reads_\name

        function calls_\name
        frame
        call_of reads_\name
        off     16
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
