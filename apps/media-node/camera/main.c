#include "camera.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* More than the decoder and the encoder of the largest picture need. */
#define MOST_MEMORY (1024L * 1024 * 1024)
#define CLOSE_TIMEOUT_S 2

static GMainLoop *loop;
static GstElement *pipeline;
static Address address;
static int exit_code;
static gint has_ended;

GstElement *camera_pipeline(void) { return pipeline; }
const Address *camera_address(void) { return &address; }

static gboolean quit(gpointer data) {
  (void)data;
  g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

static gboolean is_first_end(void) {
  if (!g_atomic_int_compare_and_exchange(&has_ended, FALSE, TRUE)) return FALSE;
  exit_code = 1;
  return TRUE;
}

void camera_failed(const gchar *cause, const gchar *message) {
  if (!is_first_end()) return;
  event_tell("error", "\"cause\":\"%s\",\"message\":\"%s\"", cause, message);
  g_idle_add(quit, NULL);
}

void camera_video_refused(const gchar *codec) {
  if (!is_first_end()) return;
  event_tell("error", "\"cause\":\"unsupported\",\"message\":\"the video would have to be encoded\",\"codec\":\"%s\"", codec);
  g_idle_add(quit, NULL);
}

gboolean camera_has_ended(void) { return g_atomic_int_get(&has_ended); }

void camera_ended(void) {
  if (!is_first_end()) return;
  event_tell("ended", "%s", "");
  g_idle_add(quit, NULL);
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data) {
  (void)bus, (void)data;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) failure_of_message(message);
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS) camera_ended();
  return G_SOURCE_CONTINUE;
}

/* Running times are points in time of CLOCK_MONOTONIC. */
static void make_pipeline(void) {
  pipeline = gst_pipeline_new(NULL);
  GstClock *clock = gst_system_clock_obtain();
  gst_pipeline_use_clock(GST_PIPELINE(pipeline), clock);
  gst_object_unref(clock);
  gst_element_set_start_time(pipeline, GST_CLOCK_TIME_NONE);
  gst_element_set_base_time(pipeline, 0);
  GstBus *bus = gst_element_get_bus(pipeline);
  gst_bus_add_watch(bus, on_message, NULL);
  gst_object_unref(bus);
}

static void open_camera(gchar **words) {
  address.uri = g_strdup(words[1]);
  address.user = g_strdup(words[2]);
  address.password = g_strdup(words[3]);
  address.transport = g_strdup(words[4]);
  address.timeout_ms = atoi(words[5]);
  address.cache_ms = atoi(words[6]);
  gchar *scheme = g_uri_parse_scheme(address.uri);
  gboolean is_rtsp = scheme && g_str_has_prefix(scheme, "rtsp");
  elements_keep(scheme ? scheme : "");
  make_pipeline();
  watch_start(address.timeout_ms);
  gboolean is_open = is_rtsp ? rtsp_open() : container_open();
  g_free(scheme);
  if (!is_open) return;
  /* After a failure the bus has the reason. */
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
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

static gboolean change_lane(gchar **words, void (*change)(Sender *, guint)) {
  Sender *sender = track_sender(atoi(words[1]));
  if (sender) change(sender, (guint)atoi(words[2]));
  return sender != NULL;
}

static void set(gchar **member, const gchar *value) {
  g_free(*member);
  *member = g_strdup(value);
}

static void carry_out(gchar **words, guint count) {
  const gchar *command = words[0];
  if (!strcmp(command, "stop")) quit(NULL);
  else if (!strcmp(command, "check")) elements_check();
  else if (!strcmp(command, "allow") && count == 2 && guard_allow(words[1])) return;
  else if (!strcmp(command, "files") && count == 2) set(&address.files, words[1]);
  else if (!strcmp(command, "trust") && count == 2) set(&address.trust, words[1]);
  else if (!strcmp(command, "copy-video")) address.copies_video = TRUE;
  else if (!strcmp(command, "open") && count == 7 && !pipeline) open_camera(words);
  else if (!strcmp(command, "send") && count >= 7 && pipeline && send_track(words, count)) return;
  else if (!strcmp(command, "burst") && count == 3 && change_lane(words, sender_burst)) return;
  else if (!strcmp(command, "rest") && count == 3 && change_lane(words, sender_rest)) return;
  else camera_failed("failed", "a command is not known, incomplete or out of place");
}

static gboolean on_line(GIOChannel *input, GIOCondition condition, gpointer data) {
  (void)condition, (void)data;
  gchar *line = NULL;
  gsize end = 0;
  GIOStatus status = g_io_channel_read_line(input, &line, NULL, &end, NULL);
  if (status == G_IO_STATUS_AGAIN) return G_SOURCE_CONTINUE;
  if (status != G_IO_STATUS_NORMAL) return quit(NULL);
  line[end] = '\0';
  gchar **words = g_strsplit(line, "\t", -1);
  if (words[0]) carry_out(words, g_strv_length(words));
  g_strfreev(words);
  g_free(line);
  return G_SOURCE_CONTINUE;
}

/* Messages of libraries may contain the address. */
static GLogWriterOutput discard_log(GLogLevelFlags level, const GLogField *fields, gsize count, gpointer data) {
  (void)level, (void)fields, (void)count, (void)data;
  return G_LOG_WRITER_HANDLED;
}

static void restrict_environment(void) {
  const gchar *const names[] = {"GST_DEBUG", "GST_DEBUG_FILE", "GST_DEBUG_DUMP_DOT_DIR", "GST_TRACERS", "GST_RTSP_DEBUG"};
  for (guint at = 0; at < G_N_ELEMENTS(names); at++) g_unsetenv(names[at]);
  g_setenv("GIO_USE_PROXY_RESOLVER", "dummy", TRUE);
  g_setenv("GIO_USE_VFS", "local", TRUE);
  g_setenv("GSETTINGS_BACKEND", "memory", TRUE);
  g_log_set_writer_func(discard_log, NULL, NULL);
  struct rlimit memory = {.rlim_cur = MOST_MEMORY, .rlim_max = MOST_MEMORY}, no_core = {0, 0};
  setrlimit(RLIMIT_DATA, &memory);
  setrlimit(RLIMIT_CORE, &no_core);
}

static void close_camera(void) {
  /* A camera that hangs must not delay the exit. */
  signal(SIGALRM, SIG_DFL);
  alarm(CLOSE_TIMEOUT_S);
  timing_stop();
  if (pipeline) gst_element_set_state(pipeline, GST_STATE_NULL);
}

int main(int argc, char **argv) {
  restrict_environment();
  signal(SIGPIPE, SIG_IGN);
  g_unix_signal_add(SIGTERM, quit, NULL);
  g_unix_signal_add(SIGINT, quit, NULL);
  gst_init(&argc, &argv);
  loop = g_main_loop_new(NULL, FALSE);
  GIOChannel *input = g_io_channel_unix_new(0);
  g_io_channel_set_encoding(input, NULL, NULL);
  g_io_add_watch(input, G_IO_IN | G_IO_HUP, on_line, NULL);
  event_tell("ready", "%s", "");
  g_main_loop_run(loop);
  close_camera();
  return exit_code;
}
