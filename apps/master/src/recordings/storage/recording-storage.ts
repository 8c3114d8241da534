/** A local file, and its name in the storage. */
export interface StoredFile {
  name: string
  path: string
}

/** The permanent storage of finished recordings. */
export interface RecordingStorage {
  /** True when files stay in the masters' folder, in which they are made. */
  readonly isLocal: boolean
  /**
   * Stores the files under the recording's id. Resolves once the storage has been verified to have them.
   * @throws ServiceError UNAVAILABLE, the signal's reason when that was aborted
   */
  store(id: string, files: readonly StoredFile[], signal: AbortSignal): Promise<void>
  /** Removes all files of the recording, if there are any. @throws ServiceError UNAVAILABLE */
  remove(id: string): Promise<void>
  url(id: string, file: string): string
}

/** Keeps files in the masters' folder, from which masters serve them. */
export class LocalStorage implements RecordingStorage {
  readonly isLocal = true

  constructor(private readonly publicUrl: string) {}

  async store(): Promise<void> {}

  async remove(): Promise<void> {}

  url(id: string, file: string): string {
    return `${this.publicUrl}/service/recordings/${encodeURIComponent(id)}/${encodeURIComponent(file)}`
  }
}
