#define _GNU_SOURCE
#include "compositor.h"

#include <malloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Bytes; the C library takes no more. */
#define LARGEST_PICTURE (32 << 20)
/* Bytes, of each arena. */
#define MOST_KEPT (64 << 20)

static GMainLoop *loop;
static int exit_code;

static gboolean read_settings(gchar **words, guint count, Settings *settings) {
  if (count < 11) return FALSE;
  *settings = (Settings){.width = atoi(words[1]),
                         .height = atoi(words[2]),
                         .fps = atoi(words[3]),
                         .has_video = atoi(words[4]),
                         .has_audio = atoi(words[5]),
                         .video_kbps = atoi(words[6]),
                         .audio_kbps = atoi(words[7]),
                         .latency_ms = atoi(words[8]),
                         .stall_ms = atoi(words[9]),
                         .fragment_ms = 1000,
                         .file = g_strdup(words[10]),
                         .log = count > 11 ? g_strdup(words[11]) : NULL};
  return settings->has_video || settings->has_audio;
}

static void fail(const gchar *message) {
  event_error(NULL, message);
  exit_code = 1;
  g_main_loop_quit(loop);
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data) {
  (void)bus, (void)data;
  GError *error = NULL;
  gchar *details = NULL;
  switch (GST_MESSAGE_TYPE(message)) {
    case GST_MESSAGE_EOS:
      event_report("stopped", "%s", "");
      g_main_loop_quit(loop);
      break;
    case GST_MESSAGE_ERROR:
      gst_message_parse_error(message, &error, &details);
      fail(error->message);
      g_error_free(error);
      g_free(details);
      break;
    default:
      break;
  }
  return G_SOURCE_CONTINUE;
}

static void start(gchar **words, guint count) {
  Settings settings;
  GError *error = NULL;
  if (output_pipeline() || record_is_on()) return event_error(NULL, "started already");
  if (!read_settings(words, count, &settings)) return fail("start: settings are missing");
  GstElement *pipeline = output_create(&settings, &error);
  if (!pipeline) return fail(error ? error->message : "the pipeline could not be made");
  GstBus *bus = gst_element_get_bus(pipeline);
  gst_bus_add_watch(bus, on_message, NULL);
  gst_object_unref(bus);
  if (gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) return fail("the pipeline did not start");
  stage_open();
  if (settings.log) replay_start();
  else live_composition_start();
}

static guint32 number_of(const gchar *word) { return (guint32)g_ascii_strtoull(word, NULL, 10); }

static Box read_box(gchar **words) {
  return (Box){atoi(words[2]), atoi(words[3]), atoi(words[4]), atoi(words[5]), atoi(words[6])};
}

/* What was recorded is kept. A composition of a log ends without its parent: it is repeated. */
static void end_in_order(void) {
  if (record_is_on()) record_stop();
  if (output_pipeline() && !replay_is_on()) live_composition_stop();
  else g_main_loop_quit(loop);
}

static void add(gchar **words) {
  gint video = atoi(words[3]), audio = atoi(words[4]);
  guint32 id = number_of(words[1]);
  source_add(id, words[2], video, audio);
  const Settings *settings = output_settings();
  if (!replay_is_on()) sockets_open(id, settings->has_video && video >= 0, settings->has_audio && audio >= 0);
}

static void remove_source(guint32 id) {
  source_remove(id);
  if (!replay_is_on()) sockets_close(id);
}

static void carry_out_recording(gchar **words, guint count) {
  const gchar *command = words[0];
  if (!strcmp(command, "add") && count >= 4) sockets_open(number_of(words[1]), atoi(words[2]) != 0, atoi(words[3]) != 0);
  else if (!strcmp(command, "remove") && count >= 2) record_remove(number_of(words[1]));
  else if (!strcmp(command, "stop")) end_in_order();
  else event_error(NULL, "a command is not known or incomplete");
}

static void carry_out_composition(gchar **words, guint count) {
  const gchar *command = words[0];
  if (!strcmp(command, "stop")) return replay_is_on() ? replay_stop() : live_composition_stop();
  if (!strcmp(command, "until") && count >= 2 && replay_is_on()) return replay_until(g_ascii_strtoll(words[1], NULL, 10));
  if (!strcmp(command, "untile") && count >= 2) return tile_remove(words[1]);
  if (!strcmp(command, "add") && count >= 5) return add(words);
  if (!strcmp(command, "remove") && count >= 2) return remove_source(number_of(words[1]));
  if (!strcmp(command, "hide") && count >= 2) return source_hide(number_of(words[1]));
  if (!strcmp(command, "await") && count >= 2) return source_await(number_of(words[1]));
  if (count >= 7) {
    Box box = read_box(words);
    if (!strcmp(command, "place")) return source_place(number_of(words[1]), &box);
    if (!strcmp(command, "tile") && count >= 8) return tile_place(words[1], &box, words[7]);
  }
  event_error(NULL, "a command is not known or incomplete");
}

/* Words are separated by tabs, so that a file or a name may hold spaces. */
static void carry_out(gchar **words, guint count) {
  const gchar *command = words[0];
  if (!strcmp(command, "start") || !strcmp(command, "compose")) return start(words, count);
  if (!strcmp(command, "record") && count >= 2) return record_start(words[1]);
  if (record_is_on()) return carry_out_recording(words, count);
  if (output_pipeline()) return carry_out_composition(words, count);
  event_error(NULL, "not started");
}

/* Before any thread: each inherits it. */
static void yield_to_others(void) {
#ifdef SCHED_IDLE
  const struct sched_param none = {0};
  sched_setscheduler(0, SCHED_IDLE, &none);
#endif
  setpriority(PRIO_PROCESS, 0, 19);
}

/*
 * Pictures are allocated and freed all the time. By default the memory of one that was the last of an arena goes back to
 * the system, and the kernel clears it again for the next picture: up to a twelfth of all processor time.
 */
static void keep_freed_memory(void) {
#ifdef M_TRIM_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, LARGEST_PICTURE);
  mallopt(M_TRIM_THRESHOLD, MOST_KEPT);
#endif
}

int main(int argc, char **argv) {
  keep_freed_memory();
  if (argc > 1 && !strcmp(argv[1], "--idle")) yield_to_others();
  gst_init(&argc, &argv);
  loop = g_main_loop_new(NULL, FALSE);
  commands_read(&(Commands){carry_out, end_in_order});
  event_report("ready", "%s", "");
  g_main_loop_run(loop);
  if (output_pipeline()) gst_element_set_state(output_pipeline(), GST_STATE_NULL);
  return exit_code;
}
