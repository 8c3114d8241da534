import { describe, expect, it } from '@jest/globals'
import { ConfigError, loadMasterConfig } from './load.js'
import { overriddenConfig } from './overrides.js'
import { type OverrideValue, restartedConfig } from './restart.js'
import { PROPERTIES, PROPERTY_NAMES } from './table.js'
import type { Property } from './property/property.js'

const LEAST = { SERVICE_SECRET: 'MY_SECRET-1', DATABASE_URL: 'postgres://app:pass@db/service' }
const GUARDED = [
  ['DOMAIN_OR_PUBLIC_IP', 'other.example.org'],
  ['HTTPS_PORT', 8443],
  ['SERVICE_SECRET', 'ANOTHER'],
  ['SERVICE_PRO_STATS_MONITORING_INTERVAL', 20],
  ['SERVICE_EDITION', 'ce'],
  ['SERVICE_PRO_SEARCH_HOST', 'http://search:9200'],
  ['SEARCH_USERNAME', 'admin'],
  ['SEARCH_PASSWORD', 'other'],
  ['SERVICE_PRO_DASHBOARD_HOST', 'https://dashboard.example'],
] as const
const UNKNOWN = [
  'CERTIFICATE_TYPE',
  'HTTP_PORT',
  'SERVICE_PRO_LICENSE',
  'SERVICE_PRO_CLUSTER_TEST',
  'SERVICE_ENTERPRISE_MEDIA_SERVER',
]

function restart(members: Record<string, OverrideValue>, set: Record<string, string> = {}): Record<string, string> {
  const env = { ...LEAST, ...set }
  return restartedConfig({ env, overrides: {}, config: loadMasterConfig(env) }, members)
}
function problems(members: Record<string, OverrideValue>, set: Record<string, string> = {}): readonly string[] {
  try {
    restart(members, set)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

describe('restartedConfig', () => {
  it('returns overrides in the syntax of the environment', () => {
    const members = {
      SERVICE_CDR: true,
      SERVICE_RECORDING_PATH: '/opt/service/recordings/x/',
      SERVICE_WEBHOOK_HEADERS: ['A: b'],
    }
    expect(restart({ ...members, SERVICE_SESSIONS_GARBAGE_INTERVAL: 0 })).toEqual({
      SERVICE_CDR: 'true',
      SERVICE_RECORDING_PATH: '/opt/service/recordings/x/',
      SERVICE_WEBHOOK_HEADERS: '["A: b"]',
      SERVICE_SESSIONS_GARBAGE_INTERVAL: '0',
    })
  })

  it('reports all problems together', () => {
    expect(
      problems({
        SERVICE_CDR: 'true',
        SERVICE_SESSIONS_GARBAGE_INTERVAL: -1,
        SERVICE_WEBHOOK_EVENTS: ['exploded'],
        SERVICE_WEBHOOK: true,
        SERVICE_TYPO: 1,
        DATABASE_URL: 'postgres://elsewhere/x',
      }),
    ).toEqual([
      'SERVICE_CDR: must be a boolean',
      'SERVICE_TYPO: no such property',
      'DATABASE_URL: cannot be changed by a restart',
      'SERVICE_SESSIONS_GARBAGE_INTERVAL: must be an integer from 0 to 31536000, not "-1"',
      `SERVICE_WEBHOOK_EVENTS: event 'exploded' does not exist, not "["exploded"]"`,
      'SERVICE_WEBHOOK_ENDPOINT: is mandatory when SERVICE_WEBHOOK is true',
    ])
  })

  const allowed = { SERVICE_RECORDING_CUSTOM_LAYOUT: '/srv/layouts', SERVICE_RESTART_PATHS: '["/mnt/"]' }
  it.each(['/', '/etc', '/srv', '/srv/layouts-2', '/srv/layouts/../secret', '/mnt/../etc', '/opt/service'])(
    'refuses the folder of layouts %s, which the environment does not allow',
    (folder) => {
      expect(problems({ SERVICE_RECORDING_CUSTOM_LAYOUT: folder }, allowed).join()).toMatch(
        /^SERVICE_RECORDING_CUSTOM_LAYOUT: must be at or below \/srv\/layouts or \/mnt \(SERVICE_RESTART_PATHS /,
      )
    },
  )

  it.each(['/srv/layouts/', '/srv/layouts/a', '/mnt', '/mnt/x/../y'])(
    'accepts the folder of layouts %s, which the environment allows',
    (folder) => expect(problems({ SERVICE_RECORDING_CUSTOM_LAYOUT: folder }, allowed)).toEqual([]),
  )

  it('rejects a stored path that the environment does not allow', () => {
    expect(() => overriddenConfig(LEAST, { SERVICE_RECORDING_CUSTOM_LAYOUT: '/' })).toThrow(
      'SERVICE_RECORDING_CUSTOM_LAYOUT: must be at or below /opt/service/custom-layout',
    )
  })

  it.each<[string, OverrideValue]>([
    ['SERVICE_PRO_CLUSTER_ID', 'a\0b'],
    ['SERVICE_RECORDING_PATH', '/opt/service/recordings/\ud800'],
    ['SERVICE_WEBHOOK_HEADERS', ['X: \udc00']],
    ['SERVICE_WEBHOOK_HEADERS', ['X: a\0']],
  ])('rejects NUL and lone surrogates in %s', (name, value) => {
    expect(problems({ [name]: value })).toEqual([`${name}: must not contain NUL or a lone surrogate`])
  })

  it.each<[Record<string, OverrideValue>, string]>([
    [
      { SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH: 2_000 },
      'SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH: must not be greater than SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH',
    ],
    [
      { SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH: 500, SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH: 400 },
      'SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH: must not be greater than SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH',
    ],
    [
      { SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: 3 },
      'SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: must not be greater than SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES',
    ],
  ])('refuses a minimum above its maximum: %j', (members, problem) => {
    expect(problems(members)).toEqual([problem])
  })

  it('accepts any minimum below a maximum of 0, and a lower maximum alone', () => {
    const unconstrained = {
      SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH: 2_000,
      SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: 0,
    }
    expect(problems(unconstrained)).toEqual([])
    expect(problems({ SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: 200 })).toEqual([])
    const env = { ...LEAST, SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: '200' }
    expect(loadMasterConfig(env).SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH).toBe(200)
  })

  it.each(
    PROPERTY_NAMES.filter((name) => {
      const { audience, restartable, type }: Property = PROPERTIES[name]
      return audience !== 'node' && restartable && type.label.startsWith('an integer')
    }),
  )('rejects a number of %s above its upper bound', (name) => {
    expect(problems({ [name]: Number.MAX_SAFE_INTEGER }, { SERVICE_EDITION: 'enterprise' }).join()).toMatch(
      new RegExp(`^${name}: must be an integer from `),
    )
  })

  it.each(
    PROPERTY_NAMES.filter((name) => {
      const { audience, restartable }: Property = PROPERTIES[name]
      return audience !== 'node' && restartable && !GUARDED.some(([guarded]) => guarded === name)
    }),
  )('accepts %s with the value in force', (name) => {
    const value = loadMasterConfig(LEAST)[name as keyof ReturnType<typeof loadMasterConfig>] as OverrideValue
    expect(problems({ [name]: value })).toEqual([])
  })

  it.each(GUARDED)('%s is rejected, except in the enterprise edition on premises', (name, value) => {
    const refused = [`${name}: cannot be changed by a restart`]
    expect(problems({ [name]: value })).toEqual(refused)
    const enterprise = { SERVICE_EDITION: 'enterprise' }
    expect(problems({ [name]: value }, { ...enterprise, SERVICE_PRO_CLUSTER_ENVIRONMENT: 'kubernetes' })).toEqual(
      refused,
    )
    expect(restart({ [name]: value }, enterprise)).toEqual({ [name]: String(value) })
  })

  it.each(UNKNOWN)('%s, an unknown property, is always rejected', (name) => {
    expect(problems({ [name]: 'x' })).toEqual([`${name}: cannot be changed by a restart`])
    expect(problems({ [name]: 'x' }, { SERVICE_EDITION: 'enterprise' })).toEqual([`${name}: no such property`])
  })

  it('accepts repeated values in force and stores no override for them', () => {
    const repeated = { SERVICE_SECRET: LEAST.SERVICE_SECRET, HTTPS_PORT: 4443, SERVICE_CDR: false }
    expect(restart(repeated)).toEqual({})
    expect(restart({ ...repeated, SERVICE_CDR: true })).toEqual({ SERVICE_CDR: 'true' })
  })
})
