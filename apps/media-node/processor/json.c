#include "processor.h"


static void add_value(GString *json, const GValue *value);

static void add_array(GString *json, const GValue *array) {
  g_string_append_c(json, '[');
  for (guint at = 0; at < gst_value_array_get_size(array); at++) {
    if (at > 0) g_string_append_c(json, ',');
    add_value(json, gst_value_array_get_value(array, at));
  }
  g_string_append_c(json, ']');
}

G_GNUC_BEGIN_IGNORE_DEPRECATIONS
/* `level` has these. */
static void add_value_array(GString *json, const GValue *value) {
  const GValueArray *array = g_value_get_boxed(value);
  g_string_append_c(json, '[');
  for (guint at = 0; array && at < array->n_values; at++) {
    if (at > 0) g_string_append_c(json, ',');
    add_value(json, array->values + at);
  }
  g_string_append_c(json, ']');
}
G_GNUC_END_IGNORE_DEPRECATIONS

static void add_text(GString *json, const gchar *text) {
  gchar *escaped = json_text(text ? text : "");
  g_string_append_printf(json, "\"%s\"", escaped);
  g_free(escaped);
}

static void add_number(GString *json, const GValue *value) {
  GValue number = G_VALUE_INIT;
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];
  g_value_init(&number, G_TYPE_DOUBLE);
  g_value_transform(value, &number);
  gdouble real = g_value_get_double(&number);
  /* JSON has no infinity: silence has -infinity dB. */
  g_string_append(json, __builtin_isfinite(real) ? g_ascii_dtostr(text, sizeof text, real) : "null");
}

static void add_value(GString *json, const GValue *value) {
  if (G_VALUE_HOLDS_STRING(value)) add_text(json, g_value_get_string(value));
  else if (G_VALUE_HOLDS_BOOLEAN(value)) g_string_append(json, g_value_get_boolean(value) ? "true" : "false");
  else if (GST_VALUE_HOLDS_ARRAY(value)) add_array(json, value);
  else if (!g_strcmp0(G_VALUE_TYPE_NAME(value), "GValueArray")) add_value_array(json, value);
  else if (g_value_type_transformable(G_VALUE_TYPE(value), G_TYPE_DOUBLE)) add_number(json, value);
  else {
    gchar *text = gst_value_serialize(value);
    add_text(json, text);
    g_free(text);
  }
}

static gboolean add_field(GQuark name, const GValue *value, gpointer data) {
  GString *json = data;
  if (json->len > 1) g_string_append_c(json, ',');
  add_text(json, g_quark_to_string(name));
  g_string_append_c(json, ':');
  add_value(json, value);
  return TRUE;
}

gchar *json_of_structure(const GstStructure *structure) {
  GString *json = g_string_new("{");
  gst_structure_foreach(structure, add_field, json);
  g_string_append_c(json, '}');
  return g_string_free(json, FALSE);
}
