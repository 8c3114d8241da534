import { expect, it } from '@jest/globals'
import { ChildProgram } from '@session-service/server-kit'

it('a recording program that gets no file descriptors fails and leaves the node running', async () => {
  const modules = ['rtcp-bye.js', 'ports.js'].map((module) => new URL(module, import.meta.url).href)
  const imports = ['@session-service/server-kit', ...modules].map((url) => `import(${JSON.stringify(url)})`)
  const script = `const { openSync } = await import('node:fs')
    const [{ ChildProgram }, { sendRtcpBye }, { hasOpen }] = await Promise.all([${imports.join()}])
    try { for (;;) openSync('/dev/null') } catch {}
    const program = new ChildProgram({ command: process.execPath, args: [], hasChannel: true })
    program.write('ignored')
    sendRtcpBye(1, 9)
    const isOpen = await hasOpen(process.pid, [9])
    const { failure } = await program.exited
    await program.stop()
    console.log(JSON.stringify({ failure, isOpen }))`
  const limited = ['-c', 'ulimit -n 256 && exec "$0" "$@"', process.execPath, '--input-type=module', '-e', script]
  const lines: string[] = []
  const limitedProcess = new ChildProgram({ command: 'sh', args: limited, onLine: (line) => lines.push(line) })
  const { code } = await limitedProcess.exited
  expect([code, limitedProcess.lastLines]).toEqual([0, []])
  expect(JSON.parse(lines[0] ?? '')).toEqual({ failure: expect.stringContaining('EMFILE'), isOpen: false })
})
