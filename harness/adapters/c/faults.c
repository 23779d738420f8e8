/* Tests whether the setup of sanitizer.c notices faults: makes one fault, as a
   library might, and exits with 0 if it was not stopped.

   faults read | write | free | stack | divide  */

#include <stdlib.h>
#include <string.h>
#include "sanitizer.h"

/* Volatile, so that the compiler does not know the function.  */
static void *(*volatile copy) (void *, const void *, size_t) = memcpy;

int
main (int argc, char **argv)
{
  const char *fault = argc > 1 ? argv[1] : "";
  volatile int size = 21, zero = 0;
  char *volatile bytes = malloc (size);
  char row[24], words[60] = { 0 };
  if (bytes == NULL)
    return 2;
  report_memory_errors ();
  bytes[0] = row[0] = 0;
  if (strcmp (fault, "read") == 0)
    row[0] = bytes[size];
  else if (strcmp (fault, "write") == 0)
    bytes[size] = 1;
  else if (strcmp (fault, "stack") == 0)
    copy (row, words, size + 4);
  else if (strcmp (fault, "divide") == 0)
    row[0] = size / zero;
  free (bytes);
  if (strcmp (fault, "free") == 0)
    row[0] = bytes[0];
  return 0 & row[0];
}
