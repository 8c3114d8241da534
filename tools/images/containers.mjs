// Runs images with a read-only root, without capabilities, on the network of this machine.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

/**
 * Mounts within a namespace of its own: /tmp in memory, the given folders, the rest read-only. The program is process 1 of
 * its own process namespace, as in a container.
 */
const CHROOT = `set -e
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=1777,size=512m tmpfs "$root/tmp"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done; shift
mount -o remount,ro,bind "$root"
exec chroot "$root" setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --inh-caps=-all \\
  --bounding-set=-all "$@"
`

const UNSHARE = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', CHROOT, 'sh']

class Container {
  lines = []
  #child
  #exited

  constructor(name, command, args, options) {
    this.name = name
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
    this.#exited = once(this.#child, 'exit').then(([code, signal]) => signal ?? code)
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.on('data', (text) => this.lines.push(...String(text).split('\n').filter(Boolean)))
  }

  get running() {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The program itself, on this machine. */
  get pid() {
    const { pid } = this.#child
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return Number(children.split(' ')[0]) || pid
  }

  /** Sends SIGTERM; resolves to the exit code. */
  async stop() {
    if (this.running) process.kill(this.pid, 'SIGTERM')
    return this.#exited
  }

  kill() {
    if (this.running) process.kill(this.pid, 'SIGKILL')
  }
}

/** A function `start(image, { name, env, folders })` for the images of buildah, and `remove()`. */
export function buildahRunner({ command, global, env: toolEnv }, output) {
  const working = []
  const call = (...args) => output(command, [...global, ...args], { env: toolEnv })
  const start = (image, { name, env, folders = {} }) => {
    const container = call('from', '--pull-never', image)
    working.push(container)
    const { OCIv1 } = JSON.parse(call('inspect', '--type', 'container', container))
    const { Env = [], Entrypoint, User } = OCIv1.config
    if (User !== '10001:10001') throw new Error(`${image} runs as ${User}`)
    const root = call('mount', container)
    const own = Object.fromEntries(Env.map((line) => line.split(/=(.*)/s).slice(0, 2)))
    const mounts = Object.entries(folders).flat()
    const args = [...UNSHARE, root, ...mounts, '--', ...Entrypoint]
    return new Container(name, 'unshare', args, { env: { ...own, ...env } })
  }
  return { start, remove: () => working.splice(0).forEach((container) => call('rm', container)) }
}

/** The same for docker and podman. */
export function dockerRunner({ command, env: toolEnv }) {
  const start = (image, { name, env, folders = {} }) => {
    const mounts = Object.entries(folders).flatMap(([from, to]) => ['-v', `${from}:${to}`])
    const variables = Object.entries(env).flatMap(([key, value]) => ['-e', `${key}=${value}`])
    const limits = ['--read-only', '--tmpfs', '/tmp:mode=1777,size=512m', '--cap-drop', 'ALL']
    const security = ['--security-opt', 'no-new-privileges', '--network', 'host']
    const args = ['run', '--rm', '--name', name, ...limits, ...security, ...mounts, ...variables, image]
    return new Container(name, command, args, { env: toolEnv })
  }
  return { start, remove: () => undefined }
}
