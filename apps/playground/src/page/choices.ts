/** What a person chose, kept by the browser for the next time. Storage may be closed to the page: then for this time. */
export interface Choices {
  nickname: string
  /** Device ids; empty for the browser's choice. */
  microphone: string
  camera: string
  audio: boolean
  video: boolean
}

const KEY = 'playground.choices'

type Kept = Partial<Record<keyof Choices, unknown>>

function read(storage: Storage | undefined): Kept {
  try {
    const value: unknown = JSON.parse(storage?.getItem(KEY) ?? '{}')
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const unlessNo = (value: unknown): boolean => value !== false

function localStorageOrNone(): Storage | undefined {
  try {
    return window.localStorage
  } catch {
    return undefined
  }
}

export function loadChoices(storage = localStorageOrNone()): Choices {
  const { nickname, microphone, camera, audio, video } = read(storage)
  return {
    nickname: text(nickname),
    microphone: text(microphone),
    camera: text(camera),
    audio: unlessNo(audio),
    video: unlessNo(video),
  }
}

export function keepChoices(changes: Partial<Choices>, storage = localStorageOrNone()): void {
  try {
    storage?.setItem(KEY, JSON.stringify({ ...loadChoices(storage), ...changes }))
  } catch {
    // A full or closed storage: the choice holds for this time.
  }
}
