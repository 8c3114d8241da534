import { describe, expect, it } from '@jest/globals'
import { freeName } from './individual.js'

describe('freeName', () => {
  it.each([
    [[], { name: 'str_A.webm', streamId: 'str_A' }, 'str_A.webm'],
    [['str_A.webm'], { name: 'str_A.webm', streamId: 'str_A' }, 'str_A-1.webm'],
    [['str_A.webm', 'str_A-1.webm'], { name: 'str_A-1.webm', streamId: 'str_A' }, 'str_A-2.webm'],
    [['str_A.webm'], { name: 'str_A.mkv', streamId: 'str_A' }, 'str_A-1.mkv'],
    [['str_A.webm'], { name: 'str_B.webm', streamId: 'str_B' }, 'str_B.webm'],
    [['x.webm'], { name: 'x.webm' }, 'x-1.webm'],
  ])('beside %j %j is %s', (taken, file, name) => expect(freeName(new Set(taken), file)).toBe(name))
})
