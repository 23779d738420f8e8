/* setjmp, longjmp and sigsetjmp: out of deep recursion, out of a callback, and as a loop. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf out;

static int descend(int depth)
{
    char pad[64];
    pad[depth % 64] = (char)depth;
    if (depth == 0)
        longjmp(out, 40);
    int below = descend(depth - 1);
    return below + pad[depth % 64];
}

static int compare(const void *left, const void *right)
{
    static int calls;
    if (++calls == 20)
        longjmp(out, calls);
    return *(const int *)left - *(const int *)right;
}

static int nested(void)
{
    jmp_buf inner;
    int value = setjmp(inner);
    if (value < 5)
        longjmp(inner, value + 1);
    return value;
}

int main(void)
{
    volatile int rounds = 0;
    int value = setjmp(out);
    if (value == 0)
        descend(100);
    printf("from 100 calls deep: %d\n", value);

    if ((value = setjmp(out)) == 0) {
        int numbers[50];
        for (int i = 0; i < 50; i++)
            numbers[i] = i * 37 % 50;
        qsort(numbers, 50, sizeof *numbers, compare);
    }
    printf("from a callback of qsort: %d\n", value);
    printf("nested: %d\n", nested());

    while ((value = setjmp(out)) < 3 || rounds < 100) {
        rounds++;
        if (rounds % 2)
            descend(rounds % 7);
        longjmp(out, rounds % 5 + 1);
    }
    printf("as a loop: %d rounds\n", rounds);

    sigset_t blocked, now;
    sigjmp_buf with_mask;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    if (sigsetjmp(with_mask, 1) == 0) {
        sigprocmask(SIG_BLOCK, &blocked, NULL);
        siglongjmp(with_mask, 1);
    }
    sigprocmask(SIG_BLOCK, NULL, &now);
    printf("the mask came back: %d\n", !sigismember(&now, SIGUSR1));
    if (sigsetjmp(with_mask, 0) == 0) {
        sigprocmask(SIG_BLOCK, &blocked, NULL);
        siglongjmp(with_mask, 1);
    }
    sigprocmask(SIG_BLOCK, NULL, &now);
    printf("the mask stayed: %d\n", sigismember(&now, SIGUSR1));
    return 0;
}
