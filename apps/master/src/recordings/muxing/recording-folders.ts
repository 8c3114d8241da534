import { join } from 'node:path'

/** File names that requests may contain: no hidden file, no path. */
export const FILE_NAME = /^[\w~-][\w.~-]{0,239}$/
export const RECORDING_ID = /^[\w~-]{1,220}$/

/** The layout of the masters' folder of recordings. */
export class RecordingFolders {
  constructor(readonly root: string) {}

  /** The files that media nodes delivered, of all recordings. */
  get parts(): string {
    return join(this.root, '.parts')
  }

  partsOf(id: string): string {
    return join(this.parts, id)
  }

  part(id: string, part: number): string {
    return join(this.parts, id, String(part))
  }

  finished(id: string): string {
    return join(this.root, id)
  }

  /** The description beside the finished file; the list of recordings can be restored from these files. */
  description(id: string): string {
    return join(this.root, id, `.recording.${id}`)
  }
}
