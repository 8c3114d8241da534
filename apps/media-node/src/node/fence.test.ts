import { beforeEach, describe, expect, it } from '@jest/globals'
import { NODE_SILENT_MS } from '@session-service/contract'
import { Fence } from './fence.js'

let now: number
let fence: Fence
beforeEach(() => {
  now = 1_000
  fence = new Fence(() => now)
  fence.contact()
})

const LONG = NODE_SILENT_MS + 1

describe('the fence', () => {
  it('is open while the bus answers in time', () => {
    for (let i = 0; i < 10; i += 1) {
      now += NODE_SILENT_MS
      expect(fence.isOpen()).toBe(true)
      fence.contact()
    }
    expect(fence.shutCount).toBe(0)
  })

  it('is open before the first contact, without a time limit', () => {
    const fresh = new Fence(() => now)
    now += LONG
    expect(fresh.isOpen()).toBe(true)
    fresh.contact()
    expect(fresh.isOpen()).toBe(true)
  })

  it('shuts after the silent window of the moment', () => {
    let silentMs = 2 * LONG
    const other = new Fence(
      () => now,
      () => silentMs,
    )
    other.contact()
    now += LONG
    expect(other.isOpen()).toBe(true)
    silentMs = NODE_SILENT_MS
    expect(other.isOpen()).toBe(false)
  })

  it('shuts after a suspension when its state is read first', () => {
    now += LONG
    expect(fence.isOpen()).toBe(false)
  })

  it('shuts after a suspension when the answer of the bus arrives first', () => {
    now += LONG
    fence.contact()
    expect(fence.isOpen()).toBe(false)
  })

  it('shuts once per silence, so that it can be opened again', () => {
    now += LONG
    fence.isOpen()
    now += LONG
    fence.isOpen()
    fence.contact()
    expect(fence.shutCount).toBe(1)
    expect(fence.open(1)).toBe(true)
    expect(fence.isOpen()).toBe(true)
  })

  it('stays shut until a master has answered a request that was sent after the last shut', () => {
    fence.shut()
    const asked = fence.shutCount
    fence.shut()
    expect(fence.open(asked)).toBe(false)
    expect(fence.isOpen()).toBe(false)
    expect(fence.open(fence.shutCount)).toBe(true)
    expect(fence.isOpen()).toBe(true)
  })

  it('ignores an answer that arrived during a second suspension', () => {
    now += LONG
    fence.isOpen()
    const asked = fence.shutCount
    fence.contact()
    now += LONG
    fence.contact()
    expect(fence.open(asked)).toBe(false)
  })
})
