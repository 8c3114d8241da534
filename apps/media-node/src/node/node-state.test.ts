import { describe, expect, it } from '@jest/globals'
import { NodeState } from './node-state.js'

describe('a new room', () => {
  it('is accepted at any CPU load and rejected while the node drains', () => {
    const state = new NodeState()
    state.cpu.add({ idle: 0, total: 0 })
    state.cpu.add({ idle: 0, total: 1_000 })
    expect(state.cpu.load).toBe(100)
    expect(() => state.requireAcceptingRooms()).not.toThrow()
    state.lifecycle = { phase: 'draining', deadline: null, final: false }
    expect(() => state.requireAcceptingRooms()).toThrow(expect.objectContaining({ code: 'NO_CAPACITY' }))
  })
})
