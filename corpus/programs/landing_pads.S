/* Non-local exits as exceptions make them. A function that catches keeps a
   handler in its frame: the next handler further out, its landing pad, and SP
   and FP for it. Like the end of _Unwind_RaiseException, `raise` sets FP and SP
   and jumps to the pad, where the frame is as its call frame information says:

     catch_equal        SP at the pad is SP at the call
     catch_higher       what the call had on the stack is dropped
     catch_lower        SP at the pad is lower than at the call, and the CFA
                        follows FP
     cleanup            the pad counts, and goes on with the exit
     raise              its own frame is described up to the jump
     raise_frameless    has none, and so is described up to where it sets FP

   catch_*(function, x) return function(x), or landed(value) after raise(value).
   They keep all registers for their callers, so that a handler need not. The
   last call of cleanup is not followed by what it calls: it would look like a
   fetch of the PC.  */

        .file   "landing_pads.S"

#include "runtime/assembly.h"

        .hidden landed
        .hidden handlers
        .hidden cleanups

        .text

#if defined(__x86_64__)

        /* The handler is at the lowest address of the frame.  */
        .macro  open_frame cfa
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        .ifc    \cfa, rbp
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        .endif
        pushq   %rbx
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 24
        .endif
        .cfi_offset %rbx, -24
        pushq   %r12
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 32
        .endif
        .cfi_offset %r12, -32
        pushq   %r13
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 40
        .endif
        .cfi_offset %r13, -40
        pushq   %r14
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 48
        .endif
        .cfi_offset %r14, -48
        pushq   %r15
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 56
        .endif
        .cfi_offset %r15, -56
        subq    $40, %rsp
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 96
        .endif
        .endm

        .macro  close_frame cfa
        addq    $40, %rsp
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 56
        .endif
        popq    %r15
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 48
        .endif
        .cfi_restore %r15
        popq    %r14
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 40
        .endif
        .cfi_restore %r14
        popq    %r13
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 32
        .endif
        .cfi_restore %r13
        popq    %r12
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 24
        .endif
        .cfi_restore %r12
        popq    %rbx
        .ifc    \cfa, rsp
        .cfi_def_cfa_offset 16
        .endif
        .cfi_restore %rbx
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .endm

        .macro  set_handler pad
        movq    handlers(%rip), %rax
        movq    %rax, (%rsp)
        leaq    \pad(%rip), %rax
        movq    %rax, 8(%rsp)
        movq    %rsp, 16(%rsp)
        movq    %rbp, 24(%rsp)
        movq    %rsp, handlers(%rip)
        .endm

        .macro  call_function
        movq    %rdi, %rax
        movl    %esi, %edi
        call    *%rax
        .endm

        .macro  remove_handler
        movq    (%rsp), %rcx
        movq    %rcx, handlers(%rip)
        .endm

        function raise
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movl    %edi, %eax
        movq    handlers(%rip), %rdx
        movq    (%rdx), %rcx
        movq    %rcx, handlers(%rip)
        movq    8(%rdx), %rcx
        movq    24(%rdx), %rbp
        movq    16(%rdx), %rsp
        uncovered
        jmp     *%rcx
        end_uncovered raise

        function raise_frameless
        movl    %edi, %eax
        movq    handlers(%rip), %rdx
        movq    (%rdx), %rcx
        movq    %rcx, handlers(%rip)
        movq    8(%rdx), %rcx
        movq    24(%rdx), %rbp
        uncovered
        movq    16(%rdx), %rsp
        jmp     *%rcx
        end_uncovered raise_frameless

        function catch_equal
        open_frame rsp
        set_handler 1f
        call_function
        remove_handler
        jmp     2f
1:      movl    %eax, %edi
        call    landed
2:      close_frame rsp
        end     catch_equal

        function catch_higher
        open_frame rsp
        set_handler 1f
        subq    $48, %rsp
        .cfi_adjust_cfa_offset 48
        call_function
        addq    $48, %rsp
        .cfi_adjust_cfa_offset -48
        remove_handler
        jmp     2f
1:      movl    %eax, %edi
        call    landed
2:      close_frame rsp
        end     catch_higher

        function catch_lower
        open_frame rbp
        set_handler 1f
        leaq    -64(%rsp), %rax
        movq    %rax, 16(%rsp)
        call_function
        remove_handler
        jmp     2f
1:      movl    %eax, %edi
        call    landed
        addq    $64, %rsp
2:      close_frame rbp
        end     catch_lower

        function cleanup
        open_frame rsp
        set_handler 1f
        call_function
        remove_handler
        jmp     2f
        .cfi_remember_state
2:      close_frame rsp
1:      .cfi_restore_state
        addl    $1, cleanups(%rip)
        movl    %eax, %edi
        call    raise
        end     cleanup

#elif defined(__aarch64__)

        /* The handler is at SP + 96.  */
        .macro  open_frame cfa
        stp     x29, x30, [sp, #-128]!
        .cfi_def_cfa_offset 128
        .cfi_offset x29, -128
        .cfi_offset x30, -120
        .ifc    \cfa, x29
        mov     x29, sp
        .cfi_def_cfa_register x29
        .endif
        stp     x19, x20, [sp, #16]
        .cfi_offset x19, -112
        .cfi_offset x20, -104
        stp     x21, x22, [sp, #32]
        .cfi_offset x21, -96
        .cfi_offset x22, -88
        stp     x23, x24, [sp, #48]
        .cfi_offset x23, -80
        .cfi_offset x24, -72
        stp     x25, x26, [sp, #64]
        .cfi_offset x25, -64
        .cfi_offset x26, -56
        stp     x27, x28, [sp, #80]
        .cfi_offset x27, -48
        .cfi_offset x28, -40
        .endm

        .macro  close_frame
        ldp     x27, x28, [sp, #80]
        .cfi_restore x27
        .cfi_restore x28
        ldp     x25, x26, [sp, #64]
        .cfi_restore x25
        .cfi_restore x26
        ldp     x23, x24, [sp, #48]
        .cfi_restore x23
        .cfi_restore x24
        ldp     x21, x22, [sp, #32]
        .cfi_restore x21
        .cfi_restore x22
        ldp     x19, x20, [sp, #16]
        .cfi_restore x19
        .cfi_restore x20
        ldp     x29, x30, [sp], #128
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa sp, 0
        ret
        .endm

        .macro  set_handler pad
        adrp    x9, handlers
        ldr     x10, [x9, #:lo12:handlers]
        adr     x11, \pad
        stp     x10, x11, [sp, #96]
        mov     x10, sp
        stp     x10, x29, [sp, #112]
        add     x10, sp, #96
        str     x10, [x9, #:lo12:handlers]
        .endm

        .macro  call_function
        mov     x9, x0
        mov     w0, w1
        blr     x9
        .endm

        .macro  remove_handler
        ldr     x10, [sp, #96]
        adrp    x9, handlers
        str     x10, [x9, #:lo12:handlers]
        .endm

        function raise
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        adrp    x9, handlers
        ldr     x10, [x9, #:lo12:handlers]
        ldp     x11, x12, [x10]
        str     x11, [x9, #:lo12:handlers]
        ldp     x11, x29, [x10, #16]
        mov     sp, x11
        uncovered
        br      x12
        end_uncovered raise

        function raise_frameless
        adrp    x9, handlers
        ldr     x10, [x9, #:lo12:handlers]
        ldp     x11, x12, [x10]
        str     x11, [x9, #:lo12:handlers]
        ldp     x11, x29, [x10, #16]
        uncovered
        mov     sp, x11
        br      x12
        end_uncovered raise_frameless

        function catch_equal
        open_frame sp
        set_handler 1f
        call_function
        remove_handler
        b       2f
1:      bl      landed
2:      close_frame
        end     catch_equal

        function catch_higher
        open_frame sp
        set_handler 1f
        sub     sp, sp, #48
        .cfi_adjust_cfa_offset 48
        call_function
        add     sp, sp, #48
        .cfi_adjust_cfa_offset -48
        remove_handler
        b       2f
1:      bl      landed
2:      close_frame
        end     catch_higher

        function catch_lower
        open_frame x29
        set_handler 1f
        sub     x10, sp, #64
        str     x10, [sp, #112]
        call_function
        remove_handler
        b       2f
1:      bl      landed
        add     sp, sp, #64
2:      close_frame
        end     catch_lower

        function cleanup
        open_frame sp
        set_handler 1f
        call_function
        remove_handler
        b       2f
        .cfi_remember_state
2:      close_frame
1:      .cfi_restore_state
        adrp    x9, cleanups
        ldr     w10, [x9, #:lo12:cleanups]
        add     w10, w10, #1
        str     w10, [x9, #:lo12:cleanups]
        bl      raise
        end     cleanup

#elif defined(__s390x__)

        /* The handler is at SP + 160.  */
        .macro  open_frame cfa
        stmg    %r6, %r15, 48(%r15)
        .cfi_offset %r6, -112
        .cfi_offset %r7, -104
        .cfi_offset %r8, -96
        .cfi_offset %r9, -88
        .cfi_offset %r10, -80
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -192
        .cfi_def_cfa_offset 352
        .ifc    \cfa, r11
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        .endif
        .endm

        .macro  close_frame
        lmg     %r6, %r15, 240(%r15)
        .irp    number, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        .cfi_restore %r\number
        .endr
        .cfi_def_cfa %r15, 160
        br      %r14
        .endm

        .macro  set_handler pad
        larl    %r1, handlers
        mvc     160(8, %r15), 0(%r1)
        larl    %r4, \pad
        stg     %r4, 168(%r15)
        stg     %r15, 176(%r15)
        stg     %r11, 184(%r15)
        la      %r4, 160(%r15)
        stg     %r4, 0(%r1)
        .endm

        .macro  call_function
        lgr     %r1, %r2
        lgr     %r2, %r3
        basr    %r14, %r1
        .endm

        .macro  remove_handler
        larl    %r1, handlers
        mvc     0(8, %r1), 160(%r15)
        .endm

        function raise
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        larl    %r1, handlers
        lg      %r3, 0(%r1)
        mvc     0(8, %r1), 0(%r3)
        lg      %r4, 8(%r3)
        lg      %r11, 24(%r3)
        lg      %r15, 16(%r3)
        uncovered
        br      %r4
        end_uncovered raise

        function raise_frameless
        larl    %r1, handlers
        lg      %r3, 0(%r1)
        mvc     0(8, %r1), 0(%r3)
        lg      %r4, 8(%r3)
        lg      %r11, 24(%r3)
        uncovered
        lg      %r15, 16(%r3)
        br      %r4
        end_uncovered raise_frameless

        function catch_equal
        open_frame r15
        set_handler 1f
        call_function
        remove_handler
        j       2f
1:      brasl   %r14, landed
2:      close_frame
        end     catch_equal

        function catch_higher
        open_frame r15
        set_handler 1f
        aghi    %r15, -48
        .cfi_adjust_cfa_offset 48
        call_function
        aghi    %r15, 48
        .cfi_adjust_cfa_offset -48
        remove_handler
        j       2f
1:      brasl   %r14, landed
2:      close_frame
        end     catch_higher

        function catch_lower
        open_frame r11
        set_handler 1f
        lay     %r1, -64(%r15)
        stg     %r1, 176(%r15)
        call_function
        remove_handler
        j       2f
1:      brasl   %r14, landed
        aghi    %r15, 64
2:      close_frame
        end     catch_lower

        function cleanup
        open_frame r15
        set_handler 1f
        call_function
        remove_handler
        j       2f
        .cfi_remember_state
2:      close_frame
1:      .cfi_restore_state
        larl    %r1, cleanups
        asi     0(%r1), 1
        brasl   %r14, raise
        end     cleanup

#endif

        .section .note.GNU-stack, "", %progbits
