/* Nothing but nops without an FDE, in functions that have some. Control comes through those of `runs`, and goes around
   those of `skips`.  */

        .cfi_sections .sframe

#include "frames.h"

        function runs
        nop
        .cfi_endproc
        nop
        nop
        .cfi_startproc
        nop
        returns
        end     runs

        function skips
        nop
        goto    .Lend
        .cfi_endproc
        nop
        nop
        .cfi_startproc
.Lend:
        nop
        returns
        end     skips

        function main
        frame
        call_of runs
        call_of skips
        zero
        end_frame
        returns
        end     main
