/* Two functions to be copied to `generated`, and a section for each copy:

     unsigned small_frame(unsigned (*function)(unsigned), unsigned x)   function(x) + x
     unsigned large_frame(unsigned (*function)(unsigned), unsigned x)   function(x) + 1

   Nothing describes them where they are: they are not run there.  The sections
   are of the version that the assembler writes, or of version 2.  */

        .file   "generated_code.S"

        .set    version_3, .gasversion. >= 24600

        .macro  template name
        .globl  \name
        .hidden \name
\name:
        .endm

        .macro  end_template name
        .globl  \name\()_end
        .hidden \name\()_end
\name\()_end:
        .endm

        /* The header, and the one function, with its size and number of rows.  */
        .macro  section name, code, rows
        .p2align 3
        .globl  \name
        .hidden \name
\name:
        .2byte  0xdee2
        .if     version_3
        .byte   3
        .else
        .byte   2
        .endif
        .byte   4 | 1                   /* starts are relative to their fields; sorted */
#if defined(__x86_64__)
        .byte   3, 0, -8                /* ABI, fixed offsets of FP and RA */
#elif defined(__AARCH64EB__)
        .byte   1, 0, 0
#elif defined(__aarch64__)
        .byte   2, 0, 0
#elif defined(__s390x__)
        .byte   4, 0, 0
#endif
        .byte   0                       /* length of an auxiliary header */
        .4byte  1                       /* FDEs */
        .4byte  \rows
        .4byte  .Lend_\name - .Lrows_\name
        .4byte  0                       /* where FDEs start, after the header */
        .4byte  .Lrows_\name - .Lfde_\name
.Lfde_\name:
        .if     version_3
        .8byte  generated - .
        .4byte  \code\()_end - \code
        .4byte  0                       /* where its rows start */
.Lrows_\name:
        .2byte  \rows
        .byte   0, 0, 0                 /* rows of type ADDR1, default FDE, no repetition */
        .else
        .4byte  generated - .
        .4byte  \code\()_end - \code
        .4byte  0
        .4byte  \rows
        .byte   0, 0
        .2byte  0
.Lrows_\name:
        .endif
        .endm

        .macro  end_section name
.Lend_\name:
        .p2align 3
        .globl  \name\()_size
        .hidden \name\()_size
\name\()_size:
        .4byte  .Lend_\name - \name
        .endm

        /* A row: its start, and the offset of the CFA from SP, alone or with those of RA and FP from the CFA. */
        .macro  row start, cfa
        .byte   \start, 1 << 1 | 1, \cfa
        .endm
        .macro  saved_row start, cfa, ra, fp
        .byte   \start, 3 << 1 | 1, \cfa, \ra, \fp
        .endm

        .text

#if defined(__x86_64__)

        template small_frame
        pushq   %rbx
1:      movq    %rdi, %rax
        movl    %esi, %edi
        movl    %esi, %ebx
        call    *%rax
        addl    %ebx, %eax
        popq    %rbx
2:      ret
        end_template small_frame

        template large_frame
        subq    $72, %rsp
3:      movq    %rdi, %rax
        movl    %esi, %edi
        call    *%rax
        addl    $1, %eax
        addq    $72, %rsp
4:      ret
        end_template large_frame

        .section .rodata
        section small_section, small_frame, 3
        row     0, 8
        row     1b-small_frame, 16
        row     2b-small_frame, 8
        end_section small_section

        section large_section, large_frame, 3
        row     0, 8
        row     3b-large_frame, 80
        row     4b-large_frame, 8
        end_section large_section

#elif defined(__aarch64__)

        template small_frame
        stp     x29, x30, [sp, #-32]!
1:      str     x19, [sp, #16]
        mov     w19, w1
        mov     x2, x0
        mov     w0, w1
        blr     x2
        add     w0, w0, w19
        ldr     x19, [sp, #16]
        ldp     x29, x30, [sp], #32
2:      ret
        end_template small_frame

        template large_frame
        sub     sp, sp, #96
3:      stp     x29, x30, [sp, #16]
4:      mov     x2, x0
        mov     w0, w1
        blr     x2
        add     w0, w0, #1
        ldp     x29, x30, [sp, #16]
5:      add     sp, sp, #96
6:      ret
        end_template large_frame

        .section .rodata
        section small_section, small_frame, 3
        row     0, 0
        saved_row 1b-small_frame, 32, -24, -32
        row     2b-small_frame, 0
        end_section small_section

        section large_section, large_frame, 5
        row     0, 0
        row     3b-large_frame, 96
        saved_row 4b-large_frame, 96, -72, -80
        row     5b-large_frame, 96
        row     6b-large_frame, 0
        end_section large_section

#elif defined(__s390x__)

        /* Offsets of the CFA are stored less 160, in words of 8 bytes.  */

        template small_frame
        stmg    %r11, %r15, 88(%r15)
1:      aghi    %r15, -160
2:      lgr     %r1, %r2
        lgr     %r12, %r3
        lgr     %r2, %r3
        basr    %r14, %r1
        ar      %r2, %r12
        llgfr   %r2, %r2
        lmg     %r11, %r15, 248(%r15)
3:      br      %r14
        end_template small_frame

        template large_frame
        stmg    %r11, %r15, 88(%r15)
4:      aghi    %r15, -240
5:      lgr     %r1, %r2
        lgr     %r2, %r3
        basr    %r14, %r1
        ahi     %r2, 1
        llgfr   %r2, %r2
        lmg     %r11, %r15, 328(%r15)
6:      br      %r14
        end_template large_frame

        .section .rodata
        section small_section, small_frame, 4
        row     0, 0
        saved_row 1b-small_frame, 0, -48, -72
        saved_row 2b-small_frame, 20, -48, -72
        row     3b-small_frame, 0
        end_section small_section

        section large_section, large_frame, 4
        row     0, 0
        saved_row 4b-large_frame, 0, -48, -72
        saved_row 5b-large_frame, 30, -48, -72
        row     6b-large_frame, 0
        end_section large_section

#endif

        .section .generated, "awx", %nobits
        .globl  generated
        .hidden generated
        .type   generated, %function
        .p2align 12
generated:
        .skip   4096
        .size   generated, 4096

        .section .note.GNU-stack, "", %progbits
