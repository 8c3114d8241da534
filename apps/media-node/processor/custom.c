#include "filter.h"

/* `element.property`: the caller knows which ones are allowed. */
static gboolean set(GstElement *filter, const gchar *name, const gchar *value) {
  gchar **names = g_strsplit(name, ".", 2);
  gboolean is_set = g_strv_length(names) == 2 && filter_set_property(filter, names[0], names[1], value);
  g_strfreev(names);
  return is_set;
}

const FilterType custom_filter = {.type = "GStreamerFilter", .set = set};
