import { ConfigError, loadMasterConfig } from '@session-service/config'
import { expect, it } from '@jest/globals'
import { nodeDriverFor } from './node-drivers.js'

const driverIn = (environment: string, more: Record<string, string> = {}) => {
  const env = {
    SERVICE_SECRET: 'not-so-secret',
    DATABASE_URL: 'postgres://127.0.0.1/none',
    SERVICE_PRO_CLUSTER_ENVIRONMENT: environment,
    ...more,
  }
  return nodeDriverFor(loadMasterConfig(env), { env, overrides: { values: {} } as never })
}

it.each([
  ['on_premise', false],
  ['process', true],
])('selects the driver for the environment %s, which starts nodes: %s', (environment, startsNodes) => {
  expect(driverIn(environment)).toMatchObject({ environment, startsNodes })
})

it('selects the driver for kubernetes, which starts nodes when a template is named', () => {
  const pod = {
    KUBERNETES_SERVICE_HOST: '10.0.0.1',
    KUBERNETES_SERVICE_PORT: '443',
    SERVICE_KUBERNETES_NAMESPACE: 'calls',
  }
  expect(driverIn('kubernetes', pod)).toMatchObject({ environment: 'kubernetes', startsNodes: false })
  expect(driverIn('kubernetes', { ...pod, SERVICE_KUBERNETES_POD_TEMPLATE: 'media-node' })).toMatchObject({
    startsNodes: true,
  })
})

it('rejects kubernetes outside a pod, with the names of the missing properties', () => {
  expect(() => driverIn('kubernetes')).toThrow(ConfigError)
  expect(() => driverIn('kubernetes')).toThrow(/SERVICE_KUBERNETES_API: .*\n.*SERVICE_KUBERNETES_NAMESPACE: /)
})
