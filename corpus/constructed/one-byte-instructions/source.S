/* The CFA of `wrong` is 8 too large at each of its instructions, which have one byte each: what comes before an
   instruction is where its return address would be looked up, if it were one.  */

#include "frames.h"

        function wrong
        .cfi_adjust_cfa_offset 8
        nop
        nop
        nop
        nop
        ret
        end     wrong

        function main
        frame
        call    wrong
        zero
        end_frame
        ret
        end     main
