/* sendmmsg */
#define _GNU_SOURCE
#include "camera.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <gst/video/video.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MTU 1200
/* A burst is sent in portions, so that the receive buffer of the media worker does not overflow. */
#define PORTION 32
#define PORTION_PAUSE_NS 300000
#define REPORT_MS 1000
#define SILENCE_MS 250
/* Of a stream without a former program. */
#define FIRST_SEQUENCE 1
#define BURST_STEP_MS 2
#define KEY_FRAME_PAUSE_US 500000
/* From 1900 to 1970. */
#define NTP_EPOCH 2208988800u
#define CNAME "camera"

typedef struct {
  guint32 ssrc;
  /* Of the last packet. */
  guint16 sequence;
  guint32 packets;
  guint64 bytes;
} Layer;

struct Sender {
  gint index, socket, clock_rate, payload;
  GMutex lock;
  guint count;
  Layer layers[MOST_LAYERS];
  /* Of several layers. */
  Layer *live;
  Lanes *lanes;
  guint step;
  gint burst;
  gint64 burst_us;
  GstElement *encoder;
  gint64 key_frame_us;
};

/* The caller keeps the source port between two programs, with a socket that allows this one. */
static gboolean bind_source(int fd, gint port) {
  int on = 1;
  struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && bind(fd, (struct sockaddr *)&from, sizeof from) == 0;
}

static int open_socket(const Output *output) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && bind_source(fd, output->source_port) && guard_connect_own(fd, output->port) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

static guint8 *put32(guint8 *at, guint32 value) {
  value = htonl(value);
  memcpy(at, &value, 4);
  return at + 4;
}

/* A fixed relation of both clocks, so that all reports of a program agree. */
static gint64 realtime_us(gint64 monotonic_us) {
  static gint64 difference;
  if (!difference) difference = g_get_real_time() - g_get_monotonic_time();
  return monotonic_us + difference;
}

static void send_report(const Sender *sender, const Layer *layer) {
  guint8 report[64], *at = report;
  gint64 now_us = g_get_monotonic_time(), real_us = realtime_us(now_us);
  gsize name = strlen(CNAME), padding = 4 - (2 + name) % 4;
  at = put32(at, 0x80c80006), at = put32(at, layer->ssrc);
  at = put32(at, (guint32)(real_us / 1000000 + NTP_EPOCH));
  at = put32(at, (guint32)(((guint64)(real_us % 1000000) << 32) / 1000000));
  at = put32(at, (guint32)gst_util_uint64_scale((guint64)now_us, (guint64)sender->clock_rate, 1000000));
  at = put32(at, layer->packets), at = put32(at, (guint32)layer->bytes);
  at = put32(at, 0x81ca0000 | (guint32)(1 + (2 + name + padding) / 4)), at = put32(at, layer->ssrc);
  *at++ = 1, *at++ = (guint8)name;
  memcpy(at, CNAME, name), at += name;
  memset(at, 0, padding), at += padding;
  send(sender->socket, report, (size_t)(at - report), MSG_NOSIGNAL);
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
    event_tell("sent", "\"index\":%d,\"sequences\":[%s],\"packets\":%u,\"bytes\":%" G_GUINT64_FORMAT, sender->index,
               sequences, live.packets, live.bytes);
  else event_tell("waiting", "\"index\":%d", sender->index);
  g_free(sequences);
  return G_SOURCE_CONTINUE;
}

static gboolean on_silence(gpointer data) {
  Sender *sender = data;
  g_mutex_lock(&sender->lock);
  if (sender->live->packets > 0) lanes_keep_alive(sender->lanes, sender->payload);
  g_mutex_unlock(&sender->lock);
  return G_SOURCE_CONTINUE;
}

static gboolean on_step(gpointer data) {
  Sender *sender = data;
  g_mutex_lock(&sender->lock);
  gboolean goes_on = lanes_step(sender->lanes);
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

gint sender_index(const Sender *sender) { return sender->index; }

void sender_send(Sender *sender, guint layer, guint8 *packet, gsize size) {
  Layer *to = &sender->layers[layer];
  to->sequence++;
  packet[2] = (guint8)(to->sequence >> 8), packet[3] = (guint8)to->sequence;
  put32(packet + 8, to->ssrc);
  send(sender->socket, packet, size, MSG_NOSIGNAL);
  to->packets++;
  to->bytes += size - 12;
}

static void begin(Sender *sender) {
  event_tell("media", "\"index\":%d", sender->index);
  send_reports(sender);
}

/* Without this, the worker takes the gap after a former program for loss, and the layers for dead. Empty packets do not
   make them alive. */
static void prepare(Sender *sender) {
  guint32 second_ago = (guint32)((g_get_monotonic_time() - 1000000) * 9 / 100);
  for (guint at = 0; at < sender->count; at++) {
    guint8 empty[12] = {0x80, (guint8)sender->payload};
    put32(empty + 4, second_ago);
    sender_send(sender, at, empty, sizeof empty);
    send_report(sender, &sender->layers[at]);
    sender->layers[at].packets = 0;
  }
}

static void pause_in_burst(Sender *sender) {
  gint64 now_us = g_get_monotonic_time();
  if (now_us - sender->burst_us > 2000) sender->burst = 0;
  sender->burst_us = now_us;
  if (++sender->burst % PORTION) return;
  struct timespec pause = {0, PORTION_PAUSE_NS};
  nanosleep(&pause, NULL);
}

static gboolean send_packet(GstBuffer **packet, guint at, gpointer data) {
  (void)at;
  Sender *sender = data;
  guint8 bytes[MOST_PACKET];
  gsize size = gst_buffer_extract(*packet, 0, bytes, sizeof bytes);
  if (size < 12) return TRUE;
  pause_in_burst(sender);
  send(sender->socket, bytes, size, MSG_NOSIGNAL);
  g_mutex_lock(&sender->lock);
  sender->live->sequence = (guint16)(bytes[2] << 8 | bytes[3]);
  sender->live->bytes += size - 12;
  /* The worker must know the live layer first: it starts with what it knows. */
  if (sender->lanes) lanes_follow(sender->lanes, bytes, size), lanes_keep_alive(sender->lanes, sender->payload);
  if (sender->live->packets++ == 0) begin(sender);
  g_mutex_unlock(&sender->lock);
  return TRUE;
}

static GstPadProbeReturn on_packets(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER_LIST)
    gst_buffer_list_foreach(GST_PAD_PROBE_INFO_BUFFER_LIST(info), send_packet, data);
  else send_packet((GstBuffer **)&info->data, 0, data);
  return GST_PAD_PROBE_DROP;
}

/* A picture loss indication (RFC 4585) or a full intra request (RFC 5104). */
static gboolean wants_key_frame(const guint8 *report, gssize size) {
  for (gssize at = 0; at + 4 <= size; at += 4 * (1 + (report[at + 2] << 8 | report[at + 3])))
    if (report[at + 1] == 206 && ((report[at] & 31) == 1 || (report[at] & 31) == 4)) return TRUE;
  return FALSE;
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
  gst_pad_send_event(output, gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, TRUE, 0));
  gst_object_unref(output);
  gst_object_unref(encoder);
}

static gboolean on_feedback(gint fd, GIOCondition condition, gpointer data) {
  (void)condition;
  guint8 report[MOST_PACKET];
  gssize size = read(fd, report, sizeof report);
  if (size > 0 && wants_key_frame(report, size)) request_key_frame(data);
  return G_SOURCE_CONTINUE;
}

Sender *sender_new(const Output *output, gint index, gint clock_rate) {
  Sender *sender = g_new0(Sender, 1);
  sender->index = index;
  sender->clock_rate = clock_rate;
  sender->payload = output->payload;
  sender->count = output->count;
  for (guint at = 0; at < output->count; at++)
    sender->layers[at] =
        (Layer){.ssrc = output->layers[at].ssrc, .sequence = (guint16)(output->layers[at].first_sequence - 1)};
  sender->live = &sender->layers[output->count - 1];
  if (output->count > 1) sender->lanes = lanes_new(sender, output->count);
  sender->socket = open_socket(output);
  g_mutex_init(&sender->lock);
  if (sender->socket < 0) return NULL;
  g_timeout_add(REPORT_MS, on_second, sender);
  if (sender->lanes) g_timeout_add(SILENCE_MS, on_silence, sender);
  if (sender->lanes && output->layers[0].first_sequence > FIRST_SEQUENCE) prepare(sender);
  g_unix_fd_add(sender->socket, G_IO_IN, on_feedback, sender);
  return sender;
}

void sender_follow(Sender *sender, GstElement *payloader) {
  g_object_set(payloader, "pt", (guint)sender->payload, "ssrc", sender->live->ssrc, "mtu", (guint)MTU, "timestamp-offset", 0u,
               "seqnum-offset", (gint)(guint16)(sender->live->sequence + 1), NULL);
  GstPad *output = gst_element_get_static_pad(payloader, "src");
  gst_pad_add_probe(output, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_packets, sender, NULL);
  gst_object_unref(output);
}

void sender_set_encoder(Sender *sender, GstElement *encoder) {
  g_mutex_lock(&sender->lock);
  if (sender->encoder) gst_object_unref(sender->encoder);
  sender->encoder = encoder ? gst_object_ref(encoder) : NULL;
  g_mutex_unlock(&sender->lock);
}
