/* dlsym(RTLD_NEXT) */
#define _GNU_SOURCE
#include "camera.h"

#include <dlfcn.h>
#include <string.h>

/* Several packets: GStreamer's connection reads each of them with three calls, of its mark, its length and its bytes. */
#define MOST_AHEAD (64 * 1024)

static struct {
  GInputStream *stream;
  gsize at, end;
  guint8 bytes[MOST_AHEAD];
} ahead;

static void follow(GInputStream *stream, GCancellable *cancellable) {
  if (ahead.stream == stream) return;
  if (ahead.stream) g_object_remove_weak_pointer(G_OBJECT(ahead.stream), (gpointer *)&ahead.stream);
  ahead.stream = stream;
  ahead.at = ahead.end = 0;
  g_object_add_weak_pointer(G_OBJECT(stream), (gpointer *)&ahead.stream);
  /* Otherwise each wait creates and closes the descriptor of the cancellable. */
  g_cancellable_get_fd(cancellable);
}

/* Defined again for GStreamer's connections to RTSP cameras, of which one exists at a time; GIO itself calls its own. */
gssize g_input_stream_read(GInputStream *stream, void *buffer, gsize count, GCancellable *cancellable, GError **error) {
  static __typeof__(&g_input_stream_read) next;
  if (!next) next = (__typeof__(&g_input_stream_read))dlsym(RTLD_NEXT, "g_input_stream_read");
  if (!rtsp_is_open()) return next(stream, buffer, count, cancellable, error);
  follow(stream, cancellable);
  if (ahead.at == ahead.end) {
    gssize size = next(stream, ahead.bytes, sizeof ahead.bytes, cancellable, error);
    if (size <= 0) return size;
    ahead.at = 0, ahead.end = (gsize)size;
  }
  count = MIN(count, ahead.end - ahead.at);
  memcpy(buffer, ahead.bytes + ahead.at, count);
  ahead.at += count;
  return (gssize)count;
}
