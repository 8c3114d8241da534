import { describe, expect, it } from '@jest/globals'
import { type Sentence, toVtt } from './vtt.js'

const START = Date.UTC(2026, 0, 2, 10, 30)
const sentence = (text: string, start: number, end: number, name = 'Ada'): Sentence => ({
  name,
  text,
  start: START + start,
  end: START + end,
})

describe('toVtt', () => {
  it('writes one cue for each sentence, with the speaker, from the begin of the first one', () => {
    expect(
      toVtt('tea', [sentence('hello everyone', 0, 1_250), sentence('good morning', 3_725_006, 3_727_000, 'Grace')]),
    ).toBe(`WEBVTT tea

NOTE Time 0 is 2026-01-02T10:30:00.000Z

1
00:00:00.000 --> 00:00:01.250
<v Ada>hello everyone

2
01:02:05.006 --> 01:02:07.000
<v Grace>good morning
`)
  })

  it('escapes names and texts, so that no participant can add cues or markup', () => {
    const [, , , cue] = toVtt('a\n\n--> b', [sentence('x\n\n2\n00:00 --> 00:01\n<b>&', 0, 5, 'A>\n<i')]).split('\n\n')
    expect(cue).toBeUndefined()
    expect(toVtt('a\n\n--> b', [sentence('x\n\n2 --> <b>&', 0, 5, 'A>\n<i')])).toContain(
      'WEBVTT a --&gt; b\n\nNOTE Time 0 is 2026-01-02T10:30:00.000Z\n\n1\n00:00:00.000 --> 00:00:00.005\n<v A&gt; &lt;i>x 2 --&gt; &lt;b&gt;&amp;\n',
    )
  })

  it('keeps the end of a cue after its begin', () => {
    expect(toVtt('', [sentence('no', 0, -50)])).toContain('00:00:00.000 --> 00:00:00.001')
  })

  it('is valid without a sentence', () => {
    expect(toVtt('tea', [])).toBe('WEBVTT tea\n')
  })
})
