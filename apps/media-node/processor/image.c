/* memfd_create */
#define _GNU_SOURCE
#include "filter.h"

#include <sys/mman.h>
#include <unistd.h>

#define DECODE_TIMEOUT (2 * GST_SECOND)

static gboolean write_all(int fd, const guchar *bytes, gsize size) {
  for (gsize at = 0; at < size;) {
    gssize count = write(fd, bytes + at, size - at);
    if (count <= 0) return FALSE;
    at += (gsize)count;
  }
  return TRUE;
}

static int file_of(const guchar *bytes, gsize size) {
  int fd = memfd_create("image", MFD_CLOEXEC);
  if (fd >= 0 && size > 0 && write_all(fd, bytes, size)) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

/* PNG files begin with this byte, JPEG files with another one. */
static const gchar *decoder_of(const guchar *bytes) { return bytes[0] == 0x89 ? "pngdec" : "jpegdec"; }

static GstSample *decode(const gchar *path, const gchar *decoder) {
  gchar *description = g_strdup_printf(
      "filesrc location=%s ! %s ! videoconvert ! video/x-raw,format=RGBA ! fakesink name=sink sync=false", path, decoder);
  GstElement *pipeline = gst_parse_launch(description, NULL);
  g_free(description);
  if (!pipeline) return NULL;
  GstBus *bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstMessage *end = gst_bus_timed_pop_filtered(bus, DECODE_TIMEOUT, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  GstSample *sample = NULL;
  GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  if (end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_EOS) g_object_get(sink, "last-sample", &sample, NULL);
  if (end) gst_message_unref(end);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(sink);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  return sample;
}

gchar *image_path(int fd) { return g_strdup_printf("/proc/self/fd/%d", fd); }

GstSample *image_load(const gchar *base64, int *kept) {
  gsize size = 0;
  guchar *bytes = g_base64_decode(base64, &size);
  int fd = file_of(bytes, size);
  gchar *path = image_path(fd);
  GstSample *sample = fd >= 0 ? decode(path, decoder_of(bytes)) : NULL;
  if (sample && kept) *kept = fd;
  else if (fd >= 0) close(fd);
  g_free(path);
  g_free(bytes);
  return sample;
}
