#include "camera.h"

#include <string.h>

static const Codec CODECS[] = {
    {"H264", TRUE, "H264", "video/x-h264", PICTURES, "avdec_h264 max-threads=1"},
    {"H265", TRUE, "H265", "video/x-h265", "rtph265depay ! h265parse", "avdec_h265 max-threads=1"},
    {"JPEG", TRUE, "JPEG", "image/jpeg", "rtpjpegdepay", "jpegdec"},
    {"MPEG4", TRUE, "MP4V-ES", "video/mpeg:4", "rtpmp4vdepay ! mpeg4videoparse", "avdec_mpeg4 max-threads=1"},
    {"VP8", TRUE, "VP8", "video/x-vp8", "rtpvp8depay", "vp8dec"},
    {"VP9", TRUE, "VP9", "video/x-vp9", "rtpvp9depay", "vp9dec"},
    {"OPUS", FALSE, "OPUS", "audio/x-opus", "rtpopusdepay", "opusdec"},
    {"AAC", FALSE, "MPEG4-GENERIC", "audio/mpeg:4", "rtpmp4gdepay ! aacparse", "avdec_aac"},
    {"AAC", FALSE, "MP4A-LATM", "audio/mpeg:2", "rtpmp4adepay ! aacparse", "avdec_aac"},
    {"MP3", FALSE, "MPA", "audio/mpeg:1", "rtpmpadepay ! mpegaudioparse", "avdec_mp3"},
    {"PCMA", FALSE, "PCMA", "audio/x-alaw", "rtppcmadepay", "alawdec"},
    {"PCMU", FALSE, "PCMU", "audio/x-mulaw", "rtppcmudepay", "mulawdec"},
    {"G722", FALSE, "G722", "audio/G722", "rtpg722depay", "avdec_g722"},
    {"G726", FALSE, "G726-16|G726-24|G726-32|G726-40", "audio/x-adpcm", "rtpg726depay", "avdec_g726"},
    {"L16", FALSE, "L16", "audio/x-raw", "rtpL16depay", "identity"},
};

static gboolean is_one_of(const gchar *names, const gchar *name) {
  gchar **all = g_strsplit(names, "|", -1);
  gboolean is_found = g_strv_contains((const gchar *const *)all, name);
  g_strfreev(all);
  return is_found;
}

const Codec *codec_of_rtp(const GstStructure *caps) {
  const gchar *encoding = gst_structure_get_string(caps, "encoding-name");
  for (guint at = 0; encoding && at < G_N_ELEMENTS(CODECS); at++)
    if (is_one_of(CODECS[at].encodings, encoding)) return &CODECS[at];
  return NULL;
}

/* Before its first data a parser may declare several versions. */
static gboolean has_version(const GstStructure *caps, gint wanted) {
  const GValue *value = gst_structure_get_value(caps, "mpegversion");
  if (!value) return FALSE;
  if (G_VALUE_HOLDS_INT(value)) return g_value_get_int(value) == wanted;
  for (guint at = 0; GST_VALUE_HOLDS_LIST(value) && at < gst_value_list_get_size(value); at++)
    if (g_value_get_int(gst_value_list_get_value(value, at)) == wanted) return TRUE;
  return FALSE;
}

/* `video/mpeg:4` is that media type with the version 4. */
static gboolean has_caps(const Codec *codec, const GstStructure *caps) {
  const gchar *colon = strchr(codec->caps, ':');
  gsize length = colon ? (gsize)(colon - codec->caps) : strlen(codec->caps);
  const gchar *name = gst_structure_get_name(caps);
  if (strlen(name) != length || strncmp(name, codec->caps, length)) return FALSE;
  return !colon || has_version(caps, colon[1] - '0');
}

const Codec *codec_of_stream(const GstStructure *caps) {
  for (guint at = 0; at < G_N_ELEMENTS(CODECS); at++)
    if (has_caps(&CODECS[at], caps)) return &CODECS[at];
  return NULL;
}

static void load(const gchar *name) {
  GstElementFactory *factory = gst_element_factory_find(name);
  if (!factory) return;
  GstPluginFeature *loaded = gst_plugin_feature_load(GST_PLUGIN_FEATURE(factory));
  if (loaded) gst_object_unref(loaded);
  gst_object_unref(factory);
}

static gpointer load_elements(gpointer data) {
  const Codec *codec = data;
  gchar **decoder = g_strsplit(codec->decoder, " ", 2);
  gboolean is_converted = strcmp(codec->name, "H264") && strcmp(codec->name, "OPUS");
  const gchar *audio[] = {"audioconvert", "audioresample", "opusenc", NULL};
  const gchar *video[] = {"videoconvert", "x264enc", NULL};
  if (is_converted) load(decoder[0]);
  for (const gchar **name = codec->is_video ? video : audio; is_converted && *name; name++) load(*name);
  if (is_converted) load(codec->is_video ? "rtph264pay" : "rtpopuspay");
  g_strfreev(decoder);
  return NULL;
}

void codec_prepare(const Codec *codec) { g_thread_unref(g_thread_new("codecs", load_elements, (gpointer)codec)); }
