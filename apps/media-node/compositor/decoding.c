#include "compositor.h"

#include <string.h>

/* More than a camera or a screen sends: who declares such a picture wants our memory. */
#define MOST_PIXELS (4096 * 2304)
#define LONGEST_SIDE 8192

gboolean read_size(GstCaps *caps, gint *width, gint *height) {
  const GstStructure *format = gst_caps_get_structure(caps, 0);
  return gst_structure_get_int(format, "width", width) && gst_structure_get_int(format, "height", height);
}

gboolean is_too_large(GstEvent *event) {
  GstCaps *caps;
  gint width, height;
  gst_event_parse_caps(event, &caps);
  if (!read_size(caps, &width, &height)) return FALSE;
  return width > LONGEST_SIDE || height > LONGEST_SIDE || (gint64)width * height > MOST_PIXELS;
}

gchar *video_decoding(const gchar *codec) {
  const gchar *decoder = !strcmp(codec, "H264")  ? "rtph264depay wait-for-keyframe=true ! h264parse ! avdec_h264"
                         : !strcmp(codec, "VP9") ? "rtpvp9depay wait-for-keyframe=true ! avdec_vp9"
                                                 : "rtpvp8depay wait-for-keyframe=true ! avdec_vp8";
  return g_strdup_printf("%s name=decoder max-threads=1 ! videoconvert ! capsfilter caps=\"video/x-raw,format=I420\"", decoder);
}

const gchar *audio_decoding(void) {
  return "rtpopusdepay ! opusdec plc=true use-inband-fec=true ! audioconvert ! audioresample ! "
         "capsfilter caps=\"audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=2\"";
}

gchar *video_packets(const gchar *codec, gint payload) {
  return g_strdup_printf("application/x-rtp,media=video,clock-rate=90000,encoding-name=%s,payload=%d", codec, payload);
}

gchar *audio_packets(gint payload) {
  return g_strdup_printf("application/x-rtp,media=audio,clock-rate=48000,encoding-name=OPUS,payload=%d", payload);
}
