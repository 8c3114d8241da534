import { describe, expect, it } from '@jest/globals'
import { speakerOf, textLine, VTT_HEADER, vttCue } from './transcript-formats.js'

const SENTENCE = {
  uniqueSessionId: 'my_session_1_1790000000000',
  connectionId: 'con_A',
  clientData: 'Alice',
  text: 'can you hear me now',
  startTime: 1_790_000_061_200,
  endTime: 1_790_000_062_900,
}

describe('the speaker', () => {
  it.each([
    ['Alice', 'Alice'],
    [' Bob Example ', 'Bob Example'],
    ['', 'con_A'],
    ['{"name":"Alice"}', 'con_A'],
    ['["Alice"]', 'con_A'],
    ['two\nlines', 'con_A'],
    ['x'.repeat(65), 'con_A'],
  ])('with the client data %j is %j', (clientData, speaker) => {
    expect(speakerOf({ clientData, connectionId: 'con_A' })).toBe(speaker)
  })
})

describe('a WebVTT cue', () => {
  it('has the times since the creation of the session, and the name of the speaker', () => {
    expect(VTT_HEADER + vttCue(SENTENCE)).toBe(
      'WEBVTT\n\n00:01:01.200 --> 00:01:02.900\n<v Alice>can you hear me now</v>\n',
    )
  })

  it('escapes its text, which cannot end the cue', () => {
    expect(vttCue({ ...SENTENCE, clientData: 'A <b>&', text: 'one --> two\n\n00:00 <c>&amp;' })).toBe(
      '\n00:01:01.200 --> 00:01:02.900\n<v A &lt;b&gt;&amp;>one --&gt; two 00:00 &lt;c&gt;&amp;amp;</v>\n',
    )
  })

  it.each([
    ['lasts three seconds without a known end', { endTime: null }, '00:01:01.200 --> 00:01:04.200'],
    ['never has an end before its begin', { endTime: 1_790_000_061_000 }, '00:01:01.200 --> 00:01:01.201'],
    [
      'starts at zero when it is older than the session',
      { startTime: 1_789_999_999_000 },
      '00:00:00.000 --> 00:01:02.900',
    ],
    ['counts hours', { startTime: 1_790_090_000_005, endTime: 1_790_090_001_000 }, '25:00:00.005 --> 25:00:01.000'],
  ])('%s', (_, change, times) => {
    expect(vttCue({ ...SENTENCE, ...change })).toContain(`\n${times}\n`)
  })
})

it('a line of text has time, speaker and text without line breaks', () => {
  expect(textLine({ ...SENTENCE, text: ' can you\nhear me ' })).toBe('[00:01:01] Alice: can you hear me\n')
})
