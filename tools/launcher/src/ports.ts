import { freePortFrom, isFree, portHolder } from '@session-service/local-stack'
import { OptionError } from './options.js'

const DEFAULT = { service: 4443, playground: 4444, masterOps: 4480, nodeOps: 4481, postgres: 4490, nats: 4491 } as const

export interface Ports {
  service: number
  /** Undefined without the playground. */
  playground: number | undefined
  masterOps: number
  nodeOps: number[]
  postgres: number
  nats: number
}

interface WantedPorts {
  env: NodeJS.ProcessEnv
  port: number | undefined
  nodes: number
  playground: boolean
}

/**
 * Chooses all ports before any process starts. A port that the user configured must be free; otherwise an error names the
 * process that uses it. Every other port is the default or the next free one.
 */
export async function choosePorts(
  { env, port, nodes, playground }: WantedPorts,
  report: (text: string) => void,
): Promise<Ports> {
  const taken = new Set<number>()
  const take = async (first: number, host: string): Promise<number> => {
    const found = await freePortFrom(first, host, taken)
    taken.add(found)
    return found
  }
  const claim = async (wanted: number, host: string, hint: string): Promise<number> => {
    if (taken.has(wanted)) throw new OptionError(`port ${wanted} is configured twice: ${hint}`)
    if (!(await isFree(wanted, host)))
      throw new OptionError(`port ${wanted} is in use by ${portHolder(wanted)}: stop it, or ${hint}`)
    taken.add(wanted)
    return wanted
  }
  const service = port ?? portOf(env, 'SERVICE_PORT') ?? DEFAULT.service
  await claim(service, env.SERVICE_HOST || '0.0.0.0', 'choose another one with --port or SERVICE_PORT')
  return {
    service,
    playground: playground ? await choosePage(env, claim, take, report) : undefined,
    ...(await chooseInner(env, nodes, take)),
  }
}

type Claim = (wanted: number, host: string, hint: string) => Promise<number>
type Take = (first: number, host: string) => Promise<number>

async function choosePage(
  env: NodeJS.ProcessEnv,
  claim: Claim,
  take: Take,
  report: (text: string) => void,
): Promise<number> {
  const host = env.PLAYGROUND_HOST || '127.0.0.1'
  const wanted = portOf(env, 'PLAYGROUND_PORT')
  if (wanted !== undefined) return claim(wanted, host, 'choose another one with PLAYGROUND_PORT')
  const found = await take(DEFAULT.playground, host)
  if (found !== DEFAULT.playground)
    report(`the page is on port ${found}: ${DEFAULT.playground} is in use by ${portHolder(DEFAULT.playground)}`)
  return found
}

async function chooseInner(
  env: NodeJS.ProcessEnv,
  nodes: number,
  take: Take,
): Promise<Omit<Ports, 'service' | 'playground'>> {
  const ops = portOf(env, 'SERVICE_OPS_PORT')
  const host = env.SERVICE_OPS_HOST || '127.0.0.1'
  const masterOps = await take(ops ?? DEFAULT.masterOps, host)
  const nodeOps: number[] = []
  for (let index = 0; index < nodes; index++)
    nodeOps.push(await take(ops === undefined ? DEFAULT.nodeOps : ops + 1, host))
  return {
    masterOps,
    nodeOps,
    postgres: await take(DEFAULT.postgres, '127.0.0.1'),
    nats: await take(DEFAULT.nats, '127.0.0.1'),
  }
}

function portOf(env: NodeJS.ProcessEnv, name: string): number | undefined {
  const text = env[name]
  if (text === undefined || text === '') return undefined
  const port = Number(text)
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port
  throw new OptionError(`${name} must be a port from 1 to 65535, not "${text}"`)
}
