import { describe, expect, it } from '@jest/globals'
import { configAdvice, withoutEffect } from './advice.js'
import { loadMasterConfig } from './load.js'
import type { Property } from './property/property.js'
import { PROPERTIES, PROPERTY_NAMES, SECTIONS } from './table.js'

const table: Readonly<Record<string, Property>> = PROPERTIES

/** The properties that the REST contract allows `POST restart` to change. */
const RESTARTABLE = [
  'SERVICE_CDR',
  'SERVICE_RECORDING',
  'SERVICE_RECORDING_PATH',
  'SERVICE_RECORDING_PUBLIC_ACCESS',
  'SERVICE_RECORDING_NOTIFICATION',
  'SERVICE_RECORDING_CUSTOM_LAYOUT',
  'SERVICE_RECORDING_AUTOSTOP_TIMEOUT',
  'SERVICE_WEBHOOK',
  'SERVICE_WEBHOOK_ENDPOINT',
  'SERVICE_WEBHOOK_HEADERS',
  'SERVICE_WEBHOOK_EVENTS',
  'SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH',
  'SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH',
  'SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH',
  'SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH',
  'SERVICE_SESSIONS_GARBAGE_INTERVAL',
  'SERVICE_SESSIONS_GARBAGE_THRESHOLD',
  'SERVICE_PRO_CLUSTER_ID',
  'SERVICE_PRO_CLUSTER_MEDIA_NODES',
  'SERVICE_PRO_CLUSTER_PATH',
  'SERVICE_PRO_CLUSTER_AUTOSCALING',
  'SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES',
  'SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES',
  'SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD',
  'SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD',
  'SERVICE_PRO_NETWORK_QUALITY',
  'SERVICE_PRO_NETWORK_QUALITY_INTERVAL',
  'SERVICE_PRO_STATS_MONITORING_INTERVAL',
  'SERVICE_PRO_STATS_WEBRTC_INTERVAL',
  'SERVICE_SECRET',
]
/** The other members of the contract's configuration object. */
const SHOWN = [
  'DOMAIN_OR_PUBLIC_IP',
  'HTTPS_PORT',
  'SERVICE_PUBLICURL',
  'SERVICE_RECORDING_VERSION',
  'SERVICE_STREAMS_FORCED_VIDEO_CODEC',
  'SERVICE_SERVER_DEPENDENCY_VERSION',
  'MEDIASERVER_URIS',
  'SERVICE_PRO_CLUSTER_ENVIRONMENT',
  'SERVICE_PRO_SEARCH',
  'SERVICE_PRO_SEARCH_HOST',
  'SERVICE_PRO_SEARCH_VERSION',
  'SERVICE_PRO_DASHBOARD_HOST',
  'SERVICE_PRO_DASHBOARD_VERSION',
  'SERVICE_PRO_RECORDING_STORAGE',
  'SERVICE_PRO_SPEECH_TO_TEXT',
  'SERVICE_PRO_SPEECH_TO_TEXT_MODEL_LOAD_STRATEGY',
]

/** Not in the contract. */
const OTHERS = [
  'SERVICE_SECRET_PREVIOUS',
  'SERVICE_SESSIONS_MAX_CONCURRENT',
  'SERVICE_SESSIONS_MAX_PARTICIPANTS',
  'SERVICE_SESSIONS_MAX_STREAMS',
  'SERVICE_SESSIONS_MAX_DURATION',
  'SERVICE_RECORDING_COMPOSITION',
  'SERVICE_RECORDING_MAX_CONCURRENT',
  'SERVICE_RECORDING_RETENTION_DAYS',
  'SERVICE_RECORDING_RETENTION_SIZE',
  'SERVICE_RECORDING_RETENTION_NOTICE',
  'SERVICE_REST_RATE_LIMIT',
  'SERVICE_REST_RATE_BURST',
  'SERVICE_PRO_DASHBOARD',
]

describe('the table', () => {
  it('marks exactly the limits, the previous secret, the dashboard, the composition and the properties that the contract allows a restart to change', () => {
    const marked = PROPERTY_NAMES.filter((name) => table[name]?.restartable)
    expect(marked.sort()).toEqual([...RESTARTABLE, ...OTHERS].sort())
  })

  it('contains every property of the contract, for the master', () => {
    for (const name of [...SHOWN, ...RESTARTABLE]) expect(`${name} ${table[name]?.audience}`).toMatch(/ (master|both)$/)
  })

  it('lists every property in one section of the documentation', () => {
    expect(SECTIONS.flatMap(([, properties]) => Object.keys(properties)).sort()).toEqual([...PROPERTY_NAMES].sort())
  })

  it.each(PROPERTY_NAMES)('%s has a meaning of one line and a default that its own schema accepts', (name) => {
    const property = PROPERTIES[name] as Property
    expect(property.meaning).toMatch(/^[A-Z`][^\n]{8,}[^.]$/)
    if (!('default' in property) || property.default === '') return
    const { schema, show } = property.type
    expect(schema.parse(show(property.default))).toEqual(property.default)
  })

  it.each([
    'SERVICE_SECRET',
    'SERVICE_SECRET_PREVIOUS',
    'SERVICE_API_SECRETS',
    'DATABASE_URL',
    'NATS_URL',
    'MEDIA_NODE_NATS_URL',
    'SERVICE_WEBRTC_ICE_SERVERS',
    'SERVICE_WEBHOOK_HEADERS',
    'TURN_SHARED_SECRET_KEY',
    'SERVICE_PRO_AWS_ACCESS_KEY',
    'SERVICE_PRO_AWS_SECRET_KEY',
    'SERVICE_PRO_AWS_S3_HEADERS',
  ])('%s is secret', (name) => expect(table[name]?.secret).toBe(true))
})

describe('configAdvice', () => {
  it('reports unknown names and properties without effect', () => {
    const env = {
      SERVICE_PROT: '1',
      MEDIA_NODE_WORKER: '2',
      SERVICE_RECORDING_VERSION: '2',
      SERVICE_PORT: '1',
      HOME: '/',
    }
    expect(configAdvice('master', env)).toEqual([
      'SERVICE_PROT is set but no such property exists',
      'MEDIA_NODE_WORKER is set but no such property exists',
      'SERVICE_RECORDING_VERSION is set but has no effect in this version',
    ])
    expect(configAdvice('node', { SERVICE_WEBHOOK: 'true', MEDIA_NODE_WORKERS: '1', SERVICE_PROT: '' })).toEqual([])
  })

  it('ignores the variables that Kubernetes sets for each Service', () => {
    const env = {
      SERVICE_MASTER_SERVICE_HOST: '10.0.0.1',
      SERVICE_MASTER_SERVICE_PORT_HTTP: '4443',
      SERVICE_MASTER_PORT: 'tcp://10.0.0.1:4443',
      SERVICE_MASTER_PORT_4443_TCP_ADDR: '10.0.0.1',
    }
    expect(configAdvice('master', env)).toEqual([])
    expect(configAdvice('node', { MEDIA_NODE_PORT: '40000', SERVICE_HTTPS_PORT: '443' })).toEqual([
      'MEDIA_NODE_PORT is set but no such property exists',
      'SERVICE_HTTPS_PORT is set but no such property exists',
    ])
  })
})

describe('withoutEffect', () => {
  const env = { SERVICE_SECRET: 'MY_SECRET', DATABASE_URL: 'postgres://app:pass@db/service' }
  it.each<[string, Record<string, string>, string[]]>([
    ['SERVICE_PRO_CLUSTER_PATH', {}, ['SERVICE_PRO_CLUSTER_PATH has no effect in this version']],
    ['SERVICE_RECORDING_PATH', {}, ['SERVICE_RECORDING_PATH has no effect while SERVICE_RECORDING is false']],
    ['SERVICE_RECORDING_PATH', { SERVICE_RECORDING: 'true' }, []],
    [
      'SERVICE_PRO_SPEECH_TO_TEXT_MODEL_UNLOAD_DELAY',
      {},
      ['SERVICE_PRO_SPEECH_TO_TEXT_MODEL_UNLOAD_DELAY has no effect while SERVICE_PRO_SPEECH_TO_TEXT is disabled'],
    ],
    ['SERVICE_PRO_SPEECH_TO_TEXT_MODEL_UNLOAD_DELAY', { SERVICE_PRO_SPEECH_TO_TEXT: 'vosk' }, []],
    ['SERVICE_RECORDING', {}, []],
    ['SERVICE_WEBHOOK_HEADERS', {}, ['SERVICE_WEBHOOK_HEADERS has no effect while SERVICE_WEBHOOK is false']],
    [
      'SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD',
      {},
      ['SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD has no effect while SERVICE_PRO_CLUSTER_AUTOSCALING is false'],
    ],
    [
      'SERVICE_PRO_CLUSTER_MEDIA_NODES',
      {},
      ['SERVICE_PRO_CLUSTER_MEDIA_NODES has no effect while SERVICE_PRO_CLUSTER_ENVIRONMENT is on_premise'],
    ],
    ['SERVICE_PRO_CLUSTER_MEDIA_NODES', { SERVICE_PRO_CLUSTER_ENVIRONMENT: 'process' }, []],
    ['SERVICE_CDR', {}, []],
  ])('for %s with the configuration %j', (name, set, expected) => {
    expect(withoutEffect([name], loadMasterConfig({ ...env, ...set }))).toEqual(expected)
  })
})

describe('the limits of video', () => {
  it.each([
    ['RECV', 'a subscriber receives'],
    ['SEND', /a publisher('s| sends)/],
  ])('%s describes the direction as the participant sees it', (way, whom) => {
    for (const bound of ['MAX', 'MIN'])
      expect(table[`SERVICE_STREAMS_VIDEO_${bound}_${way}_BANDWIDTH`]?.meaning).toMatch(whom)
  })
})
