/* Coroutines on stacks of their own, side by side in memory: entered in ascending
   and in descending order, from main and from one another, resumed in any order
   and from nested calls.  One that has finished leaves its stack to the next.  */

#include "runtime/path.h"

enum { STACKS = 4, STACK_SIZE = 4096, GENERATED = 40 };

struct coroutine {
    void *sp;                   /* where it is parked */
    struct coroutine *resumer;  /* gets what it yields */
    unsigned value;
    struct bench_path path;
};

void switch_stacks(void **from, void *to);
void *prepare_stack(void *top, void (*function)(void *), void *argument);
void coroutine_exit(void);
int main(void);

static _Alignas(16) unsigned char stacks[STACKS][STACK_SIZE];
static struct coroutine coroutines[STACKS];
static struct coroutine main_coroutine;
static struct coroutine *current;

/* The path is unknown from here until the function that resumes has set it.  */
NOIPA void transfer(struct coroutine *to)
{
    struct coroutine *from = current;

    bench_path = NULL;
    current = to;
    switch_stacks(&from->sp, to->sp);
    bench_path = &from->path;
}

NOIPA unsigned resume(struct coroutine *to)
{
    ENTER(resume);
    to->resumer = current;
    transfer(to);
    LEAVE();
    return to->value;
}

NOIPA void yield(unsigned value)
{
    ENTER(yield);
    current->value = value;
    transfer(current->resumer);
    LEAVE();
}

/* Called when a coroutine's function has returned.  Nobody resumes the coroutine
   any more, so this does not return.  */
NOIPA void coroutine_exit(void)
{
    ENTER(coroutine_exit);
    current->value = 0;
    transfer(current->resumer);
    __builtin_trap();
}

NOIPA void create(unsigned stack, void (*function)(void *), uintptr_t argument)
{
    struct coroutine *coroutine = &coroutines[stack];

    ENTER(create);
    coroutine->path.depth = 0;
    coroutine->sp = prepare_stack(stacks[stack] + STACK_SIZE, function, (void *)argument);
    LEAVE();
}

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

/* Yields from the innermost of DEPTH calls.  */
NOIPA unsigned nested(unsigned depth, unsigned x)
{
    ENTER(nested);
    if (depth == 0) {
        yield(leaf(x));
    } else {
        x = nested(depth - 1, x + depth);
        x = leaf(x);
    }
    LEAVE();
    return x;
}

/* Yields three times, each time from other depths.  */
NOIPA void worker(void *argument)
{
    unsigned x = (uintptr_t)argument;

    bench_path = &current->path;
    ENTER(worker);
    x = nested(x, x);
    yield(x);
    x = nested(2, x);
    LEAVE();
}

NOIPA void generator(void *argument)
{
    unsigned x = (uintptr_t)argument;

    bench_path = &current->path;
    ENTER(generator);
    for (unsigned i = 0; i < GENERATED; i++) {
        yield(x);
        x = x * 5 + 1;
    }
    LEAVE();
}

/* Starts the coroutine on the stack below its own, which does the same.  */
NOIPA void chained(void *argument)
{
    unsigned stack = (uintptr_t)argument;
    unsigned below = 0;

    bench_path = &current->path;
    ENTER(chained);
    if (stack > 0) {
        create(stack - 1, chained, stack - 1);
        below = resume(&coroutines[stack - 1]);
    }
    nested(1, below + stack);
    if (stack > 0)
        resume(&coroutines[stack - 1]);
    LEAVE();
}

NOIPA unsigned ascending(void)
{
    static const unsigned char order[] = {0, 1, 2, 3, 2, 0, 3, 1};
    unsigned sum = 0;

    ENTER(ascending);
    for (unsigned i = 0; i < STACKS; i++)
        create(i, worker, i);
    for (unsigned i = 0; i < sizeof order; i++)
        sum = sum * 31 + resume(&coroutines[order[i]]);
    /* One finishes, and another one takes its stack.  */
    sum = sum * 31 + resume(&coroutines[1]);
    sum = sum * 31 + resume(&coroutines[1]);
    create(1, worker, 5);
    for (unsigned i = 0; i < 4; i++) {
        sum = sum * 31 + resume(&coroutines[1]);
        sum = sum * 31 + resume(&coroutines[i < 2 ? 3 : 0]);
    }
    sum = sum * 31 + resume(&coroutines[2]);
    sum = sum * 31 + resume(&coroutines[2]);
    LEAVE();
    return sum;
}

NOIPA unsigned descending(void)
{
    unsigned sum;

    ENTER(descending);
    create(STACKS - 1, chained, STACKS - 1);
    sum = resume(&coroutines[STACKS - 1]);
    sum = sum * 31 + resume(&coroutines[STACKS - 1]);
    LEAVE();
    return sum;
}

NOIPA unsigned generate(void)
{
    unsigned sum = 0;

    ENTER(generate);
    create(2, generator, 3);
    create(0, generator, 4);
    for (unsigned i = 0; i < GENERATED; i++) {
        sum = sum * 3 + resume(&coroutines[2]);
        sum = sum * 3 + resume(&coroutines[0]);
    }
    sum += resume(&coroutines[0]);
    sum += resume(&coroutines[2]);
    LEAVE();
    return sum;
}

int main(void)
{
    unsigned sum;

    current = &main_coroutine;
    bench_path = &main_coroutine.path;
    ENTER(main);
    sum = ascending();
    sum = sum * 31 + descending();
    sum = sum * 31 + generate();
    LEAVE();
    bench_path = NULL;
    return bench_check(sum, 0xd5623319);
}
