import { describe, expect, it } from '@jest/globals'
import { LANGUAGES, languageName, preferredLanguage } from './languages.js'

describe('languages of captions', () => {
  it.each<[string[], string]>([
    [['en-US', 'en'], 'en-US'],
    [['de-AT', 'en-US'], 'de-DE'],
    [['DE-de'], 'de-DE'],
    [['pt'], 'pt-BR'],
    [['tlh', 'fr-CA'], 'fr-FR'],
    [['tlh'], 'en-US'],
    [[], 'en-US'],
  ])('a browser that prefers %j starts with %s', (preferences, expected) => {
    expect(preferredLanguage(preferences)).toBe(expected)
  })

  it('have names, except tags that are none', () => {
    expect(languageName('de-DE')).toBe('German (Germany)')
    expect(languageName('no language')).toBe('no language')
    for (const tag of LANGUAGES) expect(languageName(tag)).not.toBe(tag)
  })
})
