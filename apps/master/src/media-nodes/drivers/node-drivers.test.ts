import { ConfigError, loadMasterConfig } from '@session-service/config'
import { expect, it } from '@jest/globals'
import { nodeDriverFor } from './node-drivers.js'

const driverIn = (environment: string) => {
  const env = {
    SERVICE_SECRET: 'not-so-secret',
    DATABASE_URL: 'postgres://127.0.0.1/none',
    SERVICE_PRO_CLUSTER_ENVIRONMENT: environment,
  }
  return nodeDriverFor(loadMasterConfig(env), { env, overrides: { values: {} } as never })
}

it.each([
  ['on_premise', false],
  ['process', true],
])('selects the driver for the environment %s, which starts nodes: %s', (environment, startsNodes) => {
  expect(driverIn(environment)).toMatchObject({ environment, startsNodes })
})

it('rejects an environment that this version does not support, with the name of the property', () => {
  expect(() => driverIn('kubernetes')).toThrow(ConfigError)
  expect(() => driverIn('kubernetes')).toThrow(
    'SERVICE_PRO_CLUSTER_ENVIRONMENT: kubernetes is not part of this version',
  )
})
