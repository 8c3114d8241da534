#include "compositor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Packets wait in their sockets, which note the time of each: a wake-up for each of them would cost most of the time. */
#define WAKE_MS 20
#define TICK_US 1000000
#define MOST_PENDING (1 << 18)

static int file = -1;
static gint64 started_us, ticked_us;
static GByteArray *pending;

static void fail(void) {
  event_error(NULL, g_strerror(errno));
  exit(1);
}

/* Each time: what is not in the file when this process dies is lost. */
static void write_pending(void) {
  for (gsize written = 0; written < pending->len;) {
    gssize count = write(file, pending->data + written, pending->len - written);
    if (count < 0 && errno != EINTR) fail();
    if (count > 0) written += (gsize)count;
  }
  g_byte_array_set_size(pending, 0);
}

static void append(const LogEntry *entry, const guint8 *packet) {
  g_byte_array_append(pending, (const guint8 *)entry, sizeof *entry);
  if (entry->size > 0) g_byte_array_append(pending, packet, entry->size);
  if (pending->len > MOST_PENDING) write_pending();
}

static void append_tick(void) {
  ticked_us = g_get_monotonic_time();
  append(&(LogEntry){LOG_TICK, 0, ticked_us - started_us}, NULL);
}

static gboolean wake(gpointer data) {
  (void)data;
  sockets_drain(started_us, append);
  if (g_get_monotonic_time() - ticked_us >= TICK_US) append_tick();
  write_pending();
  return G_SOURCE_CONTINUE;
}

void record_start(const gchar *path) {
  file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) fail();
  pending = g_byte_array_new();
  g_byte_array_append(pending, (const guint8 *)LOG_MAGIC, LOG_MAGIC_SIZE);
  started_us = g_get_monotonic_time();
  wake(NULL);
  g_timeout_add(WAKE_MS, wake, NULL);
  event_report("logging", "\"startedUs\":%" G_GINT64_FORMAT, started_us);
}

gboolean record_is_on(void) { return file >= 0; }

/* What has arrived until now is kept. */
void record_remove(guint32 id) {
  wake(NULL);
  sockets_close(id);
}

void record_stop(void) {
  wake(NULL);
  append_tick();
  write_pending();
  event_report("stopped", "%s", "");
}
