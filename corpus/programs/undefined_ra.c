/* Runs the functions of undefined_ra.S, the first three at the start of a
   context, where nobody calls them.  */

#include "runtime/runtime.h"

enum {
    STACK_SIZE = 4096,
    /* Where a prepared stack keeps the address that it is resumed at.  */
#if defined(__x86_64__)
    RESUMED_AT = 48
#elif defined(__aarch64__)
    RESUMED_AT = 8
#else
    RESUMED_AT = 176
#endif
};

void switch_stacks(void **from, void *to);
void *prepare_stack(void *top, void (*function)(void *), void *argument);
__attribute__((noreturn)) void coroutine_exit(void);
void thread_start(void);
void thread_toggles(void);
void thread_unmarked(void);
__attribute__((noreturn)) void leave_thread(void);
unsigned called_marked(unsigned x);
unsigned forgets_caller(unsigned x);

static _Alignas(16) unsigned char stack[STACK_SIZE];
static void *main_sp;
static void *thread_sp;
static volatile unsigned total;

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

NOIPA void work(unsigned x)
{
    total = total * 31 + leaf(x);
    BARRIER();
}

NOIPA void leave_thread(void)
{
    switch_stacks(&thread_sp, main_sp);
    __builtin_unreachable();
}

NOIPA void coroutine_exit(void)
{
    leave_thread();
}

NOIPA void work_as_coroutine(void *argument)
{
    work((unsigned)(uintptr_t)argument);
    BARRIER();
}

NOIPA void run(void (*start)(void), unsigned x)
{
    unsigned char *sp =
        prepare_stack(stack + sizeof stack, work_as_coroutine, (void *)(uintptr_t)x);

    if (start != NULL)
        *(void (**)(void))(void *)(sp + RESUMED_AT) = start;
    switch_stacks(&main_sp, sp);
    BARRIER();
}

NOIPA unsigned call_marked(unsigned x)
{
    unsigned y = called_marked(x);

    y = y * 31 + forgets_caller(x);
    BARRIER();
    return y;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 8; i++) {
        run(NULL, i);
        run(thread_start, i);
        run(thread_toggles, i);
        run(thread_unmarked, i);
        sum = sum * 31 + call_marked(i);
    }
    return bench_check(sum + total, 0xa2d0ea58);
}
