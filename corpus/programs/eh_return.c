/* Exits into landing pads as the unwinder of exceptions makes them at its very
   end: a function that replaces its own return address and SP, and returns.  */

#include "runtime/path.h"

typedef unsigned Function(unsigned);

/* In landing_pads.S; what they call here are `landed` and a Function.  */
unsigned catch_equal(Function *function, unsigned x);
unsigned catch_higher(Function *function, unsigned x);

/* The handlers that are set, the innermost first, as landing_pads.S has them.  */
struct handler {
    struct handler *next;
    void *pad;
    char *sp;
    void *fp;
};
struct handler *handlers;
unsigned cleanups;

static struct bench_path path;
static volatile unsigned thrown;

/* Called by landing pads. What they have in the register for it is nothing that
   was thrown.  */
NOIPA unsigned landed(unsigned x)
{
    BARRIER();
    x = thrown;
    return x * 3 + 1;
}

/* Returns, or leaves for the innermost handler.  */
NOIPA void leave(unsigned x)
{
    if (x != 0) {
        struct handler *handler = handlers;
        char *cfa = __builtin_dwarf_cfa();

        thrown = x;
        handlers = handler->next;
        __builtin_unwind_init();
#if defined(__s390x__)
        /* SP is loaded from where the function has saved it.  */
        *(char **)(cfa - 40) = handler->sp;
        BARRIER();
#endif
        __builtin_eh_return(handler->sp - cfa, handler->pad);
    }
    thrown = thrown + 1;
}

/* X / 16 more frames, and at the end of them leave(x % 16).  */
NOIPA unsigned sink(unsigned x)
{
    unsigned levels = x / 16;

    ENTER(sink);
    if (levels > 0) {
        x = sink(x - 16) + levels;
    } else {
        bench_path = NULL;
        leave(x % 16);
        bench_path = &path;
    }
    LEAVE();
    return x;
}

typedef unsigned Catch(Function *function, unsigned x);

NOIPA unsigned attempt(Catch *catch, unsigned x)
{
    uint64_t depth;

    ENTER(attempt);
    depth = path.depth;
    x = catch(sink, x);
    path.depth = depth;
    bench_path = &path;
    LEAVE();
    return x;
}

int main(void)
{
    unsigned sum = 0;

    bench_path = &path;
    ENTER(main);
    for (unsigned levels = 0; levels < 8; levels++) {
        for (unsigned value = 0; value < 3; value++) {
            sum = sum * 31 + attempt(catch_equal, levels * 16 + value);
            sum = sum * 31 + attempt(catch_higher, levels * 16 + value);
        }
    }
    LEAVE();
    return bench_check(sum + (unsigned)path.depth + cleanups, 0x9c482580);
}
