import { RPC_CODE, type SignallingResult } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { expect, it } from '@jest/globals'
import { SignallingError } from '../signalling/signalling-client.js'
import { MediaRecovery } from './media-recovery.js'

it('declares the media of a failed attempt lost before it rejoins again', async () => {
  const log: string[] = []
  const failures = [new SignallingError('publish', RPC_CODE.UNAVAILABLE, 'the media is being moved')]
  const recovery = new MediaRecovery(
    {
      lost: () => void log.push('lost'),
      rejoin: async () => {
        log.push('rejoin')
        return { snapshot: { mediaEpoch: 2 } } as SignallingResult<'rejoin'>
      },
      renew: async () => {
        log.push('renew')
        const failure = failures.pop()
        if (failure) throw failure
      },
    },
    1,
  )
  recovery.epochSeen(2, 0)
  await until('the media is restored', () => recovery.events.at(-1)?.kind === 'reconnected')
  expect(log).toEqual(['lost', 'rejoin', 'renew', 'lost', 'rejoin', 'renew'])
})
