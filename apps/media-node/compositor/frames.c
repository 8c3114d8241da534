#include "compositor.h"

/* The encoder gets every fifth late frame: without any, the muxer blocks and sound fills the memory. */
#define LATE_FRAMES_PER_KEPT 5

static guint64 frame;

static GstClockTime start_of(guint64 nth) {
  return gst_util_uint64_scale_round(nth, GST_SECOND, (guint64)output_settings()->fps);
}

GstClockTime frame_start(void) { return start_of(frame); }
GstClockTime frame_end(void) { return start_of(frame + 1); }

static guint64 samples_until(guint64 nth) {
  return gst_util_uint64_scale(nth, SAMPLE_RATE, (guint64)output_settings()->fps);
}

static void push_sound(void) {
  GstElement *output = output_sound();
  GstFlowReturn result;
  if (!output) return;
  gint64 from = (gint64)samples_until(frame), to = (gint64)samples_until(frame + 1);
  gsize size = (gsize)(to - from) * CHANNELS * sizeof(gint16);
  gint16 *mix = g_malloc0(size);
  sources_mix(from, to, mix);
  GstBuffer *buffer = gst_buffer_new_wrapped(mix, size);
  GST_BUFFER_PTS(buffer) = frame_start();
  GST_BUFFER_DURATION(buffer) = frame_end() - frame_start();
  g_signal_emit_by_name(output, "push-buffer", buffer, &result);
  gst_buffer_unref(buffer);
}

gboolean frame_compose(gboolean is_late) {
  gboolean is_kept = !is_late || frame % LATE_FRAMES_PER_KEPT == 0;
  push_sound();
  if (!stage_show(frame_start(), frame_end() - frame_start(), is_kept)) return FALSE;
  frame++;
  return TRUE;
}

void frames_end(void) {
  GstFlowReturn result;
  if (output_sound()) g_signal_emit_by_name(output_sound(), "end-of-stream", &result);
  stage_close();
}
