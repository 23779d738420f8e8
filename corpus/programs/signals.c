/* A signal may interrupt any of these computations, and its handler changes
   nothing of them.  */

#include "runtime/path.h"
#include "runtime/signals.h"

unsigned push_and_pop(unsigned x);
unsigned several_exits(unsigned x);
unsigned frame_pointer(unsigned x);
unsigned late_save(unsigned x);
unsigned in_a_register(unsigned x);
void restorer_with_cfi(void);
int main(void);

/* signals_cfi.S has another one.  */
#ifndef RESTORER
#define RESTORER bench_restorer
#endif

static struct bench_path path;
static volatile unsigned handled;
static volatile unsigned noted;

NOIPA unsigned handler_leaf(unsigned x)
{
    return x * 3 + 1;
}

NOIPA unsigned handler_nested(unsigned x)
{
    unsigned y = handler_leaf(x);

    y += handler_leaf(y);
    BARRIER();
    return y;
}

/* Not on the path, which it may have interrupted half recorded.  */
NOIPA void handler(int number, void *information, void *context)
{
    struct bench_path *interrupted = bench_path;

    (void)information;
    (void)context;
    bench_path = NULL;
    handled = handled + 1;
    noted = handler_nested(noted + number);
    bench_path = interrupted;
}

NOIPA unsigned leaf(unsigned x)
{
    SIGNAL_MAY_COME();
    return x * 7 + 2;
}

NOIPA unsigned framed(unsigned x)
{
    volatile unsigned values[4];
    unsigned y;

    ENTER(framed);
    for (unsigned i = 0; i < 4; i++)
        values[i] = leaf(x + i);
    SIGNAL_MAY_COME();
    y = values[0] + values[1] * values[2] + values[3];
    LEAVE();
    return y;
}

NOIPA unsigned descend(unsigned depth, unsigned x)
{
    ENTER(descend);
    if (depth > 0)
        x = descend(depth - 1, x * 3 + depth);
    else
        x = leaf(x);
    SIGNAL_MAY_COME();
    LEAVE();
    return x;
}

NOIPA unsigned called_last(unsigned x)
{
    unsigned y = leaf(x);

    SIGNAL_MAY_COME();
    y += leaf(y);
    BARRIER();
    return y;
}

/* A jump, where optimised.  */
NOIPA unsigned tail_call(unsigned x)
{
    return called_last(x * 5);
}

/* None of these records itself.  */
NOIPA unsigned unrecorded(unsigned x)
{
    unsigned y;

    ENTER(unrecorded);
    bench_path = NULL;
    y = tail_call(x);
    y += push_and_pop(x);
    y += several_exits(x);
    y += frame_pointer(x);
    y += late_save(x);
    y += in_a_register(x);
    bench_path = &path;
    LEAVE();
    return y;
}

NOIPA unsigned compute(unsigned x)
{
    unsigned y;

    ENTER(compute);
    y = framed(x);
    y = y * 31 + descend(x % 6, y);
    y = y * 31 + unrecorded(x);
    LEAVE();
    return y;
}

NOIPA long install(void)
{
    struct signal_action action = {
        .handler = handler,
        .flags = SA_SIGINFO | SA_RESTORER,
        .restorer = RESTORER,
    };
    long error;

    ENTER(install);
    error = bench_system_call(RT_SIGACTION, SIGNAL, (long)&action, 0, sizeof action.mask);
    LEAVE();
    return error;
}

int main(void)
{
    unsigned sum;

    bench_path = &path;
    ENTER(main);
    sum = install();
    for (unsigned i = 0; i < 14; i++)
        sum = sum * 31 + compute(i);
#ifdef RAISE
    sum += handled == 0;
#endif
    LEAVE();
    bench_path = NULL;
    return bench_check(sum, 0xb6ea7bc3);
}
