/* Signals before each instruction of a procedure linkage table, and a handler that
   ends in a jump through it: another function returns to the restorer.  */

#include "runtime/signals.h"

#define EXPORT __attribute__((visibility("default"))) NOIPA

static volatile unsigned handled;
static volatile unsigned noted;

EXPORT unsigned handler_leaf(unsigned x)
{
    return x * 3 + 1;
}

/* What the handler ends in.  */
EXPORT void handler_rest(int number, void *information, void *context)
{
    (void)information;
    (void)context;
    noted = handler_leaf(noted + number);
    BARRIER();
}

/* Ends in a jump, where optimised; of a signal, it has made a frame before.  */
static NOIPA void handler(int number, void *information, void *context)
{
    handled = handled + 1;
    if (number != 0)
        handled = handler_leaf(handled) / 3;
    handler_rest(number, information, context);
}

EXPORT unsigned leaf(unsigned x)
{
    SIGNAL_MAY_COME();
    return x * 7 + 2;
}

EXPORT unsigned nested(unsigned x)
{
    unsigned y = leaf(x);

    SIGNAL_MAY_COME();
    y += leaf(y);
    BARRIER();
    return y;
}

/* A jump through the table, where optimised.  */
EXPORT unsigned tail_call(unsigned x)
{
    return nested(x * 5);
}

EXPORT unsigned compute(unsigned x)
{
    unsigned y = nested(x);

    y = y * 31 + tail_call(x);
    BARRIER();
    return y;
}

static long install(void)
{
    struct signal_action action = {
        .handler = handler,
        .flags = SA_SIGINFO | SA_RESTORER,
        .restorer = bench_restorer,
    };

    return bench_system_call(RT_SIGACTION, SIGNAL, (long)&action, 0, sizeof action.mask);
}

int main(void)
{
    unsigned sum = install();

    handler(0, NULL, NULL);
    for (unsigned i = 0; i < 4; i++)
        sum = sum * 31 + compute(i);
#ifdef RAISE
    sum += handled == 0;
#endif
    return bench_check(sum, 0x012e1fc0);
}
