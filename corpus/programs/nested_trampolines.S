/* A stack that may hold code, and what makes code in memory known to the
   processor where that takes instructions.  */

        .file   "nested_trampolines.S"

        .section .executable_stack, "awx", %nobits
        .globl  executable_stack_end
        .hidden executable_stack_end
        .balign 4096
        .skip   32768
executable_stack_end:

#if defined(__aarch64__)

        /* void __clear_cache(void *start, void *end): no cache line is shorter
           than 16 bytes.  */
        .text
        .globl  __clear_cache
        .hidden __clear_cache
        .type   __clear_cache, %function
__clear_cache:
        .cfi_startproc
        bic     x2, x0, #15
1:      dc      cvau, x2
        add     x2, x2, #16
        cmp     x2, x1
        b.lo    1b
        dsb     ish
        bic     x2, x0, #15
2:      ic      ivau, x2
        add     x2, x2, #16
        cmp     x2, x1
        b.lo    2b
        dsb     ish
        isb
        ret
        .cfi_endproc
        .size   __clear_cache, . - __clear_cache

#endif

        .section .note.GNU-stack, "", %progbits
