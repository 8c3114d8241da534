/*
 * Converts the tracks of one stream: receives plain RTP on loopback, decodes, encodes in another codec, and sends RTP to
 * the SFU. Commands are lines on stdin with words that tabs separate, events are JSON objects, one a line, on stdout.
 *
 *   leg <audio|video> <codec> <payload type> <clock rate> <channels> <ssrc>
 *       <codec> <port> <source port> <ssrc> <payload type> <first sequence number> <most kbit/s> <most pixels>
 *       [<id of the header extension for the orientation of the input>]
 *   filter <audio|video> <type> [<setting> <value>]…
 *   start
 *   limit <audio|video> <most kbit/s> <most pixels>  of the output while it runs
 *   set <id> [<setting> <value>]…  settings of the filter while it runs: `applied` or `refused`
 *   check                          reports the elements of GStreamer that are missing: `checked`
 *   stop
 *
 * `leg` has the input first, then the output. `start` leads to an `opened` with the input ports of each leg and to
 * `started`. `media` follows with the first packet sent, `sent` each second, `keyFrameWanted` when the input cannot be
 * decoded without a key frame, `filterEvent` with a message of the filter. `error` has a cause, and ends the program.
 * RTP timestamps are the arrival times of the media at CLOCK_MONOTONIC, smoothed: a program that starts again continues
 * them.
 */
#ifndef PROCESSOR_H
#define PROCESSOR_H

#include <gst/gst.h>

#include "../native/live-pipeline.h"
#include "../native/rtp-batch.h"

typedef struct {
  const gchar *name;
  gboolean is_video;
  /* From RTP packets to raw media. */
  const gchar *decoding;
  /* From raw media to encoded media; its element `encoder` has a bitrate in this property, in this unit (bit/s). */
  const gchar *encoding, *bitrate_property;
  gint bitrate_unit;
  /* It distributes bits as if the picture rate was always the usual one. */
  gboolean is_steady;
  const gchar *payloader;
} Codec;
const Codec *codec_of(const gchar *name);

typedef struct {
  const Codec *codec;
  gint payload, clock_rate, channels;
  guint ssrc;
  /* Of the header extension; 0: none. */
  gint orientation_id;
} Input;

typedef struct {
  const Codec *codec;
  /* RTP and RTCP leave from the source port; 0: any. */
  gint port, source_port, payload, first_sequence, most_kbps;
  gint64 most_pixels;
  guint ssrc;
} Output;

typedef struct Sender Sender;

#define USUAL_RATE 30

/* The way of one kind of media. Lives as long as the program. */
typedef struct {
  const gchar *kind;
  gboolean is_video;
  Input input;
  Output output;
  GstElement *bin, *encoder;
  Sender *sender;
  /* Points in time, us. */
  gint64 packet_us, picture_us, wanted_us;
  /* Clockwise quarters of a turn that the pictures need. */
  gint quarters;
  /* Encoded pictures are dropped until a key frame: the decoder is too slow. */
  gboolean is_skipping;
  /* Of pictures to encode. */
  GstClockTime last_pts;
  gint64 last_us;
  GstBuffer *last_picture;
  /* Of the input. */
  gint width, height;
  /* The limits of the output have changed; with the mutex of picture.c. */
  gboolean is_limited;
  gint next_kbps;
  gint64 next_pixels;
  /* For pictures of this size at the usual rate. */
  gdouble kbps;
  gint64 counted_us;
  gint counted;
} Leg;

/* main.c */
/* The first failure ends the program; thread-safe. */
void processor_failed(const gchar *cause, const gchar *message);

/* leg.c: at most one leg of each kind. */
gboolean leg_add(gchar **words);
/* Opens the input ports of all legs. */
void legs_start(void);
/* The words after the command; FALSE: there is no such leg. */
gboolean leg_limit(gchar **words);
/* A leg that has no key frame, and none is on its way. */
void leg_want_key_frame(Leg *leg);

/* input.c: the ports of a leg, and its packets. */
gboolean input_watch(Leg *leg);
/* Reports the ports, which are open once the element is ready. */
gboolean input_report(Leg *leg);

/* orientation.c: turns pictures as the packets say. */
void orientation_follow(Leg *leg, GstBuffer *packet);

/* delay.c: bounds the delay on a slow machine. */
void delay_limit(Leg *leg);
/*
 * Some time after a request for a key frame: encodes the last picture again unless another one has come since. Screen
 * shares have one in several seconds.
 */
#define REPEAT_MS 150
gboolean delay_repeat(gpointer leg);

/* picture.c: the size and the bitrate of the output follow the size of the input. */
void picture_follow(Leg *leg);
/* For the pictures that follow. */
void picture_limit(Leg *leg, gint most_kbps, gint64 most_pixels);

/* output.c: sends RTP packets and sender reports. */
Sender *sender_new(Leg *leg);

/* filter.c: the words after the command. */
gboolean filter_define(gchar **words, guint count);
gboolean filter_is_defined(void);
void filter_set(gchar **words, guint count);
/* Into the leg of its kind; FALSE after a failure. */
gboolean filter_insert(Leg *leg);
/* FALSE: no leg has its kind. */
gboolean filter_is_inserted(void);
void filter_resize(const Leg *leg, gint width, gint height);
gboolean filter_has_sent(GstMessage *message);
void filter_report(GstMessage *message);

/* json.c: to be freed. */
gchar *json_of_structure(const GstStructure *structure);

/* elements.c */
void elements_register(void);
void elements_check(void);

#endif
