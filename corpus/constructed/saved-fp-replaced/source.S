/* `leaves_WHICH` has the FP that it saved replaced by a callee, loads it, and goes on in a frame further out, which has
   that FP: so libgcc's unwinder installs a context. `returns_after` returns to its caller with it. `leaves_with_another`
   leaves with an FP that nobody has put there. The callee puts the same FP beside the saved one as well, where the wrong
   rows look for it.  */

#include "frames.h"

        .bss
        .balign 8
saved:  .skip   8
        .text

#if defined(__x86_64__)

        .macro  frame_with_another
        frame   8
        .endm

        .macro  end_frame_with_another
        end_frame 8
        .endm

        .macro  fp_is value
        movl    $\value, %ebp
        .endm

        .macro  looks_beside
        .cfi_offset %rbp, -24
        .endm

        .macro  looks_where_it_is
        .cfi_offset %rbp, -16
        .endm

        .macro  replace_fp
        leaq    8(%rsp), %rdi
        call    replaces
        .endm

        .macro  load_fp
        movq    8(%rsp), %rbp
        .endm

        .macro  save
        movq    %rsp, saved(%rip)
        .endm

        .macro  land_at label
        movq    saved(%rip), %rsp
        rules_of_frame
        leaq    \label(%rip), %rax
        jmp     *%rax
        .endm

        function replaces
        movq    $0x111, (%rdi)
        movq    $0x111, -8(%rdi)
        nop
        ret
        end     replaces

#elif defined(__aarch64__)

        .macro  frame_with_another
        frame   16
        .endm

        .macro  end_frame_with_another
        end_frame 16
        .endm

        .macro  fp_is value
        mov     x29, #\value
        .endm

        .macro  looks_beside
        .cfi_offset x29, -16
        .endm

        .macro  looks_where_it_is
        .cfi_offset x29, -32
        .endm

        .macro  replace_fp
        mov     x0, sp
        bl      replaces
        .endm

        .macro  load_fp
        ldr     x29, [sp]
        .endm

        .macro  save
        adrp    x1, saved
        mov     x2, sp
        str     x2, [x1, :lo12:saved]
        .endm

        .macro  land_at label
        adrp    x1, saved
        ldr     x2, [x1, :lo12:saved]
        mov     sp, x2
        rules_of_frame
        adr     x3, \label
        br      x3
        .endm

        function replaces
        mov     x1, #0x111
        str     x1, [x0]
        str     x1, [x0, #16]
        nop
        ret
        end     replaces

#else

        .macro  frame_with_another
        frame
        .endm

        .macro  end_frame_with_another
        end_frame
        .endm

        .macro  fp_is value
        lghi    %r11, \value
        .endm

        .macro  looks_beside
        .cfi_offset %r11, -80
        .endm

        .macro  looks_where_it_is
        .cfi_offset %r11, -72
        .endm

        .macro  replace_fp
        la      %r2, 248(%r15)
        brasl   %r14, replaces
        .endm

        .macro  load_fp
        lg      %r11, 248(%r15)
        .endm

        .macro  save
        stgrl   %r15, saved
        .endm

        .macro  land_at label
        lgrl    %r15, saved
        rules_of_frame
        larl    %r1, \label
        br      %r1
        .endm

        function replaces
        lghi    %r1, 0x111
        stg     %r1, 0(%r2)
        aghi    %r2, -8
        stg     %r1, 0(%r2)
        nop
        br      %r14
        end     replaces

#endif

        /* `before` and `after`: whether the rows look beside the saved FP before it is replaced, and after.  */
        .macro  leaves name, before, after, with_another
        function leaves_\name
        frame_with_another
        .if     \before
        looks_beside
        .endif
        nop
        call_of leaf
        nop
        .if     \before
        looks_where_it_is
        .endif
        replace_fp
        .if     \after
        looks_beside
        .endif
        nop
        call_of leaf
        nop
        .if     \with_another
        fp_is   0x333
        .else
        load_fp
        .endif
        land_at .Llands_\name
        end     leaves_\name

        function keeps_\name
        frame
        fp_is   0x222
        call_of leaves_\name
        nop
        end_frame
        returns
        end     keeps_\name

        function catches_\name
        frame
        save
        fp_is   0x111
        call_of keeps_\name
        nop
.Llands_\name:
        nop
        call_of leaf
        nop
        end_frame
        returns
        end     catches_\name
        .endm

        leaves  right, 0, 0, 0
        leaves  wrong_before, 1, 0, 0
        leaves  wrong_after, 0, 1, 0
        leaves  with_another, 0, 0, 1

        function returns_after
        frame_with_another
        nop
        call_of leaf
        replace_fp
        nop
        call_of leaf
        nop
        end_frame_with_another
        returns
        end     returns_after

        function keeps
        frame
        fp_is   0x222
        call_of returns_after
        nop
        end_frame
        returns
        end     keeps

        function main
        frame
        call_of catches_right
        call_of catches_wrong_before
        call_of catches_wrong_after
        call_of catches_with_another
        call_of keeps
        zero
        end_frame
        returns
        end     main
