#include "processor.h"

#include <glib-unix.h>
#include <gst/video/video.h>
#include <unistd.h>

#define CHECK_MS 250
/* Packets arrive, but no picture: the request for a key frame or its answer was lost. */
#define NO_PICTURE_US 500000
#define WANT_AGAIN_US 1000000

static void set_time(gint64 *time_us) { __atomic_store_n(time_us, g_get_monotonic_time(), __ATOMIC_RELAXED); }
static gint64 get_time(const gint64 *time_us) { return __atomic_load_n(time_us, __ATOMIC_RELAXED); }

/* Anything on this machine may send to the port. */
static gboolean is_expected(const Input *input, GstBuffer *packet) {
  guint8 header[RTP_HEADER];
  if (gst_buffer_extract(packet, 0, header, RTP_HEADER) < RTP_HEADER) return FALSE;
  guint ssrc = (guint)header[8] << 24 | (guint)header[9] << 16 | (guint)header[10] << 8 | header[11];
  return header[0] >> 6 == 2 && (header[1] & 0x7f) == input->payload && ssrc == input->ssrc;
}

static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  Leg *leg = data;
  if (!is_expected(&leg->input, GST_PAD_PROBE_INFO_BUFFER(info))) return GST_PAD_PROBE_DROP;
  set_time(&leg->packet_us);
  if (leg->input.orientation_id) orientation_follow(leg, GST_PAD_PROBE_INFO_BUFFER(info));
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn on_media(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad, (void)info;
  set_time(&((Leg *)data)->picture_us);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn on_request(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  if (gst_video_event_is_force_key_unit(GST_PAD_PROBE_INFO_EVENT(info))) leg_want_key_frame(data);
  return GST_PAD_PROBE_OK;
}

static gboolean check_pictures(gpointer data) {
  Leg *leg = data;
  gint64 packet_us = get_time(&leg->packet_us);
  if (packet_us - get_time(&leg->picture_us) > NO_PICTURE_US && packet_us - get_time(&leg->wanted_us) > WANT_AGAIN_US)
    leg_want_key_frame(leg);
  return G_SOURCE_CONTINUE;
}

static void probe(Leg *leg, const gchar *element_name, const gchar *pad_name, GstPadProbeType type,
                  GstPadProbeCallback callback) {
  GstElement *element = gst_bin_get_by_name(GST_BIN(leg->bin), element_name);
  GstPad *pad = gst_element_get_static_pad(element, pad_name);
  gst_pad_add_probe(pad, type, callback, leg, NULL);
  gst_object_unref(pad);
  gst_object_unref(element);
}

gboolean input_watch(Leg *leg) {
  probe(leg, "leg-socket", "src", GST_PAD_PROBE_TYPE_BUFFER, on_packet);
  if (!leg->is_video) return TRUE;
  set_time(&leg->picture_us);
  probe(leg, "leg-decoder", "src", GST_PAD_PROBE_TYPE_BUFFER, on_media);
  probe(leg, "leg-depay", "sink", GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_request);
  g_timeout_add(CHECK_MS, check_pictures, leg);
  return TRUE;
}

/* The sender reports of the SFU are made of the arrival of its packets, which is known here too. */
static gboolean discard_report(gint fd, GIOCondition condition, gpointer data) {
  (void)condition, (void)data;
  guint8 report[64];
  return read(fd, report, sizeof report) >= 0 || G_SOURCE_CONTINUE;
}

static gint open_report_port(void) {
  gint port = 0;
  int fd = rtp_open_any(&port);
  if (fd >= 0) g_unix_fd_add(fd, G_IO_IN, discard_report, NULL);
  return port;
}

gboolean input_report(Leg *leg) {
  GstElement *socket = gst_bin_get_by_name(GST_BIN(leg->bin), "leg-socket");
  gint port = 0, report_port = open_report_port();
  g_object_get(socket, "port", &port, NULL);
  gst_object_unref(socket);
  event_report("opened", "\"kind\":\"%s\",\"rtp\":%d,\"rtcp\":%d", leg->kind, port, report_port);
  return port > 0 && report_port > 0;
}
