/* dlsym(RTLD_NEXT) */
#define _GNU_SOURCE
#include "camera.h"

#include <dlfcn.h>
#include <gio/gio.h>
#include <gst/rtsp/rtsp.h>
#include <string.h>

/* Time for packets that arrive in the wrong order; also the time that is lost before the first one. */
#define REORDER_MS 60
/* Of the answers of a camera, before its first packets. */
#define MOST_ANSWERED (1024 * 1024)

#define RTCP_SR 200
#define RTCP_SDES 202

static gint wanted_streams, found_streams;
/* By whether it is the video. */
static gboolean is_wanted[2];
static gboolean is_over_udp;
static GstElement *source, *manager;

static const GstStructure *structure_of(GstCaps *caps) { return gst_caps_get_structure(caps, 0); }

/* The first stream of each kind is set up. */
static gboolean on_select(GstElement *element, guint number, GstCaps *caps, gpointer data) {
  (void)element, (void)data;
  watch_progress();
  if (number == 0) is_wanted[0] = is_wanted[1] = FALSE, wanted_streams = 0;
  const Codec *codec = codec_of_rtp(structure_of(caps));
  if (!codec || is_wanted[codec->is_video]) return FALSE;
  is_wanted[codec->is_video] = TRUE;
  codec_prepare(codec);
  g_atomic_int_inc(&wanted_streams);
  return TRUE;
}

static gboolean uses_udp(void) { return is_over_udp || !strcmp(camera_address()->transport, "udp"); }

/* `rtpjitterbuffer` gives pictures that are later than its latency new times. */
static void on_reordered(GstClockTime by) {
  if (manager && uses_udp()) g_object_set(manager, "latency", REORDER_MS + (guint)GST_TIME_AS_MSECONDS(by), NULL);
}

static void on_pad(GstElement *element, GstPad *pad, gpointer data) {
  (void)element, (void)data;
  GstCaps *caps = gst_pad_get_current_caps(pad);
  const Codec *codec = caps ? codec_of_rtp(structure_of(caps)) : NULL;
  /* From here on the connection receives media, of which each stream keeps a bounded part. */
  guard_limit_received(0);
  if (codec) track_found(pad, codec, &(Origin){.is_rtp = TRUE, .has_video = is_wanted[TRUE]});
  else track_discard(pad);
  if (caps) gst_caps_unref(caps);
  if (g_atomic_int_add(&found_streams, 1) + 1 == g_atomic_int_get(&wanted_streams)) tracks_complete();
}

static gboolean has_description(const guint8 *report, gsize size) {
  for (gsize at = 0; at + 4 <= size; at += 4 * (1 + (gsize)(report[at + 2] << 8 | report[at + 3])))
    if (report[at + 1] == RTCP_SDES) return TRUE;
  return FALSE;
}

/* The times of both streams are compared only when their reports have the same name, which some cameras leave out. */
static GstPadProbeReturn on_report(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad, (void)data;
  GstBuffer *report = GST_PAD_PROBE_INFO_BUFFER(info);
  GstMapInfo map;
  if (!gst_buffer_map(report, &map, GST_MAP_READ)) return GST_PAD_PROBE_OK;
  gboolean is_bare = map.size >= 28 && map.data[1] == RTCP_SR && !has_description(map.data, map.size);
  guint8 name[] = {0x81, RTCP_SDES, 0, 4, 0, 0, 0, 0, 1, 6, 'c', 'a', 'm', 'e', 'r', 'a', 0, 0, 0, 0};
  if (is_bare) memcpy(name + 4, map.data + 4, 4);
  gst_buffer_unmap(report, &map);
  if (is_bare) info->data = gst_buffer_append(report, gst_buffer_new_memdup(name, sizeof name));
  return GST_PAD_PROBE_OK;
}

static void on_manager_pad(GstElement *element, GstPad *pad, gpointer data) {
  (void)element, (void)data;
  if (g_str_has_prefix(GST_PAD_NAME(pad), "recv_rtcp_sink"))
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_report, NULL, NULL);
}

static void on_manager(GstElement *element, GstElement *created, gpointer data) {
  (void)element;
  manager = created;
  g_signal_connect(manager, "pad-added", G_CALLBACK(on_manager_pad), data);
}

static void set_up_tls(void) {
  if (!g_strcmp0(camera_address()->trust, "all")) g_object_set(source, "tls-validation-flags", 0, NULL);
  GTlsDatabase *database = elements_tls_database();
  if (!database) return;
  g_object_set(source, "tls-database", database, NULL);
  g_object_unref(database);
}

gboolean rtsp_open(void) {
  const Address *address = camera_address();
  guint64 timeout_us = (guint64)address->timeout_ms * 1000;
  source = gst_element_factory_make("rtspsrc", NULL);
  read_ahead_open(uses_udp());
  g_object_set(source, "location", address->uri, "latency", REORDER_MS, "tcp-timeout", timeout_us, "timeout", timeout_us,
               "do-retransmission", FALSE, "user-agent", "session-service", NULL);
  gst_util_set_object_arg(G_OBJECT(source), "protocols", uses_udp() ? "udp" : "tcp");
  if (*address->user) g_object_set(source, "user-id", address->user, "user-pw", address->password, NULL);
  set_up_tls();
  guard_limit_received(MOST_ANSWERED);
  timing_start(TRUE, address->cache_ms, on_reordered);
  g_signal_connect(source, "select-stream", G_CALLBACK(on_select), NULL);
  g_signal_connect(source, "pad-added", G_CALLBACK(on_pad), NULL);
  g_signal_connect(source, "new-manager", G_CALLBACK(on_manager), NULL);
  return gst_bin_add(GST_BIN(live_pipeline()), source);
}

static gboolean open_over_udp(gpointer data) {
  (void)data;
  manager = NULL;
  gst_element_set_state(source, GST_STATE_NULL);
  gst_bin_remove(GST_BIN(live_pipeline()), source);
  watch_progress();
  rtsp_open();
  gst_element_sync_state_with_parent(source);
  return G_SOURCE_REMOVE;
}

gboolean rtsp_try_udp(void) {
  if (!source || is_over_udp || strcmp(camera_address()->transport, "auto") || found_streams > 0) return FALSE;
  is_over_udp = TRUE;
  g_idle_add(open_over_udp, NULL);
  return TRUE;
}

#define NEXT(name)                                                   \
  static __typeof__(&name) next;                                     \
  if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

/* `rtpbin` has jitter buffers, three more threads and many locks for each packet, which TCP does not need. */
GstRTSPResult gst_rtsp_transport_get_manager(GstRTSPTransMode mode, const gchar **manager, guint option) {
  NEXT(gst_rtsp_transport_get_manager)
  GstRTSPResult result = next(mode, manager, option);
  if (result == GST_RTSP_OK && *manager && !uses_udp()) *manager = ARRIVALS;
  return result;
}
