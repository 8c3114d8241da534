import { expect, it } from '@jest/globals'
import { languageCode } from './language-codes.js'

it.each([
  ['en-US', 'eng'],
  ['EN_gb', 'eng'],
  ['de', 'deu'],
  ['zh-CN', 'zho'],
  ['fil-PH', 'fil'],
  ['my-model', 'mya'],
  ['xx-XX', undefined],
  ['meeting', undefined],
  ['', undefined],
])('the language code of %j is %j', (lang, code) => expect(languageCode(lang)).toBe(code))
