#include "camera.h"

#include <glib-unix.h>
#include <gst/video/video.h>
#include <string.h>
#include <unistd.h>

#define SILENCE_MS 250
/* Of a stream without a former program. */
#define FIRST_SEQUENCE 1
#define BURST_STEP_MS 2
#define KEY_FRAME_PAUSE_US 500000
#define CNAME "camera"

typedef struct {
  guint32 ssrc;
  /* Of the last packet. */
  guint16 sequence;
  guint32 packets;
  guint64 bytes;
} Layer;

struct Sender {
  gint index, clock_rate, payload;
  gboolean is_video;
  GMutex lock;
  /* Of all layers. */
  RtpBatch batch;
  guint count;
  Layer layers[MOST_LAYERS];
  /* Of several layers. */
  Layer *live;
  Lanes *lanes;
  guint step;
  RtpPace pace;
  /* Of the last live picture: as it came, and as it was sent. */
  guint32 came, sent;
  GstElement *encoder;
  gint64 key_frame_us;
};

static void send_report(const Sender *sender, const Layer *layer) {
  RtpReport report = {layer->ssrc, layer->packets, layer->bytes, sender->clock_rate, CNAME};
  rtp_send_report(sender->batch.socket, &report);
}

static void send_reports(const Sender *sender) {
  for (guint at = 0; at < sender->count; at++) send_report(sender, &sender->layers[at]);
}

/* In JSON; to be freed. */
static gchar *sequences_of(const Sender *sender) {
  GString *text = g_string_new(NULL);
  for (guint at = 0; at < sender->count; at++)
    g_string_append_printf(text, "%s%u", at ? "," : "", sender->layers[at].sequence);
  return g_string_free(text, FALSE);
}

static gboolean on_second(gpointer data) {
  Sender *sender = data;
  g_mutex_lock(&sender->lock);
  Layer live = *sender->live;
  gchar *sequences = sequences_of(sender);
  if (live.packets > 0) send_reports(sender);
  g_mutex_unlock(&sender->lock);
  if (live.packets > 0)
    event_report("sent", "\"index\":%d,\"sequences\":[%s],\"packets\":%u,\"bytes\":%" G_GUINT64_FORMAT, sender->index,
               sequences, live.packets, live.bytes);
  else event_report("waiting", "\"index\":%d", sender->index);
  g_free(sequences);
  return G_SOURCE_CONTINUE;
}

/* Gives the packet an SSRC and a sequence number. With the lock held. */
static void send_on(guint layer, guint8 *packet, gsize size, gpointer data) {
  Sender *sender = data;
  Layer *to = &sender->layers[layer];
  to->sequence++;
  packet[2] = (guint8)(to->sequence >> 8), packet[3] = (guint8)to->sequence;
  rtp_put32(packet + 8, to->ssrc);
  rtp_batch_add(&sender->batch, packet, size);
  to->packets++;
  to->bytes += size - RTP_HEADER;
}

static void send_live(Sender *sender, guint8 *packet, gsize size) {
  send_on(sender->count - 1, packet, size, sender);
  /* The worker must know the live layer first: it starts with what it knows. */
  if (sender->lanes) lanes_follow(sender->lanes, packet, size), lanes_keep_alive(sender->lanes, sender->payload);
}

/* The media worker takes a layer that is silent for 1.5 s for dead: the first picture comes earlier than the next one. */
static void repeat_picture(Sender *sender) {
  guint32 timestamp;
  GByteArray *packets = lanes_only_picture(sender->lanes, &timestamp);
  if (!packets) return;
  guint16 size;
  for (gsize at = 0; at < packets->len; at += sizeof size + size) {
    memcpy(&size, packets->data + at, sizeof size);
    guint8 *packet = packets->data + at + sizeof size;
    rtp_put32(packet + 4, timestamp);
    rtp_pace(&sender->pace);
    send_live(sender, packet, size);
  }
  sender->sent = timestamp;
  g_byte_array_unref(packets);
}

static gboolean on_silence(gpointer data) {
  Sender *sender = data;
  g_mutex_lock(&sender->lock);
  if (sender->live->packets > 0) {
    lanes_keep_alive(sender->lanes, sender->payload);
    repeat_picture(sender);
    rtp_batch_send(&sender->batch);
  }
  g_mutex_unlock(&sender->lock);
  return G_SOURCE_CONTINUE;
}

static gboolean on_step(gpointer data) {
  Sender *sender = data;
  g_mutex_lock(&sender->lock);
  gboolean goes_on = lanes_step(sender->lanes);
  rtp_batch_send(&sender->batch);
  if (!goes_on) sender->step = 0;
  g_mutex_unlock(&sender->lock);
  return goes_on;
}

void sender_burst(Sender *sender, guint layer) {
  if (!sender->lanes) return;
  g_mutex_lock(&sender->lock);
  lanes_burst(sender->lanes, layer);
  if (!sender->step) sender->step = g_timeout_add(BURST_STEP_MS, on_step, sender);
  g_mutex_unlock(&sender->lock);
}

void sender_rest(Sender *sender, guint layer) {
  if (!sender->lanes) return;
  g_mutex_lock(&sender->lock);
  lanes_rest(sender->lanes, layer);
  g_mutex_unlock(&sender->lock);
}

static void begin(Sender *sender) {
  event_report("media", "\"index\":%d", sender->index);
  send_reports(sender);
}

/* Without this, the worker takes the gap after a former program for loss, and the layers for dead. Empty packets do not
   make them alive. */
static void prepare(Sender *sender) {
  guint32 second_ago = (guint32)((g_get_monotonic_time() - timing_delay_us() - 1000000) * 9 / 100);
  for (guint at = 0; at < sender->count; at++) {
    guint8 empty[RTP_HEADER] = {0x80, (guint8)sender->payload};
    rtp_put32(empty + 4, second_ago);
    send_on(at, empty, sizeof empty, sender);
    rtp_batch_send(&sender->batch);
    send_report(sender, &sender->layers[at]);
    sender->layers[at].packets = 0;
  }
}

/* The jitter buffer makes pictures that go back after the machine has stalled. */
static void keep_order(Sender *sender, guint8 *packet) {
  guint32 timestamp = rtp_get32(packet + 4);
  gboolean is_next = sender->live->packets == 0 || timestamp != sender->came;
  sender->came = timestamp;
  if (is_next) sender->sent = sender->live->packets > 0 ? timing_order(sender->clock_rate, timestamp, sender->sent, 1) : timestamp;
  rtp_put32(packet + 4, sender->sent);
}

static void send_packet(guint8 *packet, gsize size, gboolean is_last, gpointer data) {
  Sender *sender = data;
  g_mutex_lock(&sender->lock);
  rtp_pace(&sender->pace);
  if (sender->is_video) keep_order(sender, packet);
  gboolean is_first = sender->live->packets == 0;
  send_live(sender, packet, size);
  if (is_first || is_last) rtp_batch_send(&sender->batch);
  if (is_first) begin(sender);
  g_mutex_unlock(&sender->lock);
}

static void request_key_frame(Sender *sender) {
  gint64 now_us = g_get_monotonic_time();
  g_mutex_lock(&sender->lock);
  gboolean is_due = sender->encoder && now_us - sender->key_frame_us > KEY_FRAME_PAUSE_US;
  GstElement *encoder = is_due ? gst_object_ref(sender->encoder) : NULL;
  if (is_due) sender->key_frame_us = now_us;
  g_mutex_unlock(&sender->lock);
  if (!encoder) return;
  GstPad *output = gst_element_get_static_pad(encoder, "src");
  gst_pad_send_event(output, gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, FALSE, 0));
  gst_object_unref(output);
  gst_object_unref(encoder);
}

static gboolean on_feedback(gint fd, GIOCondition condition, gpointer data) {
  (void)condition;
  Sender *sender = data;
  guint8 report[RTP_MOST_PACKET];
  gssize size = read(fd, report, sizeof report);
  /* Bursts answer requests for lanes. */
  if (size > 0 && rtp_wants_key_frame(report, size, sender->live->ssrc)) request_key_frame(sender);
  return G_SOURCE_CONTINUE;
}

Sender *sender_new(const Output *output, gint index, gboolean is_video) {
  Sender *sender = g_new0(Sender, 1);
  sender->index = index;
  sender->clock_rate = is_video ? 90000 : 48000;
  sender->is_video = is_video;
  sender->payload = output->payload;
  sender->count = output->count;
  for (guint at = 0; at < output->count; at++)
    sender->layers[at] =
        (Layer){.ssrc = output->layers[at].ssrc, .sequence = (guint16)(output->layers[at].first_sequence - 1)};
  sender->live = &sender->layers[output->count - 1];
  if (output->count > 1) sender->lanes = lanes_new(&(LanesOf){index, output->count, send_on, sender});
  sender->batch.socket = rtp_open(output->port, output->source_port, guard_connect_own);
  g_mutex_init(&sender->lock);
  if (sender->batch.socket < 0) return NULL;
  g_timeout_add(RTP_REPORT_MS, on_second, sender);
  if (sender->lanes) g_timeout_add(SILENCE_MS, on_silence, sender);
  if (sender->lanes && output->layers[0].first_sequence > FIRST_SEQUENCE) prepare(sender);
  g_unix_fd_add(sender->batch.socket, G_IO_IN, on_feedback, sender);
  return sender;
}

void sender_follow(Sender *sender, GstElement *payloader) {
  guint16 first = (guint16)(sender->live->sequence + 1);
  rtp_follow_payloader(payloader, &(RtpStream){sender->payload, sender->live->ssrc, first}, send_packet, sender);
}

static void send_payload(Sender *sender, const GstMapInfo *map, guint32 timestamp) {
  RtpPacket packet;
  guint8 copy[RTP_MOST_PACKET] = {0x80};
  if (!rtp_read(map->data, map->size, &packet) || packet.size > sizeof copy - RTP_HEADER) return;
  copy[1] = (guint8)(sender->payload | packet.is_marked << 7);
  rtp_put32(copy + 4, timestamp);
  memcpy(copy + RTP_HEADER, packet.payload, packet.size);
  send_packet(copy, RTP_HEADER + packet.size, TRUE, sender);
}

void sender_copy(Sender *sender, GstBuffer *buffer) {
  GstMapInfo map;
  guint32 timestamp = (guint32)gst_util_uint64_scale_int(GST_BUFFER_PTS(buffer), sender->clock_rate, GST_SECOND);
  if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) return;
  if (sender->is_video) packets_send(&(PacketsOf){(guint8)sender->payload, timestamp, send_packet, sender}, map.data, map.size);
  else send_payload(sender, &map, timestamp);
  gst_buffer_unmap(buffer, &map);
}

void sender_set_encoder(Sender *sender, GstElement *encoder) {
  g_mutex_lock(&sender->lock);
  if (sender->encoder) gst_object_unref(sender->encoder);
  sender->encoder = encoder ? gst_object_ref(encoder) : NULL;
  g_mutex_unlock(&sender->lock);
}
