import { describe, expect, it } from '@jest/globals'
import { FILE_NAME } from './recording-folders.js'
import { subtitleName } from './subtitles.js'

describe('the name of a file of subtitles', () => {
  const nameOf = (stem: string, lang: string, ...others: string[]): string => {
    const own = { lang, path: 'x' }
    return subtitleName(stem, own, [own, ...others.map((other) => ({ lang: other, path: 'y' }))])
  }

  it.each([
    ['take', ['en-US'], 'take.vtt'],
    ['take~1', ['en-US', 'es-ES'], 'take~1-en-US.vtt'],
    ['take', ['a/../b c', 'es-ES'], 'take-a____b_c.vtt'],
  ])('%s in %j is %s', (stem, [lang = '', ...others], expected) => {
    expect(nameOf(stem, lang, ...others)).toBe(expected)
  })

  it('is one that masters serve, also with the longest id and language', () => {
    expect(nameOf('x'.repeat(220), 'y'.repeat(64), 'z')).toMatch(FILE_NAME)
  })
})
