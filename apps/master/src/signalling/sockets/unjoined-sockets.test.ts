import { describe, expect, it } from '@jest/globals'
import { UnjoinedSockets } from './unjoined-sockets.js'

describe('UnjoinedSockets', () => {
  it('limits each source and the total', () => {
    const sockets = new UnjoinedSockets({ source: 2, total: 3 })
    const free = sockets.add('a')
    sockets.add('a')
    expect([sockets.exceededBy('a'), sockets.exceededBy('b')]).toEqual(['source', undefined])
    sockets.add('b')
    expect([sockets.exceededBy('b'), sockets.exceededBy('c')]).toEqual(['total', 'total'])
    free()
    expect([sockets.exceededBy('a'), sockets.exceededBy('c')]).toEqual([undefined, undefined])
  })

  it('takes a socket off once, however often it is released', () => {
    const sockets = new UnjoinedSockets({ source: 2, total: 3 })
    const free = sockets.add('a')
    sockets.add('a')
    free()
    free()
    expect(sockets.size).toBe(1)
  })
})
