#include "filter.h"

#include <string.h>
#include <unistd.h>

static GMutex lock;
/* Relative to the picture, which is not known at first. */
static Region place = {0, 0, 1, 1};
static gint picture_width, picture_height;

static void apply_place(GstElement *filter) {
  if (picture_width == 0) return;
  GstElement *overlay = gst_bin_get_by_name(GST_BIN(filter), "overlay");
  g_object_set(overlay, "offset-x", (gint)(place.x * picture_width), "offset-y", (gint)(place.y * picture_height),
               "overlay-width", MAX(1, (gint)(place.width * picture_width)), "overlay-height",
               MAX(1, (gint)(place.height * picture_height)), NULL);
  gst_object_unref(overlay);
}

/* The element does not report an image that it cannot read. It reads the file now, and when it starts. */
static gboolean set_image(GstElement *filter, const gchar *base64) {
  static int current = -1;
  int fd = -1;
  GstSample *image = image_load(base64, &fd);
  if (!image) return FALSE;
  gst_sample_unref(image);
  GstElement *overlay = gst_bin_get_by_name(GST_BIN(filter), "overlay");
  gchar *path = image_path(fd);
  g_object_set(overlay, "location", path, NULL);
  g_free(path);
  gst_object_unref(overlay);
  if (current >= 0) close(current);
  current = fd;
  return TRUE;
}

static gdouble *member(const gchar *name) {
  if (!strcmp(name, "x")) return &place.x;
  if (!strcmp(name, "y")) return &place.y;
  if (!strcmp(name, "width")) return &place.width;
  return !strcmp(name, "height") ? &place.height : NULL;
}

static gboolean set(GstElement *filter, const gchar *name, const gchar *value) {
  if (!strcmp(name, "image")) return set_image(filter, value);
  if (!strcmp(name, "alpha")) return filter_set_property(filter, "overlay", "alpha", value);
  g_mutex_lock(&lock);
  gdouble *changed = member(name);
  if (changed) *changed = g_ascii_strtod(value, NULL);
  if (changed) apply_place(filter);
  g_mutex_unlock(&lock);
  return changed != NULL;
}

static void resize(GstElement *filter, gint width, gint height) {
  g_mutex_lock(&lock);
  picture_width = width, picture_height = height;
  apply_place(filter);
  g_mutex_unlock(&lock);
}

const FilterType overlay_filter = {.type = "ImageOverlayFilter",
                                   .description = "gdkpixbufoverlay name=overlay positioning-mode=pixels-absolute",
                                   .is_video = TRUE,
                                   .set = set,
                                   .resize = resize};
