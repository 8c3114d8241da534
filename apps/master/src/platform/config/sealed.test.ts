import { expect, it } from '@jest/globals'
import { seal, unseal } from './sealed.js'

it('unseal returns the text for the same secret and an unchanged ciphertext only', () => {
  const sealed = seal('["Authorization: x"]', 'SECRET')
  expect(sealed).not.toBe(seal('["Authorization: x"]', 'SECRET'))
  expect(unseal(sealed, ['SECRET'])).toBe('["Authorization: x"]')
  expect(unseal(sealed, ['OTHER'])).toBeUndefined()
  expect(unseal(`${sealed.slice(0, -4)}AAAA`, ['SECRET'])).toBeUndefined()
  expect(unseal('', ['SECRET'])).toBeUndefined()
})

it('unseal returns the text that was sealed with any of its secrets', () => {
  expect(unseal(seal('text', 'FORMER'), ['SECRET', 'FORMER'])).toBe('text')
  expect(unseal(seal('text', 'FORMER'), ['SECRET', 'OTHER'])).toBeUndefined()
})
