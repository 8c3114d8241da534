#include "rtp.h"

#include <arpa/inet.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PORTION 32
#define PORTION_PAUSE_NS 300000
/* Packets that follow sooner belong to a burst. */
#define PORTION_DISTANCE_US 2000
/* From 1900 to 1970. */
#define NTP_EPOCH 2208988800u
/* Of both clocks. */
#define READINGS 16
/* RTCP. */
#define PAYLOAD_FEEDBACK 206
#define PLI 1
#define FIR 4

static struct sockaddr_in loopback(gint port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static int open_socket(gint port) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
  struct sockaddr_in from = loopback(port);
  gboolean is_open = fd >= 0 && (port == 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0) &&
                     bind(fd, (struct sockaddr *)&from, sizeof from) == 0;
  if (is_open) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

int rtp_open(gint port, gint source_port, RtpConnect connect_to) {
  struct sockaddr_in to = loopback(port);
  int fd = open_socket(source_port);
  if (fd < 0 || connect_to(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
  close(fd);
  return -1;
}

int rtp_open_any(gint *port) {
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  int fd = open_socket(0);
  if (fd < 0) return -1;
  if (getsockname(fd, (struct sockaddr *)&address, &size) == 0) {
    *port = ntohs(address.sin_port);
    return fd;
  }
  close(fd);
  return -1;
}

guint8 *rtp_put32(guint8 *at, guint32 value) {
  value = htonl(value);
  memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

guint32 rtp_get32(const guint8 *at) {
  guint32 value;
  memcpy(&value, at, sizeof value);
  return ntohl(value);
}

/*
 * From CLOCK_MONOTONIC to the wall clock. Between two readings the process may be suspended: the closest ones count, so
 * that two programs of one stream agree and its timestamps never go back.
 */
static gint64 read_difference(void) {
  gint64 difference = 0, closest = G_MAXINT64;
  for (guint at = 0; at < READINGS; at++) {
    gint64 before = g_get_monotonic_time(), real = g_get_real_time(), after = g_get_monotonic_time();
    if (after - before >= closest) continue;
    closest = after - before;
    difference = real - before - closest / 2;
  }
  return difference;
}

/* The same for all reports of a program, so that they agree. */
static gint64 difference_us(void) {
  static gsize is_known;
  static gint64 difference;
  if (g_once_init_enter(&is_known)) {
    difference = read_difference();
    g_once_init_leave(&is_known, 1);
  }
  return difference;
}

/* Its time is a whole millisecond of the wall clock: the media worker keeps no more of it. */
void rtp_send_report(int socket, const RtpReport *report) {
  guint8 packet[64], *at = packet;
  gint64 real_us = (g_get_monotonic_time() + difference_us()) / 1000 * 1000;
  guint64 monotonic_us = (guint64)(real_us - difference_us());
  gsize name = strlen(report->name), padding = 4 - (2 + name) % 4;
  at = rtp_put32(at, 0x80c80006), at = rtp_put32(at, report->ssrc);
  at = rtp_put32(at, (guint32)(real_us / 1000000 + NTP_EPOCH));
  at = rtp_put32(at, (guint32)((((guint64)(real_us % 1000000) << 32) + 999999) / 1000000));
  at = rtp_put32(at, (guint32)gst_util_uint64_scale_round(monotonic_us, (guint64)report->clock_rate, 1000000));
  at = rtp_put32(at, report->packets), at = rtp_put32(at, (guint32)report->bytes);
  at = rtp_put32(at, 0x81ca0000 | (guint32)(1 + (2 + name + padding) / 4)), at = rtp_put32(at, report->ssrc);
  *at++ = 1, *at++ = (guint8)name;
  memcpy(at, report->name, name), at += name;
  memset(at, 0, padding), at += padding;
  send(socket, packet, (size_t)(at - packet), MSG_NOSIGNAL);
}

static gboolean is_request(const guint8 *report, gssize size, guint32 ssrc) {
  gint format = report[0] & 31;
  if (report[1] != PAYLOAD_FEEDBACK) return FALSE;
  if (format == PLI) return size >= 12 && rtp_get32(report + 8) == ssrc;
  for (gssize at = 12; format == FIR && at + 8 <= size; at += 8)
    if (rtp_get32(report + at) == ssrc) return TRUE;
  return FALSE;
}

gboolean rtp_wants_key_frame(const guint8 *report, gssize size, guint32 ssrc) {
  gssize length;
  for (gssize at = 0; at + 4 <= size; at += length) {
    length = 4 * (1 + (report[at + 2] << 8 | report[at + 3]));
    if (is_request(report + at, MIN(length, size - at), ssrc)) return TRUE;
  }
  return FALSE;
}

gboolean rtp_read(const guint8 *bytes, gsize size, RtpPacket *packet) {
  if (size < RTP_HEADER || bytes[0] >> 6 != 2) return FALSE;
  gsize begin = RTP_HEADER + 4 * (bytes[0] & 15u), padding = bytes[0] & 0x20 ? bytes[size - 1] : 0;
  if (bytes[0] & 0x10) begin += begin + 4 <= size ? 4 + 4 * (gsize)(bytes[begin + 2] << 8 | bytes[begin + 3]) : size;
  if (begin + padding >= size) return FALSE;
  *packet = (RtpPacket){(guint16)(bytes[2] << 8 | bytes[3]), rtp_get32(bytes + 4), bytes[1] >> 7, bytes + begin, size - begin - padding};
  return TRUE;
}

void rtp_pace(RtpPace *pace) {
  gint64 now_us = g_get_monotonic_time();
  if (now_us - pace->last_us > PORTION_DISTANCE_US) pace->count = 0;
  pace->last_us = now_us;
  if (++pace->count % PORTION) return;
  struct timespec pause = {0, PORTION_PAUSE_NS};
  nanosleep(&pause, NULL);
}

typedef struct {
  RtpSend send;
  gpointer data;
} Follower;

static void pass(GstBuffer *packet, gboolean is_last, const Follower *follower) {
  guint8 bytes[RTP_MOST_PACKET];
  gsize size = gst_buffer_extract(packet, 0, bytes, sizeof bytes);
  if (size >= RTP_HEADER) follower->send(bytes, size, is_last, follower->data);
}

static void pass_all(GstBufferList *packets, const Follower *follower) {
  guint count = gst_buffer_list_length(packets);
  for (guint at = 0; at < count; at++) pass(gst_buffer_list_get(packets, at), at + 1 == count, follower);
}

static GstPadProbeReturn on_packets(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER_LIST)
    pass_all(GST_PAD_PROBE_INFO_BUFFER_LIST(info), data);
  else pass(GST_PAD_PROBE_INFO_BUFFER(info), TRUE, data);
  return GST_PAD_PROBE_DROP;
}

void rtp_follow_payloader(GstElement *payloader, const RtpStream *stream, RtpSend send, gpointer data) {
  Follower *follower = g_new(Follower, 1);
  *follower = (Follower){send, data};
  g_object_set(payloader, "pt", (guint)stream->payload, "ssrc", stream->ssrc, "mtu", (guint)RTP_MTU, "timestamp-offset", 0u,
               "seqnum-offset", (gint)stream->first_sequence, NULL);
  GstPad *output = gst_element_get_static_pad(payloader, "src");
  gst_pad_add_probe(output, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_packets, follower, g_free);
  gst_object_unref(output);
}
