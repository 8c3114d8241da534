import { describe, expect, it } from '@jest/globals'
import { ConfigError, loadMasterConfig, loadNodeConfig, type Environment } from './load.js'

const LEAST = { SERVICE_SECRET: 'MY_SECRET-1', DATABASE_URL: 'postgres://app:pass@db/service' }

function problemsOf(load: (env: Environment) => unknown, env: Environment): readonly string[] {
  try {
    load(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

describe('loadMasterConfig', () => {
  it('requires only the secret and the database', () => {
    expect(loadMasterConfig(LEAST)).toMatchObject({ ...LEAST, NATS_URL: 'nats://127.0.0.1:4222', SERVICE_PORT: 4443 })
    expect(problemsOf(loadMasterConfig, {})).toEqual(['SERVICE_SECRET: is mandatory', 'DATABASE_URL: is mandatory'])
  })

  it('has the defaults that the REST contract documents', () => {
    expect(loadMasterConfig(LEAST)).toMatchObject({
      SERVICE_HOST: '0.0.0.0',
      SERVICE_STREAMS_FORCED_VIDEO_CODEC: 'VP8',
      SERVICE_STREAMS_ALLOW_TRANSCODING: false,
      SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: 1000,
      SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH: 300,
      SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH: 1000,
      SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH: 300,
      SERVICE_SESSIONS_GARBAGE_INTERVAL: 900,
      SERVICE_SESSIONS_GARBAGE_THRESHOLD: 3600,
      SERVICE_RECORDING: false,
      SERVICE_RECORDING_NOTIFICATION: 'publisher_moderator',
      SERVICE_RECORDING_AUTOSTOP_TIMEOUT: 120,
      SERVICE_WEBHOOK: false,
      SERVICE_WEBRTC_SIMULCAST: true,
      SERVICE_WEBRTC_ICE_SERVERS: [],
      SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD: 70,
      SUPPORT_DEPRECATED_API: true,
    })
    expect(loadMasterConfig(LEAST).SERVICE_WEBHOOK_EVENTS).toHaveLength(18)
  })

  it.each<[Environment, object]>([
    [{}, { SERVICE_PUBLICURL: 'http://localhost:4443', DOMAIN_OR_PUBLIC_IP: 'localhost', HTTPS_PORT: 4443 }],
    [{ SERVICE_PORT: '5000' }, { SERVICE_PUBLICURL: 'http://localhost:5000', HTTPS_PORT: 5000 }],
    [
      { SERVICE_PUBLICURL: 'https://meet.example.org/' },
      { SERVICE_PUBLICURL: 'https://meet.example.org', DOMAIN_OR_PUBLIC_IP: 'meet.example.org', HTTPS_PORT: 443 },
    ],
    [
      { SERVICE_PUBLICURL: 'http://1.2.3.4', DOMAIN_OR_PUBLIC_IP: 'other.example.org', HTTPS_PORT: '8443' },
      { DOMAIN_OR_PUBLIC_IP: 'other.example.org', HTTPS_PORT: 8443 },
    ],
    [{}, { SERVICE_OPS_PORT: 4480 }],
  ])('derives defaults from %j', (env, expected) => {
    expect(loadMasterConfig({ ...LEAST, ...env })).toMatchObject(expected)
  })

  it.each<[string, boolean]>([
    ['old', true],
    ['old-name2', true],
    ['service', false],
    ['dashboard', false],
    ['api', false],
    ['Old', false],
    ['2old', false],
    ['old/name', false],
    ['x'.repeat(33), false],
  ])('takes the prefix %s of old clients: %s', (prefix, isValid) => {
    const env = { ...LEAST, SERVICE_COMPAT_PREFIX: prefix }
    if (isValid) expect(loadMasterConfig(env).SERVICE_COMPAT_PREFIX).toBe(prefix)
    else expect(problemsOf(loadMasterConfig, env)).toEqual([expect.stringContaining('SERVICE_COMPAT_PREFIX: must be')])
  })

  it('treats an empty variable as not set, and trims values', () => {
    const env = { ...LEAST, SERVICE_PORT: '', SERVICE_LOG_LEVEL: '  ', SERVICE_HOST: ' 127.0.0.1 ' }
    expect(loadMasterConfig(env)).toMatchObject({
      SERVICE_PORT: 4443,
      SERVICE_LOG_LEVEL: 'info',
      SERVICE_HOST: '127.0.0.1',
    })
    expect(problemsOf(loadMasterConfig, { ...LEAST, SERVICE_SECRET: '' })).toEqual(['SERVICE_SECRET: is mandatory'])
  })

  it('reports all problems together, without secrets', () => {
    const problems = problemsOf(loadMasterConfig, {
      SERVICE_SECRET: 'hush hush',
      DATABASE_URL: 'mysql://user:hush@db',
      NATS_URL: 'hush@bus',
      SERVICE_PORT: '70000',
      SERVICE_CDR: 'yes',
      SERVICE_STREAMS_FORCED_VIDEO_CODEC: 'AV1',
      SERVICE_WEBHOOK: 'true',
      SERVICE_WEBHOOK_HEADERS: '["Authorization hush"]',
      SERVICE_WEBHOOK_EVENTS: '["sessionCreated","exploded"]',
      SERVICE_SESSIONS_GARBAGE_INTERVAL: '-1',
      SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: '5',
      SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD: '80',
    })
    expect(problems).toEqual([
      'NATS_URL: must be one or more URLs, comma-separated, each with scheme (nats, tls) and host',
      'SERVICE_SECRET: must be up to 1024 letters, digits, "-" and "_"',
      'DATABASE_URL: must be a URL with scheme (postgres, postgresql) and host',
      'SERVICE_PORT: must be an integer from 1 to 65535, not "70000"',
      'SERVICE_STREAMS_FORCED_VIDEO_CODEC: must be one of [VP8, VP9, H264, NONE, MEDIA_SERVER_PREFERRED], not "AV1"',
      'SERVICE_SESSIONS_GARBAGE_INTERVAL: must be an integer from 0 to 31536000, not "-1"',
      'SERVICE_CDR: must be true or false, not "yes"',
      'SERVICE_WEBHOOK_HEADERS: each header must be of the form "Name: value"',
      `SERVICE_WEBHOOK_EVENTS: event 'exploded' does not exist, not "["sessionCreated","exploded"]"`,
      'SERVICE_WEBHOOK_ENDPOINT: is mandatory when SERVICE_WEBHOOK is true',
      'SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: must not be greater than SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES',
      'SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD: must not be greater than SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD',
    ])
  })

  it('reports an invalid endpoint as invalid, not as missing', () => {
    const env = { ...LEAST, SERVICE_WEBHOOK: 'true', SERVICE_WEBHOOK_ENDPOINT: 'nowhere' }
    expect(problemsOf(loadMasterConfig, env)).toEqual([
      'SERVICE_WEBHOOK_ENDPOINT: must be a URL with scheme (http, https) and host, not "nowhere"',
    ])
  })

  it('requires a template of pods for autoscaling on Kubernetes, where a Deployment would restart drained nodes', () => {
    const env = { ...LEAST, SERVICE_PRO_CLUSTER_ENVIRONMENT: 'kubernetes', SERVICE_PRO_CLUSTER_AUTOSCALING: 'true' }
    expect(problemsOf(loadMasterConfig, env)).toEqual([
      'SERVICE_KUBERNETES_POD_TEMPLATE: is mandatory when SERVICE_PRO_CLUSTER_AUTOSCALING is true with kubernetes',
    ])
    expect(loadMasterConfig({ ...env, SERVICE_KUBERNETES_POD_TEMPLATE: 'media-node' })).toMatchObject({
      SERVICE_PRO_CLUSTER_RECONNECTION_TIMEOUT: 30,
    })
  })

  it('rejects a secret with a role that equals a secret for everything', () => {
    const secret = 'a-secret-of-20-chars'
    const env = { ...LEAST, SERVICE_API_SECRETS: JSON.stringify([{ name: 'reports', secret, role: 'read-only' }]) }
    const problem =
      'SERVICE_API_SECRETS: the secret reports must differ from SERVICE_SECRET and SERVICE_SECRET_PREVIOUS'
    expect(problemsOf(loadMasterConfig, { ...env, SERVICE_SECRET: secret })).toEqual([problem])
    expect(problemsOf(loadMasterConfig, { ...env, SERVICE_SECRET_PREVIOUS: secret })).toEqual([problem])
    expect(loadMasterConfig(env).SERVICE_API_SECRETS).toHaveLength(1)
  })

  it('requires a bucket for the storage s3, and a secret key with an access key', () => {
    const env = { ...LEAST, SERVICE_PRO_RECORDING_STORAGE: 's3', SERVICE_PRO_AWS_ACCESS_KEY: 'key' }
    expect(problemsOf(loadMasterConfig, env)).toEqual([
      'SERVICE_PRO_AWS_SECRET_KEY: is mandatory when SERVICE_PRO_AWS_ACCESS_KEY is given',
      'SERVICE_PRO_AWS_S3_BUCKET: is mandatory when SERVICE_PRO_RECORDING_STORAGE is s3',
    ])
    const whole = { ...env, SERVICE_PRO_AWS_SECRET_KEY: 's', SERVICE_PRO_AWS_S3_BUCKET: 'bucket/all/recordings' }
    expect(loadMasterConfig(whole)).toMatchObject({ SERVICE_PRO_AWS_S3_BUCKET: 'bucket/all/recordings' })
    expect(problemsOf(loadMasterConfig, { ...whole, SERVICE_PRO_AWS_S3_BUCKET: '/bucket' })).toEqual([
      'SERVICE_PRO_AWS_S3_BUCKET: must be a bucket, optionally with a folder: `bucket/folder`, not "/bucket"',
    ])
  })

  it.each(['azure', 'aws'])('rejects the engine %s for speech to text as an unsupported cloud engine', (engine) => {
    expect(problemsOf(loadMasterConfig, { ...LEAST, SERVICE_PRO_SPEECH_TO_TEXT: engine })).toEqual([
      `SERVICE_PRO_SPEECH_TO_TEXT: cloud engines are not supported: must be \`vosk\` or \`sherpa\`, which run on the media nodes, not "${engine}"`,
    ])
  })

  it('accepts the engines for speech to text that run on media nodes; an empty value disables speech to text', () => {
    const engineOf = (engine: string): string =>
      loadMasterConfig({ ...LEAST, SERVICE_PRO_SPEECH_TO_TEXT: engine }).SERVICE_PRO_SPEECH_TO_TEXT
    expect(['vosk', 'sherpa', 'disabled', ''].map(engineOf)).toEqual(['vosk', 'sherpa', 'disabled', 'disabled'])
    expect(problemsOf(loadMasterConfig, { ...LEAST, SERVICE_PRO_SPEECH_TO_TEXT: 'whisper' })).toEqual([
      'SERVICE_PRO_SPEECH_TO_TEXT: must be one of [disabled, vosk, sherpa], not "whisper"',
    ])
  })

  it('requires an access key with a secret key', () => {
    expect(problemsOf(loadMasterConfig, { ...LEAST, SERVICE_PRO_AWS_SECRET_KEY: 's' })).toEqual([
      'SERVICE_PRO_AWS_ACCESS_KEY: is mandatory when SERVICE_PRO_AWS_SECRET_KEY is given',
    ])
  })

  it.each<[Environment, boolean]>([
    [{ SERVICE_PORT: '5000', SERVICE_OPS_PORT: '5000' }, false],
    [{ SERVICE_PORT: '4480' }, false],
    [{ SERVICE_PORT: '4480', SERVICE_HOST: '::', SERVICE_OPS_HOST: '127.0.0.1' }, false],
    [{ SERVICE_PORT: '4480', SERVICE_HOST: '192.0.2.7' }, false],
    [{ SERVICE_PORT: '4480', SERVICE_HOST: '192.0.2.7', SERVICE_OPS_HOST: '127.0.0.1' }, true],
    [{ SERVICE_PORT: '4480', SERVICE_OPS_HOST: '::1' }, true],
  ])('takes %j for two servers: %s', (env, isValid) => {
    const problem = `SERVICE_OPS_PORT: must differ from SERVICE_PORT, ${env.SERVICE_PORT}`
    expect(problemsOf(loadMasterConfig, { ...LEAST, ...env })).toEqual(isValid ? [] : [problem])
  })

  it('requires the shared secret with TURN_IP', () => {
    expect(problemsOf(loadMasterConfig, { ...LEAST, TURN_IP: '203.0.113.7' })).toEqual([
      'TURN_SHARED_SECRET_KEY: is mandatory when TURN_IP is given',
    ])
    expect(loadMasterConfig({ ...LEAST, TURN_IP: '203.0.113.7', TURN_SHARED_SECRET_KEY: 's' })).toMatchObject({
      TURN_PORT: 3478,
      TURN_CREDENTIALS_TTL: 86_400,
    })
  })

  it('names the property of an invalid TURN server', () => {
    const bad = { TURN_IP: '203.0.113.7:3479', TURN_SHARED_SECRET_KEY: 's' }
    expect(problemsOf(loadMasterConfig, { ...LEAST, ...bad })).toEqual([
      'TURN_IP: must be an address or a host name of letters, digits, "." and "-", without a port, not "203.0.113.7:3479"',
    ])
  })

  it('returns a frozen configuration', () => {
    const config = loadMasterConfig(LEAST)
    expect(Object.isFrozen(config)).toBe(true)
    expect(() => config.SERVICE_WEBHOOK_EVENTS.push('signalSent')).toThrow(TypeError)
    expect(loadMasterConfig(LEAST).SERVICE_WEBHOOK_EVENTS).toHaveLength(18)
  })

  it('contains no property of media nodes', () => {
    expect(loadMasterConfig({ ...LEAST, MEDIA_NODE_WORKERS: 'wrong' })).not.toHaveProperty('MEDIA_NODE_WORKERS')
  })
})

describe('loadNodeConfig', () => {
  it('requires no property', () => {
    expect(loadNodeConfig({})).toMatchObject({
      NATS_URL: 'nats://127.0.0.1:4222',
      SERVICE_OPS_PORT: 4481,
      MEDIA_NODE_ID: '',
      MEDIA_NODE_IP: '0.0.0.0',
      MEDIA_NODE_ANNOUNCED_ADDRESS: '',
      MEDIA_NODE_WORKERS: 0,
      MEDIA_NODE_RTC_PORT: 0,
    })
  })

  it.each([
    ['without a file and a STUN server', {}, ['value', 'host-ip', 'interface']],
    ['with a file', { MEDIA_NODE_ANNOUNCED_ADDRESS_FILE: '/a' }, ['value', 'public-host-ip', 'file', 'stun']],
    ['with a STUN server', { MEDIA_NODE_STUN_SERVER: 's' }, ['value', 'public-host-ip', 'file', 'stun']],
    ['that are given', { MEDIA_NODE_ADDRESS_SOURCES: '["stun","value"]' }, ['stun', 'value']],
  ])('has the sources of the announced address %s', (_, env, expected) =>
    expect(loadNodeConfig(env).MEDIA_NODE_ADDRESS_SOURCES).toEqual(expected),
  )

  it.each([
    ['[]', 'must name at least one source'],
    ['["dns"]', "address source 'dns' does not exist"],
  ])('rejects the sources %s', (MEDIA_NODE_ADDRESS_SOURCES, problem) =>
    expect(() => loadNodeConfig({ MEDIA_NODE_ADDRESS_SOURCES })).toThrow(problem),
  )

  it('contains no secret of the master', () => {
    expect(loadNodeConfig({ ...LEAST, SERVICE_PORT: 'wrong' })).not.toHaveProperty('SERVICE_SECRET')
  })

  it('reports all problems together', () => {
    const env = {
      MEDIA_NODE_ID: 'a.b',
      MEDIA_NODE_WORKERS: '-1',
      MEDIA_NODE_RTC_PORT: '99999',
      SERVICE_LOG_FORMAT: 'xml',
    }
    expect(problemsOf(loadNodeConfig, env)).toEqual([
      'SERVICE_LOG_FORMAT: must be one of [json, pretty], not "xml"',
      'MEDIA_NODE_ID: must be up to 64 letters, digits, "-" and "_", not "a.b"',
      'MEDIA_NODE_WORKERS: must be an integer from 0 to 1024, not "-1"',
      'MEDIA_NODE_RTC_PORT: must be an integer from 0 to 65535, not "99999"',
    ])
  })
})

it('the message of ConfigError contains all problems', () => {
  expect(new ConfigError(['A: x', 'B: y']).message).toBe('the configuration is invalid:\n  A: x\n  B: y')
})
