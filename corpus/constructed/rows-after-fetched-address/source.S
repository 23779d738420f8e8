/* A function fetches an address by a call over data, and returns as usual. That the call was none is known when SP is
   beyond it: what the frame of such a callee would be excuses no row after that.  */

#include "frames.h"

        .macro  functions name
        function fetches_\name
        frame
#if defined(__x86_64__)
        call    1f
        .asciz  "message"
1:
        .cfi_adjust_cfa_offset 8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        nop
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8 - 24 * wrong
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret
#elif defined(__aarch64__)
        bl      1f
        .asciz  "message"
1:      mov     x0, x30
        nop
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset -16 * wrong
        nop
        ret
#else
        bras    %r14, 1f
        .asciz  "message"
1:      lgr     %r2, %r14
        nop
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160 - 160 * wrong
        nop
        br      %r14
#endif
        end     fetches_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls fetches
