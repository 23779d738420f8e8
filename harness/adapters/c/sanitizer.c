/* Reports what AddressSanitizer notices where the bench sees it.  */

#include "sanitizer.h"

#ifdef __SANITIZE_ADDRESS__

#include <stdio.h>
#include <string.h>
#include <sanitizer/asan_interface.h>

/* Where the sources of the library are, as the compiler was told.  */
#ifndef SANITIZER_PLACE
#define SANITIZER_PLACE "libsframe/"
#endif

/* Requests for too much memory fail, as with any allocator; leaks are not
   reported.  */
const char *
__asan_default_options (void)
{
  return "allocator_may_return_null=1:max_allocation_size_mb=1024:"
	 "detect_leaks=0:detect_stack_use_after_return=1";
}

/* Prints a line of the report from the start of a text, and returns whether
   there is one.  */
static int
print_from (const char *at)
{
  if (at != NULL)
    fprintf (stderr, "%.*s\n", (int) strcspn (at, "\n"), at);
  return at != NULL;
}

static void
summarise (const char *report)
{
  if (!print_from (strstr (report, "READ of size")))
    print_from (strstr (report, "WRITE of size"));
  /* The allocation before or after it.  */
  print_from (strstr (report, "is located"));
  /* The first function of the library: the last one may be memcpy.  */
  const char *place = strstr (report, " " SANITIZER_PLACE);
  while (place > report && strncmp (place, " in ", 4) != 0)
    place--;
  if (place > report)
    print_from (place + 1);
  print_from (strstr (report, "SUMMARY:"));
}

void
report_memory_errors (void)
{
  __asan_set_error_report_callback (summarise);
}

#else

void
report_memory_errors (void)
{
}

#endif
