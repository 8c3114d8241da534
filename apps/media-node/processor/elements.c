#include "processor.h"

#include "filter.h"

static const gchar *const NEEDED[] = {
    "udpsrc",     "rtpjitterbuffer", "rtpvp8depay", "rtpvp9depay",  "rtph264depay",  "rtpopusdepay", "h264parse",
    "avdec_vp8",  "avdec_vp9",       "avdec_h264",  "opusdec",      "queue",         "capsfilter",   "videoconvert", "videoflip",
    "videoscale", "audioconvert",    "audioresample", "vp8enc",     "vp9enc",        "x264enc",      "opusenc",
    "rtpvp8pay",  "rtpvp9pay",       "rtph264pay",  "rtpopuspay",   "fakesink",
    /* Of filters. */
    "gdkpixbufoverlay", "filesrc", "pngdec", "jpegdec", "alpha", "volume", "webrtcdsp"};

/* The elements of this program. */
void elements_register(void) {
  gst_element_register(NULL, "backdrop", GST_RANK_NONE, TYPE_BACKDROP);
  gst_element_register(NULL, "mosaic", GST_RANK_NONE, TYPE_MOSAIC);
}

void elements_check(void) {
  GString *missing = g_string_new(NULL);
  live_add_missing(missing, NEEDED, G_N_ELEMENTS(NEEDED));
  live_report_missing(missing);
}
