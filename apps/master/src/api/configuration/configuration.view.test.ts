import { loadMasterConfig } from '@session-service/config'
import { RestartBody } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { configurationView, mediaserverUris, overrideListView, withoutMasks } from './configuration.view.js'

const SECRETS = { SERVICE_SECRET: 'very-hush', DATABASE_URL: 'postgres://a:hush@db/x', NATS_URL: 'nats://a:hush@bus' }
const FREE = `VERSION DOMAIN_OR_PUBLIC_IP HTTPS_PORT SERVICE_PUBLICURL SERVICE_CDR
  SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH
  SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH
  SERVICE_STREAMS_FORCED_VIDEO_CODEC SERVICE_STREAMS_ALLOW_TRANSCODING SERVICE_WEBRTC_SIMULCAST SERVICE_SESSIONS_GARBAGE_INTERVAL SERVICE_SESSIONS_GARBAGE_THRESHOLD
  SERVICE_RECORDING SERVICE_WEBHOOK`.split(/\s+/)
const RECORDING = `SERVICE_RECORDING_VERSION SERVICE_RECORDING_PATH SERVICE_RECORDING_PUBLIC_ACCESS
  SERVICE_RECORDING_NOTIFICATION SERVICE_RECORDING_CUSTOM_LAYOUT SERVICE_RECORDING_AUTOSTOP_TIMEOUT`.split(/\s+/)
const WEBHOOK = ['SERVICE_WEBHOOK_ENDPOINT', 'SERVICE_WEBHOOK_EVENTS', 'SERVICE_WEBHOOK_HEADERS']
const PRO = `SERVICE_SERVER_DEPENDENCY_VERSION MEDIASERVER_URIS SERVICE_PRO_STATS_MONITORING_INTERVAL
  SERVICE_PRO_STATS_WEBRTC_INTERVAL SERVICE_PRO_CLUSTER_ID SERVICE_PRO_CLUSTER_ENVIRONMENT
  SERVICE_PRO_CLUSTER_MEDIA_NODES SERVICE_PRO_CLUSTER_PATH SERVICE_PRO_CLUSTER_AUTOSCALING SERVICE_PRO_NETWORK_QUALITY
  SERVICE_PRO_SEARCH SERVICE_PRO_SEARCH_HOST SERVICE_PRO_SEARCH_VERSION SERVICE_PRO_DASHBOARD
  SERVICE_PRO_DASHBOARD_HOST SERVICE_PRO_DASHBOARD_VERSION SERVICE_PRO_RECORDING_STORAGE SERVICE_PRO_SPEECH_TO_TEXT`.split(
  /\s+/,
)
const AUTOSCALING = ['MAX_NODES', 'MIN_NODES', 'MAX_LOAD', 'MIN_LOAD'].map(
  (end) => `SERVICE_PRO_CLUSTER_AUTOSCALING_${end}`,
)

const view = (env: Record<string, string>) => configurationView(loadMasterConfig({ ...SECRETS, ...env }))

describe('configurationView', () => {
  it.each<[string, Record<string, string>, string[]]>([
    ['the free edition', { SERVICE_EDITION: 'ce' }, FREE],
    ['with recording', { SERVICE_EDITION: 'ce', SERVICE_RECORDING: 'true' }, [...FREE, ...RECORDING]],
    [
      'with the webhook',
      { SERVICE_EDITION: 'ce', SERVICE_WEBHOOK: 'true', SERVICE_WEBHOOK_ENDPOINT: 'http://a.example.org' },
      [...FREE, ...WEBHOOK],
    ],
    [
      'paid features are not of the free edition',
      {
        SERVICE_EDITION: 'ce',
        SERVICE_PRO_NETWORK_QUALITY: 'true',
        SERVICE_PRO_CLUSTER_AUTOSCALING: 'true',
        SERVICE_PRO_SPEECH_TO_TEXT: 'sherpa',
      },
      FREE,
    ],
    ['pro, which is the default', {}, [...FREE, ...PRO]],
    [
      'with speech to text',
      { SERVICE_PRO_SPEECH_TO_TEXT: 'vosk' },
      [
        ...FREE,
        ...PRO,
        'SERVICE_PRO_SPEECH_TO_TEXT_MODEL_LOAD_STRATEGY',
        'SERVICE_PRO_SPEECH_TO_TEXT_MODEL_UNLOAD_DELAY',
        'SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS',
        'SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS_RETENTION',
      ],
    ],
    ['with autoscaling', { SERVICE_PRO_CLUSTER_AUTOSCALING: 'true' }, [...FREE, ...PRO, ...AUTOSCALING]],
    [
      'enterprise with network quality',
      { SERVICE_EDITION: 'enterprise', SERVICE_PRO_NETWORK_QUALITY: 'true' },
      [...FREE, ...PRO, 'SERVICE_PRO_NETWORK_QUALITY_INTERVAL'],
    ],
  ])('shows %s', (_, env, names) => {
    expect(Object.keys(view(env)).toSorted()).toEqual(names.toSorted())
  })

  it('shows values and masks secrets', () => {
    const headers = ['Authorization: Bearer hush', 'X-Api-Key: hush', 'X-Site: north']
    const shown = view({
      SERVICE_WEBHOOK: 'true',
      SERVICE_WEBHOOK_ENDPOINT: 'https://a.example.org/hook',
      SERVICE_WEBHOOK_EVENTS: '["sessionCreated"]',
      SERVICE_WEBHOOK_HEADERS: JSON.stringify(headers),
      SERVICE_SESSIONS_GARBAGE_INTERVAL: '17',
    })
    expect(shown).toMatchObject({
      VERSION: expect.stringMatching(/^\d+\.\d+\.\d+/),
      HTTPS_PORT: 4443,
      SERVICE_WEBHOOK_EVENTS: ['sessionCreated'],
      SERVICE_WEBHOOK_HEADERS: ['Authorization: ***', 'X-Api-Key: ***', 'X-Site: north'],
      SERVICE_SESSIONS_GARBAGE_INTERVAL: 17,
    })
    expect(JSON.stringify(shown)).not.toContain('hush')
  })
})

describe('a URL with a password', () => {
  const config = loadMasterConfig({
    ...SECRETS,
    SERVICE_WEBHOOK: 'true',
    SERVICE_WEBHOOK_ENDPOINT: 'https://user:hu@sh@a.example.org/hook?token=hush',
    MEDIASERVER_URIS: '["ws://user:hush@named/mediaserver"]',
  })
  const SHOWN = 'https://user:***@a.example.org/hook?token=***'

  it('is shown without it', () => {
    const shown = configurationView(config)
    expect(shown).toMatchObject({
      SERVICE_WEBHOOK_ENDPOINT: SHOWN,
      MEDIASERVER_URIS: ['ws://user:***@named/mediaserver'],
    })
    const overrides = overrideListView(['SERVICE_WEBHOOK_ENDPOINT', 'DATABASE_URL'], config)
    expect(overrides.content.map(({ value }) => value)).toEqual(['***', SHOWN])
  })

  it('keeps it when the shown configuration is sent back', () => {
    const { SERVICE_WEBHOOK_ENDPOINT } = config
    const { MEDIASERVER_URIS, SERVICE_WEBHOOK_ENDPOINT: endpoint } = configurationView(config)
    const body = RestartBody.parse({ MEDIASERVER_URIS, SERVICE_WEBHOOK_ENDPOINT: endpoint })
    expect(withoutMasks(body, config)).toEqual({ SERVICE_WEBHOOK_ENDPOINT })
  })

  it('may be replaced by another one, whose password is not masked', () => {
    const body = { SERVICE_WEBHOOK_ENDPOINT: 'https://user:new@b.example.org/hook' }
    expect(withoutMasks(body, config)).toEqual(body)
    const masked = { SERVICE_WEBHOOK_ENDPOINT: 'https://user:***@b.example.org/hook' }
    expect(() => withoutMasks(masked, config)).toThrow('SERVICE_WEBHOOK_ENDPOINT: ***')
  })
})

describe('withoutMasks', () => {
  const config = loadMasterConfig({
    ...SECRETS,
    SERVICE_WEBHOOK: 'true',
    SERVICE_WEBHOOK_ENDPOINT: 'https://a.example.org/hook',
    SERVICE_WEBHOOK_HEADERS: JSON.stringify(['X-Api-Key: one', 'X-Api-Key: two', 'X-Site: north']),
  })

  it('keeps the values in force when the shown configuration is sent back', () => {
    const nodes = [{ uri: 'ws://10.0.0.2:1/mediaserver' }, { uri: 'ws://10.0.0.1:1/mediaserver' }]
    const uris = mediaserverUris(config, nodes)
    const { VERSION, MEDIASERVER_URIS, ...shown } = configurationView(config, uris)
    expect(MEDIASERVER_URIS).toEqual(['ws://10.0.0.1:1/mediaserver', 'ws://10.0.0.2:1/mediaserver'])
    const body = RestartBody.parse({ ...shown, MEDIASERVER_URIS })
    expect(withoutMasks({ VERSION, ...body }, config, uris)).toEqual({
      ...shown,
      SERVICE_WEBHOOK_HEADERS: config.SERVICE_WEBHOOK_HEADERS,
    })
  })

  it('keeps a list of media servers that differs from the one shown, which a restart rejects', () => {
    const body = { MEDIASERVER_URIS: ['ws://10.0.0.9:1/mediaserver'] }
    expect(withoutMasks(body, config, [])).toEqual(body)
  })

  it('shows the media servers that the environment names in place of the nodes', () => {
    const named = loadMasterConfig({ ...SECRETS, MEDIASERVER_URIS: '["ws://named/mediaserver"]' })
    expect(mediaserverUris(named, [{ uri: 'ws://10.0.0.1:1/mediaserver' }])).toEqual(['ws://named/mediaserver'])
  })

  it.each<[string, string[], string[]]>([
    ['with a header more', ['X-Api-Key: ***', 'X-New: 1'], ['X-Api-Key: one', 'X-New: 1']],
    ['with a new value', ['X-Api-Key: three', 'X-Api-Key: ***'], ['X-Api-Key: three', 'X-Api-Key: two']],
    ['with one less', ['X-Site: north'], ['X-Site: north']],
  ])('%s', (_, given, meant) => {
    expect(withoutMasks({ SERVICE_WEBHOOK_HEADERS: given }, config)).toEqual({ SERVICE_WEBHOOK_HEADERS: meant })
  })

  it('rejects a mask without a value in force', () => {
    expect(() => withoutMasks({ SERVICE_WEBHOOK_HEADERS: ['X-Token: ***'] }, config)).toThrow('X-Token')
  })

  it('keeps the version of another release, which a restart rejects', () => {
    expect(withoutMasks({ VERSION: '0.0.0' }, config)).toEqual({ VERSION: '0.0.0' })
  })
})
