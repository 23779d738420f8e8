/* POSIX threads: create and join, mutex, condition variable, barrier, once, semaphore, thread storage. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 4, ROUNDS = 200, ITEMS = 100, CAPACITY = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int initialised;
static pthread_key_t key;
static int destroyed;
static _Thread_local long own = 7;

static void initialise(void)
{
    initialised++;
}

static void destroy(void *value)
{
    pthread_mutex_lock(&lock);
    destroyed += *(int *)value;
    pthread_mutex_unlock(&lock);
    free(value);
}

static void *work(void *argument)
{
    long number = (long)argument;
    int *value = malloc(sizeof *value);
    *value = (int)number;
    pthread_once(&once, initialise);
    pthread_setspecific(key, value);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        counter += number;
        pthread_mutex_unlock(&lock);
        own += number;
    }
    return (void *)own;
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    int items[CAPACITY], count, first;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .emptied = PTHREAD_COND_INITIALIZER};

static void put(int item)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.count == CAPACITY)
        pthread_cond_wait(&queue.emptied, &queue.lock);
    queue.items[(queue.first + queue.count++) % CAPACITY] = item;
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
}

static int take(void)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0)
        pthread_cond_wait(&queue.filled, &queue.lock);
    int item = queue.items[queue.first];
    queue.first = (queue.first + 1) % CAPACITY;
    queue.count--;
    pthread_cond_signal(&queue.emptied);
    pthread_mutex_unlock(&queue.lock);
    return item;
}

static void *consume(void *argument)
{
    (void)argument;
    long sum = 0;
    for (int item; (item = take()) >= 0;)
        sum += item;
    return (void *)sum;
}

static sem_t ping, pong;

static void *answer(void *argument)
{
    for (int i = 0; i < 10; i++) {
        sem_wait(&ping);
        *(int *)argument += i;
        sem_post(&pong);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[WORKERS], consumer, answerer;
    void *result;
    long sum = 0;
    int answers = 0;

    pthread_key_create(&key, destroy);
    pthread_barrier_init(&barrier, NULL, WORKERS);
    for (long i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    printf("counter %ld, thread storage %ld and %ld here, once %d, destroyed %d\n", counter, sum, own, initialised,
           destroyed);

    pthread_create(&consumer, NULL, consume, NULL);
    for (int i = 0; i < ITEMS; i++)
        put(i);
    put(-1);
    pthread_join(consumer, &result);
    printf("consumed %ld\n", (long)result);

    sem_init(&ping, 0, 0);
    sem_init(&pong, 0, 0);
    pthread_create(&answerer, NULL, answer, &answers);
    for (int i = 0; i < 10; i++) {
        sem_post(&ping);
        sem_wait(&pong);
    }
    pthread_join(answerer, NULL);
    printf("answers %d\n", answers);
    return 0;
}
