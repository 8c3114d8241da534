#include "camera.h"

#include <string.h>

static gboolean is_resource(const GError *error, gint code) { return g_error_matches(error, GST_RESOURCE_ERROR, code); }

static gboolean mentions(const gchar *details, const gchar *text) { return details && strstr(details, text); }

/* A name that was not resolved leads to no connection; nor does an address that a source rejects. */
static gboolean has_unresolved_name(void) {
  const gchar *uri = camera_address()->uri;
  if (guard_has_connected() || g_str_has_prefix(uri, "file:")) return FALSE;
  gchar *host = NULL;
  if (!g_uri_split_network(uri, G_URI_FLAGS_NONE, NULL, &host, NULL, NULL)) return FALSE;
  gboolean is_name = host && !g_hostname_is_ip_address(host);
  g_free(host);
  return is_name;
}

static const gchar *cause_of(const GError *error, const gchar *details) {
  if (elements_has_rejected_certificate()) return "tls";
  if (guard_has_refused()) return "forbidden-address";
  if (guard_is_exceeded()) return "unsupported";
  if (is_resource(error, GST_RESOURCE_ERROR_NOT_AUTHORIZED)) return "unauthorized";
  if (has_unresolved_name()) return "dns";
  if (is_resource(error, GST_RESOURCE_ERROR_NOT_FOUND)) return "not-found";
  if (mentions(details, "imeout") || mentions(details, "imed out")) return "timeout";
  if (error->domain == GST_STREAM_ERROR || is_resource(error, GST_RESOURCE_ERROR_SETTINGS)) return "unsupported";
  if (error->domain == GST_RESOURCE_ERROR) return "unreachable";
  return "failed";
}

/* What a camera answers that cannot send over TCP. */
static gboolean may_want_udp(const GError *error) {
  if (elements_has_rejected_certificate()) return FALSE;
  return error->domain == GST_STREAM_ERROR || is_resource(error, GST_RESOURCE_ERROR_SETTINGS);
}

/* Texts of GStreamer contain the address: they stay here. */
void failure_of_message(GstMessage *message) {
  GError *error = NULL;
  gchar *details = NULL;
  gst_message_parse_error(message, &error, &details);
  const gchar *cause = cause_of(error, details);
  if (!may_want_udp(error) || !rtsp_try_udp()) camera_failed_by(cause);
  g_error_free(error);
  g_free(details);
}
