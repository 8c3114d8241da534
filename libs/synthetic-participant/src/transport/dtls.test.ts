import { expect, it } from '@jest/globals'
import { DtlsHandshake, ownCertificate } from './dtls.js'

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

it('sends no message and leaves no timer when it is closed before it started', async () => {
  const own = await ownCertificate()
  const sent: Buffer[] = []
  const handshake = new DtlsHandshake(own, own.parameters, (packet) => sent.push(packet))
  const before = timers()
  handshake.close()
  await expect(handshake.run()).rejects.toThrow('closed before it started')
  expect(sent).toEqual([])
  expect(timers()).toBe(before)
})
