import { describe, expect, it } from '@jest/globals'
import { budgetMs } from '@session-service/local-stack'
import { EventLog, type ReceivedEvent } from './event-log.js'

const signal = (data: string): ReceivedEvent => ({ method: 'signal', params: { type: 'signal', data }, at: 1 })

describe('EventLog', () => {
  it('finds past and future events', async () => {
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

  it('rejects with the received events, or with the reason of the end', async () => {
    const log = new EventLog()
    log.add(signal('one'))
    await expect(log.waitFor('reconnect', undefined, 5)).rejects.toThrow(
      `no matching reconnect within ${budgetMs(5)} ms; received: signal`,
    )
    const waiting = log.waitFor('reconnect')
    log.end('the participant was closed')
    await expect(waiting).rejects.toThrow('the participant was closed before the expected event')
  })

  it('calls listeners until they are removed', () => {
    const log = new EventLog()
    const received: string[] = []
    const off = log.on('signal', ({ params }) => received.push(params.data))
    log.add(signal('one'))
    off()
    log.add(signal('two'))
    expect(received).toEqual(['one'])
  })
})

it('hands events that arrived before to listeners that are added later, when asked to', () => {
  const log = new EventLog()
  log.add({ method: 'mediaLost', params: { mediaEpoch: 2, afterMs: 0 }, at: 1 })
  const epochs: number[] = []
  log.on('mediaLost', ({ params }) => epochs.push(params.mediaEpoch))
  expect(epochs).toEqual([])
  log.replay()
  expect(epochs).toEqual([2])
})
