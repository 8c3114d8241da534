import { describe, expect, it } from '@jest/globals'
import { tonePacket, TONES } from './tone.js'

describe('tones', () => {
  it('are Opus packets of one 20 ms CELT frame', () => {
    // Configuration 31 (CELT, fullband, 20 ms), mono, one frame.
    for (const hz of TONES) expect(tonePacket(hz)[0]).toBe((31 << 3) | 0)
    expect(new Set(TONES.map((hz) => tonePacket(hz).toString('hex'))).size).toBe(TONES.length)
  })

  it('are listed in the error for an unknown pitch', () => {
    expect(() => tonePacket(440)).toThrow('no tone of 440 Hz: one of 300, 450,')
  })
})
