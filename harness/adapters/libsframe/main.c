/* An adapter between libsframe of binutils and the protocol of the SFrame test
   bench (harness/protocol/README.md).  The library finds rows and decodes their
   data words; this file applies the rules to a frame.

   ci/adapters compiles it together with the library's source, so that
   AddressSanitizer and UndefinedBehaviorSanitizer watch both: memory that the
   library reads or writes and may not ends the process, with what it was on
   standard error.  Without them, cc -I... main.c sanitizer.c libsframe.a will
   do.

   Look-ups of the library take all function starts for relative to their
   fields, also where SFRAME_F_FDE_FUNC_START_PCREL is not set.  With --pcrel
   they are made so before it gets a section, so that its other answers about
   such sections can be seen.  */

#define _GNU_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sframe-api.h"
#include "sanitizer.h"

#ifndef VERSION
#define VERSION "unknown"
#endif

#define MAX_FRAMES 131072
#define MAX_IMAGES 64
#define REGISTERS 128
/* The number of consecutive frames in which calls may have left SP alone, where
   the return address is in a register.  */
#define MAX_SAME_SP 8

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

/* The value of a key of an object, or null.  */
static const char *
get (const char *object, const char *key)
{
  if (object == NULL || *object != '{')
    return NULL;
  size_t len = strlen (key);
  for (const char *p = blank (object + 1); *p == '"';)
    {
      const char *name = p + 1;
      const char *value = blank (skip_string (p));
      if (strncmp (name, key, len) == 0 && name[len] == '"')
	return strncmp (value, "null", 4) == 0 ? NULL : value;
      p = blank (skip (value));
    }
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

/* The bytes of a string of hexadecimal digits; to be freed.  The buffer has
   no spare bytes, so that a sanitizer sees reads past the end.  */
static unsigned char *
bytes_of (const char *value, size_t *len)
{
  *len = value ? strcspn (value + 1, "\"") / 2 : 0;
  unsigned char *bytes = malloc (*len);
  for (size_t i = 0; bytes && i < *len; i++)
    bytes[i] = digit (value[2 * i + 1]) << 4 | digit (value[2 * i + 2]);
  return bytes;
}

/* The process.  */

enum abi { AMD64, AARCH64, S390X };

struct image
{
  uint64_t start, end, section;
  sframe_decoder_ctx *decoder;
};

static struct image images[MAX_IMAGES];
static int image_count;
static enum abi abi;
static bool big_endian;
static bool make_pcrel;
static unsigned address_bits;

/* A stop.  */

static uint64_t registers[REGISTERS];
static bool known[REGISTERS];
static uint64_t stack_address;
static unsigned char *stack;
static size_t stack_len;
static uint64_t request, stop_index;

static char *line;
static size_t line_size;

/* The last piece of memory that was requested.  */
static uint64_t piece_address;
static unsigned char *piece;
static size_t piece_len;

static void
ask (uint64_t address, size_t size)
{
  static char *reply;
  static size_t reply_size;
  printf ("{\"id\":%" PRIu64 ",\"read\":{\"stop\":%" PRIu64
	  ",\"address\":\"0x%" PRIx64 "\",\"size\":%zu}}\n",
	  request, stop_index, address, size);
  fflush (stdout);
  if (getline (&reply, &reply_size, stdin) < 0)
    exit (0);
  free (piece);
  piece_address = address;
  piece = bytes_of (get (reply, "memory"), &piece_len);
}

/* Whether the 8 bytes at an address are among those of a piece.  */
static bool
copy (unsigned char *to, uint64_t address, uint64_t start,
      const unsigned char *bytes, size_t len)
{
  bool is_there = address >= start && len >= 8 && address - start <= len - 8;
  if (is_there)
    memcpy (to, bytes + (address - start), 8);
  return is_there;
}

static bool
read_u64 (uint64_t address, uint64_t *value)
{
  unsigned char word[8];
  if (!copy (word, address, stack_address, stack, stack_len)
      && !copy (word, address, piece_address, piece, piece_len))
    {
      /* Read much at once, if it exists.  */
      static const size_t sizes[] = { 65536, 4096, 8 };
      bool is_there = false;
      for (int i = 0; i < 3 && !is_there; i++)
	{
	  ask (address, sizes[i]);
	  is_there = copy (word, address, piece_address, piece, piece_len);
	}
      if (!is_there)
	return false;
    }
  *value = 0;
  for (int i = 0; i < 8; i++)
    *value |= (uint64_t) word[i] << (big_endian ? 56 - 8 * i : 8 * i);
  return true;
}

static unsigned
sp_number (void)
{
  return abi == AMD64 ? 7 : abi == AARCH64 ? 31 : 15;
}

static unsigned
fp_number (void)
{
  return abi == AMD64 ? 6 : abi == AARCH64 ? 29 : 11;
}

static uint64_t
strip (uint64_t address)
{
  if (abi != AARCH64 || address_bits >= 64)
    return address;
  uint64_t mask = ~UINT64_C (0) << address_bits;
  return address >> 55 & 1 ? address | mask : address & ~mask;
}

static uint64_t
field (const unsigned char *p, unsigned size, bool big)
{
  uint64_t value = 0;
  for (unsigned i = 0; i < size; i++)
    value |= (uint64_t) p[i] << 8 * (big ? size - 1 - i : i);
  return value;
}

/* Makes function starts relative to their fields, if they are not.  */
static void
starts_from_fields (unsigned char *data, size_t size)
{
  const size_t header = sizeof (sframe_header);
  if (size < header || (data[3] & SFRAME_F_FDE_FUNC_START_PCREL)
      || (data[2] != SFRAME_VERSION_2 && data[2] != SFRAME_VERSION_3))
    return;
  bool big = field (data, 2, false) != SFRAME_MAGIC;
  if (field (data, 2, big) != SFRAME_MAGIC)
    return;
  bool is_v3 = data[2] == SFRAME_VERSION_3;
  unsigned width = is_v3 ? 8 : 4;
  size_t entry = is_v3 ? sizeof (sframe_func_desc_idx_v3)
		       : sizeof (sframe_func_desc_entry_v2);
  uint64_t count = field (data + offsetof (sframe_header, sfh_num_fdes), 4, big);
  uint64_t at = header + data[offsetof (sframe_header, sfh_auxhdr_len)]
		+ field (data + offsetof (sframe_header, sfh_fdeoff), 4, big);
  data[3] |= SFRAME_F_FDE_FUNC_START_PCREL;
  for (; count && at + width <= size; count--, at += entry)
    {
      uint64_t start = field (data + at, width, big) - at;
      for (unsigned i = 0; i < width; i++)
	data[at + (big ? width - 1 - i : i)] = start >> 8 * i;
    }
}

static sframe_decoder_ctx *
decode (unsigned char *data, size_t size, int *error)
{
  if (make_pcrel)
    starts_from_fields (data, size);
  return sframe_decode ((const char *) data, size, error);
}

static const char unsorted[] = "sframe_find_fre: FDEs that are not sorted";

/* Why there is no decoder.  Newer libraries do not support version 1, whatever
   error they report.  */
static const char *
problem_of (const unsigned char *data, size_t size, int error)
{
  return size > 2 && data[2] == SFRAME_VERSION_1
	   ? "sframe_decode: version 1" : sframe_errmsg (error);
}

/* A function as the library reports it: its start is relative to the start of
   the section.  */
struct function
{
  uint32_t index, size, rows;
  int64_t start;
  unsigned char info, info2;
  uint8_t rep_size;
  bool is_flex, is_signal;
};

static bool
function_at (const sframe_decoder_ctx *decoder, uint32_t index, struct function *f)
{
  uint8_t version = sframe_decoder_get_version (decoder);
  int error = 0;
  memset (f, 0, sizeof *f);
  f->index = index;
  if (version == 3)
    error = sframe_decoder_get_funcdesc_v3 (decoder, index, &f->rows, &f->size,
					    &f->start, &f->info, &f->info2,
					    &f->rep_size);
  else
    {
      int32_t start = 0;
      error = sframe_decoder_get_funcdesc_v2 (decoder, index, &f->rows,
					      &f->size, &start, &f->info,
					      &f->rep_size);
      f->start = start;
    }
  if (error == SFRAME_ERR)
    return false;
  /* As dump_sframe does.  */
  if (sframe_decoder_get_flags (decoder) & SFRAME_F_FDE_FUNC_START_PCREL)
    f->start = (uint64_t) f->start
	       + sframe_decoder_get_offsetof_fde_start_addr (decoder, index, &error);
  f->is_flex = version == 3 && SFRAME_V3_FDE_TYPE (f->info2) == SFRAME_FDE_TYPE_FLEX;
  f->is_signal = version == 3 && SFRAME_V3_FDE_SIGNAL_P (f->info);
  return true;
}

/* The next function, from an index on, that contains a PC.  */
static bool
function_with (const sframe_decoder_ctx *decoder, uint32_t from, int64_t pc,
	       struct function *f)
{
  uint32_t count = sframe_decoder_get_num_fidx (decoder);
  for (uint32_t i = from; i < count; i++)
    if (function_at (decoder, i, f) && pc >= f->start
	&& (uint64_t) pc - f->start < f->size)
      return true;
  return false;
}

/* The position of a row in a function: that of the last equal one.  */
static bool
row_in (const sframe_decoder_ctx *decoder, const struct function *f,
	const sframe_frame_row_entry *row, uint32_t *position)
{
  sframe_frame_row_entry other;
  bool is_there = false;
  for (uint32_t i = 0; i < f->rows; i++)
    if (sframe_decoder_get_fre (decoder, f->index, i, &other) == 0
	&& other.fre_start_addr == row->fre_start_addr
	&& other.fre_info == row->fre_info
	&& memcmp (other.fre_datawords, row->fre_datawords, MAX_DATAWORD_BYTES) == 0)
      {
	*position = i;
	is_there = true;
      }
  return is_there;
}

/* The function and the position of a row that sframe_find_fre has found for a
   PC, which it does not report: the function that contains the PC and has the
   row, or else any that has it.  */
static bool
place_of (const sframe_decoder_ctx *decoder, int64_t pc,
	  const sframe_frame_row_entry *row, struct function *f, uint32_t *position)
{
  for (uint32_t i = 0; function_with (decoder, i, pc, f); i = f->index + 1)
    if (row_in (decoder, f, row, position))
      return true;
  uint32_t count = sframe_decoder_get_num_fidx (decoder);
  for (uint32_t i = 0; i < count; i++)
    if (function_at (decoder, i, f) && row_in (decoder, f, row, position))
      return true;
  return false;
}

/* A rule: a register, or the CFA (-1), an offset, and whether the value is
   loaded from there.  */
struct rule
{
  bool is_there, dereference;
  int base;
  int64_t offset;
};

/* The content of a row.  */
struct rules
{
  bool is_undefined, is_mangled;
  struct rule cfa, ra, fp;
};

static struct rule
at_cfa (int32_t offset)
{
  return (struct rule) { .is_there = true, .dereference = true, .base = -1,
			 .offset = offset };
}

/* A rule of default type.  */
static struct rule
saved (const sframe_decoder_ctx *decoder, int32_t offset)
{
  if (sframe_decoder_get_abi_arch (decoder) == SFRAME_ABI_S390X_ENDIAN_BIG
      && sframe_decoder_get_version (decoder) == SFRAME_VERSION_2
      && SFRAME_V2_S390X_OFFSET_IS_REGNUM (offset))
    return (struct rule) { .is_there = true,
			   .base = SFRAME_V2_S390X_OFFSET_DECODE_REGNUM (offset) };
  return at_cfa (offset);
}

/* A rule of flexible type.  */
static struct rule
flexible (uint32_t control, int32_t offset)
{
  return (struct rule) {
    .is_there = true,
    .base = SFRAME_V3_FLEX_FDE_CTRLWORD_REG_P (control)
	      ? (int) SFRAME_V3_FLEX_FDE_CTRLWORD_REGNUM (control) : -1,
    .dereference = SFRAME_V3_FLEX_FDE_CTRLWORD_DEREF_P (control),
    .offset = offset };
}

/* The content of a row by the library's getters, or the library's error.  */
static int
rules_of (const sframe_decoder_ctx *decoder, const struct function *f,
	  const sframe_frame_row_entry *row, struct rules *rules)
{
  const struct rule unchanged = { .is_there = false };
  uint32_t type = f->is_flex ? SFRAME_FDE_TYPE_FLEX : SFRAME_FDE_TYPE_DEFAULT;
  int error = 0, ra_error = 0, fp_error = 0;
  memset (rules, 0, sizeof *rules);
  rules->is_undefined = sframe_fre_get_ra_undefined_p (decoder, row, &error);
  if (error)
    return error;
  rules->is_mangled = sframe_fre_get_ra_mangled_p (decoder, row, &error);
  if (error || rules->is_undefined)
    return error;
  int32_t cfa = sframe_fre_get_cfa_offset (decoder, row, type, &error);
  if (error)
    return error;
  int32_t ra = sframe_fre_get_ra_offset (decoder, row, type, &ra_error);
  int32_t fp = sframe_fre_get_fp_offset (decoder, row, type, &fp_error);
  if (!f->is_flex)
    {
      uint8_t base = sframe_fre_get_base_reg_id (row, &error);
      rules->cfa = (struct rule) { .is_there = true, .offset = cfa,
				   .base = base == SFRAME_BASE_REG_SP ? sp_number () : fp_number () };
      bool is_unsaved
	= ra_error || (abi == S390X && ra == SFRAME_FRE_RA_OFFSET_INVALID);
      rules->ra = is_unsaved ? unchanged : saved (decoder, ra);
      rules->fp = fp_error ? unchanged : saved (decoder, fp);
      return error;
    }
  /* Where dump_sframe reads the control words.  Without one, or with padding
     in its place, the getters return the header's fixed offset, if there is
     one.  */
  uint32_t control = sframe_get_fre_udata (row, 0, &error);
  if (error)
    return error;
  rules->cfa = flexible (control, cfa);
  bool is_fixed = sframe_decoder_get_fixed_ra_offset (decoder)
		  != SFRAME_CFA_FIXED_RA_INVALID;
  int absent = 0;
  control = sframe_get_fre_udata (row, 2, &absent);
  bool is_padding = !absent && control == SFRAME_FRE_RA_OFFSET_INVALID;
  if (!absent && !is_padding)
    {
      if (ra_error)
	return ra_error;
      rules->ra = flexible (control, ra);
    }
  else
    rules->ra = is_fixed && !ra_error ? at_cfa (ra) : unchanged;
  control = sframe_get_fre_udata (row, is_padding ? 3 : 4, &absent);
  if (absent || control == 0)
    rules->fp = fp_error ? unchanged : at_cfa (fp);
  else
    {
      if (fp_error)
	return fp_error;
      rules->fp = flexible (control, fp);
    }
  return 0;
}

static const char *kinds[] = { "ok", "unreadable", "unsafe-register", "unknown-register" };

/* The value of a rule, or the position of a kind of end.  */
static int
value_of (struct rule rule, uint64_t cfa, uint64_t sp, uint64_t fp,
	  bool topmost, uint64_t *value, uint64_t *address)
{
  uint64_t base;
  if (rule.base < 0)
    base = cfa;
  else if ((unsigned) rule.base == sp_number ())
    base = sp;
  else if ((unsigned) rule.base == fp_number ())
    base = fp;
  else if (!topmost)
    return 2;
  else if (rule.base >= REGISTERS || !known[rule.base])
    return 3;
  else
    base = registers[rule.base];
  *address = *value = base + rule.offset;
  return rule.dereference && !read_u64 (*address, value) ? 1 : 0;
}

/* The end of a walk at a rule that has no value.  */
static void
without (char *end, size_t size, int kind, const char *what, struct rule rule,
	 uint64_t from)
{
  if (kind == 1)
    snprintf (end, size, "\"kind\":\"%s\",\"what\":\"%s\",\"address\":\"0x%" PRIx64 "\"",
	      kinds[kind], what, from);
  else
    snprintf (end, size, "\"kind\":\"%s\",\"what\":\"%s\",\"register\":%u",
	      kinds[kind], what, (unsigned) rule.base);
}

static void
walk (const char *stop)
{
  uint64_t pc = number (get (stop, "pc"));
  memset (known, 0, sizeof known);
  const char *list = get (stop, "registers");
  for (const char *p = list ? blank (list + 1) : "}"; *p == '"';)
    {
      unsigned long n = strtoul (p + 1, NULL, 10);
      const char *value = blank (skip_string (p));
      if (n < REGISTERS)
	{
	  registers[n] = number (value);
	  known[n] = true;
	}
      p = blank (skip (value));
    }
  const char *snapshot = get (stop, "stack");
  stack_address = number (get (snapshot, "address"));
  stack = bytes_of (get (snapshot, "bytes"), &stack_len);
  /* The stop is a new one, so cached memory is stale.  */
  piece_len = 0;

  uint64_t sp = registers[sp_number ()], fp = registers[fp_number ()];
  uint64_t unreadable_fp = 0;
  bool fp_known = true, is_return = false;
  unsigned same_sp = 0;
  /* Requests to read come before the answer.  */
  char *answer = NULL;
  size_t answer_len;
  FILE *out = open_memstream (&answer, &answer_len);
  fprintf (out, "{\"id\":%" PRIu64 ",\"stop\":%" PRIu64 ",\"frames\":[",
	   request, stop_index);
  char end[200] = "\"kind\":\"too-deep\"";
  for (int depth = 0; depth < MAX_FRAMES; depth++)
    {
      fprintf (out, "%s{\"pc\":\"0x%" PRIx64 "\",\"interrupted\":%s,",
	       depth ? "," : "", pc, is_return ? "false" : "true");
      if (fp_known)
	fprintf (out, "\"fp\":\"0x%" PRIx64 "\"", fp);
      else
	fprintf (out, "\"fp\":{\"unreadable\":\"0x%" PRIx64 "\"}", unreadable_fp);

      uint64_t address = is_return ? pc - 1 : pc;
      struct image *image = NULL;
      for (int i = 0; i < image_count; i++)
	if (address >= images[i].start && address < images[i].end)
	  image = &images[i];
      struct function f;
      struct rules rules;
      sframe_frame_row_entry row;
      int64_t at = image ? (int64_t) (address - image->section) : 0;
      if (image == NULL || sframe_find_fre (image->decoder, at, &row) != 0)
	{
	  /* It fails without a reason.  */
	  bool is_there = image && function_with (image->decoder, 0, at, &f);
	  strcpy (end, is_there ? "\"kind\":\"no-row\"" : "\"kind\":\"no-fde\"");
	  break;
	}
      uint32_t position;
      if (!function_with (image->decoder, 0, at, &f)
	  && !place_of (image->decoder, at, &row, &f, &position))
	{
	  strcpy (end, "\"kind\":\"failed\",\"message\":\"a row of no function\"");
	  break;
	}
      int error = rules_of (image->decoder, &f, &row, &rules);
      if (error)
	{
	  snprintf (end, sizeof end, "\"kind\":\"malformed\",\"message\":\"%s\"",
		    sframe_errmsg (error));
	  break;
	}
      if (rules.is_undefined)
	{
	  strcpy (end, "\"kind\":\"outermost\"");
	  break;
	}
      uint64_t cfa, from;
      int kind = value_of (rules.cfa, 0, sp, fp, depth == 0, &cfa, &from);
      if (kind)
	{
	  without (end, sizeof end, kind, "cfa", rules.cfa, from);
	  break;
	}
      fprintf (out, ",\"cfa\":\"0x%" PRIx64 "\"", cfa);
      uint64_t caller_sp = abi == S390X ? cfa - 160 : cfa;
      same_sp = is_return && caller_sp == sp ? same_sp + 1 : 0;
      if ((caller_sp < sp || same_sp > (abi == AMD64 ? 0 : MAX_SAME_SP))
	  && !f.is_signal)
	{
	  snprintf (end, sizeof end, "\"kind\":\"no-progress\",\"cfa\":\"0x%" PRIx64 "\"", cfa);
	  break;
	}
      uint64_t ra = 0;
      if (rules.ra.is_there)
	kind = value_of (rules.ra, cfa, sp, fp, depth == 0, &ra, &from);
      else if (depth == 0 && abi != AMD64)
	ra = registers[abi == AARCH64 ? 30 : 14];
      else
	{
	  strcpy (end, "\"kind\":\"ra-not-saved\"");
	  break;
	}
      if (kind)
	{
	  without (end, sizeof end, kind, "ra", rules.ra, from);
	  break;
	}
      if (rules.is_mangled)
	{
	  fprintf (out, ",\"mangled\":{\"value\":\"0x%" PRIx64 "\",\"key\":\"%s\"}",
		   ra, SFRAME_V2_FUNC_PAUTH_KEY (f.info) ? "b" : "a");
	  ra = strip (ra);
	}
      uint64_t caller_fp = fp;
      bool caller_fp_known = fp_known;
      if (rules.fp.is_there)
	{
	  caller_fp_known
	    = value_of (rules.fp, cfa, sp, fp, depth == 0, &caller_fp, &unreadable_fp) == 0;
	  if (!caller_fp_known)
	    caller_fp = 0;
	}
      fprintf (out, "}");
      pc = ra;
      sp = caller_sp;
      fp = caller_fp;
      fp_known = caller_fp_known;
      is_return = !f.is_signal;
      if (depth + 1 == MAX_FRAMES)
	goto done;
    }
  fprintf (out, "}");
done:
  fprintf (out, "],\"end\":{%s}}\n", end);
  fclose (out);
  fputs (answer, stdout);
  free (answer);
  free (stack);
}

/* An image's section.  */
static const char *
open_image (const char *image)
{
  const char *section = get (image, "sframe");
  if (section == NULL || image_count == MAX_IMAGES)
    return NULL;
  const char *start = get (image, "path") + 1;
  char *path = strndup (start, strcspn (start, "\""));
  FILE *file = fopen (path, "rb");
  free (path);
  size_t size = number (get (section, "size"));
  /* The decoder keeps pointers into it.  */
  unsigned char *data = malloc (size);
  if (file == NULL || fseek (file, number (get (section, "offset")), SEEK_SET)
      || fread (data, 1, size, file) != size)
    return "an image can't be read";
  fclose (file);
  int error = 0;
  sframe_decoder_ctx *decoder = decode (data, size, &error);
  if (decoder == NULL)
    return problem_of (data, size, error);
  if (!(sframe_decoder_get_flags (decoder) & SFRAME_F_FDE_SORTED))
    return unsorted;
  images[image_count++]
    = (struct image) { number (get (image, "start")), number (get (image, "end")),
		       number (get (section, "address")), decoder };
  return NULL;
}

static void
open_process (const char *process)
{
  const char *name = get (process, "abi");
  abi = is (name, "amd64") ? AMD64 : is (name, "s390x") ? S390X : AARCH64;
  big_endian = is (get (process, "endian"), "big");
  address_bits = number (get (process, "address_bits"));
  image_count = 0;
  const char *problem = NULL;
  for (const char *p = first (get (process, "images")); p && !problem; p = next (p))
    problem = open_image (p);
  if (problem)
    printf ("{\"id\":%" PRIu64 ",\"unsupported\":\"%s\"}\n", request, problem);
  else
    printf ("{\"id\":%" PRIu64 "}\n", request);
}

/* An equation in the terms of the vectors.  */
static void
print_rule (const char *name, struct rule rule)
{
  printf (",\"%s\":\"", name);
  if (!rule.is_there)
    printf ("unchanged");
  else
    {
      char base[20];
      snprintf (base, sizeof base, "r%u", (unsigned) rule.base);
      const char *text = rule.base < 0 ? "CFA"
			 : (unsigned) rule.base == sp_number () ? "SP"
			 : (unsigned) rule.base == fp_number () ? "FP" : base;
      printf ("%s%s", rule.dereference ? "*(" : "", text);
      if (rule.offset)
	printf ("%+" PRId64, rule.offset);
      printf ("%s", rule.dereference ? ")" : "");
    }
  printf ("\"");
}

static const char reject[] = "{\"reject\":{\"kind\":\"unspecified\"}}";

/* A row, and whether the library accepts it.  */
static bool
print_row (const sframe_decoder_ctx *decoder, const struct function *f, uint32_t index)
{
  sframe_frame_row_entry row;
  struct rules rules;
  if (sframe_decoder_get_fre (decoder, f->index, index, &row) != 0
      || rules_of (decoder, f, &row, &rules) != 0)
    {
      printf ("%s", reject);
      return false;
    }
  printf ("{\"start\":%" PRIu32, row.fre_start_addr);
  if (rules.is_undefined)
    printf (",\"ra\":\"undefined\"");
  else
    {
      print_rule ("cfa", rules.cfa);
      print_rule ("ra", rules.ra);
      print_rule ("fp", rules.fp);
    }
  printf ("%s}", rules.is_mangled ? ",\"mangled\":true" : "");
  return true;
}

/* A function with its rows.  There is no getter that says that a function
   without rows is an outermost frame.  */
static void
print_function (const sframe_decoder_ctx *decoder, uint32_t index, uint64_t loaded)
{
  static const char *const fre_types[] = { "addr1", "addr2", "addr4" };
  struct function f;
  /* The protocol has no terms for other types of rows; the library reads a
     function that has them, and ends the process at the first row.  */
  if (!function_at (decoder, index, &f)
      || (f.rows == 0 && SFRAME_V2_FUNC_FRE_TYPE (f.info) > SFRAME_FRE_TYPE_ADDR4))
    {
      printf ("%s", reject);
      return;
    }
  printf ("{\"rows\":[");
  for (uint32_t i = 0; i < f.rows; i++)
    {
      printf ("%s", i ? "," : "");
      if (!print_row (decoder, &f, i))
	break;
    }
  bool is_mask = SFRAME_V2_FUNC_PC_TYPE (f.info) == SFRAME_V3_FDE_PCTYPE_MASK;
  bool is_b = SFRAME_V2_FUNC_PAUTH_KEY (f.info) == SFRAME_AARCH64_PAUTH_KEY_B;
  printf ("],\"start\":\"0x%" PRIx64 "\",\"size\":%" PRIu32 ",\"fre_type\":\"%s\"",
	  loaded + (uint64_t) f.start, f.size, fre_types[SFRAME_V2_FUNC_FRE_TYPE (f.info)]);
  printf (",\"pc_type\":\"%s\",\"fde_type\":\"%s\",\"pauth_key\":\"%s\"",
	  is_mask ? "mask" : "inc", f.is_flex ? "flex" : "default", is_b ? "b" : "a");
  printf (",\"signal\":%s,\"rep_size\":%u}", f.is_signal ? "true" : "false", f.rep_size);
}

/* What the library finds for a PC.  */
static void
print_lookup (const sframe_decoder_ctx *decoder, int64_t pc)
{
  struct function f;
  struct rules rules;
  sframe_frame_row_entry row;
  uint32_t position;
  if (sframe_find_fre (decoder, pc, &row) != 0)
    {
      /* It fails without a reason.  */
      if (function_with (decoder, 0, pc, &f))
	printf ("\"fde\":%" PRIu32 ",\"row\":\"none\"", f.index);
      else
	printf ("\"fde\":\"none\"");
    }
  else if (!place_of (decoder, pc, &row, &f, &position)
	   || rules_of (decoder, &f, &row, &rules) != 0)
    printf ("\"reject\":{\"kind\":\"unspecified\"}");
  else
    printf ("\"fde\":%" PRIu32 ",\"row\":%" PRIu32, f.index, position);
}

/* The functions of a standalone section, and look-ups in it.  */
static void
section (const char *question)
{
  size_t len;
  unsigned char *bytes = bytes_of (get (question, "bytes"), &len);
  uint64_t loaded = number (get (question, "address"));
  int error = 0;
  sframe_decoder_ctx *decoder = decode (bytes, len, &error);
  if (decoder == NULL && len > 2 && bytes[2] == SFRAME_VERSION_1)
    printf ("{\"id\":%" PRIu64 ",\"unsupported\":\"%s\"}\n", request,
	    problem_of (bytes, len, error));
  else if (decoder == NULL)
    printf ("{\"id\":%" PRIu64 ",\"section\":%s}\n", request, reject);
  else if (!(sframe_decoder_get_flags (decoder) & SFRAME_F_FDE_SORTED))
    printf ("{\"id\":%" PRIu64 ",\"unsupported\":\"%s\"}\n", request, unsorted);
  else
    {
      uint8_t arch = sframe_decoder_get_abi_arch (decoder);
      abi = arch == SFRAME_ABI_AMD64_ENDIAN_LITTLE ? AMD64
	    : arch == SFRAME_ABI_S390X_ENDIAN_BIG ? S390X : AARCH64;
      printf ("{\"id\":%" PRIu64 ",\"section\":{\"fdes\":[", request);
      uint32_t count = sframe_decoder_get_num_fidx (decoder);
      for (uint32_t i = 0; i < count; i++)
	{
	  printf ("%s", i ? "," : "");
	  print_function (decoder, i, loaded);
	}
      printf ("],\"lookups\":[");
      const char *comma = "";
      for (const char *p = first (get (question, "lookups")); p; p = next (p))
	{
	  uint64_t pc = number (get (p, "pc"));
	  bool is_return = strncmp (get (p, "return_address"), "true", 4) == 0;
	  printf ("%s{\"pc\":\"0x%" PRIx64 "\",\"return_address\":%s,", comma, pc,
		  is_return ? "true" : "false");
	  comma = ",";
	  print_lookup (decoder, (int64_t) (pc - is_return - loaded));
	  printf ("}");
	}
      printf ("]}}\n");
    }
  sframe_decoder_free (&decoder);
  free (bytes);
}

int
main (int argc, char **argv)
{
  report_memory_errors ();
  make_pcrel = argc > 1 && strcmp (argv[1], "--pcrel") == 0;
  while (getline (&line, &line_size, stdin) > 0)
    {
      request = number (get (line, "id"));
      const char *part;
      if (get (line, "hello"))
	printf ("{\"id\":%" PRIu64 ",\"hello\":{\"protocol\":1,\"name\":\"libsframe\","
		"\"version\":\"" VERSION "%s\",\"data\":\"sframe\","
		"\"section\":[\"fdes\",\"lookups\"]}}\n", request, make_pcrel ? " --pcrel" : "");
      else if ((part = get (line, "open")))
	open_process (part);
      else if ((part = get (line, "unwind")))
	{
	  stop_index = 0;
	  for (const char *p = first (part); p; p = next (p), stop_index++)
	    walk (p);
	}
      else if ((part = get (line, "section")))
	section (part);
      fflush (stdout);
    }
  return 0;
}
