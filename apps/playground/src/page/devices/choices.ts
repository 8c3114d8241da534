/** The settings of the user in the local storage. They last only for this visit if the page has no access to it. */
interface Choices {
  nickname: string
  /** Device ids; empty for the browser's default. */
  microphone: string
  camera: string
  audio: boolean
  video: boolean
  /** A language tag; empty before captions were on for the first time. */
  captionLanguage: string
  ownCaptions: boolean
}

const KEY = 'playground.choices'

type Stored = Partial<Record<keyof Choices, unknown>>

function read(storage: Storage | undefined): Stored {
  try {
    const value: unknown = JSON.parse(storage?.getItem(KEY) ?? '{}')
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const unlessFalse = (value: unknown): boolean => value !== false

function localStorageOrNone(): Storage | undefined {
  try {
    return window.localStorage
  } catch {
    return undefined
  }
}

export function loadChoices(storage = localStorageOrNone()): Choices {
  const { nickname, microphone, camera, audio, video, captionLanguage, ownCaptions } = read(storage)
  return {
    nickname: text(nickname),
    microphone: text(microphone),
    camera: text(camera),
    audio: unlessFalse(audio),
    video: unlessFalse(video),
    captionLanguage: text(captionLanguage),
    ownCaptions: unlessFalse(ownCaptions),
  }
}

export function saveChoices(changes: Partial<Choices>, storage = localStorageOrNone()): void {
  try {
    storage?.setItem(KEY, JSON.stringify({ ...loadChoices(storage), ...changes }))
  } catch {
    // The storage is full or unavailable: the setting lasts only for this visit.
  }
}
