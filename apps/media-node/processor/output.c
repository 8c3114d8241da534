#include "processor.h"

#include <glib-unix.h>
#include <gst/video/video.h>
#include <unistd.h>

#define KEY_FRAME_PAUSE_US 300000
#define KEY_FRAME_TIMEOUT_US 2000000
#define CNAME "processor"

struct Sender {
  Leg *leg;
  gint clock_rate;
  GMutex lock;
  /* Of the last packet. */
  guint16 sequence;
  guint32 packets;
  guint64 bytes;
  RtpPace pace;
  RtpBatch batch;
  /* The time of the last key frame. */
  gint64 key_frame_us;
  /* Of the main loop. */
  gint64 forced_us;
  guint key_frame_timer;
};

static void send_report(const Sender *sender) {
  RtpReport report = {sender->leg->output.ssrc, sender->packets, sender->bytes, sender->clock_rate, CNAME};
  rtp_send_report(sender->batch.socket, &report);
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
  event_report("sent", "\"kind\":\"%s\",\"sequence\":%u,\"packets\":%u,\"bytes\":%" G_GUINT64_FORMAT, sender->leg->kind,
             sequence, packets, bytes);
  return G_SOURCE_CONTINUE;
}

static void begin(Sender *sender) {
  event_report("media", "\"kind\":\"%s\"", sender->leg->kind);
  send_report(sender);
}

static void send_packet(guint8 *packet, gsize size, gboolean is_last, gpointer data) {
  Sender *sender = data;
  rtp_pace(&sender->pace);
  rtp_batch_add(&sender->batch, packet, size);
  if (is_last || sender->packets == 0) rtp_batch_send(&sender->batch);
  g_mutex_lock(&sender->lock);
  sender->sequence = (guint16)(packet[2] << 8 | packet[3]);
  sender->bytes += size - RTP_HEADER;
  if (sender->packets++ == 0) begin(sender);
  g_mutex_unlock(&sender->lock);
}

static gint64 key_frame_us(const Sender *sender) { return __atomic_load_n(&sender->key_frame_us, __ATOMIC_RELAXED); }

/* Encoders shift the timestamps of buffers, with the segment. */
static GstClockTime running_time(GstPad *pad, GstBuffer *buffer) {
  const GstSegment *segment = NULL;
  GstEvent *event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
  if (!event) return 0;
  gst_event_parse_segment(event, &segment);
  GstClockTime time = gst_segment_to_running_time(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  gst_event_unref(event);
  return GST_CLOCK_TIME_IS_VALID(time) ? time : 0;
}

static GstPadProbeReturn on_encoded(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  Sender *sender = data;
  GstBuffer *picture = GST_PAD_PROBE_INFO_BUFFER(info);
  if (!GST_BUFFER_FLAG_IS_SET(picture, GST_BUFFER_FLAG_DELTA_UNIT))
    __atomic_store_n(&sender->key_frame_us, (gint64)(running_time(pad, picture) / 1000), __ATOMIC_RELAXED);
  return GST_PAD_PROBE_OK;
}

/* The encoder would answer a second request with a second key frame. */
static gboolean is_awaited(const Sender *sender) {
  return sender->forced_us > key_frame_us(sender) && g_get_monotonic_time() < sender->forced_us + KEY_FRAME_TIMEOUT_US;
}

/*
 * Of a picture that is later than the request: one that waits for the encoder may be older than the last key frame. Not
 * with all headers, which would leave as a picture of their own before it: key frames have them anyway.
 */
static void force_key_frame(Sender *sender) {
  sender->forced_us = g_get_monotonic_time();
  GstPad *output = gst_element_get_static_pad(sender->leg->encoder, "src");
  gst_pad_send_event(output, gst_video_event_new_upstream_force_key_unit((GstClockTime)sender->forced_us * 1000, FALSE, 0));
  gst_object_unref(output);
  g_timeout_add(REPEAT_MS, delay_repeat, sender->leg);
}

/* A request soon after a key frame is delayed: its receiver may have missed that one. */
static gboolean request_key_frame(gpointer data) {
  Sender *sender = data;
  gint64 wait_us = MAX(sender->forced_us, key_frame_us(sender)) + KEY_FRAME_PAUSE_US - g_get_monotonic_time();
  sender->key_frame_timer = wait_us > 0 ? g_timeout_add((guint)(wait_us / 1000 + 1), request_key_frame, sender) : 0;
  if (!sender->key_frame_timer && !is_awaited(sender)) force_key_frame(sender);
  return G_SOURCE_REMOVE;
}

static gboolean on_feedback(gint fd, GIOCondition condition, gpointer data) {
  (void)condition;
  Sender *sender = data;
  guint8 report[RTP_MOST_PACKET];
  gssize size = read(fd, report, sizeof report);
  if (size > 0 && sender->leg->is_video && !sender->key_frame_timer && rtp_wants_key_frame(report, size, sender->leg->output.ssrc))
    request_key_frame(sender);
  return G_SOURCE_CONTINUE;
}

static void follow_payloader(Sender *sender) {
  const Output *output = &sender->leg->output;
  GstElement *payloader = gst_bin_get_by_name(GST_BIN(sender->leg->bin), "leg-pay");
  RtpStream stream = {output->payload, output->ssrc, (guint16)output->first_sequence};
  rtp_follow_payloader(payloader, &stream, send_packet, sender);
  gst_object_unref(payloader);
}

static void follow_encoder(Sender *sender) {
  GstPad *output = gst_element_get_static_pad(sender->leg->encoder, "src");
  gst_pad_add_probe(output, GST_PAD_PROBE_TYPE_BUFFER, on_encoded, sender, NULL);
  gst_object_unref(output);
}

Sender *sender_new(Leg *leg) {
  gint socket = rtp_open(leg->output.port, leg->output.source_port, connect);
  if (socket < 0) return NULL;
  Sender *sender = g_new0(Sender, 1);
  sender->leg = leg;
  sender->batch.socket = socket;
  sender->clock_rate = leg->is_video ? 90000 : 48000;
  sender->sequence = (guint16)(leg->output.first_sequence - 1);
  g_mutex_init(&sender->lock);
  follow_payloader(sender);
  if (leg->is_video) follow_encoder(sender);
  g_timeout_add(RTP_REPORT_MS, on_second, sender);
  g_unix_fd_add(socket, G_IO_IN, on_feedback, sender);
  return sender;
}
