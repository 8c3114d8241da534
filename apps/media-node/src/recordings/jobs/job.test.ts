import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Logger } from '@nestjs/common'
import { ServiceError, type RecordedFile, type RecordingEnded } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import type { Room } from '../../rooms/room.js'
import { deliveryTo, jobOf } from '../fixtures/jobs.js'
import { DeliveryJob, type JobEnvironment } from './delivery-job.js'
import { Job, SHUTDOWN } from './job.js'
import { Journal, type Notes } from './journal.js'
import type { RecorderFactory } from '../recorder/recorder.js'

const ROOM = {} as Room

// Retries are logged.
Logger.overrideLogger(false)

let root: string
let folder: string
let leaving: AbortController
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'job-'))
  folder = join(root, 'own')
  leaving = new AbortController()
})
afterEach(async () => {
  jest.useRealTimers()
  await rm(root, { recursive: true, force: true })
})

const environment = (more: Partial<JobEnvironment> = {}): JobEnvironment => ({
  folder,
  report: () => Promise.resolve(),
  signal: leaving.signal,
  compose: () => Promise.reject(new Error('nothing is composed')),
  ...more,
})

/** A job of a dead process, with its journal. */
async function left(more: Partial<Notes> = {}): Promise<Notes> {
  const job = jobOf('room', await deliveryTo(join(root, 'masters')))
  const notes: Notes = { job, startedAt: 1, state: 'delivering', files: [], ...more }
  await mkdir(folder)
  await new Journal(folder).write(notes)
  return notes
}

it('a recorder is created after its folder and the journal', async () => {
  const seen: boolean[] = []
  const job = new Job(
    environment(),
    jobOf('room', await deliveryTo(join(root, 'masters'))),
    ROOM,
    () => {
      seen.push(existsSync(join(folder, 'job.json')))
      return { start: () => Promise.resolve(1), stop: () => Promise.resolve([]) }
    },
    () => Promise.resolve(),
  )
  await job.started
  job.end()
  expect(await job.done).toBe('stopped')
  expect(seen).toEqual([true])
})

it('a start returns the time of the first media, not the time of the answer', async () => {
  const job = new Job(
    environment(),
    jobOf('room', await deliveryTo(join(root, 'masters'))),
    ROOM,
    () => ({ start: () => Promise.resolve(1_234), stop: () => Promise.resolve([]) }),
    () => Promise.resolve(),
  )
  expect(await job.started).toEqual({ startedAt: 1_234 })
  job.end()
  expect(await job.done).toBe('stopped')
})

it('no recorder is created for a job that has been stopped', async () => {
  const make = jest.fn<RecorderFactory>()
  const admitted = Promise.withResolvers<void>()
  const order = jobOf('room', await deliveryTo(join(root, 'masters')))
  const job = new Job(environment(), order, ROOM, make, () => admitted.promise)
  job.end('the disk is full')
  admitted.resolve()
  await expect(job.started).rejects.toMatchObject({ code: 'LAUNCH_FAILED', message: 'the disk is full' })
  expect(await job.done).toBe('not_started')
  expect([make.mock.calls, existsSync(folder)]).toEqual([[], false])
})

it.each([
  ['after a stop', undefined, 'stopped'],
  ['whose program has failed', 'ffmpeg was ended by SIGKILL', 'failed'],
  ['of a node that shuts down', SHUTDOWN, 'drained'],
])('a job %s ends with the result that the metric counts', async (_, failure, result) => {
  const ends: RecordingEnded[] = []
  const job = new Job(
    environment({ report: async (ended) => void ends.push(ended) }),
    jobOf('room', await deliveryTo(join(root, 'masters'))),
    ROOM,
    () => ({ start: () => Promise.resolve(1), stop: () => Promise.resolve([]) }),
    () => Promise.resolve(),
  )
  await job.started
  job.end(failure)
  expect(await job.done).toBe(result)
  expect(ends.map((ended) => ended.failure)).toEqual([failure])
})

it('a job that its node drains while it starts has not failed to start', async () => {
  const admitted = Promise.withResolvers<void>()
  const order = jobOf('room', await deliveryTo(join(root, 'masters')))
  const job = new Job(environment(), order, ROOM, jest.fn<RecorderFactory>(), () => admitted.promise)
  job.end(SHUTDOWN)
  admitted.resolve()
  await expect(job.started).rejects.toMatchObject({ code: 'LAUNCH_FAILED' })
  expect(await job.done).toBe('drained')
})

it('the journal is kept alive while files are being delivered', async () => {
  const notes = await left()
  const long = new Date(Date.now() - 3_600_000)
  const journal = join(folder, 'job.json')
  await utimes(journal, long, long)
  jest.useFakeTimers({ doNotFake: ['Date', 'performance', 'setTimeout', 'setImmediate', 'nextTick', 'queueMicrotask'] })
  const heard = Promise.withResolvers<void>()
  const delivering = new DeliveryJob(environment({ report: () => heard.promise }), notes)
  const { done } = delivering
  jest.advanceTimersByTime(10_000)
  await until('the journal is touched', async () => (await stat(journal)).mtimeMs > long.getTime())
  heard.resolve()
  expect(await done).toBe('salvaged')
  expect(jest.getTimerCount()).toBe(0)
})

it('a failed delivery is retried without a restart', async () => {
  const notes = await left()
  const answers = [new Error('a master cannot read it'), new Error('nor now'), undefined]
  const report = async (): Promise<void> => {
    const answer = answers.shift()
    if (answer) throw answer
  }
  expect(await new DeliveryJob(environment({ report, firstPauseMs: 1 }), notes).done).toBe('salvaged')
  expect([answers, existsSync(folder)]).toEqual([[], false])
})

it('an undelivered job is left when the node shuts down', async () => {
  const notes = await left()
  const report = (): Promise<void> => {
    setImmediate(() => leaving.abort(new Error('the node ends')))
    return Promise.reject(new Error('no master can read it'))
  }
  expect(await new DeliveryJob(environment({ report, firstPauseMs: 60_000 }), notes).done).toBe('left')
  expect(existsSync(join(folder, 'job.json'))).toBe(true)
})

it('the shutdown does not wait for a master that does not acknowledge the report', async () => {
  const notes = await left()
  const reported = Promise.withResolvers<void>()
  const report = (): Promise<void> => {
    reported.resolve()
    return new Promise(() => undefined)
  }
  const { done } = new DeliveryJob(environment({ report }), notes)
  await reported.promise
  leaving.abort(new Error('the node ends'))
  expect(await done).toBe('left')
  expect(existsSync(join(folder, 'job.json'))).toBe(true)
})

describe('the description of the files', () => {
  /** Files of this number of streams, with client data of the maximum size. */
  async function many(count: number): Promise<RecordedFile[]> {
    const names = Array.from({ length: count }, (_, nth) => `str_${nth}.webm`)
    await mkdir(folder)
    await Promise.all(names.map((name) => writeFile(join(folder, name), name)))
    const clientData = 'ä'.repeat(65_536)
    const times = { startedAt: 1, endedAt: 2 }
    return names.map((name) => ({ name, size: name.length, hasAudio: true, hasVideo: true, ...times, clientData }))
  }
  async function reportsOf(notes: Omit<Notes, 'job' | 'startedAt'>): Promise<RecordingEnded[]> {
    const ends: RecordingEnded[] = []
    const job = jobOf('room', await deliveryTo(join(root, 'masters')))
    const report = async (ended: RecordingEnded): Promise<void> => void ends.push(ended)
    const delivering = new DeliveryJob(environment({ report }), { job, startedAt: 1, ...notes })
    expect(await delivering.done).toBe('salvaged')
    return ends
  }
  const atMasters = (name: string): Promise<string> => readFile(join(root, 'masters', name), 'utf8')

  it('is in the report when it fits', async () => {
    const files = await many(1)
    expect(await reportsOf({ state: 'delivering', files })).toEqual([expect.objectContaining({ files })])
    await expect(atMasters('files.json')).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('is delivered as a separate file after the others when it is too long', async () => {
    const files = await many(3)
    const [ended] = await reportsOf({ state: 'delivering', files, failure: 'the media node died' })
    const part = { recordingId: expect.any(String), part: 1 }
    expect(ended).toEqual({ ...part, files: [], description: 'files.json', failure: 'the media node died' })
    expect(JSON.parse(await atMasters('files.json'))).toEqual(files)
    expect(await atMasters('str_2.webm')).toBe('str_2.webm')
    expect(existsSync(folder)).toBe(false)
  })

  it('is the same in a retry after an unacknowledged report', async () => {
    const files = await many(3)
    await reportsOf({ state: 'delivering', files })
    // The state when the node dies after moving the files and before the report.
    await mkdir(folder)
    expect(await reportsOf({ state: 'delivering', files })).toEqual([
      expect.objectContaining({ description: 'files.json' }),
    ])
    expect(JSON.parse(await atMasters('files.json'))).toEqual(files)
  })
})

/** A deferred job of a dead process, which has recorded. */
const recorded = async (): Promise<Notes> => {
  const output = { kind: 'COMPOSED', layout: 'BEST_FIT', width: 2, height: 2, frameRate: 1, deferred: true } as const
  return left({ state: 'composing', job: jobOf('room', await deliveryTo(join(root, 'masters')), { output }) })
}
const stateIn = async (path: string): Promise<Partial<Notes>> =>
  JSON.parse(await readFile(join(path, 'job.json'), 'utf8')) as Partial<Notes>

describe('the job of a deleted recording', () => {
  it('ends its composition, and removes its folder without a report', async () => {
    const notes = await recorded()
    const [begun, report] = [Promise.withResolvers<void>(), jest.fn<JobEnvironment['report']>()]
    const compose: JobEnvironment['compose'] = (_, own, signal) => {
      begun.resolve()
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error(`the program of ${own} was interrupted`)))
      })
    }
    const job = new DeliveryJob(environment({ compose, report }), notes)
    const { done } = job
    await begun.promise
    job.discard()
    expect(await done).toBe('discarded')
    expect([existsSync(folder), report.mock.calls]).toEqual([false, []])
  })

  it('does not wait for the next attempt to deliver its files', async () => {
    const notes = await left()
    const reported = Promise.withResolvers<void>()
    const report = (): Promise<void> => {
      reported.resolve()
      return Promise.reject(new Error('no master can read it'))
    }
    const job = new DeliveryJob(environment({ report, firstPauseMs: 600_000 }), notes)
    const { done } = job
    await reported.promise
    job.discard()
    expect(await done).toBe('discarded')
    expect(existsSync(folder)).toBe(false)
  })
})

describe('a deferred recording', () => {
  it('is composed before it is delivered, and shows that', async () => {
    const notes = await recorded()
    const composing = Promise.withResolvers<void>()
    const reports: RecordingEnded[] = []
    const file: RecordedFile = {
      name: 'composed.mp4',
      size: 3,
      hasAudio: true,
      hasVideo: true,
      startedAt: 1,
      endedAt: 2,
    }
    const compose: JobEnvironment['compose'] = async (_, own) => {
      await composing.promise
      await writeFile(join(own, file.name), 'mp4')
      return { files: [file] }
    }
    const job = new DeliveryJob(environment({ compose, report: async (ended) => void reports.push(ended) }), notes)
    const { done } = job
    expect(job.running.state).toBe('composing')
    expect(reports).toEqual([])
    composing.resolve()
    expect(await done).toBe('salvaged')
    expect(reports).toMatchObject([{ files: [file] }])
  })

  it('fails with the reason after three attempts, which a restart of the node does not forget', async () => {
    const notes = await recorded()
    const reports: RecordingEnded[] = []
    let attempts = 0
    const compose: JobEnvironment['compose'] = async () => {
      attempts += 1
      if (attempts === 2) leaving.abort(new Error('the media node shuts down'))
      throw new Error('the encoder is missing')
    }
    const more = { compose, firstPauseMs: 1, report: async (ended: RecordingEnded) => void reports.push(ended) }
    expect(await new DeliveryJob(environment(more), notes).done).toBe('left')
    const journal = await stateIn(folder)
    expect(journal).toMatchObject({ state: 'composing', attempts: 1 })
    leaving = new AbortController()
    await new DeliveryJob(environment(more), { ...notes, attempts: 1 }).done
    expect(attempts).toBe(4)
    expect(reports).toMatchObject([
      { files: [], failure: 'the recording could not be composed: the encoder is missing' },
    ])
  })

  it('is composed later when the disk is full, however often that fails', async () => {
    const notes = await recorded()
    let attempts = 0
    const compose: JobEnvironment['compose'] = async () => {
      attempts += 1
      if (attempts < 6) throw new ServiceError('NO_CAPACITY', 'the disk is full')
      return { files: [] }
    }
    expect(await new DeliveryJob(environment({ compose, firstPauseMs: 1 }), notes).done).toBe('salvaged')
    expect(attempts).toBe(6)
  })
})
