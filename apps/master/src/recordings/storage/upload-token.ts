import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RecordingPartRef } from '@session-service/contract'
import type { SigningSecrets } from '../../platform/authentication/signing-secrets.js'

/** Tokens that allow a media node to deliver the files of one part, and nothing else. */
export class UploadTokens {
  readonly #keys: readonly Buffer[]

  /** The key is derived for this purpose, so that nothing else signed with the secret is valid as a token. */
  constructor(secrets: SigningSecrets) {
    this.#keys = secrets.map((secret) => createHmac('sha256', secret).update('recording upload').digest())
  }

  of(ref: RecordingPartRef): string {
    return this.#tokens(ref)[0] ?? ''
  }

  #tokens({ recordingId, part }: RecordingPartRef): string[] {
    return this.#keys.map((key) => digest(key, `${recordingId}/${part}`).toString('base64url'))
  }

  isValid(authorization: string | undefined, ref: RecordingPartRef): boolean {
    const [, token = ''] = /^bearer +([\w-]+) *$/i.exec(authorization ?? '') ?? []
    return this.#tokens(ref).some((valid, index) => {
      const key = this.#keys[index] ?? Buffer.alloc(0)
      return timingSafeEqual(digest(key, token), digest(key, valid))
    })
  }
}

const digest = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
