/* Opens /lib/plugin.so twice, calls it and is called back, and closes it. */
#include <dlfcn.h>
#include <stdio.h>

typedef long apply_function(long (*callback)(long), long from, long to);

static apply_function *apply;

static long square(long number)
{
    return number * number;
}

static long nested(long number)
{
    return apply(square, 1, number);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    for (int round = 0; round < 2; round++) {
        void *plugin = dlopen("/lib/plugin.so", round ? RTLD_NOW : RTLD_LAZY);
        if (!plugin) {
            puts(dlerror());
            return 1;
        }
        apply = (apply_function *)dlsym(plugin, "apply");
        int *offset = dlsym(plugin, "host_offset");
        printf("%ld\n", apply(square, 1, 10));
        *offset = 0;
        printf("%ld\n", apply(nested, 1, 10));
        printf("no such symbol: %d\n", dlsym(plugin, "none") == NULL && dlerror() != NULL);
        dlclose(plugin);
    }
    printf("no such library: %d\n", dlopen("/lib/none.so", RTLD_NOW) == NULL);
    return 0;
}
