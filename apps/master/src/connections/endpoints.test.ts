import { type ConnectionView, type TransportDescription } from '@session-service/contract'
import { expect, it } from '@jest/globals'
import { transportsFrom, withEndpoints } from './endpoints.service.js'

const transport = (id: string): TransportDescription => ({
  id,
  candidates: [],
  localCandidate: null,
  remoteCandidate: null,
})
const view = (id: string, publishers: string[], subscribers: string[]): ConnectionView =>
  ({
    id,
    publishers: publishers.map((streamId) => ({ streamId })),
    subscribers: subscribers.map((streamId) => ({ streamId })),
  }) as ConnectionView

const transports = transportsFrom({
  connections: [{ connectionId: 'native', send: transport('send'), recv: transport('recv') }],
  streams: [
    { connectionId: 'legacy', streamId: 'a', direction: 'send', transport: transport('sendA') },
    { connectionId: 'legacy', streamId: 'b', direction: 'recv', transport: transport('recvB') },
    { connectionId: 'legacy', streamId: 'c', direction: 'recv', transport: transport('recvC') },
  ],
})
const namesOf = ({ publishers, subscribers }: ConnectionView) =>
  [publishers, subscribers].map((all) => all?.map((each) => 'webrtcEndpointName' in each && each.webrtcEndpointName))

it.each<[string, ConnectionView, unknown]>([
  [
    'the transport of its direction, for each stream of a client with two',
    view('native', ['x', 'y'], ['b', 'c']),
    [
      ['send', 'send'],
      ['recv', 'recv'],
    ],
  ],
  [
    'its own transport, for each stream of a client with one for each',
    view('legacy', ['a'], ['b', 'c']),
    [['sendA'], ['recvB', 'recvC']],
  ],
  ['nothing, for a stream that the node does not have', view('legacy', ['d'], ['a']), [[null], [null]]],
])('a stream is shown with %s', (_, connection, expected) => {
  expect(namesOf(withEndpoints(connection, transports))).toEqual(expected)
})
