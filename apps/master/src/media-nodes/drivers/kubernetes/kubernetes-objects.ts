import { z } from 'zod'

/** The parts of objects of the Kubernetes API that this driver reads; unknown members are dropped unless they are sent back. */

const Texts = z.record(z.string(), z.string())
const Metadata = z.object({
  name: z.string(),
  uid: z.string().default(''),
  resourceVersion: z.string().default(''),
  labels: Texts.default({}),
  annotations: Texts.default({}),
  creationTimestamp: z.string().nullish(),
  /** Set while the object is being deleted: the time at which its grace period ends. */
  deletionTimestamp: z.string().nullish(),
  deletionGracePeriodSeconds: z.number().nullish(),
  ownerReferences: z.array(z.object({ kind: z.string(), name: z.string(), uid: z.string() })).default([]),
})

const Waiting = z.object({ reason: z.string().default(''), message: z.string().default('') })
const Terminated = z.object({
  exitCode: z.number(),
  reason: z.string().default(''),
  message: z.string().default(''),
})
const ContainerState = z.object({ waiting: Waiting.nullish(), terminated: Terminated.nullish() })
const ContainerStatus = z.object({
  name: z.string(),
  ready: z.boolean().default(false),
  restartCount: z.number().default(0),
  state: ContainerState.nullish(),
  lastState: ContainerState.nullish(),
})
export type ContainerStatus = z.output<typeof ContainerStatus>

const Condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().default(''),
  message: z.string().default(''),
})
export type Condition = z.output<typeof Condition>

export const Pod = z.object({
  metadata: Metadata,
  spec: z
    .object({
      nodeName: z.string().nullish(),
      terminationGracePeriodSeconds: z.number().nullish(),
      containers: z
        .array(z.object({ env: z.array(z.object({ name: z.string(), value: z.string().nullish() })).nullish() }))
        .default([]),
    })
    .default({ nodeName: undefined, terminationGracePeriodSeconds: undefined, containers: [] }),
  status: z
    .object({
      phase: z.string().default('Pending'),
      reason: z.string().default(''),
      message: z.string().default(''),
      conditions: z.array(Condition).nullish(),
      initContainerStatuses: z.array(ContainerStatus).nullish(),
      containerStatuses: z.array(ContainerStatus).nullish(),
    })
    .default({ phase: 'Pending', reason: '', message: '' }),
})
export type Pod = z.output<typeof Pod>

export const PodList = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().default('') }),
  items: z.array(Pod),
})
export type PodList = z.output<typeof PodList>

/** Loose: pods are made of all of its members. */
const Container = z.looseObject({
  name: z.string(),
  env: z.array(z.looseObject({ name: z.string() })).nullish(),
})
export const PodTemplate = z.object({
  metadata: Metadata,
  template: z.looseObject({
    metadata: z.looseObject({ labels: Texts.nullish(), annotations: Texts.nullish() }).nullish(),
    spec: z.looseObject({
      containers: z.array(Container).min(1),
      terminationGracePeriodSeconds: z.number().nullish(),
    }),
  }),
})
export type PodTemplate = z.output<typeof PodTemplate>

/** A machine of the cluster. */
export const KubernetesNode = z.object({
  metadata: Metadata,
  status: z.object({ addresses: z.array(z.object({ type: z.string(), address: z.string() })).nullish() }).nullish(),
})
export type KubernetesNode = z.output<typeof KubernetesNode>

/** The body of an answer that is no success. */
export const Status = z.object({
  kind: z.literal('Status'),
  reason: z.string().default(''),
  message: z.string().default(''),
  code: z.number().default(0),
  details: z.object({ retryAfterSeconds: z.number().nullish() }).nullish(),
})

export const WatchEvent = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.unknown(),
})
/** A bookmark has nothing but the resource version up to which the watch is complete. */
export const Bookmark = z.object({ metadata: z.object({ resourceVersion: z.string() }) })
