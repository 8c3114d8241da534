#include "live-pipeline.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "commands.h"

#define CLOSE_TIMEOUT_S 2

static LiveProgram chosen;
static GMainLoop *loop;
static GstElement *pipeline;
static int exit_code;
static gint has_ended;

GstElement *live_pipeline(void) { return pipeline; }
gboolean live_has_ended(void) { return g_atomic_int_get(&has_ended); }
void live_quit(void) { g_main_loop_quit(loop); }

static gboolean quit(gpointer data) {
  (void)data;
  live_quit();
  return G_SOURCE_REMOVE;
}

void live_end(const gchar *event, const gchar *members_format, ...) {
  if (!g_atomic_int_compare_and_exchange(&has_ended, FALSE, TRUE)) return;
  va_list arguments;
  va_start(arguments, members_format);
  gchar *members = g_strdup_vprintf(members_format, arguments);
  va_end(arguments);
  exit_code = 1;
  event_report(event, "%s", members);
  g_free(members);
  g_idle_add(quit, NULL);
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data) {
  (void)bus, (void)data;
  chosen.on_message(message);
  return G_SOURCE_CONTINUE;
}

void live_pipeline_make(void) {
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

/* Messages of libraries may contain addresses. */
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
  rlim_t most = (rlim_t)chosen.most_memory;
  struct rlimit memory = {.rlim_cur = most, .rlim_max = most}, no_core = {0, 0};
  setrlimit(RLIMIT_DATA, &memory);
  setrlimit(RLIMIT_CORE, &no_core);
}

/* What arrives after the end of the program is no longer carried out. */
static void carry_out(gchar **words, guint count) {
  if (!live_has_ended()) chosen.carry_out(words, count);
}

void live_start(int *argc, char ***argv, const LiveProgram *program) {
  chosen = *program;
  restrict_environment();
  gst_init(argc, argv);
  loop = g_main_loop_new(NULL, FALSE);
}

int live_run(void) {
  commands_read(&(Commands){carry_out, live_quit});
  event_report("ready", "%s", "");
  g_main_loop_run(loop);
  /* A camera or an element that hangs must not delay the exit. */
  signal(SIGALRM, SIG_DFL);
  alarm(CLOSE_TIMEOUT_S);
  if (chosen.on_close) chosen.on_close();
  if (pipeline) gst_element_set_state(pipeline, GST_STATE_NULL);
  return exit_code;
}

void live_add_missing(GString *missing, const gchar *const *names, guint count) {
  for (guint at = 0; at < count; at++) {
    GstElementFactory *factory = gst_element_factory_find(names[at]);
    if (!factory) g_string_append_printf(missing, "%s%s", missing->len > 0 ? ", " : "", names[at]);
    else gst_object_unref(factory);
  }
}

void live_report_missing(GString *missing) {
  event_report("checked", "\"missing\":\"%s\"", missing->str);
  g_string_free(missing, TRUE);
}
