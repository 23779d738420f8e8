/* libsframe of binutils behind the protocol of the SFrame test bench
   (harness/protocol/README.md).  The library finds functions and rows and says
   what their data words mean; this file applies the rules to a frame.

   cc -I... main.c libsframe.a -o libsframe-unwinder

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

#ifndef VERSION
#define VERSION "unknown"
#endif

#define MAX_FRAMES 131072
#define MAX_IMAGES 64
#define REGISTERS 128

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

/* The first item of a list, or the one behind another; null at the end.  */
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

/* The bytes of a string of hexadecimal digits; to be freed.  */
static unsigned char *
bytes_of (const char *value, size_t *len)
{
  *len = value ? strcspn (value + 1, "\"") / 2 : 0;
  unsigned char *bytes = malloc (*len + 1);
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

/* The last piece of memory that was asked for.  */
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
      /* Much at once, where there is as much.  */
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

/* Why there is no decoder.  Newer libraries know no version 1, whatever they
   call it.  */
static const char *
problem_of (const unsigned char *data, size_t size, int error)
{
  return size > 2 && data[2] == SFRAME_VERSION_1
	   ? "sframe_decode: version 1" : sframe_errmsg (error);
}

/* A function: its index, start (from the start of the section), and kind.  */
struct function
{
  uint32_t index, size, rows;
  int64_t start;
  unsigned char info, info2;
  bool is_flex, is_signal;
};

static bool
function_at (sframe_decoder_ctx *decoder, uint32_t index, struct function *f)
{
  uint8_t rep_size;
  uint8_t version = sframe_decoder_get_version (decoder);
  int error = 0;
  memset (f, 0, sizeof *f);
  f->index = index;
  if (version == 3)
    error = sframe_decoder_get_funcdesc_v3 (decoder, index, &f->rows, &f->size,
					    &f->start, &f->info, &f->info2,
					    &rep_size);
  else
    {
      int32_t start = 0;
      error = sframe_decoder_get_funcdesc_v2 (decoder, index, &f->rows,
					      &f->size, &start, &f->info,
					      &rep_size);
      f->start = start;
    }
  if (error == SFRAME_ERR)
    return false;
  if (sframe_decoder_get_flags (decoder) & SFRAME_F_FDE_FUNC_START_PCREL)
    f->start += sframe_decoder_get_offsetof_fde_start_addr (decoder, index,
							    &error);
  f->is_flex = version == 3 && SFRAME_V3_FDE_TYPE (f->info2) == SFRAME_FDE_TYPE_FLEX;
  f->is_signal = version == 3 && SFRAME_V3_FDE_SIGNAL_P (f->info);
  return true;
}

static bool
find_function (sframe_decoder_ctx *decoder, int64_t pc, struct function *f)
{
  uint32_t count = sframe_decoder_get_num_fidx (decoder);
  for (uint32_t i = 0; i < count; i++)
    if (function_at (decoder, i, f) && pc >= f->start
	&& pc - f->start < f->size)
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

static struct rule
flexible (sframe_frame_row_entry *row, int control_at, int32_t offset)
{
  int error = 0;
  uint32_t control = sframe_get_fre_udata (row, control_at, &error);
  struct rule rule = { .is_there = error == 0 && control != 0 };
  rule.base = SFRAME_V3_FLEX_FDE_CTRLWORD_REG_P (control)
		? (int) SFRAME_V3_FLEX_FDE_CTRLWORD_REGNUM (control) : -1;
  rule.dereference = SFRAME_V3_FLEX_FDE_CTRLWORD_DEREF_P (control);
  rule.offset = offset;
  return rule;
}

static struct rule
saved (int32_t offset, int error)
{
  if (error || (abi == S390X && offset == SFRAME_FRE_RA_OFFSET_INVALID))
    return (struct rule) { .is_there = false };
  if (abi == S390X && SFRAME_V2_S390X_OFFSET_IS_REGNUM (offset))
    return (struct rule) { .is_there = true,
			   .base = SFRAME_V2_S390X_OFFSET_DECODE_REGNUM (offset) };
  return (struct rule) { .is_there = true, .dereference = true, .base = -1,
			 .offset = offset };
}

static const char *kinds[] = { "ok", "unreadable", "unsafe-register", "unknown-register" };

/* The value of a rule; else the position of a kind of end.  */
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
  /* Memory is that of another moment now.  */
  piece_len = 0;

  uint64_t sp = registers[sp_number ()], fp = registers[fp_number ()];
  uint64_t unreadable_fp = 0;
  bool fp_known = true, is_return = false;
  /* What is read comes before the answer.  */
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
      int64_t at = image ? (int64_t) (address - image->section) : 0;
      if (image == NULL || !find_function (image->decoder, at, &f))
	{
	  strcpy (end, "\"kind\":\"no-fde\"");
	  break;
	}
      if (f.rows == 0 && !f.is_flex && sframe_decoder_get_version (image->decoder) == 3)
	{
	  strcpy (end, "\"kind\":\"outermost\"");
	  break;
	}
      sframe_frame_row_entry row;
      if (sframe_find_fre (image->decoder, at, &row) != 0)
	{
	  /* It fails without a reason.  */
	  strcpy (end, "\"kind\":\"no-row\"");
	  break;
	}
      int e = 0;
      if (sframe_fre_get_ra_undefined_p (image->decoder, &row, &e) && !e)
	{
	  strcpy (end, "\"kind\":\"outermost\"");
	  break;
	}
      uint32_t type = f.is_flex ? SFRAME_FDE_TYPE_FLEX : SFRAME_FDE_TYPE_DEFAULT;
      int cfa_error = 0, ra_error = 0, fp_error = 0;
      int32_t cfa_offset
	= sframe_fre_get_cfa_offset (image->decoder, &row, type, &cfa_error);
      int32_t ra_offset
	= sframe_fre_get_ra_offset (image->decoder, &row, type, &ra_error);
      int32_t fp_offset
	= sframe_fre_get_fp_offset (image->decoder, &row, type, &fp_error);
      struct rule cfa_rule, ra_rule, fp_rule;
      if (cfa_error)
	{
	  snprintf (end, sizeof end, "\"kind\":\"malformed\",\"message\":\"CFA: %s\"",
		    sframe_errmsg (cfa_error));
	  break;
	}
      if (f.is_flex)
	{
	  cfa_rule = flexible (&row, 0, cfa_offset);
	  ra_rule = flexible (&row, 2, ra_offset);
	  fp_rule = flexible (&row, ra_rule.is_there ? 4 : 3, fp_offset);
	  if (!ra_rule.is_there && abi == AMD64)
	    ra_rule = saved (sframe_decoder_get_fixed_ra_offset (image->decoder), 0);
	}
      else
	{
	  int base_error = 0;
	  uint8_t base = sframe_fre_get_base_reg_id (&row, &base_error);
	  cfa_rule = (struct rule) { .is_there = true, .offset = cfa_offset,
				     .base = base ? sp_number () : fp_number () };
	  ra_rule = saved (ra_offset, ra_error);
	  fp_rule = saved (fp_offset, fp_error);
	}
      uint64_t cfa, from;
      int kind = value_of (cfa_rule, 0, sp, fp, depth == 0, &cfa, &from);
      if (kind)
	{
	  without (end, sizeof end, kind, "cfa", cfa_rule, from);
	  break;
	}
      fprintf (out, ",\"cfa\":\"0x%" PRIx64 "\"", cfa);
      uint64_t caller_sp = abi == S390X ? cfa - 160 : cfa;
      if ((is_return ? caller_sp <= sp : caller_sp < sp) && !f.is_signal)
	{
	  snprintf (end, sizeof end, "\"kind\":\"no-progress\",\"cfa\":\"0x%" PRIx64 "\"", cfa);
	  break;
	}
      uint64_t ra = 0;
      if (ra_rule.is_there)
	kind = value_of (ra_rule, cfa, sp, fp, depth == 0, &ra, &from);
      else if (depth == 0 && abi != AMD64)
	ra = registers[abi == AARCH64 ? 30 : 14];
      else
	{
	  strcpy (end, "\"kind\":\"ra-not-saved\"");
	  break;
	}
      if (kind)
	{
	  without (end, sizeof end, kind, "ra", ra_rule, from);
	  break;
	}
      int mangled_error = 0;
      if (sframe_fre_get_ra_mangled_p (image->decoder, &row, &mangled_error)
	  && !mangled_error)
	{
	  fprintf (out, ",\"mangled\":{\"value\":\"0x%" PRIx64 "\",\"key\":\"%s\"}",
		   ra, SFRAME_V2_FUNC_PAUTH_KEY (f.info) ? "b" : "a");
	  ra = strip (ra);
	}
      uint64_t caller_fp = fp;
      bool caller_fp_known = fp_known;
      if (fp_rule.is_there)
	{
	  caller_fp_known
	    = value_of (fp_rule, cfa, sp, fp, depth == 0, &caller_fp, &unreadable_fp) == 0;
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
  unsigned char *data = malloc (size + 1);
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

/* The positions of function and row of look-ups.  */
static void
section (const char *question)
{
  size_t len;
  unsigned char *bytes = bytes_of (get (question, "bytes"), &len);
  uint64_t loaded = number (get (question, "address"));
  int error = 0;
  sframe_decoder_ctx *decoder = decode (bytes, len, &error);
  if (decoder == NULL)
    {
      if (len > 2 && bytes[2] == SFRAME_VERSION_1)
	printf ("{\"id\":%" PRIu64 ",\"unsupported\":\"%s\"}\n", request,
		problem_of (bytes, len, error));
      else
	printf ("{\"id\":%" PRIu64 ",\"section\":{\"reject\":{\"kind\":\"unspecified\"}}}\n", request);
      free (bytes);
      return;
    }
  if (!(sframe_decoder_get_flags (decoder) & SFRAME_F_FDE_SORTED))
    {
      printf ("{\"id\":%" PRIu64 ",\"unsupported\":\"%s\"}\n", request, unsorted);
      sframe_decoder_free (&decoder);
      free (bytes);
      return;
    }
  printf ("{\"id\":%" PRIu64 ",\"section\":{\"lookups\":[", request);
  const char *comma = "";
  for (const char *p = first (get (question, "lookups")); p; p = next (p))
    {
      uint64_t pc = number (get (p, "pc"));
      bool is_return = strncmp (get (p, "return_address"), "true", 4) == 0;
      printf ("%s{\"pc\":\"0x%" PRIx64 "\",\"return_address\":%s,", comma, pc,
	      is_return ? "true" : "false");
      comma = ",";
      int64_t at = (int64_t) (pc - is_return - loaded);
      struct function f;
      sframe_frame_row_entry row, other;
      if (!find_function (decoder, at, &f))
	printf ("\"fde\":\"none\"}");
      else if (f.rows == 0 && !f.is_flex && sframe_decoder_get_version (decoder) == 3)
	printf ("\"fde\":%" PRIu32 ",\"row\":\"outermost\"}", f.index);
      /* It fails without a reason.  */
      else if (sframe_find_fre (decoder, at, &row) != 0)
	printf ("\"fde\":%" PRIu32 ",\"row\":\"none\"}", f.index);
      else
	{
	  int cfa_error = 0, ra_error = 0;
	  sframe_fre_get_cfa_offset (decoder, &row,
				     f.is_flex ? SFRAME_FDE_TYPE_FLEX : SFRAME_FDE_TYPE_DEFAULT,
				     &cfa_error);
	  if (cfa_error
	      && (!sframe_fre_get_ra_undefined_p (decoder, &row, &ra_error) || ra_error))
	    {
	      printf ("\"reject\":{\"kind\":\"unspecified\"}}");
	      continue;
	    }
	  /* It doesn't say which one: the last that is the same.  */
	  uint32_t found = 0;
	  for (uint32_t i = 0; i < f.rows; i++)
	    {
	      if (sframe_decoder_get_fre (decoder, f.index, i, &other) != 0
		  || other.fre_start_addr > row.fre_start_addr)
		break;
	      if (other.fre_start_addr == row.fre_start_addr
		  && other.fre_info == row.fre_info
		  && memcmp (other.fre_datawords, row.fre_datawords, MAX_DATAWORD_BYTES) == 0)
		found = i;
	    }
	  printf ("\"fde\":%" PRIu32 ",\"row\":%" PRIu32 "}", f.index, found);
	}
    }
  printf ("]}}\n");
  sframe_decoder_free (&decoder);
  free (bytes);
}

int
main (int argc, char **argv)
{
  make_pcrel = argc > 1 && strcmp (argv[1], "--pcrel") == 0;
  while (getline (&line, &line_size, stdin) > 0)
    {
      request = number (get (line, "id"));
      const char *part;
      if (get (line, "hello"))
	printf ("{\"id\":%" PRIu64 ",\"hello\":{\"protocol\":1,\"name\":\"libsframe\","
		"\"version\":\"" VERSION "%s\",\"data\":\"sframe\","
		"\"section\":[\"lookups\"]}}\n", request, make_pcrel ? " --pcrel" : "");
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
