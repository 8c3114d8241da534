#define _GNU_SOURCE
#include "deferred.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Packets wait in their sockets, which note the time of each: a wake-up for each of them would cost most of the time. */
#define WAKE_MS 20
#define TICK_US 1000000
#define BATCH 32
#define RECEIVE_BUFFER 4000000
#define MOST_PENDING (1 << 18)

/* Of video and audio; -1: none. The other socket of each takes the reports of the sender, which are dropped. */
typedef struct {
  int packets[2], reports[2];
} Sockets;

static int file = -1;
static gint64 started_us, ticked_us;
static GHashTable *open_sockets;
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

static void append(guint32 source, gint64 at_us, const guint8 *packet, guint32 size) {
  LogEntry entry = {source, size, MAX(at_us - started_us, 0)};
  g_byte_array_append(pending, (const guint8 *)&entry, sizeof entry);
  if (size > 0) g_byte_array_append(pending, packet, size);
  if (pending->len > MOST_PENDING) write_pending();
}

static gint64 real_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (gint64)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The kernel's time of arrival, by the monotonic clock. */
static gint64 arrival(struct msghdr *header, gint64 to_monotonic, gint64 now_us) {
  for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
    struct timespec at;
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
    memcpy(&at, CMSG_DATA(part), sizeof at);
    gint64 at_us = (gint64)at.tv_sec * 1000000 + at.tv_nsec / 1000 + to_monotonic;
    /* The wall clock may have been set meanwhile. */
    return CLAMP(at_us, now_us - 1000000, now_us);
  }
  return now_us;
}

static void drain(int fd, guint32 source, gint64 to_monotonic, gint64 now_us) {
  static guint8 bytes[BATCH][LOG_MOST_PACKET];
  static guint8 control[BATCH][CMSG_SPACE(sizeof(struct timespec))];
  struct iovec parts[BATCH];
  struct mmsghdr messages[BATCH];
  int count;
  do {
    for (guint at = 0; at < BATCH; at++) {
      parts[at] = (struct iovec){bytes[at], sizeof bytes[at]};
      messages[at].msg_hdr = (struct msghdr){.msg_iov = &parts[at], .msg_iovlen = 1, .msg_control = control[at], .msg_controllen = sizeof control[at]};
    }
    count = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
    for (int at = 0; at < count; at++)
      if (messages[at].msg_len > 0 && !(messages[at].msg_hdr.msg_flags & MSG_TRUNC))
        append(source, arrival(&messages[at].msg_hdr, to_monotonic, now_us), bytes[at], messages[at].msg_len);
  } while (count == BATCH);
}

static gboolean wake(gpointer data) {
  (void)data;
  GHashTableIter iterator;
  gpointer id, value;
  gint64 now_us = g_get_monotonic_time(), to_monotonic = now_us - real_us();
  g_hash_table_iter_init(&iterator, open_sockets);
  while (g_hash_table_iter_next(&iterator, &id, &value)) {
    const Sockets *sockets = value;
    for (guint kind = 0; kind < 2; kind++)
      if (sockets->packets[kind] >= 0)
        drain(sockets->packets[kind], 2 * GPOINTER_TO_UINT(id) + kind, to_monotonic, now_us);
  }
  if (now_us - ticked_us >= TICK_US) {
    ticked_us = now_us;
    append(LOG_TICK, now_us, NULL, 0);
  }
  write_pending();
  return G_SOURCE_CONTINUE;
}

static void sockets_close(gpointer data) {
  Sockets *sockets = data;
  for (guint kind = 0; kind < 2; kind++) {
    if (sockets->packets[kind] >= 0) close(sockets->packets[kind]);
    if (sockets->reports[kind] >= 0) close(sockets->reports[kind]);
  }
  g_free(sockets);
}

void record_start(const gchar *path) {
  file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) fail();
  pending = g_byte_array_new();
  open_sockets = g_hash_table_new_full(NULL, NULL, NULL, sockets_close);
  g_byte_array_append(pending, (const guint8 *)LOG_MAGIC, LOG_MAGIC_SIZE);
  started_us = g_get_monotonic_time();
  wake(NULL);
  g_timeout_add(WAKE_MS, wake, NULL);
  event_report("logging", "\"startedUs\":%" G_GINT64_FORMAT, started_us);
}

gboolean record_is_on(void) { return file >= 0; }

static gint open_pair(Sockets *sockets, guint kind, gint *reports_port) {
  gint port = 0, on = 1, size = RECEIVE_BUFFER;
  sockets->packets[kind] = rtp_open_any(&port);
  sockets->reports[kind] = rtp_open_any(reports_port);
  if (sockets->packets[kind] < 0) return 0;
  setsockopt(sockets->packets[kind], SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  setsockopt(sockets->packets[kind], SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  return port;
}

void record_add(guint32 id, gboolean has_video, gboolean has_audio) {
  gint video = 0, video_reports = 0, audio = 0, audio_reports = 0;
  Sockets *sockets = g_new(Sockets, 1);
  *sockets = (Sockets){{-1, -1}, {-1, -1}};
  if (has_video) video = open_pair(sockets, 0, &video_reports);
  if (has_audio) audio = open_pair(sockets, 1, &audio_reports);
  g_hash_table_replace(open_sockets, GUINT_TO_POINTER(id), sockets);
  event_report("listening", "\"id\":\"%u\",\"video\":{\"rtp\":%d,\"rtcp\":%d},\"audio\":{\"rtp\":%d,\"rtcp\":%d}", id, video,
               video_reports, audio, audio_reports);
}

/* What has arrived until now is kept. */
void record_remove(guint32 id) {
  wake(NULL);
  g_hash_table_remove(open_sockets, GUINT_TO_POINTER(id));
  event_report("removed", "\"id\":\"%u\"", id);
}

void record_stop(void) {
  wake(NULL);
  append(LOG_TICK, g_get_monotonic_time(), NULL, 0);
  write_pending();
  event_report("stopped", "%s", "");
}
