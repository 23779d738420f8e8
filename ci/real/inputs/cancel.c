/* Cancelled threads: their clean-up handlers run while their stacks are unwound. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t ready;

static void note(void *text)
{
    printf("clean-up: %s\n", (char *)text);
}

static void unlock(void *mutex)
{
    puts("clean-up: unlock");
    pthread_mutex_unlock(mutex);
}

/* Blocks in a condition variable, which holds the mutex again when the handlers run. */
static void *waits(void *argument)
{
    (void)argument;
    pthread_cleanup_push(note, "outer");
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    sem_post(&ready);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    return NULL;
}

static int deepens(int depth)
{
    int result = 0;
    pthread_cleanup_push(note, depth % 2 ? "odd" : "even");
    if (depth > 0)
        result = deepens(depth - 1) + 1;
    else
        for (;;)
            pthread_testcancel();
    pthread_cleanup_pop(0);
    return result;
}

static void *polls(void *argument)
{
    (void)argument;
    sem_post(&ready);
    return deepens(5) ? NULL : &lock;
}

/* Is cancelled while it blocks in a system call. */
static void *reads(void *descriptor)
{
    char byte;
    pthread_cleanup_push(note, "read");
    sem_post(&ready);
    if (read(*(int *)descriptor, &byte, 1) == 1)
        puts("read something");
    pthread_cleanup_pop(0);
    return NULL;
}

/* Puts off the cancellation until it has finished. */
static void *delays(void *argument)
{
    (void)argument;
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    sem_post(&ready);
    pthread_testcancel();
    puts("not cancelled yet");
    pthread_setcancelstate(before, NULL);
    for (;;)
        pthread_testcancel();
}

static void *exits(void *argument)
{
    pthread_cleanup_push(note, "exit");
    sem_post(&ready);
    pthread_exit(argument);
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancel(const char *name, void *(*routine)(void *), void *argument)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, routine, argument);
    sem_wait(&ready);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("%s: %s\n", name, result == PTHREAD_CANCELED ? "cancelled" : "returned");
}

int main(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        return 1;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    sem_init(&ready, 0, 0);
    cancel("waits", waits, NULL);
    cancel("polls", polls, NULL);
    cancel("reads", reads, &ends[0]);
    cancel("delays", delays, NULL);
    cancel("exits", exits, &ready);
    printf("the mutex is %s\n", pthread_mutex_trylock(&lock) == 0 ? "free" : "held");
    return 0;
}
