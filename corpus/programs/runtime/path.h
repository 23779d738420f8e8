/* The path of calls as the program itself keeps it, so that a call stack can be
   checked without any unwind data: while bench_path is not null, frames[0] to
   frames[depth - 1] are the functions that are active in this context, the
   outermost first, but for one that has not recorded itself yet or has taken
   itself off again.  */

#ifndef PATH_H
#define PATH_H

#include "runtime.h"

enum { BENCH_PATH_LIMIT = 64 };

struct bench_path {
    volatile uint64_t depth;
    const void *volatile frames[BENCH_PATH_LIMIT];
};

/* The path of the context that runs.  Null where the program can't tell just
   now: before it records anything, and while it switches or jumps.  */
extern struct bench_path *volatile bench_path;

#define ENTER(function)                                                        \
    do {                                                                       \
        bench_path->frames[bench_path->depth] = (const void *)(function);      \
        bench_path->depth = bench_path->depth + 1;                             \
    } while (0)
#define LEAVE()                                                                \
    do {                                                                       \
        BARRIER();                                                             \
        bench_path->depth = bench_path->depth - 1;                             \
    } while (0)

#endif
