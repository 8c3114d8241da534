import { describe, expect, it } from '@jest/globals'
import { pod } from '../control-plane/objects.js'
import { environmentOf, MissingReference, type ReadData } from './environment.js'
import { expand } from './expand.js'
import { fieldValue, type PodPlace, quantity, resourceValue } from './fields.js'

const place: PodPlace = {
  nodeName: 'node-1',
  podIP: '127.70.32.1',
  hostIP: '127.70.16.1',
  capacity: { memory: '16Gi', cpu: '8' },
}
const DATA: Readonly<Record<string, Record<string, string>>> = {
  'secrets/access': { user: 'ada', 'a.b': 'c' },
  'configmaps/settings': { LEVEL: 'info' },
}
const read: ReadData = async (kind, name) => DATA[`${kind}/${name}`]

const podWith = (container: object): ReturnType<typeof pod.parse> =>
  pod.parse({
    metadata: {
      name: 'a-pod',
      namespace: 'calls',
      uid: '1',
      resourceVersion: '1',
      labels: { app: 'x' },
      annotations: { 'session-service/announced-address': '203.0.113.7', other: 'two\nlines' },
    },
    spec: { containers: [{ name: 'main', image: 'i', ...container }] },
  })
const environment = async (container: object): Promise<Record<string, string>> => {
  const made = podWith(container)
  return Object.fromEntries(await environmentOf(made, made.spec.containers[0]!, place, read))
}

describe('the environment of a container', () => {
  it.each([
    ['names an earlier variable', '$(A)-$(B)', 'one-$(B)'],
    ['keeps an escaped reference', '$$(A)', '$(A)'],
    ['keeps a single dollar sign', 'p$w$(A)', 'p$wone'],
  ])('%s', (_, text, expected) => {
    expect(expand(text, new Map([['A', 'one']]))).toBe(expected)
  })

  it('has the values of secrets, settings and the downward API, the later ones first', async () => {
    expect(
      await environment({
        envFrom: [{ configMapRef: { name: 'settings' } }, { prefix: 'P_', secretRef: { name: 'access' } }],
        env: [
          { name: 'LEVEL', value: 'debug' },
          { name: 'USER', valueFrom: { secretKeyRef: { name: 'access', key: 'user' } } },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'URL', value: 'http://$(USER)@$(IP)' },
          { name: 'ABSENT', valueFrom: { secretKeyRef: { name: 'none', key: 'user', optional: true } } },
        ],
      }),
    ).toEqual({
      LEVEL: 'debug',
      P_user: 'ada',
      'P_a.b': 'c',
      USER: 'ada',
      IP: '127.70.32.1',
      URL: 'http://ada@127.70.32.1',
    })
  })

  it.each([
    ['a secret', { envFrom: [{ secretRef: { name: 'none' } }] }, 'secret "none" not found'],
    [
      'a key',
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'access', key: 'no' } } }] },
      'key "no" not found in the secret "access"',
    ],
  ])('waits for %s that does not exist', async (_, container, message) => {
    const failed = environment(container)
    await expect(failed).rejects.toThrow(MissingReference)
    await expect(failed).rejects.toThrow(message)
  })
})

describe('the downward API', () => {
  it.each([
    ['metadata.name', 'a-pod'],
    ["metadata.labels['app']", 'x'],
    ["metadata.annotations['session-service/announced-address']", '203.0.113.7'],
    ["metadata.annotations['absent']", ''],
    ['metadata.annotations', 'other="two\\nlines"\nsession-service/announced-address="203.0.113.7"'],
    ['status.hostIP', '127.70.16.1'],
    ['spec.nodeName', 'node-1'],
  ])('has the field %s', (path, expected) => {
    expect(fieldValue(podWith({}), path, place)).toBe(expected)
  })

  it('rejects a field that it does not have', () => {
    expect(() => fieldValue(podWith({}), 'status.phase', place)).toThrow('no field status.phase')
  })

  it.each([
    ['500m', 0.5],
    ['2Gi', 2 ** 31],
    ['3', 3],
    ['1.5k', 1500],
  ])('reads the quantity %s', (text, expected) => {
    expect(quantity(text)).toBe(expected)
  })

  it.each([
    ['limits.memory', '1Mi', '512'],
    ['limits.cpu', '1', '8'],
    ['requests.cpu', '1m', '250'],
  ])('has the resource %s in units of %s', (resource, divisor, expected) => {
    const { resources } = podWith({ resources: { limits: { memory: '512Mi' }, requests: { cpu: '250m' } } }).spec
      .containers[0]!
    expect(resourceValue({ resources }, { resource, divisor }, place)).toBe(expected)
  })
})
