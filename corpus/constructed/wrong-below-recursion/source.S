/* Below a deep recursion there is a frame whose row is wrong: each walk goes through the whole of it to get there. That takes
   no more time than right rows do.  */

#include "frames.h"

        /* Its argument is how deep.  */
        function recurse
        frame
#if defined(__x86_64__)
        decl    %edi
        jz      1f
#elif defined(__aarch64__)
        subs    w0, w0, #1
        b.eq    1f
#else
        aghi    %r2, -1
        jz      1f
#endif
        call_of recurse
1:      end_frame
        returns
        end     recurse

        function main
        frame
#if defined(__x86_64__)
        movl    $200, %edi
#elif defined(__aarch64__)
        mov     w0, #200
#else
        lghi    %r2, 200
#endif
        .set    wrong, 1
        off     16
        call_of recurse
        nop
        off     -16
        zero
        end_frame
        returns
        end     main
