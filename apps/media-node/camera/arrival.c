#include "camera.h"

#include <stdio.h>
#include <string.h>

/*
 * The times of packets that arrive over TCP: complete and in order, so that no jitter buffer is needed. A source is as
 * late as the least late packet of some seconds; a network that stalls makes others later. The element takes the place of
 * `rtpbin` in `rtspsrc`, with its pads and the signal that `rtspsrc` answers.
 */

#define MOST_SOURCES 2
#define WINDOW_NS (5 * GST_SECOND)
/* How fast the estimate follows a camera whose clock is slow: more than clocks differ, and not visible. */
#define MOST_STEP_NS (5 * GST_MSECOND)
/* Timestamps that jump begin again. */
#define MOST_LATE_NS (10 * (gint64)GST_SECOND)
/* Reports of both sources that differ by more are wrong. */
#define MOST_APART_NS (3 * (gint64)GST_SECOND)

/* A stream that waits longer begins again. */
#define MOST_WAITING (16 * 1024 * 1024)

#define RTCP_SR 200
#define RTCP_RR 201
#define RTCP_SDES 202
#define OWN_SSRC 1
/* Up to the counts of packets and bytes. */
#define REPORT_SIZE 28
/* From 1900 to 1970. */
#define NTP_EPOCH 2208988800u

typedef struct {
  guint session;
  /* Of the RTSP connection. */
  gint channel;
  GstPad *output;
  /* Where receiver reports go; NULL: nowhere. */
  GstPad *reports;
  guint16 sequence;
  /* Packets before the release of the output. */
  GQueue waiting;
  gsize waiting_bytes;
  gint is_released;
  gint clock_rate;
  guint32 ssrc, timestamp;
  gboolean is_begun, has_report;
  /* Of the last packet since the first one, in ticks. */
  gint64 ticks;
  /* From the time of the media to CLOCK_MONOTONIC, ns. */
  gint64 offset, least, window_end;
  /* The time of the media at the wall clock 0 of the camera, ns. */
  gint64 origin;
} Source;

G_DECLARE_FINAL_TYPE(Arrivals, arrivals, CAMERA, ARRIVALS, GstElement)

struct _Arrivals {
  GstElement parent;
  GMutex lock;
  guint count;
  Source sources[MOST_SOURCES];
};

G_DEFINE_TYPE(Arrivals, arrivals, GST_TYPE_ELEMENT)

static GstStaticPadTemplate rtp_template = GST_STATIC_PAD_TEMPLATE("recv_rtp_sink_%u", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS_ANY);
static GstStaticPadTemplate rtcp_template = GST_STATIC_PAD_TEMPLATE("recv_rtcp_sink_%u", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS_ANY);
static GstStaticPadTemplate output_template = GST_STATIC_PAD_TEMPLATE("recv_rtp_src_%u_%u_%u", GST_PAD_SRC, GST_PAD_SOMETIMES, GST_STATIC_CAPS_ANY);
static GstStaticPadTemplate reports_template = GST_STATIC_PAD_TEMPLATE("send_rtcp_src_%u", GST_PAD_SRC, GST_PAD_REQUEST, GST_STATIC_CAPS_ANY);
static guint request_pt_map;

static gint64 now_ns(void) { return g_get_monotonic_time() * 1000; }

static gint64 media_ns(const Source *source, gint64 ticks) {
  gint64 seconds = ticks / source->clock_rate;
  return seconds * (gint64)GST_SECOND + ticks % source->clock_rate * (gint64)GST_SECOND / source->clock_rate;
}

static void begin(Source *source, guint32 ssrc, guint32 timestamp) {
  source->ssrc = ssrc;
  source->timestamp = timestamp;
  source->is_begun = TRUE;
  source->has_report = FALSE;
  source->ticks = 0;
  source->offset = now_ns();
  source->least = G_MAXINT64;
  source->window_end = source->offset + (gint64)WINDOW_NS;
}

static void follow_clock(Source *source, gint64 late) {
  source->offset = MIN(source->offset, late);
  source->least = MIN(source->least, late);
  if (now_ns() < source->window_end) return;
  source->offset += MIN(source->least - source->offset, (gint64)MOST_STEP_NS);
  source->least = G_MAXINT64;
  source->window_end = now_ns() + (gint64)WINDOW_NS;
}

/* How much later than this source another one arrives that was recorded at the same time, ns. */
static gint64 lag_behind(const Arrivals *self, const Source *source) {
  gint64 most = 0;
  for (guint at = 0; source->has_report && at < self->count; at++) {
    const Source *other = &self->sources[at];
    if (!other->has_report) continue;
    gint64 lag = other->origin + other->offset - source->origin - source->offset;
    if (lag < MOST_APART_NS) most = MAX(most, lag);
  }
  return most;
}

static gint64 time_of(const Arrivals *self, Source *source, guint32 ssrc, guint32 timestamp) {
  if (!source->is_begun || ssrc != source->ssrc) begin(source, ssrc, timestamp);
  source->ticks += (gint32)(timestamp - source->timestamp);
  source->timestamp = timestamp;
  gint64 late = now_ns() - media_ns(source, source->ticks);
  if (ABS(late - source->offset) > MOST_LATE_NS) begin(source, ssrc, timestamp), late = source->offset;
  follow_clock(source, late);
  return media_ns(source, source->ticks) + source->offset + lag_behind(self, source);
}

/* FALSE: `rtspsrc` does not know this payload type. */
static gboolean open_output(Arrivals *self, Source *source, guint32 ssrc, guint payload) {
  GstCaps *caps = NULL;
  GstSegment segment;
  g_signal_emit(self, request_pt_map, 0, source->session, payload, &caps);
  if (!caps) return FALSE;
  gboolean is_known = gst_structure_get_int(gst_caps_get_structure(caps, 0), "clock-rate", &source->clock_rate) && source->clock_rate > 0;
  if (is_known) {
    gchar *name = g_strdup_printf("recv_rtp_src_%u_%u_%u", source->session, ssrc, payload);
    source->output = gst_pad_new_from_static_template(&output_template, name);
    gst_pad_set_element_private(source->output, source);
    gst_pad_set_active(source->output, TRUE);
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(source->output, gst_event_new_stream_start(name));
    gst_pad_push_event(source->output, gst_event_new_caps(caps));
    gst_pad_push_event(source->output, gst_event_new_segment(&segment));
    gst_element_add_pad(GST_ELEMENT(self), source->output);
    g_free(name);
  }
  gst_caps_unref(caps);
  return is_known;
}

/* One thread receives all sources: one that waits for its release must not hold it. */
static GstFlowReturn keep(Source *source, GstBuffer *packet) {
  source->waiting_bytes += gst_buffer_get_size(packet);
  if (source->waiting_bytes > MOST_WAITING) {
    g_queue_clear_full(&source->waiting, (GDestroyNotify)gst_buffer_unref);
    source->waiting_bytes = 0;
  }
  g_queue_push_tail(&source->waiting, packet);
  return GST_FLOW_OK;
}

static GstFlowReturn pass_on(Source *source, GstBuffer *packet) {
  if (!g_atomic_int_get(&source->is_released)) return keep(source, packet);
  for (GstBuffer *first; (first = g_queue_pop_head(&source->waiting));) gst_pad_push(source->output, first);
  return gst_pad_push(source->output, packet);
}

void arrival_release(GstPad *pad) {
  GstPad *output = GST_IS_GHOST_PAD(pad) ? gst_ghost_pad_get_target(GST_GHOST_PAD(pad)) : NULL;
  GstElement *element = output ? gst_pad_get_parent_element(output) : NULL;
  if (element && CAMERA_IS_ARRIVALS(element)) {
    Source *source = gst_pad_get_element_private(output);
    g_atomic_int_set(&source->is_released, TRUE);
  }
  g_clear_object(&element);
  g_clear_object(&output);
}

static GstClockTime arrive(Arrivals *self, Source *source, const guint8 *header) {
  g_mutex_lock(&self->lock);
  gint64 time = time_of(self, source, rtp_get32(header + 8), rtp_get32(header + 4));
  source->sequence = (guint16)(header[2] << 8 | header[3]);
  g_mutex_unlock(&self->lock);
  return (GstClockTime)MAX(0, time);
}

/* The one of the camera, for packets that come without a pad. */
static Arrivals *taking;
/* Of the last packet of the RTSP connection, which may come by its pad. */
static gint last_channel;

gboolean arrival_take(gint channel, const guint8 *bytes, gsize size) {
  Source *source = NULL;
  last_channel = channel;
  for (guint at = 0; taking && at < taking->count; at++)
    if (taking->sources[at].channel == channel) source = &taking->sources[at];
  if (!source || !g_atomic_int_get(&source->is_released) || size < RTP_HEADER || bytes[0] >> 6 != 2) return FALSE;
  GstBuffer *packet = gst_buffer_new_memdup(bytes, size);
  GST_BUFFER_PTS(packet) = arrive(taking, source, bytes);
  pass_on(source, packet);
  return TRUE;
}

static GstFlowReturn on_packet(GstPad *pad, GstObject *parent, GstBuffer *packet) {
  Arrivals *self = CAMERA_ARRIVALS(parent);
  Source *source = gst_pad_get_element_private(pad);
  guint8 header[RTP_HEADER];
  gboolean is_rtp = gst_buffer_extract(packet, 0, header, RTP_HEADER) == RTP_HEADER && header[0] >> 6 == 2;
  guint32 ssrc = is_rtp ? rtp_get32(header + 8) : 0;
  if (!is_rtp || (!source->output && !open_output(self, source, ssrc, header[1] & 0x7f))) {
    gst_buffer_unref(packet);
    return GST_FLOW_OK;
  }
  source->channel = last_channel;
  taking = self;
  packet = gst_buffer_make_writable(packet);
  GST_BUFFER_PTS(packet) = arrive(self, source, header);
  GST_BUFFER_DTS(packet) = GST_CLOCK_TIME_NONE;
  return pass_on(source, packet);
}

/* A sender report relates the timestamps to a clock that all sources of the camera share. */
static void read_report(Arrivals *self, const guint8 *report) {
  guint32 ssrc = rtp_get32(report + 4), seconds = rtp_get32(report + 8), fraction = rtp_get32(report + 12);
  gint64 ntp_ns = ((gint64)seconds - NTP_EPOCH) * (gint64)GST_SECOND + (gint64)(((guint64)fraction * GST_SECOND) >> 32);
  g_mutex_lock(&self->lock);
  for (guint at = 0; at < self->count; at++) {
    Source *source = &self->sources[at];
    if (!source->is_begun || source->ssrc != ssrc) continue;
    source->origin = media_ns(source, source->ticks + (gint32)(rtp_get32(report + 16) - source->timestamp)) - ntp_ns;
    source->has_report = seconds != 0;
  }
  g_mutex_unlock(&self->lock);
}

/* Some cameras end sessions without receiver reports. */
static void answer_report(const Source *source, const guint8 *report) {
  guint8 answer[] = {0x81, RTCP_RR, 0, 7, [32] = 0x81, RTCP_SDES, 0, 4, [40] = 1, 6, 'r', 'e', 'a', 'd', 'e', 'r', [51] = 0};
  rtp_put32(answer + 4, OWN_SSRC), rtp_put32(answer + 8, source->ssrc);
  rtp_put32(answer + 16, source->sequence);
  memcpy(answer + 24, report + 10, 4);
  rtp_put32(answer + 36, OWN_SSRC);
  gst_pad_push(source->reports, gst_buffer_new_memdup(answer, sizeof answer));
}

static GstFlowReturn on_report(GstPad *pad, GstObject *parent, GstBuffer *packet) {
  (void)pad;
  Arrivals *self = CAMERA_ARRIVALS(parent);
  guint8 report[REPORT_SIZE];
  gboolean is_report = gst_buffer_extract(packet, 0, report, sizeof report) == sizeof report && report[1] == RTCP_SR;
  gst_buffer_unref(packet);
  if (!is_report) return GST_FLOW_OK;
  read_report(self, report);
  for (guint at = 0; at < self->count; at++) {
    const Source *source = &self->sources[at];
    if (source->is_begun && source->ssrc == rtp_get32(report + 4) && source->reports) answer_report(source, report);
  }
  return GST_FLOW_OK;
}

/* The outputs have events of their own, except the end. */
static gboolean on_event(GstPad *pad, GstObject *parent, GstEvent *event) {
  (void)parent;
  const Source *source = gst_pad_get_element_private(pad);
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && source && source->output) return gst_pad_push_event(source->output, event);
  gst_event_unref(event);
  return TRUE;
}

static GstPad *add_reports(Arrivals *self, GstPadTemplate *template, const gchar *name, guint session) {
  GstPad *pad = NULL;
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  for (guint at = 0; at < self->count; at++) {
    if (self->sources[at].session != session) continue;
    self->sources[at].reports = pad = gst_pad_new_from_template(template, name);
    gst_pad_set_active(pad, TRUE);
    gst_pad_push_event(pad, gst_event_new_stream_start(name));
    gst_pad_push_event(pad, gst_event_new_segment(&segment));
    gst_element_add_pad(GST_ELEMENT(self), pad);
    break;
  }
  return pad;
}

static GstPad *request_pad(GstElement *element, GstPadTemplate *template, const gchar *name, const GstCaps *caps) {
  (void)caps;
  Arrivals *self = CAMERA_ARRIVALS(element);
  guint session = 0;
  if (name && sscanf(name, "send_rtcp_src_%u", &session) == 1) return add_reports(self, template, name, session);
  gboolean is_rtp = name && sscanf(name, "recv_rtp_sink_%u", &session) == 1;
  if (!name || (is_rtp && self->count == MOST_SOURCES)) return NULL;
  GstPad *pad = gst_pad_new_from_template(template, name);
  gst_pad_set_chain_function(pad, is_rtp ? on_packet : on_report);
  gst_pad_set_event_function(pad, on_event);
  if (is_rtp) {
    Source *source = &self->sources[self->count++];
    source->session = session;
    source->channel = -1;
    gst_pad_set_element_private(pad, source);
  }
  gst_pad_set_active(pad, TRUE);
  gst_element_add_pad(element, pad);
  return pad;
}

static void release_pad(GstElement *element, GstPad *pad) { gst_element_remove_pad(element, pad); }

static void arrivals_class_init(ArrivalsClass *class) {
  GstElementClass *element = GST_ELEMENT_CLASS(class);
  element->request_new_pad = request_pad;
  element->release_pad = release_pad;
  gst_element_class_add_static_pad_template(element, &rtp_template);
  gst_element_class_add_static_pad_template(element, &rtcp_template);
  gst_element_class_add_static_pad_template(element, &output_template);
  gst_element_class_add_static_pad_template(element, &reports_template);
  gst_element_class_set_static_metadata(element, "Arrivals", "Network/RTP", "Gives packets of a reliable network their times", "-");
  request_pt_map = g_signal_new("request-pt-map", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, GST_TYPE_CAPS, 2,
                                G_TYPE_UINT, G_TYPE_UINT);
}

static void arrivals_init(Arrivals *self) { g_mutex_init(&self->lock); }

void arrival_register(void) { gst_element_register(NULL, ARRIVALS, GST_RANK_NONE, arrivals_get_type()); }
