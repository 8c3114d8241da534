import { describe, expect, it } from '@jest/globals'
import { EventLog, type ReceivedEvent } from './event-log.js'

const signal = (data: string): ReceivedEvent => ({ method: 'signal', params: { type: 'signal', data }, at: 1 })

describe('log of events', () => {
  it('finds what came already and what comes', async () => {
    const log = new EventLog()
    log.add(signal('one'))
    await expect(log.waitFor('signal')).resolves.toMatchObject({ params: { data: 'one' } })
    const waiting = log.waitFor('signal', ({ data }) => data === 'three')
    log.add(signal('two'))
    log.add(signal('three'))
    await expect(waiting).resolves.toMatchObject({ params: { data: 'three' }, at: 1 })
    expect(log.of('signal')).toHaveLength(3)
    expect(log.of('snapshot')).toEqual([])
  })

  it('says what came instead, and why nothing more will', async () => {
    const log = new EventLog()
    log.add(signal('one'))
    await expect(log.waitFor('reconnect', undefined, 5)).rejects.toThrow(
      'no reconnect such as was waited for within 5 ms; there came: signal',
    )
    const waiting = log.waitFor('reconnect')
    log.end('the participant was closed')
    await expect(waiting).rejects.toThrow('the participant was closed while an event was waited for')
  })

  it('calls listeners until they are taken off', () => {
    const log = new EventLog()
    const heard: string[] = []
    const off = log.on('signal', ({ params }) => heard.push(params.data))
    log.add(signal('one'))
    off()
    log.add(signal('two'))
    expect(heard).toEqual(['one'])
  })
})
