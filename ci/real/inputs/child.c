/* Started by spawn: prints its arguments and environment, copies its input in capitals, ends with status 3. */
#include <ctype.h>
#include <stdio.h>

int main(int argc, char **argv, char **environment)
{
    int byte;
    for (int i = 1; i < argc; i++)
        printf("argument %s\n", argv[i]);
    for (; *environment; environment++)
        printf("environment %s\n", *environment);
    while ((byte = getchar()) != EOF)
        putchar(toupper(byte));
    return 3;
}
