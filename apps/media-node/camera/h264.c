#include "camera.h"

/* Rec. ITU-T H.264, 7.3.2.1.1, 7.3.3 and annex E. */

#define LONGEST 512
/* Of the header of a slice, up to its type. */
#define SLICE_BYTES 16

typedef struct {
  guint8 bytes[LONGEST];
  gsize bits, at;
} Reader;

/* Without the emulation prevention bytes. */
static void read_unit(Reader *reader, const guint8 *unit, gsize size) {
  gsize length = 0, zeros = 0;
  for (gsize at = 1; at < size && length < LONGEST; at++) {
    if (zeros >= 2 && unit[at] == 3) {
      zeros = 0;
      continue;
    }
    zeros = unit[at] ? 0 : zeros + 1;
    reader->bytes[length++] = unit[at];
  }
  reader->bits = length * 8;
  reader->at = 0;
}

static guint bits(Reader *reader, guint count) {
  guint value = 0;
  for (; count > 0; count--, reader->at++) {
    guint bit = reader->at < reader->bits ? (reader->bytes[reader->at / 8] >> (7 - reader->at % 8)) & 1 : 0;
    value = value << 1 | bit;
  }
  return value;
}

static guint golomb(Reader *reader) {
  guint zeros = 0;
  while (zeros < 32 && reader->at < reader->bits && !bits(reader, 1)) zeros++;
  return zeros >= 32 ? G_MAXUINT : (1u << zeros) - 1 + bits(reader, zeros);
}

static gboolean is_over(const Reader *reader) { return reader->at > reader->bits; }

/* Modulo 2^32. */
static guint signed_golomb(Reader *reader) {
  guint value = golomb(reader);
  return value & 1 ? value / 2 + 1 : 0 - value / 2;
}

static void skip_scaling_list(Reader *reader, guint size) {
  guint last = 8, next = 8;
  for (guint at = 0; at < size && !is_over(reader); at++) {
    if (next != 0) next = (last + signed_golomb(reader)) & 0xff;
    last = next ? next : last;
  }
}

static gboolean has_chroma_format(guint profile) {
  static const guint8 PROFILES[] = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135};
  for (guint at = 0; at < G_N_ELEMENTS(PROFILES); at++)
    if (PROFILES[at] == profile) return TRUE;
  return FALSE;
}

static void skip_chroma_format(Reader *reader) {
  guint format = golomb(reader);
  if (format == 3) bits(reader, 1);
  golomb(reader), golomb(reader), bits(reader, 1);
  if (!bits(reader, 1)) return;
  for (guint at = 0; at < (format == 3 ? 12u : 8u) && !is_over(reader); at++)
    if (bits(reader, 1)) skip_scaling_list(reader, at < 6 ? 16 : 64);
}

static void skip_hrd(Reader *reader) {
  guint count = golomb(reader);
  bits(reader, 8);
  for (guint at = 0; at <= count && at < 32 && !is_over(reader); at++) golomb(reader), golomb(reader), bits(reader, 1);
  bits(reader, 20);
}

typedef struct {
  guint64 width, height;
} Size;

static Size read_picture(Reader *reader) {
  /* Reference frames and gaps. */
  golomb(reader), bits(reader, 1);
  guint64 columns = (guint64)golomb(reader) + 1, rows = (guint64)golomb(reader) + 1;
  gboolean has_fields = !bits(reader, 1);
  if (has_fields) bits(reader, 1);
  bits(reader, 1);
  if (bits(reader, 1)) golomb(reader), golomb(reader), golomb(reader), golomb(reader);
  return (Size){16 * columns, 16 * rows * (has_fields ? 2 : 1)};
}

static Decodable reorder_of_vui(Reader *reader) {
  if (bits(reader, 1) && bits(reader, 8) == 255) bits(reader, 32);
  if (bits(reader, 1)) bits(reader, 1);
  if (bits(reader, 1)) {
    bits(reader, 4);
    if (bits(reader, 1)) bits(reader, 24);
  }
  if (bits(reader, 1)) golomb(reader), golomb(reader);
  if (bits(reader, 1)) bits(reader, 32), bits(reader, 32), bits(reader, 1);
  gboolean has_hrd = bits(reader, 1);
  if (has_hrd) skip_hrd(reader);
  gboolean has_second_hrd = bits(reader, 1);
  if (has_second_hrd) skip_hrd(reader);
  if (has_hrd || has_second_hrd) bits(reader, 1);
  bits(reader, 1);
  if (!bits(reader, 1)) return DECODABLE_UNKNOWN;
  bits(reader, 1), golomb(reader), golomb(reader), golomb(reader), golomb(reader);
  guint reordered = golomb(reader);
  if (is_over(reader)) return DECODABLE_UNKNOWN;
  return reordered == 0 ? DECODABLE_YES : DECODABLE_NO;
}

static guint read_order_type(Reader *reader) {
  guint type = golomb(reader);
  if (type == 0) golomb(reader);
  if (type != 1) return type;
  bits(reader, 1), golomb(reader), golomb(reader);
  guint count = golomb(reader);
  for (guint at = 0; at < count && at < 256 && !is_over(reader); at++) golomb(reader);
  return type;
}

/* Others have more than 8 bits or another chroma format. */
static gboolean is_supported(guint profile) { return profile == 66 || profile == 77 || profile == 88 || profile == 100; }

/* Up to the order of pictures. */
static guint read_profile(Reader *reader) {
  guint profile = bits(reader, 8);
  bits(reader, 16), golomb(reader);
  return profile;
}

gboolean sps_size(const guint8 *unit, gsize size, gint *width, gint *height) {
  Reader reader;
  read_unit(&reader, unit, size);
  if (has_chroma_format(read_profile(&reader))) skip_chroma_format(&reader);
  golomb(&reader);
  read_order_type(&reader);
  Size read = read_picture(&reader);
  *width = (gint)MIN(read.width, G_MAXINT);
  *height = (gint)MIN(read.height, G_MAXINT);
  return !is_over(&reader);
}

guint h264_set_id(const guint8 *unit, gsize size) {
  Reader reader;
  read_unit(&reader, unit, size);
  if ((unit[0] & 31) == H264_SPS) bits(&reader, 24);
  guint id = golomb(&reader);
  return is_over(&reader) ? G_MAXUINT : id;
}

H264Slice h264_slice(const guint8 *unit, gsize size) {
  Reader reader;
  read_unit(&reader, unit, MIN(size, SLICE_BYTES));
  guint first = golomb(&reader), type = golomb(&reader) % 5;
  return (H264Slice){first, !is_over(&reader) && (type == 2 || type == 4)};
}

Decodable sps_check(const guint8 *unit, gsize size) {
  Reader reader;
  read_unit(&reader, unit, size);
  guint profile = read_profile(&reader);
  if (!is_supported(profile)) return DECODABLE_NO;
  /* The baseline profile has no B-frames. */
  if (profile == 66) return DECODABLE_YES;
  if (has_chroma_format(profile)) skip_chroma_format(&reader);
  golomb(&reader);
  if (read_order_type(&reader) == 2) return is_over(&reader) ? DECODABLE_UNKNOWN : DECODABLE_YES;
  read_picture(&reader);
  return bits(&reader, 1) ? reorder_of_vui(&reader) : DECODABLE_UNKNOWN;
}

Decodable sps_check_stream(const guint8 *data, gsize size) {
  /* It comes first. */
  size = MIN(size, 4 * LONGEST);
  for (gsize at = 0; at + 4 < size; at++)
    if (!data[at] && !data[at + 1] && data[at + 2] == 1 && (data[at + 3] & 0x1f) == 7)
      return sps_check(data + at + 3, MIN(size - at - 3, LONGEST));
  return DECODABLE_UNKNOWN;
}

static Decodable check_codec_data(const GValue *value) {
  GstMapInfo map;
  Decodable result = DECODABLE_UNKNOWN;
  if (!gst_buffer_map(gst_value_get_buffer(value), &map, GST_MAP_READ)) return result;
  gsize length = map.size > 8 ? (gsize)(map.data[6] << 8 | map.data[7]) : 0;
  if (length > 0 && 8 + length <= map.size) result = sps_check(map.data + 8, length);
  gst_buffer_unmap(gst_value_get_buffer(value), &map);
  return result;
}

static Decodable check_sprop(const gchar *sets) {
  gchar **parts = g_strsplit(sets, ",", 2);
  gsize size = 0;
  guchar *unit = g_base64_decode(parts[0] ? parts[0] : "", &size);
  Decodable result = size > 4 && (unit[0] & 0x1f) == 7 ? sps_check(unit, size) : DECODABLE_UNKNOWN;
  g_free(unit);
  g_strfreev(parts);
  return result;
}

Decodable sps_check_caps(const GstStructure *caps) {
  const GValue *data = gst_structure_get_value(caps, "codec_data");
  if (data && GST_VALUE_HOLDS_BUFFER(data)) return check_codec_data(data);
  const gchar *sets = gst_structure_get_string(caps, "sprop-parameter-sets");
  return sets ? check_sprop(sets) : DECODABLE_UNKNOWN;
}
