/* Signals: handlers with information, masks, an alternate stack, and faults that are repaired or jumped out of. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t arrived, depth, deepest, code;
static sigjmp_buf out;
static char *page;
static size_t page_size;
static stack_t alternate;

static void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    if (sigaction(signal, &action, NULL) != 0)
        exit(1);
}

static void count(int signal, siginfo_t *information, void *context)
{
    arrived++;
    code = information->si_signo == signal && context ? information->si_code : -1;
}

/* Raises itself until it is three deep. */
static void nest(int signal, siginfo_t *information, void *context)
{
    (void)information, (void)context;
    if (++depth > deepest)
        deepest = depth;
    if (depth < 3)
        raise(signal);
    depth--;
}

static void repair(int signal, siginfo_t *information, void *context)
{
    (void)signal, (void)context;
    arrived++;
    if ((char *)information->si_addr < page || (char *)information->si_addr >= page + page_size)
        _exit(2);
    mprotect(page, page_size, PROT_READ | PROT_WRITE);
}

static void leave(int signal, siginfo_t *information, void *context)
{
    (void)information, (void)context;
    char here;
    int on_alternate = &here >= (char *)alternate.ss_sp && &here < (char *)alternate.ss_sp + alternate.ss_size;
    siglongjmp(out, signal == SIGSEGV ? 1 + on_alternate : 3);
}

/* Faults in the middle of a frame with saved registers. */
static long poke(volatile char *at, long value)
{
    long before = at[0];
    at[0] = (char)value;
    return before + value * at[0];
}

int main(void)
{
    sigset_t set, before;
    page_size = (size_t)sysconf(_SC_PAGESIZE);

    install(SIGUSR1, count, 0);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    printf("raised: %d\n", arrived);

    union sigval value = {.sival_int = 5};
    sigqueue(getpid(), SIGUSR1, value);
    printf("queued: %d, by sigqueue %d\n", arrived, code == SI_QUEUE);

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &before);
    arrived = 0;
    raise(SIGUSR1);
    raise(SIGUSR1);
    printf("blocked: %d\n", arrived);
    sigprocmask(SIG_SETMASK, &before, NULL);
    printf("unblocked: %d\n", arrived);

    install(SIGUSR2, nest, SA_NODEFER);
    raise(SIGUSR2);
    printf("nested: %d deep\n", deepest);

    page = mmap(NULL, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    arrived = 0;
    install(SIGSEGV, repair, 0);
    long result = poke(page, 6);
    printf("repaired: %ld after %d fault\n", result, arrived);

    mprotect(page, page_size, PROT_NONE);
    install(SIGSEGV, leave, 0);
    volatile int times = 0;
    int how;
    while ((how = sigsetjmp(out, 1)) == 0 || times < 3) {
        times++;
        poke(page, 1);
    }
    printf("left by a jump: %d times, on the %s stack\n", times, how == 2 ? "alternate" : "ordinary");

    alternate.ss_size = 65536;
    alternate.ss_sp = malloc(alternate.ss_size);
    sigaltstack(&alternate, NULL);
    install(SIGSEGV, leave, SA_ONSTACK);
    if ((how = sigsetjmp(out, 1)) == 0)
        poke(page, 1);
    printf("left by a jump on the %s stack\n", how == 2 ? "alternate" : "ordinary");

    install(SIGABRT, leave, 0);
    if ((how = sigsetjmp(out, 1)) == 0)
        abort();
    printf("abort was survived: %d\n", how == 3);

    install(SIGUSR1, count, SA_RESETHAND);
    arrived = 0;
    raise(SIGUSR1);
    struct sigaction now;
    sigaction(SIGUSR1, NULL, &now);
    printf("reset: %d %d\n", arrived, now.sa_handler == SIG_DFL);
    fflush(stdout);
    raise(SIGUSR1);
    return 1;
}
