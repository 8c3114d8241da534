#include "compositor.h"

#include <stdlib.h>

static gboolean is_on, is_stopping;
static gint64 until_ms = -1;
static guint stepping;

gboolean replay_is_on(void) { return is_on; }

static gboolean report_reached(gboolean is_end) {
  stepping = 0;
  event_report("reached", "\"atMs\":%" G_GUINT64_FORMAT ",\"isEnd\":%s", (guint64)(frame_start() / GST_MSECOND),
               is_end ? "true" : "false");
  return G_SOURCE_REMOVE;
}

/* One frame. After an error of the pipeline nothing follows: the main loop reports it. */
static gboolean step(gpointer data) {
  (void)data;
  if ((gint64)(frame_start() / GST_MSECOND) >= until_ms) return report_reached(FALSE);
  gint64 arrived_us = (gint64)(frame_end() / GST_USECOND) + PATIENCE_US, log_end_us;
  log_read(arrived_us, sources_take);
  if (log_has_ended(&log_end_us) && (gint64)(frame_start() / GST_USECOND) >= log_end_us) return report_reached(TRUE);
  if (sources_decode(arrived_us, FALSE)) return report_reached(FALSE);
  if (frame_compose(FALSE)) return G_SOURCE_CONTINUE;
  stepping = 0;
  return G_SOURCE_REMOVE;
}

void replay_start(void) {
  if (!log_open(output_settings()->log)) return event_error(NULL, "the log of packets is not readable"), exit(1);
  is_on = TRUE;
}

void replay_until(gint64 ms) {
  until_ms = ms;
  if (!stepping) stepping = g_idle_add(step, NULL);
}

void replay_stop(void) {
  if (is_stopping) return;
  is_stopping = TRUE;
  frames_end();
}
