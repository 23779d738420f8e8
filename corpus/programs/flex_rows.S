/* Rows of flexible FDEs that no assembler writes. There is no call frame
   information here; the section is written out:

     cfa_on_stack     CFA = *(SP+8)
     fp_from_sp       FP = SP+n, which is an address and not in memory
     fp_from_fp       FP = FP-48: the caller's is changed, and not saved
     ra_less          RA = register+100
     saved_elsewhere  CFA, RA and FP are in memory off the stack, to which a
                      register points
     fp_caller        calls fp_from_sp as that expects it: FP is the CFA

   Assemblers that write a version without flexible FDEs get none.  */

        .file   "flex_rows.S"

        .set    describable, .gasversion. >= 24600

/* Control words: DWARF register << 3, dereference, register.  */
#define REGISTER(number) (number << 3 | 1)
#define LOADED(number) (number << 3 | 3)
#define SLOT 2          /* what is stored at an offset from the CFA */
#define NONE 0

#if defined(__s390x__)
#define CFA_OFFSET(offset) ((offset - 160) / 8)
#else
#define CFA_OFFSET(offset) (offset)
#endif

        .hidden leaf

        /* Three parts: the header, the functions, and their rows.  */
        .if     describable
        .section .sframe, "a", %0x6ffffff4
        .balign 8
        .2byte  0xdee2
        .byte   3                       /* version */
        .byte   4                       /* SFRAME_F_FDE_FUNC_START_PCREL */
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
        .4byte  functions
        .4byte  rows
        .4byte  .Lrows_end - .Lrows
        .4byte  0                       /* where functions start, after the header */
        .4byte  .Lrows - .Lfunctions
        .subsection 1
.Lfunctions:
        .subsection 2
.Lrows:
        .endif
        .set    function_count, 0
        .set    row_count, 0

        .macro  begin name
        .globl  \name
        .hidden \name
        .type   \name, %function
        .set    first_row, row_count
        .set    function_count, function_count + 1
\name:
        .if     describable
        .pushsection .sframe, 1
        .8byte  \name - .
        .4byte  .Lend_\name - \name
        .4byte  .Lrows_\name - .Lrows
        .popsection
        .pushsection .sframe, 2
.Lrows_\name:
        .2byte  .Lcount_\name
        .byte   0                       /* FREs of type ADDR1 */
        .byte   1                       /* SFRAME_FDE_TYPE_FLEX */
        .byte   0                       /* repetition size */
        .popsection
        .endif
        .endm

        /* COUNT data words of 1 byte.  */
        .macro  row name, count, words:vararg
.Lrow_\@:
        .set    row_count, row_count + 1
        .if     describable
        .pushsection .sframe, 2
        .byte   .Lrow_\@ - \name
        .byte   \count << 1
        .byte   \words
        .popsection
        .endif
        .endm

        /* COUNT data words of 2 bytes.  */
        .macro  wide_row name, count, words:vararg
.Lrow_\@:
        .set    row_count, row_count + 1
        .if     describable
        .pushsection .sframe, 2
        .byte   .Lrow_\@ - \name
        .byte   \count << 1 | 1 << 5
        .2byte  \words
        .popsection
        .endif
        .endm

        .macro  end name
.Lend_\name:
        .size   \name, . - \name
        .set    .Lcount_\name, row_count - first_row
        .endm

        .local  area
        .comm   area, 24, 8

        .text

#if defined(__x86_64__)

#define SP 7
#define FP 6
#define AT_SP(name, offset) row name, 2, REGISTER(SP), offset

        begin   cfa_on_stack
        AT_SP(cfa_on_stack, 8)
        leaq    8(%rsp), %rax
        subq    $24, %rsp
        AT_SP(cfa_on_stack, 32)
        movq    %rax, 8(%rsp)
        row     cfa_on_stack, 2, LOADED(SP), 8
        call    leaf
        AT_SP(cfa_on_stack, 32)
        movq    $0, 8(%rsp)
        addq    $24, %rsp
        AT_SP(cfa_on_stack, 8)
        ret
        end     cfa_on_stack

        begin   fp_from_sp
        AT_SP(fp_from_sp, 8)
        movl    $0x55, %ebp
        row     fp_from_sp, 5, REGISTER(SP), 8, NONE, REGISTER(SP), 8
        subq    $24, %rsp
        row     fp_from_sp, 5, REGISTER(SP), 32, NONE, REGISTER(SP), 32
        call    leaf
        addq    $24, %rsp
        row     fp_from_sp, 5, REGISTER(SP), 8, NONE, REGISTER(SP), 8
        leaq    8(%rsp), %rbp
        AT_SP(fp_from_sp, 8)
        ret
        end     fp_from_sp

        begin   fp_caller
        AT_SP(fp_caller, 8)
        pushq   %rbp
        row     fp_caller, 5, REGISTER(SP), 16, NONE, SLOT, -16
        movq    %rsp, %rbp
        call    fp_from_sp
        popq    %rbp
        AT_SP(fp_caller, 8)
        ret
        end     fp_caller

        begin   fp_from_fp
        AT_SP(fp_from_fp, 8)
        leaq    48(%rbp), %rbp
        row     fp_from_fp, 5, REGISTER(SP), 8, NONE, REGISTER(FP), -48
        subq    $24, %rsp
        row     fp_from_fp, 5, REGISTER(SP), 32, NONE, REGISTER(FP), -48
        call    leaf
        addq    $24, %rsp
        row     fp_from_fp, 5, REGISTER(SP), 8, NONE, REGISTER(FP), -48
        leaq    -48(%rbp), %rbp
        AT_SP(fp_from_fp, 8)
        ret
        end     fp_from_fp

        begin   ra_less
        AT_SP(ra_less, 8)
        movq    (%rsp), %r11
        subq    $100, %r11
        row     ra_less, 4, REGISTER(SP), 8, REGISTER(11), 100
        movq    %rsp, (%rsp)
        leal    3(%rdi), %eax
        leaq    100(%r11), %rdx
        movq    %rdx, (%rsp)
        AT_SP(ra_less, 8)
        xorl    %r11d, %r11d
        ret
        end     ra_less

        begin   saved_elsewhere
        AT_SP(saved_elsewhere, 8)
        leaq    area(%rip), %r10
        leaq    8(%rsp), %rax
        movq    %rax, (%r10)
        movq    (%rsp), %rax
        movq    %rax, 8(%r10)
        movq    %rbp, 16(%r10)
        row     saved_elsewhere, 6, LOADED(10), 0, LOADED(10), 8, LOADED(10), 16
        movq    %rsp, (%rsp)
        leal    3(%rdi), %ebp
        subq    $64, %rsp
        movl    %ebp, %eax
        addq    $64, %rsp
        movq    8(%r10), %rbp
        movq    %rbp, (%rsp)
        movq    16(%r10), %rbp
        AT_SP(saved_elsewhere, 8)
        movq    %r10, (%r10)
        ret
        end     saved_elsewhere

#elif defined(__aarch64__)

#define SP 31
#define FP 29
#define RA 30
#define AT_SP(name, offset) row name, 2, REGISTER(SP), offset

        begin   cfa_on_stack
        AT_SP(cfa_on_stack, 0)
        mov     x9, sp
        sub     sp, sp, #32
        AT_SP(cfa_on_stack, 32)
        stp     x9, x30, [sp, #8]
        row     cfa_on_stack, 4, LOADED(SP), 8, SLOT, -16
        bl      leaf
        ldr     x30, [sp, #16]
        AT_SP(cfa_on_stack, 32)
        stp     xzr, xzr, [sp, #8]
        add     sp, sp, #32
        AT_SP(cfa_on_stack, 0)
        ret
        end     cfa_on_stack

        begin   fp_from_sp
        AT_SP(fp_from_sp, 0)
        mov     x29, #0x55
        row     fp_from_sp, 5, REGISTER(SP), 0, NONE, REGISTER(SP), 0
        str     x30, [sp, #-32]!
        row     fp_from_sp, 6, REGISTER(SP), 32, LOADED(SP), 0, REGISTER(SP), 32
        bl      leaf
        ldr     x30, [sp], #32
        row     fp_from_sp, 5, REGISTER(SP), 0, NONE, REGISTER(SP), 0
        mov     x29, sp
        AT_SP(fp_from_sp, 0)
        ret
        end     fp_from_sp

        begin   fp_caller
        AT_SP(fp_caller, 0)
        stp     x29, x30, [sp, #-16]!
        row     fp_caller, 6, REGISTER(SP), 16, SLOT, -8, SLOT, -16
        mov     x29, sp
        bl      fp_from_sp
        ldp     x29, x30, [sp], #16
        AT_SP(fp_caller, 0)
        ret
        end     fp_caller

        begin   fp_from_fp
        AT_SP(fp_from_fp, 0)
        add     x29, x29, #48
        row     fp_from_fp, 5, REGISTER(SP), 0, NONE, REGISTER(FP), -48
        str     x30, [sp, #-32]!
        row     fp_from_fp, 6, REGISTER(SP), 32, LOADED(SP), 0, REGISTER(FP), -48
        bl      leaf
        ldr     x30, [sp], #32
        row     fp_from_fp, 5, REGISTER(SP), 0, NONE, REGISTER(FP), -48
        sub     x29, x29, #48
        AT_SP(fp_from_fp, 0)
        ret
        end     fp_from_fp

        begin   ra_less
        AT_SP(ra_less, 0)
        sub     x11, x30, #100
        row     ra_less, 4, REGISTER(SP), 0, REGISTER(11), 100
        add     w30, w0, #3
        mov     w0, w30
        add     x30, x11, #100
        AT_SP(ra_less, 0)
        mov     x11, #0
        ret
        end     ra_less

        begin   saved_elsewhere
        AT_SP(saved_elsewhere, 0)
        adrp    x10, area
        add     x10, x10, :lo12:area
        mov     x9, sp
        stp     x9, x30, [x10]
        str     x29, [x10, #16]
        row     saved_elsewhere, 6, LOADED(10), 0, LOADED(10), 8, LOADED(10), 16
        add     w29, w0, #3
        sub     sp, sp, #64
        mov     w30, w29
        add     sp, sp, #64
        mov     w0, w30
        ldp     x30, x29, [x10, #8]
        AT_SP(saved_elsewhere, 0)
        stp     xzr, xzr, [x10]
        ret
        end     saved_elsewhere

#elif defined(__s390x__)

#define SP 15
#define FP 11
#define AT_SP(name, offset) row name, 2, REGISTER(SP), CFA_OFFSET(offset)

        begin   cfa_on_stack
        AT_SP(cfa_on_stack, 160)
        stg     %r14, 112(%r15)
        row     cfa_on_stack, 4, REGISTER(SP), CFA_OFFSET(160), SLOT, -48
        la      %r1, 160(%r15)
        aghi    %r15, -192
        row     cfa_on_stack, 4, REGISTER(SP), CFA_OFFSET(352), SLOT, -48
        stg     %r1, 168(%r15)
        row     cfa_on_stack, 4, LOADED(SP), CFA_OFFSET(168), SLOT, -48
        brasl   %r14, leaf
        row     cfa_on_stack, 4, REGISTER(SP), CFA_OFFSET(352), SLOT, -48
        mvghi   168(%r15), 0
        aghi    %r15, 192
        row     cfa_on_stack, 4, REGISTER(SP), CFA_OFFSET(160), SLOT, -48
        lg      %r14, 112(%r15)
        br      %r14
        end     cfa_on_stack

        begin   fp_from_sp
        AT_SP(fp_from_sp, 160)
        stg     %r14, 112(%r15)
        lghi    %r11, 0x55
        wide_row fp_from_sp, 6, REGISTER(SP), CFA_OFFSET(160), LOADED(SP), 112, REGISTER(SP), 160
        aghi    %r15, -160
        wide_row fp_from_sp, 6, REGISTER(SP), CFA_OFFSET(320), LOADED(SP), 272, REGISTER(SP), 320
        brasl   %r14, leaf
        aghi    %r15, 160
        wide_row fp_from_sp, 6, REGISTER(SP), CFA_OFFSET(160), LOADED(SP), 112, REGISTER(SP), 160
        lg      %r14, 112(%r15)
        la      %r11, 160(%r15)
        AT_SP(fp_from_sp, 160)
        br      %r14
        end     fp_from_sp

        begin   fp_caller
        AT_SP(fp_caller, 160)
        stmg    %r11, %r14, 88(%r15)
        row     fp_caller, 6, REGISTER(SP), CFA_OFFSET(160), SLOT, -48, SLOT, -72
        aghi    %r15, -160
        row     fp_caller, 6, REGISTER(SP), CFA_OFFSET(320), SLOT, -48, SLOT, -72
        la      %r11, 160(%r15)
        brasl   %r14, fp_from_sp
        aghi    %r15, 160
        row     fp_caller, 6, REGISTER(SP), CFA_OFFSET(160), SLOT, -48, SLOT, -72
        lmg     %r11, %r14, 88(%r15)
        AT_SP(fp_caller, 160)
        br      %r14
        end     fp_caller

        begin   fp_from_fp
        AT_SP(fp_from_fp, 160)
        stg     %r14, 112(%r15)
        aghi    %r11, 48
        row     fp_from_fp, 6, REGISTER(SP), CFA_OFFSET(160), SLOT, -48, REGISTER(FP), -48
        aghi    %r15, -160
        row     fp_from_fp, 6, REGISTER(SP), CFA_OFFSET(320), SLOT, -48, REGISTER(FP), -48
        brasl   %r14, leaf
        aghi    %r15, 160
        row     fp_from_fp, 6, REGISTER(SP), CFA_OFFSET(160), SLOT, -48, REGISTER(FP), -48
        lg      %r14, 112(%r15)
        aghi    %r11, -48
        AT_SP(fp_from_fp, 160)
        br      %r14
        end     fp_from_fp

        begin   ra_less
        AT_SP(ra_less, 160)
        lgr     %r1, %r14
        aghi    %r1, -100
        row     ra_less, 4, REGISTER(SP), CFA_OFFSET(160), REGISTER(1), 100
        lghi    %r14, 3
        ar      %r2, %r14
        la      %r14, 100(%r1)
        AT_SP(ra_less, 160)
        lghi    %r1, 0
        br      %r14
        end     ra_less

        begin   saved_elsewhere
        AT_SP(saved_elsewhere, 160)
        larl    %r1, area
        la      %r0, 160(%r15)
        stg     %r0, 0(%r1)
        stg     %r14, 8(%r1)
        stg     %r11, 16(%r1)
        row     saved_elsewhere, 6, LOADED(1), CFA_OFFSET(0), LOADED(1), 8, LOADED(1), 16
        lgr     %r11, %r2
        lghi    %r14, 3
        aghi    %r15, -64
        ar      %r11, %r14
        aghi    %r15, 64
        lgfr    %r2, %r11
        lg      %r11, 16(%r1)
        lg      %r14, 8(%r1)
        AT_SP(saved_elsewhere, 160)
        mvghi   0(%r1), 0
        br      %r14
        end     saved_elsewhere

#endif

        .set    functions, function_count
        .set    rows, row_count
        .if     describable
        .section .sframe
        .subsection 2
.Lrows_end:
        .endif

        .section .note.GNU-stack, "", %progbits
