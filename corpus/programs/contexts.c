/* Contexts as makecontext and swapcontext have them: a function is entered by a
   jump on a stack of its own, with an argument in its register, and returns to
   context_exit.  */

#include "runtime/path.h"

enum { CONTEXTS = 3, STACK_SIZE = 4096, ROUNDS = 12 };

/* As contexts.S reads and writes it.  */
struct context {
#if defined(__x86_64__)
    uint64_t general[5]; /* rbx, r12 to r15 */
    uint64_t fp, sp, pc;
#elif defined(__aarch64__)
    uint64_t general[10]; /* x19 to x28 */
    uint64_t floating[8]; /* d8 to d15 */
    uint64_t fp, lr, sp, pc;
#elif defined(__s390x__)
    uint64_t general[5]; /* r6 to r10 */
    uint64_t fp;
    uint64_t more[2]; /* r12, r13 */
    uint64_t lr, sp;
    uint64_t floating[8]; /* f8 to f15 */
    uint64_t pc;
#endif
    uint64_t argument;
};

struct task {
    struct context context;
    struct task *link; /* resumed when the function has returned */
    unsigned value;
    struct bench_path path;
};

void swap_context(struct context *save, const struct context *load);
void load_context(const struct context *load);
void context_exit(void);
void context_return(void);
int main(void);

static _Alignas(16) unsigned char stacks[CONTEXTS][STACK_SIZE];
static struct task tasks[CONTEXTS];
static struct task main_task;
static struct task *current;

NOIPA void make_context(struct task *task, unsigned char *top, void (*function)(unsigned),
                        unsigned argument)
{
    struct context *context = &task->context;

    ENTER(make_context);
    context->fp = 0;
    context->argument = argument;
#if defined(__x86_64__)
    /* A return address lies there, and above it nothing.  */
    ((uint64_t *)top)[-1] = 0;
    ((uint64_t *)top)[-2] = 0;
    ((uint64_t *)top)[-3] = (uint64_t)context_exit;
    context->sp = (uint64_t)top - 24;
    context->pc = (uint64_t)function;
#elif defined(__aarch64__)
    /* The frame record of context_exit.  */
    ((uint64_t *)top)[-1] = 0;
    ((uint64_t *)top)[-2] = 0;
    context->sp = (uint64_t)top - 16;
    context->lr = (uint64_t)context_exit;
    context->pc = (uint64_t)function;
#elif defined(__s390x__)
    context->sp = (uint64_t)top - 160;
    context->lr = (uint64_t)context_exit;
    context->pc = (uint64_t)function;
#endif
    task->path.depth = 0;
    LEAVE();
}

/* The path is unknown from here until the function that resumes has set it.  */
NOIPA void switch_to(struct task *to)
{
    struct task *from = current;

    bench_path = NULL;
    current = to;
    swap_context(&from->context, &to->context);
    bench_path = &from->path;
}

/* The rest of the context that has finished.  */
NOIPA void context_return(void)
{
    struct task *link = current->link;

    bench_path = NULL;
    current = link;
    load_context(&link->context);
    __builtin_trap();
}

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

/* Hands VALUE to another task, from the innermost of DEPTH calls.  */
NOIPA unsigned hand_over(unsigned depth, struct task *to, unsigned value)
{
    unsigned result;

    ENTER(hand_over);
    if (depth > 0) {
        result = leaf(value);
        result += hand_over(depth - 1, to, result);
    } else {
        to->value = value;
        result = value;
        switch_to(to);
        result += current->value;
    }
    LEAVE();
    return result;
}

/* Goes back and forth with main.  */
NOIPA void worker(unsigned argument)
{
    unsigned x = argument;

    bench_path = &current->path;
    ENTER(worker);
    for (unsigned i = 0; i < ROUNDS; i++)
        x += hand_over(i % 4, &main_task, x);
    main_task.value = x;
    LEAVE();
}

/* Goes back and forth with the task beside it, which it enters first.  */
NOIPA void pair(unsigned argument)
{
    struct task *other = &tasks[argument];
    unsigned x = argument;

    bench_path = &current->path;
    ENTER(pair);
    for (unsigned i = 0; i < ROUNDS; i++)
        x += hand_over(i % 3, other, x);
    current->link->value += x;
    LEAVE();
}

NOIPA unsigned with_main(void)
{
    unsigned sum = 0;

    ENTER(with_main);
    for (unsigned i = 0; i < CONTEXTS; i++) {
        tasks[i].link = &main_task;
        make_context(&tasks[i], stacks[i] + STACK_SIZE, worker, i + 1);
    }
    for (unsigned round = 0; round <= ROUNDS; round++) {
        for (unsigned i = 0; i < CONTEXTS; i++)
            sum = sum * 31 + hand_over(round % 2, &tasks[(i + round) % CONTEXTS], sum);
    }
    LEAVE();
    return sum;
}

NOIPA unsigned with_each_other(void)
{
    unsigned sum;

    ENTER(with_each_other);
    main_task.value = 0;
    tasks[0].link = &tasks[2];
    tasks[2].link = &main_task;
    make_context(&tasks[0], stacks[0] + STACK_SIZE, pair, 2);
    make_context(&tasks[2], stacks[2] + STACK_SIZE, pair, 0);
    sum = hand_over(0, &tasks[0], 1);
    LEAVE();
    return sum;
}

int main(void)
{
    unsigned sum;

    current = &main_task;
    bench_path = &main_task.path;
    ENTER(main);
    sum = with_main();
    sum = sum * 31 + with_each_other();
    LEAVE();
    bench_path = NULL;
    return bench_check(sum, 0xae50c58c);
}
