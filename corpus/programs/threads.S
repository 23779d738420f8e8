/* long spawn_thread(unsigned char *top, void (*function)(unsigned), unsigned argument)

   Makes a thread that calls FUNCTION on the stack below TOP, and ends.  The rules
   are those of the function that was called: in the thread, nobody has called
   it, and they find zeroes above TOP.  There is no mark.  */

        .file   "threads.S"

#include "runtime/assembly.h"

        /* CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */
        .set    flags, 0x50f00

        .text

#if defined(__x86_64__)

        function spawn_thread
        movq    %rsi, %r9
        movl    %edx, %r8d
        movq    %rdi, %rsi
        movl    $flags, %edi
        xorl    %edx, %edx
        xorl    %r10d, %r10d
        movl    $56, %eax
        syscall
        testq   %rax, %rax
        jne     1f
        xorl    %ebp, %ebp
        movl    %r8d, %edi
        call    *%r9
        xorl    %edi, %edi
        movl    $60, %eax
        syscall
        hlt
1:      ret
        end     spawn_thread

#elif defined(__aarch64__)

        function spawn_thread
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x9, x1
        mov     w10, w2
        mov     x1, x0
        mov     x0, #flags & 0xffff
        movk    x0, #flags >> 16, lsl #16
        mov     x2, #0
        mov     x3, #0
        mov     x4, #0
        mov     x8, #220
        svc     #0
        cbnz    x0, 1f
        mov     x29, #0
        mov     w0, w10
        blr     x9
        mov     x0, #0
        mov     x8, #93
        svc     #0
        brk     #1
1:      ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     spawn_thread

#elif defined(__s390x__)

        function spawn_thread
        stg     %r14, 112(%r15)
        .cfi_offset %r14, -48
        lgr     %r0, %r3
        lgr     %r1, %r4
        lgfi    %r3, flags
        lghi    %r4, 0
        lghi    %r5, 0
        svc     120
        ltgr    %r2, %r2
        jne     1f
        .cfi_remember_state
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lghi    %r11, 0
        lgr     %r2, %r1
        lgr     %r1, %r0
        basr    %r14, %r1
        lghi    %r2, 0
        svc     1
        j       .
1:      .cfi_restore_state
        lg      %r14, 112(%r15)
        .cfi_restore %r14
        br      %r14
        end     spawn_thread

#endif

        .section .note.GNU-stack, "", %progbits
