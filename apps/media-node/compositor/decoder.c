#include "compositor.h"

#include <string.h>

/* One packet of audio, for what is lost. */
#define PACKET_MS 20
#define MOST_LOST 50

struct Decoder {
  GstElement *bin;
  GstPad *input, *output;
  DecoderOutput wanted;
  gboolean is_refused;
};

static GstFlowReturn on_buffer(GstPad *pad, GstObject *parent, GstBuffer *buffer) {
  (void)parent;
  const Decoder *decoder = gst_pad_get_element_private(pad);
  if (!decoder->is_refused) decoder->wanted.on_media(buffer, decoder->wanted.data);
  gst_buffer_unref(buffer);
  return GST_FLOW_OK;
}

static gboolean on_event(GstPad *pad, GstObject *parent, GstEvent *event) {
  const Decoder *decoder = gst_pad_get_element_private(pad);
  GstCaps *format;
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
    gst_event_parse_caps(event, &format);
    if (!decoder->is_refused) decoder->wanted.on_format(format, decoder->wanted.data);
  }
  return gst_pad_event_default(pad, parent, event);
}

/* Before the first picture is decoded where its size is known by then, and else before the second one. */
static GstPadProbeReturn limit_size(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  (void)pad;
  Decoder *decoder = data;
  gboolean is_format = (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) &&
                       GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_CAPS;
  if (is_format && !decoder->is_refused && is_too_large(GST_PAD_PROBE_INFO_EVENT(info))) {
    decoder->is_refused = TRUE;
    decoder->wanted.on_refused(decoder->wanted.data);
  }
  return decoder->is_refused ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
}

static void limit_pictures(Decoder *decoder) {
  GstElement *element = gst_bin_get_by_name(GST_BIN(decoder->bin), "decoder");
  const gchar *names[] = {"sink", "src"};
  for (guint nth = 0; element && nth < G_N_ELEMENTS(names); nth++) {
    GstPad *pad = gst_element_get_static_pad(element, names[nth]);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_DATA_DOWNSTREAM, limit_size, decoder, NULL);
    gst_object_unref(pad);
  }
  if (element) gst_object_unref(element);
}

/* Without a template a pad with a format accepts no other one: the size of pictures could not change. */
static GstPad *any_pad(const gchar *name, GstPadDirection direction) {
  GstCaps *any = gst_caps_new_any();
  GstPadTemplate *template = gst_pad_template_new(name, direction, GST_PAD_ALWAYS, any);
  GstPad *pad = gst_pad_new_from_template(template, name);
  gst_object_unref(template);
  gst_caps_unref(any);
  return pad;
}

static GstPad *link_pad(Decoder *decoder, const gchar *name, GstPadDirection direction) {
  GstPad *pad = any_pad(name, direction == GST_PAD_SRC ? GST_PAD_SINK : GST_PAD_SRC);
  GstPad *peer = gst_element_get_static_pad(decoder->bin, name);
  gst_pad_set_element_private(pad, decoder);
  if (direction == GST_PAD_SRC) {
    gst_pad_set_chain_function(pad, on_buffer);
    gst_pad_set_event_function(pad, on_event);
  }
  gst_pad_set_active(pad, TRUE);
  if (direction == GST_PAD_SRC) gst_pad_link(peer, pad);
  else gst_pad_link(pad, peer);
  gst_object_unref(peer);
  return pad;
}

static void begin(Decoder *decoder, const gchar *packets) {
  GstSegment segment;
  GstCaps *caps = gst_caps_from_string(packets);
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(decoder->input, gst_event_new_stream_start("packets"));
  gst_pad_push_event(decoder->input, gst_event_new_caps(caps));
  gst_pad_push_event(decoder->input, gst_event_new_segment(&segment));
  gst_caps_unref(caps);
}

Decoder *decoder_new(gchar *description, gchar *packets, const DecoderOutput *output) {
  GError *error = NULL;
  Decoder *decoder = g_new0(Decoder, 1);
  decoder->wanted = *output;
  decoder->bin = gst_parse_bin_from_description(description, TRUE, &error);
  if (decoder->bin) {
    gst_object_ref_sink(decoder->bin);
    limit_pictures(decoder);
    decoder->output = link_pad(decoder, "src", GST_PAD_SRC);
    decoder->input = link_pad(decoder, "sink", GST_PAD_SINK);
    gst_element_set_state(decoder->bin, GST_STATE_PLAYING);
    begin(decoder, packets);
  } else {
    event_error(NULL, error->message);
    g_error_free(error);
    g_free(decoder);
    decoder = NULL;
  }
  g_free(description);
  g_free(packets);
  return decoder;
}

void decoder_free(Decoder *decoder) {
  if (!decoder) return;
  gst_element_set_state(decoder->bin, GST_STATE_NULL);
  gst_pad_set_active(decoder->input, FALSE);
  gst_pad_set_active(decoder->output, FALSE);
  gst_object_unref(decoder->input);
  gst_object_unref(decoder->output);
  gst_object_unref(decoder->bin);
  g_free(decoder);
}

/* As rtpjitterbuffer reports a lost packet, for which the audio decoder makes up sound. */
static void push_lost(Decoder *decoder, GstClockTime at, guint lost) {
  GstClockTime length = PACKET_MS * GST_MSECOND, all = lost * length;
  for (guint nth = 0; nth < lost && lost <= MOST_LOST; nth++) {
    GstClockTime start = at > all ? at - all + nth * length : nth * length;
    GstStructure *packet = gst_structure_new("GstRTPPacketLost", "seqnum", G_TYPE_UINT, 0u, "timestamp", G_TYPE_UINT64, start,
                                             "duration", G_TYPE_UINT64, length, "retry", G_TYPE_UINT, 0u, "might-have-been-fec",
                                             G_TYPE_BOOLEAN, FALSE, NULL);
    gst_pad_push_event(decoder->input, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, packet));
  }
}

gboolean decoder_push(Decoder *decoder, GstBuffer *packet, guint lost) {
  if (lost > 0) push_lost(decoder, GST_BUFFER_PTS(packet), lost);
  return gst_pad_push(decoder->input, packet) >= GST_FLOW_OK || decoder->is_refused;
}
