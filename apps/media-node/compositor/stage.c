#include "compositor.h"

#include <stdlib.h>
#include <time.h>

#define WAIT_US 200000
/* Processor time that WAIT_US without any work takes at most. */
#define IDLE_WAIT (CLOCKS_PER_SEC / 1000)
#define BACKGROUND 16

struct Actor {
  GstPad *output, *mixer_pad;
  GstBuffer *picture;
  GstCaps *format;
  gboolean has_new_format, is_scaled, is_placed, has_failed;
  Box box;
};

static GPtrArray *actors;
static Actor *background;
static GMutex lock;
static GCond shown;
static guint frames_shown;
static gboolean keeps_frame;

/* Not live: the mixer waits for every input. */
static gboolean on_query(GstPad *pad, GstObject *parent, GstQuery *query) {
  if (GST_QUERY_TYPE(query) != GST_QUERY_LATENCY) return gst_pad_query_default(pad, parent, query);
  gst_query_set_latency(query, FALSE, 0, GST_CLOCK_TIME_NONE);
  return TRUE;
}

static void enter_mixer(Actor *actor) {
  actor->output = gst_pad_new("out", GST_PAD_SRC);
  gst_pad_set_query_function(actor->output, on_query);
  gst_pad_set_active(actor->output, TRUE);
  actor->mixer_pad = gst_element_request_pad_simple(output_video_mixer(), "sink_%u");
  g_object_set(actor->mixer_pad, "alpha", 0.0, NULL);
  gst_pad_link(actor->output, actor->mixer_pad);
  gst_pad_push_event(actor->output, gst_event_new_stream_start("pictures"));
  g_mutex_lock(&lock);
  g_ptr_array_add(actors, actor);
  g_mutex_unlock(&lock);
}

/* The mixer waits for each of its inputs. */
static void leave_mixer(Actor *actor) {
  g_mutex_lock(&lock);
  g_ptr_array_remove(actors, actor);
  g_mutex_unlock(&lock);
  gst_pad_unlink(actor->output, actor->mixer_pad);
  gst_element_release_request_pad(output_video_mixer(), actor->mixer_pad);
}

static void free_pads(Actor *actor) {
  gst_object_unref(actor->mixer_pad);
  gst_pad_set_active(actor->output, FALSE);
  gst_object_unref(actor->output);
}

/* By the threads of several decoders. */
Actor *actor_new(void) {
  Actor *actor = g_new0(Actor, 1);
  enter_mixer(actor);
  return actor;
}

void actor_free(Actor *actor) {
  if (!actor) return;
  if (!actor->has_failed) leave_mixer(actor);
  free_pads(actor);
  gst_clear_buffer(&actor->picture);
  gst_clear_caps(&actor->format);
  g_free(actor);
}

gboolean actor_has_failed(const Actor *actor) { return actor->has_failed; }

static void scale(Actor *actor) {
  gint width, height;
  if (!actor->format || !actor->box.width || !read_size(actor->format, &width, &height)) return;
  gboolean is_scaled = width != actor->box.width || height != actor->box.height;
  if (is_scaled != actor->is_scaled) scale_cheaply(actor->mixer_pad, is_scaled);
  actor->is_scaled = is_scaled;
}

/* An input that changes its format makes the mixer discard the pictures of that frame, and wait for the next ones. */
static void renew_input(Actor *actor) {
  if (actor->has_failed || !gst_pad_has_current_caps(actor->output)) return;
  leave_mixer(actor);
  free_pads(actor);
  enter_mixer(actor);
  actor->is_scaled = FALSE;
  if (actor->is_placed) box_apply(actor->mixer_pad, &actor->box);
}

void actor_picture(Actor *actor, GstBuffer *picture, GstCaps *format) {
  gst_buffer_replace(&actor->picture, picture);
  if (actor->format && gst_caps_is_equal(actor->format, format)) return;
  gst_caps_replace(&actor->format, format);
  actor->has_new_format = TRUE;
  renew_input(actor);
  scale(actor);
}

void actor_place(Actor *actor, const Box *box) {
  actor->is_placed = box != NULL;
  if (!box) return g_object_set(actor->mixer_pad, "alpha", 0.0, NULL);
  actor->box = *box;
  box_apply(actor->mixer_pad, box);
  scale(actor);
}

static void push(Actor *actor, GstClockTime start, GstClockTime duration) {
  GstSegment segment;
  gboolean is_first = !gst_pad_has_current_caps(actor->output);
  if (actor->has_new_format) gst_pad_push_event(actor->output, gst_event_new_caps(actor->format));
  actor->has_new_format = FALSE;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  if (is_first) gst_pad_push_event(actor->output, gst_event_new_segment(&segment));
  GstBuffer *frame = gst_buffer_copy(actor->picture);
  GST_BUFFER_PTS(frame) = start;
  GST_BUFFER_DTS(frame) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION(frame) = duration;
  actor->has_failed = gst_pad_push(actor->output, frame) < GST_FLOW_OK;
  if (actor->has_failed) leave_mixer(actor);
}

static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad, (void)info, (void)data;
  g_mutex_lock(&lock);
  GstPadProbeReturn result = keeps_frame ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
  frames_shown++;
  g_cond_signal(&shown);
  g_mutex_unlock(&lock);
  return result;
}

/* The mixer always has an input. */
static void make_background(void) {
  const guint8 luma = 16, chroma = 128;
  gsize size = BACKGROUND * BACKGROUND;
  GstBuffer *picture = gst_buffer_new_allocate(NULL, size * 3 / 2, NULL);
  GstCaps *format = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "I420", "width", G_TYPE_INT, BACKGROUND,
                                        "height", G_TYPE_INT, BACKGROUND, "framerate", GST_TYPE_FRACTION,
                                        output_settings()->fps, 1, "pixel-aspect-ratio", GST_TYPE_FRACTION, 1, 1,
                                        "interlace-mode", G_TYPE_STRING, "progressive", "colorimetry", G_TYPE_STRING, "bt601",
                                        "chroma-site", G_TYPE_STRING, "jpeg", NULL);
  gst_buffer_memset(picture, 0, luma, size);
  gst_buffer_memset(picture, size, chroma, size / 2);
  background = actor_new();
  g_object_set(background->mixer_pad, "alpha", 1.0, NULL);
  actor_picture(background, picture, format);
  gst_buffer_unref(picture);
  gst_caps_unref(format);
}

void stage_open(void) {
  if (!output_video_mixer()) return;
  actors = g_ptr_array_new();
  make_background();
  GstPad *output = gst_element_get_static_pad(output_video_mixer(), "src");
  gst_pad_add_probe(output, GST_PAD_PROBE_TYPE_BUFFER, on_frame, NULL, NULL);
  gst_object_unref(output);
}

static gboolean has_failed(void) {
  GstBus *bus = gst_pipeline_get_bus(GST_PIPELINE(output_pipeline()));
  GstMessage *message = gst_bus_peek(bus);
  gboolean is_error = message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR;
  /* Others are of no use here. */
  if (message && !is_error) gst_message_unref(gst_bus_pop(bus));
  if (message) gst_message_unref(message);
  gst_object_unref(bus);
  return is_error;
}

/* Counts waits in which no thread did any work: one that gets no processor time for long does not wake up either. */
static void end_if_stalled(gint64 *idle_us, clock_t *worked) {
  clock_t before = *worked;
  *worked = clock();
  *idle_us = *worked - before < IDLE_WAIT ? *idle_us + WAIT_US : 0;
  if (*idle_us < output_settings()->stall_ms * 1000LL) return;
  event_error(NULL, "the composition hangs");
  exit(3);
}

static gboolean wait_for(guint count) {
  gboolean is_alive = TRUE;
  gint64 idle_us = 0;
  clock_t worked = clock();
  g_mutex_lock(&lock);
  while (frames_shown < count && is_alive) {
    if (g_cond_wait_until(&shown, &lock, g_get_monotonic_time() + WAIT_US)) continue;
    end_if_stalled(&idle_us, &worked);
    is_alive = !has_failed();
  }
  g_mutex_unlock(&lock);
  return is_alive;
}

/* The background is last: with it the mixer has all of its inputs. */
gboolean stage_show(GstClockTime start, GstClockTime duration, gboolean is_kept) {
  if (!output_video_mixer()) return !has_failed();
  guint expected = frames_shown + 1;
  keeps_frame = is_kept;
  for (guint at = actors->len; at-- > 0;) {
    Actor *actor = g_ptr_array_index(actors, at);
    if (actor->picture) push(actor, start, duration);
  }
  return wait_for(expected);
}

void stage_close(void) {
  if (!output_video_mixer()) return;
  for (guint at = actors->len; at-- > 0;) {
    Actor *actor = g_ptr_array_index(actors, at);
    gst_pad_push_event(actor->output, gst_event_new_eos());
  }
}
