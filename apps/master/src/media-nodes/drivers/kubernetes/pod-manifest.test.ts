import { describe, expect, it } from '@jest/globals'
import { Pod, PodTemplate } from './kubernetes-objects.js'
import { isMadeFrom, nodeIdOf, podManifest, podName, templateHash } from './pod-manifest.js'

const template = (changes: object = {}, annotations: object = {}): PodTemplate =>
  PodTemplate.parse({
    metadata: { name: 'calls-media-node', uid: 'uid-1', annotations },
    template: {
      metadata: { labels: { app: 'calls' }, annotations: { checksum: 'abc' } },
      spec: {
        containers: [
          { name: 'proxy', image: 'proxy:1' },
          {
            name: 'media-node',
            image: 'media-node:1',
            env: [
              { name: 'NATS_URL', value: 'nats://bus' },
              { name: 'MEDIA_NODE_ID', value: 'x' },
            ],
          },
        ],
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 18_120,
        hostNetwork: true,
        ...changes,
      },
    },
  })

describe('podManifest', () => {
  const made = podManifest(template(), { id: 'media_Ab3dE9xZ' }) as Record<string, never>

  it('names, labels and owns the pod, so that it ends with the release', () => {
    expect(made).toMatchObject({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'calls-media-node-ab3de9xz',
        labels: { app: 'calls', 'session-service/node-id': 'media_Ab3dE9xZ' },
        annotations: { checksum: 'abc', 'session-service/template-hash': templateHash(template()) },
        ownerReferences: [
          { apiVersion: 'v1', kind: 'PodTemplate', name: 'calls-media-node', uid: 'uid-1', controller: true },
        ],
      },
    })
  })

  it('keeps everything of the template except the restart policy, because a drained node must not start again', () => {
    expect(made).toMatchObject({
      spec: { restartPolicy: 'OnFailure', terminationGracePeriodSeconds: 18_120, hostNetwork: true },
    })
  })

  it('sets the ids of the node in its own container alone, in place of those of the template', () => {
    expect(made).toMatchObject({
      spec: {
        containers: [
          { name: 'proxy', image: 'proxy:1' },
          {
            name: 'media-node',
            env: [
              { name: 'MEDIA_NODE_ID', value: 'media_Ab3dE9xZ' },
              { name: 'MEDIA_NODE_ENVIRONMENT_ID', value: 'calls-media-node-ab3de9xz' },
              { name: 'NATS_URL', value: 'nats://bus' },
            ],
          },
        ],
      },
    })
  })

  it('keeps the environment id that a backend has given', () => {
    expect(JSON.stringify(podManifest(template(), { id: 'media_A', environmentId: 'rack-7' }))).toContain(
      '{"name":"MEDIA_NODE_ENVIRONMENT_ID","value":"rack-7"}',
    )
  })

  it('takes the first container when none is named media-node', () => {
    const spec = { containers: [{ name: 'main' }, { name: 'other' }] }
    expect(podManifest(template(spec), { id: 'media_A' })).toMatchObject({
      spec: { containers: [{ name: 'main', env: [{ name: 'MEDIA_NODE_ID' }, {}] }, { name: 'other' }] },
    })
  })
})

describe('podName', () => {
  it.each([
    ['calls-media-node', 'media_Ab3dE9xZ', 'calls-media-node-ab3de9xz'],
    ['calls-media-node', 'media__x_Y_', 'calls-media-node-x-y'],
    ['n'.repeat(80), 'media_Ab3dE9xZ', `${'n'.repeat(54)}-ab3de9xz`],
  ])('of template %s and node %s is a valid name: %s', (name, id, expected) => {
    expect(podName(name, id)).toBe(expected)
    expect(expected).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
  })
})

describe('templateHash', () => {
  it('depends on neither the order of members nor null ones', () => {
    const other = template()
    const reordered = Object.fromEntries(Object.entries(other.template.spec).toReversed())
    expect(
      templateHash({ ...other, template: { ...other.template, spec: { ...reordered, volumes: null } as never } }),
    ).toBe(templateHash(other))
  })

  it('changes with any member, also with one that this version does not know', () => {
    expect(templateHash(template({ ofTheFuture: 1 }))).not.toBe(templateHash(template()))
    expect(templateHash(template({ hostNetwork: false }))).not.toBe(templateHash(template()))
  })

  it('is that of the annotation, if there is one', () => {
    expect(templateHash(template({}, { 'session-service/template-hash': 'v7' }))).toBe('v7')
  })
})

describe('the pods of a template', () => {
  const owner = (name: string, kind = 'PodTemplate') => [{ kind, name, uid: 'u' }]
  const pod = (labels: object, ownerReferences: object[] = []): Pod =>
    Pod.parse({ metadata: { name: 'pod-1', labels, ownerReferences } })
  const labels = { 'session-service/node-id': 'media_A' }

  it.each([
    ['its own', labels, owner('calls'), true],
    ['one of another template', labels, owner('other'), false],
    ['one of a ReplicaSet', labels, owner('calls', 'ReplicaSet'), false],
    ['one without a node id', {}, owner('calls'), false],
  ])('include %s: %j %j → %s', (_, given, owners, expected) => {
    expect(isMadeFrom(pod(given, owners), 'calls')).toBe(expected)
  })

  it('belong to the node of their label, those of a Deployment to the node of their name', () => {
    expect([nodeIdOf(pod(labels)), nodeIdOf(pod({}))]).toEqual(['media_A', 'pod-1'])
  })
})
