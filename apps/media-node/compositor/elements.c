#include "compositor.h"

#include <gst/video/video.h>

/*
 * A picture keeps its aspect ratio. Linear scaling instead of cubic: a sixth less of all processor time, and no difference
 * to be seen in a tile. A pad with a configuration copies each picture, also one that need not be scaled.
 */
void scale_cheaply(GstPad *pad, gboolean is_scaled) {
  GstStructure *config = is_scaled ? gst_structure_new("GstVideoConverterConfig", GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD,
                                                       GST_TYPE_VIDEO_RESAMPLER_METHOD, GST_VIDEO_RESAMPLER_METHOD_LINEAR, NULL)
                                   : NULL;
  g_object_set(pad, "converter-config", config, NULL);
  if (config) gst_structure_free(config);
  gst_util_set_object_arg(G_OBJECT(pad), "sizing-policy", "keep-aspect-ratio");
}

void box_apply(GstPad *mixer_pad, const Box *box) {
  g_object_set(mixer_pad, "xpos", box->x, "ypos", box->y, "width", box->width, "height", box->height, "zorder",
               (guint)box->z, "alpha", 1.0, NULL);
}

static gboolean has_colors_of_mixer(const GstVideoInfo *info) {
  return info->colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235 && info->colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_BT601;
}

/* It copies each picture where only the name of the colors differs, and refuses interlaced ones, which are shown as they are. */
GstCaps *as_mixed(const GstCaps *format) {
  GstVideoInfo info;
  GstCaps *mixed = gst_caps_copy(format);
  gst_caps_set_simple(mixed, "interlace-mode", G_TYPE_STRING, "progressive", NULL);
  gst_structure_remove_field(gst_caps_get_structure(mixed, 0), "field-order");
  if (gst_video_info_from_caps(&info, format) && has_colors_of_mixer(&info))
    gst_caps_set_simple(mixed, "colorimetry", G_TYPE_STRING, "bt601", "chroma-site", G_TYPE_STRING, "jpeg", NULL);
  return mixed;
}
