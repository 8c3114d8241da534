/**
 * One 20 ms Opus packet for each tone (mono, CELT, fullband, 61 bytes), from a converged encoder. A sequence of the same
 * packet decodes to a steady sine of about 0.14 RMS.
 */
const PACKETS: Readonly<Record<number, string>> = {
  300: '+MD7iT+MJywKlQaEyi2LKEZGP6GmrNtZln+g2GAaM4aHjWLTUEAjC1lmi0iD/9lJK/sjTaAGQt6wzMkTIQ==',
  450: '+K1tTPo3ov4/tkXdslOpLAJHrgC4zYrF7u4uDKCimKKn4O9q9/lM6BnwXJzJqxs1VY58N1dFuXLM3WiBrA==',
  600: '+KylmBgBsMgfJSzZXvaMwXtlTev/JSQTZpZBoeDgsT6cMrJ1VBnja96ezrmydD7mh4/yxDWa6Z2D57/nTA==',
  800: '+K/ipreL2FRTR46R8suP5GjRGO5RM2sx+ckriDO2lNNqPg3ueLW4PDydYD7J5mprpsYsv6RS0BSG6z/BQA==',
  1000: '+MeWlI0NE+70j+5XUj2iW/x48pVtonv79NWpsGG5bKOSTHPXC8SjX14Zyzu/2kF0Ix0ks2pd6c5gQoYfEQ==',
  1250: '+LIp2gwgTkGVt/4yHH+qN317CN0ZKkLrx1Mz5Pn1Od8KvVr79aZXSjC6Lt69qGj+tNlvT8Anq7lusaOXTA==',
  1500: '+LI0puIyB3xLVww8ZihMxUNNEzj5NIWiEnj54l0sJa6lVf+m0+koctrkb8WYWaPrc7DvMSyBz5le5QXlQg==',
  2000: '+LKHlr7mT2Qow2Rg+JuNGjgaWNOMxQM6lku2HusSSnkdXg9fVqneJiw5eedAktBGNWek/AHlByxCcQ+hiQ==',
}

/** The available pitches, Hz. */
export const TONES: readonly number[] = Object.keys(PACKETS).map(Number)
export const DEFAULT_TONE = 450
/** The level of all tones for the audio-level header extension, in -dBov. */
export const TONE_LEVEL = 17

/** Returns the Opus packet of a tone; throws for an unknown pitch and names the known ones. */
export function tonePacket(hz: number): Buffer {
  const packet = PACKETS[hz]
  if (packet === undefined) throw new RangeError(`no tone of ${hz} Hz: one of ${TONES.join(', ')}`)
  return Buffer.from(packet, 'base64')
}
