/* dlsym(RTLD_NEXT) */
#define _GNU_SOURCE
#include "camera.h"

#include <dlfcn.h>
#include <gst/rtsp/rtsp.h>
#include <poll.h>
#include <string.h>

/*
 * Functions of GIO and GStreamer, defined again for the RTSP connection, of which one exists at a time. It reads each
 * packet with three calls, and passes it through a message and several pads. Here one call reads what has arrived, and
 * packets of streams that have their receiver go there at once; the connection sees everything else.
 */

/* More than the largest packet with its mark. */
#define MOST_AHEAD (128 * 1024)
#define MARK '$'
#define MARK_SIZE 4

#define NEXT(name)                                                   \
  static __typeof__(&name) next;                                     \
  if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

static struct {
  GInputStream *stream;
  gsize at, end;
  /* The next byte begins a message. */
  gboolean is_at_begin;
  gint64 until_us;
  /* -1: the stream has no socket of its own (TLS). */
  gint socket, cancellation;
  guint8 bytes[MOST_AHEAD];
} ahead;

static gboolean is_open, is_over_udp;

void read_ahead_open(gboolean uses_udp) {
  is_over_udp = uses_udp;
  is_open = TRUE;
}

gboolean read_ahead_sends(void) { return ahead.stream && ahead.socket >= 0 && !is_over_udp; }

static gint socket_of(GInputStream *stream) {
  GSocket *socket = NULL;
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(stream), "socket")) g_object_get(stream, "socket", &socket, NULL);
  gint fd = socket ? g_socket_get_fd(socket) : -1;
  g_clear_object(&socket);
  return fd;
}

static void follow(GInputStream *stream, GCancellable *cancellable) {
  if (ahead.stream == stream) return;
  if (ahead.stream) g_object_remove_weak_pointer(G_OBJECT(ahead.stream), (gpointer *)&ahead.stream);
  ahead.stream = stream;
  ahead.at = ahead.end = 0;
  g_object_add_weak_pointer(G_OBJECT(stream), (gpointer *)&ahead.stream);
  /* Otherwise each wait creates and closes the descriptor of the cancellable. */
  ahead.cancellation = g_cancellable_get_fd(cancellable);
  ahead.socket = socket_of(stream);
}

/* Half a message must not be given up: the next one would begin in its midst. */
static gint64 deadline_us(void) { return ahead.is_at_begin ? ahead.until_us : G_MAXINT64; }

static gint timeout_ms(void) {
  gint64 until_us = MIN(departures_next_us(), deadline_us()), now_us = g_get_monotonic_time();
  if (until_us == G_MAXINT64) return -1;
  return until_us <= now_us ? 0 : (gint)MIN((until_us - now_us + 999) / 1000, G_MAXINT);
}

/* Sends meanwhile. FALSE: something else is due. The read reports errors. */
static gboolean wait_for_bytes(void) {
  struct pollfd sources[] = {{ahead.socket, POLLIN, 0}, {ahead.cancellation, POLLIN, 0}};
  for (;;) {
    departures_send();
    if (poll(sources, G_N_ELEMENTS(sources), timeout_ms()) != 0) return TRUE;
    if (g_get_monotonic_time() >= deadline_us()) return FALSE;
  }
}

static gssize time_out(GError **error) {
  g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "something else is due");
  return -1;
}

static gssize fill(GInputStream *stream, GCancellable *cancellable, GError **error) {
  NEXT(g_input_stream_read)
  if (ahead.socket >= 0 && !wait_for_bytes()) return time_out(error);
  memmove(ahead.bytes, ahead.bytes + ahead.at, ahead.end - ahead.at);
  ahead.end -= ahead.at, ahead.at = 0;
  gssize size = next(stream, ahead.bytes + ahead.end, sizeof ahead.bytes - ahead.end, cancellable, error);
  if (size > 0) ahead.end += (gsize)size;
  return size;
}

/* Of the packet that begins with the next byte, as far as it is known; 0: something else begins. */
static gsize packet_size(void) {
  const guint8 *mark = ahead.bytes + ahead.at;
  gsize left = ahead.end - ahead.at;
  if (left == 0 || mark[0] != MARK) return 0;
  return left < MARK_SIZE ? MARK_SIZE : MARK_SIZE + (gsize)(mark[2] << 8 | mark[3]);
}

/* Up to something that the connection has to see. */
static gssize pass_packets(GInputStream *stream, GCancellable *cancellable, GError **error) {
  for (;;) {
    gsize size = packet_size();
    if (ahead.at == ahead.end || size > ahead.end - ahead.at) {
      gssize count = fill(stream, cancellable, error);
      if (count <= 0) return count;
      continue;
    }
    if (size == 0) return 1;
    if (!arrival_take(ahead.bytes[ahead.at + 1], ahead.bytes + ahead.at + MARK_SIZE, size - MARK_SIZE)) return 1;
    ahead.at += size;
    if (g_get_monotonic_time() >= ahead.until_us) return time_out(error);
  }
}

gssize g_input_stream_read(GInputStream *stream, void *buffer, gsize count, GCancellable *cancellable, GError **error) {
  NEXT(g_input_stream_read)
  if (!is_open) return next(stream, buffer, count, cancellable, error);
  follow(stream, cancellable);
  if (ahead.is_at_begin) {
    gssize result = pass_packets(stream, cancellable, error);
    if (result <= 0) return result;
    ahead.is_at_begin = FALSE;
  }
  if (ahead.at == ahead.end) {
    gssize size = fill(stream, cancellable, error);
    if (size <= 0) return size;
  }
  count = MIN(count, ahead.end - ahead.at);
  memcpy(buffer, ahead.bytes + ahead.at, count);
  ahead.at += count;
  return (gssize)count;
}

GstRTSPResult gst_rtsp_connection_receive_usec(GstRTSPConnection *connection, GstRTSPMessage *message, gint64 timeout_us) {
  NEXT(gst_rtsp_connection_receive_usec)
  ahead.is_at_begin = TRUE;
  /* 0: it is overdue. */
  ahead.until_us = g_get_monotonic_time() + MAX(timeout_us, G_USEC_PER_SEC);
  GstRTSPResult result = next(connection, message, timeout_us);
  ahead.is_at_begin = FALSE;
  return result;
}
