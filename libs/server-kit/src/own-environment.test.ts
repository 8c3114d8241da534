import { expect, it } from '@jest/globals'
import { takeAllBut, takeProperties } from './own-environment.js'

const given = () => ({
  PATH: '/bin',
  AWS_REGION: 'eu',
  SERVICE_SECRET: 'hush',
  DATABASE_URL: 'postgres://x',
  MEDIA_NODE_ID: 'a',
})

it('properties are taken out of the environment that children inherit, and given to the process', () => {
  const env = given()
  expect(takeProperties(env)).toEqual(given())
  expect(env).toEqual({ PATH: '/bin', AWS_REGION: 'eu' })
})

it('a process that allows names alone leaves these and what programs need of the system', () => {
  const env = { ...given(), OTHER_SECRET: 'hush' }
  expect(takeAllBut(env, (name) => name === 'MEDIA_NODE_ID')).toMatchObject(given())
  expect(env).toEqual({ PATH: '/bin', MEDIA_NODE_ID: 'a' })
})
