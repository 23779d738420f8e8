/* An object without code.  */
        .data
        .globl  empty_object
        .hidden empty_object
empty_object:
        .byte   1
        .section .note.GNU-stack, "", %progbits
