/* Started by other programs: prints its arguments and a variable, copies its input in capitals, ends with status 3. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *name = getenv("NAME");
    int byte;
    for (int i = 1; i < argc; i++)
        printf("argument %s\n", argv[i]);
    printf("NAME=%s\n", name ? name : "");
    while ((byte = getchar()) != EOF)
        putchar(toupper(byte));
    return 3;
}
