/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only

   Compares the answers of a reader with those that are accepted: the runner of
   sframe-testbench export vectors.  It knows nothing of SFrame: run-reader.h
   asks the reader, and writes an answer as numbers.  */

#ifndef SFRAME_RUN_VECTORS_H
#define SFRAME_RUN_VECTORS_H

#include "run-moment.h"

#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

/* What is asked.  */
enum run_query { RUN_OPENING, RUN_HEADER, RUN_FDE, RUN_ROW, RUN_LOOK_UP, RUN_STEP };

/* Which answer is accepted: any, a section that opens, a rejection with a kind,
   any rejection, no row or no caller for whatever reason, or these numbers.  */
enum run_pattern
{
  RUN_ANYTHING, RUN_OPENS, RUN_REJECT, RUN_REFUSED, RUN_NO_ROW, RUN_NO_CALLER, RUN_NUMBERS
};

/* Why: the text says so, it can be read so, or there is a better answer.  */
enum run_class { RUN_MUST, RUN_READING, RUN_QUALITY };

enum { RUN_VALUES = 16, RUN_ANY_NUMBER_OF_ROWS = -1, RUN_ROWS = 9 };

struct run_accepted
{
  enum run_pattern pattern;
  enum run_class why;
  const char *kind;		/* Of a rejection.  */
  int64_t values[RUN_VALUES];
};

struct run_question
{
  enum run_query query;
  uint64_t first, second;	/* FDE and row, or PC and whether it is a return address.  */
  uint64_t sp, fp;		/* From here on for steps.  */
  bool is_topmost;
  unsigned address_bits, register_count, memory_count;
  const struct run_word *registers, *memory;
  const struct run_accepted *accepted;
  unsigned accepted_count;
};

struct run_vector
{
  const char *name;
  enum kit_abi abi;
  uint64_t address;
  const unsigned char *bytes;
  size_t size;
  const struct run_question *questions;
  unsigned question_count;
};

/* An answer: a rejection, that the function has no such row, or its numbers.  */
struct run_given
{
  bool is_there, is_refused, is_no_row, has_row, has_caller, is_outermost;
  const char *kind;
  int64_t values[RUN_VALUES];
};

/* For run-reader.h.  Opens a section; null if the reader does not claim to read
   it, and otherwise the answer to RUN_OPENING.  */
static bool run_open (const struct kit_reader *, const struct run_vector *, void **opened,
		      struct run_given *);
static void run_ask (const struct kit_reader *, void *opened, const struct run_question *,
		     struct run_given *);

static bool
run_has (const struct run_question *question, const struct run_accepted *accepted,
	 const struct run_given *given)
{
  bool no_caller = question->query == RUN_STEP && !given->has_caller && !given->is_outermost;
  switch (accepted->pattern)
    {
    case RUN_ANYTHING:
      return true;
    case RUN_OPENS:
      return !given->is_refused;
    case RUN_REJECT:
      return given->is_refused && (!given->kind || strcmp (given->kind, accepted->kind) == 0);
    case RUN_REFUSED:
      /* What may be refused may not be overlooked.  */
      if (given->is_no_row)
	return accepted->why != RUN_QUALITY;
      return given->is_refused || no_caller;
    case RUN_NO_ROW:
      return given->is_refused || !given->has_row;
    case RUN_NO_CALLER:
      return no_caller;
    case RUN_NUMBERS:
      break;
    }
  for (int i = 0; i < RUN_VALUES; i++)
    if (accepted->values[i] != given->values[i]
	&& !(question->query == RUN_FDE && i == RUN_ROWS
	     && accepted->values[i] == RUN_ANY_NUMBER_OF_ROWS))
      return false;
  return !given->is_refused && !given->is_no_row;
}

/* The next question that is the same, or 0.  */
static unsigned
run_again (const struct run_vector *vector, unsigned q)
{
  const struct run_question *one = &vector->questions[q];
  for (unsigned i = q + 1; one->query == RUN_LOOK_UP && i < vector->question_count; i++)
    if (vector->questions[i].query == RUN_LOOK_UP && vector->questions[i].first == one->first
	&& vector->questions[i].second == one->second)
      return i;
  return 0;
}

/* Asks about all vectors, and says what is wrong.  Returns the number of wrong
   answers, or -1 if too little was compared, as the bench has it: that a section
   can be opened and what its header has is nothing by itself, unless nothing
   else is asked; nor are answers of a reader that refuses every section that can
   be opened, or, if the vectors are those of its profile, does not read half of
   them.  */
static long
run_vectors (const struct kit_reader *reader, const struct run_vector *vectors, unsigned count,
	     bool is_profile)
{
  static const char *const queries[] = { "opening", "header", "FDE", "row", "look-up", "step" };
  long answered = 0, wrong = 0, classes[3] = { 0 }, skipped = 0;
  long asked = 0, asked_beyond = 0, beyond = 0, sections = 0, refused = 0;
  for (const struct run_vector *vector = vectors; vector < vectors + count; vector++)
    {
      void *opened = NULL;
      struct run_given opening, given, before;
      unsigned again = 0;
      memset (&opening, 0, sizeof opening);
      memset (&before, 0, sizeof before);
      opening.is_there = true;
      bool is_read = run_open (reader, vector, &opened, &opening), goes_on = true;
      uint64_t refused_fde = ~(uint64_t) 0, wrong_fde = ~(uint64_t) 0;
      bool is_sound = vector->questions[0].accepted[0].pattern != RUN_REJECT;
      skipped += !is_read;
      sections += is_read && is_sound;
      refused += is_read && is_sound && !opened;
      for (unsigned q = 0; q < vector->question_count; q++)
	asked_beyond += vector->questions[q].query > RUN_HEADER;
      asked += vector->question_count;
      for (unsigned q = 0; is_read && goes_on && q < vector->question_count; q++)
	{
	  const struct run_question *question = &vector->questions[q];
	  bool is_opening = question->query == RUN_OPENING;
	  memset (&given, 0, sizeof given);
	  if (is_opening)
	    given = opening;
	  else
	    run_ask (reader, opened, question, &given);
	  if (!given.is_there)
	    continue;
	  answered++;
	  beyond += question->query > RUN_HEADER;
	  unsigned a = 0;
	  while (a < question->accepted_count && !run_has (question, &question->accepted[a], &given))
	    a++;
	  bool is_right = a < question->accepted_count;
	  goes_on = !is_opening || (opened && is_right);
	  /* What was asked since may have done damage.  */
	  if (again && q == again)
	    {
	      is_right &= given.is_refused == before.is_refused
			  && (given.is_refused
			      || memcmp (given.values, before.values, sizeof before.values) == 0);
	      again = 0;
	    }
	  else if (!again && (again = run_again (vector, q)) != 0)
	    before = given;
	  /* What is refused with its function, or is not of it, is said there.  */
	  if (question->query == RUN_FDE && given.is_refused)
	    refused_fde = question->first;
	  if (question->query == RUN_FDE && !is_right)
	    wrong_fde = question->first;
	  bool is_said = question->query == RUN_ROW
			 && ((given.is_refused && question->first == refused_fde)
			     || (given.is_no_row && question->first == wrong_fde));
	  if (is_right)
	    classes[question->accepted[a].why]++;
	  else if (!is_said)
	    {
	      wrong++;
	      KIT_SAY ("%s: %s %#llx %llu is wrong\n", vector->name, queries[question->query],
		       (unsigned long long) question->first, (unsigned long long) question->second);
	    }
	}
      if (opened && reader->close)
	reader->close (opened);
    }
  KIT_SAY ("%s: %ld of %ld questions answered, %ld wrongly; %ld by other readings, %ld could be"
	   " better; %ld of %u vectors not read\n",
	   reader->name, answered, asked, wrong, classes[RUN_READING], classes[RUN_QUALITY], skipped,
	   count);
  bool has_parts = reader->header || reader->fdes || reader->look_up || reader->step;
  bool is_compared = asked_beyond ? beyond && (!sections || refused < sections) : answered != 0;
  if (is_profile && skipped > (long) count / 2)
    is_compared = false;
  if (wrong == 0 && !(has_parts && is_compared))
    {
      KIT_SAY ("%s: too little was compared\n", reader->name);
      return -1;
    }
  return wrong;
}

#endif
