#include "processor.h"

/* Raw pictures that are later than this are dropped where a newer one waits. */
#define LATE (120 * GST_MSECOND)
/* Encoded pictures that are later than this are dropped up to the next key frame. */
#define MUCH_TOO_LATE (800 * GST_MSECOND)

/* Pictures that follow sooner are dropped: twice the usual rate becomes the usual one. */
#define LEAST_DISTANCE (GST_SECOND / (USUAL_RATE * 3 / 2))

/* An older picture is out of date. */
#define REPEAT_UNTIL_US 8000000
/* Times that go back by more than this have begun again. */
#define MOST_BACK GST_SECOND

static GMutex lock;

/* Running times are points in time of CLOCK_MONOTONIC. */
static gint64 lateness(GstBuffer *buffer) {
  if (!GST_BUFFER_PTS_IS_VALID(buffer)) return 0;
  return g_get_monotonic_time() * 1000 - (gint64)GST_BUFFER_PTS(buffer);
}

static gboolean is_behind(GstPad *queue_output, GstBuffer *picture) {
  guint waiting = 0;
  g_object_get(GST_PAD_PARENT(queue_output), "current-level-buffers", &waiting, NULL);
  return waiting > 0 && lateness(picture) > (gint64)LATE;
}

static GstPadProbeReturn on_raw(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  Leg *leg = data;
  GstBuffer *picture = GST_PAD_PROBE_INFO_BUFFER(info);
  GstClockTime pts = GST_BUFFER_PTS(picture);
  gboolean is_soon = pts < leg->last_pts + LEAST_DISTANCE && pts + MOST_BACK > leg->last_pts;
  if (is_soon || is_behind(pad, picture)) return GST_PAD_PROBE_DROP;
  g_mutex_lock(&lock);
  leg->last_pts = pts;
  leg->last_us = g_get_monotonic_time();
  gst_buffer_replace(&leg->last_picture, picture);
  g_mutex_unlock(&lock);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn on_encoded(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  Leg *leg = data;
  GstBuffer *picture = GST_PAD_PROBE_INFO_BUFFER(info);
  gboolean is_late = lateness(picture) > (gint64)MUCH_TOO_LATE;
  gboolean is_key = !GST_BUFFER_FLAG_IS_SET(picture, GST_BUFFER_FLAG_DELTA_UNIT);
  leg->is_skipping = is_late || (leg->is_skipping && !is_key);
  if (!leg->is_skipping) return GST_PAD_PROBE_OK;
  leg_want_key_frame(leg);
  return GST_PAD_PROBE_DROP;
}

static void probe(Leg *leg, const gchar *element_name, const gchar *pad_name, GstPadProbeCallback callback) {
  GstElement *element = gst_bin_get_by_name(GST_BIN(leg->bin), element_name);
  GstPad *pad = gst_element_get_static_pad(element, pad_name);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, callback, leg, NULL);
  gst_object_unref(pad);
  gst_object_unref(element);
}

void delay_limit(Leg *leg) {
  probe(leg, "leg-decoder", "sink", on_encoded);
  probe(leg, "leg-queue", "src", on_raw);
}

gboolean delay_repeat(gpointer data) {
  Leg *leg = data;
  GstBuffer *picture = NULL;
  gint64 now_us = g_get_monotonic_time();
  g_mutex_lock(&lock);
  gint64 age_us = now_us - leg->last_us;
  gboolean is_due = leg->last_picture && age_us > REPEAT_MS * 1000 && age_us < REPEAT_UNTIL_US;
  if (is_due) picture = gst_buffer_copy(leg->last_picture);
  /* Of media that begins with a burst the last picture has a time to come. */
  GstClockTime pts = MAX((GstClockTime)now_us * 1000, leg->last_pts + LEAST_DISTANCE);
  g_mutex_unlock(&lock);
  if (!picture) return G_SOURCE_REMOVE;
  GST_BUFFER_PTS(picture) = pts;
  GST_BUFFER_DTS(picture) = GST_CLOCK_TIME_NONE;
  GstElement *queue = gst_bin_get_by_name(GST_BIN(leg->bin), "leg-queue");
  GstPad *input = gst_element_get_static_pad(queue, "sink");
  gst_pad_chain(input, picture);
  gst_object_unref(input);
  gst_object_unref(queue);
  return G_SOURCE_REMOVE;
}
