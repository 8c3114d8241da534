#include "processor.h"

#include "filter.h"

#include <string.h>

/* Of events. */
#define LONGEST_DATA 4096
#define LONGEST_TYPE 64
#define MOST_EVENTS 10
#define EVENTS_US 1000000

static const FilterType *const TYPES[] = {&overlay_filter, &chroma_filter, &blur_filter,
                                          &gain_filter,    &noise_filter,  &custom_filter};

static const FilterType *type;
static gboolean is_video;
static GstElement *filter;
/* Before the start. */
static GPtrArray *settings;

static const FilterType *find(const gchar *name) {
  for (guint at = 0; at < G_N_ELEMENTS(TYPES); at++)
    if (!strcmp(TYPES[at]->type, name)) return TYPES[at];
  return NULL;
}

gboolean filter_define(gchar **words, guint count) {
  type = find(words[1]);
  is_video = !strcmp(words[0], "video");
  if (!type || count % 2 || (type->description && type->is_video != is_video)) return FALSE;
  settings = g_ptr_array_new_with_free_func(g_free);
  for (guint at = 2; at < count; at++) g_ptr_array_add(settings, g_strdup(words[at]));
  return TRUE;
}

gboolean filter_is_defined(void) { return type != NULL; }

static const gchar *setting(const gchar *name) {
  for (guint at = 0; at < settings->len; at += 2)
    if (!strcmp(settings->pdata[at], name)) return settings->pdata[at + 1];
  return NULL;
}

/* Settings that are not possible, or NULL. */
static const gchar *apply(gchar **names_and_values, guint count) {
  for (guint at = 0; at + 1 < count; at += 2) {
    const gchar *name = names_and_values[at];
    if (strcmp(name, "description") && !type->set(filter, name, names_and_values[at + 1])) return name;
  }
  return NULL;
}

static GstElement *parse(const gchar *description) {
  if (!description) return NULL;
  const gchar *convert = is_video ? "videoconvert" : "audioconvert";
  const gchar *again = is_video ? "videoconvert" : "audioconvert ! audioresample";
  gchar *whole = g_strdup_printf("%s ! %s ! %s", convert, description, again);
  GstElement *bin = gst_parse_bin_from_description_full(whole, TRUE, NULL, GST_PARSE_FLAG_FATAL_ERRORS, NULL);
  g_free(whole);
  return bin;
}

/* Between two elements that are linked. */
static gboolean link(GstElement *bin, const gchar *before_name) {
  GstElement *before = gst_bin_get_by_name(GST_BIN(bin), before_name);
  GstPad *output = gst_element_get_static_pad(before, "src");
  GstPad *input = gst_pad_get_peer(output);
  gst_pad_unlink(output, input);
  gst_bin_add(GST_BIN(bin), filter);
  GstPad *filter_input = gst_element_get_static_pad(filter, "sink"), *filter_output = gst_element_get_static_pad(filter, "src");
  gboolean is_linked = filter_input && filter_output && gst_pad_link(output, filter_input) == GST_PAD_LINK_OK &&
                       gst_pad_link(filter_output, input) == GST_PAD_LINK_OK;
  if (filter_input) gst_object_unref(filter_input);
  if (filter_output) gst_object_unref(filter_output);
  gst_object_unref(input);
  gst_object_unref(output);
  gst_object_unref(before);
  return is_linked;
}

gboolean filter_insert(Leg *leg) {
  if (!type || leg->is_video != is_video) return TRUE;
  filter = parse(type->description ? type->description : setting("description"));
  const gchar *refused = filter && link(leg->bin, "leg-raw") ? apply((gchar **)settings->pdata, settings->len) : "pipeline";
  if (!refused) return TRUE;
  gchar *message = g_strdup_printf("the %s of the filter is not usable", refused);
  processor_failed("filter", message);
  g_free(message);
  return FALSE;
}

gboolean filter_is_inserted(void) { return !type || filter; }

void filter_resize(const Leg *leg, gint width, gint height) {
  if (filter && leg->is_video == is_video && type->resize) type->resize(filter, width, height);
}

void filter_set(gchar **words, guint count) {
  const gchar *refused = filter ? apply(words + 1, count - 1) : "state";
  gchar *id = json_text(words[0]);
  if (refused) event_report("refused", "\"id\":\"%s\",\"message\":\"the %s is not possible\"", id, refused);
  else event_report("applied", "\"id\":\"%s\"", id);
  g_free(id);
}

gboolean filter_set_property(GstElement *bin, const gchar *element_name, const gchar *property, const gchar *value) {
  GstElement *element = gst_bin_get_by_name(GST_BIN(bin), element_name);
  GParamSpec *spec = element ? g_object_class_find_property(G_OBJECT_GET_CLASS(element), property) : NULL;
  GValue parsed = G_VALUE_INIT;
  gboolean is_set = spec && (spec->flags & G_PARAM_WRITABLE);
  if (is_set) g_value_init(&parsed, spec->value_type);
  is_set = is_set && gst_value_deserialize(&parsed, value) && !g_param_value_validate(spec, &parsed);
  if (is_set) g_object_set_property(G_OBJECT(element), property, &parsed);
  if (G_IS_VALUE(&parsed)) g_value_unset(&parsed);
  if (element) gst_object_unref(element);
  return is_set;
}

gboolean filter_has_sent(GstMessage *message) {
  return filter && GST_MESSAGE_SRC(message) &&
         (GST_MESSAGE_SRC(message) == GST_OBJECT(filter) ||
          gst_object_has_as_ancestor(GST_MESSAGE_SRC(message), GST_OBJECT(filter)));
}

static gboolean is_in_rate(void) {
  static gint64 begin_us;
  static gint count;
  gint64 now_us = g_get_monotonic_time();
  if (now_us - begin_us > EVENTS_US) begin_us = now_us, count = 0;
  return count++ < MOST_EVENTS;
}

void filter_report(GstMessage *message) {
  const GstStructure *data = gst_message_get_structure(message);
  if (!data || !filter_has_sent(message) || !is_in_rate()) return;
  gchar *name = json_text(gst_structure_get_name(data)), *json = json_of_structure(data);
  if (strlen(name) <= LONGEST_TYPE && strlen(json) <= LONGEST_DATA)
    event_report("filterEvent", "\"type\":\"%s\",\"data\":%s", name, json);
  g_free(name);
  g_free(json);
}
