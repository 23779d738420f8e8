/* What programs that handle a signal need of Linux.  The signal comes from
   outside: no program sends it.  */

#ifndef SIGNALS_H
#define SIGNALS_H

#include "runtime.h"

enum {
#if defined(__x86_64__)
    RT_SIGACTION = 13,
    RT_SIGPROCMASK = 14,
    SIGALTSTACK = 131,
    GETPID = 39,
    KILL = 62,
#elif defined(__aarch64__)
    RT_SIGACTION = 134,
    RT_SIGPROCMASK = 135,
    SIGALTSTACK = 132,
    GETPID = 172,
    KILL = 129,
#elif defined(__s390x__)
    RT_SIGACTION = 174,
    RT_SIGPROCMASK = 175,
    SIGALTSTACK = 186,
    GETPID = 20,
    KILL = 37,
#endif
    SIGNAL = 10, /* SIGUSR1 */
    SA_SIGINFO = 0x4,
    SA_RESTORER = 0x4000000,
    SA_ONSTACK = 0x8000000,
    SIG_UNBLOCK = 1
};

/* The kernel's form of these, not the C library's.  */
struct signal_action {
    void (*handler)(int, void *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};
struct signal_stack {
    void *sp;
    int flags;
    size_t size;
};

#pragma GCC visibility push(hidden)

long bench_system_call(long number, long first, long second, long third, long fourth);

/* Where a handler returns to.  */
void bench_restorer(void);

#pragma GCC visibility pop

/* Where a build with -DRAISE sends the signal to itself, to be run by a kernel.  */
#ifdef RAISE
#define SIGNAL_MAY_COME()                                                      \
    bench_system_call(KILL, bench_system_call(GETPID, 0, 0, 0, 0), SIGNAL, 0, 0)
#else
#define SIGNAL_MAY_COME() ((void)0)
#endif

#endif
