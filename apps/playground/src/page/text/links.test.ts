import { describe, expect, it } from '@jest/globals'
import { splitLinks } from './links.js'

/** Shows links in brackets: ⟨text→href⟩, or ⟨text⟩ if both are equal. */
const shown = (text: string): string =>
  splitLinks(text)
    .map(({ text: part, href }) => (href === undefined ? part : part === href ? `⟨${part}⟩` : `⟨${part}→${href}⟩`))
    .join('')

describe('links in a message', () => {
  it.each([
    ['', ''],
    ['no link here', 'no link here'],
    ['https://example.org/', '⟨https://example.org/⟩'],
    ['see http://a.example/x?y=1#z now', 'see ⟨http://a.example/x?y=1#z⟩ now'],
    ['HTTPS://Example.org/A', '⟨HTTPS://Example.org/A→https://example.org/A⟩'],
    ['https://a.example/1 https://b.example/2', '⟨https://a.example/1⟩ ⟨https://b.example/2⟩'],
    ['line\nhttps://a.example/\nline', 'line\n⟨https://a.example/⟩\nline'],
  ])('%j is split into %j', (text, expected) => {
    expect(shown(text)).toBe(expected)
  })

  it.each([
    ['Read https://a.example/x.', 'Read ⟨https://a.example/x⟩.'],
    ['Is it https://a.example/x?!', 'Is it ⟨https://a.example/x⟩?!'],
    ['(see https://a.example/x)', '(see ⟨https://a.example/x⟩)'],
    ['(https://a.example/x_(y))', '(⟨https://a.example/x_(y)⟩)'],
    ['https://a.example/[1]', '⟨https://a.example/[1]⟩'],
    ['<https://a.example/x>', '<⟨https://a.example/x⟩>'],
    ['"https://a.example/x"', '"⟨https://a.example/x⟩"'],
  ])('leave the punctuation around an address in the text: %j', (text, expected) => {
    expect(shown(text)).toBe(expected)
  })

  it.each([
    'javascript:alert(1)',
    'data:text/html,<b>x</b>',
    'ftp://a.example/x',
    'file:///etc/passwd',
    'www.example.org',
    'xhttps://a.example/',
    'https://',
    'https://:80/',
    'https://bank.example@evil.example/',
    'https://user:secret@evil.example/',
    '<a href="x">b</a>',
  ])('are only plain http and https addresses, so not %j', (text) => {
    expect(splitLinks(text)).toEqual([{ text }])
  })

  it('end at invisible characters, which could reverse or hide a part of the URL', () => {
    expect(shown('https://a.example/\u202egpj.exe')).toBe('⟨https://a.example/⟩\u202egpj.exe')
    expect(shown('https://a.example/x\u200b.evil')).toBe('⟨https://a.example/x⟩\u200b.evil')
  })

  it('keep all characters of the message', () => {
    const text = 'a (https://x.example/a). b https://u@y.example/ c http://z.example,'
    expect(
      splitLinks(text)
        .map((part) => part.text)
        .join(''),
    ).toBe(text)
  })

  it('are split without deep recursion, also in a long message of brackets', () => {
    const text = `https://a.example/${')'.repeat(60_000)}`
    expect(splitLinks(text).map((part) => part.text)).toEqual(['https://a.example/', ')'.repeat(60_000)])
  })
})
