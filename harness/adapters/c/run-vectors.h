/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only

   Compares the answers of a reader with those that are accepted: the runner of
   sframe-testbench export vectors.  It knows nothing of SFrame: run-reader.h
   asks the reader, and writes an answer as numbers.  */

#ifndef SFRAME_RUN_VECTORS_H
#define SFRAME_RUN_VECTORS_H

#include "run-apart.h"

/* What is asked.  */
enum run_query { RUN_OPENING, RUN_HEADER, RUN_FDE, RUN_ROW, RUN_LOOK_UP, RUN_STEP, RUN_CLOSING };

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
  /* A look-up by rules: what was found, and the numbers of the row.  */
  bool is_flat;
  const char *kind;
  /* What the reader says about it, or null.  */
  const char *message;
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
  return !given->is_refused && !given->is_no_row && !given->is_flat;
}

/* Whether a row of the section has rules, wherever it starts.  */
static bool
run_has_rules (const struct run_vector *vector, const int64_t *place, const int64_t *rules)
{
  size_t size = (RUN_VALUES - 1) * sizeof *rules;
  for (unsigned q = 0; q < vector->question_count; q++)
    {
      const struct run_question *row = &vector->questions[q];
      if (row->query == RUN_ROW && (int64_t) row->first == place[1]
	  && (int64_t) row->second == place[2])
	for (unsigned a = 0; a < row->accepted_count; a++)
	  if (row->accepted[a].pattern == RUN_NUMBERS
	      && memcmp (row->accepted[a].values + 1, rules + 1, size) == 0)
	    return true;
    }
  return false;
}

/* Gives a look-up by rules the position of a row that is accepted and has them.  */
static void
run_locate (const struct run_vector *vector, const struct run_question *question,
	    struct run_given *given)
{
  for (unsigned a = 0; a < question->accepted_count && given->is_flat; a++)
    {
      const int64_t *place = question->accepted[a].values;
      bool is_place = question->accepted[a].pattern == RUN_NUMBERS;
      bool is_it = (place[0] == KIT_NO_ROWS_OUTERMOST && given->values[1])
		   || (place[0] == KIT_ROW && run_has_rules (vector, place, given->values));
      if (is_place && is_it)
	{
	  memcpy (given->values, place, sizeof given->values);
	  given->is_flat = false;
	}
    }
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

/* What has become of the questions about vectors.  */
struct run_tally
{
  const struct run_vector *vector;
  long asked, asked_beyond, answered, beyond, wrong, classes[3];
  long sections, refused, skipped;
};

/* Events of vectors: the reader does not claim to read the section, or refuses a
   sound one.  */
enum { RUN_NOT_READ = RUN_OWN, RUN_REFUSES };

static void
run_count (void *of, const struct run_news *news)
{
  static const char *const queries[] = { "opening", "header", "FDE", "row", "look-up", "step", "closing" };
  static const struct run_question closing
    = { RUN_CLOSING, 0, 0, 0, 0, false, 0, 0, 0, NULL, NULL, NULL, 0 };
  struct run_tally *tally = (struct run_tally *) of;
  const struct run_vector *vector = tally->vector;
  const struct run_question *question
    = news->at < vector->question_count ? &vector->questions[news->at] : &closing;
  bool is_answered = news->event == RUN_RIGHT || news->event == RUN_WRONG || news->event == RUN_SAID;
  bool is_wrong = news->event == RUN_WRONG || news->event == RUN_CRASHED;
  tally->answered += is_answered;
  tally->beyond += is_answered && question->query > RUN_HEADER;
  tally->wrong += is_wrong;
  tally->refused += (int) news->event == RUN_REFUSES;
  tally->skipped += (int) news->event == RUN_NOT_READ;
  if (news->event == RUN_RIGHT)
    tally->classes[news->more]++;
#ifdef RUN_EACH
  if (news->event == RUN_ASKED)
    KIT_SAY (RUN_NOTE "%s: %s %#llx %llu\n", vector->name, queries[question->query],
	     (unsigned long long) question->first, (unsigned long long) question->second);
#endif
  if (!is_wrong)
    return;
  if (news->event == RUN_CRASHED)
    KIT_SAY (RUN_NOTE "%s: %s %#llx %llu %s %u\n", vector->name, queries[question->query],
	     (unsigned long long) question->first, (unsigned long long) question->second,
	     news->what, news->more);
  else
    KIT_SAY (RUN_NOTE "%s: %s %#llx %llu %s%s%s\n", vector->name, queries[question->query],
	     (unsigned long long) question->first, (unsigned long long) question->second,
	     news->what, news->message[0] ? ": " : "", news->message);
}

/* Whether an answer is accepted, and why.  */
static bool
run_accepts (const struct run_question *question, const struct run_given *given,
	     enum run_class *why)
{
  for (unsigned a = 0; a < question->accepted_count; a++)
    if (run_has (question, &question->accepted[a], given))
      {
	*why = question->accepted[a].why;
	return true;
      }
  return false;
}

/* Puts the questions of a vector, and tells what becomes of them.  */
static void
run_vector_from (const struct kit_reader *reader, const void *table, unsigned from,
		 struct run_listener *listener)
{
  const struct run_vector *vector = (const struct run_vector *) table;
  void *opened = NULL;
  struct run_given opening, given, before;
  unsigned again = 0;
  uint64_t refused_fde = ~(uint64_t) 0, wrong_fde = ~(uint64_t) 0;
  memset (&opening, 0, sizeof opening);
  memset (&before, 0, sizeof before);
  opening.is_there = true;
  if (from == 0)
    run_tell (listener, run_about (0, RUN_ASKED));
  bool goes_on = run_open (reader, vector, &opened, &opening);
  if (from == 0 && !goes_on)
    run_tell (listener, run_about (0, (enum run_event) RUN_NOT_READ));
  else if (from == 0 && !opened && vector->questions[0].accepted[0].pattern != RUN_REJECT)
    run_tell (listener, run_about (0, (enum run_event) RUN_REFUSES));
  for (unsigned q = from; goes_on && q < vector->question_count; q++)
    {
      const struct run_question *question = &vector->questions[q];
      bool is_opening = question->query == RUN_OPENING;
      enum run_class why = RUN_MUST;
      memset (&given, 0, sizeof given);
      if (is_opening)
	given = opening;
      else
	{
	  run_tell (listener, run_about (q, RUN_ASKED));
	  run_ask (reader, opened, question, &given);
	  run_locate (vector, question, &given);
	}
      if (!given.is_there)
	continue;
      bool is_right = run_accepts (question, &given, &why);
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
      struct run_news news
	= run_about (q, is_right ? RUN_RIGHT : is_said ? RUN_SAID : RUN_WRONG);
      news.more = why;
      news.what = "is wrong";
      run_quote (&news, given.message);
      run_tell (listener, news);
    }
  run_tell (listener, run_about (vector->question_count, RUN_ASKED));
  if (opened && reader->close)
    reader->close (opened);
}

static void
run_add (const struct kit_reader *reader, const struct run_vector *vector, struct run_tally *tally)
{
  long skipped = tally->skipped;
  bool is_sound = vector->questions[0].accepted[0].pattern != RUN_REJECT;
  tally->vector = vector;
  tally->asked += vector->question_count;
  for (unsigned q = 0; q < vector->question_count; q++)
    tally->asked_beyond += vector->questions[q].query > RUN_HEADER;
  run_apart (reader, run_vector_from, vector, vector->question_count, vector->name, run_count, tally);
  tally->sections += is_sound && tally->skipped == skipped;
}

/* Asks about one vector, and says what is wrong.  Returns the number of wrong
   answers, or -1 if the reader does not claim to read the section.  For suites
   in which a vector is a test: the table is an array of them, each with a name.  */
static inline long
run_vector (const struct kit_reader *reader, const struct run_vector *vector)
{
  struct run_tally tally;
  memset (&tally, 0, sizeof tally);
  run_add (reader, vector, &tally);
  return tally.skipped ? -1 : tally.wrong;
}

/* Asks about all vectors, and says what is wrong.  Returns the number of wrong
   answers, or -1 if too little was compared, as the bench has it: that a section
   can be opened and what its header has is nothing by itself, unless nothing
   else is asked; nor are answers of a reader that refuses every section that can
   be opened, or, if the vectors are those of its profile, does not read half of
   them.  */
static inline long
run_vectors (const struct kit_reader *reader, const struct run_vector *vectors, unsigned count,
	     bool is_profile)
{
  struct run_tally tally;
  memset (&tally, 0, sizeof tally);
  run_tests (count);
  for (unsigned i = 0; i < count; i++)
    {
      long wrong = tally.wrong, skipped = tally.skipped;
      run_add (reader, &vectors[i], &tally);
      run_test (i, vectors[i].name, tally.wrong == wrong, tally.skipped != skipped);
    }
  KIT_SAY (RUN_NOTE "%s: %ld of %ld questions answered, %ld wrongly; %ld by other readings, %ld"
	   " could be better; %ld of %u vectors not read\n",
	   reader->name, tally.answered, tally.asked, tally.wrong, tally.classes[RUN_READING],
	   tally.classes[RUN_QUALITY], tally.skipped, count);
  bool has_parts = reader->header || reader->fdes || reader->look_up || reader->step;
  bool is_compared = tally.answered != 0;
  if (tally.asked_beyond)
    is_compared = tally.beyond && (!tally.sections || tally.refused < tally.sections);
  if (is_profile && tally.skipped > (long) count / 2)
    is_compared = false;
  if (tally.wrong == 0 && !(has_parts && is_compared))
    {
      KIT_SAY (RUN_NOTE "%s: too little was compared\n", reader->name);
      return -1;
    }
  return tally.wrong;
}

#endif
