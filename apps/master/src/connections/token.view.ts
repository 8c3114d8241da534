import { type ConnectionView, type CreateTokenBody, ServiceError, type TokenView } from '@session-service/contract'

/** The Token object of the REST API, from the connection that was created for it. */
export function tokenView(
  { id, token, createdAt, sessionId, serverData, record }: ConnectionView,
  { role, mediaserverOptions }: CreateTokenBody,
): TokenView {
  if (token === null) throw new ServiceError('INTERNAL', `connection ${id} has no token`)
  return {
    id: token,
    token,
    connectionId: id,
    createdAt,
    session: sessionId,
    role,
    data: serverData,
    record,
    ...(mediaserverOptions && { mediaserverOptions }),
  }
}
