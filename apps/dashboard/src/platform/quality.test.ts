import { expect, it } from '@jest/globals'
import { qualityOf, toneOf } from './quality.js'

it.each([
  [5, 'Excellent', 'good'],
  [4, 'Good', 'good'],
  [3, 'Fair', 'warn'],
  [2, 'Poor', 'bad'],
  [0, 'No media arrives', 'bad'],
  [9, 'Excellent', 'good'],
  [null, 'Not measured', 'neutral'],
])('calls the network quality %s "%s"', (level, text, tone) => expect(qualityOf(level)).toEqual({ text, tone }))

it.each([
  ['UP', 'good'],
  ['DOWN', 'bad'],
  ['waiting-idle-to-terminate', 'warn'],
  ['launching', 'info'],
  ['starting', 'info'],
  ['failed', 'bad'],
  ['terminated', 'neutral'],
])('gives the status %s the tone "%s"', (status, tone) => expect(toneOf(status)).toBe(tone))
