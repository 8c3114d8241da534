/*
 * Composes the streams of a session into one file: commands are lines on stdin, what happens is told as one JSON
 * object a line on stdout. `src/recordings/compositor.ts` speaks with it; both ends of the protocol are described there.
 */
#ifndef COMPOSITOR_H
#define COMPOSITOR_H

#include <gst/gst.h>

#include "../native/commands.h"
#include "../native/events.h"
#include "../native/rtp.h"

typedef struct {
  gint width, height, fps;
  gint video_kbps, audio_kbps;
  gboolean has_video, has_audio;
  /* How long packets may come late, ms. */
  gint latency_ms;
  gint fragment_ms;
  gchar *file;
  /* The log of a recording that is composed afterwards; NULL: composed live. */
  gchar *log;
} Settings;

typedef struct {
  gint x, y, width, height, z;
} Box;

/* output.c: mixers, encoders, file. */
GstElement *output_create(const Settings *settings, GError **error);
GstElement *output_pipeline(void);
GstElement *output_video_mixer(void);
GstElement *output_audio_mixer(void);
const Settings *output_settings(void);
/* Ends the file in order; "stopped" follows, or an error when that takes too long. */
void output_stop(void);

/* stream.c: one published stream, received as RTP. A payload type below 0 means that it lacks the kind. */
void stream_add(const gchar *id, const gchar *video_codec, gint video_payload, gint audio_payload);
void stream_remove(const gchar *id);
void stream_place(const gchar *id, const Box *box);
void stream_hide(const gchar *id);
/* Tells "media" of its next decoded picture. */
void stream_await(const gchar *id);
/* An error of one stream ends that stream alone; whether it was one. */
gboolean stream_failed(GstObject *object, const gchar *message);

/* decoding.c: what takes a kind of a stream from RTP to raw media, described; to be freed. */
gchar *video_from_rtp(const gchar *codec, gint payload);
gchar *audio_from_rtp(gint payload);
/* The part of these behind the jitter buffer, and the format of the packets. */
gchar *video_decoding(const gchar *codec);
const gchar *audio_decoding(void);
gchar *video_packets(const gchar *codec, gint payload);
gchar *audio_packets(gint payload);
gboolean read_size(GstCaps *caps, gint *width, gint *height);
/* Whether these caps are of pictures that nobody sends in earnest. */
gboolean is_too_large(GstEvent *caps);

/* tile.c: a plain box with a name, in place of a picture. A description, to be freed; the name is set afterwards. */
gchar *tile_description(const Box *box);
void tile_name(GstElement *bin, const Box *box, const gchar *text);
void tile_place(const gchar *id, const Box *box, const gchar *text);
void tile_remove(const gchar *id);

/* elements.c: what several use. */
void scale_cheaply(GstPad *mixer_pad);
void box_apply(GstPad *mixer_pad, const Box *box);
void element_drop(GstElement *element);
void pad_detach(GstElement *bin, GstPad *mixer_pad, GstElement *mixer);

#endif
