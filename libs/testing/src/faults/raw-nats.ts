import { connect } from 'node:net'
import { busScope, DEFAULT_BUS_CLUSTER } from '@session-service/contract'

export interface RawMessage {
  subject: string
  payload: string | Buffer
}

/**
 * Publishes any payload on any subject of the default cluster, without the validation of the messaging library; resolves
 * when the server has received it.
 */
export async function publishRaw(natsUrl: string, messages: readonly RawMessage[]): Promise<void> {
  const { hostname, port, username, password } = new URL(natsUrl)
  const { prefix } = busScope(DEFAULT_BUS_CLUSTER, 'master')
  const socket = connect(Number(port), hostname)
  const acknowledged = new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the bus closed the connection')))
    socket.on('data', (data: Buffer) => {
      const text = data.toString('latin1')
      if (text.includes('-ERR')) reject(new Error(text))
      else if (text.includes('PONG')) resolve()
    })
  })
  const credentials = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
  socket.write(`CONNECT ${JSON.stringify({ verbose: false, pedantic: false, ...(username && credentials) })}\r\n`)
  for (const { subject, payload } of messages) {
    const bytes = Buffer.from(payload)
    socket.write(`PUB ${prefix}${subject} ${bytes.length}\r\n`)
    socket.write(Buffer.concat([bytes, Buffer.from('\r\n')]))
  }
  socket.write('PING\r\n')
  try {
    await acknowledged
  } finally {
    socket.destroy()
  }
}
