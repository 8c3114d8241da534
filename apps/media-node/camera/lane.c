#include "camera.h"

#include <string.h>

/* Of the pictures since the last key frame. With more, new receivers wait for the next key frame. */
#define MOST_KEPT (8 * 1024 * 1024)
/* What a burst that has begun may need. */
#define MOST_IN_BURST (2 * MOST_KEPT)
/* How fast a burst is sent: slower than decoders and networks of receivers usually are. */
#define PICTURE_US 1500
#define BYTES_PER_MS 5000
#define LEAST_MS 30
#define MOST_MS 2000
/* So that the receive buffer of the media worker does not overflow. */
#define MOST_PACKETS_A_STEP 24
/* The media worker forwards no layer that was silent for 1.5 s. */
#define KEEP_ALIVE_US 500000
#define REPEAT_US 1000000
#define TICKS_PER_MS 90

typedef enum { IDLE, BURST, FOLLOWING } State;

typedef struct {
  State state;
  /* Of the next kept packet. */
  gsize cursor;
  gint64 begin_us;
  /* The timestamps of `kept_span` before `until` become those of `sent_span` before it. */
  guint32 until, kept_span, sent_span;
  guint32 last_kept;
  guint pictures;
  gsize bytes;
  /* Of all bursts and of the packets between them: receivers may still get a lane that rests. */
  gboolean has_sent;
  guint32 last_sent;
} Lane;

struct Lanes {
  LanesOf of;
  Lane lanes[MOST_LAYERS];
  /* Packets, each after its size; from the last key frame if `is_decodable`. */
  GByteArray *kept;
  gboolean is_decodable;
  guint pictures;
  /* A picture with a sequence parameter set becomes the begin with its first key slice. */
  gboolean has_candidate;
  gsize candidate;
  guint32 candidate_timestamp;
  guint32 live_timestamp;
  gint64 live_us;
  gint64 alive_us;
};

static guint32 timestamp_of(const guint8 *packet) { return rtp_get32(packet + 4); }

static gboolean has_unit(const guint8 *packet, gsize size, guint8 wanted) {
  guint8 type = size > 13 ? packet[12] & 31 : 0;
  if (type == H264_FU_A) return packet[13] & 0x80 && (packet[13] & 31) == wanted;
  if (type != H264_STAP_A) return type == wanted;
  for (gsize at = 13; at + 2 < size; at += 2 + (gsize)(packet[at] << 8 | packet[at + 1]))
    if ((packet[at + 2] & 31) == wanted) return TRUE;
  return FALSE;
}

/* The lanes have odd numbers; the last layer is the live one. */
static gboolean is_lane(const Lanes *lanes, guint layer) { return layer % 2 == 1 && layer + 1 < lanes->of.layers; }

Lanes *lanes_new(const LanesOf *of) {
  Lanes *lanes = g_new0(Lanes, 1);
  lanes->of = *of;
  lanes->kept = g_byte_array_new();
  return lanes;
}

static void reset(Lane *lane, Lane to) {
  to.has_sent = lane->has_sent;
  to.last_sent = lane->last_sent;
  *lane = to;
}

static guint32 in_order(Lanes *lanes, guint layer, guint32 timestamp, gint32 least_step) {
  Lane *lane = &lanes->lanes[layer];
  lane->last_sent = lane->has_sent ? timing_order(1000 * TICKS_PER_MS, timestamp, lane->last_sent, least_step) : timestamp;
  lane->has_sent = TRUE;
  return lane->last_sent;
}

static guint32 timestamp_in_burst(const Lane *lane, guint32 timestamp) {
  gint32 left = (gint32)(lane->until - timestamp);
  return left <= 0 ? timestamp : lane->until - (guint32)((gint64)left * lane->sent_span / lane->kept_span);
}

static void send_copy(Lanes *lanes, guint layer, const guint8 *packet, gsize size) {
  Lane *lane = &lanes->lanes[layer];
  /* It would come before the key frame of the live layer, and have the same timestamp. */
  if (size > 12 && (packet[12] & 31) == H264_DELIMITER) return;
  guint8 copy[RTP_MOST_PACKET];
  guint32 timestamp = timestamp_of(packet);
  if (lane->pictures == 0 || timestamp != lane->last_kept) {
    /* Two pictures must not become one. */
    in_order(lanes, layer, timestamp_in_burst(lane, timestamp), 1);
    lane->last_kept = timestamp;
    lane->pictures++;
  }
  memcpy(copy, packet, size);
  rtp_put32(copy + 4, lane->last_sent);
  lane->bytes += size;
  lanes->of.send(layer, copy, size, lanes->of.data);
}

static void report(const Lanes *lanes, guint layer) {
  const Lane *lane = &lanes->lanes[layer];
  event_report("burst", "\"index\":%d,\"layer\":%u,\"pictures\":%u,\"bytes\":%" G_GSIZE_FORMAT, lanes->of.index,
             layer, lane->pictures, lane->bytes);
}

static gboolean has_burst(const Lanes *lanes) {
  for (guint at = 0; at < lanes->of.layers; at++)
    if (lanes->lanes[at].state == BURST) return TRUE;
  return FALSE;
}

static void discard(Lanes *lanes) {
  g_byte_array_set_size(lanes->kept, 0);
  lanes->is_decodable = lanes->has_candidate = FALSE;
  for (guint at = 0; at < lanes->of.layers; at++) {
    if (lanes->lanes[at].state != BURST) continue;
    reset(&lanes->lanes[at], (Lane){.state = IDLE});
    report(lanes, at);
  }
}

static void begin_again(Lanes *lanes) {
  gsize begin = lanes->candidate;
  g_byte_array_remove_range(lanes->kept, 0, (guint)begin);
  lanes->has_candidate = FALSE;
  lanes->is_decodable = TRUE;
  lanes->pictures = 1;
  for (guint at = 0; at < lanes->of.layers; at++) {
    Lane *lane = &lanes->lanes[at];
    lane->cursor = lane->cursor > begin ? lane->cursor - begin : 0;
  }
}

static void keep(Lanes *lanes, const guint8 *packet, gsize size) {
  guint32 timestamp = timestamp_of(packet);
  guint16 length = (guint16)size;
  if (timestamp != lanes->live_timestamp) lanes->pictures++;
  if (lanes->has_candidate && timestamp != lanes->candidate_timestamp) {
    lanes->has_candidate = FALSE;
    if (!lanes->is_decodable) discard(lanes);
  }
  gboolean is_known = lanes->is_decodable && timestamp == lanes->candidate_timestamp;
  if (!lanes->has_candidate && !is_known && has_unit(packet, size, H264_SPS)) {
    lanes->has_candidate = TRUE;
    lanes->candidate = lanes->kept->len;
    lanes->candidate_timestamp = timestamp;
  }
  if (!lanes->has_candidate && !lanes->is_decodable) return;
  g_byte_array_append(lanes->kept, (const guint8 *)&length, sizeof length);
  g_byte_array_append(lanes->kept, packet, (guint)size);
  if (lanes->has_candidate && has_unit(packet, size, H264_IDR)) begin_again(lanes);
  if (lanes->kept->len > (has_burst(lanes) ? MOST_IN_BURST : MOST_KEPT)) discard(lanes);
}

void lanes_follow(Lanes *lanes, const guint8 *packet, gsize size) {
  keep(lanes, packet, size);
  lanes->live_timestamp = timestamp_of(packet);
  lanes->live_us = g_get_monotonic_time();
  for (guint at = 0; at < lanes->of.layers; at++)
    if (lanes->lanes[at].state == FOLLOWING) send_copy(lanes, at, packet, size);
}

static guint32 live_timestamp_at(const Lanes *lanes, gint64 now_us) {
  return lanes->live_timestamp + (guint32)((now_us - lanes->live_us) * TICKS_PER_MS / 1000);
}

GByteArray *lanes_only_picture(const Lanes *lanes, guint32 *timestamp) {
  gint64 now_us = g_get_monotonic_time();
  if (!lanes->is_decodable || lanes->pictures != 1 || now_us - lanes->live_us < REPEAT_US) return NULL;
  *timestamp = live_timestamp_at(lanes, now_us);
  return g_byte_array_append(g_byte_array_new(), lanes->kept->data, lanes->kept->len);
}

/* The receiver shows the pictures as fast as they are sent: at the end the newest one, at its time. */
void lanes_burst(Lanes *lanes, guint layer) {
  if (!is_lane(lanes, layer) || lanes->lanes[layer].state != IDLE) return;
  Lane *lane = &lanes->lanes[layer];
  if (!lanes->is_decodable) return report(lanes, layer);
  guint ms = MAX(lanes->pictures * PICTURE_US / 1000, lanes->kept->len / BYTES_PER_MS);
  guint32 span = CLAMP(ms, LEAST_MS, MOST_MS) * TICKS_PER_MS;
  gint64 now_us = g_get_monotonic_time();
  guint32 now = live_timestamp_at(lanes, now_us);
  guint32 first = timestamp_of(lanes->kept->data + sizeof(guint16));
  reset(lane, (Lane){.state = BURST, .begin_us = now_us, .until = now + span});
  lane->kept_span = MAX(lane->until - first, 1);
  lane->sent_span = MIN(span, lane->kept_span);
}

static gboolean is_due(const Lane *lane, guint32 timestamp) {
  gint32 ticks = (gint32)(timestamp_in_burst(lane, timestamp) - (lane->until - lane->sent_span));
  return lane->begin_us + (gint64)ticks * 1000 / TICKS_PER_MS <= g_get_monotonic_time();
}

static void advance(Lanes *lanes, guint layer) {
  Lane *lane = &lanes->lanes[layer];
  for (guint sent = 0; lane->cursor < lanes->kept->len; sent++) {
    guint16 size;
    memcpy(&size, lanes->kept->data + lane->cursor, sizeof size);
    const guint8 *packet = lanes->kept->data + lane->cursor + sizeof size;
    if (sent == MOST_PACKETS_A_STEP || !is_due(lane, timestamp_of(packet))) return;
    send_copy(lanes, layer, packet, size);
    lane->cursor += sizeof size + size;
  }
  lane->state = FOLLOWING;
  report(lanes, layer);
}

gboolean lanes_step(Lanes *lanes) {
  for (guint at = 0; at < lanes->of.layers; at++)
    if (lanes->lanes[at].state == BURST) advance(lanes, at);
  return has_burst(lanes);
}

void lanes_rest(Lanes *lanes, guint layer) {
  if (is_lane(lanes, layer)) reset(&lanes->lanes[layer], (Lane){.state = IDLE});
}

void lanes_keep_alive(Lanes *lanes, gint payload) {
  gint64 now_us = g_get_monotonic_time();
  if (now_us - lanes->alive_us < KEEP_ALIVE_US) return;
  lanes->alive_us = now_us;
  for (guint at = 0; at + 1 < lanes->of.layers; at++) {
    if (lanes->lanes[at].state != IDLE) continue;
    guint8 packet[15] = {0x80, (guint8)payload, [12] = H264_FILLER, [13] = 0xff, [14] = 0x80};
    rtp_put32(packet + 4, in_order(lanes, at, lanes->live_timestamp, 0));
    lanes->of.send(at, packet, sizeof packet, lanes->of.data);
  }
}
