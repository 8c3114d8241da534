#include "compositor.h"

/* Slate with a little blue. */
#define TILE_COLOR 0xff2b3440u
#define TEXT_SHARE 9

typedef struct {
  GstElement *bin;
  GstPad *mixer_pad;
  gchar *text;
  Box box;
} Tile;

static GHashTable *tiles;

static void tile_free(gpointer data) {
  Tile *tile = data;
  if (tile->mixer_pad) pad_detach(tile->bin, tile->mixer_pad, output_video_mixer());
  element_drop(tile->bin);
  g_free(tile->text);
  g_free(tile);
}

/* Few frames: the mixer shows each again and again, and need not scale it. */
gchar *tile_description(const Box *box) {
  return g_strdup_printf(
      "videotestsrc name=source pattern=solid-color foreground-color=%u ! "
      "video/x-raw,format=I420,width=%d,height=%d,framerate=5/1,pixel-aspect-ratio=1/1,colorimetry=bt601,"
      "chroma-site=jpeg ! textoverlay name=name valignment=center halignment=center wrap-mode=wordchar "
      "draw-outline=false draw-shadow=false",
      TILE_COLOR, box->width, box->height);
}

void tile_name(GstElement *bin, const Box *box, const gchar *text) {
  GstElement *overlay = gst_bin_get_by_name(GST_BIN(bin), "name");
  /* The overlay reads markup, and a name is whatever a client says. */
  gchar *plain = g_markup_escape_text(text, -1);
  gchar *font = g_strdup_printf("Sans %dpx", MAX(box->height / TEXT_SHARE, 12));
  g_object_set(overlay, "text", plain, "font-desc", font, "auto-resize", FALSE, NULL);
  g_free(plain);
  g_free(font);
  gst_object_unref(overlay);
}

static GstElement *make_source(const Box *box, const gchar *text) {
  gchar *description = tile_description(box);
  GError *error = NULL;
  GstElement *bin = gst_parse_bin_from_description(description, FALSE, &error);
  g_free(description);
  if (!bin) {
    event_error(NULL, error->message);
    g_error_free(error);
    return NULL;
  }
  GstElement *source = gst_bin_get_by_name(GST_BIN(bin), "source");
  g_object_set(source, "is-live", TRUE, NULL);
  gst_object_unref(source);
  tile_name(bin, box, text);
  /* Only this pad: with its input for subtitles led outside as well the overlay would wait for them. */
  GstElement *overlay = gst_bin_get_by_name(GST_BIN(bin), "name");
  GstPad *output = gst_element_get_static_pad(overlay, "src");
  gst_element_add_pad(bin, gst_ghost_pad_new("src", output));
  gst_object_unref(output);
  gst_object_unref(overlay);
  return bin;
}

void tile_place(const gchar *id, const Box *box, const gchar *text) {
  if (!output_video_mixer()) return;
  if (!tiles) tiles = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, tile_free);
  Tile *there = g_hash_table_lookup(tiles, id);
  gboolean fits = there && there->box.width == box->width && there->box.height == box->height && g_str_equal(there->text, text);
  if (fits) return box_apply(there->mixer_pad, box);
  GstElement *bin = make_source(box, text);
  if (!bin) return;
  Tile *tile = g_new0(Tile, 1);
  tile->bin = bin;
  tile->box = *box;
  tile->text = g_strdup(text);
  gst_bin_add(GST_BIN(output_pipeline()), bin);
  tile->mixer_pad = gst_element_request_pad_simple(output_video_mixer(), "sink_%u");
  box_apply(tile->mixer_pad, box);
  GstPad *source = gst_element_get_static_pad(bin, "src");
  gst_pad_link(source, tile->mixer_pad);
  gst_object_unref(source);
  gst_element_sync_state_with_parent(bin);
  g_hash_table_replace(tiles, g_strdup(id), tile);
}

void tile_remove(const gchar *id) {
  if (tiles) g_hash_table_remove(tiles, id);
}
