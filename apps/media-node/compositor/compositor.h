/*
 * Composes the streams of a session into one file: commands are lines on stdin, what happens is told as one JSON
 * object a line on stdout. `src/recordings/composed/compositor.ts` speaks with it; both ends of the protocol are described
 * there.
 *
 * Frames are composed one after the other, each of the packets of its time: decoded, mixed and encoded before the next
 * one. Live the clock says when (`start`). A deferred composition does not decode while it records (`record` writes the
 * packets into a log), and makes the same file of the log later (`compose`); in place of a clock its commands have
 * positions in the recording, so that the speed of the machine has no effect.
 */
#ifndef COMPOSITOR_H
#define COMPOSITOR_H

#include <gst/gst.h>

#include "../native/commands.h"
#include "../native/events.h"
#include "../native/rtp.h"

#define SAMPLE_RATE 48000
#define CHANNELS 2

/* A frame is composed this long after its time: packets come late, and wait for missing ones in the jitter buffer. */
#define PATIENCE_US 300000

typedef struct {
  gint width, height, fps;
  gint video_kbps, audio_kbps;
  gboolean has_video, has_audio;
  /* How long packets wait for missing ones, ms. */
  gint latency_ms;
  /* After this time without any work the program ends, ms: its pipeline hangs. */
  gint stall_ms;
  gint fragment_ms;
  gchar *file;
  /* The log of a recording that is composed afterwards; NULL: composed live. */
  gchar *log;
} Settings;

typedef struct {
  gint x, y, width, height, z;
} Box;

/* output.c: mixer, encoders, file. */
GstElement *output_create(const Settings *settings, GError **error);
GstElement *output_pipeline(void);
/* NULL without video. */
GstElement *output_video_mixer(void);
/* Takes the mixed sound; NULL without audio. */
GstElement *output_sound(void);
const Settings *output_settings(void);

/* decoding.c: what takes a kind of a stream from packets to raw media, described; to be freed. */
gchar *video_decoding(const gchar *codec);
const gchar *audio_decoding(void);
/* The format of the packets. */
gchar *video_packets(const gchar *codec, gint payload);
gchar *audio_packets(gint payload);
gboolean read_size(GstCaps *caps, gint *width, gint *height);
/* Whether these caps are of pictures that nobody sends in earnest. */
gboolean is_too_large(GstEvent *caps);

/* elements.c */
void scale_cheaply(GstPad *mixer_pad, gboolean is_scaled);
void box_apply(GstPad *mixer_pad, const Box *box);
/* The format of decoded pictures as the mixer takes them. */
GstCaps *as_mixed(const GstCaps *format);

/* log.c: entries in the order of their arrival, apart from some ms. The file begins with LOG_MAGIC. */
#define LOG_MAGIC "packets1"
#define LOG_MAGIC_SIZE 8
#define LOG_MOST_PACKET 2048
/* An entry without a packet: the recorder lives. */
#define LOG_TICK G_MAXUINT32

typedef struct {
  /* Twice the number of the stream, plus 1 for audio. */
  guint32 source;
  guint32 size;
  /* Since the start of the log, us. */
  gint64 at_us;
} LogEntry;
typedef void (*TakePacket)(const LogEntry *entry, const guint8 *packet);

gboolean log_open(const gchar *file);
/* Whether all of it was read; `end_us`: when its last entry was written. */
gboolean log_has_ended(gint64 *end_us);
/* Passes on the packets that arrived until then. The rest of a log whose writer was killed is ignored. */
void log_read(gint64 until_us, TakePacket take);

/* sockets.c: the ports that receive the packets of streams. */
void sockets_open(guint32 id, gboolean has_video, gboolean has_audio);
/* What has not been drained is lost. */
void sockets_close(guint32 id);
/* Passes on what has arrived, with the time since the start. */
void sockets_drain(gint64 started_us, TakePacket take);

/* record.c */
void record_start(const gchar *file);
gboolean record_is_on(void);
void record_remove(guint32 id);
void record_stop(void);

/* jitter.c: puts the packets of a track in order and gives them times. */
typedef struct Jitter Jitter;
Jitter *jitter_new(gint clock_rate, gint latency_ms);
void jitter_free(Jitter *jitter);
void jitter_put(Jitter *jitter, const guint8 *packet, gsize size, gint64 at_us);
/* No packet that arrives after this time can be in order before those that wait. */
void jitter_advance(Jitter *jitter, gint64 now_us);
/* The next packet whose time is before `end`; NULL: none. `lost`: packets that are missing before it. */
GstBuffer *jitter_take(Jitter *jitter, GstClockTime end, guint *lost);

/* decoder.c: from the packets of a track to raw media, in the thread of the caller. */
typedef struct Decoder Decoder;
typedef struct {
  void (*on_media)(GstBuffer *buffer, gpointer data);
  void (*on_format)(GstCaps *caps, gpointer data);
  /* Its pictures are too large. */
  void (*on_refused)(gpointer data);
  gpointer data;
} DecoderOutput;
/* Takes over the texts. NULL after a failure. */
Decoder *decoder_new(gchar *description, gchar *packets, const DecoderOutput *output);
void decoder_free(Decoder *decoder);
/* Takes over the packet. FALSE: it has failed and needs a successor. */
gboolean decoder_push(Decoder *decoder, GstBuffer *packet, guint lost);

/* stage.c: what the mixer shows. Each picture is pushed for each frame. */
typedef struct Actor Actor;
void stage_open(void);
/* Composes one frame and waits for it; `is_kept`: it is encoded. FALSE after an error of the pipeline. */
gboolean stage_show(GstClockTime start, GstClockTime duration, gboolean is_kept);
void stage_close(void);
Actor *actor_new(void);
void actor_free(Actor *actor);
/* Whether the mixer does not take its pictures. */
gboolean actor_has_failed(const Actor *actor);
/* Takes over nothing. */
void actor_picture(Actor *actor, GstBuffer *picture, GstCaps *format);
/* NULL hides it. */
void actor_place(Actor *actor, const Box *box);

/* tile.c: a plain box with a name, in place of a picture; replaces one with the same id. */
void tile_place(const gchar *id, const Box *box, const gchar *text);
void tile_remove(const gchar *id);

/* sound.c: the samples of a track, mixed at their times. Smaller differences are those of the clocks. */
#define SOUND_TOLERANCE_MS 40
typedef struct Sound Sound;
Sound *sound_new(void);
void sound_free(Sound *sound);
void sound_put(Sound *sound, GstBuffer *samples);
/* Adds its samples of this interval, saturated; positions in samples. */
void sound_mix(Sound *sound, gint64 from, gint64 to, gint16 *mix);

/* source.c: the streams. An added one may be added again, to be heard too. */
void source_add(guint32 id, const gchar *video_codec, gint video_payload, gint audio_payload);
void source_remove(guint32 id);
void source_place(guint32 id, const Box *box);
void source_hide(guint32 id);
void source_await(guint32 id);
void sources_take(const LogEntry *entry, const guint8 *packet);
/* When the first packet of all arrived; G_MAXINT64: none has. */
gint64 sources_begin_us(void);
/* Decodes what the next frame needs, by several threads if it is late. TRUE if a picture or a refusal was reported. */
gboolean sources_decode(gint64 arrived_us, gboolean is_late);
void sources_mix(gint64 from, gint64 to, gint16 *mix);

/* frames.c: the frames of the file, one after the other; the next one is between these times. */
GstClockTime frame_start(void);
GstClockTime frame_end(void);
/* Mixes and shows what was decoded until its end; `is_late`: it may be left out. FALSE after an error of the pipeline. */
gboolean frame_compose(gboolean is_late);
/* "stopped" follows when the file is complete. */
void frames_end(void);

/* live.c: composes what arrives, by the clock. */
void live_composition_start(void);
/* Ends the file in order; "stopped" follows, or an error when that takes too long. */
void live_composition_stop(void);
gint64 live_composition_ms(void);

/* replay.c: composes a log, as fast as the machine allows. */
void replay_start(void);
gboolean replay_is_on(void);
/* Composes until this time, ms, or until an event or the end of the log before that; "reached" follows. */
void replay_until(gint64 ms);
void replay_stop(void);

#endif
