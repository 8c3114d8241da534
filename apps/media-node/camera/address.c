#include "camera.h"

#include <stdlib.h>
#include <string.h>

static Address address;

const Address *camera_address(void) { return &address; }

static void set(gchar **member, const gchar *value) {
  g_free(*member);
  *member = g_strdup(value);
}

gboolean address_configure(gchar **words, guint count) {
  const gchar *command = words[0];
  if (!strcmp(command, "files") && count == 2) set(&address.files, words[1]);
  else if (!strcmp(command, "trust") && count == 2) set(&address.trust, words[1]);
  else if (!strcmp(command, "copy-video")) address.copies_video = TRUE;
  else return FALSE;
  return TRUE;
}

const Address *address_open(gchar **words) {
  address.uri = g_strdup(words[1]);
  address.user = g_strdup(words[2]);
  address.password = g_strdup(words[3]);
  address.transport = g_strdup(words[4]);
  address.timeout_ms = atoi(words[5]);
  address.cache_ms = atoi(words[6]);
  return &address;
}
