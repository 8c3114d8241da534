/*
 * Deferred composition. `record` writes the packets of streams into a log, without decoding; `compose` makes the file of
 * it later, as fast as the machine allows, with the decoders, the mixer and the encoders of a live composition. In
 * place of a clock the commands of `compose` have positions in the recording, so that the speed has no effect.
 */
#ifndef DEFERRED_H
#define DEFERRED_H

#include "compositor.h"

#define SAMPLE_RATE 48000
#define CHANNELS 2

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

gboolean log_open(const gchar *file);
/* Whether all of it was read; `end_us`: when its last entry was written. */
gboolean log_has_ended(gint64 *end_us);
/* Passes on the packets that arrived until then. The rest of a log whose writer was killed is ignored. */
void log_read(gint64 until_us, void (*take)(const LogEntry *entry, const guint8 *packet));

/* record.c */
void record_start(const gchar *file);
gboolean record_is_on(void);
void record_add(guint32 id, gboolean has_video, gboolean has_audio);
void record_remove(guint32 id);
void record_stop(void);

/* jitter.c: puts the packets of a track in order and gives them times, as the jitter buffer of a live composition. */
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
/* Composes one frame and waits for it; FALSE after an error of the pipeline. */
gboolean stage_show(GstClockTime start, GstClockTime duration);
void stage_close(void);
Actor *actor_new(void);
void actor_free(Actor *actor);
/* Takes over nothing. */
void actor_picture(Actor *actor, GstBuffer *picture, GstCaps *format);
/* NULL hides it. */
void actor_place(Actor *actor, const Box *box);

/* still.c: the tile of a name; replaces one with the same id. */
void still_place(const gchar *id, const Box *box, const gchar *text);
void still_remove(const gchar *id);

/* sound.c: the samples of a track, mixed at their times. */
typedef struct Sound Sound;
Sound *sound_new(void);
void sound_free(Sound *sound);
void sound_put(Sound *sound, GstBuffer *samples);
/* Adds its samples of this interval, saturated; positions in samples. */
void sound_mix(Sound *sound, gint64 from, gint64 to, gint16 *mix);

/* source.c: the recorded streams. An added one may be added again, to be heard too. */
void source_add(guint32 id, const gchar *video_codec, gint video_payload, gint audio_payload);
void source_remove(guint32 id);
void source_place(guint32 id, const Box *box);
void source_hide(guint32 id);
void source_await(guint32 id);
void sources_take(const LogEntry *entry, const guint8 *packet);
/* Decodes up to this time. TRUE if something was reported. */
gboolean sources_decode(gint64 arrived_us, GstClockTime end);
void sources_mix(gint64 from, gint64 to, gint16 *mix);

/* replay.c */
void replay_start(void);
gboolean replay_is_on(void);
/* Composes until this time, ms, or until an event or the end of the log before that; "reached" follows. */
void replay_until(gint64 ms);
void replay_stop(void);

#endif
