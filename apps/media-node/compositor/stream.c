#include "compositor.h"

#include <string.h>
#include <unistd.h>

typedef enum { VIDEO, AUDIO, KINDS } Kind;

/* A kind of a stream: from the socket to the decoded media, and its pad at the mixer once there was some. */
typedef struct {
  GstElement *bin;
  GstPad *mixer_pad;
  /* Socket that takes the sender's reports, which nobody reads. */
  gint reports;
} Branch;

/* One published stream. Made, placed and removed on the main loop. */
typedef struct {
  gchar *id;
  Branch branches[KINDS];
  Box box;
  gboolean is_placed, is_gone, is_awaited, is_refused;
  gint references;
} Stream;

static GHashTable *streams;

static Stream *stream_ref(Stream *stream) {
  g_atomic_int_inc(&stream->references);
  return stream;
}

static void stream_unref(gpointer data) {
  Stream *stream = data;
  if (!g_atomic_int_dec_and_test(&stream->references)) return;
  g_free(stream->id);
  g_free(stream);
}

static GstElement *mixer_of(Kind kind) { return kind == VIDEO ? output_video_mixer() : output_audio_mixer(); }

static void show(Stream *stream) {
  GstPad *pad = stream->branches[VIDEO].mixer_pad;
  if (!pad) return;
  if (stream->is_placed) box_apply(pad, &stream->box);
  else g_object_set(pad, "alpha", 0.0, NULL);
}

static void report_media(const Stream *stream, Kind kind) {
  event_report("media", "\"id\":\"%s\",\"kind\":\"%s\"", stream->id, kind == VIDEO ? "video" : "audio");
}

typedef struct {
  Stream *stream;
  Kind kind;
  GstPad *source;
  gulong probe;
} FirstBuffer;

static gboolean join_mixer(gpointer data) {
  FirstBuffer *first = data;
  Stream *stream = first->stream;
  if (!stream->is_gone) {
    GstPad *pad = gst_element_request_pad_simple(mixer_of(first->kind), "sink_%u");
    stream->branches[first->kind].mixer_pad = pad;
    if (first->kind == VIDEO) {
      scale_cheaply(pad);
      show(stream);
    }
    if (gst_pad_link(first->source, pad) != GST_PAD_LINK_OK) event_error(stream->id, "its media could not be mixed in");
    else report_media(stream, first->kind);
    gst_pad_remove_probe(first->source, first->probe);
  }
  gst_object_unref(first->source);
  stream_unref(stream);
  g_free(first);
  return G_SOURCE_REMOVE;
}

/* A stream gets its place in the mixer with its first decoded buffer: no empty box while a key frame is awaited. */
static GstPadProbeReturn on_first_buffer(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  FirstBuffer *first = data;
  if (first->probe) return GST_PAD_PROBE_OK;
  first->probe = GST_PAD_PROBE_INFO_ID(info);
  g_main_context_invoke_full(NULL, G_PRIORITY_HIGH, join_mixer, first, NULL);
  return GST_PAD_PROBE_OK;
}

/* How large the pictures are, each time that changes: which simulcast layer is sent shows in it. */
static GstPadProbeReturn on_format(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  const Stream *stream = data;
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return GST_PAD_PROBE_OK;
  GstCaps *caps;
  gint width = 0, height = 0;
  gst_event_parse_caps(event, &caps);
  if (read_size(caps, &width, &height))
    event_report("size", "\"id\":\"%s\",\"width\":%d,\"height\":%d", stream->id, width, height);
  return GST_PAD_PROBE_OK;
}

static gboolean refuse_video(gpointer data) {
  Stream *stream = stream_ref(data);
  if (!stream->is_gone) {
    event_error(stream->id, "its pictures are too large");
    event_report("refused", "\"id\":\"%s\",\"kind\":\"video\"", stream->id);
    stream_remove(stream->id);
  }
  stream_unref(stream);
  return G_SOURCE_REMOVE;
}

/* Before the first picture is decoded where its size is known by then, and else before the second one. */
static GstPadProbeReturn limit_size(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  Stream *stream = data;
  gboolean is_format = (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) &&
                       GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_CAPS;
  if (is_format && is_too_large(GST_PAD_PROBE_INFO_EVENT(info)) &&
      g_atomic_int_compare_and_exchange(&stream->is_refused, FALSE, TRUE))
    g_main_context_invoke_full(NULL, G_PRIORITY_HIGH, refuse_video, stream_ref(stream), stream_unref);
  return g_atomic_int_get(&stream->is_refused) ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
}

static void limit_decoder(Stream *stream) {
  GstElement *decoder = gst_bin_get_by_name(GST_BIN(stream->branches[VIDEO].bin), "decoder");
  const gchar *names[] = {"sink", "src"};
  for (guint nth = 0; nth < G_N_ELEMENTS(names); nth++) {
    GstPad *pad = gst_element_get_static_pad(decoder, names[nth]);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_DATA_DOWNSTREAM, limit_size, stream_ref(stream), stream_unref);
    gst_object_unref(pad);
  }
  gst_object_unref(decoder);
}

static void watch_output(Stream *stream, Kind kind) {
  FirstBuffer *first = g_new0(FirstBuffer, 1);
  first->stream = stream_ref(stream);
  first->kind = kind;
  first->source = gst_element_get_static_pad(stream->branches[kind].bin, "src");
  gst_pad_add_probe(first->source, GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER, on_first_buffer, first, NULL);
  if (kind == AUDIO) return;
  gst_pad_add_probe(first->source, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_format, stream_ref(stream), stream_unref);
  limit_decoder(stream);
}

/* A free port of loopback; without one 0. */
static gint open_reports(Branch *branch) {
  gint port = 0;
  branch->reports = rtp_open_any(&port);
  return port;
}

/* Its port; 0 when there is none. */
static gint open_socket(Branch *branch) {
  GstElement *socket = gst_bin_get_by_name(GST_BIN(branch->bin), "socket");
  gint port = 0;
  if (gst_element_set_state(socket, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE) g_object_get(socket, "port", &port, NULL);
  gst_object_unref(socket);
  return port;
}

typedef struct {
  gint rtp, rtcp;
} Ports;

/* Takes over the description. */
static Ports add_branch(Stream *stream, Kind kind, gchar *description) {
  GError *error = NULL;
  Branch *branch = &stream->branches[kind];
  branch->bin = gst_parse_bin_from_description(description, TRUE, &error);
  g_free(description);
  if (!branch->bin) {
    event_error(stream->id, error->message);
    g_error_free(error);
    return (Ports){0, 0};
  }
  branch->reports = -1;
  gst_bin_add(GST_BIN(output_pipeline()), branch->bin);
  watch_output(stream, kind);
  return (Ports){open_socket(branch), open_reports(branch)};
}

void stream_add(const gchar *id, const gchar *video_codec, gint video_payload, gint audio_payload) {
  if (!streams) streams = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, stream_unref);
  if (g_hash_table_contains(streams, id)) return event_error(id, "it is there already");
  Stream *stream = g_new0(Stream, 1);
  stream->references = 1;
  stream->id = g_strdup(id);
  g_hash_table_insert(streams, stream->id, stream);
  Ports video = {0, 0}, audio = {0, 0};
  if (output_video_mixer() && video_payload >= 0) video = add_branch(stream, VIDEO, video_from_rtp(video_codec, video_payload));
  if (output_audio_mixer() && audio_payload >= 0) audio = add_branch(stream, AUDIO, audio_from_rtp(audio_payload));
  for (Kind kind = VIDEO; kind < KINDS; kind++)
    if (stream->branches[kind].bin) gst_element_sync_state_with_parent(stream->branches[kind].bin);
  event_report("listening", "\"id\":\"%s\",\"video\":{\"rtp\":%d,\"rtcp\":%d},\"audio\":{\"rtp\":%d,\"rtcp\":%d}", id,
             video.rtp, video.rtcp, audio.rtp, audio.rtcp);
}

static Stream *find(const gchar *id) {
  Stream *stream = streams ? g_hash_table_lookup(streams, id) : NULL;
  if (!stream) event_error(id, "there is no such stream");
  return stream;
}

void stream_remove(const gchar *id) {
  Stream *stream = find(id);
  if (!stream) return;
  stream->is_gone = TRUE;
  for (Kind kind = VIDEO; kind < KINDS; kind++) {
    Branch *branch = &stream->branches[kind];
    if (branch->mixer_pad) pad_detach(branch->bin, branch->mixer_pad, mixer_of(kind));
    if (branch->bin) element_drop(branch->bin);
    if (branch->bin && branch->reports >= 0) close(branch->reports);
  }
  /* `id` may be that of the stream, which is freed here. */
  gchar *name = g_strdup(id);
  g_hash_table_remove(streams, id);
  event_report("removed", "\"id\":\"%s\"", name);
  g_free(name);
}

void stream_place(const gchar *id, const Box *box) {
  Stream *stream = find(id);
  if (!stream) return;
  stream->box = *box;
  stream->is_placed = TRUE;
  show(stream);
}

void stream_hide(const gchar *id) {
  Stream *stream = find(id);
  if (!stream) return;
  stream->is_placed = FALSE;
  show(stream);
}

static GstPadProbeReturn on_awaited(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad, (void)info;
  Stream *stream = data;
  g_atomic_int_set(&stream->is_awaited, FALSE);
  report_media(stream, VIDEO);
  return GST_PAD_PROBE_REMOVE;
}

void stream_await(const gchar *id) {
  Stream *stream = find(id);
  /* Without a place in the mixer its first picture is reported anyway. */
  if (!stream || !stream->branches[VIDEO].mixer_pad) return;
  if (!g_atomic_int_compare_and_exchange(&stream->is_awaited, FALSE, TRUE)) return;
  GstPad *source = gst_element_get_static_pad(stream->branches[VIDEO].bin, "src");
  gst_pad_add_probe(source, GST_PAD_PROBE_TYPE_BUFFER, on_awaited, stream_ref(stream), stream_unref);
  gst_object_unref(source);
}

static gboolean is_part_of(const Stream *stream, GstObject *object) {
  for (Kind kind = VIDEO; kind < KINDS; kind++) {
    GstElement *bin = stream->branches[kind].bin;
    if (bin && gst_object_has_as_ancestor(object, GST_OBJECT(bin))) return TRUE;
  }
  return FALSE;
}

gboolean stream_failed(GstObject *object, const gchar *message) {
  GHashTableIter iterator;
  gpointer value;
  /* A late report: its stream was removed meanwhile. */
  if (!gst_object_has_as_ancestor(object, GST_OBJECT(output_pipeline()))) return TRUE;
  if (!streams) return FALSE;
  g_hash_table_iter_init(&iterator, streams);
  while (g_hash_table_iter_next(&iterator, NULL, &value)) {
    const Stream *stream = value;
    if (!is_part_of(stream, object)) continue;
    gchar *id = g_strdup(stream->id);
    event_error(id, message);
    stream_remove(id);
    g_free(id);
    return TRUE;
  }
  return FALSE;
}
