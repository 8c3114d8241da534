const KEYS = ['clientData', 'nickname', 'name', 'userName', 'displayName'] as const
const LONGEST = 80

/** The text of usual members of an object in JSON; other text itself. */
function textIn(data: string | null): string {
  if (!data?.startsWith('{')) return data ?? ''
  try {
    const value = JSON.parse(data) as Record<string, unknown>
    for (const key of KEYS) {
      const text = value[key]
      if (typeof text === 'string' && text !== '') return text
    }
  } catch {
    // Not JSON: shown as it is.
  }
  return data
}

const shortened = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text)

/** A name for a participant of the data that the client or the backend gave; empty without any. */
export const participantName = (clientData: string | null, serverData: string): string =>
  shortened(textIn(clientData) || textIn(serverData))
