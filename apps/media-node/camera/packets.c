#include "camera.h"

#include <string.h>

/* RFC 6184, 5.6 to 5.8. */
#define FRAGMENT_HEADER 2
#define MOST_IN_FRAGMENT (RTP_MTU - RTP_HEADER - FRAGMENT_HEADER)
#define MARKER 0x80

typedef struct {
  const PacketsOf *of;
  /* Small units are sent together: an aggregation packet, or the only unit after the space for its header. */
  guint8 packet[RTP_MTU];
  gsize size;
  guint units;
  guint8 importance;
} Payload;

#define AGGREGATION_HEADER (RTP_HEADER + 1)
#define LENGTH 2

static void send_packet(const Payload *payload, guint8 *packet, gsize size, gboolean is_last) {
  packet[0] = 0x80;
  packet[1] = (guint8)(payload->of->type | (is_last ? MARKER : 0));
  rtp_put32(packet + 4, payload->of->timestamp);
  payload->of->send(packet, size, is_last, payload->of->data);
}

static void flush(Payload *payload, gboolean is_last) {
  guint8 *packet = payload->packet;
  gsize size = payload->size;
  if (payload->units == 0) return;
  packet[RTP_HEADER] = payload->importance | H264_STAP_A;
  if (payload->units == 1) {
    size -= 1 + LENGTH;
    memmove(packet + RTP_HEADER, packet + AGGREGATION_HEADER + LENGTH, size - RTP_HEADER);
  }
  payload->units = 0;
  send_packet(payload, packet, size, is_last);
}

static void add(Payload *payload, const guint8 *unit, gsize size) {
  if (payload->units == 0) payload->size = AGGREGATION_HEADER, payload->importance = 0;
  guint8 *to = payload->packet + payload->size;
  to[0] = (guint8)(size >> 8), to[1] = (guint8)size;
  memcpy(to + LENGTH, unit, size);
  payload->size += LENGTH + size;
  payload->importance = MAX(payload->importance, unit[0] & 0x60);
  payload->units++;
}

static void send_fragments(const Payload *payload, const guint8 *unit, gsize size, gboolean is_last_unit) {
  guint8 packet[RTP_MTU], indicator = (unit[0] & 0xe0) | H264_FU_A, type = unit[0] & 31;
  for (gsize at = 1, length; at < size; at += length) {
    length = MIN(size - at, MOST_IN_FRAGMENT);
    gboolean is_end = at + length == size;
    packet[RTP_HEADER] = indicator;
    packet[RTP_HEADER + 1] = (guint8)(type | (at == 1 ? 0x80 : 0) | (is_end ? 0x40 : 0));
    memcpy(packet + RTP_HEADER + FRAGMENT_HEADER, unit + at, length);
    send_packet(payload, packet, RTP_HEADER + FRAGMENT_HEADER + length, is_end && is_last_unit);
  }
}

static void put_unit(Payload *payload, const guint8 *unit, gsize size, gboolean is_last) {
  gboolean fits = AGGREGATION_HEADER + LENGTH + size <= RTP_MTU;
  if (payload->units > 0 && payload->size + LENGTH + size > RTP_MTU) flush(payload, FALSE);
  if (fits) add(payload, unit, size);
  else send_fragments(payload, unit, size, is_last);
}

/* Where the next start code begins; `end` without one. */
static const guint8 *next_code(const guint8 *at, const guint8 *end) {
  for (const guint8 *one = at + 2; one < end && (one = memchr(one, 1, (gsize)(end - one))); one++)
    if (one[-1] == 0 && one[-2] == 0) return one - 2;
  return end;
}

void packets_send(const PacketsOf *of, const guint8 *picture, gsize size) {
  Payload payload = {.of = of};
  const guint8 *end = picture + size, *code = next_code(picture, end);
  while (code < end) {
    const guint8 *unit = code + 3;
    code = next_code(unit, end);
    const guint8 *unit_end = code;
    /* They belong to the start code. */
    while (unit_end > unit && unit_end[-1] == 0) unit_end--;
    /* Receivers know pictures by their timestamps. */
    if (unit_end > unit && (unit[0] & 31) != H264_DELIMITER) put_unit(&payload, unit, (gsize)(unit_end - unit), code == end);
  }
  flush(&payload, TRUE);
}
