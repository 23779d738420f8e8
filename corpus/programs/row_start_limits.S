/* Functions whose sizes are at the limits of the words that rows' starts have, and
   whose last two rows start with the last two instructions: sized_N has N bytes.
   They jump over what they need to be that long.  */

        .file   "row_start_limits.S"

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

        .macro  sized size
        listed  sized_\size
1:      pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        pushq   %rbx
        .cfi_def_cfa_offset 24
        .cfi_offset %rbx, -24
        movl    %edi, %ebp
        call    leaf
        addl    %ebp, %eax
        jmp     2f
        .skip   \size - 3 - (. - 1b), 0xcc
2:      popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     sized_\size
        .endm

        .irp    size, 254, 255, 256, 257, 65535, 65537
        sized   \size
        .endr

#elif defined(__aarch64__)

        .macro  sized size
        listed  sized_\size
1:      stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     w29, w0
        bl      leaf
        add     w0, w0, w29
        b       2f
        .skip   \size - 12 - (. - 1b)
2:      ldp     x29, x30, [sp]
        .cfi_restore x29
        .cfi_restore x30
        add     sp, sp, #16
        .cfi_def_cfa_offset 0
        ret
        end     sized_\size
        .endm

        .irp    size, 252, 256, 260, 65532, 65540
        sized   \size
        .endr

#elif defined(__s390x__)

        .macro  sized size
        listed  sized_\size
1:      stmg    %r11, %r14, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lr      %r11, %r2
        brasl   %r14, leaf
        ar      %r2, %r11
        jg      2f
        .skip   \size - 12 - (. - 1b)
2:      lmg     %r11, %r14, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        aghi    %r15, 160
        .cfi_def_cfa_offset 160
        br      %r14
        end     sized_\size
        .endm

        .irp    size, 254, 256, 258, 65534, 65538
        sized   \size
        .endr

#endif

        .section .data.rel.local.functions, "aw", %progbits
        .globl  functions_end
        .hidden functions_end
functions_end:

        .section .note.GNU-stack, "", %progbits
