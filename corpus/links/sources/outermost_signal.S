/* A function whose return address is undefined, and a signal frame.  */
#include "functions.h"
        main_of called
        function_of 1, called
        .type   outermost, %function
outermost:
        .cfi_startproc
#if defined(__x86_64__)
        .cfi_undefined %rip
#elif defined(__aarch64__)
        .cfi_undefined x30
#else
        .cfi_undefined %r14
#endif
        nop
        .cfi_endproc
        .size   outermost, . - outermost
        .type   restorer, %function
restorer:
        .cfi_startproc
        .cfi_signal_frame
        nop
        .cfi_endproc
        .size   restorer, . - restorer
