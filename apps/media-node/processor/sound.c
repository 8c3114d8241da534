#include "filter.h"

#include <string.h>

static gboolean set_gain(GstElement *filter, const gchar *name, const gchar *value) {
  return !strcmp(name, "volume") && filter_set_property(filter, "volume", "volume", value);
}

const FilterType gain_filter = {.type = "AudioGainFilter", .description = "volume name=volume", .set = set_gain};

/* The element takes its level when it starts: a new one replaces it between two buffers. */
typedef struct {
  GstElement *filter;
  gchar *level;
} Replacement;

static void free_replacement(gpointer data) {
  Replacement *replacement = data;
  g_free(replacement->level);
  g_free(replacement);
}

static GstElement *make_suppressor(const gchar *level) {
  GstElement *dsp = gst_element_factory_make("webrtcdsp", "dsp");
  g_object_set(dsp, "echo-cancel", FALSE, "gain-control", FALSE, "limiter", FALSE, NULL);
  gst_util_set_object_arg(G_OBJECT(dsp), "noise-suppression-level", level);
  return dsp;
}

static GstPadProbeReturn replace(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)info;
  const Replacement *replacement = data;
  GstElement *old = gst_bin_get_by_name(GST_BIN(replacement->filter), "dsp");
  GstPad *old_input = gst_element_get_static_pad(old, "sink"), *old_output = gst_element_get_static_pad(old, "src");
  GstPad *next = gst_pad_get_peer(old_output);
  gst_pad_unlink(pad, old_input);
  gst_pad_unlink(old_output, next);
  gst_element_set_state(old, GST_STATE_NULL);
  gst_bin_remove(GST_BIN(replacement->filter), old);
  GstElement *dsp = make_suppressor(replacement->level);
  gst_bin_add(GST_BIN(replacement->filter), dsp);
  GstPad *input = gst_element_get_static_pad(dsp, "sink"), *output = gst_element_get_static_pad(dsp, "src");
  gst_pad_link(pad, input);
  gst_pad_link(output, next);
  gst_element_sync_state_with_parent(dsp);
  for (GstPad **used = (GstPad *[]){old_input, old_output, next, input, output, NULL}; *used; used++) gst_object_unref(*used);
  gst_object_unref(old);
  return GST_PAD_PROBE_REMOVE;
}

static gboolean set_level(GstElement *filter, const gchar *name, const gchar *value) {
  if (strcmp(name, "level")) return FALSE;
  GstElement *dsp = gst_bin_get_by_name(GST_BIN(filter), "dsp");
  GstPad *input = gst_element_get_static_pad(dsp, "sink");
  GstPad *before = gst_pad_get_peer(input);
  Replacement *replacement = g_new0(Replacement, 1);
  *replacement = (Replacement){.filter = filter, .level = g_strdup(value)};
  gst_pad_add_probe(before, GST_PAD_PROBE_TYPE_IDLE, replace, replacement, free_replacement);
  gst_object_unref(before);
  gst_object_unref(input);
  gst_object_unref(dsp);
  return TRUE;
}

const FilterType noise_filter = {
    .type = "NoiseSuppressionFilter",
    .description = "audio/x-raw,format=S16LE,rate=48000,layout=interleaved ! "
                   "webrtcdsp name=dsp echo-cancel=false gain-control=false limiter=false",
    .set = set_level};
