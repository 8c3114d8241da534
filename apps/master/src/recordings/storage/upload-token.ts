import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RecordingPartRef } from '@session-service/contract'

/** Tokens that allow a media node to deliver the files of one part, and nothing else. */
export class UploadTokens {
  readonly #key: Buffer

  /** The key is derived for this purpose, so that nothing else signed with the secret is valid as a token. */
  constructor(secret: string) {
    this.#key = createHmac('sha256', secret).update('recording upload').digest()
  }

  of({ recordingId, part }: RecordingPartRef): string {
    return this.#digest(`${recordingId}/${part}`).toString('base64url')
  }

  isValid(authorization: string | undefined, ref: RecordingPartRef): boolean {
    const [, token = ''] = /^bearer +([\w-]+) *$/i.exec(authorization ?? '') ?? []
    return timingSafeEqual(this.#digest(token), this.#digest(this.of(ref)))
  }

  #digest(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest()
  }
}
