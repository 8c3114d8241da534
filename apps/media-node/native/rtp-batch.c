#include "rtp-batch.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>

/* linux/udp.h, which does not go with netinet/udp.h. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

/* Kernels before 4.18, and some sandboxes, send no segments. */
static gint is_unsupported;

static gboolean send_segments(const RtpBatch *batch) {
  union {
    struct cmsghdr header;
    guint8 bytes[CMSG_SPACE(sizeof(guint16))];
  } control = {0};
  guint16 segment = (guint16)batch->packet_size;
  struct iovec data = {(void *)batch->bytes, batch->size};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  control.header = (struct cmsghdr){CMSG_LEN(sizeof segment), SOL_UDP, UDP_SEGMENT};
  memcpy(CMSG_DATA(&control.header), &segment, sizeof segment);
  if (sendmsg(batch->socket, &message, MSG_NOSIGNAL) >= 0) return TRUE;
  if (errno != EINVAL && errno != EIO && errno != EOPNOTSUPP && errno != ENOPROTOOPT) return TRUE;
  g_atomic_int_set(&is_unsupported, TRUE);
  return FALSE;
}

static void send_each(const RtpBatch *batch) {
  for (gsize at = 0; at < batch->size; at += batch->packet_size)
    send(batch->socket, batch->bytes + at, MIN(batch->packet_size, batch->size - at), MSG_NOSIGNAL);
}

void rtp_batch_send(RtpBatch *batch) {
  if (batch->count == 0) return;
  if (batch->count == 1 || g_atomic_int_get(&is_unsupported) || !send_segments(batch)) send_each(batch);
  batch->count = 0;
  batch->size = 0;
}

void rtp_batch_add(RtpBatch *batch, const guint8 *packet, gsize size) {
  if (size > batch->packet_size) rtp_batch_send(batch);
  if (batch->count == 0) batch->packet_size = size;
  memcpy(batch->bytes + batch->size, packet, size);
  batch->size += size;
  batch->count++;
  /* Only the last one may be shorter. */
  if (size < batch->packet_size || batch->count == RTP_MOST_BATCHED) rtp_batch_send(batch);
}
