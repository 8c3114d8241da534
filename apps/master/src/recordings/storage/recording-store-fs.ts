import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { RecordedFile, type RecordingDelivery, type RecordingEnded, ServiceError } from '@session-service/contract'
import { flush, isErrno, makeFolder, moveDurably } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { z } from 'zod'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { type AssembledRecording, RecordingStore } from './recording-store.js'
import type { RecordingOfFiles } from '../repository/recording.entity.js'
import { type Made, makeComposed, type Workplace } from '../muxing/composed.js'
import { deliveredFiles, sizeOf } from '../muxing/delivered-files.js'
import { diskProof, PROOF } from './disk-proof.js'
import { makeIndividual } from '../muxing/individual.js'
import { FILE_NAME, RECORDING_ID, RecordingFolders } from '../muxing/recording-folders.js'
import { LocalStorage, type RecordingStorage } from './recording-storage.js'
import { S3Storage } from './s3-storage.js'
import { requireSpaceIn } from './space.js'
import { runTool } from '../muxing/tool.js'
import { UploadTokens } from './upload-token.js'

const WORK = '.work.'
const VERSION_DEADLINE_MS = 20_000

/** What the hidden file beside a finished one must say for the recording to be that one. */
const Record = z.object({
  uniqueSessionId: z.string(),
  createdAt: z.number(),
  size: z.number(),
  duration: z.number(),
  hasAudio: z.boolean(),
  hasVideo: z.boolean(),
  file: z.string(),
  /** `stopped`: made, and not yet where it is kept. */
  status: z.enum(['stopped', 'ready']),
  /** Those that it was made of. */
  parts: z.array(z.number()).default([]),
  /** Of these, those with a file that nothing could be read of. */
  leftOut: z.array(z.number()).default([]),
})

type Record = z.infer<typeof Record>
type Finished = AssembledRecording & Pick<Record, 'status' | 'leftOut'>

const withFiles = (parts: readonly RecordingEnded[]): number[] =>
  parts.filter(({ files }) => files.length > 0).map(({ part }) => part)

/** Files of recordings: made in one folder, which all masters share, and kept there or in an object storage. */
@Injectable()
export class RecordingStoreFs extends RecordingStore implements OnApplicationBootstrap, OnModuleDestroy {
  readonly folders: RecordingFolders
  private readonly logger = new Logger('RecordingStore')
  private readonly tokens: UploadTokens
  private readonly storage: RecordingStorage
  private readonly ending = new AbortController()
  private tools: Promise<void> | undefined

  constructor(@Inject(MASTER_CONFIG) private readonly config: MasterConfig) {
    super()
    this.folders = new RecordingFolders(config.SERVICE_RECORDING_PATH)
    this.tokens = new UploadTokens(config.SERVICE_SECRET)
    const isS3 = config.SERVICE_PRO_RECORDING_STORAGE === 's3'
    this.storage = isS3 ? new S3Storage(config) : new LocalStorage(config.SERVICE_PUBLICURL)
  }

  /** Reports at start what keeps the master from recording. Not awaited: a slow disk or ffmpeg must not delay listening. */
  onApplicationBootstrap(): void {
    if (!this.config.SERVICE_RECORDING) return
    this.requireSpace().catch((error: unknown) => {
      if (!this.ending.signal.aborted) this.logger.error({ err: error }, 'recording is not possible')
    })
  }

  onModuleDestroy(): void {
    this.ending.abort()
  }

  async requireSpace(): Promise<void> {
    await requireSpaceIn(this.folders.root, this.config.SERVICE_RECORDING_FREE_SPACE)
    this.tools ??= this.requireTools()
    try {
      await this.tools
    } catch (error) {
      this.tools = undefined
      throw error
    }
  }

  private async requireTools(): Promise<void> {
    const options = { signal: this.ending.signal, deadlineMs: VERSION_DEADLINE_MS }
    try {
      await Promise.all(['ffmpeg', 'ffprobe'].map((tool) => runTool(tool, ['-version'], options)))
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new ServiceError('NO_CAPACITY', `the master cannot finish recordings: ${why}`, { cause: error })
    }
  }

  async delivery({ id }: Pick<RecordingOfFiles, 'id'>, part: number): Promise<RecordingDelivery> {
    const folder = this.folders.part(id, part)
    const make = (): Promise<void> => makeFolder(folder)
    // Again when the folder above, which had become empty, went meanwhile.
    await make().catch(make)
    return {
      folder,
      proof: { file: PROOF, content: await diskProof(folder) },
      url: `${this.config.SERVICE_RECORDING_UPLOAD_URL}/service/internal/recordings`,
      token: this.tokens.of({ recordingId: id, part }),
    }
  }

  async assemble(
    recording: RecordingOfFiles,
    parts: readonly RecordingEnded[],
    signal: AbortSignal,
  ): Promise<AssembledRecording> {
    const made = (await this.finished(recording, parts)) ?? (await this.makeInPlace(recording, parts, signal))
    if (made.status !== 'ready') await this.keep(recording, parts, { made, signal })
    if (!this.storage.isLocal) await this.removeLocal(recording, made)
    const { size, duration, hasAudio, hasVideo, file } = made
    return { size, duration, hasAudio, hasVideo, file }
  }

  private async makeInPlace(
    recording: RecordingOfFiles,
    parts: readonly RecordingEnded[],
    signal: AbortSignal,
  ): Promise<Finished> {
    const place = await this.workplace(recording, signal)
    try {
      const made = await this.make(recording, parts, place)
      signal.throwIfAborted()
      return await this.putInPlace(recording, parts, made)
    } catch (error) {
      if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error
      throw new ServiceError('NO_CAPACITY', 'not enough disk for recordings', { cause: error })
    } finally {
      await rm(place.folder, { recursive: true, force: true })
    }
  }

  async removePart({ id }: Pick<RecordingOfFiles, 'id'>, part: number): Promise<void> {
    await rm(this.folders.part(id, part), { recursive: true, force: true })
    // Unless there are others.
    await rmdir(this.folders.partsOf(id)).catch(() => undefined)
  }

  async remove({ id }: Pick<RecordingOfFiles, 'id'>): Promise<void> {
    // First what is delivered to: no file comes after that.
    await rm(this.folders.partsOf(id), { recursive: true, force: true })
    await this.storage.remove(id)
    await rm(this.folders.finished(id), { recursive: true, force: true })
  }

  url({ id, file }: RecordingOfFiles & { file: string }): string {
    return this.storage.url(id, file)
  }

  /** Sends it to where it is kept, its description last, and then says here that it is there. */
  private async keep(
    recording: RecordingOfFiles,
    parts: readonly RecordingEnded[],
    { made, signal }: { made: Finished; signal: AbortSignal },
  ): Promise<void> {
    const { id } = recording
    const folder = this.folders.finished(id)
    const picture = `${id}.jpg`
    const description = join(folder, `.ready.${id}`)
    await writeFile(description, JSON.stringify(this.recordOf(recording, parts, { ...made, status: 'ready' })))
    const files = [{ name: made.file, path: join(folder, made.file) }]
    if ((await sizeOf(join(folder, picture))) > 0) files.push({ name: picture, path: join(folder, picture) })
    files.push({ name: basename(this.folders.record(id)), path: description })
    await this.storage.keep(id, files, signal)
    signal.throwIfAborted()
    await moveDurably(description, this.folders.record(id))
  }

  /** Only what is kept elsewhere; that it is stays known. */
  private async removeLocal({ id }: RecordingOfFiles, { file }: AssembledRecording): Promise<void> {
    const names = [file, `${id}.jpg`]
    await Promise.all(names.map((name) => rm(join(this.folders.finished(id), name), { force: true })))
  }

  /** What a master made before, which died before it could say so; not when parts have come since. */
  private async finished(recording: RecordingOfFiles, parts: readonly RecordingEnded[]): Promise<Finished | undefined> {
    const known = await this.known(recording)
    return known && withFiles(parts).every((part) => known.parts.includes(part)) ? known : undefined
  }

  /** What is said of its finished file beside it; undefined when there is none of this recording. */
  private async known({ id, uniqueSessionId, createdAt }: RecordingOfFiles): Promise<Record | undefined> {
    const text = await readFile(this.folders.record(id), 'utf8').catch(() => '{}')
    const { data } = Record.safeParse(JSON.parse(text))
    return data?.uniqueSessionId === uniqueSessionId && data.createdAt === createdAt ? data : undefined
  }

  /** Empty; what a master that died left of its own attempt goes. */
  private async workplace({ id }: RecordingOfFiles, signal: AbortSignal): Promise<Workplace> {
    const all = this.folders.partsOf(id)
    await makeFolder(all)
    const left = (await readdir(all)).filter((name) => name.startsWith(WORK))
    await Promise.all(left.map((name) => rm(join(all, name), { recursive: true, force: true })))
    const folder = join(all, WORK + randomBytes(6).toString('hex'))
    await mkdir(folder)
    return { folder, signal }
  }

  private async make(recording: RecordingOfFiles, parts: readonly RecordingEnded[], place: Workplace): Promise<Made> {
    const delivered = await deliveredFiles(this.folders, parts)
    if (recording.properties.outputMode !== 'INDIVIDUAL') return makeComposed(delivered, place)
    // Nobody published: an archive of nothing is what was asked for. Something broke: it is not.
    const mayBeEmpty = delivered.length === 0 && parts.every(({ failure }) => failure === undefined)
    return makeIndividual(recording, delivered, { place, mayBeEmpty })
  }

  /** First the picture, then the file, then the record of both, which says that all is there. */
  private async putInPlace(
    recording: RecordingOfFiles,
    parts: readonly RecordingEnded[],
    made: Made,
  ): Promise<Finished> {
    const { id, properties } = recording
    const folder = this.folders.finished(id)
    const file = `${properties.name}.${made.extension}`
    await makeFolder(folder)
    if (made.thumbnail !== undefined) await moveDurably(made.thumbnail, join(folder, `${id}.jpg`))
    await moveDurably(made.path, join(folder, file))
    const { size, duration, hasAudio, hasVideo, leftOut } = made
    const status = this.storage.isLocal ? 'ready' : 'stopped'
    const result: Finished = { size, duration, hasAudio, hasVideo, file, status, leftOut }
    const draft = `${made.path}.json`
    await writeFile(draft, JSON.stringify(this.recordOf(recording, parts, result)))
    await moveDurably(draft, this.folders.record(id))
    await flush(folder)
    return result
  }

  private recordOf(recording: RecordingOfFiles, parts: readonly RecordingEnded[], result: Finished): object {
    const { id, sessionId, uniqueSessionId, createdAt, properties } = recording
    const url = this.url({ ...recording, file: result.file })
    const known = { id, object: 'recording', sessionId, uniqueSessionId, createdAt, url }
    return { ...properties, ...known, ...result, parts: withFiles(parts) }
  }

  async removeSpentParts(recording: RecordingOfFiles): Promise<void> {
    const known = await this.known(recording)
    if (known?.status !== 'ready') return
    const all = this.folders.partsOf(recording.id)
    const kept = new Set(known.leftOut.map(String))
    const spent = (await namesIn(all)).filter((name) => !kept.has(name))
    await Promise.all(spent.map((name) => rm(join(all, name), { recursive: true, force: true })))
    if (kept.size === 0) await rmdir(all).catch(() => undefined)
  }

  async idsWithParts(): Promise<string[]> {
    return (await namesIn(this.folders.parts)).filter((name) => RECORDING_ID.test(name))
  }

  async readDescription(ended: RecordingEnded): Promise<RecordingEnded> {
    const { recordingId, part, description } = ended
    if (description === undefined) return ended
    const isFit = FILE_NAME.test(description) && RECORDING_ID.test(recordingId)
    if (!isFit) throw new ServiceError('INVALID', 'description: not the name of a file')
    const text = await readFile(join(this.folders.part(recordingId, part), description), 'utf8').catch(
      (cause: unknown) => {
        throw new ServiceError('UNAVAILABLE', `the description of part ${part} of ${recordingId} cannot be read`, {
          cause,
        })
      },
    )
    return { ...ended, files: RecordedFile.array().parse(JSON.parse(text)) }
  }
}

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  })
