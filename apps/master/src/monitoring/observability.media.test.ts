import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startStack, type Stack, SyntheticParticipant, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type PanelQuery, panelQueries, RULES_FILE, withoutThreshold } from './fixtures/dashboards.js'
import { Prometheus } from './fixtures/prometheus.js'

const program = process.env.PROMETHEUS_BIN
const inMeeting = program ? describe : describe.skip

inMeeting('Prometheus that reads a stack with a session', () => {
  let receiver: Server
  let stack: Stack
  let prometheus: Prometheus
  let participants: SyntheticParticipant[]

  const targets = () => [
    ...stack.masters.map(({ opsUrl }) => ({ job: 'session-service-master', address: new URL(opsUrl).host })),
    ...stack.nodes.map(({ opsUrl }) => ({ job: 'session-service-media-node', address: new URL(opsUrl).host })),
  ]
  const join = async (id: string, options = {}): Promise<SyntheticParticipant> => {
    const { token } = await stack.api.createConnection(id)
    return SyntheticParticipant.join(token ?? '', options)
  }

  /** A participant who reports its join and freezes, and a request for a session that does not exist. */
  const use = async (id: string): Promise<void> => {
    const member = await stack.join(id)
    const joined = { socketMs: 40, answerMs: 60, iceMs: 200, mediaMs: 500 }
    const playback = { videoSeconds: 30, freezes: 1, frozenSeconds: 1 }
    await member.request('reportExperience', { join: joined, candidate: 'udp', playback })
    expect((await stack.rest('GET', '/sessions/no-such-session')).status).toBe(404)
  }

  beforeAll(async () => {
    const intervals = { SERVICE_PRO_STATS_WEBRTC_INTERVAL: '1', SERVICE_PRO_STATS_MONITORING_INTERVAL: '1' }
    receiver = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    const { port } = receiver.address() as AddressInfo
    const webhook = {
      SERVICE_WEBHOOK: 'true',
      SERVICE_WEBHOOK_ENDPOINT: `http://127.0.0.1:${port}/`,
      SERVICE_WEBHOOK_ALLOWED_ADDRESSES: '["127.0.0.1"]',
    }
    const features = { SERVICE_RECORDING: 'true', SERVICE_EDITION: 'enterprise' }
    stack = await startStack({ masterEnv: { ...intervals, ...webhook, ...features } })
    prometheus = await Prometheus.start(program ?? '', RULES_FILE, targets())
    const { id } = await stack.api.createSession()
    const publisher = await join(id, { uplink: { lossRate: 0.1 } })
    const subscriber = await join(id)
    const stream = await publisher.publish({ audio: true, video: true, kbps: 300 })
    await subscriber.subscribe(stream.streamId)
    participants = [publisher, subscriber]
    await until('Prometheus has read the processes', async () => (await prometheus.query('up == 1')).length === 2)
    // A rate needs an increase after the first sample of its series.
    await use(id)
    const reports = 'session_service_client_join_step_seconds_count'
    await until('Prometheus has read the reports', async () => (await prometheus.query(reports)).length === 4)
    await use(id)
  })
  afterAll(async () => {
    await Promise.all((participants ?? []).map((each) => each.close()))
    await prometheus?.stop()
    await stack?.stop()
    receiver?.close()
  })

  /** Whether a query has a number: a quantile or a ratio without observations is NaN. */
  const hasNumber = async ({ expr }: PanelQuery): Promise<boolean> =>
    (await prometheus.query(expr)).some((value) => !Number.isNaN(value))
  const expectNumbers = async (queries: readonly PanelQuery[]): Promise<void> => {
    let empty = queries
    const isDone = async (): Promise<boolean> => {
      const found = await Promise.all(empty.map(hasNumber))
      empty = empty.filter((_, index) => !found[index])
      return empty.length === 0
    }
    // The expectation names the queries that are still empty.
    await until('every query has a number', isDone).catch(() => undefined)
    expect(empty).toEqual([])
  }

  it('has numbers for every query of every dashboard', async () => {
    const queries = panelQueries()
    expect(queries.length).toBeGreaterThan(100)
    await expectNumbers(queries)
  })

  it('evaluates every rule, and has numbers for the expression of each without its threshold', async () => {
    await until('all rules were evaluated', async () =>
      (await prometheus.rules()).every(({ health }) => health !== 'unknown'),
    )
    const rules = await prometheus.rules()
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
    expect(rules.filter(({ type }) => type === 'alerting').length).toBeGreaterThan(30)
    await expectNumbers(rules.map(({ name, query }) => ({ panel: name, expr: withoutThreshold(query) })))
  })

  it('reports no series for a metric that does not exist', async () => {
    expect(await prometheus.query('session_service_no_such_metric')).toEqual([])
  })
})
