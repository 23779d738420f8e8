/* A table has an entry for a case that can't be, which leads to a part of the function without any code, with an FDE of
   size 0. What is at that address is another function's part, which is entered with a frame of its own.  */

#include "runtime/assembly.h"

        .section .text.unlikely, "ax", %progbits
.Lempty:
        .cfi_startproc
        .cfi_endproc

        .type   other.cold, %function
        .size   other.cold, .Lother_end - other.cold
other.cold:
        .cfi_startproc

#if defined(__x86_64__)

        .cfi_def_cfa_offset 32
        .cfi_offset %rbx, -16
        nop
        addq    $16, %rsp
        .cfi_def_cfa_offset 16
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
.Lother_end:

        .text

        function chooses
        cmpq    $3, %rdi
        ja      .Ldefault
        jmp     *.Ltable(,%rdi,8)
.Lcase: nop
.Ldefault:
        ret
        end     chooses

        function other
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        subq    $16, %rsp
        .cfi_adjust_cfa_offset 16
        jmp     *%rdi
        end     other

        function main
        xorl    %edi, %edi
        call    chooses
        leaq    other.cold(%rip), %rdi
        call    other
        xorl    %eax, %eax
        ret
        end     main

#elif defined(__aarch64__)

        .cfi_def_cfa_offset 32
        nop
        add     sp, sp, #32
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
.Lother_end:

        .text

        function chooses
        cmp     x0, #3
        b.hi    .Ldefault
        adrp    x1, .Ltable
        add     x1, x1, :lo12:.Ltable
        ldr     x1, [x1, x0, lsl #3]
        br      x1
.Lcase: nop
.Ldefault:
        ret
        end     chooses

        function other
        sub     sp, sp, #32
        .cfi_adjust_cfa_offset 32
        br      x0
        end     other

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x0, #0
        bl      chooses
        adrp    x0, other.cold
        add     x0, x0, :lo12:other.cold
        bl      other
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x29
        .cfi_restore x30
        ret
        end     main

#elif defined(__s390x__)

        .cfi_def_cfa_offset 320
        nopr
        aghi    %r15, 160
        .cfi_def_cfa_offset 160
        br      %r14
        .cfi_endproc
.Lother_end:

        .text

        function chooses
        clgfi   %r2, 3
        jh      .Ldefault
        sllg    %r2, %r2, 3
        larl    %r1, .Ltable
        lg      %r1, 0(%r2,%r1)
        br      %r1
.Lcase: nopr
.Ldefault:
        br      %r14
        end     chooses

        function other
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        br      %r2
        end     other

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_rel_offset %r14, 112
        .cfi_rel_offset %r15, 120
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lghi    %r2, 0
        brasl   %r14, chooses
        larl    %r2, other.cold
        brasl   %r14, other
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_adjust_cfa_offset -160
        br      %r14
        end     main

#endif

        .section .rodata, "a", %progbits
        .p2align 3
.Ltable:
        .quad   .Lcase, .Lcase, .Ldefault, .Lempty

        .section .note.GNU-stack, "", %progbits
