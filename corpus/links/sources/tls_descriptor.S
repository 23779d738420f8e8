/* Uses a thread-local variable by a descriptor.  */
#include "functions.h"
        .globl  variable_of
        .type   variable_of, %function
variable_of:
        .cfi_startproc
        sized_frame 1
#if defined(__x86_64__)
        leaq    variable@tlsdesc(%rip), %rax
        call    *variable@tlscall(%rax)
#elif defined(__aarch64__)
        adrp    x0, :tlsdesc:variable
        ldr     x1, [x0, :tlsdesc_lo12:variable]
        add     x0, x0, :tlsdesc_lo12:variable
        .tlsdesccall variable
        blr     x1
#endif
        end_sized_frame 1
        returns
        .cfi_endproc
        .size   variable_of, . - variable_of
        .section .tbss, "awT", %nobits
        .globl  variable
        .type   variable, %object
variable:
        .zero   8
        .size   variable, 8
