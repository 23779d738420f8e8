/* The smallest program of a C library: formatted output, and an orderly end. */
#include <stdio.h>

int main(int argc, char **argv)
{
    puts("hello");
    for (int i = 1; i < argc; i++)
        printf("argument %d: %s\n", i, argv[i]);
    printf("%5d|%-5d|%05d|%x|%c|%.3s|%8.3f|%g|%e\n", 42, 42, 42, 48879, 'c', "string", 3.14159, 0.1, 6.02e23);
    return 0;
}
