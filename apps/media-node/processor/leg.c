#include "processor.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LEGS 2
/* A missing packet is waited for this long: the SFU receives it again by NACK. Other packets are not delayed by it. */
#define VIDEO_REORDER_MS 100
#define AUDIO_REORDER_MS 60
#define WANT_PAUSE_US 300000

static Leg legs[MOST_LEGS];
static guint leg_count;

static Leg *leg_of(const gchar *kind) {
  for (guint at = 0; at < leg_count; at++)
    if (!strcmp(legs[at].kind, kind)) return &legs[at];
  return NULL;
}

gboolean leg_add(gchar **words) {
  if (leg_count == MOST_LEGS || leg_of(words[0])) return FALSE;
  Leg *leg = &legs[leg_count];
  leg->is_video = !strcmp(words[0], "video");
  leg->kind = leg->is_video ? "video" : "audio";
  leg->input = (Input){.codec = codec_of(words[1]), .payload = atoi(words[2]), .clock_rate = atoi(words[3]),
                       .channels = atoi(words[4]), .ssrc = (guint)strtoul(words[5], NULL, 10), .orientation_id = words[14] ? atoi(words[14]) : 0};
  leg->output = (Output){.codec = codec_of(words[6]), .port = atoi(words[7]), .source_port = atoi(words[8]),
                         .ssrc = (guint)strtoul(words[9], NULL, 10), .payload = atoi(words[10]),
                         .first_sequence = atoi(words[11]), .most_kbps = atoi(words[12]),
                         .most_pixels = strtoll(words[13], NULL, 10)};
  const Codec *from = leg->input.codec, *to = leg->output.codec;
  leg_count++;
  return from && to && from->is_video == leg->is_video && to->is_video == leg->is_video;
}

/* The sink only ends the chain: packets are sent where they leave the payloader. */
static gchar *video_description(const Leg *leg) {
  return g_strdup_printf(
      "udpsrc name=leg-socket address=127.0.0.1 port=0 buffer-size=2000000 "
      "caps=\"application/x-rtp,media=video,clock-rate=%d,encoding-name=%s,payload=%d\" "
      "! rtpjitterbuffer latency=%d do-lost=true faststart-min-packets=1 ! %s "
      "! queue name=leg-queue leaky=downstream max-size-buffers=3 max-size-bytes=0 max-size-time=0 "
      "! videoflip name=leg-flip ! videoconvert n-threads=1 ! videoscale n-threads=1 ! capsfilter name=leg-raw caps=video/x-raw,format=I420 "
      "! %s ! %s ! fakesink async=false sync=false",
      leg->input.clock_rate, leg->input.codec->name, leg->input.payload, VIDEO_REORDER_MS, leg->input.codec->decoding,
      leg->output.codec->encoding, leg->output.codec->payloader);
}

static gchar *audio_description(const Leg *leg) {
  gchar *encoding = g_ascii_strup(leg->input.codec->name, -1);
  gchar *description = g_strdup_printf(
      "udpsrc name=leg-socket address=127.0.0.1 port=0 buffer-size=500000 "
      "caps=\"application/x-rtp,media=audio,clock-rate=%d,encoding-name=%s,payload=%d\" "
      "! rtpjitterbuffer latency=%d do-lost=true faststart-min-packets=1 ! %s "
      "! queue name=leg-queue leaky=downstream max-size-buffers=0 max-size-bytes=0 max-size-time=200000000 "
      "! audioconvert ! audioresample ! audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved "
      "! capsfilter name=leg-raw "
      "! %s ! %s ! fakesink async=false sync=false",
      leg->input.clock_rate, encoding, leg->input.payload, AUDIO_REORDER_MS, leg->input.codec->decoding,
      leg->output.codec->encoding, leg->output.codec->payloader);
  g_free(encoding);
  return description;
}

static void set_audio_bitrate(Leg *leg) {
  g_object_set(leg->encoder, "bitrate", CLAMP(leg->output.most_kbps, 16, 256) * 1000, NULL);
}

static gboolean build(Leg *leg) {
  gchar *description = leg->is_video ? video_description(leg) : audio_description(leg);
  leg->bin = gst_parse_bin_from_description(description, FALSE, NULL);
  g_free(description);
  if (!leg->bin) return FALSE;
  gst_bin_add(GST_BIN(live_pipeline()), leg->bin);
  leg->encoder = gst_bin_get_by_name(GST_BIN(leg->bin), "leg-encoder");
  leg->sender = sender_new(leg);
  if (!leg->sender || !input_watch(leg) || !filter_insert(leg)) return FALSE;
  if (!leg->is_video) {
    set_audio_bitrate(leg);
    return TRUE;
  }
  delay_limit(leg);
  picture_follow(leg);
  return TRUE;
}

void legs_start(void) {
  for (guint at = 0; at < leg_count; at++)
    if (!build(&legs[at])) return processor_failed("failed", "an element, or the port to send from, cannot be opened");
  if (!filter_is_inserted()) return processor_failed("filter", "there is no media of the kind of the filter");
  /* Ports are open from READY on. */
  gst_element_set_state(live_pipeline(), GST_STATE_PLAYING);
  for (guint at = 0; at < leg_count; at++)
    if (!input_report(&legs[at])) return processor_failed("failed", "a port cannot be opened");
  event_report("started", "%s", "");
}

gboolean leg_limit(gchar **words) {
  Leg *leg = leg_of(words[0]);
  if (!leg) return FALSE;
  if (leg->is_video) {
    picture_limit(leg, atoi(words[1]), strtoll(words[2], NULL, 10));
  } else {
    leg->output.most_kbps = atoi(words[1]);
    set_audio_bitrate(leg);
  }
  return TRUE;
}

void leg_want_key_frame(Leg *leg) {
  gint64 now_us = g_get_monotonic_time(), last_us = __atomic_load_n(&leg->wanted_us, __ATOMIC_RELAXED);
  if (!leg->is_video || now_us - last_us < WANT_PAUSE_US) return;
  if (!__atomic_compare_exchange_n(&leg->wanted_us, &last_us, now_us, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
  event_report("keyFrameWanted", "\"kind\":\"%s\"", leg->kind);
}
