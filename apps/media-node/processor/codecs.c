#include "processor.h"

#include <string.h>

/*
 * x264 holds back a picture where the rate is not steady: it takes it as steady, and gets a bitrate by the real one.
 * Encoders send key frames on request only: `keyframe-max-dist` and `key-int-max` are for receivers that cannot ask.
 * Decoders give each picture at once: no frame threads.
 */
#define VPX                                                                                                         \
  " name=leg-encoder deadline=1 end-usage=cbr threads=1 lag-in-frames=0 error-resilient=default keyframe-max-dist=3000 " \
  "min-quantizer=4 max-quantizer=56 undershoot=100 overshoot=15 buffer-size=1000 buffer-initial-size=500 "           \
  "buffer-optimal-size=600 max-intra-bitrate=500 static-threshold=1 "

static const Codec CODECS[] = {
    {"VP8", TRUE, "rtpvp8depay name=leg-depay wait-for-keyframe=true request-keyframe=true ! avdec_vp8 name=leg-decoder max-threads=1",
     "vp8enc cpu-used=-6 token-partitions=1" VPX, "target-bitrate", 1, FALSE, "rtpvp8pay name=leg-pay picture-id-mode=15-bit"},
    {"VP9", TRUE, "rtpvp9depay name=leg-depay wait-for-keyframe=true request-keyframe=true ! avdec_vp9 name=leg-decoder max-threads=1",
     "vp9enc cpu-used=8 tile-columns=0 row-mt=false aq-mode=cyclic-refresh" VPX, "target-bitrate", 1, FALSE,
     "rtpvp9pay name=leg-pay picture-id-mode=15-bit"},
    {"H264", TRUE,
     "rtph264depay name=leg-depay wait-for-keyframe=true request-keyframe=true ! h264parse ! avdec_h264 name=leg-decoder max-threads=1",
     "x264enc name=leg-encoder tune=zerolatency speed-preset=superfast threads=1 key-int-max=3000 vbv-buf-capacity=600 "
     "option-string=scenecut=0 ! video/x-h264,profile=constrained-baseline,stream-format=byte-stream,alignment=au",
     "bitrate", 1000, TRUE, "rtph264pay name=leg-pay config-interval=-1 aggregate-mode=zero-latency"},
    {"opus", FALSE, "rtpopusdepay name=leg-depay ! opusdec name=leg-decoder plc=true use-inband-fec=true",
     "opusenc name=leg-encoder perfect-timestamp=true inband-fec=true packet-loss-percentage=5 complexity=5", "bitrate", 1, FALSE,
     "rtpopuspay name=leg-pay"},
};

const Codec *codec_of(const gchar *name) {
  for (guint at = 0; at < G_N_ELEMENTS(CODECS); at++)
    if (!g_ascii_strcasecmp(CODECS[at].name, name)) return &CODECS[at];
  return NULL;
}
