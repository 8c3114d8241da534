/* readlink */
#define _GNU_SOURCE
#include "camera.h"

#include <fcntl.h>
#include <gio/gio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a file or playlist, before its streams are known. */
#define MOST_RECEIVED (64 * 1024 * 1024)

static void on_parsed(GstElement *parser, GstPad *pad, gpointer data) {
  (void)parser, (void)data;
  GstCaps *caps = gst_pad_get_current_caps(pad);
  if (!caps) caps = gst_pad_query_caps(pad, NULL);
  const Codec *codec = gst_caps_is_empty(caps) ? NULL : codec_of_stream(gst_caps_get_structure(caps, 0));
  if (codec) track_found(pad, codec, &(Origin){.is_rtp = FALSE});
  else track_discard(pad);
  gst_caps_unref(caps);
}

static void on_element(GstBin *bin, GstBin *parent, GstElement *element, gpointer data) {
  (void)bin, (void)parent, (void)data;
  watch_progress();
  if (!strcmp(G_OBJECT_TYPE_NAME(element), "GstMultipartDemux")) g_object_set(element, "single-stream", TRUE, NULL);
}

static gboolean is_below(const gchar *path, const gchar *folder) {
  gsize length = strlen(folder);
  return g_str_has_prefix(path, folder) && (path[length] == '/' || (length == 1 && path[0] == '/'));
}

/* A descriptor of a regular file below the folder, also where links change meanwhile. */
static int open_file(const gchar *uri, const gchar *folder) {
  gchar *name = g_filename_from_uri(uri, NULL, NULL);
  gchar *base = folder && *folder ? realpath(folder, NULL) : NULL;
  int fd = name && base ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
  gchar link[64], path[PATH_MAX];
  struct stat facts;
  g_snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = fd < 0 ? -1 : readlink(link, path, sizeof path - 1);
  path[MAX(0, length)] = '\0';
  gboolean is_allowed = length > 0 && is_below(path, base) && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
  if (fd >= 0 && !is_allowed) close(fd);
  g_free(name);
  free(base);
  return is_allowed ? fd : -1;
}

static GstElement *file_source(const Address *address) {
  int fd = open_file(address->uri, address->files);
  if (fd < 0) {
    camera_failed("not-found", "there is no such file below the folder of camera files");
    return NULL;
  }
  GstElement *source = gst_element_factory_make("filesrc", NULL);
  gchar *location = g_strdup_printf("/proc/self/fd/%d", fd);
  g_object_set(source, "location", location, NULL);
  g_free(location);
  return source;
}

static GstElement *http_source(const Address *address) {
  GstElement *source = gst_element_factory_make("souphttpsrc", NULL);
  g_object_set(source, "location", address->uri, "user-agent", "session-service", NULL);
  elements_set_up_http(source, address->uri);
  guard_limit_received(MOST_RECEIVED);
  return source;
}

gboolean container_open(void) {
  const Address *address = camera_address();
  GstElement *source = g_str_has_prefix(address->uri, "http") ? http_source(address) : file_source(address);
  if (!source) return FALSE;
  GstElement *parser = gst_element_factory_make("parsebin", NULL);
  g_signal_connect(parser, "pad-added", G_CALLBACK(on_parsed), NULL);
  g_signal_connect(live_pipeline(), "deep-element-added", G_CALLBACK(on_element), NULL);
  timing_start(FALSE, address->cache_ms, NULL);
  gst_bin_add_many(GST_BIN(live_pipeline()), source, parser, NULL);
  gst_element_link(source, parser);
  return TRUE;
}
