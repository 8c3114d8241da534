import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { Feed } from './feed.js'
import { LiveStream, type Update } from './live-stream.js'

const open: LiveStream[] = []
afterEach(() => {
  jest.useRealTimers()
  for (const stream of open.splice(0)) stream.destroy()
})
const newStream = (): LiveStream => {
  const stream = new LiveStream()
  open.push(stream)
  return stream
}
/** Everything that happens without I/O. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const text = (stream: LiveStream): string => String(stream.read() ?? '')
const view = (data: string, more: Partial<Update> = {}): Update => ({ feed: 'view', event: 'view', data, ...more })
const eventOf = (data: string): string => `event: view\ndata: ${data}\n\n`

describe('Feed', () => {
  it('reads once for all of its streams, and sends what has changed', async () => {
    const onIdle = jest.fn()
    let reads = 0
    let state = '"one"'
    const feed = new Feed(async () => (reads++, view(state)), 60_000, onIdle)
    const streams = [newStream(), newStream()]
    for (const stream of streams) feed.attach(stream)
    await settled()
    expect([reads, ...streams.map(text)]).toEqual([1, eventOf('"one"'), eventOf('"one"')])
    feed.refresh()
    await settled()
    expect([reads, ...streams.map(text)]).toEqual([2, '', ''])
    state = '"two"'
    feed.refresh()
    await settled()
    expect(streams.map(text)).toEqual([eventOf('"two"'), eventOf('"two"')])
    const late = newStream()
    feed.attach(late)
    expect([reads, text(late)]).toEqual([3, eventOf('"two"')])
    expect(onIdle).not.toHaveBeenCalled()
  })

  it('reads again after a change that a read in progress may have missed', async () => {
    const answers: ((update: Update) => void)[] = []
    const feed = new Feed(
      () => new Promise((resolve) => answers.push(resolve)),
      60_000,
      () => undefined,
    )
    const stream = newStream()
    feed.attach(stream)
    feed.refresh()
    feed.refresh()
    expect(answers).toHaveLength(1)
    answers[0]?.(view('1'))
    await settled()
    expect(answers).toHaveLength(2)
    answers[1]?.(view('2'))
    await settled()
    expect([answers.length, text(stream)]).toEqual([2, eventOf('2')])
  })

  it('stops reading when its last stream has closed', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] })
    const onIdle = jest.fn()
    const feed = new Feed(async () => view('1'), 2_000, onIdle)
    const stream = newStream()
    feed.attach(stream)
    await settled()
    // The next read, and the signs of life of the stream.
    expect(jest.getTimerCount()).toBe(2)
    stream.destroy()
    await settled()
    expect([jest.getTimerCount(), onIdle.mock.calls.length]).toEqual([0, 1])
  })

  it('ignores differences outside of what is compared, and ends streams after the last update', async () => {
    let update = view('{"now":1}', { comparable: '{}' })
    const feed = new Feed(
      async () => update,
      60_000,
      () => undefined,
    )
    const stream = newStream()
    feed.attach(stream)
    await settled()
    update = view('{"now":2}', { comparable: '{}' })
    feed.refresh()
    await settled()
    expect(text(stream)).toBe(eventOf('{"now":1}'))
    update = view('{"status":404}', { event: 'failure', isLast: true })
    feed.refresh()
    await settled()
    expect(text(stream)).toBe('event: failure\ndata: {"status":404}\n\n')
    stream.resume()
    await settled()
    expect(stream.destroyed).toBe(true)
  })
})

describe('LiveStream', () => {
  it('keeps one update of each feed for a client that does not read, the latest', async () => {
    const stream = newStream()
    // The client has read everything and wants more.
    expect(text(stream)).toBe('')
    const large = JSON.stringify('x'.repeat(100_000))
    for (let nth = 0; nth < 1_000; nth += 1) {
      stream.send(view(large))
      stream.send({ feed: 'summary', event: 'summary', data: String(nth) })
    }
    await settled()
    expect(stream.readableLength).toBeLessThan(300_000)
    let received = ''
    for (let part = text(stream); part !== ''; part = text(stream)) {
      received += part
      await settled()
    }
    expect(received).toContain('event: summary\ndata: 999\n\n')
    expect(received.length).toBeLessThan(300_000)
  })

  it('sends no failure that is over to a client that did not read it', async () => {
    const stream = newStream()
    stream.send(view('1'))
    stream.send({ feed: 'summary', event: 'failure', data: '"of the summary"' })
    stream.send(view('"of the view"', { event: 'failure' }))
    stream.send(view('1'))
    expect(text(stream)).toBe(`${eventOf('1')}event: failure\ndata: "of the summary"\n\n`)
  })

  it('sends signs of life while there is nothing else, and nothing after its end', async () => {
    const stream = new LiveStream(1)
    open.push(stream)
    const first = await new Promise<string>((resolve) => stream.once('data', (data: Buffer) => resolve(String(data))))
    expect(first).toBe('event: alive\ndata: \n\n')
    stream.finish()
    stream.send(view('1'))
    const rest: string[] = []
    stream.on('data', (data: Buffer) => rest.push(String(data)))
    await new Promise((resolve) => stream.once('close', resolve))
    expect(rest.join('').replaceAll(first, '')).toBe('')
  })
})
