#include "camera.h"

/* Streams that arrive later than this after the first one are not waited for. */
#define STREAMS_MS 1500
/* Since the start: a video that the camera has announced. Nodes wait for the streams for 10 s. */
#define VIDEO_US (8 * G_USEC_PER_SEC)

/* Streams that wait for their `send` wait that many timeouts. */
#define HOLD_TIMEOUTS 6

/* The sound alone does not show that a camera works, unless it has no picture. */
static gint64 last_progress_us, last_video_us;
static gint holds;
static gint64 timeout_us, start_us;

static gint64 now_us(void) { return g_get_monotonic_time(); }

void watch_progress(void) { __atomic_store_n(&last_progress_us, now_us(), __ATOMIC_RELAXED); }

void watch_media(gboolean is_video) {
  watch_progress();
  if (is_video) __atomic_store_n(&last_video_us, now_us(), __ATOMIC_RELAXED);
}

/* While streams wait for their `send`, nothing can arrive. */
void watch_hold(gint change) {
  watch_progress();
  g_atomic_int_add(&holds, change);
}

static gboolean check(gpointer data) {
  (void)data;
  gint64 video_us = __atomic_load_n(&last_video_us, __ATOMIC_RELAXED);
  gint64 last_us = video_us ? video_us : __atomic_load_n(&last_progress_us, __ATOMIC_RELAXED);
  gint64 limit_us = timeout_us * (g_atomic_int_get(&holds) > 0 ? HOLD_TIMEOUTS : 1);
  gint64 left_us = last_us + limit_us - now_us();
  if (left_us <= 0) camera_failed("timeout", "the camera sent nothing within its timeout");
  /* The end of a hold may bring the limit nearer. */
  else g_timeout_add((guint)(MIN(left_us, timeout_us) / 1000 + 1), check, NULL);
  return G_SOURCE_REMOVE;
}

void watch_start(gint timeout_ms) {
  timeout_us = (gint64)timeout_ms * 1000;
  start_us = now_us();
  watch_progress();
  check(NULL);
}

void watch_streams(gboolean awaits_video, GSourceFunc complete) {
  gint64 video_us = awaits_video ? MIN(timeout_us, start_us + VIDEO_US - now_us()) : 0;
  g_timeout_add((guint)MAX(video_us / 1000, STREAMS_MS), complete, NULL);
}
