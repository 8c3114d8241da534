import { ManagedProcess, makeOwnedFolder, type OutputLine } from '@session-service/local-stack'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Container, Pod } from '../control-plane/objects.js'
import { localWords, programEnv, programWords, type CommandPlace } from './container-command.js'
import { ImagePullError, type Started } from './container-runner.js'
import { environmentOf, type ReadData } from './environment.js'
import type { PodPlace } from './fields.js'
import { type ImageProgram, imageProgram } from './images.js'
import type { Mount } from './paths.js'
import { prepareVolumes, refreshDownward, removeVolumes, translateConfigMaps, type VolumeSources } from './volumes.js'

interface SandboxOptions {
  /** The folder of the pod, deleted with it. */
  folder: string
  place: PodPlace
  read: ReadData
  volumes: Omit<VolumeSources, 'read'>
  hostsFile: string
  programsFolder: string
  apiServer: CommandPlace['apiServer']
  builds: ReadonlyMap<string, string>
  /** A fault: images that cannot be pulled. */
  isHidden: (image: string) => boolean
  onLine: (container: string) => OutputLine
}

/** The surroundings of the containers of a pod: its address, its folders, and the start of its programs. */
export class PodSandbox {
  readonly #options: SandboxOptions
  #folders: ReadonlyMap<string, string> = new Map()

  constructor(options: SandboxOptions) {
    this.#options = options
  }

  /** @throws MissingReference while an object that a volume needs does not exist */
  async prepare(pod: Pod): Promise<PodPlace> {
    const { folder, place, read, volumes } = this.#options
    mkdirSync(folder, { recursive: true })
    this.#folders = await prepareVolumes(pod, place, join(folder, 'volumes'), { read, ...volumes })
    translateConfigMaps(
      pod,
      this.#folders,
      pod.spec.containers.flatMap((each) => this.#mounts(each)),
    )
    return place
  }

  refresh(pod: Pod): void {
    refreshDownward(pod, this.#options.place, this.#folders)
  }

  remove(): void {
    removeVolumes(this.#options.folder)
  }

  note(line: string): void {
    this.#options.onLine('kubelet')(line, 'stderr')
  }

  async start(pod: Pod, container: Container): Promise<Started> {
    const { place, read, isHidden, onLine } = this.#options
    const program = isHidden(container.image) ? undefined : this.#program(container)
    if (!program) throw new ImagePullError(`failed to pull image "${container.image}": not found`)
    if (program.account) for (const each of this.#mounts(container)) makeOwnedFolder(each.folder, program.account)
    const variables = await environmentOf(pod, container, place, read)
    const here = this.#commandPlace(pod, container, program)
    const env = programEnv(program, variables, here)
    const [command = '', ...args] = programWords(program, container, variables, here)
    const process = await ManagedProcess.start({
      name: `${pod.metadata.name}/${container.name}`,
      command,
      args,
      env,
      cwd: this.#options.folder,
      account: program.account,
      stopSignal: program.stopSignal,
      whenReady: async () => {},
      onLine: onLine(container.name),
    })
    return { process, stopSignal: program.stopSignal, target: this.#target(container, env, here) }
  }

  #target(container: Container, env: Record<string, string>, here: CommandPlace): Started['target'] {
    return {
      address: here.podAddress,
      port: (port) => (typeof port === 'number' ? port : namedPort(container, port)),
      command: (words) => {
        const [command = '', ...args] = localWords(words, here)
        return { command, args, env, cwd: this.#options.folder }
      },
    }
  }

  #program({ image }: Container): ImageProgram | undefined {
    const { folder, place, builds, programsFolder } = this.#options
    const program = imageProgram(image, { podAddress: place.podIP, programsFolder, builds })
    if (program) makeOwnedFolder(join(folder, 'image'), program.account)
    return program
  }

  #commandPlace(pod: Pod, container: Container, program: ImageProgram): CommandPlace {
    const { place, hostsFile, apiServer } = this.#options
    return {
      podAddress: place.podIP,
      hostPortAddress: container.ports.some(({ hostPort }) => hostPort) ? place.hostIP : undefined,
      namespace: pod.metadata.namespace,
      hostsFile,
      apiServer,
      mounts: [...this.#mounts(container), ...program.folders],
    }
  }

  #mounts({ volumeMounts }: Container): Mount[] {
    return volumeMounts.flatMap(({ name, mountPath, subPath }) => {
      const folder = this.#folders.get(name)
      if (folder === undefined) return []
      return [{ path: mountPath.replace(/\/$/, ''), folder: subPath === undefined ? folder : join(folder, subPath) }]
    })
  }
}

function namedPort({ ports, name }: Container, port: string): number {
  const found = ports.find((each) => each.name === port)
  if (!found) throw new Error(`the container ${name} has no port "${port}"`)
  return found.containerPort
}
