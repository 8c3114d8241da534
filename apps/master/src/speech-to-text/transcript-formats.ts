import type { TranscriptSentenceEntity } from './transcript-sentence.entity.js'

type Sentence = Pick<
  TranscriptSentenceEntity,
  'uniqueSessionId' | 'connectionId' | 'clientData' | 'text' | 'startTime' | 'endTime'
>

/** The columns of a sentence that subtitles consist of. */
export type SpokenSentence = Omit<Sentence, 'uniqueSessionId'> & Pick<TranscriptSentenceEntity, 'streamId' | 'lang'>
type Speech = Pick<Sentence, 'connectionId' | 'clientData' | 'text'>

/** The begin and end of a cue, ms. */
interface CueTimes {
  from: number
  to: number
}

/** Client data is any text of the application; a short line is probably a name. */
const MAX_NAME = 64
/** The duration of a cue whose end is not known, ms. */
export const DEFAULT_CUE_MS = 3_000

/** The name of the speaker: the client data if it is a short line that is not JSON, else the connection id. */
export function speakerOf({ clientData, connectionId }: Pick<Sentence, 'clientData' | 'connectionId'>): string {
  const name = clientData.trim()
  return name !== '' && name.length <= MAX_NAME && !/^[[{"]|[\r\n\0]/.test(name) ? name : connectionId
}

/** The time since the creation of the session, ms; its unique id ends with that time. */
const sinceStart = ({ uniqueSessionId }: Sentence, time: number): number =>
  Math.max(0, time - Number(/_(\d+)$/.exec(uniqueSessionId)?.[1] ?? 0))

const two = (count: number): string => String(Math.floor(count)).padStart(2, '0')
const clock = (ms: number): string => `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1_000) % 60)}`
const clockMs = (ms: number): string => `${clock(ms)}.${String(Math.floor(ms) % 1_000).padStart(3, '0')}`

/** One line: a line break or an arrow would end the text of a cue. */
const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll(/\s+/g, ' ').trim()

export const VTT_HEADER = 'WEBVTT\n'

/** A WebVTT cue with the name of the speaker. */
export function vttCue(sentence: Sentence): string {
  const from = sinceStart(sentence, sentence.startTime)
  const to = Math.max(from + 1, sinceStart(sentence, sentence.endTime ?? sentence.startTime + DEFAULT_CUE_MS))
  return voiceCue({ from, to }, sentence)
}

const timing = ({ from, to }: CueTimes): string => `${clockMs(from)} --> ${clockMs(to)}`

/** A WebVTT cue whose voice tag has the name of the speaker. */
export const voiceCue = (times: CueTimes, speech: Speech): string =>
  `\n${timing(times)}\n<v ${escape(speakerOf(speech))}>${escape(speech.text)}</v>\n`

/** A WebVTT cue without tags, with a line for each speaker: `Alice: can you hear me now`. */
export const plainCue = (times: CueTimes, spoken: readonly Speech[]): string =>
  `\n${timing(times)}\n${spoken.map((speech) => `${escape(speakerOf(speech))}: ${escape(speech.text)}\n`).join('')}`

/** A line of text: `[00:01:02] Alice: can you hear me now`. */
export const textLine = (sentence: Sentence): string =>
  `[${clock(sinceStart(sentence, sentence.startTime))}] ${speakerOf(sentence)}: ${sentence.text.replaceAll(/\s+/g, ' ').trim()}\n`
