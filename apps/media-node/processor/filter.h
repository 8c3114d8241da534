/* Filters: between the decoder and the encoder of a leg. */
#ifndef FILTER_H
#define FILTER_H

#include <gst/gst.h>
#include <gst/video/video.h>

typedef struct {
  const gchar *type;
  /* NULL: it comes with the setting `description`. */
  const gchar *description;
  /* Both kinds if it has no description. */
  gboolean is_video;
  /* Applies a setting before the start or while it runs; FALSE: it is not possible. */
  gboolean (*set)(GstElement *filter, const gchar *name, const gchar *value);
  /* The size of the pictures that follow. Called in the thread of the pictures. */
  void (*resize)(GstElement *filter, gint width, gint height);
} FilterType;

extern const FilterType overlay_filter, chroma_filter, blur_filter, gain_filter, noise_filter, custom_filter;

/* filter.c: sets a property of an element in the filter. */
gboolean filter_set_property(GstElement *filter, const gchar *element_name, const gchar *property, const gchar *value);

/*
 * image.c: the RGBA picture of a PNG or JPEG file in base64; NULL: it cannot be decoded. With `kept` the file stays open,
 * and `image_path` names it.
 */
GstSample *image_load(const gchar *base64, int *kept);
gchar *image_path(int fd);

/* backdrop.c: an element that puts AYUV pictures on a background and makes them opaque. */
#define TYPE_BACKDROP (backdrop_get_type())
GType backdrop_get_type(void);
/* RGBA. */
void backdrop_set_image(GstElement *backdrop, GstSample *image);
void backdrop_set_color(GstElement *backdrop, guint32 rgb);

/* mosaic.c: an element that makes regions of I420 pictures unrecognizable. */
typedef struct {
  gdouble x, y, width, height;
} Region;
#define TYPE_MOSAIC (mosaic_get_type())
GType mosaic_get_type(void);
/* `regions` has elements of type Region, and becomes a part of the element. */
void mosaic_set_regions(GstElement *mosaic, GArray *regions);
void mosaic_set_strength(GstElement *mosaic, gdouble strength);

#endif
