import { writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { ServiceError } from '@session-service/contract'
import type { RecordingOfFiles } from '../repository/recording.entity.js'
import type { Made, Workplace } from './composed.js'
import { type DeliveredFile, sizeOf } from './delivered-files.js'
import { probe } from './probe.js'
import { remux } from './remux.js'
import { ToolFailure } from './tool.js'
import { writeZip } from './zip.js'

/** The archive of an INDIVIDUAL recording: a file for each time that a stream was recorded, and what they are. */
export async function makeIndividual(
  recording: RecordingOfFiles,
  delivered: readonly DeliveredFile[],
  { place, mayBeEmpty }: { place: Workplace; mayBeEmpty: boolean },
): Promise<Made> {
  const packed: DeliveredFile[] = []
  const names = new Set<string>()
  const leftOut: number[] = []
  for (const file of delivered) {
    // One after another: there is one disk.
    const one = await pack(file, freeName(names, file), place)
    if (!one) {
      leftOut.push(file.part)
      continue
    }
    names.add(one.name)
    packed.push(one)
  }
  if (packed.length === 0 && !mayBeEmpty) {
    throw new ServiceError('NOT_FOUND', 'nothing that was recorded can be played')
  }
  const description = join(place.folder, 'description.json')
  await writeFile(description, JSON.stringify(describe(recording, packed), undefined, 2))
  const archive = join(place.folder, 'recording.zip')
  const entries = packed.map(({ path, name }) => ({ path, name }))
  const { name } = recording.properties
  await writeZip([...entries, { path: description, name: `${name}.json` }], archive, place.signal)
  return { path: archive, extension: 'zip', leftOut, ...totals(packed) }
}

/** `<stream>.webm`, and `-1`, `-2` and so on from the second time that the stream was recorded. */
export function freeName(taken: ReadonlySet<string>, { name, streamId }: { name: string; streamId?: string }): string {
  const extension = extname(name)
  const base = streamId ?? name.slice(0, name.length - extension.length)
  const isTaken = (stem: string): boolean => [...taken].some((known) => known.slice(0, -extname(known).length) === stem)
  let stem = base
  for (let n = 1; isTaken(stem); n++) stem = `${base}-${n}`
  return stem + extension
}

/** With its duration in it, which a file does not have whose writer was killed; undefined when it cannot be played. */
async function pack(
  file: DeliveredFile,
  name: string,
  { folder, signal }: Workplace,
): Promise<DeliveredFile | undefined> {
  const asDelivered = await probe(file.path, signal)
  if (!asDelivered) return undefined
  const isWhole = asDelivered.duration !== undefined
  const path = isWhole ? file.path : join(folder, name)
  if (!isWhole && !(await isRemuxed(file.path, path, signal))) return undefined
  const facts = isWhole ? asDelivered : await probe(path, signal)
  if (!facts) return undefined
  const media = { hasAudio: facts.audio !== undefined, hasVideo: facts.video !== undefined }
  return { ...file, ...media, name, path, size: await sizeOf(path), endedAt: endOf(file, facts.duration) }
}

/** No later than its media lasts: a node that was suspended, or died, may have noticed the end much later. */
export const endOf = (
  { startedAt, endedAt }: Pick<DeliveredFile, 'startedAt' | 'endedAt'>,
  duration: number | undefined,
): number => (duration === undefined ? endedAt : Math.min(endedAt, Math.round(startedAt + duration * 1_000)))

async function isRemuxed(from: string, to: string, signal: AbortSignal): Promise<boolean> {
  try {
    await remux({ from: [from], to, signal })
    return true
  } catch (error) {
    if (error instanceof ToolFailure) return false
    throw error
  }
}

/** The members and their order are the lineage's. */
export function describe(
  { id, sessionId, createdAt, properties }: RecordingOfFiles,
  files: readonly DeliveredFile[],
): object {
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
      startTimeOffset: Math.round(file.startedAt - createdAt),
      endTimeOffset: Math.round(file.endedAt - createdAt),
    })),
  }
}

function totals(files: readonly DeliveredFile[]): Omit<Made, 'path' | 'extension' | 'leftOut'> {
  const sum = files.reduce((total, { size }) => total + size, 0)
  const from = Math.min(...files.map(({ startedAt }) => startedAt))
  const to = Math.max(...files.map(({ endedAt }) => endedAt))
  return {
    size: sum,
    duration: files.length === 0 ? 0 : Math.max(0, to - from) / 1_000,
    hasAudio: files.some(({ hasAudio }) => hasAudio),
    hasVideo: files.some(({ hasVideo }) => hasVideo),
  }
}
