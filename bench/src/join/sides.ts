import { join } from 'node:path'
import { type Stack, startStack } from '@session-service/testing'
import { Helper } from '../helper/helper.js'
import { PARTICIPANTS } from '../participants/api.js'
import { STEPWISE_SERVER } from './api.js'
import { DelayedNetwork } from './delayed-network.js'
import { type PageServer, servePages } from './page-server.js'

/** Behaviour of a browser that sends its camera with default settings. */
export const PUBLISHER = { kbps: 500, keyFrameDeafMs: 300 }
/** The initial value of the media node as well. */
const INITIAL_OUTGOING_BPS = 1_000_000
const PAGES = ['ours', 'bare'] as const

/** Returns addresses of pages of one side that each join once. */
export type Invite = (count: number) => Promise<string[]>

interface Means {
  participants: Helper<typeof PARTICIPANTS>
  pages: PageServer<(typeof PAGES)[number]>
  network: DelayedNetwork
}

/** Both sides with one publisher each, whose pages reach them with this round-trip time. */
export async function startSides(
  cleanUp: AsyncDisposableStack,
  rttMs: number,
): Promise<{ ours: Invite; reference: Invite }> {
  const network = cleanUp.use(new DelayedNetwork(rttMs))
  const stack = await startStack({ nodes: 1, nodeEnv: network.nodeEnv })
  cleanUp.defer(() => stack.stop())
  const [stepwise, participants] = await Promise.all([
    Helper.start(STEPWISE_SERVER, new URL('stepwise-server.js', import.meta.url)),
    Helper.start(PARTICIPANTS, new URL('../participants/participants.js', import.meta.url)),
  ])
  for (const helper of [stepwise, participants]) cleanUp.defer(() => helper.stop())
  const pages = cleanUp.use(await servePages({ folder: join(import.meta.dirname, 'page'), pages: PAGES }))
  const means = { participants, pages, network }
  return { ours: await inviteToService(stack, means), reference: await inviteToBare(stepwise, means) }
}

async function publish(participants: Helper<typeof PARTICIPANTS>, room: string, token: string): Promise<void> {
  await participants.call('publish', { room, tokens: [token], ...PUBLISHER })
  await participants.call('talk', { room, active: true })
}

async function inviteToService(
  { api, masterUrl, nodes }: Stack,
  { participants, pages, network }: Means,
): Promise<Invite> {
  const { id } = await api.createSession()
  const token = async (): Promise<string> => (await api.createConnection(id)).token ?? ''
  await Promise.all(nodes.map(({ pid }) => network.relayMediaOf(pid)))
  const signalling = await network.relay(masterUrl)
  await publish(participants, 'service', await token())
  const library = `${masterUrl}/service/client/session-client.js`
  return async (count) => {
    const tokens = await Promise.all(Array.from({ length: count }, token))
    network.delay()
    return tokens.map((each) => pages.address('ours', { library, token: signalling(each) }))
  }
}

async function inviteToBare(
  stepwise: Helper<typeof STEPWISE_SERVER>,
  { participants, pages, network }: Means,
): Promise<Invite> {
  const { announcedHost } = network
  const { token, url, mediaPort } = await stepwise.call('start', {
    initialOutgoingBitrate: INITIAL_OUTGOING_BPS,
    ...(announcedHost !== undefined && { announcedHost }),
  })
  await network.relayMedia(mediaPort)
  const signalling = await network.relay(url)
  await publish(participants, 'bare', token)
  return async (count) => {
    network.delay()
    return Array.from({ length: count }, () => pages.address('bare', { url: signalling(url) }))
  }
}
