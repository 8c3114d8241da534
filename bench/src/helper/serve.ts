import { Answer, Call, type HelperApi, type HelperHandlers } from './api.js'

/** Serves the calls of the benchmark, and exits when the benchmark ends. */
export function serveHelper<A extends HelperApi>(api: A, handlers: HelperHandlers<A>): void {
  const answer = async (message: unknown): Promise<Answer> => {
    const { id, method, params } = Call.parse(message)
    const [schema] = api[method] ?? []
    const handler = handlers[method]
    if (!schema || !handler) return { id, result: undefined, error: `unknown method ${method}` }
    try {
      return { id, result: await handler(schema.parse(params) as never) }
    } catch (error) {
      return { id, result: undefined, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
    }
  }
  process.on('message', (message) => void answer(message).then((sent) => process.send?.(sent)))
  process.on('disconnect', () => process.exit())
}
