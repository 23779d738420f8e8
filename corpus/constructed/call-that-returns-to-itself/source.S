/* Code that calls what comes next, which returns there, and then to the caller: so it runs twice, or four times. In
   `wrong` the CFA is 16 too large there.  */

#include "frames.h"

        .macro  functions name
        function twice_\name
#if defined(__x86_64__)
        call    1f
        off     16
#else
        frame
        call_of 1f
        end_frame
        off     16
#endif
1:      nop
        nop
        returns
        end     twice_\name

#if defined(__x86_64__)
        function four_times_\name
        call    1f
        off     16
1:      call    2f
2:      nop
        nop
        ret
        end     four_times_\name
#endif
        .endm

        functions right
        .set    wrong, 1
        functions wrong

#if defined(__x86_64__)
        main_calls twice, four_times
#else
        main_calls twice
#endif

        .section .note.GNU-stack, "", %progbits
