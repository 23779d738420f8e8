/* The C library calls back: qsort, bsearch, search trees, exit handlers, constructors. */
#define _GNU_SOURCE
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 2000 };

static int comparisons, visited;

static int ascending(const void *left, const void *right)
{
    comparisons++;
    return (*(const int *)left > *(const int *)right) - (*(const int *)left < *(const int *)right);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void visit(const void *node, VISIT order, int level)
{
    (void)node, (void)level;
    visited += order == postorder || order == leaf;
}

static void last(void)
{
    puts("exit handler: registered first, runs last");
}

static void registers_another(void)
{
    puts("exit handler: registers another");
    atexit(last);
}

__attribute__((constructor)) static void construct(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    puts("constructor");
}

__attribute__((destructor)) static void destruct(void)
{
    puts("destructor");
}

static void quit(int depth)
{
    if (depth > 0)
        quit(depth - 1);
    exit(7);
}

int main(void)
{
    static int numbers[NUMBERS];
    unsigned state = 1;
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (int)((state = state * 1103515245 + 12345) >> 8 & 0xffff);
    qsort(numbers, NUMBERS, sizeof *numbers, ascending);
    int sorted = 1;
    for (int i = 1; i < NUMBERS; i++)
        sorted &= numbers[i - 1] <= numbers[i];
    printf("sorted %d: %d %d\n", sorted, numbers[0], numbers[NUMBERS - 1]);

    int found = 0;
    for (int i = 0; i < 1000; i++)
        found += bsearch(&(int){i * 64}, numbers, NUMBERS, sizeof *numbers, ascending) != NULL;
    printf("found %d\n", found);

    char *names[] = {"zeta", "alpha", "theta", "beta", "eta", "gamma"};
    qsort(names, 6, sizeof *names, by_name);
    for (int i = 0; i < 6; i++)
        printf("%s%c", names[i], i < 5 ? ' ' : '\n');

    void *tree = NULL;
    for (int i = 0; i < 200; i++)
        tsearch(&numbers[i * 7 % 200], &tree, ascending);
    twalk(tree, visit);
    printf("visited %d, compared %s\n", visited, comparisons > NUMBERS ? "often" : "rarely");

    atexit(last);
    atexit(registers_another);
    quit(20);
}
