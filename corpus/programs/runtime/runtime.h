/* What programs may use: there is no C library below them.  Each function is in
   the file of its name, and only in the builds that need it.  */

#ifndef RUNTIME_H
#define RUNTIME_H

#include <stddef.h>
#include <stdint.h>

/* A function that keeps its own frame: never inlined, cloned or specialised.  */
#define NOIPA __attribute__((noipa))

/* A function that stays although nothing seems to call it.  */
#define KEEP __attribute__((used))

/* Memory may change here.  After a call it keeps that call from becoming a
   jump, at every optimisation level.  */
#define BARRIER() __asm__ volatile("" ::: "memory")

/* Makes the compiler forget what it knows about the value of VARIABLE.  */
#define OPAQUE(variable) __asm__ volatile("" : "+r"(variable))

#pragma GCC visibility push(hidden)

void *memcpy(void *target, const void *source, size_t size);
void *memmove(void *target, const void *source, size_t size);
void *memset(void *target, int value, size_t size);
int memcmp(const void *left, const void *right, size_t size);

/* The exit status of a program that computed GOT and should have computed
   WANT: 0 if they are equal, otherwise 1.  */
int bench_check(unsigned got, unsigned want);

/* Ends the process at once.  */
__attribute__((noreturn)) void bench_exit(int status);

/* Applies the program's own dynamic relocations.  Called by _start, and only
   in position-independent programs.  */
void runtime_relocate(void);

#pragma GCC visibility pop

#endif
