/* Functions that linkers get: each with a frame of a size of its own, so that rows of another function are noticed.

     function_of K, NAME, CALLS...   a global function with a frame of size K that calls others, which are linked with it
     exported K, NAME, CALLS...      the same, visible to other files
     static K, NAME, CALLS...        the same, local
     main_of CALLS...                `main`, which calls these and returns 0  */

#define ONLY_MACROS
#include "frames.h"

#if defined(__x86_64__)
        .macro  sized_frame k
        frame   8+16*\k
        .endm
        .macro  end_sized_frame k
        end_frame 8+16*\k
        .endm
#else
        .macro  sized_frame k
        frame   16*\k
        .endm
        .macro  end_sized_frame k
        end_frame 16*\k
        .endm
#endif

        .macro  body k, name, calls:vararg
        .type   \name, %function
\name:
        .cfi_startproc
        sized_frame \k
        .irp    call, \calls
        .ifnb   \call
        call_of \call
        .endif
        .endr
        end_sized_frame \k
        returns
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .macro  function_of k, name, calls:vararg
        .globl  \name
        .hidden \name
        body    \k, \name, \calls
        .endm

        .macro  exported k, name, calls:vararg
        .globl  \name
        body    \k, \name, \calls
        .endm

        .macro  static k, name, calls:vararg
        body    \k, \name, \calls
        .endm

        .macro  main_of calls:vararg
        function main
        frame
        .irp    call, \calls
        call_of \call
        .endr
        zero
        end_frame
        returns
        end     main
        .endm

        .section .note.GNU-stack, "", %progbits
        .text
