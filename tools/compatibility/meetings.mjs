// Sessions of synthetic participants across masters and media nodes of two versions.
import { library } from './library.mjs'

const { ServiceApi, SyntheticParticipant, until } = await library('testing')

const RECOVERY_MS = 60_000
const QUALITY = { width: 320, height: 180, fps: 15, kbps: 150 }

/** A REST client of each master, by its name. */
export const apisOf = (stack) =>
  Object.fromEntries(stack.masters.map(({ name, env }) => [name, new ServiceApi(urlOf(env), stack.secret)]))
const urlOf = ({ SERVICE_HOST, SERVICE_PORT }) => `http://${SERVICE_HOST}:${SERVICE_PORT}`

/** A session that `creator` creates on the node; its participants join at `masters`, one each, and see each other. */
export async function meet({ creator, masters, node }) {
  const { id } = await creator.createSession({ mediaNode: { id: node } })
  const peers = []
  for (const api of masters) {
    const { token } = await api.createConnection(id, { role: 'MODERATOR' })
    peers.push(await SyntheticParticipant.join(atMaster(api, token)))
  }
  const streams = []
  for (const peer of peers) streams.push(await peer.publish(QUALITY))
  const [one, two] = peers
  const watched = [await one.subscribe(streams[1].streamId), await two.subscribe(streams[0].streamId)]
  const meeting = { id, peers, streams, watched }
  await mediaFlows(meeting)
  return meeting
}

/** The address in a token is that of the master that made it. */
function atMaster(api, token) {
  const url = new URL(token)
  url.host = new URL(api.baseUrl).host
  return url.href
}

/** Both participants decode new media of the other. */
export async function mediaFlows({ watched }) {
  const packets = () => watched.map((each) => each.stats().video?.packets ?? 0)
  const before = packets()
  const flows = () =>
    packets().every((count, at) => count > before[at] + 15) &&
    watched.every((each) => (each.stats().video?.keyFrames ?? 0) > 0)
  await until('each participant receives the other', flows, RECOVERY_MS)
}

/** Waits until the session is on another node and its participants decode media there. */
export async function movedTo(node, meeting, api, epoch) {
  await until('the session is moved', async () => (await api.getSession(meeting.id)).mediaNodeId === node, RECOVERY_MS)
  await until('all have rejoined', () => meeting.peers.every(({ mediaEpoch }) => mediaEpoch >= epoch), RECOVERY_MS)
  await mediaFlows(meeting)
}

/** Records the session: one master starts the recording, another one stops it. */
export async function record(meeting, starter, stopper) {
  const { id } = await starter.startRecording({ session: meeting.id, outputMode: 'INDIVIDUAL' })
  await mediaFlows(meeting)
  await stopper.stopRecording(id)
  await until('the recording is ready', async () => (await starter.getRecording(id)).status === 'ready', RECOVERY_MS)
  const { size, duration } = await stopper.getRecording(id)
  if (size === 0 || duration === 0) throw new Error(`the recording is empty: ${size} bytes, ${duration} s`)
}

export async function end(meeting, api) {
  await api.deleteSession(meeting.id)
  for (const peer of meeting.peers) await peer.close()
  const violations = meeting.peers.flatMap(({ violations: of }) => of)
  if (violations.length > 0) throw new Error(violations.join('; '))
}
