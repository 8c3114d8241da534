import { z } from 'zod'

/* The parts of the answers and the events of the browser that the recorder reads. */

export const Ignored = z.unknown()
export const Targets = z.object({ targetInfos: z.array(z.object({ targetId: z.string(), type: z.string() })) })
export const BindingCalled = z.object({ name: z.string(), payload: z.string() })
export const Paused = z.object({ requestId: z.string(), request: z.object({ url: z.string() }) })
export const FrameTree = z.object({ frameTree: z.object({ frame: z.object({ id: z.string() }) }) })
export const FrameNavigated = z.object({ frame: z.object({ id: z.string(), url: z.string() }) })
export const DialogOpening = z.object({ type: z.string(), message: z.string() })
export const Response = z.object({
  type: z.string(),
  frameId: z.string().optional(),
  response: z.object({ url: z.string(), status: z.number() }),
})
export const Thrown = z.object({
  exceptionDetails: z.object({
    text: z.string(),
    exception: z.object({ description: z.string() }).partial().optional(),
  }),
})
