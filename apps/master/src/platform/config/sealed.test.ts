import { expect, it } from '@jest/globals'
import { seal, unseal } from './sealed.js'

it('only the same secret opens what was sealed, whole', () => {
  const sealed = seal('["Authorization: x"]', 'SECRET')
  expect(sealed).not.toBe(seal('["Authorization: x"]', 'SECRET'))
  expect(unseal(sealed, 'SECRET')).toBe('["Authorization: x"]')
  expect(unseal(sealed, 'OTHER')).toBeUndefined()
  expect(unseal(`${sealed.slice(0, -4)}AAAA`, 'SECRET')).toBeUndefined()
  expect(unseal('', 'SECRET')).toBeUndefined()
})
