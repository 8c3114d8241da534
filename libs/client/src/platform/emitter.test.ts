import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Emitter } from './emitter.js'

class Source extends Emitter<{ ring: number; [tag: `tag:${string}`]: string }> {
  ring(value: number): void {
    this.emit('ring', value)
  }
  tag(name: string, value: string): void {
    this.emit(`tag:${name}`, value)
  }
}

describe('Emitter', () => {
  let source: Source
  let calls: string[]
  const reports: unknown[] = []
  const listen = (name: string) => (value: number) => void calls.push(`${name}${value}`)

  beforeEach(() => {
    source = new Source()
    calls = []
    reports.length = 0
    globalThis.reportError = (error) => void reports.push(error)
  })
  afterEach(() => {
    jest.restoreAllMocks()
    Reflect.deleteProperty(globalThis, 'reportError')
  })

  it('calls listeners in the order in which they were added', () => {
    source.on('ring', listen('a')).on('ring', listen('b'))
    source.ring(1)
    expect(calls).toEqual(['a1', 'b1'])
  })

  it('calls a `once` listener once, also when the listener emits the event again', () => {
    source.once('ring', (value) => {
      calls.push(`once${value}`)
      source.ring(value + 1)
    })
    source.ring(1)
    source.ring(5)
    expect(calls).toEqual(['once1'])
  })

  it('removes one listener, or all listeners of an event', () => {
    const [a, b] = [listen('a'), listen('b')]
    source.on('ring', a).on('ring', b).off('ring', a)
    source.ring(1)
    source.off('ring')
    source.ring(2)
    expect(calls).toEqual(['b1'])
  })

  it('removes a `once` listener that has not been called', () => {
    const a = listen('a')
    source.once('ring', a).off('ring', a)
    source.ring(1)
    expect(calls).toEqual([])
  })

  it('continues after a listener that throws, and reports the error to the page', () => {
    const mistake = new Error('of the application')
    source.on('ring', () => {
      throw mistake
    })
    source.on('ring', listen('a'))
    source.ring(1)
    expect(calls).toEqual(['a1'])
    expect(reports).toEqual([mistake])
  })

  it('applies changes of the listeners during an event to the next event', () => {
    source.on('ring', () => {
      source.on('ring', listen('late'))
      source.off('ring', later)
    })
    const later = listen('b')
    source.on('ring', later)
    source.ring(1)
    expect(calls).toEqual(['b1'])
    source.ring(2)
    expect(calls).toEqual(['b1', 'late2'])
  })

  it('distinguishes events that match the same name template', () => {
    source.on('tag:x', (value) => calls.push(`x:${value}`)).on('tag:y', (value) => calls.push(`y:${value}`))
    source.tag('x', '1')
    expect(calls).toEqual(['x:1'])
  })
})
