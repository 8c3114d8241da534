import { renameSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { KubernetesApi } from '../control-plane/api-client.js'
import { endpointSlice, service, type EndpointSlice, type Service } from '../control-plane/objects.js'
import { loopbackAddress } from '../addresses/addresses.js'

const SERVICE_LABEL = 'kubernetes.io/service-name'
const CONNECT_TIMEOUT_MS = 5_000
const INGRESS_PORT = 8080

interface Endpoint {
  host: string
  port: number
}

/**
 * The network of services: each service listens on its cluster address and forwards connections to its ready endpoints,
 * which the controllers keep, and has its name in a file that the programs of pods read. Node ports are on the nodes.
 */
export class ServiceNetwork {
  readonly #services = new Map<string, Service>()
  readonly #slices = new Map<string, EndpointSlice>()
  /** By `host:port`; false where it could not listen. */
  readonly #listeners = new Map<string, Server>()
  readonly #ingresses: Server[] = []
  readonly #sockets = new Set<Socket>()
  readonly #stopped = new AbortController()
  readonly #following: Promise<void>[]
  readonly hostsFile: string
  readonly #nodeAddresses: () => readonly string[]
  #turn = 0

  constructor(api: KubernetesApi, hostsFile: string, nodeAddresses: () => readonly string[]) {
    this.hostsFile = hostsFile
    this.#nodeAddresses = nodeAddresses
    this.#write()
    const { signal } = this.#stopped
    this.#following = [
      api.follow(service, '/api/v1/services', this.#watcher(this.#services), signal),
      api.follow(endpointSlice, '/apis/discovery.k8s.io/v1/endpointslices', this.#watcher(this.#slices), signal),
    ]
  }

  /** The ready endpoints of a port of a service, by the port's number in the service. */
  endpointsOf(namespace: string, name: string, port: number): Endpoint[] {
    const found = this.#services.get(`${namespace}/${name}`)
    const portName = found?.spec.ports.find((each) => each.port === port)?.name ?? ''
    return this.#slicesOf(namespace, name).flatMap(({ endpoints, ports }) => {
      const target = ports.find((each) => (each.name ?? '') === portName)?.port
      if (target == null) return []
      return endpoints
        .filter(({ conditions }) => conditions.ready !== false)
        .flatMap(({ addresses }) => addresses.map((address) => ({ host: loopbackAddress(address), port: target })))
    })
  }

  /** A public address of a service, known before the service exists, as that of an ingress. */
  async openIngress(host: string, namespace: string, name: string, port: number): Promise<string> {
    const server = createServer((socket) => this.#forward(socket, this.endpointsOf(namespace, name, port)))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port: INGRESS_PORT }, resolve)
    })
    this.#ingresses.push(server)
    return `http://${host}:${INGRESS_PORT}`
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    for (const socket of this.#sockets) socket.destroy()
    for (const server of [...this.#listeners.values(), ...this.#ingresses]) server.close()
    await Promise.all(this.#following)
  }

  #watcher<T extends Service | EndpointSlice>(known: Map<string, T>): { changed(o: T): void; deleted(o: T): void } {
    const key = ({ metadata }: T): string => `${metadata.namespace}/${metadata.name}`
    return {
      changed: (object) => {
        known.set(key(object), object)
        this.#update()
      },
      deleted: (object) => {
        known.delete(key(object))
        this.#update()
      },
    }
  }

  #slicesOf(namespace: string, name: string): EndpointSlice[] {
    return [...this.#slices.values()].filter(
      ({ metadata }) => metadata.namespace === namespace && metadata.labels[SERVICE_LABEL] === name,
    )
  }

  #update(): void {
    this.#write()
    const wanted = new Map<string, { namespace: string; name: string; port: number }>()
    for (const { metadata, spec } of this.#services.values()) {
      // The service of the API server itself has no endpoints here.
      if (spec.type === 'ExternalName' || metadata.name === 'kubernetes') continue
      for (const { port, nodePort, protocol } of spec.ports) {
        if (protocol !== 'TCP') continue
        const target = { namespace: metadata.namespace, name: metadata.name, port }
        if (spec.clusterIP !== 'None') wanted.set(`${loopbackAddress(spec.clusterIP)}:${port}`, target)
        if (nodePort !== undefined) for (const node of this.#nodeAddresses()) wanted.set(`${node}:${nodePort}`, target)
      }
    }
    for (const [at, server] of this.#listeners) if (!wanted.has(at)) this.#close(at, server)
    for (const [at, target] of wanted) if (!this.#listeners.has(at)) this.#listen(at, target)
  }

  #close(at: string, server: Server): void {
    this.#listeners.delete(at)
    server.close()
  }

  #listen(at: string, { namespace, name, port }: { namespace: string; name: string; port: number }): void {
    const [host = '', own] = at.split(':')
    const server = createServer((socket) => this.#forward(socket, this.endpointsOf(namespace, name, port)))
    // A port that this user may not open: the service is then reachable at its endpoints only.
    server.on('error', () => {})
    server.listen({ host, port: Number(own) })
    server.unref()
    this.#listeners.set(at, server)
  }

  /** Tries the endpoints in turn. A service without ready endpoints refuses connections. */
  #forward(socket: Socket, endpoints: readonly Endpoint[]): void {
    this.#track(socket)
    const turn = this.#turn++
    const order = endpoints.map((_, nth) => endpoints[(turn + nth) % endpoints.length])
    const next = (): void => {
      const endpoint = order.shift()
      if (!endpoint) return void socket.resetAndDestroy()
      const upstream = connect({ ...endpoint, timeout: CONNECT_TIMEOUT_MS })
      this.#track(upstream)
      upstream.once('timeout', () => upstream.destroy(new Error('timeout')))
      upstream.once('error', next)
      upstream.once('connect', () => {
        upstream.setTimeout(0)
        upstream.off('error', next)
        join(socket, upstream)
      })
    }
    next()
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }

  /**
   * The addresses of the ready pods of a service whose ports are those of its pods: programs then connect without this
   * process in between, as they do in a cluster, where the kernel forwards.
   */
  #directAddresses({ metadata, spec }: Service): string[] {
    const [found = [], ...others] = spec.ports.map(({ port }) => {
      const endpoints = this.endpointsOf(metadata.namespace, metadata.name, port)
      return endpoints.every((each) => each.port === port) ? endpoints.map(({ host }) => host) : []
    })
    return others.every((each) => each.length === found.length) ? found : []
  }

  /** Names without the domain of the cluster: `service.namespace`, and `pod.service.namespace` of headless services. */
  #write(): void {
    const names: Record<string, string[]> = {}
    for (const object of this.#services.values()) {
      const { metadata, spec } = object
      const name = `${metadata.name}.${metadata.namespace}`
      if (spec.clusterIP !== 'None') {
        const direct = this.#directAddresses(object)
        names[name] = direct.length > 0 ? direct : [loopbackAddress(spec.clusterIP)]
        continue
      }
      names[name] = []
      for (const { endpoints } of this.#slicesOf(metadata.namespace, metadata.name))
        for (const { addresses, hostname, conditions } of endpoints) {
          const found = addresses.map(loopbackAddress)
          if (conditions.ready !== false) names[name].push(...found)
          if (hostname) names[`${hostname}.${name}`] = found
        }
    }
    writeFileSync(`${this.hostsFile}.new`, JSON.stringify(names))
    renameSync(`${this.hostsFile}.new`, this.hostsFile)
  }
}

function join(socket: Socket, upstream: Socket): void {
  socket.setNoDelay(true)
  upstream.setNoDelay(true)
  socket.pipe(upstream)
  upstream.pipe(socket)
  socket.once('close', () => upstream.destroy())
  upstream.once('close', () => socket.destroy())
}
