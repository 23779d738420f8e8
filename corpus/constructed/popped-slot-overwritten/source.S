/* The return address is in a register while something else is pushed to where it was, as what calls vfork does for its
   child. The call frame information has it where it was.  */

#include "frames.h"

        function pops
        popq    %rdx
        .cfi_def_cfa_offset 0
        movq    $0, -8(%rsp)
        nop
        pushq   %rdx
        .cfi_def_cfa_offset 8
        ret
        end     pops

        function main
        frame
        call    pops
        zero
        end_frame
        ret
        end     main
