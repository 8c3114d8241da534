#include "events.h"

#include <stdio.h>

static GMutex lock;

void event_report(const gchar *name, const gchar *members_format, ...) {
  va_list arguments;
  va_start(arguments, members_format);
  gchar *members = g_strdup_vprintf(members_format, arguments);
  va_end(arguments);
  g_mutex_lock(&lock);
  printf("{\"event\":\"%s\"%s%s}\n", name, *members ? "," : "", members);
  fflush(stdout);
  g_mutex_unlock(&lock);
  g_free(members);
}

gchar *json_text(const gchar *text) {
  gchar *valid = g_utf8_make_valid(text, -1);
  GString *json = g_string_new(NULL);
  for (const gchar *at = valid; *at; at++) {
    if (*at == '"' || *at == '\\') g_string_append_c(json, '\\');
    if ((guchar)*at < 0x20) g_string_append_printf(json, "\\u%04x", *at);
    else g_string_append_c(json, *at);
  }
  g_free(valid);
  return g_string_free(json, FALSE);
}

void event_error(const gchar *id, const gchar *message) {
  gchar *text = json_text(message);
  if (id) event_report("error", "\"id\":\"%s\",\"message\":\"%s\"", id, text);
  else event_report("error", "\"message\":\"%s\"", text);
  g_free(text);
}
