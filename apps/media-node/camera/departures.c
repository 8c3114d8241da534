#include "camera.h"

/*
 * Copied media of an RTSP connection waits for its time here. The thread that reads the connection sends it: mostly when
 * it is awake for other packets, so that what is due soon leaves as well.
 */

#define EARLY_US 8000
/* Above this the first one leaves before its time. */
#define MOST_BYTES (32 * 1024 * 1024)
#define MOST_LINES 2

typedef struct {
  GstBuffer *buffer;
  gint64 due_us;
} Waiting;

struct Line {
  void (*send)(GstBuffer *buffer, gpointer data);
  gpointer data;
  GQueue waiting;
  gsize bytes;
};

static Line lines[MOST_LINES];
/* Lines are added by another thread. */
static gint line_count;

static Waiting *first_of(Line *line) { return g_queue_peek_head(&line->waiting); }

Line *departures_line(void (*send)(GstBuffer *buffer, gpointer data), gpointer data) {
  gint count = g_atomic_int_get(&line_count);
  lines[count] = (Line){.send = send, .data = data};
  g_atomic_int_set(&line_count, count + 1);
  return &lines[count];
}

void departures_add(Line *line, GstBuffer *buffer, gint64 due_us) {
  Waiting *waiting = g_new(Waiting, 1);
  *waiting = (Waiting){gst_buffer_ref(buffer), due_us};
  line->bytes += gst_buffer_get_size(buffer);
  g_queue_push_tail(&line->waiting, waiting);
}

static void send_first(Line *line) {
  Waiting *first = g_queue_pop_head(&line->waiting);
  line->bytes -= gst_buffer_get_size(first->buffer);
  line->send(first->buffer, line->data);
  gst_buffer_unref(first->buffer);
  g_free(first);
}

gint64 departures_next_us(void) {
  gint64 next = G_MAXINT64;
  for (gint at = 0; at < g_atomic_int_get(&line_count); at++)
    if (first_of(&lines[at])) next = MIN(next, first_of(&lines[at])->due_us);
  return next;
}

void departures_send(void) {
  gint64 until_us = g_get_monotonic_time() + EARLY_US;
  for (gint at = 0; at < g_atomic_int_get(&line_count); at++) {
    Line *line = &lines[at];
    while (first_of(line) && (first_of(line)->due_us <= until_us || line->bytes > MOST_BYTES)) send_first(line);
  }
}

void departures_finish(void) {
  for (gint64 next; (next = departures_next_us()) != G_MAXINT64 && timing_sleep(next);) departures_send();
}
