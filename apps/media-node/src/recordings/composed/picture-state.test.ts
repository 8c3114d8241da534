import { describe, expect, it } from '@jest/globals'
import { PictureState } from './picture-state.js'

describe('a stream', () => {
  it('has a picture from the first decoded one on', () => {
    const state = new PictureState()
    expect(state.hasPicture).toBe(false)
    expect([state.decoded(true), state.decoded(true)]).toEqual([true, false])
    expect(state.hasPicture).toBe(true)
  })

  it('awaits a new picture after it was muted', () => {
    const state = new PictureState()
    state.decoded(true)
    expect(state.changed(false)).toBe(false)
    expect(state.hasPicture).toBe(false)
    expect([state.changed(true), state.changed(true)]).toEqual([true, false])
    expect(state.decoded(true)).toBe(true)
  })

  it('does not show the last pictures of a muted one, which arrive late', () => {
    const state = new PictureState()
    state.changed(false)
    expect(state.decoded(false)).toBe(false)
    expect(state.hasPicture).toBe(false)
    expect(state.changed(true)).toBe(true)
  })
})
