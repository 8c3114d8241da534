#include "camera.h"

#include <gst/video/video.h>
#include <string.h>

#define KEY_FRAME_DISTANCE (2 * GST_SECOND)
#define AUDIO_BPS 64000
/* At this bit rate more is not heard. */
#define AUDIO_COMPLEXITY 5
/* Of H.264 for each pixel, in bits. */
#define BITS_PER_PIXEL 0.07
#define LEAST_KBPS 200
#define MOST_KBPS 6000

static gchar *description_of(const Form *form) {
  const Codec *codec = form->codec;
  if (form->is_copied && (codec->is_video || form->is_rtp)) return g_strdup("identity name=copied silent=true");
  if (form->is_copied) return g_strdup("rtpopuspay name=pay");
  if (!codec->is_video)
    return g_strdup_printf(
        "%s ! audioconvert ! audioresample ! audio/x-raw,rate=48000,channels=[1,2] ! opusenc bitrate=%d complexity=%d "
        "! rtpopuspay name=pay",
        codec->decoder, AUDIO_BPS, AUDIO_COMPLEXITY);
  /* An encoder that is too slow loses pictures instead of falling behind. */
  return g_strdup_printf(
      "%s ! queue name=decoded leaky=downstream max-size-buffers=3 max-size-bytes=0 max-size-time=0 ! videoconvert "
      "! x264enc name=encoder tune=zerolatency speed-preset=superfast key-int-max=600 option-string=scenecut=0 "
      "! video/x-h264,profile=constrained-baseline,stream-format=byte-stream,alignment=au ! rtph264pay name=pay",
      codec->decoder);
}

static void set_bitrate(GstElement *encoder, GstCaps *caps) {
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, caps)) return;
  gdouble rate = info.fps_n > 0 && info.fps_d > 0 ? (gdouble)info.fps_n / info.fps_d : 25;
  gdouble kbps = (gdouble)info.width * info.height * CLAMP(rate, 5, 60) * BITS_PER_PIXEL / 1000;
  g_object_set(encoder, "bitrate", (guint)CLAMP(kbps, LEAST_KBPS, MOST_KBPS), NULL);
}

static void request_key_frame(GstElement *encoder) {
  GstPad *output = gst_element_get_static_pad(encoder, "src");
  gst_pad_send_event(output, gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, FALSE, 0));
  gst_object_unref(output);
}

/* At equal distances of time, whatever the picture rate is. */
static GstPadProbeReturn on_raw(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  GstClockTime *last = data;
  GstElement *encoder = GST_PAD_PARENT(pad);
  if (!(GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER)) {
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    GstCaps *caps;
    if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return GST_PAD_PROBE_OK;
    gst_event_parse_caps(event, &caps);
    set_bitrate(encoder, caps);
    return GST_PAD_PROBE_OK;
  }
  GstClockTime time = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info));
  if (*last == GST_CLOCK_TIME_NONE) *last = time;
  if (time < *last + KEY_FRAME_DISTANCE) return GST_PAD_PROBE_OK;
  *last = time;
  request_key_frame(encoder);
  return GST_PAD_PROBE_OK;
}

static void follow_encoder(GstElement *encoder) {
  GstPad *input = gst_element_get_static_pad(encoder, "sink");
  GstClockTime *last = g_new(GstClockTime, 1);
  *last = GST_CLOCK_TIME_NONE;
  gst_pad_add_probe(input, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_raw, last, g_free);
  gst_object_unref(input);
}

/* A decoder that reorders pictures puts out several at once: waiting after it makes their distances even again. */
static GstPadProbeReturn on_decoded(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  GstBuffer *picture = GST_PAD_PROBE_INFO_BUFFER(info);
  GstClockTime newest = *(const GstClockTime *)data, time = GST_BUFFER_PTS(picture);
  gboolean is_late = GST_CLOCK_TIME_IS_VALID(newest) && GST_CLOCK_TIME_IS_VALID(time) && time < newest;
  if (is_late) timing_reordered(newest - time);
  info->data = timing_wait(picture, TRUE);
  return GST_PAD_PROBE_OK;
}

static void follow_decoder(GstElement *back, const GstClockTime *newest) {
  GstElement *queue = gst_bin_get_by_name(GST_BIN(back), "decoded");
  GstPad *input = gst_element_get_static_pad(queue, "sink");
  gst_pad_add_probe(input, GST_PAD_PROBE_TYPE_BUFFER, on_decoded, (gpointer)newest, NULL);
  gst_object_unref(input);
  gst_object_unref(queue);
}

static GstPadProbeReturn on_copied(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  sender_copy(data, GST_PAD_PROBE_INFO_BUFFER(info));
  return GST_PAD_PROBE_DROP;
}

static void follow_copied(GstElement *copied, Sender *sender) {
  GstPad *input = gst_element_get_static_pad(copied, "sink");
  gst_pad_add_probe(input, GST_PAD_PROBE_TYPE_BUFFER, on_copied, sender, NULL);
  gst_object_unref(input);
}

static void follow_payloader(GstElement *payloader, gboolean is_video, Sender *sender) {
  if (is_video) {
    gst_util_set_object_arg(G_OBJECT(payloader), "aggregate-mode", "zero-latency");
    g_object_set(payloader, "config-interval", -1, NULL);
  }
  sender_follow(sender, payloader);
}

/* The sink only ends the chain: packets are sent where they leave the payloader. */
GstElement *back_new(const Form *form, Sender *sender, const GstClockTime *newest) {
  gchar *chain = description_of(form);
  gchar *description = g_strdup_printf("%s ! fakesink async=false sync=false", chain);
  GstElement *back = gst_parse_bin_from_description(description, TRUE, NULL);
  g_free(description);
  g_free(chain);
  if (!back) return NULL;
  GstElement *payloader = gst_bin_get_by_name(GST_BIN(back), "pay");
  GstElement *encoder = gst_bin_get_by_name(GST_BIN(back), "encoder");
  GstElement *copied = gst_bin_get_by_name(GST_BIN(back), "copied");
  if (copied) follow_copied(copied, sender);
  if (payloader) follow_payloader(payloader, form->codec->is_video, sender);
  if (encoder) follow_encoder(encoder), follow_decoder(back, newest);
  sender_set_encoder(sender, encoder);
  g_clear_object(&encoder);
  g_clear_object(&copied);
  g_clear_object(&payloader);
  return back;
}
