/* A program that converts live media: its limits, its only pipeline, and its end. */
#ifndef LIVE_PIPELINE_H
#define LIVE_PIPELINE_H

#include <gst/gst.h>

#include "events.h"

typedef struct {
  glong most_memory;
  void (*carry_out)(gchar **words, guint count);
  void (*on_message)(GstMessage *message);
  /* Before the pipeline is closed; NULL: nothing. */
  void (*on_close)(void);
} LiveProgram;

/* Before anything else: GStreamer starts here. */
void live_start(int *argc, char ***argv, const LiveProgram *program);
/* Runs the main loop until the end; gives the exit code. */
int live_run(void);

/* Makes the pipeline. Its running times are points in time of CLOCK_MONOTONIC. */
void live_pipeline_make(void);
/* NULL before that. */
GstElement *live_pipeline(void);

/* Reports the last event, as `event_report` does, and ends the program with code 1; only once. Thread-safe. */
void live_end(const gchar *event, const gchar *members_format, ...) G_GNUC_PRINTF(2, 3);
gboolean live_has_ended(void);
/* Ends the program with code 0 unless `live_end` was called. */
void live_quit(void);

/* Adds the names of the elements that this machine lacks. */
void live_add_missing(GString *missing, const gchar *const *names, guint count);
/* Takes over the names. */
void live_report_missing(GString *missing);

#endif
