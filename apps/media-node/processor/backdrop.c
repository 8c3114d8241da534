#include "filter.h"

#include <gst/video/gstvideofilter.h>
#include <string.h>

typedef struct {
  GstVideoFilter parent;
  /* To be scaled to the picture. */
  GstBuffer *image;
  GstVideoInfo image_info;
  /* In the format and the size of the picture; NULL: to be made. */
  GstBuffer *background;
} Backdrop;
typedef struct {
  GstVideoFilterClass parent;
} BackdropClass;

G_DEFINE_TYPE(Backdrop, backdrop, GST_TYPE_VIDEO_FILTER)

static GstStaticPadTemplate input = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
                                                            GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("AYUV")));
static GstStaticPadTemplate output = GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS,
                                                             GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("AYUV")));

/* Takes the image. */
static void replace(Backdrop *self, GstBuffer *image, const GstVideoInfo *info) {
  GST_OBJECT_LOCK(self);
  gst_buffer_replace(&self->image, image);
  gst_buffer_replace(&self->background, NULL);
  self->image_info = *info;
  GST_OBJECT_UNLOCK(self);
  gst_buffer_unref(image);
}

void backdrop_set_color(GstElement *backdrop, guint32 rgb) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGBx, 2, 2);
  guint8 *bytes = g_malloc(info.size);
  for (gsize at = 0; at < info.size; at++) bytes[at] = (guint8)(at % 4 < 3 ? rgb >> (16 - 8 * (at % 4)) : 255);
  replace((Backdrop *)backdrop, gst_buffer_new_wrapped(bytes, info.size), &info);
}

void backdrop_set_image(GstElement *backdrop, GstSample *image) {
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, gst_sample_get_caps(image))) return;
  replace((Backdrop *)backdrop, gst_buffer_ref(gst_sample_get_buffer(image)), &info);
}

/* The middle of the image, as large as the shape of the picture allows. */
static GstStructure *crop(const GstVideoInfo *from, const GstVideoInfo *to) {
  gint width = MIN(from->width, (gint)gst_util_uint64_scale((guint64)from->height, (guint64)to->width, (guint64)to->height));
  gint height = MIN(from->height, (gint)gst_util_uint64_scale((guint64)from->width, (guint64)to->height, (guint64)to->width));
  width = MAX(1, width), height = MAX(1, height);
  return gst_structure_new("crop", GST_VIDEO_CONVERTER_OPT_SRC_X, G_TYPE_INT, (from->width - width) / 2,
                           GST_VIDEO_CONVERTER_OPT_SRC_Y, G_TYPE_INT, (from->height - height) / 2,
                           GST_VIDEO_CONVERTER_OPT_SRC_WIDTH, G_TYPE_INT, width, GST_VIDEO_CONVERTER_OPT_SRC_HEIGHT,
                           G_TYPE_INT, height, NULL);
}

static GstBuffer *scale(GstBuffer *image, GstVideoInfo *from, GstVideoInfo *to) {
  GstBuffer *background = gst_buffer_new_allocate(NULL, to->size, NULL);
  GstVideoFrame source, target;
  /* The converter rejects different rates. */
  from->fps_n = to->fps_n, from->fps_d = to->fps_d;
  GstVideoConverter *converter = gst_video_converter_new(from, to, crop(from, to));
  gst_video_frame_map(&source, from, image, GST_MAP_READ);
  gst_video_frame_map(&target, to, background, GST_MAP_WRITE);
  if (converter) gst_video_converter_frame(converter, &source, &target);
  gst_video_frame_unmap(&source);
  gst_video_frame_unmap(&target);
  if (converter) gst_video_converter_free(converter);
  return background;
}

/* Pixels have alpha first. */
static void put_on(guint8 *pixel, const guint8 *background, gint count) {
  for (gint at = 0; at < count; at++, pixel += 4, background += 4) {
    guint alpha = pixel[0];
    if (alpha == 0) memcpy(pixel, background, 4);
    else if (alpha < 255)
      for (gint part = 1; part < 4; part++)
        pixel[part] = (guint8)((pixel[part] * alpha + background[part] * (255 - alpha) + 127) / 255);
    pixel[0] = 255;
  }
}

static GstFlowReturn transform(GstVideoFilter *element, GstVideoFrame *frame) {
  Backdrop *self = (Backdrop *)element;
  GstVideoInfo *info = &element->in_info;
  GstMapInfo map;
  GST_OBJECT_LOCK(self);
  if (!self->background) self->background = scale(self->image, &self->image_info, info);
  GstBuffer *background = gst_buffer_ref(self->background);
  GST_OBJECT_UNLOCK(self);
  if (gst_buffer_map(background, &map, GST_MAP_READ)) {
    for (gint row = 0; row < info->height; row++)
      put_on((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, 0) + row * GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0),
             map.data + row * info->stride[0], info->width);
    gst_buffer_unmap(background, &map);
  }
  gst_buffer_unref(background);
  return GST_FLOW_OK;
}

static gboolean set_info(GstVideoFilter *element, GstCaps *in_caps, GstVideoInfo *in, GstCaps *out_caps, GstVideoInfo *out) {
  (void)in_caps, (void)in, (void)out_caps, (void)out;
  GST_OBJECT_LOCK(element);
  gst_buffer_replace(&((Backdrop *)element)->background, NULL);
  GST_OBJECT_UNLOCK(element);
  return TRUE;
}

static void finalize(GObject *object) {
  gst_buffer_replace(&((Backdrop *)object)->image, NULL);
  gst_buffer_replace(&((Backdrop *)object)->background, NULL);
  G_OBJECT_CLASS(backdrop_parent_class)->finalize(object);
}

static void backdrop_class_init(BackdropClass *class) {
  G_OBJECT_CLASS(class)->finalize = finalize;
  gst_element_class_add_static_pad_template(GST_ELEMENT_CLASS(class), &input);
  gst_element_class_add_static_pad_template(GST_ELEMENT_CLASS(class), &output);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(class), "backdrop", "Filter/Effect/Video",
                                        "Puts pictures on a background", "media processor");
  GST_VIDEO_FILTER_CLASS(class)->transform_frame_ip = transform;
  GST_VIDEO_FILTER_CLASS(class)->set_info = set_info;
}

static void backdrop_init(Backdrop *self) { backdrop_set_color(GST_ELEMENT(self), 0); }
