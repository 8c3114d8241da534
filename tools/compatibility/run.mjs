// Runs two versions side by side on one Postgres and NATS, upgrades from one to the other, and rolls back.
//   node tools/compatibility/run.mjs [--previous <tag or commit>] [--build-folder <folder>] [--tsc <path>]
// Without --previous: the last tag before this commit. This version must be compiled and bundled.
import { mkdtempSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { library } from './library.mjs'
import { apisOf, end, mediaFlows, meet, movedTo, record } from './meetings.mjs'
import { buildVersion } from './previous-version.mjs'

const { startStack, until } = await library('testing')
const { values } = parseArgs({
  options: { previous: { type: 'string' }, 'build-folder': { type: 'string' }, tsc: { type: 'string' } },
})
/** Empty without one. */
const lastTag = () =>
  spawnSync('git', ['describe', '--tags', '--abbrev=0', 'HEAD^'], { encoding: 'utf8' }).stdout.trim()
const previous = values.previous ?? lastTag()
if (!previous) {
  console.error('no tag before this commit: name the former version by --previous <tag or commit>')
  process.exit(64)
}
const parent = values['build-folder'] ?? mkdtempSync(join(tmpdir(), 'versions-'))

let failures = 0
async function step(title, run) {
  const start = performance.now()
  try {
    const result = await run()
    console.info(`✓ ${title} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
    return result
  } catch (error) {
    failures += 1
    console.error(`✗ ${title}\n  ${error instanceof Error ? error.stack : String(error)}`)
    throw error
  }
}

/** Waits until a master places sessions on the node. */
const usable = (api, node) =>
  until(`${node} can be chosen`, async () => {
    const { status, body } = await api.request('POST', '/sessions', { mediaNode: { id: node } })
    if (status === 200) await api.deleteSession(body.id)
    return status === 200
  })

const ends = async (process) => {
  process.kill('SIGTERM')
  await process.exited
}

/** From the previous version alone to both: a master and a media node of this version join during a call. */
async function upgrade(stack, old) {
  const call = await step('the previous version alone: a call', async () => {
    await usable(apisOf(stack).master1, 'media_old')
    return meet({
      creator: apisOf(stack).master1,
      masters: [apisOf(stack).master1, apisOf(stack).master1],
      node: 'media_old',
    })
  })
  await step('a master of this version migrates the database and starts beside the old one', () => stack.addMaster())
  await step('a media node of this version starts', () => stack.addNode({ MEDIA_NODE_ID: 'media_new' }))
  const { master1: older, master2: newer } = apisOf(stack)
  await step('both masters use both nodes', async () => {
    for (const api of [older, newer]) for (const node of ['media_old', 'media_new']) await usable(api, node)
  })
  await step('the call went on', () => mediaFlows(call))
  await step('another master of the previous version starts on the migrated database', () => stack.addMaster({}, old))
  return { call, older, newer, late: apisOf(stack).master3 }
}

/** Each combination of creator, node and participants. */
async function sideBySide({ older, newer }) {
  const creators = { older, newer }
  for (const [name, creator] of Object.entries(creators)) {
    for (const node of ['media_old', 'media_new']) {
      const other = creator === older ? newer : older
      const met = await step(`a session of the ${name} master on ${node}, one participant at each master`, () =>
        meet({ creator, masters: [older, newer], node }),
      )
      await step(`its recording: the ${name} master starts it, the other one stops it`, () =>
        record(met, creator, other),
      )
      await step('its end', () => end(met, other))
    }
  }
}

/** The old node drains at once, its call moves; then a session moves from the new node to the old version. */
async function moveAndRollBack(stack, old, { call, older, newer, late }) {
  const [oldNode, newNode] = stack.nodes
  await step('the old node ends: its call moves to the new node', async () => {
    await ends(oldNode)
    await movedTo('media_new', call, newer, 2)
  })
  await step('the call is recorded on the new node by the old master', () => record(call, older, newer))
  await step('rollback: a media node of the previous version starts, the new node ends, the call moves', async () => {
    await stack.addNode({ MEDIA_NODE_ID: 'media_back' }, old)
    await usable(newer, 'media_back')
    await ends(newNode)
    await movedTo('media_back', call, older, 3)
  })
  await step('rollback: the new master ends, the call goes on', async () => {
    await ends(stack.masters[1])
    await mediaFlows(call)
  })
  const last = await step('the previous version alone again: a call with a recording', async () => {
    await usable(late, 'media_back')
    const met = await meet({ creator: late, masters: [older, late], node: 'media_back' })
    await record(met, late, older)
    return met
  })
  await step('both calls end', async () => {
    await end(last, older)
    await end(call, late)
  })
}

let stack
try {
  const old = await step(`build ${previous}`, () => buildVersion(previous, parent, values.tsc))
  stack = await step(`start ${previous}`, () =>
    startStack({
      root: old,
      env: { SERVICE_RECORDING: 'true' },
      nodes: 0,
    }),
  )
  await stack.addNode({ MEDIA_NODE_ID: 'media_old' }, old)
  const actors = await upgrade(stack, old)
  await sideBySide(actors)
  await moveAndRollBack(stack, old, actors)
} catch (error) {
  if (failures === 0) console.error(error)
  failures ||= 1
  for (const line of stack?.journal.lines?.slice(-30) ?? []) console.error(line)
} finally {
  await stack?.stop().catch((error) => console.error(error))
  if (values['build-folder'] === undefined) rmSync(parent, { recursive: true, force: true })
}
console.info(failures === 0 ? `compatible with ${previous}` : `not compatible with ${previous}`)
process.exit(failures === 0 ? 0 : 1)
