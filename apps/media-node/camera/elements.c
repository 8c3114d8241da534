/* dlsym(RTLD_NEXT) */
#define _GNU_SOURCE
#include "camera.h"

#include <dlfcn.h>
#include <gio/gio.h>
#include <gst/rtsp/rtsp.h>
#include <string.h>

/* Larger descriptions of a session are refused before they are received. */
#define MOST_RTSP_BODY (256 * 1024)

/* A camera chooses among the elements by what it sends: others do not exist in this process. */
static const gchar *const KEPT[] = {
    "queue", "fakesink", "capsfilter", "typefind", "identity", "bin", "pipeline",
    /* From streams to packets. */
    "h264parse", "h265parse", "mpeg4videoparse", "aacparse", "mpegaudioparse", "opusparse", "avdec_h264", "avdec_h265",
    "jpegdec", "avdec_mpeg4", "vp8dec", "vp9dec", "opusdec", "avdec_aac", "avdec_mp3", "alawdec", "mulawdec",
    "avdec_g722", "avdec_g726", "videoconvert", "x264enc", "audioconvert", "audioresample", "opusenc", "rtph264pay",
    "rtpopuspay"};
static const gchar *const KEPT_OF_RTSP[] = {
    "rtspsrc", ARRIVALS, "rtpbin", "rtpsession", "rtpssrcdemux", "rtpptdemux", "rtpjitterbuffer", "rtpstorage", "funnel", "udpsrc",
    "udpsink", "multiudpsink", "appsrc", "fakesrc", "rtpfunnel", PICTURES, "rtph265depay", "rtpjpegdepay",
    "rtpmp4vdepay", "rtpvp8depay", "rtpvp9depay", "rtpopusdepay", "rtpmp4gdepay", "rtpmp4adepay", "rtpmpadepay",
    "rtppcmadepay", "rtppcmudepay", "rtpg722depay", "rtpg726depay", "rtpL16depay"};
static const gchar *const KEPT_OF_CONTAINERS[] = {"parsebin", "multiqueue", "queue2", "multipartdemux", "qtdemux",
                                                  "matroskademux", "tsdemux", "flvdemux", "jpegparse", "vp9parse"};
static const gchar *const KEPT_OF_HTTP[] = {"souphttpsrc", "hlsdemux", "id3demux", "icydemux"};
static const gchar *const KEPT_OF_FILES[] = {"filesrc"};

static gint has_rejected_certificate;

#define IS_KEPT(list, name) is_listed(list, G_N_ELEMENTS(list), name)

static gboolean is_listed(const gchar *const *list, guint count, const gchar *name) {
  for (guint at = 0; at < count; at++)
    if (!strcmp(list[at], name)) return TRUE;
  return FALSE;
}

static gboolean is_kept(const gchar *name, const gchar *scheme) {
  if (IS_KEPT(KEPT, name)) return TRUE;
  if (g_str_has_prefix(scheme, "rtsp")) return IS_KEPT(KEPT_OF_RTSP, name);
  if (IS_KEPT(KEPT_OF_CONTAINERS, name)) return TRUE;
  return !strcmp(scheme, "file") ? IS_KEPT(KEPT_OF_FILES, name) : IS_KEPT(KEPT_OF_HTTP, name);
}

#define ADD_MISSING(missing, list) live_add_missing(missing, list, G_N_ELEMENTS(list))

void elements_check(void) {
  GString *missing = g_string_new(NULL);
  ADD_MISSING(missing, KEPT);
  ADD_MISSING(missing, KEPT_OF_RTSP);
  ADD_MISSING(missing, KEPT_OF_CONTAINERS);
  ADD_MISSING(missing, KEPT_OF_HTTP);
  ADD_MISSING(missing, KEPT_OF_FILES);
  if (!g_tls_backend_supports_tls(g_tls_backend_get_default())) g_string_append(missing, " TLS");
  live_report_missing(missing);
}

void elements_keep(const gchar *scheme) {
  GstRegistry *registry = gst_registry_get();
  GList *factories = gst_registry_get_feature_list(registry, GST_TYPE_ELEMENT_FACTORY);
  for (GList *at = factories; at; at = at->next)
    if (!is_kept(gst_plugin_feature_get_name(at->data), scheme)) gst_registry_remove_feature(registry, at->data);
  gst_plugin_feature_list_free(factories);
}

GTlsDatabase *elements_tls_database(void) {
  const gchar *trust = camera_address()->trust;
  GError *error = NULL;
  if (!trust || !strcmp(trust, "all")) return NULL;
  GTlsDatabase *database = g_tls_file_database_new(trust, &error);
  if (!database) camera_failed("failed", "the file of certificate authorities cannot be read");
  g_clear_error(&error);
  return database;
}

gboolean elements_has_rejected_certificate(void) { return g_atomic_int_get(&has_rejected_certificate); }

/* Credentials are for the camera only, not for where it redirects to. */
static gboolean is_host_of_camera(const gchar *uri) {
  GUri *camera = g_uri_parse(camera_address()->uri, G_URI_FLAGS_NONE, NULL);
  GUri *other = g_uri_parse(uri, G_URI_FLAGS_NONE, NULL);
  gboolean is_same = camera && other && !g_strcmp0(g_uri_get_scheme(camera), g_uri_get_scheme(other)) &&
                     !g_strcmp0(g_uri_get_host(camera), g_uri_get_host(other)) &&
                     g_uri_get_port(camera) == g_uri_get_port(other);
  if (camera) g_uri_unref(camera);
  if (other) g_uri_unref(other);
  return is_same;
}

void elements_set_up_http(GstElement *source, const gchar *uri) {
  const Address *address = camera_address();
  gboolean has_credentials = *address->user != '\0';
  g_object_set(source, "automatic-redirect", !has_credentials, "retries", 0, "compress", FALSE, NULL);
  g_object_set(source, "timeout", (guint)MAX(1, address->timeout_ms / 1000), NULL);
  if (has_credentials && is_host_of_camera(uri))
    g_object_set(source, "user-id", address->user, "user-pw", address->password, NULL);
  if (!g_strcmp0(address->trust, "all")) g_object_set(source, "ssl-strict", FALSE, NULL);
  GTlsDatabase *database = elements_tls_database();
  if (!database) return;
  g_object_set(source, "tls-database", database, NULL);
  g_object_unref(database);
}

#define NEXT(name)                                                   \
  static __typeof__(&name) next;                                     \
  if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

/* A playlist leads to other files: by HTTP only, with the same settings. */
GstElement *gst_element_make_from_uri(const GstURIType type, const gchar *uri, const gchar *name, GError **error) {
  NEXT(gst_element_make_from_uri)
  GstElement *element = next(type, uri, name, error);
  gboolean is_http_camera = g_str_has_prefix(camera_address()->uri, "http");
  if (element && is_http_camera && g_str_has_prefix(uri, "http")) elements_set_up_http(element, uri);
  else if (is_http_camera) camera_failed_by("forbidden-address");
  return element;
}

/* Asked about each certificate that is not trusted; the errors of the elements do not name this cause. */
gboolean g_tls_connection_emit_accept_certificate(GTlsConnection *connection, GTlsCertificate *certificate,
                                                  GTlsCertificateFlags errors) {
  NEXT(g_tls_connection_emit_accept_certificate)
  gboolean is_accepted = next(connection, certificate, errors);
  if (!is_accepted) g_atomic_int_set(&has_rejected_certificate, TRUE);
  return is_accepted;
}

/* A redirect may lead to another host, which would receive the credentials. */
GstRTSPResult gst_rtsp_connection_create(const GstRTSPUrl *url, GstRTSPConnection **connection) {
  NEXT(gst_rtsp_connection_create)
  GUri *camera = g_uri_parse(camera_address()->uri, G_URI_FLAGS_NONE, NULL);
  gboolean is_redirected = camera && g_strcmp0(g_uri_get_host(camera), url->host);
  if (camera) g_uri_unref(camera);
  if (is_redirected && *camera_address()->user) return GST_RTSP_EINVAL;
  GstRTSPResult result = next(url, connection);
  if (result == GST_RTSP_OK) gst_rtsp_connection_set_content_length_limit(*connection, MOST_RTSP_BODY);
  return result;
}
