/** A recording in the list of the playground server. Duration in seconds, size in bytes, time in UTC ms. */
export interface RecordingItem {
  readonly id: string
  readonly status: string
  readonly createdAt: number
  readonly duration: number
  readonly size: number
  /** The link to the file, present when the recording is ready. */
  readonly href?: string
}

/** The features of the service beside calls. */
interface Features {
  readonly captions: boolean
}

/** Fetches a token from the playground server. Rejects with an `Error` whose message can be shown to the user. */
export async function fetchToken(request: {
  session: string
  nickname: string
  role?: string | undefined
}): Promise<string> {
  const { token } = await post<{ token: string }>('/api/connection', request)
  return token
}

export const fetchFeatures = (): Promise<Features> => fetchJson('/api/features')

/** Resolves when the recording has written its first bytes. */
export const startRecording = (session: string): Promise<unknown> => post('/api/recordings/start', { session })
export const stopRecording = (session: string): Promise<unknown> => post('/api/recordings/stop', { session })

/** Fetches the recordings of a session, newest first. */
export async function fetchRecordings(session: string): Promise<readonly RecordingItem[]> {
  const query = new URLSearchParams({ session }).toString()
  return (await fetchJson<{ recordings: RecordingItem[] }>(`/api/recordings?${query}`)).recordings
}

const post = <T>(path: string, body: object): Promise<T> =>
  fetchJson(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

/** Does not validate the answer, because the playground server is part of the same application. */
async function fetchJson<T>(path: string, init?: RequestInit): Promise<T> {
  const answer = await fetch(path, init).catch((cause: unknown) => {
    throw new Error('The page cannot reach its server. Check your network and try again.', { cause })
  })
  const body = (await answer.json().catch(() => undefined)) as (T & { message?: unknown }) | undefined
  if (answer.ok && body) return body
  throw new Error(
    typeof body?.message === 'string' ? body.message : `The server answered with status ${answer.status}.`,
  )
}
