/* Calls a function of a library whose address it also takes.  */
#include "functions.h"
        .globl  main
        .hidden main
        .type   main, %function
main:
        .cfi_startproc
        sized_frame 1
#if defined(__x86_64__)
        movq    library_1@GOTPCREL(%rip), %rcx
        call    library_1@plt
#elif defined(__s390x__)
        lgrl    %r1, library_1@GOTENT
        brasl   %r14, library_1@PLT
#else
        adrp    x1, :got:library_1
        ldr     x1, [x1, :got_lo12:library_1]
        bl      library_1
#endif
        zero
        end_sized_frame 1
        returns
        .cfi_endproc
        .size   main, . - main
