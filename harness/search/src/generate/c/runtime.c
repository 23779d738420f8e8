/* What each generated program has: its entry, and what compilers call. */
#include "generated.h"

volatile u32 zero;

/* Examples begin otherwise, and have no result. */
#ifndef EXAMPLE
__attribute__((used, visibility("hidden"))) unsigned long long result;

__asm__(
    "\t.text\n\t.globl _start\n\t.type _start, %function\n_start:\n"
#if defined(__x86_64__)
#ifdef RELOCATED
    "\tcall relocate\n"
#endif
    "\tcall begin\n"
    "\tmovl $1, %eax\n\tmovl $1, %edi\n\tleaq result(%rip), %rsi\n\tmovl $8, %edx\n\tsyscall\n"
    "\tmovl $231, %eax\n\txorl %edi, %edi\n\tsyscall\n\tud2\n"
#elif defined(__aarch64__)
#ifdef RELOCATED
    "\tbl relocate\n"
#endif
    "\tbl begin\n"
    "\tmov x8, #64\n\tmov x0, #1\n\tadrp x1, result\n\tadd x1, x1, :lo12:result\n\tmov x2, #8\n\tsvc #0\n"
    "\tmov x8, #94\n\tmov x0, #0\n\tsvc #0\n\tbrk #1\n"
#else
    "\taghi %r15, -160\n"
#ifdef RELOCATED
    "\tbrasl %r14, relocate\n"
#endif
    "\tbrasl %r14, begin\n"
    "\tlghi %r2, 1\n\tlarl %r3, result\n\tlghi %r4, 8\n\tsvc 4\n"
    "\tlghi %r2, 0\n\tsvc 248\n\tj .+2\n"
#endif
    "\t.size _start, . - _start\n");
#endif

#pragma GCC visibility push(hidden)

/* Barriers keep compilers from calling a function for its own loop. */

void *memcpy(void *target, const void *source, __SIZE_TYPE__ size)
{
    for (__SIZE_TYPE__ i = 0; i < size; i++) {
        ((char *)target)[i] = ((const char *)source)[i];
        BARRIER;
    }
    return target;
}

void *memmove(void *target, const void *source, __SIZE_TYPE__ size)
{
    if ((__UINTPTR_TYPE__)target <= (__UINTPTR_TYPE__)source)
        return memcpy(target, source, size);
    while (size-- > 0) {
        ((char *)target)[size] = ((const char *)source)[size];
        BARRIER;
    }
    return target;
}

void *memset(void *target, int value, __SIZE_TYPE__ size)
{
    for (__SIZE_TYPE__ i = 0; i < size; i++) {
        ((char *)target)[i] = (char)value;
        BARRIER;
    }
    return target;
}

int memcmp(const void *left, const void *right, __SIZE_TYPE__ size)
{
    const unsigned char *a = left, *b = right;

    for (__SIZE_TYPE__ i = 0; i < size; i++) {
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
        BARRIER;
    }
    return 0;
}

/* For code that protects its stack. */
__UINTPTR_TYPE__ __stack_chk_guard = 0x00c0ffee0badf00d;
__attribute__((noreturn, used)) void __stack_chk_fail(void) { __builtin_trap(); }

__attribute__((noinline)) u32 sink(const volatile u32 *words, u32 count)
{
    u32 sum = count;

    for (u32 i = 0; i < count; i++)
        sum = sum * 7 + words[i];
    return sum;
}

__attribute__((noinline)) u32 leap(u32 levels, u32 x, void **buffer)
{
    if (levels > 0)
        x = leap(levels - 1, x * 5 + 1, buffer) + levels;
    else if (x & 1)
        __builtin_longjmp(buffer, 1);
    BARRIER;
    return x;
}

__attribute__((noreturn, noinline, cold)) void never(u32 x)
{
    zero = x;
    for (;;)
        BARRIER;
}

#ifndef EXAMPLE
__attribute__((used, noinline)) void begin(void)
{
    result = run();
    BARRIER;
}
#endif

#ifdef RELOCATED
extern const struct { long tag; unsigned long value; } _DYNAMIC[];
extern const char __ehdr_start[];
struct relocation { unsigned long offset, info; long addend; };
struct symbol { u32 name; unsigned char info, other; unsigned short section; unsigned long value, size; };

static __attribute__((noinline)) unsigned long dynamic(long tag)
{
    for (u32 i = 0; _DYNAMIC[i].tag != 0; i++)
        if (_DYNAMIC[i].tag == tag)
            return _DYNAMIC[i].value;
    return 0;
}

/* Each type that these programs have is the address of a symbol, or one without. */
static __attribute__((noinline)) void table(unsigned long base, unsigned long at, unsigned long size)
{
    const struct symbol *symbols = (const struct symbol *)(base + dynamic(6));
    const struct relocation *all = (const struct relocation *)(base + at);

    for (u32 i = 0; i < size / sizeof *all; i++)
        *(volatile unsigned long *)(base + all[i].offset) =
            base + (unsigned long)all[i].addend + symbols[all[i].info >> 32].value;
}

__attribute__((used, noinline)) void relocate(void)
{
    unsigned long base = (unsigned long)__ehdr_start;

    table(base, dynamic(7), dynamic(8));
    table(base, dynamic(23), dynamic(2));
    BARRIER;
}
#endif
#pragma GCC visibility pop
