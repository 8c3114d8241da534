#include "processor.h"

#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* More than the decoder, the filter and the encoder of the largest picture need. */
#define MOST_MEMORY (1536L * 1024 * 1024)
#define CLOSE_TIMEOUT_S 2

static GMainLoop *loop;
static GstElement *pipeline;
static int exit_code;
static gboolean is_started;
static gint has_failed;

GstElement *processor_pipeline(void) { return pipeline; }

static gboolean quit(gpointer data) {
  (void)data;
  g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

void processor_failed(const gchar *cause, const gchar *message) {
  if (!g_atomic_int_compare_and_exchange(&has_failed, FALSE, TRUE)) return;
  exit_code = 1;
  gchar *text = json_text(message);
  event_tell("error", "\"cause\":\"%s\",\"message\":\"%s\"", cause, text);
  g_free(text);
  g_idle_add(quit, NULL);
}

static void on_error(GstMessage *message) {
  GError *error = NULL;
  gst_message_parse_error(message, &error, NULL);
  gchar *text = g_strdup_printf("%s: %s", GST_MESSAGE_SRC_NAME(message), error->message);
  processor_failed(filter_has_sent(message) ? "filter" : "failed", text);
  g_free(text);
  g_error_free(error);
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data) {
  (void)bus, (void)data;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) on_error(message);
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ELEMENT) filter_report(message);
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

static void start(void) {
  is_started = TRUE;
  legs_start();
}

static void carry_out(gchar **words, guint count) {
  const gchar *command = words[0];
  if (!strcmp(command, "stop")) quit(NULL);
  else if (!strcmp(command, "check")) elements_check();
  else if (!strcmp(command, "leg") && (count == 15 || count == 16) && !is_started && leg_add(words + 1)) return;
  else if (!strcmp(command, "filter") && count >= 3 && !is_started && !filter_is_defined() && filter_define(words + 1, count - 1)) return;
  else if (!strcmp(command, "set") && count >= 2 && is_started) filter_set(words + 1, count - 1);
  else if (!strcmp(command, "start") && !is_started) start();
  else processor_failed("failed", "a command is not known, incomplete or out of place");
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
  if (words[0] && !g_atomic_int_get(&has_failed)) carry_out(words, g_strv_length(words));
  g_strfreev(words);
  g_free(line);
  return G_SOURCE_CONTINUE;
}

static GLogWriterOutput discard_log(GLogLevelFlags level, const GLogField *fields, gsize count, gpointer data) {
  (void)level, (void)fields, (void)count, (void)data;
  return G_LOG_WRITER_HANDLED;
}

static void restrict_environment(void) {
  const gchar *const names[] = {"GST_DEBUG", "GST_DEBUG_FILE", "GST_DEBUG_DUMP_DOT_DIR", "GST_TRACERS"};
  for (guint at = 0; at < G_N_ELEMENTS(names); at++) g_unsetenv(names[at]);
  g_setenv("GIO_USE_VFS", "local", TRUE);
  g_setenv("GSETTINGS_BACKEND", "memory", TRUE);
  g_log_set_writer_func(discard_log, NULL, NULL);
  struct rlimit memory = {.rlim_cur = MOST_MEMORY, .rlim_max = MOST_MEMORY}, no_core = {0, 0};
  setrlimit(RLIMIT_DATA, &memory);
  setrlimit(RLIMIT_CORE, &no_core);
}

static void close_pipeline(void) {
  /* An element that hangs must not delay the exit. */
  signal(SIGALRM, SIG_DFL);
  alarm(CLOSE_TIMEOUT_S);
  gst_element_set_state(pipeline, GST_STATE_NULL);
}

int main(int argc, char **argv) {
  restrict_environment();
  signal(SIGPIPE, SIG_IGN);
  g_unix_signal_add(SIGTERM, quit, NULL);
  g_unix_signal_add(SIGINT, quit, NULL);
  gst_init(&argc, &argv);
  elements_register();
  loop = g_main_loop_new(NULL, FALSE);
  make_pipeline();
  GIOChannel *input = g_io_channel_unix_new(0);
  g_io_channel_set_encoding(input, NULL, NULL);
  g_io_add_watch(input, G_IO_IN | G_IO_HUP, on_line, NULL);
  event_tell("ready", "%s", "");
  g_main_loop_run(loop);
  close_pipeline();
  return exit_code;
}
