#include "compositor.h"

#include <stdlib.h>

/* Sockets hold few packets, also at low frame rates. */
#define DRAIN_US 40000
/* The frames of the first 80 ms do not wait for packets: no participant has sent any yet. */
#define HEAD_US 80000
/* Frames that are late are decoded by several threads; of later ones few are encoded, and then packets are lost. */
#define LATE_US 80000
#define TOO_LATE_TO_ENCODE_US 2000000
#define TOO_LATE_TO_DECODE_US 5000000
/* A file that does not end in this long never will, ms. */
#define STOP_MS 10000

static GSource *timer;
static gint64 started_us, stop_us = G_MAXINT64;

static gint64 us_of(GstClockTime time) { return (gint64)(time / GST_USECOND); }
static gint64 elapsed_us(void) { return g_get_monotonic_time() - started_us; }

/* When the next frame is composed. The first ones show at once that the file is written. */
static gint64 due_us(void) {
  if (us_of(frame_start()) < HEAD_US) return 0;
  gint64 end_us = us_of(frame_end());
  return sources_begin_us() < end_us ? end_us + PATIENCE_US : end_us;
}

static gint64 late_us(void) { return elapsed_us() - due_us(); }

static gboolean took_too_long(gpointer data) {
  (void)data;
  event_error(NULL, "the file could not be ended in time");
  exit(3);
}

static void finish(void) {
  g_source_destroy(timer);
  frames_end();
}

static void compose(gint64 arrived_us, gboolean is_decoded) {
  if (is_decoded) sources_decode(arrived_us, late_us() > LATE_US);
  /* After an error of the pipeline nothing follows: the main loop reports it. */
  if (!frame_compose(late_us() > TOO_LATE_TO_ENCODE_US)) g_source_destroy(timer);
}

/* After the stop all frames before it follow at once, of what has arrived until then; a file that is late ends in time. */
static gboolean on_time(gpointer data) {
  (void)data;
  gboolean is_stopping = stop_us < G_MAXINT64;
  if (late_us() < TOO_LATE_TO_DECODE_US) sockets_drain(started_us, sources_take);
  if (frame_start() > 0 && us_of(frame_start()) >= stop_us) finish();
  else if (is_stopping) compose(G_MAXINT64, late_us() < TOO_LATE_TO_ENCODE_US);
  else if (late_us() >= 0) compose(us_of(frame_end()) + PATIENCE_US, TRUE);
  gint64 due_at_us = started_us + due_us(), drain_at_us = g_get_monotonic_time() + DRAIN_US;
  g_source_set_ready_time(timer, is_stopping ? 0 : MIN(due_at_us, drain_at_us));
  return G_SOURCE_CONTINUE;
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data) {
  (void)source;
  return callback(data);
}

void live_composition_start(void) {
  static GSourceFuncs functions = {.dispatch = dispatch};
  started_us = g_get_monotonic_time();
  timer = g_source_new(&functions, sizeof(GSource));
  g_source_set_callback(timer, on_time, NULL, NULL);
  g_source_set_ready_time(timer, 0);
  g_source_attach(timer, NULL);
}

gint64 live_composition_ms(void) { return elapsed_us() / 1000; }

void live_composition_stop(void) {
  if (stop_us < G_MAXINT64) return;
  stop_us = elapsed_us();
  g_source_set_ready_time(timer, 0);
  g_timeout_add(STOP_MS, took_too_long, NULL);
}
