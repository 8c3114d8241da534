import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { describeIssues } from '../optional.js'
import { SIGNALLING_METHODS } from './requests.js'

const opus = { mimeType: 'audio/opus', payloadType: 111, clockRate: 48_000, channels: 2 }
const vp8 = { mimeType: 'video/VP8', payloadType: 96, clockRate: 90_000 }
const rtx = { mimeType: 'video/rtx', payloadType: 97, clockRate: 90_000, parameters: { apt: 96 } }
const track = (kind: string, ...codecs: object[]) => ({ kind, rtpParameters: { codecs, encodings: [{ ssrc: 1 }] } })

describe('a published track', () => {
  it.each<[string, object, string | undefined]>([
    ['audio of an audio codec', track('audio', opus), undefined],
    ['video of a video codec with retransmission', track('video', vp8, rtx), undefined],
    ['a name in other letters', track('video', { ...vp8, mimeType: 'VIDEO/vp8' }), undefined],
    ['audio of a video codec', track('audio', vp8), 'codecs.0.mimeType: must be a codec of kind audio, not video/VP8'],
    [
      'video of an audio codec',
      track('video', opus),
      'codecs.0.mimeType: must be a codec of kind video, not audio/opus',
    ],
    ['a codec of the other kind behind one that fits', track('audio', opus, vp8), 'codecs.1.mimeType: must be a codec'],
  ])('%s', (_, published, refusal) => {
    const { error } = SIGNALLING_METHODS.publish[0].safeParse({ tracks: [published] })
    const issues = error ? describeIssues(error) : []
    expect(issues).toEqual(refusal === undefined ? [] : [expect.stringContaining(`tracks.0.rtpParameters.${refusal}`)])
  })
})

describe('the parameters of a codec', () => {
  const membersOf = (count: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, value]))
  const issuesOf = (parameters: unknown): string[] => {
    const { error } = SIGNALLING_METHODS.publish[0].safeParse({ tracks: [track('audio', { ...opus, parameters })] })
    return error ? describeIssues(error) : []
  }

  it.each<[string, unknown, string[]]>([
    ['as many as there may be', membersOf(64, 1), []],
    ['one more', membersOf(65, 1), ['must have at most 64 members']],
    ['thousands that are invalid', membersOf(20_000, []), ['must have at most 64 members']],
    ['a list', [], ['Invalid input: expected record, received array']],
    ['text', 'x', ['Invalid input: expected record, received string']],
  ])('%s', (_, parameters, refusals) => {
    expect(issuesOf(parameters)).toEqual(
      refusals.map((refusal) => `tracks.0.rtpParameters.codecs.0.parameters: ${refusal}`),
    )
  })
})

describe('the description of issues', () => {
  it('names the first ones and the number of the others', () => {
    const { error } = z.array(z.string()).safeParse(Array.from({ length: 30_000 }, () => 0))
    const issues = error ? describeIssues(error) : []
    expect(issues).toHaveLength(21)
    expect(issues[19]).toMatch(/^19: /)
    expect(issues[20]).toBe('… and 29980 more')
    expect(issues.join('; ').length).toBeLessThan(2_000)
  })

  it('cuts long names of members', () => {
    const { error } = z.strictObject({}).safeParse({ ['x'.repeat(100_000)]: 1 })
    expect(error && describeIssues(error).join('; ')).toHaveLength(1_000)
  })
})
