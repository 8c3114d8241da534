#include "processor.h"

#define MOST_HEADER 128
#define RTP_HEADER 12
/* RFC 8285: elements of one byte. */
#define ONE_BYTE_PROFILE 0xbede
/* Of the end of the elements. */
#define RESERVED_ID 15

/* The first byte of a header extension, or -1. */
static gint find(const guint8 *packet, gsize size, gint id) {
  gsize at = RTP_HEADER + 4 * (gsize)(packet[0] & 15);
  if (!(packet[0] & 0x10) || at + 4 > size || (packet[at] << 8 | packet[at + 1]) != ONE_BYTE_PROFILE) return -1;
  gsize end = MIN(size, at + 4 + 4 * (gsize)(packet[at + 2] << 8 | packet[at + 3]));
  for (at += 4; at + 1 < end;) {
    gint found = packet[at] >> 4;
    if (found == RESERVED_ID) return -1;
    if (found == id) return packet[at + 1];
    at += found == 0 ? 1 : 2 + (gsize)(packet[at] & 15);
  }
  return -1;
}

void orientation_follow(Leg *leg, GstBuffer *packet) {
  static const gchar *const TURNS[] = {"identity", "90r", "180", "90l"};
  guint8 bytes[MOST_HEADER];
  gsize size = gst_buffer_extract(packet, 0, bytes, sizeof bytes);
  gint orientation = find(bytes, size, leg->input.orientation_id);
  if (orientation < 0 || (orientation & 3) == leg->quarters) return;
  leg->quarters = orientation & 3;
  GstElement *flip = gst_bin_get_by_name(GST_BIN(leg->bin), "leg-flip");
  gst_util_set_object_arg(G_OBJECT(flip), "video-direction", TURNS[leg->quarters]);
  gst_object_unref(flip);
}
