#include "commands.h"

#include <glib-unix.h>
#include <signal.h>

static Commands wanted;

static gboolean on_signal(gpointer data) {
  (void)data;
  wanted.on_end();
  return G_SOURCE_REMOVE;
}

static gboolean on_line(GIOChannel *input, GIOCondition condition, gpointer data) {
  (void)condition, (void)data;
  gchar *line = NULL;
  gsize end = 0;
  GIOStatus status = g_io_channel_read_line(input, &line, NULL, &end, NULL);
  if (status == G_IO_STATUS_AGAIN) return G_SOURCE_CONTINUE;
  if (status != G_IO_STATUS_NORMAL) {
    wanted.on_end();
    return G_SOURCE_REMOVE;
  }
  line[end] = '\0';
  gchar **words = g_strsplit(line, "\t", -1);
  if (words[0]) wanted.carry_out(words, g_strv_length(words));
  g_strfreev(words);
  g_free(line);
  return G_SOURCE_CONTINUE;
}

void commands_read(const Commands *commands) {
  wanted = *commands;
  signal(SIGPIPE, SIG_IGN);
  g_unix_signal_add(SIGTERM, on_signal, NULL);
  g_unix_signal_add(SIGINT, on_signal, NULL);
  GIOChannel *input = g_io_channel_unix_new(0);
  g_io_channel_set_encoding(input, NULL, NULL);
  g_io_add_watch(input, G_IO_IN | G_IO_HUP, on_line, NULL);
}
