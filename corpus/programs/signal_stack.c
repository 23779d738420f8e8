/* A signal handler that runs on a stack of its own.  With an argument it leaves
   that stack by going back to a context that the interrupted code has saved,
   the first times that it is called; what was interrupted starts again.  */

#include "runtime/path.h"
#include "runtime/signals.h"

enum { STACK_SIZE = 16384, ESCAPES = 8 };

/* As signal_stack.S reads and writes it.  */
struct context {
    uint64_t registers[24];
};

__attribute__((returns_twice)) int save_context(struct context *context);
void restore_context(const struct context *context);
unsigned push_and_pop(unsigned x);
unsigned several_exits(unsigned x);
unsigned frame_pointer(unsigned x);
unsigned late_save(unsigned x);
unsigned in_a_register(unsigned x);
int main(int argc, char **argv);

static _Alignas(16) unsigned char alternate_stack[STACK_SIZE];
static struct bench_path path;
static struct context home;
static volatile unsigned escapes_left;
static volatile unsigned can_escape;
static volatile unsigned handled;
static volatile unsigned noted;

NOIPA unsigned handler_leaf(unsigned x)
{
    return x * 3 + 1;
}

NOIPA unsigned handler_nested(unsigned x)
{
    unsigned y = handler_leaf(x);

    if (can_escape && escapes_left > 0) {
        can_escape = 0;
        escapes_left = escapes_left - 1;
        restore_context(&home);
    }
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

NOIPA unsigned compute(unsigned x)
{
    unsigned y;

    ENTER(compute);
    y = descend(x % 6, x);
    bench_path = NULL; /* these record nothing */
    y += push_and_pop(x);
    y += several_exits(x);
    y += frame_pointer(x);
    y += late_save(x);
    y += in_a_register(x);
    bench_path = &path;
    LEAVE();
    return y;
}

NOIPA void unblock(void)
{
    static const uint64_t mask = (uint64_t)1 << (SIGNAL - 1);

    bench_system_call(RT_SIGPROCMASK, SIG_UNBLOCK, (long)&mask, 0, sizeof mask);
    BARRIER();
}

NOIPA unsigned attempt(unsigned x)
{
    unsigned depth;
    unsigned y;

    ENTER(attempt);
    depth = path.depth;
    if (save_context(&home) != 0) {
        unblock();
        path.depth = depth;
        bench_path = &path;
    }
    can_escape = 1;
    y = compute(x);
    can_escape = 0;
    LEAVE();
    return y;
}

NOIPA long install(void)
{
    struct signal_action action = {
        .handler = handler,
        .flags = SA_SIGINFO | SA_RESTORER | SA_ONSTACK,
        .restorer = bench_restorer,
    };
    struct signal_stack stack = {.sp = alternate_stack, .size = sizeof alternate_stack};
    long error;

    ENTER(install);
    error = bench_system_call(SIGALTSTACK, (long)&stack, 0, 0, 0);
    error |= bench_system_call(RT_SIGACTION, SIGNAL, (long)&action, 0,
                               sizeof action.mask);
    LEAVE();
    return error;
}

int main(int argc, char **argv)
{
    unsigned sum;

    (void)argv;
    bench_path = &path;
    ENTER(main);
    escapes_left = argc > 1 ? ESCAPES : 0;
    sum = install();
    for (unsigned i = 0; i < 16; i++)
        sum = sum * 31 + attempt(i);
#ifdef RAISE
    sum += handled == 0;
#endif
    LEAVE();
    bench_path = NULL;
    return bench_check(sum, 0x05483f9b);
}
