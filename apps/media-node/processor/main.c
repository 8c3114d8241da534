#include "processor.h"

#include <string.h>

/* More than the decoder, the filter and the encoder of the largest picture need. */
#define MOST_MEMORY (1536L * 1024 * 1024)

static gboolean is_started;

void processor_failed(const gchar *cause, const gchar *message) {
  gchar *text = json_text(message);
  live_end("error", "\"cause\":\"%s\",\"message\":\"%s\"", cause, text);
  g_free(text);
}

static void on_error(GstMessage *message) {
  GError *error = NULL;
  gst_message_parse_error(message, &error, NULL);
  gchar *text = g_strdup_printf("%s: %s", GST_MESSAGE_SRC_NAME(message), error->message);
  processor_failed(filter_has_sent(message) ? "filter" : "failed", text);
  g_free(text);
  g_error_free(error);
}

static void on_message(GstMessage *message) {
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) on_error(message);
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ELEMENT) filter_report(message);
}

static void start(void) {
  is_started = TRUE;
  legs_start();
}

static void carry_out(gchar **words, guint count) {
  const gchar *command = words[0];
  if (!strcmp(command, "stop")) live_quit();
  else if (!strcmp(command, "check")) elements_check();
  else if (!strcmp(command, "leg") && (count == 15 || count == 16) && !is_started && leg_add(words + 1)) return;
  else if (!strcmp(command, "filter") && count >= 3 && !is_started && !filter_is_defined() && filter_define(words + 1, count - 1)) return;
  else if (!strcmp(command, "set") && count >= 2 && is_started) filter_set(words + 1, count - 1);
  else if (!strcmp(command, "limit") && count == 4 && is_started && leg_limit(words + 1)) return;
  else if (!strcmp(command, "start") && !is_started) start();
  else processor_failed("failed", "a command is not known, incomplete or out of place");
}

int main(int argc, char **argv) {
  live_start(&argc, &argv, &(LiveProgram){MOST_MEMORY, carry_out, on_message, NULL});
  elements_register();
  live_pipeline_make();
  return live_run();
}
