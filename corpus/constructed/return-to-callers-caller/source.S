/* `drops_frame` removes the frame of its caller, which has a frame with FP saved, and returns for it.  */

#include "frames.h"

        function drops_frame
        nop
#if defined(__x86_64__)
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        .cfi_undefined %rip
        addq    $8, %rsp
        popq    %rbp
        ret
#else
        end_frame
        returns
#endif
        end     drops_frame

        function ends_by_callee
        frame
        call_of drops_frame
        nop
        nop
        end_frame
        returns
        end     ends_by_callee

        .macro  functions name
        function calls_\name
        frame
        call_of ends_by_callee
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
