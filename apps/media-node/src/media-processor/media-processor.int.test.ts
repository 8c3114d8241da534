import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { budgetMs, quantile, until } from '@session-service/testing'
import { colorAt, decode, lastPicture } from './fixtures/decode.js'
import { picturesOf, type EncodedCodec } from './fixtures/encoded.js'
import { OUTPUT_SSRC, Processing, processorProgram, type ProcessingOptions } from './fixtures/processing.js'
import { sequenceOf, timestampOf } from './fixtures/rtp-sink.js'
import type { SourceCodec } from './fixtures/rtp-source.js'

const picture = (size: string, rate = 15): string => `testsrc2=size=${size}:rate=${rate}`

let running: Processing | undefined

afterEach(async () => {
  await running?.close()
  running = undefined
})

async function open(options: ProcessingOptions): Promise<Processing> {
  running = await Processing.open(options)
  return running
}

/** A processor that sends pictures. */
async function start(from: SourceCodec, to: EncodedCodec, media = picture('320x180')): Promise<Processing> {
  const processing = await open({ from, to })
  await processing.source.play({ codec: from, media })
  await processing.sink.receive(30)
  return processing
}

async function nextPicture({ sink }: Processing): Promise<void> {
  const count = picturesOf('H264', sink.packets).length
  await until('the next picture arrives', () => picturesOf('H264', sink.packets).length > count)
}

describe('a media processor', () => {
  it.each([
    ['VP8', 'H264'],
    ['H264', 'VP8'],
    ['VP9', 'VP8'],
    ['VP9', 'H264'],
    ['VP8', 'VP8'],
    ['VP8', 'VP9'],
    ['H264', 'VP9'],
  ] as const)('converts %s to %s', async (from, to) => {
    const { sink, seen } = await start(from, to)
    expect(sequenceOf(sink.packets[0])).toBe(65_530)
    const pictures = await decode(to, sink.packets)
    expect(pictures[0]).toEqual({ width: 320, height: 180, isKey: true })
    expect(picturesOf(to, sink.packets)[0]?.isKey).toBe(true)
    for (const packet of sink.packets) expect(packet.readUInt32BE(8)).toBe(OUTPUT_SSRC)
    expect(seen.media).toBe(1)
    await until('the sequence number is reported', () => seen.sequences.length >= 2)
    const numbers = sink.packets.map(sequenceOf)
    expect(numbers).toContain(seen.sequences.at(-1))
    numbers.slice(1).forEach((number, at) => expect(number).toBe(((numbers[at] ?? 0) + 1) & 0xffff))
  })

  it('sends a key frame when the SFU requests one, and not for each of many requests', async () => {
    const processing = await open({ from: 'VP8', to: 'H264' })
    const { source, sink } = processing
    await source.play({ codec: 'VP8', media: picture('320x180'), keyFrameDistance: 1_000 })
    await sink.receive(30)
    const keys = (): number => picturesOf('H264', sink.packets).filter(({ isKey }) => isKey).length
    expect(keys()).toBe(1)
    sink.requestKeyFrame(OUTPUT_SSRC)
    await until('PLI is answered', () => keys() === 2)
    sink.requestKeyFrame(OUTPUT_SSRC, true)
    await until('FIR is answered', () => keys() === 3)
    for (let count = 0; count < 20; count++) {
      sink.requestKeyFrame(OUTPUT_SSRC)
      await nextPicture(processing)
    }
    await until('PLI is answered again', () => keys() >= 4)
    const times = picturesOf('H264', sink.packets).flatMap(({ isKey, timestamp }) => (isKey ? [timestamp / 90] : []))
    times.slice(1).forEach((time, at) => expect(time - (times[at] ?? 0)).toBeGreaterThan(200))
  })

  it.each(['VP8', 'VP9', 'H264'] as const)('sends a requested key frame of %s once, as one picture', async (to) => {
    const { source, sink } = await open({ from: 'VP8', to })
    await source.play({ codec: 'VP8', media: picture('320x180'), keyFrameDistance: 1_000 })
    await sink.receive(20)
    const keys = (): number => picturesOf(to, sink.packets).filter(({ isKey }) => isKey).length
    for (let wanted = 2; wanted <= 4; wanted++) {
      sink.requestKeyFrame(OUTPUT_SSRC)
      await until('a key frame arrives', () => keys() >= wanted)
    }
    const timestamps = picturesOf(to, sink.packets).map(({ timestamp }) => timestamp)
    expect(timestamps).toEqual([...new Set(timestamps)])
  })

  it('sends a key frame on request also while no new pictures arrive', async () => {
    const { source, sink } = await start('VP8', 'H264')
    source.isMuted = true
    const pictures = () => picturesOf('H264', sink.packets)
    await until('the last picture arrives', () => pictures().length >= source.sent)
    const count = pictures().length
    sink.requestKeyFrame(OUTPUT_SSRC)
    await until('a key frame arrives', () => pictures().length > count)
    expect(pictures().at(-1)?.isKey).toBe(true)
    source.isMuted = false
    await until('the pictures continue', () => pictures().length > count + 10)
    await decode('H264', sink.packets)
  })

  it('follows changes of the size with key frames, and makes sizes even', async () => {
    const { source, sink } = await start('VP8', 'H264')
    // Pictures of testsrc may have odd sizes, those of testsrc2 not.
    for (const media of [picture('180x320'), 'testsrc=size=321x181:rate=15']) {
      await source.play({ codec: 'VP8', media })
      await until('a key frame follows', () =>
        picturesOf('H264', sink.packets)
          .slice(-8, -1)
          .some(({ isKey }) => isKey),
      )
      await sink.receive(20)
    }
    const pictures = await decode('H264', sink.packets)
    const sizes = pictures.map(({ width, height }) => `${width}x${height}`)
    expect([...new Set(sizes)]).toEqual(['320x180', '180x320'])
    sizes.forEach((size, at) => size === sizes[at - 1] || expect(pictures[at]?.isKey).toBe(true))
    expect(sizes.at(-1)).toBe('320x180')
  })

  it('changes the size of its pictures while it runs, with a key frame', async () => {
    const { source, sink, processor } = await open({ from: 'VP8', to: 'H264', maxPixels: 320 * 180 })
    await source.play({ codec: 'VP8', media: picture('640x360') })
    const count = (): number => picturesOf('H264', sink.packets).length
    for (const maxPixels of [640 * 360, 160 * 90]) {
      const before = count()
      await until('pictures arrive', () => count() > before + 10)
      processor.limitVideo({ maxKbps: 1_000, maxPixels })
    }
    const before = count()
    await until('pictures arrive', () => count() > before + 10)
    const pictures = await decode('H264', sink.packets)
    const changes = pictures.filter(({ width }, at) => width !== pictures[at - 1]?.width)
    expect(changes).toEqual([
      { width: 320, height: 180, isKey: true },
      { width: 640, height: 360, isKey: true },
      { width: 160, height: 90, isKey: true },
    ])
    expect(Math.abs(sink.delays.at(-1) ?? Infinity)).toBeLessThan(budgetMs(300))
  })

  it('scales pictures down to the most pixels, and keeps their shape', async () => {
    const { source, sink } = await open({ from: 'H264', to: 'VP8', maxPixels: 320 * 180 })
    await source.play({ codec: 'H264', media: picture('640x360') })
    await sink.receive(20)
    expect(await decode('VP8', sink.packets)).toContainEqual({ width: 320, height: 180, isKey: false })
  })

  it('turns the pictures of phones upright', async () => {
    const { source, sink } = await start(
      'VP8',
      'H264',
      'color=red:size=320x180:rate=15,drawbox=w=160:color=blue:t=fill',
    )
    const colors = async () => {
      const last = await lastPicture('H264', sink.packets)
      return [colorAt(last, 0.25, 0.25), colorAt(last, 0.75, 0.25), colorAt(last, 0.25, 0.75)].join(' ')
    }
    const sizes = async () => (await decode('H264', sink.packets)).map(({ width, height }) => `${width}x${height}`)
    expect(await colors()).toBe('003 300 003')
    source.quarters = 1
    await until('the left side is on top', async () => (await colors()) === '003 003 300')
    expect((await sizes()).at(-1)).toBe('180x320')
    source.quarters = 2
    await until('the left side is right', async () => (await colors()) === '300 003 300')
    source.quarters = 3
    await until('the left side is at the bottom', async () => (await colors()) === '300 300 003')
    expect([...new Set(await sizes())]).toEqual(['320x180', '180x320'])
  })

  it('continues after a mute, with timestamps that count the time of it', async () => {
    const { source, sink } = await start('VP8', 'H264')
    source.isMuted = true
    await until('the last picture arrives', () => picturesOf('H264', sink.packets).length >= source.sent)
    const begin = sink.packets.length
    const mutedAt = performance.now()
    await until('a while passes', () => performance.now() - mutedAt > 1_500)
    expect(sink.packets.length).toBe(begin)
    source.isMuted = false
    await source.play({ codec: 'VP8', media: picture('320x180') })
    await sink.receive(20)
    const [before, after] = [sink.packets[begin - 1], sink.packets[begin]]
    expect((timestampOf(after) - timestampOf(before)) / 90).toBeGreaterThan(1_400)
    expect(Math.abs(sink.delays.at(-1) ?? Infinity)).toBeLessThan(budgetMs(300))
    expect((await decode('H264', sink.packets)).length).toBeGreaterThan(20)
  })

  it('sends each picture of a slow screen share at once', async () => {
    const processing = await open({ from: 'VP8', to: 'H264' })
    const { source, sink } = processing
    await source.play({ codec: 'VP8', media: picture('320x180', 2) })
    await until('pictures arrive', () => source.sent >= 4)
    source.isMuted = true
    await until('no picture waits for the next one', () => picturesOf('H264', sink.packets).length === source.sent)
  })

  it('requests a key frame after packet loss, and never sends damaged pictures', async () => {
    const processing = await open({ from: 'VP8', to: 'H264' })
    const { source, sink, seen } = processing
    await source.play({ codec: 'VP8', media: picture('640x360'), keyFrameDistance: 30 })
    await sink.receive(60)
    const { keyFramesWanted } = seen
    source.losses = 5
    await until('a key frame is requested', () => seen.keyFramesWanted > keyFramesWanted)
    await sink.receive(100)
    await decode('H264', sink.packets)
  })

  it('garbage at its input does not end it', async () => {
    const processing = await start('VP8', 'H264')
    const { source, sink } = processing
    for (let count = 0; count < 300; count++) {
      source.sendRaw(randomBytes(1 + ((count * 37) % 1_400)))
      source.sendPayload(randomBytes(1 + ((count * 53) % 1_100)))
    }
    await source.play({ codec: 'VP8', media: picture('320x180') })
    await sink.receive(60)
    expect(processing.isRunning).toBe(true)
    expect(Math.abs(sink.delays.at(-1) ?? Infinity)).toBeLessThan(budgetMs(300))
  })

  it('packets of other senders are ignored', async () => {
    const processing = await start('VP8', 'H264')
    const { source, sink, seen } = processing
    const { keyFramesWanted } = seen
    for (let count = 0; count < 30; count++) {
      for (let sequence = 0; sequence < 0x1_0000; sequence += 0x800) source.sendAsOther(sequence)
      await nextPicture(processing)
    }
    expect(seen.keyFramesWanted).toBe(keyFramesWanted)
    await until('no picture is missing', () => picturesOf('H264', sink.packets).length >= source.sent - 1)
  })

  it('drops pictures that it cannot encode in time', async () => {
    const filter = { type: 'GStreamerFilter', options: { command: 'slow' } }
    const pipelines = { slow: { kind: 'video', description: 'identity sleep-time=300000', properties: [] } } as const
    const { source, sink } = await open({ from: 'VP8', to: 'H264', filter, pipelines })
    await source.play({ codec: 'VP8', media: picture('320x180', 5) })
    await until('pictures arrive', () => picturesOf('H264', sink.packets).length >= 20)
    expect(picturesOf('H264', sink.packets).length).toBeLessThan(source.sent)
    expect(quantile(sink.delays.slice(-40), 0.5)).toBeLessThan(budgetMs(550))
  })

  it('builds up no delay when the machine is slow', async () => {
    const processing = await start('VP8', 'H264')
    const { source, sink, pid } = processing
    process.kill(pid, 'SIGSTOP')
    const sent = source.sent
    await until('pictures wait', () => source.sent > sent + 20)
    process.kill(pid, 'SIGCONT')
    await sink.receive(40)
    await until('the delay is small', () => Math.max(...sink.delays.slice(-5)) < budgetMs(200))
  })

  it('sends sender reports that agree with the timestamps', async () => {
    const { sink } = await start('VP8', 'H264')
    await until('there are two reports', () => sink.reports.length >= 2)
    for (const report of sink.reports) {
      const ntpMs = (report.readUInt32BE(8) - 2_208_988_800) * 1_000 + (report.readUInt32BE(12) / 2 ** 32) * 1_000
      const now = (process.hrtime.bigint() * 90_000n) / 1_000_000_000n
      const ageMs = Number(BigInt.asIntN(32, now - BigInt(report.readUInt32BE(16)))) / 90
      expect(Math.abs(ntpMs + ageMs - Date.now())).toBeLessThan(50)
    }
  })

  it('converts audio to Opus, and continues after a mute', async () => {
    const { source, sink } = await open({ from: 'opus', to: 'opus' })
    await source.play({ codec: 'opus', media: 'sine=frequency=1000:sample_rate=48000' })
    // The first packet is shorter by what the encoder looks ahead; a source that stalls on a busy machine leaves a gap.
    await until('50 packets in a row have the same duration', () => {
      const last = sink.packets.slice(-50)
      const steps = last.slice(1).map((packet, at) => timestampOf(packet) - timestampOf(last[at]))
      return steps.length === 49 && steps.every((step) => step === 960)
    })
    source.isMuted = true
    // A busy machine loses packets, so that their number does not show which one is the last.
    let [count, changedAt] = [0, performance.now()]
    await until('no packet arrives any more', () => {
      if (sink.packets.length !== count) [count, changedAt] = [sink.packets.length, performance.now()]
      return performance.now() - changedAt > 500
    })
    const mutedAt = performance.now()
    await until('a while passes', () => performance.now() - mutedAt > 1_500)
    source.isMuted = false
    const gap = sink.packets.length
    await sink.receive(30)
    const gapMs = Math.max(
      ...[0, 1, 2].map((at) => (timestampOf(sink.packets[gap + at]) - timestampOf(sink.packets[gap + at - 1])) / 48),
    )
    expect(gapMs).toBeGreaterThan(1_400)
    expect(Math.abs(sink.delays.at(-1) ?? Infinity)).toBeLessThan(budgetMs(300))
  })
})

describe('the end of a media processor', () => {
  it('is a failure after SIGKILL, and leaves nothing behind', async () => {
    const processing = await start('VP8', 'H264')
    process.kill(processing.pid, 'SIGKILL')
    expect(await processing.exited()).toMatchObject({ cause: 'failed', text: expect.stringContaining('SIGKILL') })
    expect(() => process.kill(processing.pid, 0)).toThrow('ESRCH')
  })

  it('is no failure when it is stopped', async () => {
    const processing = await start('VP8', 'H264')
    await processing.processor.stop()
    expect(await processing.exited()).toMatchObject({ cause: 'stopped' })
  })

  it('comes with the end of its input', async () => {
    const child = spawn(processorProgram(), { stdio: ['pipe', 'ignore', 'ignore'] })
    child.stdin.end('leg\tvideo\tVP8\t96\t90000\t1\t1\tH264\t9\t0\t2\t97\t0\t500\t0\nstart\n')
    await until('the program exits', () => child.exitCode !== null)
    expect(child.exitCode).toBe(0)
  })

  it('comes at once where a command is invalid', async () => {
    await expect(open({ from: 'opus', to: 'VP8' })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})
