/* Exits into the landing pads of frames further out, from one frame below them
   to more than ten, with cleanups on the way.  */

#include "runtime/path.h"

typedef unsigned Function(unsigned);

unsigned catch_equal(Function *function, unsigned x);
unsigned catch_higher(Function *function, unsigned x);
unsigned catch_lower(Function *function, unsigned x);
unsigned cleanup(Function *function, unsigned x);
/* Their type is that of what can be called where something catches.  */
__attribute__((noreturn)) unsigned raise(unsigned value);
__attribute__((noreturn)) unsigned raise_frameless(unsigned value);

/* The handlers that are set, the innermost first; landing_pads.S knows them.  */
void *handlers;
/* How many cleanups have run because of an exit.  */
unsigned cleanups;

static struct bench_path path;

/* Called by landing pads.  */
NOIPA unsigned landed(unsigned x)
{
    return x * 3 + 1;
}

/* X / 16 more frames, and at the end of them: 0 returns, 1 raises, 2 raises
   from a function without a frame.  */
NOIPA unsigned sink(unsigned x)
{
    unsigned levels = x / 16;

    ENTER(sink);
    if (levels > 0) {
        x = levels % 4 == 2 ? cleanup(sink, x - 16) : sink(x - 16);
        x += levels;
    } else if (x > 0) {
        bench_path = NULL;
        if (x == 1)
            raise(x + 100);
        raise_frameless(x + 100);
    }
    LEAVE();
    return x;
}

typedef unsigned Catch(Function *function, unsigned x);

NOIPA unsigned attempt(Catch *catch, Function *function, unsigned x)
{
    uint64_t depth;

    ENTER(attempt);
    depth = path.depth;
    if (function != sink)
        bench_path = NULL;
    x = catch(function, x);
    path.depth = depth;
    bench_path = &path;
    LEAVE();
    return x;
}

int main(void)
{
    Catch *const catches[] = {catch_equal, catch_higher, catch_lower};
    unsigned sum = 0;

    bench_path = &path;
    ENTER(main);
    for (unsigned i = 0; i < 3; i++) {
        unsigned value = attempt(catches[i], raise, i);
        sum = sum * 31 + value;
        value = attempt(catches[i], raise_frameless, i + 1);
        sum = sum * 31 + value;
        for (unsigned levels = 0; levels <= 10; levels += 1 + 2 * i) {
            for (unsigned way = 0; way < 3; way++) {
                value = attempt(catches[i], sink, levels * 16 + way);
                sum = sum * 31 + value;
            }
        }
    }
    LEAVE();
    return bench_check(sum + (unsigned)path.depth + (cleanups << 16), 0x0fa44d29);
}
