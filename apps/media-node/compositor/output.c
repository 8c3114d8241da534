#include "compositor.h"

#include <stdlib.h>

/* A mixer that does not end in this long never will, ms. */
#define STOP_MS 10000
/*
 * How long a mixer waits for an input that is behind, ms: it costs nothing while all are in time. A gap in a voice is
 * heard, a picture that stands still is hardly seen, and takes much memory while it waits.
 */
#define VIDEO_PATIENCE_MS G_GUINT64_CONSTANT(300)
#define AUDIO_PATIENCE_MS G_GUINT64_CONSTANT(800)

static Settings chosen;
static GstElement *pipeline, *video_mixer, *audio_mixer;
static GstClockTime stopped_at;

GstElement *output_pipeline(void) { return pipeline; }
GstElement *output_video_mixer(void) { return video_mixer; }
GstElement *output_audio_mixer(void) { return audio_mixer; }
const Settings *output_settings(void) { return &chosen; }

#define RAW_VIDEO "video/x-raw,format=I420,width=%d,height=%d,framerate=%d/1,pixel-aspect-ratio=1/1,"                  \
                  "interlace-mode=progressive,colorimetry=bt601,chroma-site=jpeg"
#define RAW_AUDIO "audio/x-raw,rate=48000,channels=2,format=S16LE"

/* As similar to what was sent as preset superfast makes it, for two thirds of the processor's time. */
#define ENCODER "x264enc speed-preset=ultrafast tune=zerolatency threads=1 "                                           \
                "option-string=\"cabac=1:8x8dct=1:deblock=0,0:aq-mode=1:aq-strength=0.5\" "

/* Half of the processor's time of the default; voices are nearer to what was said, a voice in noise is farther by 4 dB. */
#define AAC "avenc_aac aac-coder=fast"

/*
 * Each mixer has an input of its own that never ends: an empty mixer that gets its first input later sends a frame
 * with time 0, which shifts the whole picture against the sound in many players. The output's format is pinned: a
 * colour space that differs from the encoder's costs a conversion of every frame. No h264parse: it drops time stamps.
 */
static void describe_video(GString *text, const Settings *settings) {
  if (!settings->log)
    g_string_append_printf(text, "videotestsrc is-live=true pattern=black ! " RAW_VIDEO " ! ", 16, 16, settings->fps);
  g_string_append_printf(
      text,
      "compositor name=video background=black latency=%" G_GUINT64_FORMAT " max-threads=1 ! " RAW_VIDEO " ! "
      "queue max-size-time=2000000000 max-size-bytes=0 max-size-buffers=60 ! "
      ENCODER "bitrate=%d key-int-max=%d ! "
      "video/x-h264,profile=high,stream-format=avc,alignment=au ! queue ! mux. ",
      settings->log ? 0 : VIDEO_PATIENCE_MS * GST_MSECOND, settings->width, settings->height,
      settings->fps, settings->video_kbps, 2 * settings->fps);
}

/*
 * No wait at discontinuities: an encoder with DTX sends nothing in silence and does not mark the first packet after it.
 * By default the mixer appends such sound to what it has, ahead of its time, until that has lasted for a second.
 */
static void describe_audio(GString *text, const Settings *settings) {
  if (settings->log) g_string_append(text, "appsrc name=sound format=time block=true max-bytes=2000000 caps=\"" RAW_AUDIO ",layout=interleaved\"");
  else
    g_string_append_printf(text,
                           "audiotestsrc wave=silence is-live=true ! " RAW_AUDIO " ! "
                           "audiomixer name=audio discont-wait=0 latency=%" G_GUINT64_FORMAT " ! " RAW_AUDIO,
                           AUDIO_PATIENCE_MS * GST_MSECOND);
  g_string_append_printf(text, " ! audioconvert ! queue ! %s bitrate=%d ! %s queue ! mux. ",
                         settings->has_video ? AAC : "opusenc", settings->audio_kbps * 1000,
                         settings->has_video ? "aacparse !" : "");
}

/* At the second buffer: the first one is in the file then. */
static GstPadProbeReturn first_bytes(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  static gboolean was_one;
  (void)pad, (void)info, (void)data;
  if (!was_one) return was_one = TRUE, GST_PAD_PROBE_OK;
  GstClockTime since_start = gst_element_get_current_running_time(pipeline);
  event_report("writing", "\"sinceStartMs\":%" G_GUINT64_FORMAT, (guint64)(since_start / GST_MSECOND));
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
  audio_mixer = gst_bin_get_by_name(GST_BIN(pipeline), "audio");
  GstElement *file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
  g_object_set(file, "location", settings->file, NULL);
  GstPad *sink = gst_element_get_static_pad(file, "sink");
  gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, first_bytes, NULL, NULL);
  gst_object_unref(sink);
  gst_object_unref(file);
  return pipeline;
}

static gpointer send_end(gpointer peer) {
  gst_pad_send_event(GST_PAD(peer), gst_event_new_eos());
  gst_object_unref(peer);
  return NULL;
}

/* What was said before the stop is in the file: a mixer may be behind. */
static gboolean is_before_end(GstPadProbeInfo *info) {
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  return GST_BUFFER_PTS_IS_VALID(buffer) && GST_BUFFER_PTS(buffer) < stopped_at;
}

/* An end of stream sent while the mixer is between two buffers; from a thread of its own, since this one is held. */
static GstPadProbeReturn end_here(GstPad *pad, GstPadProbeInfo *info, gpointer was_sent) {
  if (is_before_end(info)) return GST_PAD_PROBE_PASS;
  if (g_atomic_int_compare_and_exchange((gint *)was_sent, 0, 1))
    g_thread_unref(g_thread_new("end", send_end, gst_pad_get_peer(pad)));
  return GST_PAD_PROBE_OK;
}

static gboolean took_too_long(gpointer data) {
  (void)data;
  event_error(NULL, "the file could not be ended in time");
  exit(3);
}

void output_stop(void) {
  static gboolean is_stopping;
  static gint was_sent[2];
  if (is_stopping) return;
  is_stopping = TRUE;
  stopped_at = gst_element_get_current_running_time(pipeline);
  GstElement *mixers[] = {video_mixer, audio_mixer};
  for (guint nth = 0; nth < G_N_ELEMENTS(mixers); nth++) {
    if (!mixers[nth]) continue;
    GstPad *source = gst_element_get_static_pad(mixers[nth], "src");
    gst_pad_add_probe(source, GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER, end_here, &was_sent[nth], NULL);
    gst_object_unref(source);
  }
  g_timeout_add(STOP_MS, took_too_long, NULL);
}
