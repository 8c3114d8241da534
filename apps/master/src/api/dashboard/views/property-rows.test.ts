import { loadMasterConfig, PROPERTIES, PROPERTY_NAMES, type Property } from '@session-service/config'
import { describe, expect, it } from '@jest/globals'
import { propertyRows } from './property-rows.js'

const ENV = {
  SERVICE_SECRET: 'MY_SECRET-1',
  SERVICE_API_SECRETS: '[{"name":"reports","secret":"a-secret-of-the-reader","role":"read-only"}]',
  DATABASE_URL: 'postgres://app:pass-of-app@db/service',
  SERVICE_WEBHOOK_HEADERS: '["Authorization: Bearer hidden-token"]',
  SERVICE_CDR: 'true',
  MEDIA_NODE_WORKERS: '3',
}
const overrides = { SERVICE_WEBHOOK_ENDPOINT: 'http://user:pass-of-hook@sink.example:7777/hook' }
const rows = propertyRows({ config: loadMasterConfig({ ...ENV, ...overrides }), env: ENV, overrides })
const row = (name: string) => rows.find((each) => each.name === name)

describe('propertyRows', () => {
  it('lists every property once, in the order of the documentation', () => {
    expect(rows.map(({ name }) => name)).toEqual(PROPERTY_NAMES)
  })

  it('shows the value, the default and the source of a property', () => {
    expect(row('SERVICE_CDR')).toEqual({
      name: 'SERVICE_CDR',
      meaning: PROPERTIES.SERVICE_CDR.meaning,
      scope: 'master',
      unit: '',
      value: 'true',
      defaultValue: 'false',
      source: 'environment',
      isRestartable: true,
    })
    expect(row('SERVICE_WEBHOOK_ENDPOINT')?.source).toBe('override')
    expect(row('SERVICE_HISTORY')).toMatchObject({ value: 'false', source: 'default' })
    expect(row('SERVICE_WEBHOOK_EVENTS')?.value).toContain('sessionCreated')
  })

  it('has no values of media nodes, whose environments differ', () => {
    expect(row('MEDIA_NODE_WORKERS')).toMatchObject({ scope: 'node', value: '', source: 'default' })
  })

  it('shows whether a secret is set, and never its text', () => {
    const secrets = PROPERTY_NAMES.filter((name) => (PROPERTIES[name] as Property).secret)
    for (const name of secrets) expect(['', '***']).toContain(row(name)?.value)
    expect(row('SERVICE_SECRET')?.value).toBe('***')
    expect(row('SERVICE_SECRET_PREVIOUS')?.value).toBe('')
    const text = JSON.stringify(rows)
    for (const secret of ['MY_SECRET-1', 'a-secret-of', 'pass-of-app', 'hidden-token', 'pass-of-hook'])
      expect(text).not.toContain(secret)
  })
})
