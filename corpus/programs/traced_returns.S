/* unsigned traced(unsigned (*function)(unsigned), unsigned x)

   Calls hook with the place where its return address is saved, and function(x).

   return_trampoline is where it returns to if hook has replaced that address: it
   has unhook find the real one and goes there, with the result and SP unchanged.
   Nothing describes it: nobody has called it.  */

        .file   "traced_returns.S"

#include "runtime/assembly.h"

        .hidden hook
        .hidden unhook

        .text

#if defined(__x86_64__)

        function traced
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        pushq   %r12
        .cfi_def_cfa_offset 24
        .cfi_offset %r12, -24
        subq    $8, %rsp
        .cfi_def_cfa_offset 32
        movq    %rdi, %rbx
        movl    %esi, %r12d
        leaq    24(%rsp), %rdi
        call    hook
        movl    %r12d, %edi
        call    *%rbx
        addq    $8, %rsp
        .cfi_def_cfa_offset 24
        popq    %r12
        .cfi_restore %r12
        .cfi_def_cfa_offset 16
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     traced

        .globl  return_trampoline
        .hidden return_trampoline
        .type   return_trampoline, %function
return_trampoline:
        pushq   %rax
        subq    $8, %rsp
        call    unhook
        movq    %rax, %rcx
        addq    $8, %rsp
        popq    %rax
        jmp     *%rcx
        end_uncovered return_trampoline

#elif defined(__aarch64__)

        function traced
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        stp     x19, x20, [sp, #16]
        .cfi_offset x19, -16
        .cfi_offset x20, -8
        mov     x19, x0
        mov     w20, w1
        add     x0, sp, #8
        bl      hook
        mov     w0, w20
        blr     x19
        ldp     x19, x20, [sp, #16]
        .cfi_restore x19
        .cfi_restore x20
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     traced

        .globl  return_trampoline
        .hidden return_trampoline
        .type   return_trampoline, %function
return_trampoline:
        sub     sp, sp, #16
        str     x0, [sp]
        bl      unhook
        mov     x30, x0
        ldr     x0, [sp]
        add     sp, sp, #16
        ret
        end_uncovered return_trampoline

#elif defined(__s390x__)

        function traced
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lgr     %r12, %r2
        lgr     %r13, %r3
        la      %r2, 272(%r15)
        brasl   %r14, hook
        lgr     %r2, %r13
        basr    %r14, %r12
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     traced

        .globl  return_trampoline
        .hidden return_trampoline
        .type   return_trampoline, %function
return_trampoline:
        aghi    %r15, -168
        stg     %r2, 160(%r15)
        brasl   %r14, unhook
        lgr     %r14, %r2
        lg      %r2, 160(%r15)
        aghi    %r15, 168
        br      %r14
        end_uncovered return_trampoline

#endif

        .section .note.GNU-stack, "", %progbits
