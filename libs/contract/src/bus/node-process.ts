import { z } from 'zod'

/** The listener for probes and metrics of a media node. */
export const OpsAddress = z.object({
  host: z.union([z.ipv4(), z.ipv6()]),
  port: z.number().int().min(1).max(65_535),
})
export type OpsAddress = z.infer<typeof OpsAddress>

/** On this path the ops listener answers 200 when the parameter `bootId` is that of its process, 409 otherwise. */
export const PROCESS_PROBE_PATH = '/process'

/** The report of NATS about an ended connection. A media node names its connection by `nodeClientName`. */
export const DisconnectAdvisory = z.object({
  client: z.object({ name: z.string().default('') }),
  reason: z.string().default(''),
})

/** The name of the connection of a media node to the bus. */
export const nodeClientName = (nodeId: string, bootId: string): string => `${nodeId}/${bootId}`
