import type { QueuedDocument } from '../outbox.repository.js'
import type { SessionSummary } from './summary.js'

/** The documents of an ended session for a search server: one of the session, and one of each user and connection. */
export function summaryDocuments({ users, ...session }: SessionSummary): QueuedDocument[] {
  const { uniqueSessionId, destroyedAt: timestamp } = session
  const ids = { sessionId: session.id, uniqueSessionId, timestamp }
  const document = (name: string, id: string, members: object): QueuedDocument => ({
    id: `${uniqueSessionId}-${id}`,
    sessionKey: uniqueSessionId,
    name,
    payload: { ...members, ...ids },
  })
  const shortUsers = users.content.map(({ connections, ...user }) => ({
    ...user,
    connections: { numberOfElements: connections.numberOfElements },
  }))
  return [
    document('sessionSummary', 'session', {
      ...session,
      users: { numberOfElements: users.numberOfElements, content: shortUsers },
    }),
    ...users.content.flatMap(({ connections, ...user }) => [
      document('userSummary', user.id, {
        ...user,
        connections: {
          numberOfElements: connections.numberOfElements,
          content: connections.content.map(({ publishers, subscribers, ...connection }) => ({
            ...connection,
            publishers: { numberOfElements: publishers.numberOfElements },
            subscribers: { numberOfElements: subscribers.numberOfElements },
          })),
        },
      }),
      ...connections.content.map((connection) =>
        document('connectionSummary', connection.connectionId, { user: user.id, ...connection }),
      ),
    ]),
  ]
}
