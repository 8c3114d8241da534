/** Sample rate of all audio that engines take, Hz. */
export const SAMPLE_RATE = 16_000

/** A speech recognition library. */
export interface SpeechEngine {
  readonly name: 'vosk' | 'sherpa'
  /** Loads the model in `folder`; `language` is the tag under which the model is offered, such as `en-US`. */
  load(folder: string, language: string): Promise<SpeechModel>
}

/** A loaded model, which serves any number of streams. */
export interface SpeechModel {
  open(): Promise<SpeechStream>
  /** Streams that are still open cannot be used afterwards. */
  close(): Promise<void>
}

/** One recognizer. Its methods are never called concurrently. */
export interface SpeechStream {
  /** 16 kHz mono samples. Resolves to the results that became known. */
  write(samples: Int16Array): Promise<SpeechResult[]>
  /** The utterance ends here (the speaker is silent): the final result, if any. The stream can be written to again. */
  endUtterance(): Promise<SpeechResult[]>
  close(): Promise<void>
}

/** Times are seconds since the first sample that was written to the stream. */
export interface SpeechWord {
  word: string
  start: number
  end: number
  confidence?: number
}

export interface SpeechResult {
  kind: 'partial' | 'final'
  text: string
  /** The words of final results, where the engine knows them. */
  words?: SpeechWord[]
  /** The utterance, also where the engine knows no words; seconds as above. Engines set it in final results. */
  start?: number
  end?: number
  /** The engine's own result, JSON. */
  raw: string
}
