#include "deferred.h"

typedef struct {
  Actor *actor;
  gchar *text;
  Box box;
} Still;

static GHashTable *stills;

static void still_free(gpointer data) {
  Still *still = data;
  actor_free(still->actor);
  g_free(still->text);
  g_free(still);
}

/* The first picture of the tile, which is that of all others. */
static GstSample *draw(const Box *box, const gchar *text) {
  gchar *tile = tile_description(box);
  gchar *description = g_strdup_printf("%s ! appsink name=picture sync=false", tile);
  GstElement *pipeline = gst_parse_launch(description, NULL);
  GstSample *sample = NULL;
  g_free(tile);
  g_free(description);
  if (!pipeline) return NULL;
  tile_name(pipeline, box, text);
  GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "picture");
  if (gst_element_set_state(pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE)
    g_signal_emit_by_name(sink, "pull-sample", &sample);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(sink);
  gst_object_unref(pipeline);
  return sample;
}

void still_place(const gchar *id, const Box *box, const gchar *text) {
  if (!output_video_mixer()) return;
  if (!stills) stills = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, still_free);
  Still *there = g_hash_table_lookup(stills, id);
  gboolean fits = there && there->box.width == box->width && there->box.height == box->height && g_str_equal(there->text, text);
  if (fits) return actor_place(there->actor, box);
  GstSample *sample = draw(box, text);
  if (!sample) return event_error(NULL, "a tile could not be drawn");
  Still *still = g_new0(Still, 1);
  *still = (Still){actor_new(), g_strdup(text), *box};
  actor_picture(still->actor, gst_sample_get_buffer(sample), gst_sample_get_caps(sample));
  actor_place(still->actor, box);
  gst_sample_unref(sample);
  g_hash_table_replace(stills, g_strdup(id), still);
}

void still_remove(const gchar *id) {
  if (stills) g_hash_table_remove(stills, id);
}
