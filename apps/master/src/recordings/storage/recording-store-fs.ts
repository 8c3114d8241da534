import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { RecordedFile, type RecordingDelivery, type RecordingEnded, ServiceError } from '@session-service/contract'
import { flush, isErrno, makeFolder, messageOf, moveDurably } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { z } from 'zod'
import type { SpokenSentence } from '../../speech-to-text/transcript-formats.js'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { type AssembledRecording, RecordingStore } from './recording-store.js'
import type { RecordingOfFiles } from '../repository/recording.entity.js'
import { makeComposed } from '../muxing/composed.js'
import { deliveredFiles, sizeOf } from '../muxing/delivered-files.js'
import { translateDiskFull } from '../muxing/disk-full.js'
import { diskProof, PROOF } from './disk-proof.js'
import { makeIndividual } from '../muxing/individual.js'
import type { MuxedFile, MuxJob, Subtitles } from '../muxing/muxed-file.js'
import { FILE_NAME, RECORDING_ID, RecordingFolders } from '../muxing/recording-folders.js'
import { subtitleName } from '../muxing/subtitles.js'
import { LocalStorage, type RecordingStorage } from './recording-storage.js'
import { S3Storage } from './s3-storage.js'
import { requireSpaceIn } from './space.js'
import { runTool } from '../muxing/tool.js'
import { UploadTokens } from './upload-token.js'
import { signingSecrets } from '../../platform/authentication/signing-secrets.js'

const SCRATCH_PREFIX = '.work.'
const VERSION_TIMEOUT_MS = 20_000

/** The hidden file beside a finished one, which describes the recording that the file belongs to. */
const Description = z.object({
  uniqueSessionId: z.string(),
  createdAt: z.number(),
  size: z.number(),
  duration: z.number(),
  hasAudio: z.boolean(),
  hasVideo: z.boolean(),
  file: z.string(),
  /** `stopped`: made, but not stored yet. */
  status: z.enum(['stopped', 'ready']),
  /** The parts that it was made of. */
  parts: z.array(z.number()).default([]),
  /** The parts with a file that could not be read. */
  leftOut: z.array(z.number()).default([]),
  /** The names of the files with subtitles. */
  subtitles: z.array(z.string()).default([]),
})

type Description = z.infer<typeof Description>
type Finished = AssembledRecording & Pick<Description, 'status' | 'leftOut' | 'subtitles'>

const partsWithFiles = (parts: readonly RecordingEnded[]): number[] =>
  parts.filter(({ files }) => files.length > 0).map(({ part }) => part)

/** Makes the files in one folder that all masters share, and stores them there or in an object storage. */
@Injectable()
export class RecordingStoreFs extends RecordingStore implements OnApplicationBootstrap, OnModuleDestroy {
  readonly folders: RecordingFolders
  readonly #logger = new Logger('RecordingStore')
  readonly #tokens: UploadTokens
  readonly #storage: RecordingStorage
  readonly #shutdown = new AbortController()
  #toolsCheck: Promise<void> | undefined

  constructor(@Inject(MASTER_CONFIG) private readonly config: MasterConfig) {
    super()
    this.folders = new RecordingFolders(config.SERVICE_RECORDING_PATH)
    this.#tokens = new UploadTokens(signingSecrets(config))
    const isS3 = config.SERVICE_PRO_RECORDING_STORAGE === 's3'
    this.#storage = isS3 ? new S3Storage(config) : new LocalStorage(config.SERVICE_PUBLICURL)
  }

  /** Logs at start why recording is not possible. Not awaited: a slow disk or ffmpeg must not delay listening. */
  onApplicationBootstrap(): void {
    if (!this.config.SERVICE_RECORDING) return
    this.requireSpace().catch((error: unknown) => {
      if (!this.#shutdown.signal.aborted) this.#logger.error({ err: error }, 'recording is not possible')
    })
  }

  onModuleDestroy(): void {
    this.#shutdown.abort()
  }

  async requireSpace(): Promise<void> {
    await requireSpaceIn(this.folders.root, this.config.SERVICE_RECORDING_FREE_SPACE)
    this.#toolsCheck ??= this.#requireTools()
    try {
      await this.#toolsCheck
    } catch (error) {
      this.#toolsCheck = undefined
      throw error
    }
  }

  async #requireTools(): Promise<void> {
    const options = { signal: this.#shutdown.signal, timeoutMs: VERSION_TIMEOUT_MS }
    try {
      await Promise.all(['ffmpeg', 'ffprobe'].map((tool) => runTool(tool, ['-version'], options)))
    } catch (error) {
      throw new ServiceError('NO_CAPACITY', `the master cannot finish recordings: ${messageOf(error)}`, {
        cause: error,
      })
    }
  }

  async delivery({ id }: Pick<RecordingOfFiles, 'id'>, part: number): Promise<RecordingDelivery> {
    const folder = this.folders.part(id, part)
    const make = (): Promise<void> => makeFolder(folder)
    // Retried once: the parent folder may be removed at the same time because it became empty.
    await make().catch(make)
    return {
      folder,
      proof: { file: PROOF, content: await diskProof(folder) },
      url: `${this.config.SERVICE_RECORDING_UPLOAD_URL}/service/internal/recordings`,
      token: this.#tokens.of({ recordingId: id, part }),
    }
  }

  async assemble(
    recording: RecordingOfFiles,
    parts: readonly RecordingEnded[],
    signal: AbortSignal,
    sentences: readonly SpokenSentence[] = [],
  ): Promise<AssembledRecording> {
    const made =
      (await this.#madeBefore(recording, parts)) ?? (await this.#make(recording, parts, { signal, sentences }))
    if (made.status !== 'ready') await this.#store(recording, parts, { made, signal })
    if (!this.#storage.isLocal) await this.#removeLocal(recording, made)
    const { size, duration, hasAudio, hasVideo, file } = made
    return { size, duration, hasAudio, hasVideo, file }
  }

  async #make(
    recording: RecordingOfFiles,
    parts: readonly RecordingEnded[],
    { signal, sentences }: Pick<MuxJob, 'signal' | 'sentences'>,
  ): Promise<Finished> {
    const job = { recordingId: recording.id, scratchDir: await this.#scratchDir(recording), signal, sentences }
    try {
      const muxed = await this.#mux(recording, parts, job)
      signal.throwIfAborted()
      return await this.#putInPlace(recording, parts, muxed)
    } catch (error) {
      throw translateDiskFull(error)
    } finally {
      await rm(job.scratchDir, { recursive: true, force: true })
    }
  }

  async removePart({ id }: Pick<RecordingOfFiles, 'id'>, part: number): Promise<void> {
    await rm(this.folders.part(id, part), { recursive: true, force: true })
    // Fails while there are others.
    await rmdir(this.folders.partsOf(id)).catch(() => undefined)
  }

  async remove({ id }: Pick<RecordingOfFiles, 'id'>): Promise<void> {
    // The delivery folder first: after that no file can be delivered.
    await rm(this.folders.partsOf(id), { recursive: true, force: true })
    await this.#storage.remove(id)
    await rm(this.folders.finished(id), { recursive: true, force: true })
  }

  url({ id, file }: RecordingOfFiles & { file: string }): string {
    return this.#storage.url(id, file)
  }

  /** Stores the file, its description last, and then marks it as stored in the local description. */
  async #store(
    recording: RecordingOfFiles,
    parts: readonly RecordingEnded[],
    { made, signal }: { made: Finished; signal: AbortSignal },
  ): Promise<void> {
    const { id } = recording
    const folder = this.folders.finished(id)
    const picture = `${id}.jpg`
    const description = join(folder, `.ready.${id}`)
    await writeFile(description, JSON.stringify(this.#descriptionOf(recording, parts, { ...made, status: 'ready' })))
    const names = [made.file, ...made.subtitles]
    const files = names.map((name) => ({ name, path: join(folder, name) }))
    if ((await sizeOf(join(folder, picture))) > 0) files.push({ name: picture, path: join(folder, picture) })
    files.push({ name: basename(this.folders.description(id)), path: description })
    await this.#storage.store(id, files, signal)
    signal.throwIfAborted()
    await moveDurably(description, this.folders.description(id))
  }

  /** Removes local files that the storage has. The description stays. */
  async #removeLocal({ id }: RecordingOfFiles, { file, subtitles }: Finished): Promise<void> {
    const names = [file, ...subtitles, `${id}.jpg`]
    await Promise.all(names.map((name) => rm(join(this.folders.finished(id), name), { force: true })))
  }

  /** The file that a master made before it died; undefined when parts have been added since. */
  async #madeBefore(recording: RecordingOfFiles, parts: readonly RecordingEnded[]): Promise<Finished | undefined> {
    const existing = await this.#description(recording)
    return existing && partsWithFiles(parts).every((part) => existing.parts.includes(part)) ? existing : undefined
  }

  /** The description beside the finished file; undefined when there is none, or it belongs to an earlier recording. */
  async #description({ id, uniqueSessionId, createdAt }: RecordingOfFiles): Promise<Description | undefined> {
    const text = await readFile(this.folders.description(id), 'utf8').catch(() => '{}')
    const { data } = Description.safeParse(JSON.parse(text))
    return data?.uniqueSessionId === uniqueSessionId && data.createdAt === createdAt ? data : undefined
  }

  /** Makes an empty temporary folder, and removes those that masters that died have left. */
  async #scratchDir({ id }: RecordingOfFiles): Promise<string> {
    const all = this.folders.partsOf(id)
    await makeFolder(all)
    const left = (await readdir(all)).filter((name) => name.startsWith(SCRATCH_PREFIX))
    await Promise.all(left.map((name) => rm(join(all, name), { recursive: true, force: true })))
    const scratchDir = join(all, SCRATCH_PREFIX + randomBytes(6).toString('hex'))
    await mkdir(scratchDir)
    return scratchDir
  }

  async #mux(recording: RecordingOfFiles, parts: readonly RecordingEnded[], job: MuxJob): Promise<MuxedFile> {
    const delivered = await deliveredFiles(this.folders, parts)
    if (recording.properties.outputMode !== 'INDIVIDUAL') return makeComposed(delivered, job)
    // Without publishers an empty archive is the right result; after a failure it is not.
    const mayBeEmpty = delivered.length === 0 && parts.every(({ failure }) => failure === undefined)
    return makeIndividual(recording, delivered, { job, mayBeEmpty })
  }

  /** Moves picture and subtitles first, then the file, and the description last, which marks the result as complete. */
  async #putInPlace(
    recording: RecordingOfFiles,
    parts: readonly RecordingEnded[],
    muxed: MuxedFile,
  ): Promise<Finished> {
    const { id, properties } = recording
    const folder = this.folders.finished(id)
    const file = `${properties.name}.${muxed.extension}`
    await makeFolder(folder)
    if (muxed.thumbnail !== undefined) await moveDurably(muxed.thumbnail, join(folder, `${id}.jpg`))
    const subtitles = await putSubtitles(muxed.subtitles, folder, properties.name)
    await moveDurably(muxed.path, join(folder, file))
    const { size, duration, hasAudio, hasVideo, leftOut } = muxed
    const status = this.#storage.isLocal ? 'ready' : 'stopped'
    const result: Finished = { size, duration, hasAudio, hasVideo, file, status, leftOut, subtitles }
    const draft = `${muxed.path}.json`
    await writeFile(draft, JSON.stringify(this.#descriptionOf(recording, parts, result)))
    await moveDurably(draft, this.folders.description(id))
    await flush(folder)
    return result
  }

  #descriptionOf(recording: RecordingOfFiles, parts: readonly RecordingEnded[], result: Finished): object {
    const { id, sessionId, uniqueSessionId, createdAt, properties } = recording
    const url = this.url({ ...recording, file: result.file })
    const identity = { id, object: 'recording', sessionId, uniqueSessionId, createdAt, url }
    return { ...properties, ...identity, ...result, parts: partsWithFiles(parts) }
  }

  async removeSpentParts(recording: RecordingOfFiles): Promise<void> {
    const existing = await this.#description(recording)
    if (existing?.status !== 'ready') return
    const all = this.folders.partsOf(recording.id)
    const kept = new Set(existing.leftOut.map(String))
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
    const isValid = FILE_NAME.test(description) && RECORDING_ID.test(recordingId)
    if (!isValid) throw new ServiceError('INVALID', 'description: not the name of a file')
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

/** Replaces the subtitles in the folder of a recording. Gives the names of the files. */
async function putSubtitles(subtitles: readonly Subtitles[], folder: string, stem: string): Promise<string[]> {
  const former = (await namesIn(folder)).filter((name) => name.endsWith('.vtt'))
  await Promise.all(former.map((name) => rm(join(folder, name), { force: true })))
  const names = subtitles.map((each) => subtitleName(stem, each, subtitles))
  await Promise.all(subtitles.map(({ path }, index) => moveDurably(path, join(folder, names[index] ?? ''))))
  return names
}

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  })
