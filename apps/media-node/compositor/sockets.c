#define _GNU_SOURCE
#include "compositor.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Of a packet in its socket. */
#define LONGEST_WAIT_US 10000000
#define BATCH 32
#define RECEIVE_BUFFER 4000000

/* Of video and audio; -1: none. The other socket of each takes the reports of the sender, which are dropped. */
typedef struct {
  int packets[2], reports[2];
} Sockets;

static GHashTable *open_sockets;

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
    return CLAMP(at_us, now_us - LONGEST_WAIT_US, now_us);
  }
  return now_us;
}

typedef struct {
  gint64 now_us, to_monotonic, started_us;
  TakePacket take;
} Drain;

static void drain(int fd, guint32 source, const Drain *to) {
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
    for (int at = 0; at < count; at++) {
      guint32 size = messages[at].msg_len;
      if (size == 0 || messages[at].msg_hdr.msg_flags & MSG_TRUNC) continue;
      gint64 at_us = arrival(&messages[at].msg_hdr, to->to_monotonic, to->now_us) - to->started_us;
      to->take(&(LogEntry){source, size, MAX(at_us, 0)}, bytes[at]);
    }
  } while (count == BATCH);
}

void sockets_drain(gint64 started_us, TakePacket take) {
  GHashTableIter iterator;
  gpointer id, value;
  gint64 now_us = g_get_monotonic_time();
  Drain to = {now_us, now_us - real_us(), started_us, take};
  if (!open_sockets) return;
  g_hash_table_iter_init(&iterator, open_sockets);
  while (g_hash_table_iter_next(&iterator, &id, &value)) {
    const Sockets *sockets = value;
    for (guint kind = 0; kind < 2; kind++)
      if (sockets->packets[kind] >= 0) drain(sockets->packets[kind], 2 * GPOINTER_TO_UINT(id) + kind, &to);
  }
}

static void sockets_free(gpointer data) {
  Sockets *sockets = data;
  for (guint kind = 0; kind < 2; kind++) {
    if (sockets->packets[kind] >= 0) close(sockets->packets[kind]);
    if (sockets->reports[kind] >= 0) close(sockets->reports[kind]);
  }
  g_free(sockets);
}

static gint open_pair(Sockets *sockets, guint kind, gint *reports_port) {
  gint port = 0, on = 1, size = RECEIVE_BUFFER;
  sockets->packets[kind] = rtp_open_any(&port);
  sockets->reports[kind] = rtp_open_any(reports_port);
  if (sockets->packets[kind] < 0) return 0;
  setsockopt(sockets->packets[kind], SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  setsockopt(sockets->packets[kind], SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  return port;
}

void sockets_open(guint32 id, gboolean has_video, gboolean has_audio) {
  gint video = 0, video_reports = 0, audio = 0, audio_reports = 0;
  Sockets *sockets = g_new(Sockets, 1);
  *sockets = (Sockets){{-1, -1}, {-1, -1}};
  if (has_video) video = open_pair(sockets, 0, &video_reports);
  if (has_audio) audio = open_pair(sockets, 1, &audio_reports);
  if (!open_sockets) open_sockets = g_hash_table_new_full(NULL, NULL, NULL, sockets_free);
  g_hash_table_replace(open_sockets, GUINT_TO_POINTER(id), sockets);
  event_report("listening", "\"id\":\"%u\",\"video\":{\"rtp\":%d,\"rtcp\":%d},\"audio\":{\"rtp\":%d,\"rtcp\":%d}", id, video,
               video_reports, audio, audio_reports);
}

void sockets_close(guint32 id) {
  if (open_sockets) g_hash_table_remove(open_sockets, GUINT_TO_POINTER(id));
}
