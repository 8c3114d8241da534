#include "filter.h"

#include <stdlib.h>
#include <string.h>

/* `#rrggbb` */
static guint32 color_of(const gchar *text) { return (guint32)strtoul(text + (*text == '#'), NULL, 16); }

static void set_target(GstElement *filter, guint32 rgb) {
  GstElement *key = gst_bin_get_by_name(GST_BIN(filter), "key");
  g_object_set(key, "target-r", rgb >> 16 & 255, "target-g", rgb >> 8 & 255, "target-b", rgb & 255, NULL);
  gst_object_unref(key);
}

static gboolean set_background(GstElement *backdrop, const gchar *name, const gchar *value) {
  if (!strcmp(name, "backgroundColor")) {
    backdrop_set_color(backdrop, color_of(value));
    return TRUE;
  }
  GstSample *image = image_load(value, NULL);
  if (!image) return FALSE;
  backdrop_set_image(backdrop, image);
  gst_sample_unref(image);
  return TRUE;
}

static gboolean set(GstElement *filter, const gchar *name, const gchar *value) {
  if (!strcmp(name, "color")) set_target(filter, color_of(value));
  else if (!strcmp(name, "angle")) return filter_set_property(filter, "key", "angle", value);
  else if (!strcmp(name, "noiseLevel")) return filter_set_property(filter, "key", "noise-level", value);
  else if (!strcmp(name, "backgroundColor") || !strcmp(name, "backgroundImage")) {
    GstElement *backdrop = gst_bin_get_by_name(GST_BIN(filter), "backdrop");
    gboolean is_set = set_background(backdrop, name, value);
    gst_object_unref(backdrop);
    return is_set;
  } else return FALSE;
  return TRUE;
}

const FilterType chroma_filter = {
    .type = "ChromaFilter",
    .description = "alpha name=key method=custom ! video/x-raw,format=AYUV ! backdrop name=backdrop",
    .is_video = TRUE,
    .set = set};
