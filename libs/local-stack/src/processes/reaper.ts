import { spawn, type ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'

/** Time limit for a graceful shutdown of children that lost their parent; as long as that of Postgres. */
const GRACE_SECONDS = 15

/**
 * Reads `+ <pid> <signal>` and `- <pid>` from its parent. When the parent ends in any way, the pipe closes: each registered
 * process then receives its signal, and its process group is killed after the grace time.
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
 * Ensures that no child outlives this process, even after SIGKILL. A small shell runs as long as there are children, in
 * its own process group, so that Ctrl-C does not end it.
 */
class Reaper {
  readonly #children = new Map<number, NodeJS.Signals>()
  #shell: ChildProcess | undefined

  /** `signal` requests a graceful shutdown of the child. */
  watch(pid: number, signal: NodeJS.Signals): void {
    this.#children.set(pid, signal)
    if (this.#shell) this.#send(`+ ${pid} ${shortName(signal)}`)
    else this.#start()
  }

  forget(pid: number): void {
    if (!this.#children.delete(pid)) return
    this.#send(`- ${pid}`)
    if (this.#children.size > 0) return
    this.#shell?.stdin?.end()
    this.#shell = undefined
  }

  #start(): void {
    const shell = spawn('/bin/sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/' })
    this.#shell = shell
    // The exit event below handles a broken pipe.
    shell.stdin.on('error', () => {})
    shell.on('error', () => {})
    shell.once('exit', () => {
      if (this.#shell !== shell) return
      this.#shell = undefined
      if (this.#children.size > 0) this.#start()
    })
    shell.unref()
    // A pipe to a child is a socket; its declared type is only Writable.
    if (shell.stdin instanceof Socket) shell.stdin.unref()
    for (const [pid, signal] of this.#children) this.#send(`+ ${pid} ${shortName(signal)}`)
  }

  #send(line: string): void {
    this.#shell?.stdin?.write(`${line}\n`)
  }
}

const shortName = (signal: NodeJS.Signals): string => signal.slice('SIG'.length)

export const reaper = new Reaper()
