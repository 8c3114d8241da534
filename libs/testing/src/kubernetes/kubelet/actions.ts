import { spawn } from 'node:child_process'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Handler, Probe } from '../control-plane/objects.js'

/** The container in which an action runs. */
export interface ActionTarget {
  address: string
  /** The number of a named port. */
  port: (port: number | string) => number
  /** Command and environment of a program in the container. */
  command: (words: readonly string[]) => { command: string; args: string[]; env: Record<string, string>; cwd: string }
}

/** Carries out a probe or a hook; false when it failed or did not end in time. */
export async function act(action: Handler | Probe, target: ActionTarget, timeoutMs: number): Promise<boolean> {
  const signal = AbortSignal.timeout(Math.ceil(timeoutMs))
  try {
    if (action.httpGet) return await answers(action.httpGet, target, signal)
    if (action.tcpSocket) return await accepts(target.address, target.port(action.tcpSocket.port), signal)
    if (action.exec) return await succeeds(action.exec.command, target, signal)
    const seconds = 'sleep' in action ? (action as Handler).sleep?.seconds : undefined
    if (seconds !== undefined) await sleep(seconds * 1000, undefined, { signal })
    return true
  } catch {
    return false
  }
}

function answers(
  { path, port, scheme, host, httpHeaders }: NonNullable<Handler['httpGet']>,
  target: ActionTarget,
  signal: AbortSignal,
): Promise<boolean> {
  const isHttps = scheme === 'HTTPS'
  const url = `${isHttps ? 'https' : 'http'}://${host ?? target.address}:${target.port(port)}${path}`
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]))
  const options = { signal, headers: { Connection: 'close', ...headers } }
  return new Promise((resolve, reject) => {
    // Like the kubelet, it does not verify certificates.
    const sent = isHttps ? httpsRequest(url, { ...options, rejectUnauthorized: false }) : httpRequest(url, options)
    sent.once('response', (answer) => {
      answer.resume()
      const code = answer.statusCode ?? 0
      resolve(code >= 200 && code < 400)
    })
    sent.once('error', reject)
    sent.end()
  })
}

function accepts(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    signal.addEventListener('abort', () => socket.destroy(new Error('timeout')), { once: true })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', reject)
  })
}

function succeeds(words: readonly string[], target: ActionTarget, signal: AbortSignal): Promise<boolean> {
  const { command, args, env, cwd } = target.command(words)
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, cwd, stdio: 'ignore', signal, killSignal: 'SIGKILL' })
    child.once('error', reject)
    child.once('exit', (code) => resolve(code === 0))
  })
}
