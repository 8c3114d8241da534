import { expect, it } from '@jest/globals'
import { takeAllBut, takeProperties } from './own-environment.js'

const given = () => ({
  PATH: '/bin',
  AWS_REGION: 'eu',
  SERVICE_SECRET: 'hush',
  DATABASE_URL: 'postgres://x',
  MEDIA_NODE_ID: 'a',
})

it('takeProperties removes properties from the environment and returns all variables', () => {
  const env = given()
  expect(takeProperties(env)).toEqual(given())
  expect(env).toEqual({ PATH: '/bin', AWS_REGION: 'eu' })
})

it('takeAllBut keeps only the permitted names and the variables of the system', () => {
  const env = { ...given(), OTHER_SECRET: 'hush' }
  expect(takeAllBut(env, (name) => name === 'MEDIA_NODE_ID')).toMatchObject(given())
  expect(env).toEqual({ PATH: '/bin', MEDIA_NODE_ID: 'a' })
})
