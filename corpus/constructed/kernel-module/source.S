/* The code of a module, in the order in which compilers write it: each section where a function needs it.  */

#define ONLY_MACROS
#include "frames.h"

        .macro  calls_other name
        .globl  \name
        .type   \name, %function
\name:
        .cfi_startproc
        frame
        off     8
        call_of other
        off     -8
        end_frame
        returns
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .section .init.text, "ax", %progbits
        calls_other sets_up

        .section .text.unlikely, "ax", %progbits
        calls_other is_rare

        .text
        /* A function without any code.  */
        .type   has_no_code, %function
has_no_code:
        .cfi_startproc
        .cfi_endproc
        .size   has_no_code, . - has_no_code
        calls_other behind_nothing

        .section .exit.text, "ax", %progbits
        calls_other clears_up

        .section .init.text
        calls_other sets_up_more

        .text
        .set    wrong, 1
        calls_other is_wrong

        .section .note.GNU-stack, "", %progbits
