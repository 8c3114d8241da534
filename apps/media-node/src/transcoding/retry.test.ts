import { expect, it } from '@jest/globals'
import { retryDelay } from './retry.js'

it('a program is started again at once after its first failure, and then with a back-off', () => {
  expect([1, 2, 3, 4, 20].map((failures) => retryDelay(failures, 1))).toEqual([0, 500, 1_000, 2_000, 15_000])
})
