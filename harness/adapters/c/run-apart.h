/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only

   What is asked, and what became of it, for tables of sframe-testbench export.
   Where the host can fork, each table is put to the reader in a process of its
   own: a reader that crashes or hangs loses one answer.  Elsewhere, or with
   -DRUN_HERE for a debugger, the name is said before it is asked.  */

#ifndef SFRAME_RUN_APART_H
#define SFRAME_RUN_APART_H

#include "run-moment.h"

#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <stdio.h>
#include <string.h>
#endif

#if !defined RUN_HERE && !defined __KERNEL__ && (defined __unix__ || defined __APPLE__)
#define RUN_FORKS
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

/* The seconds that a question may take, where the host can fork.  */
#ifndef RUN_SECONDS
#define RUN_SECONDS 10
#endif

/* With -DRUN_KTAP, each table is a test, and what is said is KTAP.  */
#ifdef RUN_KTAP
#define RUN_NOTE "# "
#else
#define RUN_NOTE ""
#endif

/* What becomes of a question: it is going to be asked, its answer is right, wrong,
   or wrong with one before; or the process has ended.  Further ones
   are those of a table.  */
enum run_event { RUN_ASKED, RUN_RIGHT, RUN_WRONG, RUN_SAID, RUN_CRASHED, RUN_DONE, RUN_OWN };

/* What becomes known of a question, which is a position in a table.  What is wrong, why a
   right answer is accepted, or how the process has ended; and what the reader
   says.  */
struct run_news
{
  unsigned at, more;
  enum run_event event;
  const char *what;
  char message[160];
};

/* Who hears it: a tally of the table, or the process that has one.  */
struct run_listener
{
  void (*hear) (void *tally, const struct run_news *);
  void *tally;
  int to;
};

/* Asks from a position on.  */
typedef void run_work (const struct kit_reader *, const void *table, unsigned from,
		       struct run_listener *);

static inline void
run_tell (struct run_listener *listener, struct run_news news)
{
#ifdef RUN_FORKS
  if (listener->to >= 0)
    {
      /* A question that takes too long ends the process.  */
      if (news.event == RUN_ASKED)
	alarm (RUN_SECONDS);
      if (write (listener->to, &news, sizeof news) != (ssize_t) sizeof news)
	_exit (1);
      return;
    }
#endif
  listener->hear (listener->tally, &news);
}

static inline struct run_news
run_about (unsigned at, enum run_event event)
{
  struct run_news news;
  memset (&news, 0, sizeof news);
  news.at = at;
  news.event = event;
  return news;
}

/* With what the reader says, as far as there is room.  */
static inline void
run_quote (struct run_news *news, const char *message)
{
  for (size_t i = 0; message && message[i] && i + 1 < sizeof news->message; i++)
    news->message[i] = message[i] < ' ' ? ' ' : message[i];
}

#ifdef RUN_FORKS

/* The next event, if the process has not ended.  */
static inline bool
run_hear (int from, struct run_news *news)
{
  size_t len = 0;
  while (len < sizeof *news)
    {
      ssize_t got = read (from, (char *) news + len, sizeof *news - len);
      if (got > 0)
	len += (size_t) got;
      else if (got == 0 || errno != EINTR)
	return false;
    }
  return true;
}

/* Asks from a position on, in another process.  Returns the position after the
   one at which that has ended, or 0 if all has been asked.  */
static inline unsigned
run_fork (const struct kit_reader *reader, run_work *work, const void *table, unsigned from,
	  struct run_listener *listener)
{
  int ends[2], status = 0;
  fflush (NULL);
  pid_t child = pipe (ends) == 0 ? fork () : -1;
  if (child < 0)
    {
      work (reader, table, from, listener);
      return 0;
    }
  if (child == 0)
    {
      close (ends[0]);
      listener->to = ends[1];
      work (reader, table, from, listener);
      run_tell (listener, run_about (0, RUN_DONE));
      alarm (0);
      exit (0);
    }
  close (ends[1]);
  struct run_news news = run_about (from, RUN_ASKED), last = news;
  while (run_hear (ends[0], &news))
    {
      last = news;
      if (news.event != RUN_DONE)
	listener->hear (listener->tally, &news);
    }
  close (ends[0]);
  while (waitpid (child, &status, 0) < 0 && errno == EINTR)
    ;
  if (last.event == RUN_DONE && status == 0)
    return 0;
  bool is_slow = WIFSIGNALED (status) && WTERMSIG (status) == SIGALRM;
  struct run_news end = run_about (last.at, RUN_CRASHED);
  end.what = is_slow ? "has no answer in time: signal"
	     : WIFSIGNALED (status) ? "crashed: signal" : "has ended: status";
  end.more = (unsigned) (WIFSIGNALED (status) ? WTERMSIG (status) : WEXITSTATUS (status));
  listener->hear (listener->tally, &end);
  return last.event == RUN_DONE ? 0 : last.at + 1;
}

#endif

/* Asks about a table with a name, whatever becomes of single questions.  The first
   one is whether it can be opened, and that after the last one is to close it.  */
static inline void
run_apart (const struct kit_reader *reader, run_work *work, const void *table, unsigned count,
	   const char *name, void (*hear) (void *, const struct run_news *), void *tally)
{
  struct run_listener listener = { hear, tally, -1 };
#ifdef RUN_FORKS
  unsigned from = 0;
  do
    from = run_fork (reader, work, table, from, &listener);
  while (from > 1 && from < count);
  (void) name;
#else
  KIT_SAY (RUN_NOTE "%s\n", name);
#ifndef __KERNEL__
  fflush (NULL);
#endif
  (void) count;
  work (reader, table, 0, &listener);
#endif
}

/* The line of a test, and before the first one the plan.  */
static inline void
run_tests (unsigned count)
{
#ifdef RUN_KTAP
  KIT_SAY ("KTAP version 1\n1..%u\n", count);
#endif
  (void) count;
}

static inline void
run_test (unsigned number, const char *name, bool is_right, bool is_skipped)
{
#ifdef RUN_KTAP
  KIT_SAY ("%sok %u %s%s\n", is_right ? "" : "not ", number + 1, name,
	   is_skipped ? " # SKIP not read" : "");
#endif
  (void) number, (void) name, (void) is_right, (void) is_skipped;
}

#endif
