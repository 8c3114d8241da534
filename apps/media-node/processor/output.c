#include "processor.h"

#include <arpa/inet.h>
#include <glib-unix.h>
#include <gst/video/video.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MTU 1200
#define MOST_PACKET 1500
/* A burst is sent in portions, so that the receive buffer of the media worker does not overflow. */
#define PORTION 32
#define PORTION_PAUSE_NS 300000
#define REPORT_MS 1000
#define KEY_FRAME_PAUSE_US 300000
/* From 1900 to 1970. */
#define NTP_EPOCH 2208988800u
#define CNAME "processor"

struct Sender {
  Leg *leg;
  gint socket, clock_rate;
  GMutex lock;
  /* Of the last packet. */
  guint16 sequence;
  guint32 packets;
  guint64 bytes;
  gint burst;
  gint64 burst_us;
  /* Of the main loop. */
  gint64 key_frame_us;
  guint key_frame_timer;
};

/* The caller keeps the source port between two programs, with a socket that allows this one. */
static gint open_socket(const Output *output) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
  struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons((uint16_t)output->source_port)};
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)output->port)};
  from.sin_addr.s_addr = to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  gboolean is_open = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                     bind(fd, (struct sockaddr *)&from, sizeof from) == 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
  if (is_open) return fd;
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

static void send_report(const Sender *sender) {
  guint8 report[64], *at = report;
  gint64 now_us = g_get_monotonic_time(), real_us = realtime_us(now_us);
  gsize name = strlen(CNAME), padding = 4 - (2 + name) % 4;
  guint32 ssrc = sender->leg->output.ssrc;
  at = put32(at, 0x80c80006), at = put32(at, ssrc);
  at = put32(at, (guint32)(real_us / 1000000 + NTP_EPOCH));
  at = put32(at, (guint32)(((guint64)(real_us % 1000000) << 32) / 1000000));
  at = put32(at, (guint32)gst_util_uint64_scale((guint64)now_us, (guint64)sender->clock_rate, 1000000));
  at = put32(at, sender->packets), at = put32(at, (guint32)sender->bytes);
  at = put32(at, 0x81ca0000 | (guint32)(1 + (2 + name + padding) / 4)), at = put32(at, ssrc);
  *at++ = 1, *at++ = (guint8)name;
  memcpy(at, CNAME, name), at += name;
  memset(at, 0, padding), at += padding;
  send(sender->socket, report, (size_t)(at - report), MSG_NOSIGNAL);
}

/* Also without packets: a program that hangs reports nothing. */
static gboolean on_second(gpointer data) {
  Sender *sender = data;
  g_mutex_lock(&sender->lock);
  guint32 packets = sender->packets;
  guint16 sequence = sender->sequence;
  guint64 bytes = sender->bytes;
  if (packets > 0) send_report(sender);
  g_mutex_unlock(&sender->lock);
  event_tell("sent", "\"kind\":\"%s\",\"sequence\":%u,\"packets\":%u,\"bytes\":%" G_GUINT64_FORMAT, sender->leg->kind,
             sequence, packets, bytes);
  return G_SOURCE_CONTINUE;
}

static void begin(Sender *sender) {
  event_tell("media", "\"kind\":\"%s\"", sender->leg->kind);
  send_report(sender);
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
  sender->sequence = (guint16)(bytes[2] << 8 | bytes[3]);
  sender->bytes += size - 12;
  if (sender->packets++ == 0) begin(sender);
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

static gboolean force_key_frame(gpointer data) {
  Sender *sender = data;
  sender->key_frame_timer = 0;
  sender->key_frame_us = g_get_monotonic_time();
  GstPad *output = gst_element_get_static_pad(sender->leg->encoder, "src");
  gst_pad_send_event(output, gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, TRUE, 0));
  gst_object_unref(output);
  g_timeout_add(REPEAT_MS, delay_repeat, sender->leg);
  return G_SOURCE_REMOVE;
}

/* A request soon after a key frame is delayed: its receiver may have missed that one. */
static void request_key_frame(Sender *sender) {
  gint64 wait_us = sender->key_frame_us + KEY_FRAME_PAUSE_US - g_get_monotonic_time();
  if (!sender->leg->is_video || sender->key_frame_timer) return;
  if (wait_us <= 0) force_key_frame(sender);
  else sender->key_frame_timer = g_timeout_add((guint)(wait_us / 1000 + 1), force_key_frame, sender);
}

static gboolean on_feedback(gint fd, GIOCondition condition, gpointer data) {
  (void)condition;
  guint8 report[MOST_PACKET];
  gssize size = read(fd, report, sizeof report);
  if (size > 0 && wants_key_frame(report, size)) request_key_frame(data);
  return G_SOURCE_CONTINUE;
}

static void follow_payloader(Sender *sender) {
  const Output *output = &sender->leg->output;
  GstElement *payloader = gst_bin_get_by_name(GST_BIN(sender->leg->bin), "leg-pay");
  g_object_set(payloader, "pt", (guint)output->payload, "ssrc", output->ssrc, "mtu", (guint)MTU, "timestamp-offset", 0u,
               "seqnum-offset", (gint)(guint16)output->first_sequence, NULL);
  GstPad *pad = gst_element_get_static_pad(payloader, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_packets, sender, NULL);
  gst_object_unref(pad);
  gst_object_unref(payloader);
}

Sender *sender_new(Leg *leg) {
  gint socket = open_socket(&leg->output);
  if (socket < 0) return NULL;
  Sender *sender = g_new0(Sender, 1);
  sender->leg = leg;
  sender->socket = socket;
  sender->clock_rate = leg->is_video ? 90000 : 48000;
  sender->sequence = (guint16)(leg->output.first_sequence - 1);
  g_mutex_init(&sender->lock);
  follow_payloader(sender);
  g_timeout_add(REPORT_MS, on_second, sender);
  g_unix_fd_add(socket, G_IO_IN, on_feedback, sender);
  return sender;
}
