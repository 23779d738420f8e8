/* Functions that tell where in their frame something is saved:

     saves_return_address   its return address, at `return_slot`
     saves_frame_pointer    its caller's FP, at `frame_pointer_slot`
     uses_frame_pointer     a caller of it, whose CFA follows FP
     keeps_frame_pointer    another one, which saves FP and leaves it alone

   Each calls function(x) below it, and has rules that are right as long as
   nobody writes there. `hook` is what a tracer would have instead of a return
   address: it belongs to no function.  */

        .file   "overwritten.S"

#include "runtime/assembly.h"

        .hidden return_slot
        .hidden frame_pointer_slot

        .text

        .globl  hook
        .hidden hook
        .p2align 2
        .long   0
hook:
        .long   0

#if defined(__x86_64__)

        function saves_return_address
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        leaq    8(%rsp), %rax
        movq    %rax, return_slot(%rip)
        movq    %rdi, %rax
        movl    %esi, %edi
        call    *%rax
        addl    $1, %eax
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     saves_return_address

        function saves_frame_pointer
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, frame_pointer_slot(%rip)
        movl    $1, %ebp
        movq    %rdi, %rax
        movl    %esi, %edi
        call    *%rax
        addl    %ebp, %eax
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     saves_frame_pointer

        function uses_frame_pointer
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $32, %rsp
        call    saves_frame_pointer
        addl    $2, %eax
        leave
        .cfi_restore %rbp
        .cfi_def_cfa %rsp, 8
        ret
        end     uses_frame_pointer

        function keeps_frame_pointer
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        call    saves_frame_pointer
        addl    $3, %eax
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     keeps_frame_pointer

#elif defined(__aarch64__)

        .macro  call_function
        mov     x9, x0
        mov     w0, w1
        blr     x9
        .endm

        function saves_return_address
        str     x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -16
        mov     x9, sp
        adrp    x10, return_slot
        str     x9, [x10, #:lo12:return_slot]
        call_function
        add     w0, w0, #1
        ldr     x30, [sp], #16
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     saves_return_address

        function saves_frame_pointer
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x9, sp
        adrp    x10, frame_pointer_slot
        str     x9, [x10, #:lo12:frame_pointer_slot]
        mov     x29, #1
        call_function
        add     w0, w0, w29
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     saves_frame_pointer

        function uses_frame_pointer
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        sub     sp, sp, #32
        bl      saves_frame_pointer
        add     w0, w0, #2
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     uses_frame_pointer

        function keeps_frame_pointer
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      saves_frame_pointer
        add     w0, w0, #3
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     keeps_frame_pointer

#elif defined(__s390x__)

        .macro  open_frame
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        .endm

        .macro  close_frame
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa %r15, 160
        br      %r14
        .endm

        .macro  call_function
        lgr     %r1, %r2
        lgr     %r2, %r3
        basr    %r14, %r1
        .endm

        function saves_return_address
        open_frame
        la      %r1, 272(%r15)
        stgrl   %r1, return_slot
        call_function
        ahi     %r2, 1
        close_frame
        end     saves_return_address

        function saves_frame_pointer
        open_frame
        la      %r1, 248(%r15)
        stgrl   %r1, frame_pointer_slot
        lghi    %r11, 1
        call_function
        ar      %r2, %r11
        close_frame
        end     saves_frame_pointer

        function uses_frame_pointer
        open_frame
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        aghi    %r15, -32
        brasl   %r14, saves_frame_pointer
        ahi     %r2, 2
        lgr     %r15, %r11
        .cfi_def_cfa_register %r15
        close_frame
        end     uses_frame_pointer

        function keeps_frame_pointer
        open_frame
        brasl   %r14, saves_frame_pointer
        ahi     %r2, 3
        close_frame
        end     keeps_frame_pointer

#endif

        .section .note.GNU-stack, "", %progbits
