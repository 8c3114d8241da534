import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import ts from 'typescript'
import { rollTypes } from './roll-types.mjs'

const CLIENT = join(import.meta.dirname, '../../libs/client/dist/index.d.ts')
const USE = `
import { MediaError, ServiceError, Session, createPublisher, type Stream } from './session-client.js'
const session = new Session({ iceServers: [{ urls: 'stun:example.org' }] })
session.on('streamCreated', ({ stream }: { stream: Stream }) => session.subscribe(stream, '#videos'))
session.on('signal:chat', ({ data, from }) => console.log(data.length, from?.connectionId))
session.on('sessionDisconnected', ({ reason }) => reason === 'networkDisconnect')
const publisher = await createPublisher({ audio: true, video: 'camera', resolution: '1280x720' })
publisher.on('streamPlaying', ({ element }) => element.videoWidth)
await session.connect('ws://…', { clientData: { name: 'Ada' } })
await session.publish(publisher)
export const code = (error: unknown) => (error instanceof ServiceError || error instanceof MediaError ? error.code : '')
// @ts-expect-error there is no such event
session.on('streamExploded', () => {})
// @ts-expect-error there is no such reason
session.on('sessionDisconnected', ({ reason }) => reason === 'boredom')
// @ts-expect-error made by the session alone
session.publish(new Publisher())
`

const problemsOf = (file) => {
  const program = ts.createProgram([file], {
    noEmit: true,
    strict: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    types: [],
  })
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

test('the bundled types of the client library need no other package, and reject wrong calls', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'roll-types-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const rolled = join(folder, 'session-client.d.ts')
  rollTypes(CLIENT, rolled)
  const text = readFileSync(rolled, 'utf8')
  assert.doesNotMatch(text, /\bimport\b|\bfrom '|\bz\.|@internal/)
  writeFileSync(join(folder, 'use.ts'), USE)
  assert.deepEqual(problemsOf(join(folder, 'use.ts')), [])
})

test('the error names a module that was not compiled', () => {
  assert.throws(
    () => rollTypes('/nowhere/index.d.ts', '/nowhere/out.d.ts'),
    /nowhere\/index\.d\.ts is not there; run "tsc -b" first/,
  )
})
