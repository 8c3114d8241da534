#include "deferred.h"

#include <stdlib.h>

/* Packets are read this much ahead: they wait for each other in the jitter buffer, and the log is not quite in order. */
#define AHEAD_US 300000

static gboolean is_on, is_stopping;
static guint64 frame;
static gint64 until_ms = -1;
static guint stepping;

gboolean replay_is_on(void) { return is_on; }

static GstClockTime start_of(guint64 nth) {
  return gst_util_uint64_scale_round(nth, GST_SECOND, (guint64)output_settings()->fps);
}

static void push_sound(GstClockTime start, GstClockTime duration) {
  GstElement *output = gst_bin_get_by_name(GST_BIN(output_pipeline()), "sound");
  GstFlowReturn result;
  if (!output) return;
  gint64 from = (gint64)gst_util_uint64_scale(frame, SAMPLE_RATE, (guint64)output_settings()->fps);
  gint64 to = (gint64)gst_util_uint64_scale(frame + 1, SAMPLE_RATE, (guint64)output_settings()->fps);
  gsize size = (gsize)(to - from) * CHANNELS * sizeof(gint16);
  gint16 *mix = g_malloc0(size);
  sources_mix(from, to, mix);
  GstBuffer *buffer = gst_buffer_new_wrapped(mix, size);
  GST_BUFFER_PTS(buffer) = start;
  GST_BUFFER_DURATION(buffer) = duration;
  g_signal_emit_by_name(output, "push-buffer", buffer, &result);
  gst_buffer_unref(buffer);
  gst_object_unref(output);
}

static gboolean report_reached(gboolean is_end) {
  stepping = 0;
  event_report("reached", "\"atMs\":%" G_GUINT64_FORMAT ",\"isEnd\":%s", (guint64)(start_of(frame) / GST_MSECOND),
               is_end ? "true" : "false");
  return G_SOURCE_REMOVE;
}

/* One frame. After an error of the pipeline nothing follows: the main loop reports it. */
static gboolean step(gpointer data) {
  (void)data;
  GstClockTime start = start_of(frame), end = start_of(frame + 1);
  if ((gint64)(start / GST_MSECOND) >= until_ms) return report_reached(FALSE);
  gint64 arrived_us = (gint64)(end / GST_USECOND) + AHEAD_US, log_end_us;
  log_read(arrived_us, sources_take);
  if (log_has_ended(&log_end_us) && (gint64)(start / GST_USECOND) >= log_end_us) return report_reached(TRUE);
  if (sources_decode(arrived_us, end)) return report_reached(FALSE);
  push_sound(start, end - start);
  if (!stage_show(start, end - start)) return stepping = 0, G_SOURCE_REMOVE;
  frame++;
  return G_SOURCE_CONTINUE;
}

void replay_start(void) {
  if (!log_open(output_settings()->log)) return event_error(NULL, "the log of packets is not readable"), exit(1);
  is_on = TRUE;
  stage_open();
}

void replay_until(gint64 ms) {
  until_ms = ms;
  if (!stepping) stepping = g_idle_add(step, NULL);
}

void replay_stop(void) {
  GstFlowReturn result;
  if (is_stopping) return;
  is_stopping = TRUE;
  GstElement *sound = gst_bin_get_by_name(GST_BIN(output_pipeline()), "sound");
  if (sound) {
    g_signal_emit_by_name(sound, "end-of-stream", &result);
    gst_object_unref(sound);
  }
  stage_close();
}
