import { z } from 'zod'

/** Data that mediasoup and mediasoup-client exchange and that the server only passes on. */
const Opaque = z.record(z.string(), z.unknown())

/** The steps of mediasoup's examples, each with one request and one answer. */
export const STEPS = {
  getRouterRtpCapabilities: z.object({}),
  getProducers: z.object({}),
  createTransport: z.object({}),
  connectTransport: z.object({ transportId: z.string(), dtlsParameters: Opaque }),
  consume: z.object({ transportId: z.string(), producerId: z.string(), rtpCapabilities: Opaque }),
  resume: z.object({ consumerId: z.string() }),
} as const
export type Step = keyof typeof STEPS

export const StepRequest = z.object({ id: z.number(), step: z.enum(Object.keys(STEPS) as [Step]), data: z.unknown() })
