/* unsigned patched(unsigned x)

   Its places to patch, in the form that they have at first:

     patched_trace    a space, with the frame made
     patched_branch   a jump over a call of rarely, to patched_skip
     patched_call     a call of first

   The section can be written to.  */

        .file   "patched_text.S"

#include "runtime/assembly.h"

        .macro  site name
        .globl  \name
        .hidden \name
        .type   \name, %object
\name:
        .endm

        .hidden first
        .hidden rarely

        .section .patched, "awx", %progbits

#if defined(__x86_64__)

        function patched
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movl    %edi, %ebx
        site    patched_trace
        .byte   0x0f, 0x1f, 0x44, 0x00, 0x00
        xorl    %eax, %eax
        site    patched_branch
        .byte   0xe9
        .4byte  patched_skip - . - 4
        movl    %ebx, %edi
        call    rarely
        site    patched_skip
        addl    %eax, %ebx
        movl    %ebx, %edi
        site    patched_call
        call    first
        addl    %ebx, %eax
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     patched

#elif defined(__aarch64__)

        function patched
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        mov     w19, w0
        site    patched_trace
        nop
        mov     w0, #0
        site    patched_branch
        b       patched_skip
        mov     w0, w19
        bl      rarely
        site    patched_skip
        add     w19, w19, w0
        mov     w0, w19
        site    patched_call
        bl      first
        add     w0, w0, w19
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     patched

#elif defined(__s390x__)

        function patched
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lr      %r12, %r2
        site    patched_trace
        brcl    0, .
        lhi     %r2, 0
        site    patched_branch
        jg      patched_skip
        lgr     %r2, %r12
        brasl   %r14, rarely
        site    patched_skip
        ar      %r12, %r2
        llgfr   %r2, %r12
        site    patched_call
        brasl   %r14, first
        ar      %r2, %r12
        llgfr   %r2, %r2
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     patched

#endif

        .section .note.GNU-stack, "", %progbits
