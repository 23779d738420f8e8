/* Functions with offsets at the limits of the rows' words of one, two and four
   bytes, on either side of each:

     sp_N      the CFA is N bytes above SP; if N is odd, not while it calls
     fp_N      the CFA is N bytes above FP; fp_minus_N: below it
     saved_N   return address (where it is in memory by choice) and FP are saved
               N bytes below the CFA

   Each adds its argument to what leaf makes of it.  All are in the table
   `functions`.  Nothing touches the memory between.  */

        .file   "offset_limits.S"

#include "runtime/assembly.h"

        .hidden leaf

        .macro  listed name
        .section .data.rel.local.functions, "aw", %progbits
#if defined(__aarch64__)
        .xword  \name
#else
        .quad   \name
#endif
        .text
        function \name
        .endm

        .section .data.rel.local.functions, "aw", %progbits
        .balign 8
        .globl  functions
        .hidden functions
functions:

        .text

#if defined(__x86_64__)

        .macro  sp size
        listed  sp_\size
        subq    $\size - 8, %rsp
        .cfi_def_cfa_offset \size
        movq    %rbx, \size - 32(%rsp)
        .cfi_offset %rbx, -32
        movl    %edi, %ebx
        .if     \size & 1
        leaq    -1(%rsp), %rsp
        .cfi_adjust_cfa_offset 1
        .endif
        call    leaf
        addl    %ebx, %eax
        .if     \size & 1
        leaq    1(%rsp), %rsp
        .cfi_adjust_cfa_offset -1
        .endif
        movq    \size - 32(%rsp), %rbx
        .cfi_restore %rbx
        addq    $\size - 8, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     sp_\size
        .endm

        .macro  fp size, name
        listed  \name
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        leaq    16 - (\size)(%rsp), %rbp
        .cfi_def_cfa %rbp, \size
        subq    $48, %rsp
        movl    %edi, (%rsp)
        call    leaf
        addl    (%rsp), %eax
        addq    $48, %rsp
        .cfi_def_cfa %rsp, 16
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     \name
        .endm

        /* The CFA follows FP with a small offset.  */
        .macro  saved size
        listed  saved_\size
        leaq    -\size - 16(%rsp), %rsp
        .cfi_def_cfa_offset \size + 24
        movq    %rbp, 24(%rsp)
        .cfi_offset %rbp, -\size
        leaq    \size(%rsp), %rbp
        .cfi_def_cfa %rbp, 24
        movl    %edi, 8(%rsp)
        call    leaf
        addl    8(%rsp), %eax
        leaq    -\size(%rbp), %rsp
        .cfi_def_cfa %rsp, \size + 24
        movq    24(%rsp), %rbp
        .cfi_restore %rbp
        leaq    \size + 16(%rsp), %rsp
        .cfi_def_cfa_offset 8
        ret
        end     saved_\size
        .endm

        .irp    size, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 16777208, 16777224
        sp      \size
        .endr

#elif defined(__aarch64__)

        /* TARGET = BASE +- SIZE.  */
        .macro  far operation, target, base, size
        mov     x9, #(\size) & 0xffff
        .if     (\size) >> 16
        movk    x9, #(\size) >> 16, lsl #16
        .endif
        \operation \target, \base, x9
        .endm

        .macro  sp size
        listed  sp_\size
        far     sub, sp, sp, \size
        .cfi_def_cfa_offset \size
        far     add, x10, sp, \size - 32
        stp     x19, x30, [x10]
        .cfi_offset x19, -32
        .cfi_offset x30, -24
        mov     w19, w0
        bl      leaf
        add     w0, w0, w19
        far     add, x10, sp, \size - 32
        ldp     x19, x30, [x10]
        .cfi_restore x19
        .cfi_restore x30
        far     add, sp, sp, \size
        .cfi_def_cfa_offset 0
        ret
        end     sp_\size
        .endm

        .macro  fp size, name
        listed  \name
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     w0, [sp, #16]
        .if     \size > 32
        far     sub, x29, sp, \size - 32
        .else
        far     add, x29, sp, 32 - (\size)
        .endif
        .cfi_def_cfa x29, \size
        bl      leaf
        ldr     w1, [sp, #16]
        add     w0, w0, w1
        nop
        .cfi_def_cfa sp, 32
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     \name
        .endm

        .macro  saved size
        listed  saved_\size
        far     sub, sp, sp, (\size + 31) / 16 * 16
        .cfi_def_cfa_offset (\size + 31) / 16 * 16
        add     x10, sp, #(\size + 31) / 16 * 16 - \size
        stp     x30, x29, [x10]
        .cfi_offset x30, -\size
        .cfi_offset x29, 8 - \size
        far     add, x29, sp, (\size + 31) / 16 * 16 - 16
        .cfi_def_cfa x29, 16
        str     w0, [sp]
        bl      leaf
        ldr     w1, [sp]
        add     w0, w0, w1
        far     sub, sp, x29, (\size + 31) / 16 * 16 - 16
        .cfi_def_cfa sp, (\size + 31) / 16 * 16
        add     x10, sp, #(\size + 31) / 16 * 16 - \size
        ldp     x30, x29, [x10]
        .cfi_restore x29
        .cfi_restore x30
        far     add, sp, sp, (\size + 31) / 16 * 16
        .cfi_def_cfa_offset 0
        ret
        end     saved_\size
        .endm

        .irp    size, 112, 128, 240, 256, 32752, 32768, 65520, 65536, 16777200, 16777232
        sp      \size
        .endr

#elif defined(__s390x__)

        /* CFA offsets are stored less 160, and in units of 8: the limits of the
           words are at 1176, 262296, -864 and -261984.  */

        .macro  sp size
        listed  sp_\size
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        agfi    %r15, 160 - \size
        .cfi_def_cfa_offset \size
        lr      %r12, %r2
        brasl   %r14, leaf
        ar      %r2, %r12
        agfi    %r15, \size - 160
        .cfi_def_cfa_offset 160
        lmg     %r11, %r15, 88(%r15)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        br      %r14
        end     sp_\size
        .endm

        .macro  fp size, name
        listed  \name
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lr      %r12, %r2
        lgr     %r11, %r15
        agfi    %r11, 320 - (\size)
        .cfi_def_cfa %r11, \size
        brasl   %r14, leaf
        ar      %r2, %r12
        nopr    %r0
        .cfi_def_cfa %r15, 320
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     \name
        .endm

        .macro  saved size
        listed  saved_\size
        agfi    %r15, -\size - 32
        .cfi_def_cfa_offset \size + 192
        stg     %r14, 192(%r15)
        .cfi_offset %r14, -\size
        stg     %r11, 200(%r15)
        .cfi_offset %r11, 8 - \size
        lgr     %r11, %r15
        agfi    %r11, \size + 32
        .cfi_def_cfa %r11, 160
        st      %r2, 160(%r15)
        brasl   %r14, leaf
        a       %r2, 160(%r15)
        nopr    %r0
        .cfi_def_cfa %r15, \size + 192
        lg      %r11, 200(%r15)
        .cfi_restore %r11
        lg      %r14, 192(%r15)
        .cfi_restore %r14
        agfi    %r15, \size + 32
        .cfi_def_cfa_offset 160
        br      %r14
        end     saved_\size
        .endm

        .irp    size, 1176, 1184, 2200, 2208, 262296, 262304, 524440, 524448, 16777208, 16777224
        sp      \size
        .endr
        .irp    size, 1176, 1184, 262296, 262304
        fp      \size, fp_\size
        .endr
        .irp    size, 864, 872, 261984, 261992
        fp      -\size, fp_minus_\size
        .endr

#endif

#if !defined(__s390x__)
        .irp    size, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 16777208, 16777224
        fp      \size, fp_\size
        .endr
        .irp    size, 128, 136, 32768, 32776, 16777216
        fp      -\size, fp_minus_\size
        .endr
#endif
        .irp    size, 128, 136, 256, 264, 32768, 32776, 65536, 65544, 16777216
        saved   \size
        .endr

        .section .data.rel.local.functions, "aw", %progbits
        .globl  functions_end
        .hidden functions_end
functions_end:

        .section .note.GNU-stack, "", %progbits
