/* dlsym(RTLD_NEXT) */
#define _GNU_SOURCE
#include "camera.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/*
 * Functions of libc, defined again for all libraries of this program: whatever leads to an address (the URI, a redirect,
 * a playlist, the answer of a resolver, a transport header), the connection is checked here.
 */

typedef struct {
  guint8 bytes[16];
  guint prefix;
} Network;

static const struct {
  const gchar *address;
  guint prefix;
} FORBIDDEN[] = {
    {"0.0.0.0", 8},     {"127.0.0.0", 8}, {"169.254.0.0", 16}, {"224.0.0.0", 4}, {"240.0.0.0", 4}, {"100.100.100.200", 32},
    {"::", 128},        {"::1", 128},     {"fe80::", 10},      {"ff00::", 8},    {"fd00:ec2::254", 128},
};

static GArray *allowed;
static gint has_refused, has_connected, is_exceeded;
static gint64 most_received;
static gint64 received;

/* IPv4 addresses in their IPv6 form; so are those that translators embed. */
static gboolean parse(const gchar *text, Network *network, gboolean *is_v4) {
  memset(network, 0, sizeof *network);
  memset(network->bytes + 10, 0xff, 2);
  *is_v4 = inet_pton(AF_INET, text, network->bytes + 12) == 1;
  return *is_v4 || inet_pton(AF_INET6, text, network->bytes) == 1;
}

static void unwrap(guint8 bytes[16]) {
  static const guint8 NAT64[12] = {0x00, 0x64, 0xff, 0x9b};
  static const guint8 COMPATIBLE[12] = {0};
  guint8 v4[4];
  gboolean is_compatible = !memcmp(bytes, COMPATIBLE, 12) && (bytes[12] || bytes[13]);
  if (bytes[0] == 0x20 && bytes[1] == 0x02) memcpy(v4, bytes + 2, 4);
  else if (is_compatible || !memcmp(bytes, NAT64, 12)) memcpy(v4, bytes + 12, 4);
  else return;
  memset(bytes, 0, 10);
  memset(bytes + 10, 0xff, 2);
  memcpy(bytes + 12, v4, 4);
}

static gboolean is_in(const guint8 bytes[16], const Network *network) {
  guint whole = network->prefix / 8, rest = network->prefix % 8;
  if (memcmp(bytes, network->bytes, whole)) return FALSE;
  return rest == 0 || ((bytes[whole] ^ network->bytes[whole]) >> (8 - rest)) == 0;
}

gboolean guard_allow(const gchar *text) {
  gchar **parts = g_strsplit(text, "/", 2);
  Network network;
  gboolean is_v4 = FALSE;
  gboolean is_valid = parts[0] && parts[1] && parse(parts[0], &network, &is_v4);
  if (is_valid) {
    network.prefix = (guint)g_ascii_strtoull(parts[1], NULL, 10) + (is_v4 ? 96 : 0);
    is_valid = network.prefix <= 128;
  }
  if (!allowed) allowed = g_array_new(FALSE, FALSE, sizeof(Network));
  if (is_valid) g_array_append_val(allowed, network);
  g_strfreev(parts);
  return is_valid;
}

static gboolean is_forbidden(const guint8 bytes[16]) {
  for (guint at = 0; allowed && at < allowed->len; at++)
    if (is_in(bytes, &g_array_index(allowed, Network, at))) return FALSE;
  for (guint at = 0; at < G_N_ELEMENTS(FORBIDDEN); at++) {
    Network network;
    gboolean is_v4;
    parse(FORBIDDEN[at].address, &network, &is_v4);
    network.prefix = FORBIDDEN[at].prefix + (is_v4 ? 96 : 0);
    if (is_in(bytes, &network)) return TRUE;
  }
  return FALSE;
}

static gboolean refuses(const struct sockaddr *to) {
  guint8 bytes[16] = {0};
  if (!to || (to->sa_family != AF_INET && to->sa_family != AF_INET6)) return FALSE;
  if (to->sa_family == AF_INET) {
    memset(bytes + 10, 0xff, 2);
    memcpy(bytes + 12, &((const struct sockaddr_in *)to)->sin_addr, 4);
  } else {
    memcpy(bytes, &((const struct sockaddr_in6 *)to)->sin6_addr, 16);
    unwrap(bytes);
  }
  g_atomic_int_set(&has_connected, TRUE);
  if (!is_forbidden(bytes)) return FALSE;
  g_atomic_int_set(&has_refused, TRUE);
  errno = EACCES;
  return TRUE;
}

gboolean guard_has_refused(void) { return g_atomic_int_get(&has_refused); }
gboolean guard_has_connected(void) { return g_atomic_int_get(&has_connected); }
gboolean guard_is_exceeded(void) { return g_atomic_int_get(&is_exceeded); }

void guard_limit_received(gint64 bytes) {
  __atomic_store_n(&received, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&most_received, bytes, __ATOMIC_RELAXED);
}

#define NEXT(name)                                                   \
  static __typeof__(&name) next;                                     \
  if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

int connect(int fd, const struct sockaddr *to, socklen_t length) {
  NEXT(connect)
  return refuses(to) ? -1 : next(fd, to, length);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t length) {
  NEXT(sendto)
  return refuses(to) ? -1 : next(fd, data, size, flags, to, length);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  NEXT(sendmsg)
  return refuses(message->msg_name) ? -1 : next(fd, message, flags);
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags) {
  NEXT(sendmmsg)
  for (unsigned int at = 0; at < count; at++)
    if (refuses(messages[at].msg_hdr.msg_name)) return -1;
  return next(fd, messages, count, flags);
}

/* What TCP connections receive; an endless answer ends here. */
ssize_t recv(int fd, void *data, size_t size, int flags) {
  NEXT(recv)
  gint64 most = __atomic_load_n(&most_received, __ATOMIC_RELAXED);
  if (most > 0 && __atomic_load_n(&received, __ATOMIC_RELAXED) > most) {
    g_atomic_int_set(&is_exceeded, TRUE);
    errno = ECONNRESET;
    return -1;
  }
  ssize_t count = next(fd, data, size, flags);
  if (most > 0 && count > 0) __atomic_add_fetch(&received, count, __ATOMIC_RELAXED);
  return count;
}

int guard_connect_own(int fd, const struct sockaddr *to, socklen_t length) {
  NEXT(connect)
  return next(fd, to, length);
}
