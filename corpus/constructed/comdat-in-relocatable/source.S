/* One of two objects with the same function in a COMDAT group, of which the linker keeps one.  */

#include "runtime/assembly.h"

        .macro  body name
        function \name
#if defined(__x86_64__)
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        ret
#elif defined(__aarch64__)
        sub     sp, sp, #16
        .cfi_def_cfa_offset 16
        add     sp, sp, #16
        .cfi_def_cfa_offset 0
        ret
#elif defined(__s390x__)
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        aghi    %r15, 160
        .cfi_def_cfa_offset 160
        br      %r14
#endif
        end     \name
        .endm

        .section .text.shared, "axG", %progbits, shared, comdat
        .weak   shared
        body    shared

        .text
        body    own_a

        .section .note.GNU-stack, "", %progbits
