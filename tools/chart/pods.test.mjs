// Run by: node --test tools/chart/pods.test.mjs (needs libs/config to be built). Reads the golden files: no helm.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { configAdvice, loadMasterConfig, loadNodeConfig } from '../../libs/config/dist/index.js'
import { componentOf, documentsOf, podsOf } from './documents.mjs'
import { goldenCases, readGolden } from './goldens.mjs'

const goldens = goldenCases().map((each) => ({ ...each, documents: documentsOf(readGolden(each) ?? '') }))
const goldenNamed = (wanted) => goldens.find(({ name }) => name === wanted)
const environmentOf = (pod) => new Map(pod.spec.containers[0].env.map((variable) => [variable.name, variable]))

/** Values of the kind that each Secret must contain. */
const SECRETS = {
  SERVICE_WEBHOOK_SECRETS: '["whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]',
  SERVICE_WEBHOOK_HEADERS: '["Authorization: Bearer key"]',
  SERVICE_TRACING_HEADERS: '["Authorization: Bearer key"]',
  DATABASE_URL: 'postgres://user:password@db/calls',
  NATS_URL: 'nats://user:password@bus:4222',
}
const FIELDS = { 'status.podIP': '10.0.0.1', 'status.hostIP': '192.0.2.1', 'metadata.name': 'calls-media-node-0' }

/** The environment that the kubelet gives to a container. */
function resolved(variables) {
  const env = {}
  for (const { name, value, valueFrom } of variables) {
    const field = valueFrom?.fieldRef?.fieldPath
    env[name] =
      value?.replaceAll(/\$\((\w+)\)/g, (text, other) => env[other] ?? text) ??
      FIELDS[field] ??
      SECRETS[name] ??
      'secret'
  }
  return env
}

describe('the pods of all golden files', () => {
  for (const { name, documents } of goldens)
    test(`${name}: masters and media nodes accept their environment, and every variable has an effect`, () => {
      for (const pod of podsOf(documents)) {
        const component = componentOf(pod)
        if (component !== 'master' && component !== 'media-node') continue
        const env = resolved(pod.spec.containers[0].env)
        // The driver sets it in each pod of a PodTemplate.
        if (pod.kind === 'PodTemplate') env.MEDIA_NODE_ID = 'node-1'
        const kind = component === 'master' ? 'master' : 'node'
        assert.ok(kind === 'master' ? loadMasterConfig(env) : loadNodeConfig(env))
        assert.deepEqual(configAdvice(kind, env), [])
      }
    })

  for (const { name, documents } of goldens)
    test(`${name}: no container has more rights than it needs`, () => {
      for (const { metadata, spec } of podsOf(documents)) {
        const component = metadata.labels['app.kubernetes.io/component']
        assert.equal(spec.securityContext.runAsNonRoot, true)
        assert.deepEqual(spec.securityContext.seccompProfile, { type: 'RuntimeDefault' })
        for (const container of spec.containers) {
          const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = container.securityContext
          assert.deepEqual([allowPrivilegeEscalation, readOnlyRootFilesystem], [false, true])
          assert.deepEqual(capabilities.drop, ['ALL'])
          assert.deepEqual(capabilities.add ?? [], component === 'turn' ? ['NET_BIND_SERVICE'] : [])
          assert.ok(container.resources.requests.memory)
        }
      }
    })

  for (const { name, documents } of goldens)
    test(`${name}: only masters that use the Kubernetes API have a token, and then a Role`, () => {
      const pods = podsOf(documents)
      const master = pods.find((pod) => componentOf(pod) === 'master')
      const usesApi = environmentOf(master).get('SERVICE_PRO_CLUSTER_ENVIRONMENT')?.value === 'kubernetes'
      for (const pod of pods) assert.equal(pod.spec.automountServiceAccountToken, pod === master && usesApi)
      assert.equal(
        documents.some(({ kind }) => kind === 'Role'),
        usesApi,
      )
    })

  for (const { name, documents } of goldens)
    test(`${name}: every selector finds pods, and every named port is one of them`, () => {
      const pods = podsOf(documents)
      const selected = (labels) =>
        pods.filter(({ metadata }) => Object.entries(labels).every(([key, value]) => metadata.labels[key] === value))
      const assertPorts = (labels, ports) => {
        const found = selected(labels)
        assert.notEqual(found.length, 0, JSON.stringify(labels))
        const names = found.flatMap(({ spec }) =>
          spec.containers.flatMap((each) => each.ports.map((port) => port.name)),
        )
        for (const port of ports.filter((each) => typeof each === 'string')) assert.ok(names.includes(port), port)
      }
      for (const { kind, spec } of documents) {
        if (kind === 'Service')
          assertPorts(
            spec.selector,
            spec.ports.map(({ targetPort }) => targetPort),
          )
        if (kind === 'NetworkPolicy')
          assertPorts(
            spec.podSelector.matchLabels,
            spec.ingress.flatMap(({ ports }) => ports.map(({ port }) => port)),
          )
        if (kind === 'PodDisruptionBudget') assertPorts(spec.selector.matchLabels, [])
        if (kind === 'PodMonitor')
          assertPorts(
            spec.selector.matchLabels,
            spec.podMetricsEndpoints.map(({ port }) => port),
          )
      }
    })

  for (const { name, documents } of goldens)
    test(`${name}: a pod is killed later than its drain and its delay end`, () => {
      for (const pod of podsOf(documents)) {
        const env = environmentOf(pod)
        const wait = { master: 'SERVICE_SHUTDOWN_DELAY', 'media-node': 'MEDIA_NODE_DRAIN_TIMEOUT' }[componentOf(pod)]
        const finish = Number(env.get('MEDIA_NODE_RECORDING_FINISH_TIMEOUT')?.value ?? 0)
        if (wait) assert.ok(pod.spec.terminationGracePeriodSeconds > Number(env.get(wait).value) + finish + 30)
      }
    })
})

describe('a media node', () => {
  const mediaPod = (name) => podsOf(goldenNamed(name).documents).filter((pod) => componentOf(pod) === 'media-node')

  test('has the same pod spec in a Deployment and in the PodTemplate of the driver, but for who names it', () => {
    const [deployment] = mediaPod('zero-values')
    const [template] = mediaPod('driver')
    const shape = ({ spec }) => Object.keys(spec).filter((key) => key !== 'restartPolicy')
    assert.deepEqual(shape(template), shape(deployment))
    const names = (pod) => [...environmentOf(pod).keys()]
    const added = new Set(names(deployment)).difference(new Set(names(template)))
    assert.deepEqual([...added], ['MEDIA_NODE_ID', 'MEDIA_NODE_ENVIRONMENT_ID'])
  })

  test('that has a load balancer announces its address, and listens on ports of its own', () => {
    const env = mediaPod('load-balancer-per-pod').map(environmentOf)
    assert.deepEqual(
      env.map((each) => [each.get('MEDIA_NODE_ANNOUNCED_ADDRESS').value, each.get('MEDIA_NODE_RTC_PORT').value]),
      [
        ['203.0.113.10', '20000'],
        ['media-1.example.org', '20002'],
      ],
    )
  })

  test('behind node ports listens on the port that clients use, for each protocol and worker', () => {
    const { documents } = goldenNamed('node-port')
    const services = documents.filter(({ kind, spec }) => kind === 'Service' && spec.type === 'NodePort')
    const ports = services.map(({ spec }) => spec.ports.map(({ protocol, nodePort }) => `${protocol} ${nodePort}`))
    assert.deepEqual(ports, [
      ['UDP 30400', 'TCP 30400', 'UDP 30401', 'TCP 30401'],
      ['UDP 30402', 'TCP 30402', 'UDP 30403', 'TCP 30403'],
    ])
    const listening = mediaPod('node-port').map((pod) => environmentOf(pod).get('MEDIA_NODE_RTC_PORT').value)
    assert.deepEqual(listening, ['30400', '30402'])
    for (const { spec } of services)
      for (const { port, targetPort, nodePort } of spec.ports)
        assert.deepEqual([port, targetPort], [nodePort, nodePort])
  })

  test('has ports of both protocols on the machine with hostPort, for each worker', () => {
    const [{ spec }] = mediaPod('host-port')
    const [, ...media] = spec.containers[0].ports
    const expected = [20000, 20001, 20002, 20003].flatMap((port) => [`UDP ${port} ${port}`, `TCP ${port} ${port}`])
    assert.deepEqual(
      media.map(({ protocol, containerPort, hostPort }) => `${protocol} ${containerPort} ${hostPort}`),
      expected,
    )
    // helm 3 would merge the ports of two containers of one name by their number.
    assert.equal(spec.containers[0].name, 'media-node-20000-4')
  })

  test('uses the network of the machine with hostNetwork, where two nodes are never scheduled', () => {
    const [{ spec }] = mediaPod('host-network')
    assert.deepEqual([spec.hostNetwork, spec.dnsPolicy], [true, 'ClusterFirstWithHostNet'])
    assert.deepEqual(
      spec.containers[0].ports.map(({ hostPort }) => hostPort),
      [4481, 20000, 20001],
    )
  })

  test('is replaced when restartId changes, which is in the metadata of its pod', () => {
    const idOf = (name) => mediaPod(name)[0].metadata.annotations['session-service/restart-id']
    assert.deepEqual([idOf('driver'), idOf('zero-values')], ['20261130', undefined])
  })

  test('has no two ports of one number in a list that an upgrade may change, but with a new name', () => {
    for (const { name, documents } of goldens)
      for (const { spec } of podsOf(documents))
        for (const container of spec.containers) {
          const numbers = (container.ports ?? []).map(({ containerPort }) => containerPort)
          const isUnique = new Set(numbers).size === numbers.length
          assert.ok(isUnique || /^media-node-\d+-\d+$/.test(container.name), `${name}: ${container.name}`)
        }
  })
})

describe('the migration', () => {
  const podOf = (component) =>
    podsOf(goldenNamed('external-urls').documents).find((pod) => componentOf(pod) === component)

  test('has the volumes and variables with which masters reach the database, but no claim', () => {
    const { volumes, containers } = podOf('migrations').spec
    assert.deepEqual(
      volumes.map(({ name }) => name),
      ['tmp', 'authorities'],
    )
    assert.deepEqual(
      containers[0].volumeMounts.map(({ mountPath }) => mountPath),
      ['/tmp', '/etc/authorities'],
    )
    assert.equal(environmentOf(podOf('migrations')).get('NODE_EXTRA_CA_CERTS').value, '/etc/authorities/ca.crt')
  })

  test('and the test of the release run on the machines of masters, also beside a master', () => {
    const { nodeSelector, tolerations, priorityClassName, affinity } = podOf('master').spec
    for (const { spec } of [podOf('migrations'), podOf('test')]) {
      assert.deepEqual([spec.nodeSelector, spec.tolerations], [nodeSelector, tolerations])
      assert.equal(spec.priorityClassName, priorityClassName)
      assert.deepEqual(spec.affinity, { nodeAffinity: affinity.nodeAffinity })
    }
  })

  test('has no sidecar of a mesh, which would keep its Job from ending', () => {
    const { annotations, labels } = podOf('migrations').metadata
    assert.deepEqual(annotations, { 'sidecar.istio.io/inject': 'false', 'linkerd.io/inject': 'disabled' })
    assert.equal(labels['example.org/tier'], 'hooks')
  })
})

test('with IPv6 every server of the service listens on both families, and every Service has them', () => {
  const { documents } = goldenNamed('ipv6')
  const hostsOf = (component) => {
    const env = environmentOf(podsOf(documents).find((pod) => componentOf(pod) === component))
    const names = ['SERVICE_HOST', 'SERVICE_OPS_HOST', 'MEDIA_NODE_IP', 'PLAYGROUND_HOST']
    return names.flatMap((name) => (env.has(name) ? `${name}=${env.get(name).value}` : []))
  }
  assert.deepEqual(hostsOf('master'), ['SERVICE_HOST=::', 'SERVICE_OPS_HOST=::'])
  // Its own configuration takes precedence.
  assert.deepEqual(hostsOf('media-node'), ['SERVICE_OPS_HOST=$(POD_IP)', 'MEDIA_NODE_IP=::'])
  assert.deepEqual(hostsOf('playground'), ['PLAYGROUND_HOST=::'])
  const services = documents.filter(({ kind }) => kind === 'Service')
  assert.equal(services.length, 9)
  for (const { spec } of services)
    assert.deepEqual([spec.ipFamilyPolicy, spec.ipFamilies], ['PreferDualStack', ['IPv6', 'IPv4']])
})

test('NATS is spread over machines and zones, unless its values say otherwise', () => {
  const specOf = (name) => podsOf(goldenNamed(name).documents).find((pod) => componentOf(pod) === 'nats').spec
  const keysOf = (name) => specOf(name).topologySpreadConstraints.map(({ topologyKey }) => topologyKey)
  assert.deepEqual(keysOf('recording-shared'), ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'])
  assert.deepEqual(keysOf('properties'), ['rack'])
  assert.equal(specOf('properties').priorityClassName, 'bus')
  assert.ok(specOf('properties').affinity.podAntiAffinity)
})

test('NATS moves clients to other servers before it ends, and a single server ends for all at once', () => {
  const natsOf = (name) => podsOf(goldenNamed(name).documents).find((pod) => componentOf(pod) === 'nats')
  const commandOf = (name) => natsOf(name).spec.containers[0].lifecycle?.preStop.exec.command
  assert.deepEqual(commandOf('recording-shared'), ['nats-server', '--signal', 'ldm=/tmp/nats.pid'])
  assert.equal(commandOf('zero-values'), undefined)
})

test('KEDA scales by the metrics that the monitors of this release read, and never by missing ones', () => {
  const { documents } = goldenNamed('keda')
  const { metadata } = documents.find(({ kind }) => kind === 'ScaledObject').spec.triggers[0]
  const monitor = documents.find(({ kind }) => kind === 'PodMonitor').spec.podMetricsEndpoints[0]
  const { replacement } = monitor.relabelings.find(({ targetLabel }) => targetLabel === 'cluster')
  assert.equal(metadata.query, `max(session_service_cluster_capacity_used_ratio{cluster="${replacement}"})`)
  assert.equal(metadata.ignoreNullValues, 'false')
})

describe('network policies', () => {
  const GKE = ['35.191.0.0/16', '130.211.0.0/22', '2600:2d00:1:b029::/64', '2600:2d00:1:1::/64']
  const ALB = ['10.0.0.0/8', '192.0.2.7/32', '2001:db8::7/128']
  const networksOf = (name, port, component = 'master') => {
    const policies = goldenNamed(name).documents.filter(({ kind }) => kind === 'NetworkPolicy')
    const { spec } = policies.find(({ metadata }) => metadata.labels['app.kubernetes.io/component'] === component)
    const peers = spec.ingress.find(({ ports }) => ports.some((each) => each.port === port)).from
    return peers?.flatMap(({ ipBlock }) => ipBlock?.cidr ?? [])
  }

  test('admit the health checks of a load balancer that connects to the pods, and of nothing else outside', () => {
    assert.deepEqual(networksOf('ingress-gke', 'ops'), GKE)
    assert.deepEqual(networksOf('gateway-gke', 'ops'), GKE)
    assert.deepEqual(networksOf('ingress-alb', 'ops'), ALB)
    assert.deepEqual(networksOf('ingress-nginx', 'ops'), [])
  })

  test('admit the requests of such a load balancer in addition to the sources of the API', () => {
    assert.deepEqual(networksOf('ingress-gke', 'http'), GKE)
    assert.equal(networksOf('ingress-alb', 'http'), undefined)
    assert.deepEqual(networksOf('network-policies', 'http'), [])
  })

  test('admit the further sources of metrics to masters and media nodes', () => {
    assert.deepEqual(networksOf('network-policies', 'ops'), ['198.51.100.0/24'])
    assert.deepEqual(networksOf('network-policies', 'ops', 'media-node'), ['198.51.100.0/24'])
  })
})

describe('secrets', () => {
  const MARKED = /secret-of-the-api|access1|secret1|master1|node1|postgres1|turn1|whsec_|m1@|n1@|p1@/

  for (const name of ['gitops', 'external-urls'])
    test(`${name}: the values of secrets are in objects of the kind Secret alone`, () => {
      const others = goldenNamed(name).documents.filter(({ kind }) => kind !== 'Secret')
      for (const each of others) assert.doesNotMatch(JSON.stringify(each), MARKED)
    })

  test('the chart makes no Secret where all exist', () => {
    assert.deepEqual(
      goldenNamed('external').documents.filter(({ kind }) => kind === 'Secret'),
      [],
    )
  })

  test('every generated secret is kept, and no hook deletes it', () => {
    const secrets = goldenNamed('zero-values').documents.filter(({ kind }) => kind === 'Secret')
    assert.equal(secrets.length, 3)
    for (const { metadata } of secrets) assert.deepEqual(metadata.annotations, { 'helm.sh/resource-policy': 'keep' })
  })
})
