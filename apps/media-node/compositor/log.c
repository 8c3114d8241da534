#include "compositor.h"

#include <stdio.h>
#include <string.h>

static FILE *input;
static LogEntry next;
static gboolean has_next;
static gint64 last_us;

static void read_next(void) {
  has_next = fread(&next, sizeof next, 1, input) == 1 && next.at_us >= 0 &&
             (next.source == LOG_TICK ? next.size == 0 : next.size >= 1 && next.size <= LOG_MOST_PACKET);
}

gboolean log_open(const gchar *file) {
  gchar magic[LOG_MAGIC_SIZE];
  input = fopen(file, "rbe");
  if (!input || fread(magic, sizeof magic, 1, input) != 1 || memcmp(magic, LOG_MAGIC, sizeof magic)) return FALSE;
  read_next();
  return TRUE;
}

void log_read(gint64 until_us, void (*take)(const LogEntry *entry, const guint8 *packet)) {
  guint8 packet[LOG_MOST_PACKET];
  while (has_next && next.at_us <= until_us) {
    if (next.size > 0 && fread(packet, next.size, 1, input) != 1) {
      has_next = FALSE;
      return;
    }
    last_us = MAX(last_us, next.at_us);
    if (next.source != LOG_TICK) take(&next, packet);
    read_next();
  }
}

gboolean log_has_ended(gint64 *end_us) {
  *end_us = last_us;
  return !has_next;
}
