import type { KubernetesApi } from '../control-plane/api-client.js'
import type { Container, Pod } from '../control-plane/objects.js'
import { ContainerRunner, now, type ContainerStatus, type StartProgram } from './container-runner.js'
import { MissingReference } from './environment.js'
import type { PodPlace } from './fields.js'
import { podStatus, type PodFacts } from './pod-status.js'
import { PodSandbox } from './pod-sandbox.js'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'

const RETRY_MS = 250
const conditionList = z.array(z.looseObject({ type: z.string(), status: z.string() }))

interface PodRunnerOptions {
  api: KubernetesApi
  sandbox: PodSandbox
  isHeldUnready: (pod: Pod) => boolean
}

/** Runs one pod on its node, from its binding to its deletion, and writes its status. */
export class PodRunner {
  #pod: Pod
  readonly #api: KubernetesApi
  readonly #sandbox: PodSandbox
  readonly #options: PodRunnerOptions
  readonly #startTime = now()
  readonly #stopped = new AbortController()
  #init: ContainerRunner[] = []
  #containers: ContainerRunner[] = []
  #place: PodPlace | undefined
  #isInitialized = false
  #isOver = false
  #isLost = false
  #failure: PodFacts['failure']
  #terminating: Promise<void> | undefined
  #written = ''
  #writing: Promise<void> = Promise.resolve()
  /** Resolves when nothing of the pod runs. */
  readonly ended: Promise<void>

  constructor(pod: Pod, options: PodRunnerOptions) {
    this.#pod = pod
    this.#api = options.api
    this.#sandbox = options.sandbox
    this.#options = options
    this.ended = this.#run()
  }

  get pod(): Pod {
    return this.#pod
  }

  /** The processes of its containers. */
  get pids(): number[] {
    return this.#containers.flatMap(({ pid }) => pid ?? [])
  }

  /** Takes a new version of the object: its annotations, or its deletion. */
  update(pod: Pod): void {
    this.#pod = pod
    this.#sandbox.refresh(pod)
    // The controllers mark the pods of a node that is late as not ready; the kubelet corrects that.
    if (this.#place && readyIn(pod.status) !== readyIn(podStatus(pod, this.#facts(), this.#isOver))) {
      this.#written = ''
      this.#publish()
    }
    if (pod.metadata.deletionTimestamp !== undefined) void this.#terminate()
  }

  /** Ends the pod for a reason of the node. */
  async fail(reason: string, message: string): Promise<void> {
    this.#failure = { reason, message }
    await this.#stopContainers(0)
    this.#publish()
    await this.#writing
  }

  /** The machine is lost: everything ends at once and nothing more is written. */
  async lose(): Promise<void> {
    this.#isLost = true
    this.#stopped.abort()
    for (const each of [...this.#init, ...this.#containers]) each.kill()
    await this.ended
  }

  async #run(): Promise<void> {
    this.#publish()
    if (!(await this.#prepare())) return this.#finish()
    if (!(await this.#initialize())) return this.#finish()
    this.#isInitialized = true
    this.#containers = this.#pod.spec.containers.map((each) => this.#runner(each, this.#pod.spec.restartPolicy))
    this.#publish()
    await Promise.all(this.#containers.map((each) => each.run()))
    this.#finish()
  }

  /** False when the pod was deleted before. */
  async #prepare(): Promise<boolean> {
    while (!this.#stopped.signal.aborted) {
      try {
        this.#place = await this.#sandbox.prepare(this.#pod)
        this.#publish()
        return true
      } catch (error) {
        // The object may be created at any time; other errors are those of a server that is away.
        if (!(error instanceof MissingReference)) this.#sandbox.note(`preparing failed: ${String(error)}`)
      }
      await sleep(RETRY_MS, undefined, { signal: this.#stopped.signal }).catch(() => {})
    }
    return false
  }

  /** Runs the init containers one after another; false when one will not run again after a failure, or the pod was deleted. */
  async #initialize(): Promise<boolean> {
    const policy = this.#pod.spec.restartPolicy === 'Never' ? 'Never' : 'OnFailure'
    for (const container of this.#pod.spec.initContainers) {
      const runner = this.#runner(container, policy)
      this.#init.push(runner)
      const code = await runner.run()
      if (this.#stopped.signal.aborted || code !== 0) return false
    }
    return true
  }

  #runner(container: Container, policy: Pod['spec']['restartPolicy']): ContainerRunner {
    const start: StartProgram = (each) => this.#sandbox.start(this.#pod, each)
    return new ContainerRunner({
      container,
      policy,
      start,
      changed: () => this.#publish(),
      isHeldUnready: () => this.#options.isHeldUnready(this.#pod),
    })
  }

  #finish(): void {
    this.#isOver = true
    this.#publish()
  }

  #terminate(): Promise<void> {
    this.#terminating ??= this.#terminateOnce().catch((error: unknown) =>
      this.#sandbox.note(`ending the pod failed: ${String(error)}`),
    )
    return this.#terminating
  }

  async #terminateOnce(): Promise<void> {
    const { deletionGracePeriodSeconds, uid, name, namespace } = this.#pod.metadata
    await this.#stopContainers((deletionGracePeriodSeconds ?? this.#pod.spec.terminationGracePeriodSeconds) * 1000)
    if (this.#isLost) return
    await this.#writing
    this.#sandbox.remove()
    // With a precondition: a new pod may already have the name.
    await this.#api.delete(`/api/v1/namespaces/${namespace}/pods/${name}`, {
      gracePeriodSeconds: 0,
      preconditions: { uid },
    })
  }

  async #stopContainers(graceMs: number): Promise<void> {
    this.#stopped.abort()
    await Promise.all([...this.#init, ...this.#containers].map((each) => each.stop(graceMs)))
    await this.ended
  }

  #facts(): PodFacts {
    const waiting = ({ name, image }: Container): ContainerStatus => ({
      name,
      image,
      imageID: '',
      state: { waiting: { reason: 'PodInitializing' } },
      lastState: {},
      ready: false,
      started: false,
      restartCount: 0,
    })
    return {
      startTime: this.#startTime,
      place: this.#place,
      isInitialized: this.#isInitialized,
      init: this.#init.map(({ status }) => status),
      containers: this.#isInitialized
        ? this.#containers.map(({ status }) => status)
        : this.#pod.spec.containers.map(waiting),
      failure: this.#failure,
    }
  }

  /** Writes the status after a change, one request at a time. */
  #publish(): void {
    this.#writing = this.#writing.then(() => this.#write())
  }

  async #write(): Promise<void> {
    if (this.#isLost) return
    const { name, namespace } = this.#pod.metadata
    const status = podStatus(this.#pod, this.#facts(), this.#isOver)
    const text = JSON.stringify(status)
    if (text === this.#written) return
    try {
      await this.#api.patch(`/api/v1/namespaces/${namespace}/pods/${name}/status`, { status })
      this.#written = text
    } catch (error) {
      this.#sandbox.note(`writing the status failed: ${String(error)}`)
    }
  }
}

const readyIn = (status: { conditions?: unknown }): string | undefined =>
  conditionList.parse(status.conditions ?? []).find(({ type }) => type === 'Ready')?.status
