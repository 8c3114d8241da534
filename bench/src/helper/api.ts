import { z } from 'zod'

/** The methods of a helper process: schemas of params and result by name. */
export type HelperApi = Record<string, readonly [params: z.ZodType, result: z.ZodType]>

export type HelperParams<A extends HelperApi, M extends keyof A> = z.input<A[M][0]>
export type HelperResult<A extends HelperApi, M extends keyof A> = z.output<A[M][1]>
export type HelperHandlers<A extends HelperApi> = {
  [M in keyof A]: (params: z.output<A[M][0]>) => Promise<z.input<A[M][1]>>
}

export const Call = z.object({ id: z.number(), method: z.string(), params: z.unknown() })
export const Answer = z.object({ id: z.number(), result: z.unknown().optional(), error: z.string().optional() })
export type Answer = z.input<typeof Answer>

export const Nothing = z.object({})
