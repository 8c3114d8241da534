import type { SpeechToTextMessage } from '@session-service/contract'
import type { SpeechResult } from '@session-service/speech'

/** The origin of a result. */
interface SpokenIn {
  connectionId: string
  streamId: string
  lang: string
}

/**
 * The message to clients for a result, whose times are seconds of the stream. Pure.
 * @param toUtc the cluster's time of a second of the stream, UTC ms
 */
export function speechMessage(
  { kind, text, raw, words, start, end }: SpeechResult,
  { connectionId, streamId, lang }: SpokenIn,
  toUtc: (seconds: number) => number,
): SpeechToTextMessage {
  const begin = start ?? words?.[0]?.start ?? 0
  const relative = (seconds: number): number => Math.round((seconds - begin) * 1_000) / 1_000
  const isFinal = kind === 'final'
  const ended = end ?? words?.at(-1)?.end
  return {
    ...{ connectionId, streamId, lang, text, raw },
    reason: isFinal ? 'recognized' : 'recognizing',
    timestamp: toUtc(begin),
    ...(isFinal && ended !== undefined && { endTime: toUtc(ended) }),
    ...(isFinal &&
      words && { words: words.map((word) => ({ ...word, start: relative(word.start), end: relative(word.end) })) }),
  }
}
