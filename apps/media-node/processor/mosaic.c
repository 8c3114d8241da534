#include "filter.h"

#include <gst/video/gstvideofilter.h>

/* Of the height of the picture, at full strength. */
#define LARGEST_CELL 0.125
#define SMALLEST_CELL 4

/* A region: made small, and large again. */
typedef struct {
  GstVideoConverter *shrink, *enlarge;
  GstVideoInfo info;
  GstBuffer *small;
} Patch;

typedef struct {
  GstVideoFilter parent;
  GArray *regions;
  gdouble strength;
  /* For pictures of one size; NULL: to be made. */
  GArray *patches;
} Mosaic;
typedef struct {
  GstVideoFilterClass parent;
} MosaicClass;

G_DEFINE_TYPE(Mosaic, mosaic, GST_TYPE_VIDEO_FILTER)

static GstStaticPadTemplate input = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
                                                            GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("I420")));
static GstStaticPadTemplate output = GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS,
                                                             GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("I420")));

static void clear_patch(gpointer data) {
  Patch *patch = data;
  if (patch->shrink) gst_video_converter_free(patch->shrink);
  if (patch->enlarge) gst_video_converter_free(patch->enlarge);
  if (patch->small) gst_buffer_unref(patch->small);
}

/* With the lock. */
static void forget_patches(Mosaic *self) {
  if (self->patches) g_array_unref(self->patches);
  self->patches = NULL;
}

void mosaic_set_regions(GstElement *mosaic, GArray *regions) {
  Mosaic *self = (Mosaic *)mosaic;
  GST_OBJECT_LOCK(self);
  if (self->regions) g_array_unref(self->regions);
  self->regions = regions;
  forget_patches(self);
  GST_OBJECT_UNLOCK(self);
}

void mosaic_set_strength(GstElement *mosaic, gdouble strength) {
  Mosaic *self = (Mosaic *)mosaic;
  GST_OBJECT_LOCK(self);
  self->strength = strength;
  forget_patches(self);
  GST_OBJECT_UNLOCK(self);
}

static GstStructure *linear(void) {
  return gst_structure_new("patch", GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD, GST_TYPE_VIDEO_RESAMPLER_METHOD,
                           GST_VIDEO_RESAMPLER_METHOD_LINEAR, GST_VIDEO_CONVERTER_OPT_FILL_BORDER, G_TYPE_BOOLEAN, FALSE,
                           NULL);
}

/* Whole, even numbers: chroma has half the resolution. A region includes what it touches. */
static gint even_below(gdouble position, gint most) { return CLAMP((gint)position & ~1, 0, most - 2); }
static gint even_above(gdouble position, gint least, gint most) { return CLAMP(((gint)position + 2) & ~1, least, most); }

static Patch make_patch(GstVideoInfo *picture, const Region *region, gdouble strength) {
  gint most_x = picture->width & ~1, most_y = picture->height & ~1;
  gint x = even_below(region->x * picture->width, most_x), y = even_below(region->y * picture->height, most_y);
  gint right = even_above((region->x + region->width) * picture->width, x + 2, most_x);
  gint bottom = even_above((region->y + region->height) * picture->height, y + 2, most_y);
  gdouble cell = MAX(SMALLEST_CELL, strength * LARGEST_CELL * MIN(picture->width, picture->height));
  gint width = right - x, height = bottom - y;
  Patch patch = {0};
  gst_video_info_set_format(&patch.info, GST_VIDEO_FORMAT_I420, (guint)even_above(width / cell, 2, width),
                            (guint)even_above(height / cell, 2, height));
  /* The converter rejects different rates. */
  patch.info.fps_n = picture->fps_n, patch.info.fps_d = picture->fps_d;
  patch.info.colorimetry = picture->colorimetry;
  patch.info.chroma_site = picture->chroma_site;
  patch.small = gst_buffer_new_allocate(NULL, patch.info.size, NULL);
  GstStructure *from = linear(), *to = linear();
  gst_structure_set(from, GST_VIDEO_CONVERTER_OPT_SRC_X, G_TYPE_INT, x, GST_VIDEO_CONVERTER_OPT_SRC_Y, G_TYPE_INT, y,
                    GST_VIDEO_CONVERTER_OPT_SRC_WIDTH, G_TYPE_INT, width, GST_VIDEO_CONVERTER_OPT_SRC_HEIGHT, G_TYPE_INT,
                    height, NULL);
  gst_structure_set(to, GST_VIDEO_CONVERTER_OPT_DEST_X, G_TYPE_INT, x, GST_VIDEO_CONVERTER_OPT_DEST_Y, G_TYPE_INT, y,
                    GST_VIDEO_CONVERTER_OPT_DEST_WIDTH, G_TYPE_INT, width, GST_VIDEO_CONVERTER_OPT_DEST_HEIGHT, G_TYPE_INT,
                    height, NULL);
  patch.shrink = gst_video_converter_new(picture, &patch.info, from);
  patch.enlarge = gst_video_converter_new(&patch.info, picture, to);
  return patch;
}

static void make_patches(Mosaic *self, GstVideoInfo *picture) {
  self->patches = g_array_new(FALSE, FALSE, sizeof(Patch));
  g_array_set_clear_func(self->patches, clear_patch);
  for (guint at = 0; self->regions && at < self->regions->len; at++) {
    Patch patch = make_patch(picture, &g_array_index(self->regions, Region, at), self->strength);
    g_array_append_val(self->patches, patch);
  }
}

static gboolean cover(Patch *patch, GstVideoFrame *frame) {
  GstVideoFrame small;
  if (!patch->shrink || !patch->enlarge) return FALSE;
  if (!gst_video_frame_map(&small, &patch->info, patch->small, GST_MAP_READWRITE)) return FALSE;
  gst_video_converter_frame(patch->shrink, frame, &small);
  gst_video_converter_frame(patch->enlarge, &small, frame);
  gst_video_frame_unmap(&small);
  return TRUE;
}

/* A picture that is not covered must not leave. */
static GstFlowReturn transform(GstVideoFilter *element, GstVideoFrame *frame) {
  Mosaic *self = (Mosaic *)element;
  gboolean is_covered = TRUE;
  GST_OBJECT_LOCK(self);
  if (!self->patches) make_patches(self, &element->in_info);
  for (guint at = 0; at < self->patches->len; at++)
    is_covered &= cover(&g_array_index(self->patches, Patch, at), frame);
  GST_OBJECT_UNLOCK(self);
  if (is_covered) return GST_FLOW_OK;
  GST_ELEMENT_ERROR(self, STREAM, FAILED, ("a region cannot be covered"), (NULL));
  return GST_FLOW_ERROR;
}

static gboolean set_info(GstVideoFilter *element, GstCaps *in_caps, GstVideoInfo *in, GstCaps *out_caps, GstVideoInfo *out) {
  (void)in_caps, (void)in, (void)out_caps, (void)out;
  GST_OBJECT_LOCK(element);
  forget_patches((Mosaic *)element);
  GST_OBJECT_UNLOCK(element);
  return TRUE;
}

static void finalize(GObject *object) {
  Mosaic *self = (Mosaic *)object;
  forget_patches(self);
  if (self->regions) g_array_unref(self->regions);
  G_OBJECT_CLASS(mosaic_parent_class)->finalize(object);
}

static void mosaic_class_init(MosaicClass *class) {
  G_OBJECT_CLASS(class)->finalize = finalize;
  gst_element_class_add_static_pad_template(GST_ELEMENT_CLASS(class), &input);
  gst_element_class_add_static_pad_template(GST_ELEMENT_CLASS(class), &output);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(class), "mosaic", "Filter/Effect/Video",
                                        "Makes regions unrecognizable", "media processor");
  GST_VIDEO_FILTER_CLASS(class)->transform_frame_ip = transform;
  GST_VIDEO_FILTER_CLASS(class)->set_info = set_info;
}

static void mosaic_init(Mosaic *self) { self->strength = 0.5; }
