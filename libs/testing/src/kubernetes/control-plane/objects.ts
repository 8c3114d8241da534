import { z } from 'zod'

const texts = z.record(z.string(), z.string()).default({})

const metadata = z.looseObject({
  name: z.string(),
  namespace: z.string().default(''),
  uid: z.string(),
  resourceVersion: z.string(),
  labels: texts,
  annotations: texts,
  deletionTimestamp: z.string().optional(),
  deletionGracePeriodSeconds: z.number().optional(),
  ownerReferences: z.array(z.looseObject({ kind: z.string(), name: z.string() })).default([]),
})

const portOrName = z.union([z.number(), z.string()])
const httpGet = z.looseObject({
  path: z.string().default('/'),
  port: portOrName,
  scheme: z.string().default('HTTP'),
  host: z.string().optional(),
  httpHeaders: z.array(z.looseObject({ name: z.string(), value: z.string() })).default([]),
})
const exec = z.looseObject({ command: z.array(z.string()).default([]) })
const action = {
  httpGet: httpGet.optional(),
  exec: exec.optional(),
  tcpSocket: z.looseObject({ port: portOrName }).optional(),
}
const handler = z.looseObject({ ...action, sleep: z.looseObject({ seconds: z.number() }).optional() })

const probe = z.looseObject({
  ...action,
  initialDelaySeconds: z.number().default(0),
  periodSeconds: z.number().default(10),
  timeoutSeconds: z.number().default(1),
  successThreshold: z.number().default(1),
  failureThreshold: z.number().default(3),
})

const keyRef = z.looseObject({ name: z.string(), key: z.string(), optional: z.boolean().default(false) })
const resourceFieldRef = z.looseObject({
  containerName: z.string().optional(),
  resource: z.string(),
  divisor: z.string().default('0'),
})
const fieldRef = z.looseObject({ fieldPath: z.string() })

const envVar = z.looseObject({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z
    .looseObject({
      fieldRef: fieldRef.optional(),
      resourceFieldRef: resourceFieldRef.optional(),
      configMapKeyRef: keyRef.optional(),
      secretKeyRef: keyRef.optional(),
    })
    .optional(),
})

const source = z.looseObject({ name: z.string(), optional: z.boolean().default(false) })
const envFrom = z.looseObject({
  prefix: z.string().default(''),
  configMapRef: source.optional(),
  secretRef: source.optional(),
})

const quantities = z.record(z.string(), z.string())
const resources = z.looseObject({ limits: quantities.default({}), requests: quantities.default({}) })

const container = z.looseObject({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).default([]),
  args: z.array(z.string()).default([]),
  workingDir: z.string().optional(),
  env: z.array(envVar).default([]),
  envFrom: z.array(envFrom).default([]),
  ports: z
    .array(z.looseObject({ name: z.string().optional(), containerPort: z.number(), hostPort: z.number().optional() }))
    .default([]),
  volumeMounts: z
    .array(z.looseObject({ name: z.string(), mountPath: z.string(), subPath: z.string().optional() }))
    .default([]),
  resources: resources.default({ limits: {}, requests: {} }),
  startupProbe: probe.optional(),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  lifecycle: z.looseObject({ preStop: handler.optional(), postStart: handler.optional() }).optional(),
})

const items = z.array(z.looseObject({ key: z.string(), path: z.string() })).optional()
const downwardItems = z.array(
  z.looseObject({ path: z.string(), fieldRef: fieldRef.optional(), resourceFieldRef: resourceFieldRef.optional() }),
)
const optional = z.boolean().default(false)
const volume = z.looseObject({
  name: z.string(),
  emptyDir: z.looseObject({}).optional(),
  configMap: z.looseObject({ name: z.string(), items, optional }).optional(),
  secret: z.looseObject({ secretName: z.string(), items, optional }).optional(),
  downwardAPI: z.looseObject({ items: downwardItems.default([]) }).optional(),
  persistentVolumeClaim: z.looseObject({ claimName: z.string() }).optional(),
  ephemeral: z.looseObject({}).optional(),
  projected: z
    .looseObject({
      sources: z.array(
        z.looseObject({
          configMap: z.looseObject({ name: z.string(), items, optional }).optional(),
          secret: z.looseObject({ name: z.string(), items, optional }).optional(),
          downwardAPI: z.looseObject({ items: downwardItems.default([]) }).optional(),
          serviceAccountToken: z
            .looseObject({
              path: z.string(),
              audience: z.string().optional(),
              expirationSeconds: z.number().optional(),
            })
            .optional(),
        }),
      ),
    })
    .optional(),
})

export const pod = z.looseObject({
  metadata,
  spec: z.looseObject({
    nodeName: z.string().optional(),
    hostNetwork: z.boolean().default(false),
    serviceAccountName: z.string().default('default'),
    restartPolicy: z.enum(['Always', 'OnFailure', 'Never']).default('Always'),
    terminationGracePeriodSeconds: z.number().default(30),
    initContainers: z.array(container).default([]),
    containers: z.array(container),
    volumes: z.array(volume).default([]),
  }),
  status: z
    .looseObject({
      phase: z.string().default('Pending'),
      reason: z.string().optional(),
      podIP: z.string().optional(),
      conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]),
      containerStatuses: z
        .array(
          z.looseObject({
            name: z.string(),
            ready: z.boolean(),
            restartCount: z.number(),
            state: z.looseObject({ waiting: z.looseObject({ reason: z.string() }).optional() }).default({}),
          }),
        )
        .default([]),
    })
    .default({ phase: 'Pending', conditions: [], containerStatuses: [] }),
})

export const service = z.looseObject({
  metadata,
  spec: z.looseObject({
    type: z.string().default('ClusterIP'),
    clusterIP: z.string().default('None'),
    ports: z
      .array(
        z.looseObject({
          name: z.string().default(''),
          protocol: z.string().default('TCP'),
          port: z.number(),
          nodePort: z.number().optional(),
        }),
      )
      .default([]),
  }),
})

export const endpointSlice = z.looseObject({
  metadata,
  endpoints: z
    .array(
      z.looseObject({
        addresses: z.array(z.string()),
        hostname: z.string().nullish(),
        conditions: z.looseObject({ ready: z.boolean().nullish() }).default({}),
        targetRef: z.looseObject({ name: z.string() }).optional(),
      }),
    )
    .nullish()
    .transform((found) => found ?? []),
  ports: z
    .array(z.looseObject({ name: z.string().nullish(), port: z.number().nullish() }))
    .nullish()
    .transform((found) => found ?? []),
})

export const claim = z.looseObject({
  metadata,
  spec: z.looseObject({
    storageClassName: z.string().optional(),
    volumeName: z.string().default(''),
    accessModes: z.array(z.string()).default(['ReadWriteOnce']),
    resources: resources.default({ limits: {}, requests: {} }),
  }),
  status: z.looseObject({ phase: z.string().default('Pending') }).default({ phase: 'Pending' }),
})

export const persistentVolume = z.looseObject({
  metadata,
  spec: z.looseObject({ hostPath: z.looseObject({ path: z.string() }).optional() }),
  status: z.looseObject({ phase: z.string().default('') }).default({ phase: '' }),
})

export const dataObject = z.looseObject({ metadata, data: texts, binaryData: texts })
export const anyObject = z.looseObject({ metadata })

export type Pod = z.infer<typeof pod>
export type Container = z.infer<typeof container>
export type EnvVar = z.infer<typeof envVar>
export type Probe = z.infer<typeof probe>
export type Handler = z.infer<typeof handler>
export type Volume = z.infer<typeof volume>
export type DownwardItem = z.infer<typeof downwardItems>[number]
export type Service = z.infer<typeof service>
export type EndpointSlice = z.infer<typeof endpointSlice>
export type Claim = z.infer<typeof claim>
