import { describe, expect, it } from '@jest/globals'
import { UploadTokens } from './upload-token.js'

const tokens = new UploadTokens(['MY_SECRET'])
const ref = { recordingId: 'room~1', part: 2 }
const token = tokens.of(ref)

describe('a token for uploads', () => {
  it('is valid at every master with the same secret', () => {
    expect(new UploadTokens(['MY_SECRET']).isValid(`Bearer ${token}`, ref)).toBe(true)
    expect(tokens.isValid(`bearer  ${token} `, ref)).toBe(true)
  })

  it('stays valid while its secret is the previous one', () => {
    const rotated = new UploadTokens(['NEW_SECRET', 'MY_SECRET'])
    expect(rotated.isValid(`Bearer ${token}`, ref)).toBe(true)
    expect(rotated.of(ref)).toBe(new UploadTokens(['NEW_SECRET']).of(ref))
    expect(new UploadTokens(['NEW_SECRET']).isValid(`Bearer ${token}`, ref)).toBe(false)
  })

  it.each<[string, string | undefined, { recordingId: string; part: number }]>([
    ['of another recording', `Bearer ${token}`, { recordingId: 'room', part: 2 }],
    ['of another part', `Bearer ${token}`, { recordingId: 'room~1', part: 1 }],
    ['as Basic credentials', `Basic ${token}`, ref],
    ['shortened', `Bearer ${token.slice(0, -1)}`, ref],
    ['none', undefined, ref],
    ['empty', 'Bearer ', ref],
    ['the secret itself', 'Bearer MY_SECRET', ref],
    ['of another secret', `Bearer ${new UploadTokens(['OTHER']).of(ref)}`, ref],
  ])('is not valid: %s', (_, authorization, requested) => expect(tokens.isValid(authorization, requested)).toBe(false))
})
