/* Opened by plugin_host: calls back into it, and has a constructor and a destructor. */
#include <stdio.h>

int host_offset = 1000;

__attribute__((constructor)) static void loaded(void)
{
    puts("plugin: loaded");
}

__attribute__((destructor)) static void unloaded(void)
{
    puts("plugin: unloaded");
}

long apply(long (*callback)(long), long from, long to)
{
    long sum = host_offset;
    for (long i = from; i <= to; i++)
        sum += callback(i);
    return sum;
}
