// Run by: node --test tools/chart/turn.test.mjs. Runs the container of the golden file with the coturn of this machine.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { connect } from 'node:tls'
import { promisify } from 'node:util'
import { componentOf, documentsOf, podsOf } from './documents.mjs'
import { goldenCases, readGolden } from './goldens.mjs'

const run = promisify(execFile)

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

/** The script of the container and its configuration, with their folders below `folder` and another pace and port. */
function containerIn(folder, [port, tlsPort]) {
  const documents = documentsOf(readGolden(goldenCases().find(({ name }) => name === 'turn')))
  const { command } = podsOf(documents).find((pod) => componentOf(pod) === 'turn').spec.containers[0]
  const { data } = documents.find(({ kind, data: files }) => kind === 'ConfigMap' && files['turnserver.conf'])
  const moved = (text) => text.replaceAll(/(?<=^|[ =])\/(tmp|etc\/coturn|etc\/turn-tls)\//gm, `${folder}/$1/`)
  for (const name of ['tmp', 'etc/coturn']) mkdirSync(join(folder, name), { recursive: true })
  const config = data['turnserver.conf'].replace('port=3478', `port=${port}`).replace('port=5349', `port=${tlsPort}`)
  writeFileSync(join(folder, 'etc/coturn/turnserver.conf'), moved(config))
  return [...command.slice(0, -1), moved(command.at(-1)).replace('sleep 60', 'sleep 0.1')]
}

/** Replaces key and certificate at once by a link to another folder, as the kubelet does. */
async function writeCertificate(folder, name) {
  const target = join(folder, name)
  mkdirSync(target)
  const [key, cert] = ['key', 'crt'].map((end) => join(target, `tls.${end}`))
  const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  await run('openssl', ['req', '-x509', ...algorithm, '-subj', `/CN=${name}`, '-keyout', key, '-out', cert])
  symlinkSync(target, join(folder, 'link'))
  renameSync(join(folder, 'link'), join(folder, 'etc/turn-tls'))
}

/** A connection, and the name in the certificate that the server showed; undefined while it does not listen. */
async function connected(port) {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  socket.on('error', () => {})
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(2000) })
    return { socket, name: socket.getPeerCertificate().subject.CN }
  } catch {
    socket.destroy()
    return undefined
  }
}

async function untilShown(port, name) {
  for (const end = performance.now() + 20_000; performance.now() < end; await wait(50)) {
    const found = await connected(port)
    if (found?.name === name) return found.socket
    found?.socket.destroy()
  }
  throw new Error(`coturn does not show the certificate of ${name}`)
}

test('coturn shows a renewed certificate to new clients, and keeps the connections of others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turn-'))
  const ports = [await freePort(), await freePort()]
  const [program, ...args] = containerIn(folder, ports)
  await writeCertificate(folder, 'former.example')
  const path = [process.env.PATH, '/usr/bin', '/usr/sbin', '/usr/local/bin'].join(delimiter)
  const env = { PATH: path, POD_IP: '127.0.0.1', TURN_SECRET: 'secret' }
  const coturn = spawn(program, args, { env, stdio: 'ignore', detached: true })
  try {
    const former = await untilShown(ports[1], 'former.example')
    await writeCertificate(folder, 'renewed.example')
    const renewed = await untilShown(ports[1], 'renewed.example')
    assert.equal(former.destroyed, false)
    for (const socket of [former, renewed]) socket.destroy()
  } finally {
    // Its process group: outside of a container the loop of the script would outlive coturn.
    process.kill(-coturn.pid, 'SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
})
