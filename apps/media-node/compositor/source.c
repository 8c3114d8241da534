#include "compositor.h"

/* Between the failure of a decoder and its successor. */
#define RETRY_AFTER GST_SECOND

typedef enum { VIDEO, AUDIO, KINDS } Kind;

/* A track of a recorded stream; its packets may be read before it is added. */
typedef struct {
  Jitter *jitter;
  Decoder *decoder;
  gint payload;
  /* A decoder that has failed gets a successor, but not for each packet. */
  GstClockTime retry_at;
} Track;

typedef struct {
  guint32 id;
  gchar *codec;
  gboolean is_added, is_placed, is_awaited, is_refused;
  Track tracks[KINDS];
  Sound *sound;
  Actor *actor;
  GstCaps *format;
  Box box;
} Source;

static GHashTable *sources;
/* What is decoded now, and by how many threads still. */
static struct {
  gint64 arrived_us;
  guint pending;
  GMutex lock;
  GCond done;
} step;
static gint has_reported;
static gint64 begin_us = G_MAXINT64;

static void report(const gchar *event, const Source *source, Kind kind) {
  event_report(event, "\"id\":\"%u\",\"kind\":\"%s\"", source->id, kind == VIDEO ? "video" : "audio");
  g_atomic_int_set(&has_reported, TRUE);
}

static void source_free(gpointer data) {
  Source *source = data;
  for (Kind kind = VIDEO; kind < KINDS; kind++) {
    decoder_free(source->tracks[kind].decoder);
    jitter_free(source->tracks[kind].jitter);
  }
  actor_free(source->actor);
  sound_free(source->sound);
  gst_clear_caps(&source->format);
  g_free(source->codec);
  g_free(source);
}

static Source *source_of(guint32 id) {
  if (!sources) sources = g_hash_table_new_full(NULL, NULL, NULL, source_free);
  Source *source = g_hash_table_lookup(sources, GUINT_TO_POINTER(id));
  if (source) return source;
  source = g_new0(Source, 1);
  source->id = id;
  source->tracks[VIDEO].jitter = jitter_new(90000, output_settings()->latency_ms);
  source->tracks[AUDIO].jitter = jitter_new(48000, output_settings()->latency_ms);
  g_hash_table_insert(sources, GUINT_TO_POINTER(id), source);
  return source;
}

void source_add(guint32 id, const gchar *video_codec, gint video_payload, gint audio_payload) {
  Source *source = source_of(id);
  source->is_added = TRUE;
  g_free(source->codec);
  source->codec = g_strdup(video_codec);
  source->tracks[VIDEO].payload = output_video_mixer() ? video_payload : -1;
  source->tracks[AUDIO].payload = output_settings()->has_audio ? audio_payload : -1;
  if (source->tracks[AUDIO].payload >= 0 && !source->sound) source->sound = sound_new();
}

void source_remove(guint32 id) {
  if (sources) g_hash_table_remove(sources, GUINT_TO_POINTER(id));
}

static void show(Source *source) {
  if (source->actor) actor_place(source->actor, source->is_placed ? &source->box : NULL);
}

void source_place(guint32 id, const Box *box) {
  Source *source = source_of(id);
  source->box = *box;
  source->is_placed = TRUE;
  show(source);
}

void source_hide(guint32 id) {
  Source *source = source_of(id);
  source->is_placed = FALSE;
  show(source);
}

void source_await(guint32 id) { source_of(id)->is_awaited = TRUE; }

gint64 sources_begin_us(void) { return begin_us; }

void sources_take(const LogEntry *entry, const guint8 *packet) {
  begin_us = MIN(begin_us, entry->at_us);
  Source *source = source_of(entry->source / 2);
  jitter_put(source->tracks[entry->source % 2].jitter, packet, entry->size, entry->at_us);
}

static void on_picture(GstBuffer *picture, gpointer data) {
  Source *source = data;
  if (!source->format) return;
  if (!source->actor) {
    source->actor = actor_new();
    source->is_awaited = TRUE;
    show(source);
  }
  actor_picture(source->actor, picture, source->format);
  if (source->is_awaited) report("media", source, VIDEO);
  source->is_awaited = FALSE;
}

static void on_picture_format(GstCaps *format, gpointer data) {
  Source *source = data;
  gint width, height;
  gst_clear_caps(&source->format);
  source->format = as_mixed(format);
  if (read_size(format, &width, &height))
    event_report("size", "\"id\":\"%u\",\"width\":%d,\"height\":%d", source->id, width, height);
}

static void report_error(const Source *source, const gchar *message) {
  gchar *id = g_strdup_printf("%u", source->id);
  event_error(id, message);
  g_free(id);
}

static void refuse(Source *source, const gchar *why) {
  report_error(source, why);
  source->is_refused = TRUE;
  report("refused", source, VIDEO);
}

static void on_refused(gpointer data) { refuse(data, "its pictures are too large"); }

static void on_samples(GstBuffer *samples, gpointer data) { sound_put(((Source *)data)->sound, samples); }

static void on_sample_format(GstCaps *format, gpointer data) { (void)format, (void)data; }

static Decoder *open_decoder(Source *source, Kind kind) {
  const Track *track = &source->tracks[kind];
  if (kind == VIDEO)
    return decoder_new(video_decoding(source->codec), video_packets(source->codec, track->payload),
                       &(DecoderOutput){on_picture, on_picture_format, on_refused, source});
  return decoder_new(g_strdup(audio_decoding()), audio_packets(track->payload),
                     &(DecoderOutput){on_samples, on_sample_format, on_refused, source});
}

/* Its picture stands still until the next key frame. */
static void report_broken(Source *source) {
  if (source->is_awaited) return;
  source->is_awaited = TRUE;
  event_report("broken", "\"id\":\"%u\"", source->id);
}

static void decode(Source *source, Kind kind, GstBuffer *packet, guint lost) {
  Track *track = &source->tracks[kind];
  GstClockTime at = GST_BUFFER_PTS(packet);
  if (kind == VIDEO && lost > 0 && source->actor) report_broken(source);
  if (!track->decoder && at >= track->retry_at) track->decoder = open_decoder(source, kind);
  if (!track->decoder) gst_buffer_unref(packet);
  else if (decoder_push(track->decoder, packet, lost)) return;
  if (at < track->retry_at) return;
  report_error(source, kind == VIDEO ? "its pictures cannot be decoded" : "its sound cannot be decoded");
  if (kind == VIDEO) report_broken(source);
  decoder_free(track->decoder);
  track->decoder = NULL;
  track->retry_at = at + RETRY_AFTER;
}

/*
 * A picture is shown by the frame that begins next to its time. Sound that is nearly in step is appended to what was heard
 * before, and may be that much earlier than its time.
 */
static GstClockTime end_of(Kind kind) {
  return kind == VIDEO ? (frame_start() + frame_end()) / 2 : frame_end() + SOUND_TOLERANCE_MS * GST_MSECOND;
}

static void decode_track(Source *source, Kind kind) {
  GstBuffer *packet;
  guint lost;
  Track *track = &source->tracks[kind];
  jitter_advance(track->jitter, step.arrived_us);
  while ((packet = jitter_take(track->jitter, end_of(kind), &lost))) {
    if (track->payload >= 0 && !(kind == VIDEO && source->is_refused)) decode(source, kind, packet, lost);
    else gst_buffer_unref(packet);
  }
}

static void decode_source(Source *source) {
  if (!source->is_refused && source->actor && actor_has_failed(source->actor)) refuse(source, "its pictures cannot be composed");
  for (Kind kind = VIDEO; kind < KINDS && source->is_added; kind++) decode_track(source, kind);
}

static void help(gpointer source, gpointer data) {
  (void)data;
  decode_source(source);
  g_mutex_lock(&step.lock);
  if (--step.pending == 0) g_cond_signal(&step.done);
  g_mutex_unlock(&step.lock);
}

/* Each source by one thread, as many at once as there are processors. */
static void decode_at_once(GHashTableIter *iterator) {
  static GThreadPool *helpers;
  gpointer source;
  if (!helpers) helpers = g_thread_pool_new(help, NULL, (gint)g_get_num_processors(), FALSE, NULL);
  step.pending = g_hash_table_size(sources);
  while (g_hash_table_iter_next(iterator, NULL, &source)) g_thread_pool_push(helpers, source, NULL);
  g_mutex_lock(&step.lock);
  while (step.pending > 0) g_cond_wait(&step.done, &step.lock);
  g_mutex_unlock(&step.lock);
}

gboolean sources_decode(gint64 arrived_us, gboolean is_late) {
  GHashTableIter iterator;
  gpointer source;
  g_atomic_int_set(&has_reported, FALSE);
  if (!sources) return FALSE;
  step.arrived_us = arrived_us;
  g_hash_table_iter_init(&iterator, sources);
  if (is_late && g_hash_table_size(sources) > 1) decode_at_once(&iterator);
  else
    while (g_hash_table_iter_next(&iterator, NULL, &source)) decode_source(source);
  return g_atomic_int_get(&has_reported);
}

void sources_mix(gint64 from, gint64 to, gint16 *mix) {
  GHashTableIter iterator;
  gpointer value;
  if (!sources) return;
  g_hash_table_iter_init(&iterator, sources);
  while (g_hash_table_iter_next(&iterator, NULL, &value))
    if (((Source *)value)->sound) sound_mix(((Source *)value)->sound, from, to, mix);
}
