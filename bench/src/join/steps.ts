import { z } from 'zod'

/** What mediasoup and mediasoup-client hand each other, and nobody in between reads. */
const Opaque = z.record(z.string(), z.unknown())

/** The classic steps of mediasoup's own examples, each one request and one answer. */
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
