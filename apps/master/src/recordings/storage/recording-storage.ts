/** A file to be kept, and its name there. */
export interface KeptFile {
  name: string
  path: string
}

/** Where finished recordings are for good. */
export interface RecordingStorage {
  /** Whether that is the masters' folder, where they were made. */
  readonly isLocal: boolean
  /**
   * Resolves once it has the files, which was verified; they are there under the recording's id.
   * @throws ServiceError UNAVAILABLE, the signal's reason when that was aborted
   */
  keep(id: string, files: readonly KeptFile[], signal: AbortSignal): Promise<void>
  /** Nothing there: nothing happens. @throws ServiceError UNAVAILABLE */
  remove(id: string): Promise<void>
  /** Where a file can be fetched. */
  url(id: string, file: string): string
}

/** The masters' folder: what is made there is kept there, and served by masters. */
export class LocalStorage implements RecordingStorage {
  readonly isLocal = true

  constructor(private readonly publicUrl: string) {}

  async keep(): Promise<void> {}

  async remove(): Promise<void> {}

  url(id: string, file: string): string {
    return `${this.publicUrl}/service/recordings/${encodeURIComponent(id)}/${encodeURIComponent(file)}`
  }
}
