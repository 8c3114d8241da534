import type { Stack } from '@session-service/testing'

/** Creates a session and returns tokens for it. */
export async function sessionTokens(
  { api }: Pick<Stack, 'api'>,
  count: number,
  properties: Parameters<Stack['api']['createSession']>[0] = {},
): Promise<string[]> {
  const { id } = await api.createSession(properties)
  const connections = await Promise.all(Array.from({ length: count }, () => api.createConnection(id)))
  return connections.map(({ token }) => token ?? '')
}
