/* SPDX-License-Identifier: GPL-2.0 */
/* A function in assembly that calls another one through a pointer, with call frame information of its own.  */
#include <linux/linkage.h>
#if defined(__x86_64__)
#include <asm/nospec-branch.h>
#endif

	.text
SYM_FUNC_START(sample_entry)
	.cfi_startproc
#if defined(__x86_64__)
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbp, -16
	movq	%rdi, %rax
	movq	%rsi, %rdi
	call	sample_call
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	RET
#elif defined(__aarch64__)
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x9, x0
	mov	x0, x1
	bl	sample_call
	ldp	x29, x30, [sp], #16
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
#elif defined(__s390x__)
	stmg	%r11, %r15, 88(%r15)
	.cfi_offset %r11, -72
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi	%r15, -160
	.cfi_adjust_cfa_offset 160
	lgr	%r1, %r2
	lgr	%r2, %r3
	brasl	%r14, sample_call
	lmg	%r11, %r15, 248(%r15)
	.cfi_restore %r11
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_def_cfa_offset 160
	br	%r14
#endif
	.cfi_endproc
SYM_FUNC_END(sample_entry)

/* Jumps to the pointer.  */
SYM_FUNC_START_LOCAL(sample_call)
	.cfi_startproc
#if defined(__x86_64__)
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%rax
#elif defined(__aarch64__)
	br	x9
#elif defined(__s390x__)
	br	%r1
#endif
	.cfi_endproc
SYM_FUNC_END(sample_call)
