/* Symbols without a size.  */
#include "functions.h"
        main_of sizeless_1, sizeless_2
        .macro  sizeless k, name
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .cfi_startproc
        sized_frame \k
        end_sized_frame \k
        returns
        .cfi_endproc
        .endm
        sizeless 1, sizeless_1
        sizeless 2, sizeless_2
