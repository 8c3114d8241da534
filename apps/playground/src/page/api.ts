/** What was recorded of a session, as the application's server lists it. Seconds, bytes, UTC ms. */
export interface RecordingItem {
  readonly id: string
  readonly status: string
  readonly createdAt: number
  readonly duration: number
  readonly size: number
  /** Of the file, once there is one. */
  readonly href?: string
}

/** A token for this person, from the application's own server. Rejects with an `Error` that can be shown. */
export async function fetchToken(wish: {
  session: string
  nickname: string
  role?: string | undefined
}): Promise<string> {
  const { token } = await post<{ token: string }>('/api/connection', wish)
  return token
}

/** Resolves once something is on disk. */
export const startRecording = (session: string): Promise<unknown> => post('/api/recordings/start', { session })
export const stopRecording = (session: string): Promise<unknown> => post('/api/recordings/stop', { session })

/** The newest first. */
export async function fetchRecordings(session: string): Promise<readonly RecordingItem[]> {
  const query = new URLSearchParams({ session }).toString()
  return (await ask<{ recordings: RecordingItem[] }>(`/api/recordings?${query}`)).recordings
}

const post = <T>(path: string, body: object): Promise<T> =>
  ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

/** Both ends are ours: what the server answers has the form that is asked for. */
async function ask<T>(path: string, init?: RequestInit): Promise<T> {
  const answer = await fetch(path, init).catch((cause: unknown) => {
    throw new Error('The page cannot reach its server. Check your network and try again.', { cause })
  })
  const body = (await answer.json().catch(() => undefined)) as (T & { message?: unknown }) | undefined
  if (answer.ok && body) return body
  throw new Error(
    typeof body?.message === 'string' ? body.message : `The server answered with status ${answer.status}.`,
  )
}
