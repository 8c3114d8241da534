import { readFileSync, readlinkSync } from 'node:fs'
import { until } from '@session-service/testing'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { type Call, useCall } from '../../fixtures/call.js'
import { Tab } from '../../fixtures/tab.js'

interface Report {
  type: string
  id: string
  kind?: string
  codecId?: string
  mimeType?: string
}

interface Codecs {
  sent: string | undefined
  received: Record<string, string>
}

/** The codecs of the videos that a tab sends and receives, received ones by the connection of their sender. */
const codecsOf = ({ page }: Tab): Promise<Codecs> =>
  page.evaluate(async () => {
    const { session } = window.playground
    const codecIn = (reports: RTCStatsReport | undefined, type: string): string | undefined => {
      const all = [...(reports?.values() ?? [])] as Report[]
      const stream = all.find((report) => report.type === type && report.kind === 'video')
      return all.find(({ id }) => id === stream?.codecId)?.mimeType
    }
    const received: Record<string, string> = {}
    for (const subscriber of session?.subscribers.values() ?? []) {
      const { connectionId } = subscriber.stream.connection
      received[connectionId] = codecIn((await subscriber.getStats()).video, 'inbound-rtp') ?? 'none'
    }
    return { sent: codecIn((await session?.getStats())?.send, 'outbound-rtp'), received }
  })

/** Tabs do not have the video codec that the parameter `without` of their URL names. */
const useReducedCodecs = ({ browser }: Call): Promise<unknown> =>
  browser.context.addInitScript(() => {
    const without = new URLSearchParams(location.search).get('without')
    if (!without) return
    // mediasoup-client reads the capabilities of the browser from the offer of a peer connection.
    const { prototype } = RTCPeerConnection
    const { addTransceiver } = prototype
    prototype.addTransceiver = function (this: RTCPeerConnection, trackOrKind, init) {
      const transceiver = addTransceiver.call(this, trackOrKind, init)
      const kind = typeof trackOrKind === 'string' ? trackOrKind : trackOrKind.kind
      const { codecs } = (kind === 'video' && RTCRtpReceiver.getCapabilities('video')) || { codecs: [] }
      if (codecs.length > 0)
        transceiver.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType !== `video/${without}`))
      return transceiver
    }
  })

function executableOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return ''
  }
}

describe('tabs without common video codecs', () => {
  const call = useCall({ frames: 5 })

  beforeAll(() => useReducedCodecs(call))

  const transcodings = async (): Promise<number> => {
    const text = await (await fetch(`${call.stack.nodes[0]?.opsUrl}/metrics`)).text()
    return Number(/^session_service_media_transcodings (\d+)$/m.exec(text)?.[1])
  }

  /** The processes of the node that transcode. */
  function processors(): number[] {
    const { pid = 0 } = call.stack.nodes[0] ?? {}
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number)
    return children.filter((child) => child > 0 && executableOf(child) === process.env['MEDIA_PROCESSOR_BIN'])
  }

  async function newSession(allowTranscoding: boolean): Promise<void> {
    call.newSession()
    await call.stack.api.createSession({
      ...{ customSessionId: call.sessionId, forcedVideoCodec: 'VP8', allowTranscoding },
    })
  }

  it('decode each other in a session that allows transcoding, with one transcoding for each stream', async () => {
    await newSession(true)
    const ada = await call.join('Ada', { without: 'H264' })
    const grace = await call.join('Grace', { without: 'VP8' })
    await Promise.all([ada.seesFrames(20, 30_000), grace.seesFrames(20, 30_000)])
    const [adas, graces] = [await ada.connectionId, await grace.connectionId]
    expect(await codecsOf(ada)).toEqual({ sent: 'video/VP8', received: { [graces]: 'video/VP8' } })
    expect(await codecsOf(grace)).toEqual({ sent: 'video/H264', received: { [adas]: 'video/H264' } })
    const alan = await call.join('Alan', { role: 'SUBSCRIBER' })
    await alan.seesFrames(20, 30_000)
    expect((await codecsOf(alan)).received).toEqual({ [adas]: 'video/VP8', [graces]: 'video/H264' })
    expect(await transcodings()).toBe(2)

    await ada.page.keyboard.press('v')
    await grace.tile('Ada').and(grace.page.locator('.no-picture')).waitFor()
    await ada.page.keyboard.press('v')
    await grace.tile('Ada').and(grace.page.locator('.playing')).waitFor()
    await grace.seesFrames(20, 30_000)

    const former = processors()
    for (const pid of former) process.kill(pid, 'SIGKILL')
    await until(
      'others transcode',
      () => processors().length === 2 && !processors().some((pid) => former.includes(pid)),
    )
    await Promise.all([ada.seesFrames(20, 30_000), grace.seesFrames(20, 30_000)])

    for (const tab of [alan, grace, ada]) await tab.leave()
    await until('nothing is transcoded any more', async () => (await transcodings()) === 0 && processors().length === 0)
  }, 120_000)

  it('hear each other otherwise, and the page explains why one of them cannot publish', async () => {
    await newSession(false)
    const ada = await call.join('Ada', { without: 'H264' })
    const query = { session: call.sessionId, nickname: 'Grace', autojoin: '1', without: 'VP8' }
    const grace = await Tab.open(call.browser.context, call.stack.playgroundUrl ?? '', query)
    const notice = 'This browser cannot send the video of this session. (tracks: the session allows video/VP8 and not'
    await grace.page.getByText(notice).waitFor()
    await until('sound of Ada', async () => (await grace.received()).audioEnergy > 0)
    expect([(await grace.received()).framesDecoded, await transcodings()]).toEqual([0, 0])
    expect(await ada.page.locator('.tile').count()).toBe(2)
  }, 60_000)
})

describe('a simulcast publisher', () => {
  const call = useCall({ frames: 5, browser: { isCaptureFull: true } })

  beforeAll(() => useReducedCodecs(call))

  it('is transcoded in its full size for a tab without its codec', async () => {
    call.newSession()
    const options = { customSessionId: call.sessionId, forcedVideoCodec: 'VP8', allowTranscoding: true } as const
    await call.stack.api.createSession(options)
    const ada = await call.join('Ada')
    const grace = await call.join('Grace', { without: 'VP8', role: 'SUBSCRIBER' })
    await until('the full size', async () => (await grace.received()).frameWidth === 960, 60_000)
    await grace.seesFrames(30, 30_000)
    expect((await codecsOf(grace)).received).toEqual({ [await ada.connectionId]: 'video/H264' })
  }, 120_000)
})
