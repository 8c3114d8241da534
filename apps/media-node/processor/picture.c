#include "processor.h"

#include <gst/video/video.h>

/* More than a camera or a screen sends: a stream that declares such a picture wants our memory. */
#define MOST_PIXELS (4096 * 2304)
#define LONGEST_SIDE 8192
#define BITS_PER_PIXEL 0.1
#define LEAST_KBPS 100
#define LEAST_RATE 5
#define COUNT_US 500000
/* After a pause the former rate is expected. */
#define PAUSE_US 2000000

static GMutex lock;

static gint even(gdouble length) { return MAX(2, 2 * (gint)(length / 2)); }

static void set_bitrate(const Leg *leg, gdouble rate) {
  const Codec *codec = leg->output.codec;
  gdouble kbps = codec->is_steady ? leg->kbps * USUAL_RATE / CLAMP(rate, LEAST_RATE, USUAL_RATE) : leg->kbps;
  gchar *text = g_strdup_printf("%d", MAX(1, (gint)(kbps * 1000 / codec->bitrate_unit)));
  gst_util_set_object_arg(G_OBJECT(leg->encoder), codec->bitrate_property, text);
  g_free(text);
}

/* Applies to the pictures that follow. */
static void set_size(Leg *leg) {
  gint64 pixels = (gint64)leg->width * leg->height, most = leg->output.most_pixels;
  gdouble scale = most > 0 && pixels > most ? __builtin_sqrt((gdouble)most / (gdouble)pixels) : 1;
  gint out_width = even(leg->width * scale), out_height = even(leg->height * scale);
  GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "I420", "width", G_TYPE_INT, out_width, "height",
                                      G_TYPE_INT, out_height, "pixel-aspect-ratio", GST_TYPE_FRACTION, 1, 1, NULL);
  GstElement *filter = gst_bin_get_by_name(GST_BIN(leg->bin), "leg-raw");
  g_object_set(filter, "caps", caps, NULL);
  gst_object_unref(filter);
  gst_caps_unref(caps);
  gdouble kbps = (gdouble)out_width * out_height * USUAL_RATE * BITS_PER_PIXEL / 1000;
  leg->kbps = MIN(MAX(kbps, LEAST_KBPS), leg->output.most_kbps);
  set_bitrate(leg, USUAL_RATE);
  filter_resize(leg, out_width, out_height);
}

/* Where the pictures pass, so that no picture has the limits of another one. */
static void take_limits(Leg *leg) {
  g_mutex_lock(&lock);
  gboolean is_limited = leg->is_limited;
  leg->is_limited = FALSE;
  if (is_limited) leg->output.most_kbps = leg->next_kbps, leg->output.most_pixels = leg->next_pixels;
  g_mutex_unlock(&lock);
  if (is_limited && leg->width > 0) set_size(leg);
}

void picture_limit(Leg *leg, gint most_kbps, gint64 most_pixels) {
  g_mutex_lock(&lock);
  leg->is_limited = TRUE;
  leg->next_kbps = most_kbps;
  leg->next_pixels = most_pixels;
  g_mutex_unlock(&lock);
}

static GstPadProbeReturn on_picture(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad, (void)info;
  Leg *leg = data;
  gint64 now_us = g_get_monotonic_time(), duration_us = now_us - leg->counted_us;
  take_limits(leg);
  leg->counted++;
  if (duration_us < COUNT_US) return GST_PAD_PROBE_OK;
  if (duration_us < PAUSE_US) set_bitrate(leg, leg->counted * 1e6 / (gdouble)duration_us);
  leg->counted = 0;
  leg->counted_us = now_us;
  return GST_PAD_PROBE_OK;
}

/* Streams have no steady rate: encoders take the times of the pictures instead. */
static GstEvent *without_rate(const Leg *leg, const GstCaps *caps) {
  GstCaps *plain = gst_caps_copy(caps);
  gst_caps_set_simple(plain, "framerate", GST_TYPE_FRACTION, leg->output.codec->is_steady ? USUAL_RATE : 0, 1,
                      "pixel-aspect-ratio", GST_TYPE_FRACTION, 1, 1, NULL);
  GstEvent *event = gst_event_new_caps(plain);
  gst_caps_unref(plain);
  return event;
}

static GstPadProbeReturn on_event(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  GstCaps *caps;
  gint width = 0, height = 0;
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return GST_PAD_PROBE_OK;
  gst_event_parse_caps(event, &caps);
  const GstStructure *format = gst_caps_get_structure(caps, 0);
  if (!gst_structure_get_int(format, "width", &width) || !gst_structure_get_int(format, "height", &height))
    return GST_PAD_PROBE_OK;
  if (width > LONGEST_SIDE || height > LONGEST_SIDE || (gint64)width * height > MOST_PIXELS) {
    processor_failed("unsupported", "the pictures are too large");
    return GST_PAD_PROBE_DROP;
  }
  Leg *leg = data;
  leg->width = width;
  leg->height = height;
  set_size(leg);
  info->data = without_rate(leg, caps);
  gst_event_unref(event);
  return GST_PAD_PROBE_OK;
}

void picture_follow(Leg *leg) {
  GstElement *flip = gst_bin_get_by_name(GST_BIN(leg->bin), "leg-flip");
  GstPad *output = gst_element_get_static_pad(flip, "src");
  gst_pad_add_probe(output, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_event, leg, NULL);
  gst_pad_add_probe(output, GST_PAD_PROBE_TYPE_BUFFER, on_picture, leg, NULL);
  gst_object_unref(output);
  gst_object_unref(flip);
}
