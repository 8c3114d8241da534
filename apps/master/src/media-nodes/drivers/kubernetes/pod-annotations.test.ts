import { describe, expect, it } from '@jest/globals'
import { KubernetesNode, Pod } from './kubernetes-objects.js'
import { deletionCost, externalAddress, missingAnnotations } from './pod-annotations.js'

const machine = (annotations: object, addresses: object[]): KubernetesNode =>
  KubernetesNode.parse({ metadata: { name: 'machine', annotations }, status: { addresses } })
const internal = { type: 'InternalIP', address: '10.0.0.7' }
const external = { type: 'ExternalIP', address: '203.0.113.7' }

describe('externalAddress', () => {
  it.each([
    [
      'the annotation before the cloud',
      { 'session-service/external-address': ' 198.51.100.1 ' },
      [external],
      '198.51.100.1',
    ],
    ['the address of the cloud', {}, [internal, external], '203.0.113.7'],
    ['nothing of an internal address', {}, [internal], undefined],
    ['nothing of an empty annotation', { 'session-service/external-address': ' ' }, [], undefined],
  ])('takes %s', (_, annotations, addresses, expected) => {
    expect(externalAddress(machine(annotations, addresses))).toBe(expected)
  })
})

describe('deletionCost', () => {
  it('orders draining nodes before serving ones, and emptier ones first', () => {
    const uses = [
      { held: 9_999_999, isDraining: true },
      { held: 0, isDraining: false },
      { held: 3, isDraining: true },
      { held: 2, isDraining: false },
      { held: 0, isDraining: true },
    ]
    const sorted = uses.toSorted((a, b) => deletionCost(a) - deletionCost(b))
    expect(sorted.map(({ held, isDraining }) => `${held}${isDraining ? ' draining' : ''}`)).toEqual([
      '0 draining',
      '3 draining',
      '9999999 draining',
      '0',
      '2',
    ])
  })
})

describe('missingAnnotations', () => {
  const pod = Pod.parse({
    metadata: {
      name: 'pod',
      annotations: {
        'controller.kubernetes.io/pod-deletion-cost': '3',
        'session-service/announced-address': '1.2.3.4',
      },
    },
  })

  it.each([
    ['nothing that is as it should be', { cost: 3, address: '1.2.3.4' }, {}],
    ['a changed cost', { cost: 4, address: '1.2.3.4' }, { 'controller.kubernetes.io/pod-deletion-cost': '4' }],
    ['a changed address', { cost: 3, address: '5.6.7.8' }, { 'session-service/announced-address': '5.6.7.8' }],
    [
      'nothing for unknown values, so that an address survives the loss of a permission',
      { cost: undefined, address: undefined },
      {},
    ],
  ])('lists %s', (_, wanted, expected) => {
    expect(missingAnnotations(pod, wanted)).toEqual(expected)
  })
})
