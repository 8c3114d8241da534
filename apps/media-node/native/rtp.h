/* Sends RTP and its reports to the media worker on loopback. */
#ifndef RTP_H
#define RTP_H

#include <gst/gst.h>
#include <sys/socket.h>

#define RTP_MTU 1200
/* No packet is larger. */
#define RTP_MOST_PACKET 1500
#define RTP_HEADER 12
#define RTP_REPORT_MS 1000

typedef int (*RtpConnect)(int fd, const struct sockaddr *to, socklen_t length);
/*
 * A socket that sends from the source port (0: any) to the port; -1 after a failure. The caller keeps the source port
 * between two programs, with a socket that allows this one.
 */
int rtp_open(gint port, gint source_port, RtpConnect connect_to);
/* A socket at a free port; -1 after a failure. */
int rtp_open_any(gint *port);

guint8 *rtp_put32(guint8 *at, guint32 value);
guint32 rtp_get32(const guint8 *at);

typedef struct {
  guint32 ssrc, packets;
  guint64 bytes;
  gint clock_rate;
  const gchar *name;
} RtpReport;
/* A sender report: it relates the wall clock to timestamps, which are those of CLOCK_MONOTONIC. */
void rtp_send_report(int socket, const RtpReport *report);

/* A picture loss indication (RFC 4585) or a full intra request (RFC 5104) for this SSRC. */
gboolean rtp_wants_key_frame(const guint8 *report, gssize size, guint32 ssrc);

typedef struct {
  guint16 sequence;
  guint32 timestamp;
  gboolean is_marked;
  const guint8 *payload;
  gsize size;
} RtpPacket;
/* FALSE: it is none, or empty. */
gboolean rtp_read(const guint8 *bytes, gsize size, RtpPacket *packet);

/* A burst is sent in portions, so that the receive buffer of the media worker does not overflow. */
typedef struct {
  gint count;
  gint64 last_us;
} RtpPace;
void rtp_pace(RtpPace *pace);

typedef struct {
  gint payload;
  guint32 ssrc;
  guint16 first_sequence;
} RtpStream;
/* `is_last`: none follows at once. */
typedef void (*RtpSend)(guint8 *packet, gsize size, gboolean is_last, gpointer data);
/* Each packet is passed to `send` where it leaves the payloader. */
void rtp_follow_payloader(GstElement *payloader, const RtpStream *stream, RtpSend send, gpointer data);

#endif
