#include "camera.h"

#include <string.h>

#define MOST_TRACKS 2
/* More than a camera sends: a stream that declares such a picture wants our memory. */
#define MOST_PIXELS (4096 * 2304)
#define LONGEST_SIDE 8192
/* B-frames without a word in the parameter sets: this many pictures went back in time. */
#define MOST_BACKWARDS 3
/* So many in order show that the last ones did so for another reason: the camera corrected its clock. */
#define PICTURES_IN_ORDER 50
/* Sound that was due earlier than this before its `send` is left out. */
#define STALE_US G_USEC_PER_SEC

typedef struct {
  gint index;
  const Codec *codec;
  gboolean is_rtp, is_copied, must_encode, has_key_frame;
  GstPad *pad;
  gulong block;
  GstElement *front, *back;
  /* Of the queue. */
  GstPad *output;
  Sender *sender;
  /* Of a copied track that waits for its time without the queue; NULL: none. */
  Line *line;
  /* The time of `send`. */
  gint64 begin_us;
  GstClockTime last_pts;
  /* The largest time that was given to the decoder. */
  GstClockTime newest;
  /* By the parameter set of the last key frame. */
  Decodable decodable;
  gint backwards, in_order;
} Track;

static Track tracks[MOST_TRACKS];
static gint track_count, sent_count, ended_count;
static gboolean is_complete;
static GMutex lock;

static gboolean complete_late(gpointer data) {
  (void)data;
  tracks_complete();
  return G_SOURCE_REMOVE;
}

/* Data flows from a demuxer only after it has added its last pad. */
static GstPadProbeReturn hold(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad, (void)info;
  const Track *track = data;
  if (!track->is_rtp) tracks_complete();
  return GST_PAD_PROBE_OK;
}

void track_discard(GstPad *pad) {
  GstElement *sink = gst_element_factory_make("fakesink", NULL);
  g_object_set(sink, "async", FALSE, "sync", FALSE, NULL);
  gst_bin_add(GST_BIN(live_pipeline()), sink);
  GstPad *input = gst_element_get_static_pad(sink, "sink");
  gst_pad_link(pad, input);
  gst_object_unref(input);
  gst_element_sync_state_with_parent(sink);
  arrival_release(pad);
}

static gboolean is_h264(const Codec *codec) { return !strcmp(codec->name, "H264"); }

static gboolean can_copy(GstPad *pad, const Codec *codec) {
  GstCaps *caps = gst_pad_get_current_caps(pad);
  const GstStructure *format = caps ? gst_caps_get_structure(caps, 0) : NULL;
  gint mapping = 0;
  if (format) gst_structure_get_int(format, "channel-mapping-family", &mapping);
  gboolean result = is_h264(codec) ? !format || sps_check_caps(format) != DECODABLE_NO
                                   : !strcmp(codec->name, "OPUS") && mapping == 0;
  if (caps) gst_caps_unref(caps);
  return result;
}

static gboolean is_taken(gboolean is_video) {
  for (gint at = 0; at < track_count; at++)
    if (tracks[at].codec->is_video == is_video) return TRUE;
  return FALSE;
}

static gboolean is_refused(const Codec *codec, gboolean is_copied) {
  return codec->is_video && !is_copied && camera_address()->copies_video;
}

static void add(GstPad *pad, const Codec *codec, const Origin *origin, gboolean is_copied) {
  Track *track = &tracks[track_count];
  *track = (Track){.index = track_count, .codec = codec, .is_rtp = origin->is_rtp, .pad = gst_object_ref(pad),
                   .is_copied = is_copied, .last_pts = GST_CLOCK_TIME_NONE, .newest = GST_CLOCK_TIME_NONE};
  track->block = gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM, hold, track, NULL);
  if (track_count++ == 0) watch_streams(!codec->is_video && origin->has_video, complete_late);
  watch_hold(+1);
  event_report("stream", "\"index\":%d,\"kind\":\"%s\",\"codec\":\"%s\",\"copied\":%s", track->index,
             codec->is_video ? "video" : "audio", codec->name, track->is_copied ? "true" : "false");
  if (is_refused(codec, is_copied)) camera_video_refused(codec->name);
}

/* The first stream of each kind. After `streams` it is one of RTSP, whose lack does not end the program. */
void track_found(GstPad *pad, const Codec *codec, const Origin *origin) {
  gboolean is_copied = can_copy(pad, codec);
  g_mutex_lock(&lock);
  gboolean is_too_late = is_complete && (!origin->is_rtp || is_refused(codec, is_copied));
  if (is_too_late || is_taken(codec->is_video)) track_discard(pad);
  else add(pad, codec, origin, is_copied);
  g_mutex_unlock(&lock);
}

void tracks_complete(void) {
  g_mutex_lock(&lock);
  gboolean is_first = !is_complete;
  is_complete = TRUE;
  gint count = track_count;
  if (is_first && count > 0 && !live_has_ended()) event_report("streams", "\"count\":%d", count);
  g_mutex_unlock(&lock);
  guard_limit_received(0);
  if (count == 0) camera_failed("unsupported", "the camera sends no audio or video in a supported format");
}

static gboolean attach(Track *track) {
  track->back = back_new(&(Form){track->codec, track->is_rtp, track->is_copied}, track->sender, &track->newest);
  if (!track->back) return FALSE;
  gst_bin_add(GST_BIN(live_pipeline()), track->back);
  GstPad *input = gst_element_get_static_pad(track->back, "sink");
  gst_pad_link(track->output, input);
  gst_object_unref(input);
  return gst_element_sync_state_with_parent(track->back);
}

/* Begins at a key frame, so that no picture is lost. */
static void begin_to_encode(Track *track) {
  GstElement *old = track->back;
  GstPad *input = gst_element_get_static_pad(old, "sink");
  gst_pad_unlink(track->output, input);
  gst_object_unref(input);
  gst_element_set_state(old, GST_STATE_NULL);
  gst_bin_remove(GST_BIN(live_pipeline()), old);
  track->is_copied = FALSE;
  event_report("reordered", "\"index\":%d", track->index);
  attach(track);
}

/* Nothing is to be found out where the parameter set says that pictures are in order. */
static void count_backwards(Track *track, GstClockTime pts) {
  GstClockTime last = track->last_pts;
  gboolean is_back = GST_CLOCK_TIME_IS_VALID(last) && pts + GST_MSECOND < last && last - pts < GST_SECOND;
  track->last_pts = pts;
  if (track->decodable == DECODABLE_YES) return;
  if (is_back) track->backwards++, track->in_order = 0;
  else if (++track->in_order == PICTURES_IN_ORDER) track->backwards = track->in_order = 0;
}

static void inspect(Track *track, GstBuffer *picture, gboolean is_key) {
  GstMapInfo map;
  if (is_key && gst_buffer_map(picture, &map, GST_MAP_READ)) {
    track->decodable = sps_check_stream(map.data, map.size);
    gst_buffer_unmap(picture, &map);
  }
  count_backwards(track, GST_BUFFER_PTS(picture));
  if (track->decodable == DECODABLE_NO || track->backwards >= MOST_BACKWARDS) track->must_encode = TRUE;
}

static GstPadProbeReturn on_picture(Track *track, GstBuffer *picture) {
  gboolean is_key = !GST_BUFFER_FLAG_IS_SET(picture, GST_BUFFER_FLAG_DELTA_UNIT);
  track->has_key_frame |= is_key;
  if (!track->has_key_frame) return GST_PAD_PROBE_DROP;
  if (!track->is_copied) return GST_PAD_PROBE_PASS;
  inspect(track, picture, is_key);
  if (!is_key || !track->must_encode) return GST_PAD_PROBE_PASS;
  if (camera_address()->copies_video) {
    camera_video_refused(track->codec->name);
    return GST_PAD_PROBE_DROP;
  }
  begin_to_encode(track);
  return GST_PAD_PROBE_PASS;
}

static void check_size(GstCaps *caps) {
  gint width = 0, height = 0;
  const GstStructure *format = gst_caps_get_structure(caps, 0);
  gst_structure_get_int(format, "width", &width);
  gst_structure_get_int(format, "height", &height);
  if (width > LONGEST_SIDE || height > LONGEST_SIDE || (gint64)width * height > MOST_PIXELS)
    camera_failed("unsupported", "the pictures of the camera are too large");
}

static void on_event(GstEvent *event) {
  GstCaps *caps;
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
    gst_event_parse_caps(event, &caps);
    check_size(caps);
  }
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && g_atomic_int_add(&ended_count, 1) + 1 == g_atomic_int_get(&sent_count))
    camera_ended();
}

static gboolean is_decoded(const Track *track) { return track->codec->is_video && !track->is_copied; }

/* Decoded pictures wait for their time after the decoder. */
static void follow_newest(Track *track, GstClockTime time) {
  if (!GST_CLOCK_TIME_IS_VALID(track->newest) || time > track->newest) track->newest = time;
}

static GstPadProbeReturn on_output(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  Track *track = data;
  if (!(GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER)) {
    on_event(GST_PAD_PROBE_INFO_EVENT(info));
    return GST_PAD_PROBE_PASS;
  }
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  if (is_h264(track->codec) && on_picture(track, buffer) == GST_PAD_PROBE_DROP) return GST_PAD_PROBE_DROP;
  if (is_decoded(track)) follow_newest(track, GST_BUFFER_PTS(buffer));
  else info->data = timing_wait(buffer, track->codec->is_video);
  watch_media(track->codec->is_video);
  return GST_PAD_PROBE_PASS;
}

static void send_copied(GstBuffer *buffer, gpointer data) {
  const Track *track = data;
  watch_media(track->codec->is_video);
  sender_copy(track->sender, buffer);
}

/* Sound that waited for the picture of the camera, or for `send`, would be sent all at once. */
static gboolean is_stale(const Track *track, const GstBuffer *buffer) {
  gint64 due_us = (gint64)GST_BUFFER_PTS(buffer) / 1000 + timing_delay_us();
  return !track->codec->is_video && due_us + STALE_US < track->begin_us;
}

/* From a picture on that has to be encoded, everything takes the way through the queue. */
static GstPadProbeReturn on_input(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  Track *track = data;
  gint64 due_us;
  if (!(GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER)) {
    if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_EOS && track->line) departures_finish();
    return GST_PAD_PROBE_OK;
  }
  watch_media(track->codec->is_video);
  if (is_stale(track, GST_PAD_PROBE_INFO_BUFFER(info))) return GST_PAD_PROBE_DROP;
  if (!track->line || !track->is_copied) return GST_PAD_PROBE_OK;
  if (is_h264(track->codec) && on_picture(track, GST_PAD_PROBE_INFO_BUFFER(info)) == GST_PAD_PROBE_DROP) return GST_PAD_PROBE_DROP;
  if (!track->is_copied) return GST_PAD_PROBE_OK;
  info->data = timing_due(GST_PAD_PROBE_INFO_BUFFER(info), track->codec->is_video, &due_us);
  departures_add(track->line, GST_PAD_PROBE_INFO_BUFFER(info), due_us);
  return GST_PAD_PROBE_DROP;
}

/* The front ends with the queue, in which media waits for its time. */
static GstElement *front_of(const Track *track) {
  gboolean is_passed = !track->is_rtp || (track->is_copied && !track->codec->is_video);
  const gchar *depayloader = is_passed ? "identity silent=true" : track->codec->depayloader;
  /* Copied packets become whole pictures without it. */
  gboolean is_parsed = is_h264(track->codec) && !(track->is_rtp && track->is_copied);
  const gchar *parser =
      is_parsed ? "! h264parse config-interval=-1 ! video/x-h264,stream-format=byte-stream,alignment=au" : "";
  gint64 queue_ns = (gint64)(3000 + camera_address()->cache_ms) * GST_MSECOND;
  gchar *description = g_strdup_printf(
      "%s %s ! queue name=queue max-size-buffers=0 max-size-bytes=33554432 max-size-time=%" G_GINT64_FORMAT, depayloader,
      parser, queue_ns);
  GstElement *front = gst_parse_bin_from_description(description, TRUE, NULL);
  g_free(description);
  return front;
}

static gboolean build(Track *track) {
  track->front = front_of(track);
  if (!track->front) return FALSE;
  GstElement *queue = gst_bin_get_by_name(GST_BIN(track->front), "queue");
  GstPad *input = gst_element_get_static_pad(queue, "sink");
  GstPad *output = gst_element_get_static_pad(queue, "src");
  timing_follow(input);
  if (track->is_rtp && track->is_copied && read_ahead_sends()) track->line = departures_line(send_copied, track);
  gst_pad_add_probe(input, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_input, track, NULL);
  gst_pad_add_probe(output, GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
                    on_output, track, NULL);
  gst_object_unref(input);
  gst_object_unref(output);
  gst_object_unref(queue);
  gst_bin_add(GST_BIN(live_pipeline()), track->front);
  track->output = gst_element_get_static_pad(track->front, "src");
  return attach(track) && gst_element_sync_state_with_parent(track->front);
}

static gboolean link_pad(Track *track) {
  GstPad *input = gst_element_get_static_pad(track->front, "sink");
  gboolean is_linked = gst_pad_link(track->pad, input) == GST_PAD_LINK_OK;
  gst_object_unref(input);
  return is_linked;
}

static Track *waiting_track(gint index) {
  gboolean is_waiting = index >= 0 && index < track_count && !gst_pad_is_linked(tracks[index].pad);
  if (!is_waiting) camera_failed("failed", "no such stream");
  return is_waiting ? &tracks[index] : NULL;
}

void track_send(gint index, const Output *output) {
  Track *track = waiting_track(index);
  if (!track) return;
  track->begin_us = g_get_monotonic_time();
  track->sender = sender_new(output, index, track->codec->is_video);
  g_atomic_int_inc(&sent_count);
  if (!track->sender || !build(track) || !link_pad(track))
    return camera_failed("unsupported", "a stream of the camera cannot be converted");
  gst_pad_remove_probe(track->pad, track->block);
  arrival_release(track->pad);
  watch_hold(-1);
}

void track_refuse(gint index) {
  Track *track = waiting_track(index);
  if (!track) return;
  track_discard(track->pad);
  gst_pad_remove_probe(track->pad, track->block);
  watch_hold(-1);
}

Sender *track_sender(gint index) { return index >= 0 && index < track_count ? tracks[index].sender : NULL; }
