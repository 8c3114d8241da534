#include "compositor.h"

/* Slate with a little blue. */
#define TILE_COLOR 0xff2b3440u
#define TEXT_SHARE 9

typedef struct {
  Actor *actor;
  gchar *text;
  Box box;
} Tile;

static GHashTable *tiles;

static void tile_free(gpointer data) {
  Tile *tile = data;
  actor_free(tile->actor);
  g_free(tile->text);
  g_free(tile);
}

static gchar *describe(const Box *box) {
  return g_strdup_printf(
      "videotestsrc num-buffers=1 pattern=solid-color foreground-color=%u ! "
      "video/x-raw,format=I420,width=%d,height=%d,framerate=5/1,pixel-aspect-ratio=1/1,colorimetry=bt601,"
      "chroma-site=jpeg ! textoverlay name=name valignment=center halignment=center wrap-mode=wordchar "
      "draw-outline=false draw-shadow=false ! appsink name=picture sync=false",
      TILE_COLOR, box->width, box->height);
}

static void set_name(GstElement *pipeline, const Box *box, const gchar *text) {
  GstElement *overlay = gst_bin_get_by_name(GST_BIN(pipeline), "name");
  /* The overlay reads markup, and a name is whatever a client says. */
  gchar *plain = g_markup_escape_text(text, -1);
  gchar *font = g_strdup_printf("Sans %dpx", MAX(box->height / TEXT_SHARE, 12));
  g_object_set(overlay, "text", plain, "font-desc", font, "auto-resize", FALSE, NULL);
  g_free(plain);
  g_free(font);
  gst_object_unref(overlay);
}

/* The only picture of the tile. */
static GstSample *draw(const Box *box, const gchar *text) {
  gchar *description = describe(box);
  GstElement *pipeline = gst_parse_launch(description, NULL);
  GstSample *sample = NULL;
  g_free(description);
  if (!pipeline) return NULL;
  set_name(pipeline, box, text);
  GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "picture");
  if (gst_element_set_state(pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE)
    g_signal_emit_by_name(sink, "pull-sample", &sample);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(sink);
  gst_object_unref(pipeline);
  return sample;
}

void tile_place(const gchar *id, const Box *box, const gchar *text) {
  if (!output_video_mixer()) return;
  if (!tiles) tiles = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, tile_free);
  Tile *there = g_hash_table_lookup(tiles, id);
  gboolean fits = there && there->box.width == box->width && there->box.height == box->height && g_str_equal(there->text, text);
  if (fits) return actor_place(there->actor, box);
  GstSample *sample = draw(box, text);
  if (!sample) return event_error(NULL, "a tile could not be drawn");
  Tile *tile = g_new0(Tile, 1);
  *tile = (Tile){actor_new(), g_strdup(text), *box};
  actor_picture(tile->actor, gst_sample_get_buffer(sample), gst_sample_get_caps(sample));
  actor_place(tile->actor, box);
  gst_sample_unref(sample);
  g_hash_table_replace(tiles, g_strdup(id), tile);
}

void tile_remove(const gchar *id) {
  if (tiles) g_hash_table_remove(tiles, id);
}
