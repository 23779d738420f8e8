/* makecontext and swapcontext: generators on stacks of their own, one context that ends, and one abandoned. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { STACK = 65536 };

static ucontext_t caller, first, second;
static int produced;

static int fibonacci(int n)
{
    if (n < 2) {
        produced = n;
        swapcontext(&first, &caller);
        return n;
    }
    return fibonacci(n - 1) + fibonacci(n - 2);
}

static void generate(int from, int to)
{
    for (int n = from; n <= to; n++) {
        produced = 100 + fibonacci(n);
        swapcontext(&first, &caller);
    }
}

static void other(void)
{
    puts("second: begins");
    swapcontext(&second, &caller);
    puts("second: goes on");
}

static void prepare(ucontext_t *context, char *stack)
{
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = STACK;
    context->uc_link = &caller;
}

int main(void)
{
    char *stack = malloc(2 * STACK);
    volatile int returns = 0;
    int switches = 0, sum = 0;

    prepare(&first, stack);
    makecontext(&first, (void (*)(void))generate, 2, 3, 7);
    do {
        produced = -1;
        swapcontext(&caller, &first);
        if (produced >= 100)
            printf("produced %d\n", produced - 100);
        sum += produced;
        switches++;
    } while (produced != -1);
    printf("%d switches, sum %d\n", switches, sum);

    prepare(&second, stack + STACK);
    makecontext(&second, other, 0);
    swapcontext(&caller, &second);
    puts("main: between");
    swapcontext(&caller, &second);

    prepare(&second, stack + STACK);
    makecontext(&second, other, 0);
    swapcontext(&caller, &second);
    puts("main: abandons the second");

    getcontext(&first);
    if (returns++ < 3)
        setcontext(&first);
    printf("getcontext returned %d times\n", returns);
    free(stack);
    return 0;
}
