/* The middle of a function has no call frame information of any kind, and calls.  */

#include "frames.h"

        .type   gap, %function
gap:
        .cfi_startproc
        frame
        call_of leaf
        nop
        .cfi_endproc
        nop
        call_of leaf
        nop
        .cfi_startproc
        rules_of_frame
        nop
        zero
        .cfi_endproc
        .cfi_startproc
        rules_of_frame
        end_frame
        returns
        .cfi_endproc
        .size   gap, . - gap

        /* What its author has left out at the end has none.  */
        .type   ends, %function
ends:
        .cfi_startproc
        nop
        nop
        .cfi_endproc
        returns
        .size   ends, . - ends

        function main
        frame
        call_of gap
        call_of ends
        zero
        end_frame
        returns
        end     main
