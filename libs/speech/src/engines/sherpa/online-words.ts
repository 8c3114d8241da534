import type { SpeechWord } from '../engine.js'
import type { OnlineResult } from './sherpa-library.js'

/** The length that the last word, or a word before a pause, is assumed to have after its last token, s. */
const TOKEN_S = 0.3
/** Marks the begin of a word in the tokens of sentencepiece. */
const WORD_MARK = /^[▁ ]/

/**
 * The words of a result: a token that begins with a space begins a word. A word ends with the next one, or soon after its
 * last token. Empty when the tokens have no times. Pure.
 */
export function wordsOf({ tokens = [], timestamps = [], start_time = 0 }: OnlineResult): SpeechWord[] {
  if (timestamps.length !== tokens.length) return []
  const words: (SpeechWord & { last: number })[] = []
  for (const [at, token] of tokens.entries()) {
    const time = start_time + (timestamps[at] ?? 0)
    const text = token.replace(WORD_MARK, '')
    const word = words.at(-1)
    if (word && !WORD_MARK.test(token)) {
      word.word += text
      word.last = time
    } else words.push({ word: text, start: time, end: time, last: time })
  }
  return words
    .filter(({ word }) => word !== '')
    .map(({ word, start, last }, at, all) => ({
      word,
      start,
      end: Math.min(last + TOKEN_S, all[at + 1]?.start ?? Infinity),
    }))
}
