/* Measures libsframe: look-ups, and decoding everything.

     libsframe-bench SECTION PCS
     libsframe-bench --version

   SECTION is a file with a section whose starts are relative to their fields.
   PCS has the addresses to look up, as signed 64-bit numbers of this machine,
   relative to the start of the section.  Prints nanoseconds for one look-up
   and for decoding everything, both the second time; then how many look-ups
   have found a row, and how many rows were decoded.

   ci/adapters compiles it together with the library's source.  */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "sframe-api.h"

#ifndef VERSION
#define VERSION "unknown"
#endif

static void *
contents (const char *path, size_t *size)
{
  FILE *file = fopen (path, "rb");
  void *bytes = NULL;
  if (file != NULL && fseek (file, 0, SEEK_END) == 0)
    {
      *size = ftell (file);
      rewind (file);
      bytes = malloc (*size + 1);
      if (bytes != NULL && fread (bytes, 1, *size, file) != *size)
	bytes = NULL;
    }
  if (bytes == NULL)
    {
      perror (path);
      exit (2);
    }
  fclose (file);
  return bytes;
}

/* Nanoseconds for which this thread has had a processor.  */
static double
now (void)
{
  struct timespec time;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

/* Reads the rules of a row; the sum keeps the compiler from leaving it out.  */
static int64_t
rules (const sframe_decoder_ctx *decoder, const sframe_frame_row_entry *row, uint32_t type)
{
  int error = 0;
  return (int64_t) sframe_fre_get_cfa_offset (decoder, row, type, &error)
	 + sframe_fre_get_ra_offset (decoder, row, type, &error)
	 + sframe_fre_get_fp_offset (decoder, row, type, &error)
	 + sframe_fre_get_base_reg_id (row, &error);
}

/* Each look-up waits for a value that the one before has found.  */
static uint64_t
look_up (sframe_decoder_ctx *decoder, const int64_t *pcs, size_t count, int64_t *sum)
{
  /* The compiler does not know that.  */
  volatile int64_t zero = 0;
  int64_t none = zero;
  int64_t value = 0;
  uint64_t found = 0;
  for (size_t i = 0; i < count; i++)
    {
      sframe_frame_row_entry row;
      if (sframe_find_fre (decoder, pcs[i] + (value & none), &row) == 0)
	{
	  found++;
	  value = rules (decoder, &row, SFRAME_FDE_TYPE_DEFAULT);
	}
    }
  *sum += value;
  return found;
}

static uint64_t
decode_all (sframe_decoder_ctx *decoder, int64_t *sum)
{
  uint64_t rows = 0;
  uint32_t functions = sframe_decoder_get_num_fidx (decoder);
  for (uint32_t i = 0; i < functions; i++)
    {
      uint32_t count = 0, size;
      unsigned char info, info2 = 0;
      uint8_t rep_size;
      int64_t start;
      int32_t near;
      if (sframe_decoder_get_version (decoder) == SFRAME_VERSION_3)
	sframe_decoder_get_funcdesc_v3 (decoder, i, &count, &size, &start, &info, &info2, &rep_size);
      else
	sframe_decoder_get_funcdesc_v2 (decoder, i, &count, &size, &near, &info, &rep_size);
      for (uint32_t j = 0; j < count; j++)
	{
	  sframe_frame_row_entry row;
	  if (sframe_decoder_get_fre (decoder, i, j, &row) == 0)
	    {
	      rows++;
	      *sum += rules (decoder, &row, SFRAME_V3_FDE_TYPE (info2));
	    }
	}
    }
  return rows;
}

int
main (int argc, char **argv)
{
  if (argc == 2 && strcmp (argv[1], "--version") == 0)
    {
      puts (VERSION);
      return 0;
    }
  if (argc != 3)
    {
      fprintf (stderr, "usage: libsframe-bench SECTION PCS\n");
      return 2;
    }
  size_t size, pcs_size;
  const char *section = contents (argv[1], &size);
  const int64_t *pcs = contents (argv[2], &pcs_size);
  size_t count = pcs_size / sizeof *pcs;
  int error = 0;
  int64_t sum = 0;
  uint64_t found = 0, rows = 0;
  double all = 0, each = 0;
  for (int round = 0; round < 2; round++)
    {
      double start = now ();
      /* This decodes the functions.  */
      sframe_decoder_ctx *decoder = sframe_decode (section, size, &error);
      if (decoder == NULL)
	{
	  fprintf (stderr, "sframe_decode: %s\n", sframe_errmsg (error));
	  return 1;
	}
      rows = decode_all (decoder, &sum);
      all = now () - start;
      start = now ();
      found = look_up (decoder, pcs, count, &sum);
      each = (now () - start) / count;
      sframe_decoder_free (&decoder);
    }
  printf ("look-up %f\ndecode %f\n", each, all);
  printf ("found %" PRIu64 "\nrows %" PRIu64 "\nsum %" PRId64 "\n", found, rows, sum);
  return 0;
}
