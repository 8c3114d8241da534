import { spawn, type ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'

/** How long children that lost their parent may take to end by themselves: no less than Postgres gets otherwise. */
const GRACE_SECONDS = 15

/**
 * Reads `+ <pid> <signal>` and `- <pid>` from its parent. When the parent is gone, however it died, the pipe ends:
 * what is still registered gets its signal, and after the grace time its whole process group is killed.
 */
const SCRIPT = `
trap '' INT TERM HUP QUIT
live=''
while IFS=' ' read -r op pid signal; do
  if [ "$op" = + ]; then
    live="$live $pid:$signal"
  else
    rest=''
    for entry in $live; do [ "\${entry%%:*}" = "$pid" ] || rest="$rest $entry"; done
    live=$rest
  fi
done
exec 2>/dev/null
for entry in $live; do kill -s "\${entry#*:}" "\${entry%%:*}"; done
tries=0
while [ $tries -lt ${GRACE_SECONDS * 10} ]; do
  left=''
  for entry in $live; do kill -s 0 -- "-\${entry%%:*}" && left=1; done
  [ -z "$left" ] && exit 0
  sleep 0.1
  tries=$((tries + 1))
done
for entry in $live; do kill -s KILL -- "-\${entry%%:*}"; done
`

/**
 * Sees to it that no child outlives this process, not even when it is killed with -9.
 * One small shell stands by as long as there are children; it runs in a group of its own, so that Ctrl-C spares it.
 */
class Reaper {
  readonly #children = new Map<number, NodeJS.Signals>()
  #shell: ChildProcess | undefined

  /** `signal` is what ends the child in an orderly way. */
  watch(pid: number, signal: NodeJS.Signals): void {
    this.#children.set(pid, signal)
    if (this.#shell) this.#tell(`+ ${pid} ${shortName(signal)}`)
    else this.#start()
  }

  forget(pid: number): void {
    if (!this.#children.delete(pid)) return
    this.#tell(`- ${pid}`)
    if (this.#children.size > 0) return
    this.#shell?.stdin?.end()
    this.#shell = undefined
  }

  #start(): void {
    const shell = spawn('/bin/sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/' })
    this.#shell = shell
    // A pipe that broke is told by the exit below.
    shell.stdin.on('error', () => {})
    shell.on('error', () => {})
    shell.once('exit', () => {
      if (this.#shell !== shell) return
      this.#shell = undefined
      if (this.#children.size > 0) this.#start()
    })
    shell.unref()
    // A pipe to a child is a socket; its type says only that it can be written.
    if (shell.stdin instanceof Socket) shell.stdin.unref()
    for (const [pid, signal] of this.#children) this.#tell(`+ ${pid} ${shortName(signal)}`)
  }

  #tell(line: string): void {
    this.#shell?.stdin?.write(`${line}\n`)
  }
}

const shortName = (signal: NodeJS.Signals): string => signal.slice('SIG'.length)

export const reaper = new Reaper()
