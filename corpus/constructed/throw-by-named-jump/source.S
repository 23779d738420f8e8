/* `throws_WHICH` loads the SP of its caller, and jumps to a label of it that the instruction names. `clobbers_WHICH` goes
   there by a register, with an FP that its rows have as its caller's.  */

#include "frames.h"

        .bss
        .balign 8
saved:  .skip   16
        .text

        .macro  save
#if defined(__x86_64__)
        movq    %rsp, saved(%rip)
        movq    %rbp, saved+8(%rip)
#elif defined(__aarch64__)
        adrp    x1, saved
        add     x1, x1, :lo12:saved
        mov     x2, sp
        stp     x2, x29, [x1]
#else
        stgrl   %r15, saved
        stgrl   %r11, saved+8
#endif
        .endm

        .macro  load_fp
#if defined(__x86_64__)
        movq    saved+8(%rip), %rbp
#elif defined(__aarch64__)
        adrp    x1, saved
        add     x1, x1, :lo12:saved
        ldr     x29, [x1, #8]
#else
        lgrl    %r11, saved+8
#endif
        .endm

        /* SP, and the rules of the caller's frame.  */
        .macro  load_sp
#if defined(__x86_64__)
        movq    saved(%rip), %rsp
#elif defined(__aarch64__)
        adrp    x1, saved
        ldr     x2, [x1, :lo12:saved]
        mov     sp, x2
#else
        lgrl    %r15, saved
#endif
        rules_of_frame
        .endm

        .macro  functions name
        function throws_\name
        nop
        load_sp
        goto    .Lcaught_\name
        end     throws_\name

        function catches_\name
        frame
        save
        call_of throws_\name
        nop
.Lcaught_\name:
        nop
        off     16
        nop
        off     -16
        call_of leaf
        nop
        end_frame
        returns
        end     catches_\name

        function clobbers_\name
        nop
        .ifeq   wrong
        frame
        .endif
#if defined(__x86_64__)
        xorl    %ebp, %ebp
#elif defined(__aarch64__)
        mov     x29, #0
#else
        lghi    %r11, 0
#endif
        nop
        nop
        load_sp
#if defined(__x86_64__)
        leaq    .Lback_\name(%rip), %rax
        jmp     *%rax
#elif defined(__aarch64__)
        adr     x3, .Lback_\name
        br      x3
#else
        larl    %r1, .Lback_\name
        br      %r1
#endif
        end     clobbers_\name

        function comes_back_\name
        frame
        save
        call_of clobbers_\name
        nop
.Lback_\name:
        nop
        load_fp
        call_of leaf
        nop
        end_frame
        returns
        end     comes_back_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls catches, comes_back
