import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RecordingPartRef } from '@session-service/contract'

/** Tokens that let a node deliver the files of one part, and do nothing else. */
export class UploadTokens {
  private readonly key: Buffer

  /** The key is one of its own, so that nothing else signed with the secret is taken for a token. */
  constructor(secret: string) {
    this.key = createHmac('sha256', secret).update('recording upload').digest()
  }

  of({ recordingId, part }: RecordingPartRef): string {
    return this.digest(`${recordingId}/${part}`).toString('base64url')
  }

  isIn(authorization: string | undefined, ref: RecordingPartRef): boolean {
    const [, given = ''] = /^bearer +([\w-]+) *$/i.exec(authorization ?? '') ?? []
    return timingSafeEqual(this.digest(given), this.digest(this.of(ref)))
  }

  private digest(text: string): Buffer {
    return createHmac('sha256', this.key).update(text).digest()
  }
}
