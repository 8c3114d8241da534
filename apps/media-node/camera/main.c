#include "camera.h"

#include <stdlib.h>
#include <string.h>

/* More than the decoder and the encoder of the largest picture need. */
#define MOST_MEMORY (1024L * 1024 * 1024)

static void on_message(GstMessage *message) {
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) failure_of_message(message);
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS) camera_ended();
}

static void open_camera(gchar **words) {
  const Address *address = address_open(words);
  gchar *scheme = g_uri_parse_scheme(address->uri);
  gboolean is_rtsp = scheme && g_str_has_prefix(scheme, "rtsp");
  elements_keep(scheme ? scheme : "");
  live_pipeline_make();
  watch_start(address->timeout_ms);
  gboolean is_open = is_rtsp ? rtsp_open() : container_open();
  g_free(scheme);
  if (!is_open) return;
  /* After a failure the bus has the reason. */
  gst_element_set_state(live_pipeline(), GST_STATE_PLAYING);
}

static gboolean send_track(gchar **words, guint count) {
  Output output = {.port = atoi(words[2]), .source_port = atoi(words[3]), .payload = atoi(words[4])};
  if (count % 2 == 0 || count > 5 + 2 * MOST_LAYERS) return FALSE;
  for (gchar **at = words + 5; *at; at += 2) {
    output.layers[output.count].ssrc = (guint32)strtoul(at[0], NULL, 10);
    output.layers[output.count++].first_sequence = (guint16)atoi(at[1]);
  }
  track_send(atoi(words[1]), &output);
  return TRUE;
}

static gboolean refuse_track(gchar **words) {
  track_refuse(atoi(words[1]));
  return TRUE;
}

static gboolean change_lane(gchar **words, void (*change)(Sender *, guint)) {
  Sender *sender = track_sender(atoi(words[1]));
  if (sender) change(sender, (guint)atoi(words[2]));
  return sender != NULL;
}

static void carry_out(gchar **words, guint count) {
  const gchar *command = words[0];
  if (!strcmp(command, "stop")) live_quit();
  else if (!strcmp(command, "check")) elements_check();
  else if (!strcmp(command, "allow") && count == 2 && guard_allow(words[1])) return;
  else if (address_configure(words, count)) return;
  else if (!strcmp(command, "open") && count == 7 && !live_pipeline()) open_camera(words);
  else if (!strcmp(command, "send") && count >= 7 && live_pipeline() && send_track(words, count)) return;
  else if (!strcmp(command, "refuse") && count == 2 && live_pipeline() && refuse_track(words)) return;
  else if (!strcmp(command, "burst") && count == 3 && change_lane(words, sender_burst)) return;
  else if (!strcmp(command, "rest") && count == 3 && change_lane(words, sender_rest)) return;
  else camera_failed("failed", "a command is not known, incomplete or out of place");
}

int main(int argc, char **argv) {
  live_start(&argc, &argv, &(LiveProgram){MOST_MEMORY, carry_out, on_message, timing_stop});
  arrival_register();
  pictures_register();
  return live_run();
}
