/* Functions with what rows and FDEs can have. None of them is executed but `main`.  */
#include "functions.h"
        main_of called
        function_of 1, called

        /* Row starts of 2 and of 4 bytes: functions that are longer than 255 and 65,535 bytes.  */
        .macro  long k, name, bytes
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .cfi_startproc
        sized_frame \k
        .zero   \bytes
        end_sized_frame \k
        returns
        .cfi_endproc
        .size   \name, . - \name
        .endm
        long    2, starts_of_2_bytes, 400
        long    3, starts_of_4_bytes, 66000

        /* More than 255 rows, whose offsets take 1, 2 and 4 bytes.  */
        .macro  cfa offset
        .cfi_def_cfa_offset \offset
        .zero   4
        .endm
        .type   many_rows, %function
many_rows:
        .cfi_startproc
        .rept   300
        .cfi_adjust_cfa_offset 16
        .zero   4
        .endr
        cfa     32000
        cfa     40000
        cfa     1000000
        .cfi_endproc
        .size   many_rows, . - many_rows

#if defined(__aarch64__)
        .type   signed, %function
signed:
        .cfi_startproc
        .cfi_b_key_frame
        nop
        .cfi_negate_ra_state
        .zero   4
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        .zero   4
        .cfi_endproc
        .size   signed, . - signed
#elif SFRAME_VERSION == 0 || SFRAME_VERSION == 3
        /* Versions 1 and 2 can't say this.  */
        .type   other_register, %function
other_register:
        .cfi_startproc
        .zero   4
#if defined(__x86_64__)
        .cfi_def_cfa %r10, 0
#else
        .cfi_def_cfa %r9, 160
#endif
        .zero   4
        .cfi_endproc
        .size   other_register, . - other_register
#if defined(__x86_64__)
        /* The CFA is loaded from *(FP-8), and FP from *(FP+0), as where GCC has aligned the stack.  */
        .type   loaded_cfa, %function
loaded_cfa:
        .cfi_startproc
        .zero   4
        .cfi_escape 0x10, 6, 2, 0x76, 0
        .zero   4
        .cfi_escape 0x0f, 3, 0x76, 0x78, 6
        .zero   4
        .cfi_endproc
        .size   loaded_cfa, . - loaded_cfa
#endif
#endif
