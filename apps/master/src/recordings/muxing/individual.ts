import { writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { ServiceError } from '@session-service/contract'
import type { RecordingOfFiles } from '../repository/recording.entity.js'
import { type DeliveredFile, sizeOf } from './delivered-files.js'
import type { MuxedFile, MuxedMedia, MuxJob } from './muxed-file.js'
import { probe } from './probe.js'
import { tryRemux } from './remux.js'
import { subtitleName, writeSubtitles } from './subtitles.js'
import { writeZip } from './zip.js'

/** Makes the archive of an INDIVIDUAL recording: a file for each time that a stream was recorded, and a description. */
export async function makeIndividual(
  recording: RecordingOfFiles,
  delivered: readonly DeliveredFile[],
  { job, mayBeEmpty }: { job: MuxJob; mayBeEmpty: boolean },
): Promise<MuxedFile> {
  const packed: DeliveredFile[] = []
  const names = new Set<string>()
  const leftOut: number[] = []
  for (const file of delivered) {
    // One after another: they share one disk.
    const playable = await prepare(file, freeName(names, file), job)
    if (!playable) {
      leftOut.push(file.part)
      continue
    }
    names.add(playable.name)
    packed.push(playable)
  }
  if (packed.length === 0 && !mayBeEmpty) {
    throw new ServiceError('NOT_FOUND', 'nothing that was recorded can be played')
  }
  const description = join(job.scratchDir, 'description.json')
  await writeFile(description, JSON.stringify(describe(recording, packed), undefined, 2))
  const archive = join(job.scratchDir, 'recording.zip')
  const entries = packed.map(({ path, name }) => ({ path, name }))
  const subtitles = await subtitlesOf(packed, job)
  const { name } = recording.properties
  await writeZip([...entries, ...subtitles, { path: description, name: `${name}.json` }], archive, job.signal)
  return { path: archive, extension: 'zip', leftOut, subtitles: [], ...totals(packed) }
}

/** The subtitles of the files, each in the time of its file and named as it. */
async function subtitlesOf(files: readonly DeliveredFile[], job: MuxJob): Promise<{ path: string; name: string }[]> {
  const sentences = Map.groupBy(job.sentences, ({ streamId }) => streamId)
  const entries: { path: string; name: string }[] = []
  for (const { name, streamId = '', startedAt, endedAt } of files) {
    const stem = name.slice(0, -extname(name).length)
    const segments = [{ startedAt, durationMs: endedAt - startedAt }]
    const written = await writeSubtitles(sentences.get(streamId) ?? [], segments, { stem, job })
    entries.push(...written.map((each) => ({ path: each.path, name: subtitleName(stem, each, written) })))
  }
  return entries
}

/** The name `<stream>.webm`, with `-1`, `-2` and so on from the second recording of the same stream. */
export function freeName(taken: ReadonlySet<string>, { name, streamId }: { name: string; streamId?: string }): string {
  const extension = extname(name)
  const base = streamId ?? name.slice(0, name.length - extension.length)
  const isTaken = (stem: string): boolean => [...taken].some((used) => used.slice(0, -extname(used).length) === stem)
  let stem = base
  for (let n = 1; isTaken(stem); n++) stem = `${base}-${n}`
  return stem + extension
}

/**
 * Remuxes a file that lacks its duration, as the files of killed recorders do. Undefined when it cannot be played.
 */
async function prepare(
  file: DeliveredFile,
  name: string,
  { scratchDir, signal }: MuxJob,
): Promise<DeliveredFile | undefined> {
  const asDelivered = await probe(file.path, signal)
  if (!asDelivered) return undefined
  const isWhole = asDelivered.duration !== undefined
  const path = isWhole ? file.path : join(scratchDir, name)
  if (!isWhole && !(await tryRemux(file.path, path, signal))) return undefined
  const facts = isWhole ? asDelivered : await probe(path, signal)
  if (!facts) return undefined
  const media = { hasAudio: facts.audio !== undefined, hasVideo: facts.video !== undefined }
  return { ...file, ...media, name, path, size: await sizeOf(path), endedAt: endOf(file, facts.duration) }
}

/**
 * The end of a file, limited by the duration of its media: a media node that was suspended, or died, may report an end
 * much later.
 */
export const endOf = (
  { startedAt, endedAt }: Pick<DeliveredFile, 'startedAt' | 'endedAt'>,
  duration: number | undefined,
): number => (duration === undefined ? endedAt : Math.min(endedAt, Math.round(startedAt + duration * 1_000)))

/** A master whose clock is behind that of a media node limits `createdAt` to its time; by less than this, ms. */
const CLOCK_DIFFERENCE_MS = 100

/** The start of a recording by the clock of its files: that of the first file, unless that one was lost. */
export function startOf(createdAt: number, files: readonly Pick<DeliveredFile, 'startedAt'>[]): number {
  const first = earliest(files)
  return Math.abs(first - createdAt) < CLOCK_DIFFERENCE_MS ? first : createdAt
}

const earliest = (files: readonly Pick<DeliveredFile, 'startedAt'>[]): number =>
  Math.min(...files.map(({ startedAt }) => startedAt))

/** The description in the archive. Its members and their order are those of the lineage. */
function describe({ id, sessionId, createdAt, properties }: RecordingOfFiles, files: readonly DeliveredFile[]): object {
  const start = startOf(createdAt, files)
  return {
    createdAt,
    id,
    name: properties.name,
    sessionId,
    files: files.map((file) => ({
      name: file.name,
      connectionId: file.connectionId,
      streamId: file.streamId,
      size: file.size,
      clientData: file.clientData,
      serverData: file.serverData,
      hasAudio: file.hasAudio,
      hasVideo: file.hasVideo,
      ...(file.hasVideo && { typeOfVideo: file.typeOfVideo }),
      startTimeOffset: Math.round(file.startedAt - start),
      endTimeOffset: Math.round(file.endedAt - start),
    })),
  }
}

function totals(files: readonly DeliveredFile[]): MuxedMedia {
  const sum = files.reduce((total, { size }) => total + size, 0)
  const from = earliest(files)
  const to = Math.max(...files.map(({ endedAt }) => endedAt))
  return {
    size: sum,
    duration: files.length === 0 ? 0 : Math.max(0, to - from) / 1_000,
    hasAudio: files.some(({ hasAudio }) => hasAudio),
    hasVideo: files.some(({ hasVideo }) => hasVideo),
  }
}
