#include "camera.h"

/* Media that is earlier or later than this begins again at the present. */
#define MOST_EARLY (10 * GST_SECOND)
#define MOST_LATE (10 * GST_SECOND)
/* Of a source that is read as fast as it is sent: it had a gap. */
#define MOST_LATE_OF_FILES (1 * GST_SECOND)
/* A larger step back is a new begin of the times. */
#define MOST_REORDERING (1 * GST_SECOND)
/* One picture alone may be between two corrections of the times. */
#define REORDERED_PICTURES 3
/* Timestamps that go back further begin again. */
#define MOST_BACK_S 10

static GMutex lock;
static GCond stopped;
static gboolean is_live, is_anchored, is_stopped, has_picture;
static gint64 cache;
/* By which decoded pictures come later than the largest time that was decoded before them (B-frames). */
static gint64 reordering;
static void (*on_reordered)(GstClockTime by);
/* From running times to CLOCK_MONOTONIC, the same for all tracks. */
static gint64 offset;

static gint64 now(void) { return g_get_monotonic_time() * 1000; }

void timing_start(gboolean is_live_source, gint cache_ms, void (*when_reordered)(GstClockTime by)) {
  is_live = is_live_source;
  on_reordered = when_reordered;
  cache = (gint64)cache_ms * GST_MSECOND;
  is_anchored = is_live;
}

void timing_stop(void) {
  g_mutex_lock(&lock);
  is_stopped = TRUE;
  g_cond_broadcast(&stopped);
  g_mutex_unlock(&lock);
}

static gint64 running_time(const GstSegment *segment, GstClockTime time) {
  guint64 running = 0;
  gint sign = gst_segment_to_running_time_full(segment, GST_FORMAT_TIME, time, &running);
  return sign < 0 ? -(gint64)running : (gint64)running;
}

static gint64 place(gint64 running) {
  g_mutex_lock(&lock);
  gint64 most_late = cache + reordering + (gint64)(is_live ? MOST_LATE : MOST_LATE_OF_FILES);
  gint64 lead = running + offset - now();
  if (!is_anchored || lead > (gint64)MOST_EARLY || lead < -most_late) {
    offset = now() - running;
    is_anchored = TRUE;
  }
  gint64 placed = running + offset;
  g_mutex_unlock(&lock);
  return placed;
}

static GstBuffer *placed_buffer(GstBuffer *buffer, const GstSegment *segment) {
  buffer = gst_buffer_make_writable(buffer);
  if (!GST_BUFFER_PTS_IS_VALID(buffer)) GST_BUFFER_PTS(buffer) = GST_BUFFER_DTS(buffer);
  if (!GST_BUFFER_PTS_IS_VALID(buffer)) {
    GST_BUFFER_PTS(buffer) = (guint64)now();
    return buffer;
  }
  gint64 pts = running_time(segment, GST_BUFFER_PTS(buffer));
  gint64 placed = place(pts);
  if (GST_BUFFER_DTS_IS_VALID(buffer))
    GST_BUFFER_DTS(buffer) = (guint64)MAX(0, placed + running_time(segment, GST_BUFFER_DTS(buffer)) - pts);
  GST_BUFFER_PTS(buffer) = (guint64)MAX(0, placed);
  return buffer;
}

static GstPadProbeReturn on_input(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  GstSegment *segment = data;
  if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER) {
    info->data = placed_buffer(GST_PAD_PROBE_INFO_BUFFER(info), segment);
    return GST_PAD_PROBE_OK;
  }
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT) {
    gst_event_copy_segment(event, segment);
    GstSegment plain;
    gst_segment_init(&plain, GST_FORMAT_TIME);
    gst_event_unref(event);
    info->data = gst_event_new_segment(&plain);
  }
  return GST_PAD_PROBE_OK;
}

void timing_follow(GstPad *queue_input) {
  GstSegment *segment = gst_segment_new();
  gst_segment_init(segment, GST_FORMAT_TIME);
  gst_pad_add_probe(queue_input, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_input, segment,
                    (GDestroyNotify)gst_segment_free);
}

void timing_reordered(GstClockTime by) {
  static guint count;
  static GstClockTime least;
  g_mutex_lock(&lock);
  gboolean is_more = FALSE;
  if (by <= MOST_REORDERING && (gint64)by > reordering) {
    least = count == 0 ? by : MIN(least, by);
    is_more = ++count == REORDERED_PICTURES;
  }
  if (is_more) reordering = (gint64)least, count = 0;
  g_mutex_unlock(&lock);
  if (is_more && on_reordered) on_reordered(by);
}

gint64 timing_delay_us(void) {
  g_mutex_lock(&lock);
  gint64 delay = cache + reordering;
  g_mutex_unlock(&lock);
  return delay / 1000;
}

guint32 timing_order(gint clock_rate, guint32 timestamp, guint32 last, gint32 least_step) {
  gint32 step = (gint32)(timestamp - last);
  return step >= least_step || step <= -MOST_BACK_S * clock_rate ? timestamp : last + (guint32)least_step;
}

/* Its time is earlier than that of the others by as much as it is sent earlier: receivers estimate the clock from both. */
static GstBuffer *first_picture(GstBuffer *buffer, gint64 delay) {
  gint64 time = (gint64)GST_BUFFER_PTS(buffer), earlier = time - MIN(time, now()) + delay;
  buffer = gst_buffer_make_writable(buffer);
  GST_BUFFER_PTS(buffer) = (guint64)MAX(0, time - earlier);
  if (GST_BUFFER_DTS_IS_VALID(buffer)) GST_BUFFER_DTS(buffer) = (guint64)MAX(0, (gint64)GST_BUFFER_DTS(buffer) - earlier);
  return buffer;
}

GstBuffer *timing_due(GstBuffer *buffer, gboolean is_picture, gint64 *due_us) {
  gint64 time = (gint64)GST_BUFFER_PTS(buffer);
  if (GST_BUFFER_DTS_IS_VALID(buffer)) time = MIN(time, (gint64)GST_BUFFER_DTS(buffer));
  g_mutex_lock(&lock);
  gint64 delay = cache + reordering;
  gboolean is_first = is_picture && !has_picture;
  has_picture |= is_picture;
  g_mutex_unlock(&lock);
  *due_us = is_first || (is_live && delay == 0) ? 0 : (time + delay) / 1000;
  return is_first ? first_picture(buffer, delay) : buffer;
}

gboolean timing_sleep(gint64 until_us) {
  g_mutex_lock(&lock);
  while (!is_stopped && g_get_monotonic_time() < until_us)
    if (!g_cond_wait_until(&stopped, &lock, until_us)) break;
  gboolean goes_on = !is_stopped;
  g_mutex_unlock(&lock);
  return goes_on;
}

GstBuffer *timing_wait(GstBuffer *buffer, gboolean is_picture) {
  gint64 due_us;
  buffer = timing_due(buffer, is_picture, &due_us);
  timing_sleep(due_us);
  return buffer;
}
