/* What all files of a generated program see. */
#ifndef GENERATED_H
#define GENERATED_H

typedef unsigned u32;
typedef u32 (*function)(u32, u32);

#if defined(__s390x__) || defined(__clang__)
#define REALIGNED __attribute__((noinline))
#elif defined(__x86_64__)
#define REALIGNED __attribute__((noinline, force_align_arg_pointer))
#else
#define REALIGNED __attribute__((noinline))
#endif
#if defined(__x86_64__)
#define OTHER_SYSTEM __attribute__((noinline, ms_abi))
#else
#define OTHER_SYSTEM __attribute__((noinline))
#endif

#if defined(__x86_64__)
#define REGISTERS_0 __asm__ volatile("" ::: "rbx")
#define REGISTERS_1 __asm__ volatile("" ::: "rbx", "r12", "r13")
#define REGISTERS_2 __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15")
#define REGISTERS_3 __asm__ volatile("" ::: "r15")
#elif defined(__aarch64__)
#define REGISTERS_0 __asm__ volatile("" ::: "x19")
#define REGISTERS_1 __asm__ volatile("" ::: "x20", "x21", "d8")
#define REGISTERS_2 __asm__ volatile("" ::: "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28")
#define REGISTERS_3 __asm__ volatile("" ::: "d8", "d9", "d10", "d11")
#else
#define REGISTERS_0 __asm__ volatile("" ::: "r6")
#define REGISTERS_1 __asm__ volatile("" ::: "r7", "r8", "f8")
#define REGISTERS_2 __asm__ volatile("" ::: "r6", "r7", "r8", "r9", "r10")
#define REGISTERS_3 __asm__ volatile("" ::: "f8", "f9", "f10")
#endif
#define BARRIER __asm__ volatile("" ::: "memory")

#pragma GCC visibility push(hidden)
/* Always 0, which no compiler knows. */
extern volatile u32 zero;
/* Reads some words of an array. */
u32 sink(const volatile u32 *words, u32 count);
/* Calls itself some times, and perhaps leaves all of these by a jump. */
u32 leap(u32 levels, u32 x, void **buffer);
__attribute__((noreturn, cold)) void never(u32 x);
void *memcpy(void *, const void *, __SIZE_TYPE__);
void *memmove(void *, const void *, __SIZE_TYPE__);
void *memset(void *, int, __SIZE_TYPE__);
int memcmp(const void *, const void *, __SIZE_TYPE__);
u32 run(void);
#pragma GCC visibility pop

#endif
