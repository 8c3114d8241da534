import type { RpcRequest } from '@session-service/contract'

const PING = /^\{"jsonrpc":"2\.0",(?:"id":(0|[1-9]\d{0,14}),)?"method":"ping","params":\{\}\}$/

/**
 * Reads a ping as the client libraries write it; undefined for all other frames. Most frames of a meeting are pings, and
 * the parser and the schema take more than half of the CPU of one.
 */
export function readPing(text: string): RpcRequest | undefined {
  const found = PING.exec(text)
  if (!found) return undefined
  const [, id] = found
  return { jsonrpc: '2.0', ...(id !== undefined && { id: Number(id) }), method: 'ping', params: {} }
}
