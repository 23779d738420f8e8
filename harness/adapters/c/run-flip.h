/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only

   Asks a reader about sections with changed bytes: any answer is right, as long
   as there is one.  For sframe-testbench export vectors.  */

#ifndef SFRAME_RUN_FLIP_H
#define SFRAME_RUN_FLIP_H

#include "run-reader.h"

/* Where a section with changed bytes is: its end is that of the array, which
   AddressSanitizer watches.  Larger sections are left out.  */
static unsigned char run_bytes[1 << 16];

/* Sections to make, and how often the reader has ended or was silent.  */
struct run_flips
{
  const struct run_vector *vectors;
  unsigned count, sections;
  uint64_t seed;
  long asked, stopped;
};

/* SplitMix64: the next number below another.  */
static inline unsigned
run_random (uint64_t *state, size_t below)
{
  uint64_t mixed = *state += 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  return (unsigned) ((mixed ^ mixed >> 31) >> 33) % (unsigned) (below ? below : 1);
}

/* Makes a section by its number: that of a vector, with one to three bytes
   changed.  Returns the vector; its bytes, and where they were changed.  */
static inline struct run_vector
run_flip (const struct run_flips *flips, unsigned number, unsigned at[3], unsigned *changes)
{
  uint64_t state = flips->seed ^ (uint64_t) number << 32;
  struct run_vector vector = flips->vectors[run_random (&state, flips->count)];
  if (vector.size > sizeof run_bytes)
    vector.size = 0;
  unsigned char *bytes = run_bytes + sizeof run_bytes - vector.size;
  memcpy (bytes, vector.bytes, vector.size);
  vector.bytes = bytes;
  *changes = vector.size ? 1 + run_random (&state, 3) : 0;
  for (unsigned i = 0; i < *changes; i++)
    {
      /* The header is a small part, but gets a third of the changes.  */
      size_t length = vector.size > 28 && run_random (&state, 3) == 0 ? 28 : vector.size;
      at[i] = run_random (&state, length);
      bytes[at[i]] = (unsigned char) run_random (&state, 256);
    }
  return vector;
}

static inline void
run_hear_flip (void *of, const struct run_news *news)
{
  struct run_flips *flips = (struct run_flips *) of;
  unsigned at[3] = { 0, 0, 0 }, changes;
  flips->asked += news->at > 0 && news->event == RUN_ASKED;
  if (news->event != RUN_CRASHED)
    return;
  struct run_vector vector = run_flip (flips, news->at, at, &changes);
  flips->stopped++;
  KIT_SAY (RUN_NOTE "section %u, %s with %u bytes changed (at %u, %u, %u): %s %u\n", news->at,
	   vector.name, changes, at[0], at[1], at[2], news->what, news->more);
}

static inline void
run_flips_from (const struct kit_reader *reader, const void *table, unsigned from,
		struct run_listener *listener)
{
  const struct run_flips *flips = (const struct run_flips *) table;
  for (unsigned number = from ? from : 1; number <= flips->sections; number++)
    {
      unsigned at[3], changes;
      struct run_vector vector = run_flip (flips, number, at, &changes);
      struct run_given given;
      void *opened = NULL;
      memset (&given, 0, sizeof given);
      run_tell (listener, run_about (number, RUN_ASKED));
      run_open (reader, &vector, &opened, &given);
      for (unsigned q = 0; opened && q < vector.question_count; q++)
	run_ask (reader, opened, &vector.questions[q], &given);
      if (opened && reader->close)
	reader->close (opened);
    }
}

/* Asks about a number of sections: the same seed makes the same ones.  Returns
   how often the reader has ended or was silent.  */
static inline long
run_flipped (const struct kit_reader *reader, const struct run_vector *vectors, unsigned count,
	     unsigned sections, uint64_t seed)
{
  struct run_flips flips = { vectors, count, sections, seed, 0, 0 };
  run_apart (reader, run_flips_from, &flips, sections + 1, "sections with changed bytes",
	     run_hear_flip, &flips);
  KIT_SAY (RUN_NOTE "%s: %ld sections with changed bytes, %ld stopped it\n", reader->name,
	   flips.asked, flips.stopped);
  return flips.stopped;
}

#endif
