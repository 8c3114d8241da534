import { signal } from '@preact/signals'

export interface PlayedRecording {
  title: string
  address: string
}

/** The recording that is being played. */
export const played = signal<PlayedRecording | undefined>(undefined)
export const openPlayer = (recording: PlayedRecording): void => void (played.value = recording)

/** The subtitles beside the file of a recording, where they exist. Files in an object storage have none here. */
export async function subtitlesOf(address: string): Promise<string | undefined> {
  if (!address.startsWith('/')) return undefined
  const subtitles = address.replace(/\.\w+$/, '.vtt')
  const answer = await fetch(subtitles, { method: 'HEAD' }).catch(() => undefined)
  return answer?.ok ? subtitles : undefined
}
