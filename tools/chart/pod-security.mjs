// Checks the pods of the chart against the level "restricted" of PodSecurity, which a real API server enforces.
import { componentOf, documentsOf, podsOf } from './documents.mjs'

const NAMESPACE = 'restricted'
/** The only violations of the chart: the ports and the network of the machine, of media nodes that are set to use them. */
const OF_MACHINE = /^(hostPort|host namespaces) \(/

const usesMachine = ({ spec }) =>
  spec.hostNetwork === true || spec.containers.some(({ ports = [] }) => ports.some(({ hostPort }) => hostPort))

/** As its controller makes it: with the claims of a StatefulSet, and without a priority class, which is not of the chart. */
function specOf({ spec }) {
  const volumes = spec.volumes ?? []
  const mounts = spec.containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name))
  const claims = new Set(mounts).difference(new Set(volumes.map(({ name }) => name)))
  const claimed = [...claims].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }))
  return { ...spec, priorityClassName: undefined, volumes: [...volumes, ...claimed] }
}

/** The violations in a refusal: `… violates PodSecurity "restricted:latest": hostPort (…), seccompProfile (…)`. */
const violationsOf = (message) => message.split(/violates PodSecurity "[^"]*": /)[1]?.split(/(?<=\)), /)

export async function enforceRestricted(call) {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await call('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE, labels } })
}

/** Every pod of a rendering is admitted, but for media nodes that use their machine, which are refused for that alone. */
export async function admissionProblems(call, yaml) {
  const problems = []
  for (const pod of podsOf(documentsOf(yaml))) {
    const { metadata, name } = pod
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name }, spec: specOf(pod) }
    const answer = await call('POST', `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`, body)
    const isExpected = componentOf(pod) === 'media-node' && usesMachine(pod)
    if (answer.status < 300) {
      if (isExpected)
        problems.push(`${name} uses its machine and is admitted: the documentation says that it is refused`)
      continue
    }
    const violations = violationsOf(answer.body.message) ?? [answer.body.message]
    const others = isExpected ? violations.filter((each) => !OF_MACHINE.test(each)) : violations
    problems.push(...others.map((each) => `${name}: ${each}`))
  }
  return problems
}
