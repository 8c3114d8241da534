import { budgetMs, until } from '@session-service/local-stack'
import { describe, expect, it } from '@jest/globals'
import { SignallingClient } from '../signalling/signalling-client.js'
import { BareSfu } from '../sfu/bare-sfu.js'
import { ownCertificate } from '../transport/dtls.js'
import { ParticipantMedia } from './media.js'
import { pacer } from '../rtp/pacer.js'
import { SyntheticParticipant } from './participant.js'

describe('a closed synthetic participant', () => {
  it('leaves no socket and no timer behind', async () => {
    const sfu = await BareSfu.start()
    const resources = (): string[] =>
      process.getActiveResourcesInfo().filter((kind) => /UDP|Timeout|TCPSocket/.test(kind))
    const before = resources()
    const ann = await SyntheticParticipant.join(sfu.token())
    const bob = await SyntheticParticipant.join(sfu.token())
    const { streamId } = await ann.publish()
    const seen = await bob.subscribe(streamId)
    await until('media flows', () => (seen.stats().video?.packets ?? 0) > 0)
    expect(resources().filter((kind) => kind === 'UDPWrap')).toHaveLength(2)
    await Promise.all([ann.leave(), bob.close()])
    await bob.close()
    expect(pacer.sources).toBe(0)
    // Measured while "until" waits, which has a timer of its own.
    await until('as many sockets and timers as before', () => resources().length <= before.length + 1)
    expect(resources()).not.toContain('UDPWrap')
    await expect(ann.publish()).rejects.toThrow('not open')
    await expect(bob.waitFor('snapshot', undefined, 20)).rejects.toThrow(
      `no matching snapshot within ${budgetMs(20)} ms`,
    )
    await sfu.stop()
  })

  it('leaves no socket of a resume that was in progress', async () => {
    const sfu = await BareSfu.start()
    const ann = await SyntheticParticipant.join(sfu.token())
    const refused = expect(ann.resume()).rejects.toThrow('the participant was closed')
    await ann.close()
    await refused
    const sockets = (): string[] => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap')
    await until('all sockets are closed', () => sockets().length === 0)
    await sfu.stop()
  })

  it('sends no media of a publication that the server accepts while it closes', async () => {
    const sfu = await BareSfu.start()
    const socket = await SignallingClient.open(sfu.token())
    const media = new ParticipantMedia(await socket.join(), await ownCertificate())
    const publication = media.publication({})
    media.close()
    media.start(publication)
    expect(pacer.sources).toBe(0)
    await socket.close()
    await sfu.stop()
  })
})
