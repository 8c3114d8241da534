#include "camera.h"

#include <string.h>

static const struct {
  const gchar *cause, *message;
} TEXTS[] = {
    {"unauthorized", "the camera rejects the credentials"},
    {"not-found", "the camera does not know the path of the address"},
    {"timeout", "the camera did not answer in time"},
    {"unreachable", "the connection to the camera failed"},
    {"dns", "the name of the camera cannot be resolved"},
    {"tls", "the certificate of the camera is not trusted"},
    {"unsupported", "the camera sends no audio or video in a supported format"},
    {"forbidden-address", "the address of the camera, or where it leads to, is not allowed"},
};

void camera_failed(const gchar *cause, const gchar *message) {
  live_end("error", "\"cause\":\"%s\",\"message\":\"%s\"", cause, message);
}

static const gchar *text_of(const gchar *cause) {
  for (guint at = 0; at < G_N_ELEMENTS(TEXTS); at++)
    if (!strcmp(TEXTS[at].cause, cause)) return TEXTS[at].message;
  return "the camera cannot be read";
}

void camera_failed_by(const gchar *cause) { camera_failed(cause, text_of(cause)); }

void camera_video_refused(const gchar *codec) {
  live_end("error", "\"cause\":\"unsupported\",\"message\":\"the video would have to be encoded\",\"codec\":\"%s\"", codec);
}

void camera_ended(void) { live_end("ended", "%s", ""); }
