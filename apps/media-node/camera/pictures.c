#include "camera.h"

#include <string.h>

/*
 * Pictures of RTP packets with H.264 (RFC 6184), as byte streams that begin with the parameter sets of a key frame. The
 * element does the work of a depayloader and a parser for much less time: it looks at the first bytes of a unit only.
 */

/* A larger picture is none. */
#define MOST_PICTURE (8 * 1024 * 1024)
/* By their ids; sets with larger ones are sent as they come. */
#define MOST_SETS 32
#define LONGEST_SET 1024

static const guint8 START_CODE[] = {0, 0, 0, 1};

typedef struct {
  guint8 bytes[sizeof START_CODE + LONGEST_SET];
  gsize size;
} Set;

G_DECLARE_FINAL_TYPE(Pictures, pictures, CAMERA, PICTURES, GstElement)

struct _Pictures {
  GstElement parent;
  GstPad *output;
  Set *sps[MOST_SETS], *pps[MOST_SETS];
  /* The units of the picture that arrives. */
  GByteArray *units;
  gboolean has_slice, has_idr, is_key, has_sps, has_pps;
  guint32 timestamp;
  GstClockTime time;
  /* Where a unit in fragments begins. */
  gboolean has_fragment;
  gsize fragment;
  gboolean has_sequence;
  guint16 sequence;
  /* A camera that marks the end of each slice: a picture ends with its time. */
  gboolean has_wrong_marks, has_sent;
  guint32 sent_timestamp;
  gint width, height;
};

G_DEFINE_TYPE(Pictures, pictures, GST_TYPE_ELEMENT)

static GstStaticPadTemplate input_template = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("application/x-rtp"));
static GstStaticPadTemplate output_template = GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-h264"));

static void declare(Pictures *self) {
  GstCaps *caps = gst_caps_new_simple("video/x-h264", "stream-format", G_TYPE_STRING, "byte-stream", "alignment", G_TYPE_STRING, "au", NULL);
  if (self->width > 0) gst_caps_set_simple(caps, "width", G_TYPE_INT, self->width, "height", G_TYPE_INT, self->height, NULL);
  gst_pad_push_event(self->output, gst_event_new_caps(caps));
  gst_caps_unref(caps);
}

static void store(Set **sets, const guint8 *unit, gsize size) {
  guint id = h264_set_id(unit, size);
  if (id >= MOST_SETS || size > LONGEST_SET) return;
  if (!sets[id]) sets[id] = g_new(Set, 1);
  memcpy(sets[id]->bytes, START_CODE, sizeof START_CODE);
  memcpy(sets[id]->bytes + sizeof START_CODE, unit, size);
  sets[id]->size = sizeof START_CODE + size;
}

static void follow_size(Pictures *self, const guint8 *sps, gsize size) {
  gint width, height;
  if (!sps_size(sps, size, &width, &height) || (width == self->width && height == self->height)) return;
  self->width = width, self->height = height;
  declare(self);
}

static void store_sets_of_description(Pictures *self, const GstStructure *caps) {
  const gchar *sets = gst_structure_get_string(caps, "sprop-parameter-sets");
  gchar **parts = g_strsplit(sets ? sets : "", ",", MOST_SETS);
  for (gchar **part = parts; *part; part++) {
    gsize size = 0;
    guchar *unit = g_base64_decode(*part, &size);
    if (size > 1 && (unit[0] & 31) == H264_SPS) store(self->sps, unit, size);
    if (size > 1 && (unit[0] & 31) == H264_PPS) store(self->pps, unit, size);
    g_free(unit);
  }
  g_strfreev(parts);
}

static void clear(Pictures *self) {
  g_byte_array_set_size(self->units, 0);
  self->has_slice = self->has_idr = self->is_key = self->has_sps = self->has_pps = self->has_fragment = FALSE;
}

static gsize sets_size(Set *const *sets) {
  gsize size = 0;
  for (guint at = 0; at < MOST_SETS; at++) size += sets[at] ? sets[at]->size : 0;
  return size;
}

static gsize put_sets(GstBuffer *picture, gsize to, Set *const *sets) {
  for (guint at = 0; at < MOST_SETS; at++)
    if (sets[at]) to += gst_buffer_fill(picture, to, sets[at]->bytes, sets[at]->size);
  return to;
}

static GstFlowReturn finish(Pictures *self) {
  if (self->has_fragment) g_byte_array_set_size(self->units, (guint)self->fragment);
  if (!self->has_slice) return clear(self), GST_FLOW_OK;
  gboolean needs_sets = self->has_idr && !(self->has_sps && self->has_pps);
  gsize begin = needs_sets ? sets_size(self->sps) + sets_size(self->pps) : 0;
  GstBuffer *picture = gst_buffer_new_allocate(NULL, begin + self->units->len, NULL);
  if (needs_sets) put_sets(picture, put_sets(picture, 0, self->sps), self->pps);
  gst_buffer_fill(picture, begin, self->units->data, self->units->len);
  GST_BUFFER_PTS(picture) = self->time;
  if (!self->is_key) GST_BUFFER_FLAG_SET(picture, GST_BUFFER_FLAG_DELTA_UNIT);
  self->has_sent = TRUE;
  self->sent_timestamp = self->timestamp;
  clear(self);
  return gst_pad_push(self->output, picture);
}

static void note_slice(Pictures *self, const guint8 *unit, gsize size) {
  H264Slice slice = h264_slice(unit, size);
  gboolean continues = !self->has_slice && slice.first_macroblock > 0;
  if (continues && self->has_sent && self->timestamp == self->sent_timestamp) self->has_wrong_marks = TRUE;
  self->has_slice = TRUE;
  self->has_idr |= (unit[0] & 31) == H264_IDR;
  self->is_key |= self->has_idr || slice.is_intra;
}

/* The unit at the end of those of the picture is complete. */
static void complete(Pictures *self, gsize begin) {
  const guint8 *unit = self->units->data + begin + sizeof START_CODE;
  gsize size = self->units->len - begin - sizeof START_CODE;
  guint8 type = unit[0] & 31;
  if (type == H264_SPS) store(self->sps, unit, size), follow_size(self, unit, size), self->has_sps = TRUE;
  else if (type == H264_PPS) store(self->pps, unit, size), self->has_pps = TRUE;
  else if (type >= H264_SLICE && type <= H264_IDR) note_slice(self, unit, size);
  else if (type != H264_SEI) g_byte_array_set_size(self->units, (guint)begin);
}

static gsize begin_unit(Pictures *self) {
  gsize begin = self->units->len;
  g_byte_array_append(self->units, START_CODE, sizeof START_CODE);
  return begin;
}

static void add(Pictures *self, const guint8 *unit, gsize size) {
  if (size == 0) return;
  gsize begin = begin_unit(self);
  g_byte_array_append(self->units, unit, (guint)size);
  complete(self, begin);
}

static void add_all(Pictures *self, const guint8 *bytes, gsize size) {
  for (gsize at = 0, length; at + 2 < size; at += 2 + length) {
    length = (gsize)(bytes[at] << 8 | bytes[at + 1]);
    if (at + 2 + length > size) return;
    add(self, bytes + at + 2, length);
  }
}

static void drop_fragment(Pictures *self) {
  if (self->has_fragment) g_byte_array_set_size(self->units, (guint)self->fragment);
  self->has_fragment = FALSE;
}

static void add_fragment(Pictures *self, const guint8 *bytes, gsize size) {
  if (bytes[1] & 0x80) {
    guint8 header = (bytes[0] & 0xe0) | (bytes[1] & 31);
    drop_fragment(self);
    self->has_fragment = TRUE;
    self->fragment = begin_unit(self);
    g_byte_array_append(self->units, &header, 1);
  }
  if (!self->has_fragment) return;
  g_byte_array_append(self->units, bytes + 2, (guint)size - 2);
  if (!(bytes[1] & 0x40)) return;
  self->has_fragment = FALSE;
  complete(self, self->fragment);
}

static void take(Pictures *self, const guint8 *payload, gsize size) {
  guint8 type = payload[0] & 31;
  gboolean is_fragment = type == H264_FU_A && size > 2;
  if (!is_fragment) drop_fragment(self);
  if (is_fragment) add_fragment(self, payload, size);
  else if (type == H264_STAP_A) add_all(self, payload + 1, size - 1);
  else if (type < H264_STAP_A) add(self, payload, size);
  if (self->units->len > MOST_PICTURE) clear(self);
}

static GstFlowReturn add_packet(Pictures *self, const RtpPacket *packet, GstClockTime time) {
  GstFlowReturn flow = GST_FLOW_OK;
  gboolean is_lost = self->has_sequence && packet->sequence != (guint16)(self->sequence + 1);
  self->has_sequence = TRUE;
  self->sequence = packet->sequence;
  if (is_lost) drop_fragment(self);
  if (packet->timestamp != self->timestamp) flow = finish(self);
  if (self->units->len == 0) self->time = time;
  self->timestamp = packet->timestamp;
  take(self, packet->payload, packet->size);
  if (flow != GST_FLOW_OK || !packet->is_marked || !self->has_slice || self->has_wrong_marks) return flow;
  return finish(self);
}

static GstFlowReturn on_packet(GstPad *pad, GstObject *parent, GstBuffer *buffer) {
  (void)pad;
  GstMapInfo map;
  RtpPacket packet;
  GstFlowReturn flow = GST_FLOW_OK;
  if (gst_buffer_map(buffer, &map, GST_MAP_READ)) {
    if (rtp_read(map.data, map.size, &packet)) flow = add_packet(CAMERA_PICTURES(parent), &packet, GST_BUFFER_PTS(buffer));
    gst_buffer_unmap(buffer, &map);
  }
  gst_buffer_unref(buffer);
  return flow;
}

static gboolean on_event(GstPad *pad, GstObject *parent, GstEvent *event) {
  Pictures *self = CAMERA_PICTURES(parent);
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) finish(self);
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return gst_pad_event_default(pad, parent, event);
  GstCaps *caps;
  gst_event_parse_caps(event, &caps);
  store_sets_of_description(self, gst_caps_get_structure(caps, 0));
  gst_event_unref(event);
  declare(self);
  return TRUE;
}

static void finalize(GObject *object) {
  Pictures *self = CAMERA_PICTURES(object);
  for (guint at = 0; at < MOST_SETS; at++) g_free(self->sps[at]), g_free(self->pps[at]);
  g_byte_array_unref(self->units);
  G_OBJECT_CLASS(pictures_parent_class)->finalize(object);
}

static void pictures_class_init(PicturesClass *class) {
  GstElementClass *element = GST_ELEMENT_CLASS(class);
  G_OBJECT_CLASS(class)->finalize = finalize;
  gst_element_class_add_static_pad_template(element, &input_template);
  gst_element_class_add_static_pad_template(element, &output_template);
  gst_element_class_set_static_metadata(element, "Pictures", "Codec/Depayloader", "Makes pictures of packets with H.264", "-");
}

static void pictures_init(Pictures *self) {
  GstPad *input = gst_pad_new_from_static_template(&input_template, "sink");
  self->output = gst_pad_new_from_static_template(&output_template, "src");
  self->units = g_byte_array_new();
  gst_pad_set_chain_function(input, on_packet);
  gst_pad_set_event_function(input, on_event);
  gst_pad_use_fixed_caps(self->output);
  gst_element_add_pad(GST_ELEMENT(self), input);
  gst_element_add_pad(GST_ELEMENT(self), self->output);
}

void pictures_register(void) { gst_element_register(NULL, PICTURES, GST_RANK_NONE, pictures_get_type()); }
