/* A callee's callee drops both frames by arithmetic, and goes on at a label of the function further out, which it
   names: no return address takes part. SP is then what it was at that function's call.  */

#include "frames.h"

        .macro  functions name
        function drops_\name
        nop
#if defined(__x86_64__)
        addq    $32, %rsp
#elif defined(__aarch64__)
        add     sp, sp, #16
#else
        aghi    %r15, 160
#endif
        uncovered
        goto    .Ldropped_\name
        end_uncovered drops_\name

        function middle_\name
        frame
        call_of drops_\name
        nop
        end_frame
        returns
        end     middle_\name

        function outer_\name
        frame
        call_of middle_\name
        nop
        nop
.Ldropped_\name:
        nop
        off     16
        nop
        call_of leaf
        nop
        off     -16
        end_frame
        returns
        end     outer_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls outer
