/* A thread overflows its stack into the guard page; its handler leaves by a jump, on an alternate stack. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { STACK = 131072, ALTERNATE = 65536 };

static sigjmp_buf out;

static void leave(int signal)
{
    (void)signal;
    siglongjmp(out, 1);
}

static int recurse(int depth)
{
    volatile char pad[256];
    pad[depth % 256] = (char)depth;
    return recurse(depth + 1) + pad[depth % 256];
}

static void *overflow(void *argument)
{
    stack_t alternate = {.ss_sp = malloc(ALTERNATE), .ss_size = ALTERNATE};
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_ONSTACK};
    volatile int times = 0;
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
    if (sigsetjmp(out, 1) == 0 || times < 2) {
        times++;
        recurse(0);
    }
    *(int *)argument = times;
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    return NULL;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int times = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    if (pthread_create(&thread, &attributes, overflow, &times) != 0)
        return 1;
    pthread_join(thread, NULL);
    printf("overflowed %d times\n", times);
    return 0;
}
