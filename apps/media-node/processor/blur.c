#include "filter.h"

#include <string.h>

/* `x,y,width,height`, with `;` between several. */
static GArray *regions_of(const gchar *text) {
  GArray *regions = g_array_new(FALSE, FALSE, sizeof(Region));
  gchar **parts = g_strsplit(text, ";", -1);
  for (gchar **part = parts; *part; part++) {
    gchar **numbers = g_strsplit(*part, ",", 4);
    if (g_strv_length(numbers) == 4) {
      Region region = {g_ascii_strtod(numbers[0], NULL), g_ascii_strtod(numbers[1], NULL), g_ascii_strtod(numbers[2], NULL),
                       g_ascii_strtod(numbers[3], NULL)};
      g_array_append_val(regions, region);
    }
    g_strfreev(numbers);
  }
  g_strfreev(parts);
  return regions;
}

static gboolean set(GstElement *filter, const gchar *name, const gchar *value) {
  GstElement *mosaic = gst_bin_get_by_name(GST_BIN(filter), "mosaic");
  gboolean is_regions = !strcmp(name, "regions"), is_strength = !strcmp(name, "strength");
  if (is_regions) mosaic_set_regions(mosaic, regions_of(value));
  if (is_strength) mosaic_set_strength(mosaic, g_ascii_strtod(value, NULL));
  gst_object_unref(mosaic);
  return is_regions || is_strength;
}

const FilterType blur_filter = {.type = "BlurFilter", .description = "mosaic name=mosaic", .is_video = TRUE, .set = set};
