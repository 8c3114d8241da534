#include "compositor.h"

#include <string.h>

#define TOLERANCE (SAMPLE_RATE * SOUND_TOLERANCE_MS / 1000)

struct Sound {
  GArray *samples;
  /* The positions of the first sample, and behind the last one. */
  gint64 first, next;
  gboolean has_begun;
};

Sound *sound_new(void) {
  Sound *sound = g_new0(Sound, 1);
  sound->samples = g_array_new(FALSE, TRUE, CHANNELS * sizeof(gint16));
  return sound;
}

void sound_free(Sound *sound) {
  if (!sound) return;
  g_array_free(sound->samples, TRUE);
  g_free(sound);
}

/* Silence up to the position, unless there is no sound before. */
static void skip_to(Sound *sound, gint64 position) {
  if (sound->samples->len == 0) sound->first = position;
  else if (position > sound->next) g_array_set_size(sound->samples, (guint)(position - sound->first));
  sound->next = position;
}

void sound_put(Sound *sound, GstBuffer *buffer) {
  GstMapInfo map;
  if (!GST_BUFFER_PTS_IS_VALID(buffer) || !gst_buffer_map(buffer, &map, GST_MAP_READ)) return;
  gint64 position = (gint64)gst_util_uint64_scale_round(GST_BUFFER_PTS(buffer), SAMPLE_RATE, GST_SECOND);
  gint64 count = (gint64)(map.size / (CHANNELS * sizeof(gint16))), known = 0;
  if (sound->has_begun && ABS(position - sound->next) < TOLERANCE) position = sound->next;
  /* What has been heard is not heard again. */
  if (sound->has_begun && position < sound->next) known = MIN(sound->next - position, count);
  if (known < count) {
    skip_to(sound, position + known);
    g_array_append_vals(sound->samples, map.data + known * CHANNELS * sizeof(gint16), (guint)(count - known));
    sound->next = position + count;
  }
  sound->has_begun = TRUE;
  gst_buffer_unmap(buffer, &map);
}

void sound_mix(Sound *sound, gint64 from, gint64 to, gint16 *mix) {
  const gint16 *samples = (const gint16 *)(gpointer)sound->samples->data;
  gint64 begin = MAX(from, sound->first), end = MIN(to, sound->first + sound->samples->len);
  for (gint64 at = begin * CHANNELS; at < end * CHANNELS; at++) {
    gint value = mix[at - from * CHANNELS] + samples[at - sound->first * CHANNELS];
    mix[at - from * CHANNELS] = (gint16)CLAMP(value, G_MININT16, G_MAXINT16);
  }
  gint64 spent = CLAMP(to - sound->first, 0, sound->samples->len);
  if (spent > 0) g_array_remove_range(sound->samples, 0, (guint)spent);
  sound->first += spent;
}
