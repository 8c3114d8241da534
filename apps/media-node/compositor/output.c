#include "compositor.h"

static Settings chosen;
static GstElement *pipeline, *video_mixer, *sound;

GstElement *output_pipeline(void) { return pipeline; }
GstElement *output_video_mixer(void) { return video_mixer; }
GstElement *output_sound(void) { return sound; }
const Settings *output_settings(void) { return &chosen; }

#define RAW_VIDEO "video/x-raw,format=I420,width=%d,height=%d,framerate=%d/1,pixel-aspect-ratio=1/1,"                  \
                  "interlace-mode=progressive,colorimetry=bt601,chroma-site=jpeg"
#define RAW_AUDIO "audio/x-raw,rate=48000,channels=2,format=S16LE,layout=interleaved"

/* As similar to what was sent as preset superfast makes it, for two thirds of the processor's time. */
#define ENCODER "x264enc speed-preset=ultrafast tune=zerolatency threads=1 "                                           \
                "option-string=\"cabac=1:8x8dct=1:deblock=0,0:aq-mode=1:aq-strength=0.5\" "

/* Half of the processor's time of the default; voices are nearer to what was said, a voice in noise is farther by 4 dB. */
#define AAC "avenc_aac aac-coder=fast"

/*
 * The muxer keeps a picture until it has the sound after it: up to three AAC frames later, as the encoder is one behind. The
 * next picture is composed, and its sound is mixed, only when the one before was taken: at rates at which the sound of three
 * pictures is less, pictures have to wait in a queue. It holds enough of them for 120 a second.
 */
#define AAC_FRAME 1024
#define QUEUE "queue max-size-buffers=8 max-size-bytes=0 max-size-time=0 ! "

static gboolean needs_queue(const Settings *settings) {
  return settings->has_audio && settings->fps * AAC_FRAME > SAMPLE_RATE;
}

/*
 * The output's format is pinned: a colour space that differs from the encoder's costs a conversion of every frame. No
 * h264parse: it drops time stamps. No queues where they are not needed: each thread between two elements costs more than
 * it gains.
 */
static void describe_video(GString *text, const Settings *settings) {
  g_string_append_printf(text,
                         "compositor name=video background=black max-threads=1 ! " RAW_VIDEO " ! " ENCODER
                         "bitrate=%d key-int-max=%d ! video/x-h264,profile=high,stream-format=avc,alignment=au ! %smux. ",
                         settings->width, settings->height, settings->fps, settings->video_kbps, 2 * settings->fps,
                         needs_queue(settings) ? QUEUE : "");
}

static void describe_audio(GString *text, const Settings *settings) {
  g_string_append_printf(text,
                         "appsrc name=sound format=time block=true max-bytes=2000000 caps=\"" RAW_AUDIO "\" ! "
                         "audioconvert ! %s bitrate=%d ! %s mux. ",
                         settings->has_video ? AAC : "opusenc", settings->audio_kbps * 1000,
                         settings->has_video ? "aacparse !" : "");
}

/* At the second buffer: the first one is in the file then. */
static GstPadProbeReturn first_bytes(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  static gboolean was_one;
  (void)pad, (void)info, (void)data;
  if (!was_one) return was_one = TRUE, GST_PAD_PROBE_OK;
  event_report("writing", "\"sinceStartMs\":%" G_GINT64_FORMAT, live_composition_ms());
  return GST_PAD_PROBE_REMOVE;
}

GstElement *output_create(const Settings *settings, GError **error) {
  chosen = *settings;
  GString *text = g_string_new(NULL);
  if (settings->has_video) describe_video(text, settings);
  if (settings->has_audio) describe_audio(text, settings);
  if (settings->has_video) g_string_append_printf(text, "mp4mux name=mux fragment-duration=%d streamable=true", settings->fragment_ms);
  else g_string_append(text, "webmmux name=mux streamable=true");
  /* Unbuffered: what is not in the file when this process dies is lost. */
  g_string_append(text, " ! filesink name=file async=false buffer-mode=unbuffered");
  pipeline = gst_parse_launch(text->str, error);
  g_string_free(text, TRUE);
  if (!pipeline || *error) return NULL;
  video_mixer = gst_bin_get_by_name(GST_BIN(pipeline), "video");
  sound = gst_bin_get_by_name(GST_BIN(pipeline), "sound");
  GstElement *file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
  g_object_set(file, "location", settings->file, NULL);
  GstPad *sink = gst_element_get_static_pad(file, "sink");
  gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, first_bytes, NULL, NULL);
  gst_object_unref(sink);
  gst_object_unref(file);
  return pipeline;
}
