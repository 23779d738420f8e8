/* Functions whose CFA follows FP call others on stacks that the program has mapped: wherever there is room, and in the place
   of the one before, or at an address that it names. The last one is unmapped before the end.  */

#include "frames.h"

        .macro  map flags
#if defined(__x86_64__)
        movl    $0x10000, %esi
        movl    $3, %edx
        movl    $\flags, %r10d
        movq    $-1, %r8
        xorl    %r9d, %r9d
        movl    $9, %eax
        syscall
        movq    %rax, %rdi
#elif defined(__aarch64__)
        mov     x1, #0x10000
        mov     x2, #3
        mov     x3, #\flags
        mov     x4, #-1
        mov     x5, #0
        mov     x8, #222
        svc     #0
#else
        larl    %r1, arguments
        stg     %r2, 0(%r1)
        lghi    %r2, \flags
        stg     %r2, 24(%r1)
        lgr     %r2, %r1
        svc     90
#endif
        .endm

        .macro  place address
#if defined(__x86_64__)
        movl    $\address, %edi
#elif defined(__aarch64__)
        mov     x0, #\address
#else
        llilf   %r2, \address
#endif
        .endm

        .macro  unmap
#if defined(__x86_64__)
        movl    $0x20000000, %edi
        movl    $0x10000, %esi
        movl    $11, %eax
        syscall
#elif defined(__aarch64__)
        mov     x0, #0x20000000
        mov     x1, #0x10000
        mov     x8, #215
        svc     #0
#else
        llilf   %r2, 0x20000000
        llilf   %r3, 0x10000
        svc     91
#endif
        .endm

#if defined(__s390x__)
        .data
        .balign 8
arguments:
        .quad   0, 0x10000, 3, 0, -1, 0
#endif

        .text
        /* Goes to the stack at the first argument's upper end, and calls from there.  */
        function on_stack
#if defined(__x86_64__)
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        leaq    0x10000(%rdi), %rsp
        .rept   20
        call    leaf
        .endr
        leave
        .cfi_restore %rbp
        .cfi_def_cfa %rsp, 8
        ret
#elif defined(__aarch64__)
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        add     x0, x0, #0x10, lsl #12
        mov     sp, x0
        .rept   20
        bl      leaf
        .endr
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
#else
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        llilf   %r1, 0x10000-160
        lay     %r15, 0(%r1,%r2)
        .rept   20
        brasl   %r14, leaf
        .endr
        lgr     %r15, %r11
        .cfi_def_cfa_register %r15
        lmg     %r11, %r15, 88(%r15)
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_restore %r15
        br      %r14
#endif
        end     on_stack

        function main
        frame
        place   0
        map     0x22
        call_of on_stack
        place   0x20000000
        map     0x32
        call_of on_stack
        place   0x20000000
        map     0x32
        call_of on_stack
        unmap
        .rept   70
        nop
        .endr
        zero
        end_frame
        returns
        end     main
