import { startStack, type Stack, SyntheticParticipant, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { scrape } from './fixtures/series.js'

const INTERVALS = ['SERVICE_PRO_STATS_WEBRTC_INTERVAL', 'SERVICE_PRO_STATS_MONITORING_INTERVAL']
const intervals = <T>(value: T): Record<string, T> => Object.fromEntries(INTERVALS.map((name) => [name, value]))
let stack: Stack

beforeAll(async () => {
  stack = await startStack({ masterEnv: { ...intervals('0'), SERVICE_EDITION: 'enterprise' } })
})
afterAll(() => stack.stop())

const ofNode = async (name: string): Promise<number> => (await scrape(stack.nodes[0])).get(name) ?? 0
const ofMaster = async (name: string): Promise<number> => (await scrape(stack.masters[0])).get(name) ?? 0
const track = (name: string, direction: string, kind: string): string =>
  `${name}{direction="${direction}",kind="${kind}"}`

describe('the metrics of a session with two participants', () => {
  it('contain no samples with an interval of 0, and samples on running nodes after a restart with another one', async () => {
    const { id } = await stack.api.createSession()
    const { token } = await stack.api.createConnection(id)
    const publisher = await SyntheticParticipant.join(token ?? '')
    const stream = await publisher.publish({ video: false })
    await until('two seconds of audio are sent', () => (stream.stats().audio?.packets ?? 0) > 100)
    const series = [...(await scrape(stack.nodes[0])), ...(await scrape(stack.masters[0]))]
    const sampled = series.filter(([name]) => /^(media_packets|media_transport_bits|machine)_\w+/.test(name))
    expect(sampled.filter(([, value]) => value > 0)).toEqual([])
    await publisher.close()
    await stack.api.deleteSession(id)

    expect((await stack.rest('POST', '/restart', intervals(1))).status).toBe(200)
    await until('the node has the new intervals', async () => (await ofNode('machine_cpu_ratio')) > 0)
    await until('the master has the new intervals', async () => (await ofMaster('machine_cpu_ratio')) > 0)
  })

  it('count the packets, losses and conditions of the media on the node', async () => {
    const { id } = await stack.api.createSession()
    const tokens = await Promise.all([0, 1, 2].map(() => stack.api.createConnection(id)))
    const uplink = { lossRate: 0 }
    const publisher = await SyntheticParticipant.join(tokens[0]?.token ?? '', { uplink })
    const receiver = await SyntheticParticipant.join(tokens[1]?.token ?? '')
    const stream = await publisher.publish({ audio: true, video: true, kbps: 600 })
    const subscription = await receiver.subscribe(stream.streamId)

    // Each track is sampled at a time of its own.
    const counted = await until('all tracks are counted', async () => {
      const series = await scrape(stack.nodes[0])
      const isCounted = (way: string, kind: string): boolean =>
        (series.get(track('media_packets_total', way, kind)) ?? 0) > 50
      return ['in', 'out'].every((way) => isCounted(way, 'audio') && isCounted(way, 'video')) && series
    })
    expect(counted.get(track('media_packets_total', 'in', 'audio'))).toBeLessThanOrEqual(
      stream.stats().audio?.packets ?? 0,
    )
    expect(counted.get(track('media_packets_total', 'out', 'video'))).toBeGreaterThan(0)
    expect(counted.get(track('media_bytes_total', 'in', 'video'))).toBeGreaterThan(1_000)
    expect(counted.get(track('media_packets_lost_total', 'in', 'audio')) ?? 0).toBe(0)
    expect(counted.get(track('media_plis_total', 'in', 'video'))).toBe(1)
    expect(counted.get(track('media_tracks', 'in', 'video'))).toBe(1)
    expect(counted.get(track('media_tracks', 'out', 'audio'))).toBe(1)
    expect(counted.get('media_transports{direction="in",protocol="udp"}')).toBe(1)
    expect(counted.get('media_transports{direction="in",protocol="none"}')).toBe(1)

    const keyFrames = counted.get('media_key_frames_total') ?? 0
    const late = await SyntheticParticipant.join(tokens[2]?.token ?? '')
    await late.subscribe(stream.streamId)
    await until('a key frame for the new subscriber', async () => (await ofNode('media_key_frames_total')) > keyFrames)
    await late.close()

    uplink.lossRate = 0.2
    const lost = track('media_packets_lost_total', 'in', 'audio')
    await until('losses are counted', async () => (await ofNode(lost)) > 5)
    const lossy = await scrape(stack.nodes[0])
    const sent = stream.stats().audio?.packets ?? 0
    expect(lossy.get(lost)).toBeLessThan(sent / 2)
    expect(lossy.get('media_loss_ratio_bucket{le="+Inf",direction="in",kind="audio"}')).toBeGreaterThan(0)
    expect(lossy.get(`media_transport_bits_per_second_count{direction="in"}`)).toBeGreaterThan(0)
    expect(lossy.get('machine_cpu_ratio')).toBeLessThanOrEqual(1)
    expect(subscription.stats().audio?.packets ?? 0).toBeGreaterThan(0)

    expect((await scrape(stack.masters[0])).has('machine_memory_used_ratio')).toBe(true)
    await Promise.all([publisher, receiver].map((each) => each.close()))
    await stack.api.deleteSession(id)
  })

  it('measure joins and count failed ones by cause on the master, which is the leader', async () => {
    const { id } = await stack.api.createSession()
    await stack.join(id)
    const { token } = await stack.api.createConnection(id)
    await expect(SyntheticParticipant.join((token ?? '').replace(/tok_\w+/, 'tok_wrong'))).rejects.toThrow()
    expect(await ofMaster('join_failures_total{reason="UNAUTHENTICATED"}')).toBeGreaterThanOrEqual(1)
    for (const step of ['token', 'placement', 'media_node', 'answer', 'total'])
      expect(await ofMaster(`join_step_seconds_count{step="${step}"}`)).toBeGreaterThanOrEqual(1)
    const active = 'cluster_connections{type="WEBRTC",status="active"}'
    await until('the leader exports the cluster', async () => (await ofMaster(active)) === 1)
    const series = await scrape(stack.masters[0])
    expect(series.get('cluster_sessions{placed="yes"}')).toBe(1)
    expect(series.get('cluster_queue_age_seconds{queue="webhook"}')).toBe(0)
    expect(series.get('database_pool_size')).toBe(16)
    expect(series.get('database_connections{state="used"}')).toBeGreaterThanOrEqual(1)
    expect(series.get('database_batch_items_count{table="connection"}')).toBeGreaterThanOrEqual(1)
    expect(series.get('bus_connected')).toBe(1)
    expect(series.get('bus_request_seconds_count{subject="command",outcome="answered"}')).toBeGreaterThanOrEqual(1)
    await stack.api.deleteSession(id)
  })

  it('contain the reports of clients, within their limits', async () => {
    const { id } = await stack.api.createSession()
    const member = await stack.join(id)
    const join = { socketMs: 40, answerMs: 60, iceMs: 200 }
    const playback = { videoSeconds: 30, freezes: 2, frozenSeconds: 3 }
    await expect(member.request('reportExperience', { join: { ...join, iceMs: 60_001 } })).rejects.toThrow('iceMs')
    await member.request('reportExperience', { join, candidate: 'relay', playback })
    // More often than permitted: ignored.
    await member.request('reportExperience', { join, candidate: 'relay', playback })
    const series = await scrape(stack.masters[0])
    expect(series.get('client_join_step_seconds_count{step="ice"}')).toBe(1)
    expect(series.get('client_join_step_seconds_sum{step="ice"}')).toBe(0.2)
    expect(series.has('client_join_step_seconds_count{step="media"}')).toBe(false)
    expect(series.get('client_transports_total{candidate="relay"}')).toBe(1)
    expect(series.get('client_frozen_ratio_sum')).toBeCloseTo(0.1)
    expect(series.get('client_freezes_total')).toBe(2)
    expect(series.get('client_video_seconds_total')).toBe(30)
    await stack.api.deleteSession(id)
  })
})
