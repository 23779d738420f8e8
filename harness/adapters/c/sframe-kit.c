/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only

   The protocol of the SFrame test bench for readers in C: see sframe-kit.h.  */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sframe-kit.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_FRAMES 131072
#define REGISTERS 128
/* The number of consecutive frames in which calls may have left SP alone, where
   the return address is in a register.  */
#define MAX_SAME_SP 8

static const char *const abis[] = { NULL, "amd64", "aarch64", "aarch64_be", "s390x" };

/* JSON, as far as the bench writes it: a request is sound, and a value is the
   place where its text begins.  */

static const char *
blank (const char *p)
{
  return p + strspn (p, " \t\r\n,:");
}

static const char *
skip_string (const char *p)
{
  for (p++; *p && *p != '"'; p++)
    if (*p == '\\' && p[1])
      p++;
  return *p ? p + 1 : p;
}

static const char *
skip (const char *p)
{
  if (*p == '"')
    return skip_string (p);
  if (*p != '{' && *p != '[')
    return p + strcspn (p, ",]} \t\r\n");
  int depth = 0;
  for (; *p; p++)
    {
      if (*p == '"')
	p = skip_string (p) - 1;
      else if (*p == '{' || *p == '[')
	depth++;
      else if ((*p == '}' || *p == ']') && --depth == 0)
	return p + 1;
    }
  return p;
}

/* The next key of an object from a place in it on, and its value; null at the
   end.  */
static const char *
next_key (const char *p, const char **value)
{
  p = blank (p);
  if (*p != '"')
    return NULL;
  *value = blank (skip_string (p));
  return p;
}

/* The value of a key of an object, or null.  */
static const char *
get (const char *object, const char *key)
{
  if (object == NULL || *object != '{')
    return NULL;
  size_t len = strlen (key);
  const char *value;
  for (const char *p = object + 1; (p = next_key (p, &value)); p = skip (value))
    if (strncmp (p + 1, key, len) == 0 && p[1 + len] == '"')
      return strncmp (value, "null", 4) == 0 ? NULL : value;
  return NULL;
}

/* The first item of a list, or the one after another; null at the end.  */
static const char *
first (const char *list)
{
  if (list == NULL || *list != '[')
    return NULL;
  list = blank (list + 1);
  return *list == ']' ? NULL : list;
}

static const char *
next (const char *item)
{
  item = blank (skip (item));
  return *item == ']' || *item == '\0' ? NULL : item;
}

static uint64_t
number (const char *value)
{
  if (value == NULL)
    return 0;
  return strtoull (*value == '"' ? value + 1 : value, NULL, 0);
}

static bool
is (const char *value, const char *text)
{
  size_t len = strlen (text);
  return value && strncmp (value + 1, text, len) == 0 && value[len + 1] == '"';
}

static int
digit (char c)
{
  return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

static size_t
size_of (const char *value)
{
  return value && *value ? strcspn (value + 1, "\"") / 2 : 0;
}

static void
decode (const char *value, unsigned char *bytes, size_t len)
{
  for (size_t i = 0; i < len; i++)
    bytes[i] = (unsigned char) (digit (value[2 * i + 1]) << 4 | digit (value[2 * i + 2]));
}

static unsigned char *
bytes_of (const char *value, size_t *len)
{
  *len = size_of (value);
  unsigned char *bytes = (unsigned char *) malloc (*len ? *len : 1);
  if (bytes)
    decode (value, bytes, *len);
  else
    *len = 0;
  return bytes;
}

static void
print_string (FILE *out, const char *text)
{
  fputc ('"', out);
  for (; *text; text++)
    if (*text == '"' || *text == '\\')
      fprintf (out, "\\%c", *text);
    else
      fputc ((unsigned char) *text < ' ' ? ' ' : *text, out);
  fputc ('"', out);
}

/* Memory for a section, whose end is watched.  */

#ifdef __SANITIZE_ADDRESS__

static unsigned char *
watched (size_t size)
{
  return (unsigned char *) malloc (size);
}

static void
unwatched (struct kit_section *section)
{
  free (section->bytes);
}

#else

static size_t
pages (size_t size)
{
  size_t page = (size_t) sysconf (_SC_PAGESIZE);
  return (size + page - 1) / page * page;
}

static unsigned char *
watched (size_t size)
{
  size_t len = pages (size), page = (size_t) sysconf (_SC_PAGESIZE);
  unsigned char *start = (unsigned char *) mmap (NULL, len + page, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED || mprotect (start + len, page, PROT_NONE) != 0)
    return NULL;
  return start + (len - size);
}

static void
unwatched (struct kit_section *section)
{
  size_t len = pages (section->size);
  if (section->bytes)
    munmap (section->bytes + section->size - len, len + pages (1));
}

#endif

/* Nothing is refused yet.  */
static struct kit_fault
no_fault (void)
{
  struct kit_fault fault = { NULL, -1, NULL, NULL };
  return fault;
}

/* The process.  */

/* One without a section that can be used is opened as null: no FDE is there.  */
struct image
{
  struct image *before;
  uint64_t start, end;
  char *path;
  struct kit_section section;
  void *opened;
};

static const struct kit_reader *reader;
/* The last one that came.  It counts alone where others are as well.  */
static struct image *images;
static bool big_endian;
static enum kit_abi abi;
/* 64: nothing is stripped.  */
static unsigned address_bits;

/* The moment of a walk.  */

static uint64_t registers[REGISTERS];
static bool known[REGISTERS];
static uint64_t stack_address;
static unsigned char *stack;
static size_t stack_len;
/* In vectors, memory is an object of 8-byte numbers, and nothing else.  */
static const char *words;
static uint64_t request, stop_index;

static char *line;
static size_t line_size;

/* Where answers go.  What the reader prints goes to standard error: among the
   answers it would be taken for one.  */
static FILE *answers;

#define say(...) fprintf (answers, __VA_ARGS__)

/* The last piece of memory that was requested.  */
static uint64_t piece_address;
static unsigned char *piece;
static size_t piece_len;

bool
kit_register (unsigned n, uint64_t *value)
{
  if (n >= REGISTERS || !known[n])
    return false;
  *value = registers[n];
  return true;
}

uint64_t
kit_strip (uint64_t address)
{
  if ((abi != KIT_AARCH64 && abi != KIT_AARCH64_BE) || address_bits >= 64)
    return address;
  uint64_t mask = ~UINT64_C (0) << address_bits;
  return address >> 55 & 1 ? address | mask : address & ~mask;
}

static void
ask (uint64_t address, size_t size)
{
  static char *reply;
  static size_t reply_size;
  say ("{\"id\":%" PRIu64 ",\"read\":{\"stop\":%" PRIu64
	  ",\"address\":\"0x%" PRIx64 "\",\"size\":%zu}}\n",
	  request, stop_index, address, size);
  fflush (answers);
  if (getline (&reply, &reply_size, stdin) < 0)
    exit (0);
  free (piece);
  piece_address = address;
  piece = bytes_of (get (reply, "memory"), &piece_len);
}

/* Whether bytes at an address are among those of a piece.  */
static bool
copy (void *to, size_t size, uint64_t address, uint64_t start,
      const unsigned char *bytes, size_t len)
{
  bool is_there = address >= start && len >= size && address - start <= len - size;
  if (is_there)
    memcpy (to, bytes + (address - start), size);
  return is_there;
}

bool
kit_read (uint64_t address, void *to, size_t size)
{
  if (words != NULL)
    return false;
  if (copy (to, size, address, stack_address, stack, stack_len)
      || copy (to, size, address, piece_address, piece, piece_len))
    return true;
  /* Read much at once, if it exists.  */
  size_t sizes[] = { 65536, 4096, size };
  for (int i = 0; i < 3; i++)
    if (sizes[i] >= size)
      {
	ask (address, sizes[i]);
	if (copy (to, size, address, piece_address, piece, piece_len))
	  return true;
      }
  return false;
}

bool
kit_read_u64 (uint64_t address, uint64_t *value)
{
  if (words != NULL)
    {
      const char *word;
      for (const char *p = words + 1; (p = next_key (p, &word)); p = skip (word))
	if (number (p) == address)
	  {
	    *value = number (word);
	    return true;
	  }
      return false;
    }
  unsigned char bytes[8];
  if (!kit_read (address, bytes, sizeof bytes))
    return false;
  *value = 0;
  for (int i = 0; i < 8; i++)
    *value |= (uint64_t) bytes[i] << (big_endian ? 56 - 8 * i : 8 * i);
  return true;
}

static void
take_registers (const char *object)
{
  memset (known, 0, sizeof known);
  const char *value;
  for (const char *p = object ? object + 1 : ""; (p = next_key (p, &value)); p = skip (value))
    {
      unsigned long n = strtoul (p + 1, NULL, 10);
      if (n < REGISTERS)
	{
	  registers[n] = number (value);
	  known[n] = true;
	}
    }
}

/* Walking with rules.  */

static enum kit_end_kind
value_of (struct kit_rule rule, const struct kit_frame *frame, uint64_t cfa,
	  struct kit_step *step, uint64_t *value)
{
  uint64_t base;
  step->number = (unsigned) rule.base;
  if (rule.base == KIT_CFA)
    base = cfa;
  else if (rule.base == KIT_SP || rule.base == (int) kit_sp_number (abi))
    base = frame->sp;
  else if (rule.base == KIT_FP || rule.base == (int) kit_fp_number (abi))
    base = frame->fp;
  else if (!frame->is_topmost)
    return KIT_UNSAFE_REGISTER;
  else if (!kit_register (step->number, &base))
    return KIT_UNKNOWN_REGISTER;
  step->address = *value = base + (uint64_t) rule.offset;
  return rule.dereference && !kit_read_u64 (step->address, value)
	   ? KIT_UNREADABLE : KIT_CALLER;
}

static void
step_by_rules (void *opened, const struct kit_frame *frame, struct kit_step *step)
{
  struct kit_place place;
  memset (&place, 0, sizeof place);
  reader->look_up (opened, frame->pc, frame->is_return, &place);
  const struct kit_row *row = &place.rules;
  static const enum kit_end_kind ends[]
    = { KIT_END_NO_FDE, KIT_END_NO_ROW, KIT_OUTERMOST, KIT_CALLER, KIT_MALFORMED };
  step->kind = row->is_undefined && place.found == KIT_ROW
		 ? KIT_OUTERMOST : ends[place.found];
  step->message = place.fault.message ? place.fault.message : place.fault.kind;
  if (step->kind != KIT_CALLER)
    return;
  step->what = "cfa";
  step->kind = value_of (row->cfa, frame, 0, step, &step->cfa);
  if (step->kind != KIT_CALLER)
    return;
  step->has_cfa = true;
  struct kit_frame *caller = &step->caller;
  caller->sp = abi == KIT_S390X ? step->cfa - 160 : step->cfa;
  caller->same_sp = frame->is_return && caller->sp == frame->sp ? frame->same_sp + 1 : 0;
  if ((caller->sp < frame->sp || caller->same_sp > (abi == KIT_AMD64 ? 0 : MAX_SAME_SP))
      && !place.is_signal)
    {
      step->kind = KIT_NO_PROGRESS;
      return;
    }
  step->what = "ra";
  if (row->ra.is_there)
    step->kind = value_of (row->ra, frame, step->cfa, step, &caller->pc);
  else if (!frame->is_topmost || !kit_register (kit_ra_number (abi), &caller->pc))
    step->kind = KIT_RA_NOT_SAVED;
  if (step->kind != KIT_CALLER)
    return;
  if (row->is_mangled)
    {
      step->is_mangled = true;
      step->is_key_b = place.is_key_b;
      step->mangled = caller->pc;
      caller->pc = kit_strip (caller->pc);
    }
  caller->fp = frame->fp;
  caller->fp_is_lost = frame->fp_is_lost;
  caller->fp_address = frame->fp_address;
  if (row->fp.is_there)
    {
      step->what = "fp";
      enum kit_end_kind kind = value_of (row->fp, frame, step->cfa, step, &caller->fp);
      caller->fp_is_lost = kind != KIT_CALLER;
      caller->fp_address = kind == KIT_UNREADABLE ? step->address : 0;
      if (caller->fp_is_lost)
	caller->fp = 0;
    }
  caller->is_return = !place.is_signal;
}

static void
take_step (void *opened, const struct kit_frame *frame, struct kit_step *step)
{
  memset (step, 0, sizeof *step);
  if (reader->step)
    reader->step (opened, frame, step);
  else
    step_by_rules (opened, frame, step);
}

static void
print_end (FILE *out, const struct kit_step *step)
{
  static const char *const kinds[]
    = { "caller", "outermost", "no-fde", "no-row", "malformed", "unreadable",
	"unsafe-register", "unknown-register", "ra-not-saved", "misaligned",
	"no-progress", "failed" };
  fprintf (out, "{\"kind\":\"%s\"", kinds[step->kind]);
  if (step->kind == KIT_UNREADABLE)
    fprintf (out, ",\"what\":\"%s\",\"address\":\"0x%" PRIx64 "\"", step->what, step->address);
  else if (step->kind == KIT_UNSAFE_REGISTER || step->kind == KIT_UNKNOWN_REGISTER)
    fprintf (out, ",\"what\":\"%s\",\"register\":%u", step->what, step->number);
  else if (step->kind == KIT_MISALIGNED || step->kind == KIT_NO_PROGRESS)
    fprintf (out, ",\"cfa\":\"0x%" PRIx64 "\"", step->cfa);
}

/* What the reader says about a step, after what there is already.  */
static void
print_message (FILE *out, const char *comma, const struct kit_step *step)
{
  if (step->message == NULL)
    return;
  fprintf (out, "%s\"message\":", comma);
  print_string (out, step->message);
}

static const struct image *
image_of (uint64_t pc)
{
  const struct image *image = images;
  while (image && (pc < image->start || pc >= image->end))
    image = image->before;
  return image;
}

static void
walk (const char *stop)
{
  take_registers (get (stop, "registers"));
  const char *snapshot = get (stop, "stack");
  stack_address = number (get (snapshot, "address"));
  stack = bytes_of (get (snapshot, "bytes"), &stack_len);
  /* The stop is a new one, so cached memory is stale.  */
  piece_len = 0;
  words = NULL;
  struct kit_frame frame;
  struct kit_step step;
  memset (&frame, 0, sizeof frame);
  memset (&step, 0, sizeof step);
  frame.pc = number (get (stop, "pc"));
  frame.sp = registers[kit_sp_number (abi)];
  frame.fp = registers[kit_fp_number (abi)];
  frame.is_topmost = true;
  /* Requests to read come before the answer.  */
  char *answer = NULL;
  size_t answer_len;
  FILE *out = open_memstream (&answer, &answer_len);
  if (out == NULL)
    exit (1);
  fprintf (out, "{\"id\":%" PRIu64 ",\"stop\":%" PRIu64 ",\"frames\":[",
	   request, stop_index);
  int depth = 0;
  for (; depth < MAX_FRAMES; depth++)
    {
      fprintf (out, "%s{\"pc\":\"0x%" PRIx64 "\",\"interrupted\":%s,",
	       depth ? "," : "", frame.pc, frame.is_return ? "false" : "true");
      if (frame.fp_is_lost)
	fprintf (out, "\"fp\":{\"unreadable\":\"0x%" PRIx64 "\"}", frame.fp_address);
      else
	fprintf (out, "\"fp\":\"0x%" PRIx64 "\"", frame.fp);
      const struct image *image = image_of (frame.pc - frame.is_return);
      if (image && image->opened)
	take_step (image->opened, &frame, &step);
      else
	{
	  memset (&step, 0, sizeof step);
	  step.kind = KIT_END_NO_FDE;
	}
      if (step.has_cfa)
	fprintf (out, ",\"cfa\":\"0x%" PRIx64 "\"", step.cfa);
      if (step.is_mangled)
	fprintf (out, ",\"mangled\":{\"value\":\"0x%" PRIx64 "\",\"key\":\"%s\"}",
		 step.mangled, step.is_key_b ? "b" : "a");
      fputc ('}', out);
      if (step.kind != KIT_CALLER)
	break;
      step.caller.is_doubtful |= frame.is_doubtful;
      frame = step.caller;
      frame.is_topmost = false;
    }
  fprintf (out, "],\"end\":");
  if (step.kind == KIT_CALLER)
    fprintf (out, "{\"kind\":\"too-deep\"");
  else
    print_end (out, &step);
  if (step.kind != KIT_CALLER)
    print_message (out, ",", &step);
  fprintf (out, "}");
  if (reader->reliable)
    fprintf (out, ",\"reliable\":%s",
	     step.kind != KIT_CALLER && reader->reliable (&frame, &step) ? "true" : "false");
  fprintf (out, "}\n");
  fclose (out);
  fputs (answer, answers);
  free (answer);
  free (stack);
}

static enum kit_abi
abi_of (const char *value)
{
  for (int i = 1; i <= KIT_S390X; i++)
    if (is (value, abis[i]))
      return (enum kit_abi) i;
  return KIT_UNKNOWN;
}

static void
close_last (struct image **place)
{
  struct image *image = *place;
  *place = image->before;
  if (image->opened && reader->close)
    reader->close (image->opened);
  unwatched (&image->section);
  free (image->path);
  free (image);
}

/* Reads the section of an image.  False if that is impossible.  */
static bool
read_section (struct image *image, const char *section)
{
  size_t size = number (get (section, "size"));
  image->section.bytes = watched (size);
  image->section.size = size;
  image->section.address = number (get (section, "address"));
  image->section.abi = abi;
  image->section.path = image->path;
  FILE *file = fopen (image->path, "rb");
  bool is_read = file && image->section.bytes
		 && fseek (file, (long) number (get (section, "offset")), SEEK_SET) == 0
		 && fread (image->section.bytes, 1, size, file) == size;
  if (file)
    fclose (file);
  return is_read;
}

/* An image that comes, or why its section can't be used: then it is not there.  */
static const char *
open_image (const char *value)
{
  const char *section = get (value, "sframe"), *path = get (value, "path");
  struct image *image = (struct image *) calloc (1, sizeof *image);
  if (image == NULL || path == NULL || *path++ != '"')
    {
      free (image);
      return "an image can't be read";
    }
  image->before = images;
  images = image;
  image->start = number (get (value, "start"));
  image->end = number (get (value, "end"));
  image->path = strndup (path, strcspn (path, "\""));
  if (section == NULL)
    return NULL;
  struct kit_fault fault = no_fault ();
  if (image->path && read_section (image, section))
    image->opened = reader->open (&image->section, &fault);
  else
    fault.message = "an image can't be read";
  if (image->opened)
    return NULL;
  close_last (&images);
  return fault.unsupported ? fault.unsupported
	 : fault.message ? fault.message
	 : fault.kind ? fault.kind : "the section is refused";
}

/* The last image that came with these addresses goes.  */
static void
close_image (const char *value)
{
  uint64_t start = number (get (value, "start")), end = number (get (value, "end"));
  struct image **place = &images;
  while (*place && ((*place)->start != start || (*place)->end != end))
    place = &(*place)->before;
  if (*place)
    close_last (place);
}

/* Says that a request is done, or why it can't be.  */
static void
say_done (const char *problem)
{
  say ("{\"id\":%" PRIu64, request);
  if (problem)
    {
      say (",\"unsupported\":");
      print_string (answers, problem);
    }
  say ("}\n");
}

static void
open_process (const char *process)
{
  abi = abi_of (get (process, "abi"));
  big_endian = is (get (process, "endian"), "big");
  address_bits = (unsigned) number (get (process, "address_bits"));
  const char *problem = NULL;
  for (const char *p = first (get (process, "images")); p && !problem; p = next (p))
    problem = open_image (p);
  say_done (problem);
}

/* Answers about a standalone section.  */

static void
print_fault (const struct kit_fault *fault)
{
  say ("\"reject\":{\"kind\":\"%s\"", fault->kind ? fault->kind : "unspecified");
  if (fault->kind && fault->offset >= 0)
    say (",\"offset\":%" PRId64, fault->offset);
  say ("}");
}

/* An equation in the terms of the vectors.  */
static void
print_rule (const char *name, struct kit_rule rule)
{
  say (",\"%s\":\"", name);
  if (!rule.is_there)
    say ("unchanged");
  else
    {
      char base[20];
      snprintf (base, sizeof base, "r%d", rule.base);
      const char *text
	= rule.base == KIT_CFA ? "CFA"
	  : rule.base == KIT_SP || rule.base == (int) kit_sp_number (abi) ? "SP"
	  : rule.base == KIT_FP || rule.base == (int) kit_fp_number (abi) ? "FP" : base;
      say ("%s%s", rule.dereference ? "*(" : "", text);
      if (rule.offset)
	say ("%+" PRId64, rule.offset);
      say ("%s", rule.dereference ? ")" : "");
    }
  say ("\"");
}

/* A row, and whether it is sound.  */
static bool
print_row (const struct kit_row *row)
{
  say ("{");
  if (row->is_faulty)
    print_fault (&row->fault);
  else
    {
      say ("\"start\":%" PRIu32, row->start);
      if (row->is_undefined)
	say (",\"ra\":\"undefined\"");
      else
	{
	  print_rule ("cfa", row->cfa);
	  print_rule ("ra", row->ra);
	  print_rule ("fp", row->fp);
	}
      say ("%s", row->is_mangled ? ",\"mangled\":true" : "");
    }
  say ("}");
  return !row->is_faulty;
}

static void
print_fde (void *opened, uint32_t index)
{
  struct kit_fde fde;
  memset (&fde, 0, sizeof fde);
  fde.fault = no_fault ();
  reader->fde (opened, index, &fde);
  say ("{");
  if (fde.is_faulty)
    print_fault (&fde.fault);
  else
    {
      say ("\"rows\":[");
      for (uint32_t i = 0; i < fde.rows; i++)
	{
	  struct kit_row row;
	  memset (&row, 0, sizeof row);
	  row.fault = no_fault ();
	  reader->row (opened, index, i, &row);
	  say ("%s", i ? "," : "");
	  if (!print_row (&row))
	    break;
	}
      say ("],\"start\":\"0x%" PRIx64 "\",\"size\":%" PRIu32 ",\"fre_type\":\"addr%u\"",
	      fde.start, fde.size, fde.start_size);
      say (",\"pc_type\":\"%s\",\"fde_type\":\"%s\",\"pauth_key\":\"%s\"",
	      fde.is_mask ? "mask" : "inc", fde.is_flex ? "flex" : "default",
	      fde.is_key_b ? "b" : "a");
      say (",\"signal\":%s,\"rep_size\":%u,\"outermost\":%s",
	      fde.is_signal ? "true" : "false", fde.rep_size,
	      fde.is_outermost ? "true" : "false");
    }
  say ("}");
}

static void
print_fdes (void *opened)
{
  say ("\"fdes\":[");
  uint32_t count = reader->fdes (opened);
  for (uint32_t i = 0; i < count; i++)
    {
      say ("%s", i ? "," : "");
      print_fde (opened, i);
    }
  say ("]");
}

static void
print_header (const struct kit_header *header)
{
  say ("\"header\":{\"version\":%u,\"abi\":\"%s\",\"flags\":%u,\"fixed_fp\":%d,"
	  "\"fixed_ra\":%d,\"aux_len\":%u",
	  header->version, header->abi ? abis[header->abi] : "", header->flags,
	  header->fixed_fp, header->fixed_ra, header->aux_len);
  say (",\"num_fdes\":%" PRIu32 ",\"num_fres\":%" PRIu32 ",\"fre_len\":%" PRIu32
	  ",\"fdeoff\":%" PRIu32 ",\"freoff\":%" PRIu32 "}",
	  header->num_fdes, header->num_fres, header->fre_len, header->fdeoff,
	  header->freoff);
}

static void
print_look_up (void *opened, const char *question)
{
  uint64_t pc = number (get (question, "pc"));
  const char *kind = get (question, "return_address");
  bool is_return = kind && strncmp (kind, "true", 4) == 0;
  struct kit_place place;
  memset (&place, 0, sizeof place);
  place.wants_positions = true;
  place.fault = no_fault ();
  reader->look_up (opened, pc, is_return, &place);
  say ("{\"pc\":\"0x%" PRIx64 "\",\"return_address\":%s,", pc, is_return ? "true" : "false");
  if (place.found == KIT_FAULTY)
    print_fault (&place.fault);
  else if (place.found == KIT_NO_FDE || (place.is_flat && place.found == KIT_NO_ROW))
    say ("\"fde\":\"none\"");
  else if (place.is_flat)
    {
      place.rules.is_undefined |= place.found == KIT_NO_ROWS_OUTERMOST;
      say ("\"rules\":");
      print_row (&place.rules);
    }
  else if (place.found == KIT_ROW)
    say ("\"fde\":%" PRIu32 ",\"row\":%" PRIu32, place.fde, place.row);
  else
    say ("\"fde\":%" PRIu32 ",\"row\":\"%s\"", place.fde,
	    place.found == KIT_NO_ROW ? "none" : "outermost");
  say ("}");
}

static void
print_step (void *opened, const char *question)
{
  const char *given = get (question, "frame"), *bits = get (question, "address_bits");
  struct kit_frame frame;
  memset (&frame, 0, sizeof frame);
  frame.pc = number (get (given, "pc"));
  frame.sp = number (get (given, "sp"));
  frame.fp = number (get (given, "fp"));
  frame.is_return = is (get (given, "kind"), "return");
  frame.is_topmost = get (question, "registers") != NULL;
  take_registers (get (question, "registers"));
  words = get (question, "memory");
  address_bits = bits ? (unsigned) number (bits) : 64;
  struct kit_step step;
  take_step (opened, &frame, &step);
  if (step.kind == KIT_CALLER && step.caller.fp_is_lost)
    {
      step.kind = KIT_UNREADABLE;
      step.what = "fp";
      step.address = step.caller.fp_address;
    }
  if (step.kind == KIT_CALLER)
    say ("{\"caller\":{\"pc\":\"0x%" PRIx64 "\",\"kind\":\"%s\",\"cfa\":\"0x%" PRIx64
	    "\",\"sp\":\"0x%" PRIx64 "\",\"fp\":\"0x%" PRIx64 "\"}}",
	    step.caller.pc, step.caller.is_return ? "return" : "instruction", step.cfa,
	    step.caller.sp, step.caller.fp);
  else
    {
      /* The vectors have no word for a step that has failed.  */
      bool has_end = step.kind != KIT_FAILED;
      say ("{%s", has_end ? "\"end\":" : "");
      if (has_end)
	print_end (answers, &step);
      say ("%s", has_end ? "}" : "");
      print_message (answers, has_end ? "," : "", &step);
      say ("}");
    }
}

/* Answers to each question of a list, after what there is already.  Returns what
   stands between this and what follows.  */
static const char *
print_each (const char *comma, const char *name, const char *list, void *opened,
	    void (*print) (void *, const char *))
{
  say ("%s\"%s\":[", comma, name);
  for (const char *p = first (list); p;)
    {
      print (opened, p);
      p = next (p);
      say ("%s", p ? "," : "");
    }
  say ("]");
  return ",";
}

static bool
answers_fdes (void)
{
  return reader->fdes && reader->fde && reader->row;
}

static void
answer_section (const char *question)
{
  struct kit_section section;
  memset (&section, 0, sizeof section);
  section.size = size_of (get (question, "bytes"));
  section.address = number (get (question, "address"));
  section.abi = abi_of (get (question, "abi"));
  section.bytes = watched (section.size);
  if (section.bytes)
    decode (get (question, "bytes"), section.bytes, section.size);
  struct kit_fault fault = no_fault ();
  void *opened = section.bytes ? reader->open (&section, &fault) : NULL;
  abi = section.abi;
  say ("{\"id\":%" PRIu64 ",", request);
  if (opened == NULL && fault.unsupported)
    {
      say ("\"unsupported\":");
      print_string (answers, fault.unsupported);
      say ("}\n");
    }
  else if (opened == NULL)
    {
      say ("\"section\":{");
      print_fault (&fault);
      say ("}}\n");
    }
  else
    {
      say ("\"section\":{");
      const char *comma = "";
      struct kit_header header;
      memset (&header, 0, sizeof header);
      if (reader->header && reader->header (opened, &header))
	{
	  print_header (&header);
	  comma = ",";
	}
      if (answers_fdes ())
	{
	  say ("%s", comma);
	  print_fdes (opened);
	  comma = ",";
	}
      if (reader->look_up)
	comma = print_each (comma, "lookups", get (question, "lookups"), opened, print_look_up);
      if (reader->step)
	print_each (comma, "steps", get (question, "steps"), opened, print_step);
      say ("}}\n");
    }
  if (opened && reader->close)
    reader->close (opened);
  unwatched (&section);
}

static void
answer_hello (void)
{
  const char *parts[] = { reader->header ? "header" : NULL, answers_fdes () ? "fdes" : NULL,
			  reader->look_up ? "lookups" : NULL, reader->step ? "steps" : NULL };
  say ("{\"id\":%" PRIu64 ",\"hello\":{\"protocol\":1,\"name\":", request);
  print_string (answers, reader->name);
  say (",\"version\":");
  print_string (answers, reader->version ? reader->version : "unknown");
  say (",\"data\":");
  print_string (answers, reader->data ? reader->data : "sframe");
  say (",\"section\":[");
  const char *comma = "";
  for (int i = 0; i < 4; i++)
    if (parts[i])
      {
	say ("%s\"%s\"", comma, parts[i]);
	comma = ",";
      }
  say ("]%s%s}}\n", reader->reliable ? ",\"reliable\":true" : "",
       reader->follows ? ",\"follows\":true" : "");
}

int
kit_main (const struct kit_reader *of)
{
  int own = dup (STDOUT_FILENO);
  answers = own < 0 ? NULL : fdopen (own, "w");
  if (answers == NULL)
    return 1;
  if (dup2 (STDERR_FILENO, STDOUT_FILENO) < 0 && freopen ("/dev/null", "w", stdout) == NULL)
    return 1;
  reader = of;
  while (getline (&line, &line_size, stdin) > 0)
    {
      request = number (get (line, "id"));
      const char *part;
      if (get (line, "hello"))
	answer_hello ();
      else if ((part = get (line, "open")))
	open_process (part);
      else if ((part = get (line, "map")))
	say_done (open_image (part));
      else if ((part = get (line, "unmap")))
	{
	  close_image (part);
	  say_done (NULL);
	}
      else if ((part = get (line, "unwind")))
	{
	  stop_index = 0;
	  for (const char *p = first (part); p; p = next (p), stop_index++)
	    walk (p);
	}
      else if ((part = get (line, "section")))
	answer_section (part);
      fflush (answers);
      fflush (stdout);
    }
  return 0;
}
