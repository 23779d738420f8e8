/* Functions that keep their return address in another register while they call, and whose CFI does not say so: in the
   frame of the callee's caller, it then says that the return address is the one that the call has left.  */

#include "frames.h"

#if defined(__aarch64__)
        .macro  keeps name, back
        function \name
        mov     x9, x30
        bl      leaf
        nop
        \back
        end     \name
        .endm
        .macro  moves_back
        mov     x30, x9
        ret
        .endm
        .macro  leaves_by_it
        ret     x9
        .endm
#else
        .macro  keeps name, back
        function \name
        lgr     %r1, %r14
        brasl   %r14, leaf
        nop
        \back
        end     \name
        .endm
        .macro  moves_back
        lgr     %r14, %r1
        br      %r14
        .endm
        .macro  leaves_by_it
        br      %r1
        .endm
#endif

        keeps   kept, moves_back
        keeps   left_by_it, leaves_by_it

        function main
        frame
        call_of kept
        call_of left_by_it
        zero
        end_frame
        returns
        end     main
