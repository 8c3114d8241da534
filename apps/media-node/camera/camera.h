/*
 * Reads the streams of one camera and sends them as RTP to loopback ports. Commands are lines on stdin with words that
 * tabs separate, events are JSON objects, one a line, on stdout. The address and the credentials come by stdin, so that
 * no list of processes shows them; no event contains them.
 *
 *   allow <address>/<prefix>       a network that may be reached although it is forbidden by default
 *   files <folder>                 file URIs may name files below this folder
 *   trust <CA file>|all            how certificates are checked; without it by the authorities of the system
 *   copy-video                     no video is encoded: one that needs it is an `error` with its `codec`
 *   open <uri> <user> <password> <tcp|udp|auto> <timeout ms> <cache ms>
 *   send <index> <port> <source port> <payload type> <ssrc> <first sequence number> [<ssrc> <first sequence number>...]
 *   refuse <index>                 the stream is not wanted
 *   burst <index> <layer>          sends the pictures since the last key frame on a lane, and the live ones after them
 *   rest <index> <layer>           ends that
 *   check                          reports the elements of GStreamer that are missing: `checked`
 *   stop
 *
 * `open` leads to a `stream` for each stream of the camera and to `streams` when all are known, or were waited for long
 * enough: over RTSP the `stream` of a late one follows. Each waits for its `send` or `refuse`. `media` follows with its
 * first packet, `waiting` each second before it and `sent` after it. `error` has a cause, and ends the program like
 * `ended`. RTP timestamps are those of CLOCK_MONOTONIC: a program that starts again continues them.
 *
 * A stream with several SSRCs sends the live pictures on its last layer. Those with odd numbers are lanes for receivers
 * that join between two key frames. The media worker changes from a lane to the live layer with a key frame. The layers
 * with even numbers have no pictures: the worker chooses one when the bandwidth seems too low for the layer above, waits
 * in vain for its key frame, and meanwhile forwards what it did. `burst` reports how many pictures were sent when they
 * are up to date; 0: none is kept.
 */
#ifndef CAMERA_H
#define CAMERA_H

#include <gio/gio.h>
#include <gst/gst.h>

#include "../native/live-pipeline.h"
#include "../native/rtp-batch.h"

typedef struct {
  gchar *uri, *user, *password;
  const gchar *transport;
  gint timeout_ms;
  /* The delay that evens out an unsteady network, ms. */
  gint cache_ms;
  gchar *files;
  /* A file of certificate authorities, or `all`; NULL: those of the system. */
  gchar *trust;
  /* Videos are copied or refused. */
  gboolean copies_video;
} Address;

/* Files do not call each other in a cycle: a callback leads back. */

/* address.c */
const Address *camera_address(void);
/* FALSE: the command is no setting, or incomplete. */
gboolean address_configure(gchar **words, guint count);
const Address *address_open(gchar **words);

/* ending.c */
/* The first failure ends the program; thread-safe. */
void camera_failed(const gchar *cause, const gchar *message);
/* With the message of the cause. */
void camera_failed_by(const gchar *cause);
/* This video would have to be encoded. */
void camera_video_refused(const gchar *codec);
void camera_ended(void);

/* failure.c: ends the program with the cause of the message, or opens the camera again. */
void failure_of_message(GstMessage *message);

/* guard.c: no connection leads to a forbidden address. */
gboolean guard_allow(const gchar *network);
/* A connection was refused since the start. */
gboolean guard_has_refused(void);
/* A name was resolved: something was connected, or refused. */
gboolean guard_has_connected(void);
/* Limits what is received until the streams are known; 0: no limit. */
void guard_limit_received(gint64 bytes);
gboolean guard_is_exceeded(void);
/* For sockets of this program: connects without a check. */
int guard_connect_own(int fd, const struct sockaddr *to, socklen_t length);

/* elements.c: which elements exist, and how sources are set up. */
void elements_keep(const gchar *scheme);
/* Reports the elements that this machine lacks. */
void elements_check(void);
/* Credentials, certificates and timeouts of `souphttpsrc`. */
void elements_set_up_http(GstElement *source, const gchar *uri);
GTlsDatabase *elements_tls_database(void);
gboolean elements_has_rejected_certificate(void);

/* codecs.c */
typedef struct {
  const gchar *name;
  gboolean is_video;
  /* In SDP, with `|` between several. */
  const gchar *encodings;
  /* In containers. */
  const gchar *caps;
  /* From RTP packets to the stream. */
  const gchar *depayloader;
  const gchar *decoder;
} Codec;
/* Loads the plugins of a codec in the background, while the camera is asked for the stream. */
void codec_prepare(const Codec *codec);
const Codec *codec_of_rtp(const GstStructure *caps);
const Codec *codec_of_stream(const GstStructure *caps);

/* rtsp.c, container.c: add the elements that read the camera. */
gboolean rtsp_open(void);
gboolean container_open(void);
/* Opens the camera again over UDP where it refuses TCP; FALSE if that has no prospect. */
gboolean rtsp_try_udp(void);

/* pictures.c: an element that makes pictures of RTP packets with H.264. */
#define PICTURES "pictures"
void pictures_register(void);

/* packets.c: from a picture in a byte stream to RTP packets without SSRC and sequence number. */
typedef struct {
  guint8 type;
  guint32 timestamp;
  RtpSend send;
  gpointer data;
} PacketsOf;
void packets_send(const PacketsOf *of, const guint8 *picture, gsize size);

/* departures.c: copied media that waits for its time; a line for each track. */
typedef struct Line Line;
Line *departures_line(void (*send)(GstBuffer *buffer, gpointer data), gpointer data);
/* By the thread that reads, as the others below. */
void departures_add(Line *line, GstBuffer *buffer, gint64 due_us);
/* G_MAXINT64: nothing waits. */
gint64 departures_next_us(void);
void departures_send(void);
/* Waits until everything is sent, or the program ends. */
void departures_finish(void);

/* read-ahead.c: reads the RTSP connection that is opened next. */
void read_ahead_open(gboolean uses_udp);
/* The thread that reads the connection sends what is due. */
gboolean read_ahead_sends(void);

/* arrival.c: an element that manages RTP over TCP. */
#define ARRIVALS "arrivals"
void arrival_register(void);
/* FALSE: the packet has to come by its pad. */
gboolean arrival_take(gint channel, const guint8 *packet, gsize size);
/* The pad of a stream has its receiver. */
void arrival_release(GstPad *pad);

#define MOST_LAYERS 10

/* track.c: the streams of the camera. */
typedef struct {
  gboolean is_rtp;
  /* The camera has announced a video that can be read. */
  gboolean has_video;
} Origin;
void track_found(GstPad *pad, const Codec *codec, const Origin *origin);
void track_discard(GstPad *pad);
void tracks_complete(void);
typedef struct {
  /* RTP and RTCP leave from the source port; 0: any. */
  gint port, source_port, payload;
  guint count;
  struct {
    guint32 ssrc;
    guint16 first_sequence;
  } layers[MOST_LAYERS];
} Output;
void track_send(gint index, const Output *output);
void track_refuse(gint index);

typedef struct Sender Sender;
/* NULL before `send`. */
Sender *track_sender(gint index);

/* back.c: from the queue of a track to its packets. NULL after a failure. `newest`: the largest time that was decoded. */
typedef struct {
  const Codec *codec;
  /* As packets. */
  gboolean is_rtp;
  gboolean is_copied;
} Form;
GstElement *back_new(const Form *form, Sender *sender, const GstClockTime *newest);

/* h264.c: types of units, and what their first bytes say. */
enum { H264_SLICE = 1, H264_IDR = 5, H264_SEI, H264_SPS, H264_PPS, H264_DELIMITER, H264_FILLER = 12, H264_STAP_A = 24, H264_FU_A = 28 };
/* Of a parameter set; G_MAXUINT if it is too short. */
guint h264_set_id(const guint8 *unit, gsize size);
typedef struct {
  guint first_macroblock;
  gboolean is_intra;
} H264Slice;
H264Slice h264_slice(const guint8 *unit, gsize size);
/* Of the pictures before they are cropped; FALSE if it is too short. */
gboolean sps_size(const guint8 *unit, gsize size, gint *width, gint *height);
/* Whether browsers decode H.264 with this sequence parameter set. They do not reorder pictures. */
typedef enum { DECODABLE_YES, DECODABLE_NO, DECODABLE_UNKNOWN } Decodable;
Decodable sps_check(const guint8 *unit, gsize size);
/* The first sequence parameter set in a byte stream, in the caps of packets or of a container. */
Decodable sps_check_stream(const guint8 *data, gsize size);
Decodable sps_check_caps(const GstStructure *caps);

/* timing.c. `when_reordered`: pictures arrive later than their time by this (B-frames); NULL: no matter. */
void timing_start(gboolean is_live, gint cache_ms, void (*when_reordered)(GstClockTime by));
void timing_stop(void);
/* Between the time of media and its departure. */
gint64 timing_delay_us(void);
/* Gives buffers at the input of a queue their time. */
void timing_follow(GstPad *queue_input);
/* When it is time to send the buffer, which may be replaced. The first picture is sent at once. */
GstBuffer *timing_due(GstBuffer *buffer, gboolean is_picture, gint64 *due_us);
/* FALSE: the program ends. */
gboolean timing_sleep(gint64 until_us);
/* Waits until it is time to send the buffer. */
GstBuffer *timing_wait(GstBuffer *buffer, gboolean is_picture);
/* All tracks of the camera are sent later by this, as pictures leave the decoder in another order. */
void timing_reordered(GstClockTime by);
/* Receivers take a picture that goes back for an old one. Returns the timestamp, or `least_step` after the last one if it
   comes too early; much earlier ones begin again. */
guint32 timing_order(gint clock_rate, guint32 timestamp, guint32 last, gint32 least_step);

/* watch.c: ends the program when the camera sends nothing. */
void watch_start(gint timeout_ms);
void watch_progress(void);
/* A packet of the camera has arrived or was sent. */
void watch_media(gboolean is_video);
/* +1 and -1: nothing can arrive while a stream waits for its `send` or `refuse`. */
void watch_hold(gint change);
/* The first stream was found: calls `complete` some time later. `awaits_video`: it is the sound of a video. */
void watch_streams(gboolean awaits_video, GSourceFunc complete);

/* sender.c: sends RTP packets and sender reports. */
Sender *sender_new(const Output *output, gint index, gboolean is_video);
/* Sends what this payloader makes, and goes on with the sequence numbers of the last one. */
void sender_follow(Sender *sender, GstElement *payloader);
/* Sends a picture in a byte stream of H.264, or the payload of an RTP packet with sound, at the time of the buffer. */
void sender_copy(Sender *sender, GstBuffer *buffer);
/* Where requests for a key frame go; NULL: nowhere. */
void sender_set_encoder(Sender *sender, GstElement *encoder);
void sender_burst(Sender *sender, guint layer);
void sender_rest(Sender *sender, guint layer);

/* lane.c: keeps the packets since the last key frame for new receivers. Called with the lock of the sender held. */
typedef struct Lanes Lanes;
typedef struct {
  /* Of the track. */
  gint index;
  guint layers;
  /* Sends a packet on another layer than the live one, with those that follow. */
  void (*send)(guint layer, guint8 *packet, gsize size, gpointer data);
  gpointer data;
} LanesOf;
Lanes *lanes_new(const LanesOf *of);
/* A live packet was sent. */
void lanes_follow(Lanes *lanes, const guint8 *packet, gsize size);
void lanes_burst(Lanes *lanes, guint layer);
/* Called every few milliseconds until it returns FALSE. */
gboolean lanes_step(Lanes *lanes);
void lanes_rest(Lanes *lanes, guint layer);
/* Called from time to time, and with each live packet. */
void lanes_keep_alive(Lanes *lanes, gint payload);
/* The kept packets, each after its size, and the timestamp to repeat them with, while the live layer is silent after the
   first picture; else NULL. */
GByteArray *lanes_only_picture(const Lanes *lanes, guint32 *timestamp);

#endif
