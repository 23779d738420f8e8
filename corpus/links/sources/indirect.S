/* An indirect function: calls go through an entry of .iplt.  */
#include "functions.h"
        main_of chosen
        function_of 2, choice
        .globl  chosen
        .hidden chosen
        .type   chosen, %gnu_indirect_function
        .set    chosen, resolver
        .type   resolver, %function
resolver:
        .cfi_startproc
#if defined(__x86_64__)
        leaq    choice(%rip), %rax
#elif defined(__s390x__)
        larl    %r2, choice
#else
        adrp    x0, choice
        add     x0, x0, :lo12:choice
#endif
        returns
        .cfi_endproc
        .size   resolver, . - resolver
