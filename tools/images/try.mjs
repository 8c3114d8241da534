// Runs the built images: a master, two media nodes and the playground, with Postgres and NATS of this machine; two
// participants in Chromium, a recording that ffprobe reads. Prints sizes and start times; --help lists the options.
//   node tools/bootstrap/run.mjs test tools/images/try.mjs --tool buildah --storage <folder>
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { builderOf, imageNames, TARGETS } from './builders.mjs'
import { buildahRunner, dockerRunner } from './containers.mjs'

const ROOT = resolve(import.meta.dirname, '../..')
/** Compiled by the build of the project. */
const compiled = (file) => import(join(ROOT, file))
const { createTestDatabase, freePorts, launchBrowser, natsUrlOf, newClusterUsers, ServiceApi, startNats, until } =
  await compiled('libs/testing/dist/index.js')
const { Tab } = await compiled('apps/playground/dist/fixtures/tab.js')
const USER = 10_001
const READY_MS = 120_000
const SECRET = 'try-the-images'
const HELP = `Usage: node tools/images/try.mjs --tool <docker|podman|buildah> [options]

  --storage <folder>  buildah: folder of its images (as root: the programs run in a chroot)
  --prefix <text>     before the names of the images
  --tag <text>        instead of the version
  --seconds <n>       length of the recording (10)
  --keep <folder>     keep the recordings and logs there
`

const output = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 28, ...options }).trim()

const say = (line) => process.stdout.write(`${line}\n`)

/** Starts a container and waits until its probe answers; prints the time that this took. */
async function startReady(runner, image, { name, probe, env, folders }) {
  const begin = performance.now()
  const container = runner.start(image, { name, env, folders })
  await until(
    `${name} is ready`,
    () =>
      !container.running ||
      fetch(probe).then(
        ({ ok }) => ok,
        () => false,
      ),
    READY_MS,
  )
  if (!container.running) throw new Error(`${name} has ended:\n${container.lines.slice(-20).join('\n')}`)
  const seconds = (performance.now() - begin) / 1000
  const processes = familyOf(container.pid)
  const sum = (measure) => processes.map(measure).reduce((all, each) => all + each, 0)
  const used = `${sum(cpuSeconds).toFixed(1)} s of CPU time, ${Math.round(sum(residentMiB))} MiB`
  say(`${name}: ready after ${seconds.toFixed(1)} s, ${used} (${image})`)
  return container
}

/** The process and its descendants. */
function familyOf(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return [pid, ...children.map(Number).flatMap((child) => familyOf(child))]
}

const residentMiB = (pid) =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024

const TICKS_PER_SECOND = 100
/** User and system time: the 14th and 15th field, counted behind the name, which may contain blanks. */
const cpuSeconds = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

async function startService(runner, images, { databaseUrl, nats, users, work }) {
  const [service, masterOps, page, ...nodeOps] = await freePorts(6)
  const recordings = join(work, 'recordings')
  mkdirSync(recordings)
  chownSync(recordings, USER, USER)
  const folders = { [recordings]: '/opt/service/recordings' }
  const common = { SERVICE_OPS_HOST: '127.0.0.1', SERVICE_BUS_CLUSTER: users.cluster }
  const masterEnv = {
    ...common,
    SERVICE_SECRET: SECRET,
    DATABASE_URL: databaseUrl,
    NATS_URL: natsUrlOf(nats.url, users.master),
    SERVICE_HOST: '127.0.0.1',
    SERVICE_PORT: String(service),
    SERVICE_OPS_PORT: String(masterOps),
    SERVICE_RECORDING: 'true',
    SERVICE_PRO_SPEECH_TO_TEXT: 'vosk',
  }
  const nodeEnv = (index) => ({
    ...common,
    NATS_URL: natsUrlOf(nats.url, users.node),
    MEDIA_NODE_ID: `media-${index + 1}`,
    MEDIA_NODE_IP: '127.0.0.1',
    MEDIA_NODE_WORKERS: '1',
    MEDIA_NODE_DRAIN_TIMEOUT: '0',
    SERVICE_OPS_PORT: String(nodeOps[index]),
  })
  const pageEnv = {
    PLAYGROUND_HOST: '127.0.0.1',
    PLAYGROUND_PORT: String(page),
    SERVICE_URL: `http://127.0.0.1:${service}`,
    SERVICE_SECRET: SECRET,
  }
  const probe = (port, path = '/readyz') => `http://127.0.0.1:${port}${path}`
  const containers = []
  const add = async (image, options) => containers.push(await startReady(runner, images[image], options))
  try {
    await add('master', { name: 'master', env: masterEnv, folders, probe: probe(masterOps) })
    for (const index of [0, 1]) {
      const name = `media node ${index + 1}`
      await add('media-node-full', { name, env: nodeEnv(index), folders, probe: probe(nodeOps[index]) })
    }
    await add('media-node', { name: 'media node 3', env: nodeEnv(2), probe: probe(nodeOps[2]) })
    say(`media node 3: ended with ${await containers.pop().stop()}`)
    await add('playground', { name: 'playground', env: pageEnv, probe: probe(page, '/healthz') })
  } catch (error) {
    for (const container of containers) container.kill()
    throw error
  }
  return { containers, api: new ServiceApi(`http://127.0.0.1:${service}`, SECRET), page: `http://127.0.0.1:${page}` }
}

/** Where there is an engine for this processor. */
async function loadLanguage(api) {
  if (process.arch !== 'x64') return
  const { status, body } = await api.request('POST', '/speech-to-text/load', {
    mediaNode: { id: 'media-1' },
    lang: 'en-US',
  })
  if (status !== 200) throw new Error(`the language model cannot be loaded: ${status} ${JSON.stringify(body)}`)
  say('speech: the English model is loaded')
}

/** Two participants see each other; the session is recorded, and the file downloaded. */
async function call({ api, page }, { seconds, work }) {
  const browser = await launchBrowser()
  try {
    const [ada, grace] = [
      await Tab.join(browser.context, page, 'try', 'Ada'),
      await Tab.join(browser.context, page, 'try', 'Grace'),
    ]
    await Promise.all([ada.seesFrames(30, READY_MS), grace.seesFrames(30, READY_MS)])
    const { content } = await api.listMediaNodes()
    say(
      `call: both participants see each other, ${content.filter(({ connected }) => connected).length} media nodes connected`,
    )
    const { id } = await api.startRecording({ session: 'try' })
    await ada.event('recordingStarted', READY_MS)
    const started = performance.now()
    await until('the recording has its length', () => performance.now() - started > seconds * 1000, READY_MS)
    await api.stopRecording(id)
    const recording = await until(
      'the recording is ready',
      async () => {
        const now = await api.getRecording(id)
        if (now.status === 'failed') throw new Error('the recording failed')
        return now.status === 'ready' && now
      },
      READY_MS,
    )
    const received = await Promise.all([ada.received(), grace.received()])
    for (const [index, { framesDecoded, audioEnergy }] of received.entries())
      say(`call: participant ${index + 1} decoded ${framesDecoded} frames, audio energy ${audioEnergy.toFixed(2)}`)
    if (received.some(({ audioEnergy }) => audioEnergy === 0)) throw new Error('a participant receives no sound')
    return await download(api, recording, join(work, 'recording.mp4'))
  } finally {
    await browser.close()
  }
}

async function download(api, { id, name, url }, file) {
  say(`recording: ${url}`)
  const authorization = `Basic ${Buffer.from(`SERVICEAPP:${SECRET}`).toString('base64')}`
  const answer = await fetch(`${api.baseUrl}/service/recordings/${id}/${name}.mp4`, { headers: { authorization } })
  if (!answer.ok) throw new Error(`the recording cannot be downloaded: ${answer.status}`)
  writeFileSync(file, Buffer.from(await answer.arrayBuffer()))
  return file
}

/** The streams of the file, and the number of frames that can be decoded. */
function probeRecording(file) {
  const entries = 'format=duration:stream=codec_type,codec_name,width,height,nb_read_frames'
  const report = JSON.parse(
    output('ffprobe', ['-v', 'error', '-count_frames', '-show_entries', entries, '-of', 'json', file]),
  )
  for (const { codec_type: type, codec_name: codec, width, height, nb_read_frames: frames } of report.streams)
    say(`ffprobe: ${type} ${codec}${width ? ` ${width}×${height}` : ''}, ${frames} frames`)
  say(`ffprobe: ${Number(report.format.duration).toFixed(1)} s`)
  const types = report.streams.map(({ codec_type: type }) => type).sort()
  if (types.join() !== 'audio,video') throw new Error(`the recording has the streams ${types.join()}`)
}

async function main() {
  const { values } = parseArgs({
    options: {
      tool: { type: 'string' },
      storage: { type: 'string' },
      prefix: { type: 'string' },
      tag: { type: 'string' },
      seconds: { type: 'string', default: '10' },
      keep: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help || !values.tool) return void process.stdout.write(HELP)
  const builder = builderOf(values.tool, { storage: values.storage, env: process.env })
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const prefix = values.prefix ?? (values.tool === 'docker' ? '' : 'localhost/')
  const images = imageNames(prefix, values.tag ?? version)
  for (const target of TARGETS) say(`${images[target]}: ${builder.size(images[target], output)}`)
  const runner = values.tool === 'buildah' ? buildahRunner(builder, output) : dockerRunner(builder)
  const work = mkdtempSync(join(tmpdir(), 'try-images-'))
  chmodSync(work, 0o755)
  const users = newClusterUsers('default')
  const [database, nats] = [await createTestDatabase({ ownServer: true }), await startNats({ users: [users] })]
  let service
  try {
    service = await startService(runner, images, { databaseUrl: database.url, nats, users, work })
    await loadLanguage(service.api)
    probeRecording(await call(service, { seconds: Number(values.seconds), work }))
    for (const container of service.containers.toReversed())
      say(`${container.name}: ended with ${await container.stop()}`)
  } finally {
    for (const container of service?.containers ?? []) container.kill()
    if (values.keep) keep(service, work, values.keep)
    runner.remove()
    await nats.stop()
    await database.drop()
    rmSync(work, { recursive: true, force: true })
  }
}

function keep(service, work, folder) {
  mkdirSync(folder, { recursive: true })
  for (const { name, lines } of service?.containers ?? [])
    writeFileSync(join(folder, `${name}.log`), `${lines.join('\n')}\n`)
  execFileSync('cp', ['-r', `${work}/.`, folder])
}

await main()
process.exit()
