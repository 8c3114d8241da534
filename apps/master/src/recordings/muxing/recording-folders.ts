import { join } from 'node:path'

/** May be asked for by name: no hidden file, nothing that leads elsewhere. */
export const FILE_NAME = /^[\w~-][\w.~-]{0,239}$/
export const RECORDING_ID = /^[\w~-]{1,220}$/

/** Where in the masters' folder what of a recording lies. */
export class RecordingFolders {
  constructor(readonly root: string) {}

  /** What nodes delivered, of all recordings. */
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

  /** Beside the finished file, what is known of it: whoever has the folder can make the list of recordings again. */
  record(id: string): string {
    return join(this.root, id, `.recording.${id}`)
  }
}
