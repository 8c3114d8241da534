#include "compositor.h"

#include <string.h>

#define SKEW_WINDOW 512
#define SKEW_WINDOW_US 2000000
#define MOST_JUMP_US 1000000

typedef struct {
  GstBuffer *buffer;
  gint64 sequence, at_us, time_us;
  /* Missing before it. */
  guint lost;
} Packet;

struct Jitter {
  gint clock_rate;
  gint64 latency_us;
  /* Out of order or behind a gap, by sequence. */
  GQueue waiting;
  GQueue ready;
  gboolean has_begun;
  /* The next sequence number, and the latest one. */
  gint64 next, latest;
  /* The clock of the sender against that of arrival, as rtpjitterbuffer estimates it. */
  gint64 base_us, base_timestamp, timestamp, time_us;
  gint64 window[SKEW_WINDOW], window_min, skew;
  gint window_at, window_size;
  gboolean is_filling;
};

Jitter *jitter_new(gint clock_rate, gint latency_ms) {
  Jitter *jitter = g_new0(Jitter, 1);
  jitter->clock_rate = clock_rate;
  jitter->latency_us = latency_ms * 1000;
  g_queue_init(&jitter->waiting);
  g_queue_init(&jitter->ready);
  return jitter;
}

static void packet_free(gpointer data) {
  Packet *packet = data;
  gst_buffer_unref(packet->buffer);
  g_free(packet);
}

void jitter_free(Jitter *jitter) {
  g_queue_clear_full(&jitter->waiting, packet_free);
  g_queue_clear_full(&jitter->ready, packet_free);
  g_free(jitter);
}

static void begin_clock(Jitter *jitter, gint64 at_us, gint64 timestamp) {
  jitter->base_us = at_us;
  jitter->base_timestamp = timestamp;
  jitter->skew = jitter->window_min = 0;
  jitter->window_at = jitter->window_size = 0;
  jitter->is_filling = TRUE;
}

static gint64 smallest(const Jitter *jitter) {
  gint64 least = G_MAXINT64;
  for (gint at = 0; at < jitter->window_size; at++) least = MIN(least, jitter->window[at]);
  return least;
}

/* In the beginning by the least late packet so far, weighted by how much of the window is known. */
static void fill_window(Jitter *jitter, gint64 delta, gint64 sent_us) {
  gint at = jitter->window_at++;
  jitter->window[at] = delta;
  jitter->window_size = jitter->window_at;
  if (at == 0 || delta < jitter->window_min) jitter->window_min = delta;
  if (sent_us >= SKEW_WINDOW_US || at >= SKEW_WINDOW - 1) {
    jitter->is_filling = FALSE;
    jitter->window_at = 0;
    return;
  }
  gint64 percent = MAX(sent_us * 100 / SKEW_WINDOW_US, at * 100 / SKEW_WINDOW);
  gint64 weight = percent * percent;
  jitter->skew = (weight * jitter->window_min + (10000 - weight) * jitter->skew) / 10000;
}

static void slide_window(Jitter *jitter, gint64 delta) {
  gint64 former = jitter->window[jitter->window_at];
  jitter->window[jitter->window_at] = delta;
  jitter->window_at = (jitter->window_at + 1) % jitter->window_size;
  if (delta <= jitter->window_min) jitter->window_min = delta;
  else if (former == jitter->window_min) jitter->window_min = smallest(jitter);
  jitter->skew = (jitter->window_min + 124 * jitter->skew) / 125;
}

/* The packets of one picture have one time. */
static gint64 time_of(Jitter *jitter, gint64 timestamp, gint64 at_us) {
  if (jitter->has_begun && timestamp == jitter->timestamp) return jitter->time_us;
  gint64 sent_us = (timestamp - jitter->base_timestamp) * 1000000 / jitter->clock_rate;
  gint64 delta = at_us - jitter->base_us - sent_us;
  if (!jitter->has_begun || sent_us < 0 || ABS(delta - jitter->skew) > MOST_JUMP_US) {
    begin_clock(jitter, at_us, timestamp);
    sent_us = delta = 0;
  }
  if (jitter->is_filling) fill_window(jitter, delta, sent_us);
  else slide_window(jitter, delta);
  gint64 time_us = jitter->base_us + sent_us + jitter->skew;
  if (jitter->has_begun && timestamp > jitter->timestamp) time_us = MAX(time_us, jitter->time_us);
  jitter->timestamp = timestamp;
  return jitter->time_us = MAX(time_us, 0);
}

static void release(Jitter *jitter, gint64 now_us) {
  for (Packet *first; (first = g_queue_peek_head(&jitter->waiting));) {
    if (first->sequence != jitter->next && now_us - first->at_us < jitter->latency_us) return;
    first->lost = (guint)(first->sequence - jitter->next);
    g_queue_push_tail(&jitter->ready, g_queue_pop_head(&jitter->waiting));
    jitter->next = first->sequence + 1;
  }
}

static gint64 extend(gint64 latest, guint64 value, guint bits) {
  gint64 range = G_GINT64_CONSTANT(1) << bits, extended = (latest & ~(range - 1)) | (gint64)value;
  if (extended - latest > range / 2) return extended - range;
  return latest - extended > range / 2 ? extended + range : extended;
}

/* FALSE for one that was there before. */
static gboolean insert(Jitter *jitter, Packet *packet) {
  GList *before = jitter->waiting.tail;
  while (before && ((Packet *)before->data)->sequence > packet->sequence) before = before->prev;
  if (before && ((Packet *)before->data)->sequence == packet->sequence) return FALSE;
  if (before) g_queue_insert_after(&jitter->waiting, before, packet);
  else g_queue_push_head(&jitter->waiting, packet);
  return TRUE;
}

void jitter_put(Jitter *jitter, const guint8 *bytes, gsize size, gint64 at_us) {
  if (size < RTP_HEADER || bytes[0] >> 6 != 2) return;
  guint16 number = (guint16)(bytes[2] << 8 | bytes[3]);
  gint64 sequence = jitter->has_begun ? extend(jitter->latest, number, 16) : 65536 + number;
  guint32 stamp = rtp_get32(bytes + 4);
  gint64 timestamp = jitter->has_begun ? extend(jitter->timestamp, stamp, 32) : (G_GINT64_CONSTANT(1) << 32) + stamp;
  if (jitter->has_begun && sequence < jitter->next) return;
  if (!jitter->has_begun) jitter->next = sequence;
  Packet *packet = g_new(Packet, 1);
  *packet = (Packet){NULL, sequence, at_us, time_of(jitter, timestamp, at_us), 0};
  jitter->has_begun = TRUE;
  jitter->latest = MAX(jitter->latest, sequence);
  if (!insert(jitter, packet)) {
    g_free(packet);
    return;
  }
  packet->buffer = gst_buffer_new_memdup(bytes, size);
  GST_BUFFER_PTS(packet->buffer) = GST_BUFFER_DTS(packet->buffer) = (GstClockTime)packet->time_us * GST_USECOND;
  release(jitter, at_us);
}

void jitter_advance(Jitter *jitter, gint64 now_us) { release(jitter, now_us); }

GstBuffer *jitter_take(Jitter *jitter, GstClockTime end, guint *lost) {
  Packet *first = g_queue_peek_head(&jitter->ready);
  if (!first || GST_BUFFER_PTS(first->buffer) >= end) return NULL;
  g_queue_pop_head(&jitter->ready);
  GstBuffer *buffer = first->buffer;
  *lost = first->lost;
  g_free(first);
  return buffer;
}
