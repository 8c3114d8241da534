import type { Bus } from '@session-service/messaging'
import { expect, it } from '@jest/globals'
import { Logger } from '@nestjs/common'
import { LoneMaster } from './lone-master.js'
import type { SignallingGateway } from './signalling.gateway.js'

Logger.overrideLogger(false)

/** One read each second: whether this master has the bus, or has had it since the last one, and which masters hear nodes. */
type Second = readonly [connected: boolean | 'before', serving: readonly string[]]
const seconds = (count: number, ...second: Second): Second[] => Array.from({ length: count }, () => second)

/** The reads after which the clients were sent away. */
function sentAwayAt(reads: readonly Second[]): number[] {
  let notify: (connected: boolean) => void = () => undefined
  const bus = {
    connected: true,
    onStatus: (listener: typeof notify) => {
      notify = listener
      return () => undefined
    },
  }
  const sent: number[] = []
  let nth = 0
  const gateway = { redirectClients: () => Promise.resolve(sent.push(nth)) }
  const master = new LoneMaster(bus as unknown as Bus, gateway as unknown as SignallingGateway, 'one')
  master.onModuleInit()
  for (const [connected, serving] of reads) {
    if (connected === 'before') for (const each of [true, false]) notify(each)
    bus.connected = connected === true
    master.receive(
      serving.map((id) => ({ id })),
      nth * 1_000,
    )
    nth++
  }
  return sent
}

it.each([
  ['has the bus', seconds(30, true, ['one', 'two']), []],
  ['has lost it with all others', seconds(30, false, []), []],
  ['has lost it, and its own row is not written yet', seconds(30, false, ['one']), []],
  ['alone has lost it', seconds(15, false, ['two']), [10]],
  ['alone has lost it for long: also those that came back', seconds(25, false, ['two']), [10, 20]],
  ['connects later than another after an outage', [...seconds(60, false, []), ...seconds(9, false, ['two'])], []],
  [
    'loses it again after it had it',
    [...seconds(9, false, ['two']), ...seconds(1, true, ['two']), ...seconds(9, false, ['two'])],
    [],
  ],
  [
    'has it between two reads',
    [...seconds(9, false, ['two']), ...seconds(1, 'before', ['two']), ...seconds(9, false, ['two'])],
    [],
  ],
])('a master that %s sends its clients away', (_, reads, expected) => {
  expect(sentAwayAt(reads)).toEqual(expected)
})
