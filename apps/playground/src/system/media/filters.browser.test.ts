import { readFileSync, readlinkSync } from 'node:fs'
import { until } from '@session-service/testing'
import { expect, it } from '@jest/globals'
import { useLibrary } from '../../fixtures/library.js'

const library = useLibrary({ role: 'MODERATOR' })

/** Publishes a white canvas with a moving line as a camera with simulcast. */
const publishWhite = (): Promise<void> =>
  library.sender.evaluate(async () => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 640, height: 360 })
    document.body.append(canvas)
    let frame = 0
    setInterval(() => {
      const context = canvas.getContext('2d')
      if (!context) return
      context.fillStyle = 'white'
      context.fillRect(0, 0, 640, 360)
      context.fillStyle = 'gray'
      context.fillRect(0, frame++ % 360, 640, 4)
    }, 50)
    const [video] = canvas.captureStream(20).getVideoTracks()
    if (!video) throw new Error('no track')
    await window.bench.session.publish({ audio: false, video, typeOfVideo: 'CAMERA', simulcast: true })
  })

/** A PNG of one colour, base64. */
const imageOf = (colour: string): Promise<string> =>
  library.sender.evaluate((fill) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 16, height: 16 })
    const context = canvas.getContext('2d')
    if (!context) throw new Error('no context')
    context.fillStyle = fill
    context.fillRect(0, 0, 16, 16)
    return canvas.toDataURL('image/png')
  }, colour)

/** The colours that the receiver shows in the left upper and in the right lower quarter: `rgb`, 0 to 3 for each part. */
const shown = (): Promise<string> =>
  library.receiver.evaluate(() => {
    const element = document.querySelector('video')
    const context = Object.assign(document.createElement('canvas'), { width: 64, height: 36 }).getContext('2d')
    if (!element || !context) return ''
    context.drawImage(element, 0, 0, 64, 36)
    const colourAt = (x: number, y: number): string =>
      [...context.getImageData(x, y, 1, 1).data.subarray(0, 3)].map((part) => Math.round(part / 85)).join('')
    return `${colourAt(8, 9)} ${colourAt(48, 27)}`
  })

async function shows(expected: string): Promise<void> {
  let last = ''
  await until(`the receiver shows ${expected}`, async () => (last = await shown()) === expected, 30_000).catch(
    (error: unknown) => {
      throw new Error(`the receiver shows ${last} and not ${expected}`, { cause: error })
    },
  )
}

/** Applies an overlay in the left upper quarter to the own stream. */
const overlay = async (colour: string): Promise<void> => {
  const image = await imageOf(colour)
  await library.sender.evaluate(async (data) => {
    const [publisher] = window.bench.session.publishers.values()
    await publisher?.stream?.applyFilter('ImageOverlayFilter', { image: data, x: 0, y: 0, width: 0.5, height: 0.5 })
  }, image)
}

/** The media processors of the node. */
function processors(): number[] {
  const { pid = 0 } = library.stack.nodes[0] ?? {}
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number)
  return children.filter((child) => child > 0 && executableOf(child) === process.env['MEDIA_PROCESSOR_BIN'])
}

function executableOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return ''
  }
}

it('a subscriber sees a filter come and go in the same element, also when its program is killed', async () => {
  await publishWhite()
  await library.watch()
  await shows('333 333')
  await library.receiver.evaluate(() => {
    const [subscriber] = window.bench.session.subscribers.values()
    Object.assign(window, { shownBefore: document.querySelector('video'), streamBefore: subscriber?.mediaStream })
  })
  await overlay('red')
  await shows('300 333')
  const isSame = (): Promise<boolean> =>
    library.receiver.evaluate(() => {
      const [subscriber] = window.bench.session.subscribers.values()
      const { shownBefore, streamBefore } = window as unknown as Record<string, unknown>
      const isSameElement =
        document.querySelectorAll('video').length === 1 && document.querySelector('video') === shownBefore
      return isSameElement && subscriber?.mediaStream === streamBefore
    })
  expect(await isSame()).toBe(true)
  expect(await library.receiver.evaluate(() => [...window.bench.session.subscribers.values()][0]?.layers)).toBeNull()

  const blue = await imageOf('blue')
  await library.sender.evaluate(async (image) => {
    const [publisher] = window.bench.session.publishers.values()
    await publisher?.stream?.filter?.execMethod('setImage', { image })
  }, blue)
  await shows('003 333')

  const [pid = 0, ...others] = processors()
  expect(others).toEqual([])
  process.kill(pid, 'SIGKILL')
  await shows('333 333')
  await library.sender.waitForFunction(() => ![...window.bench.session.publishers.values()][0]?.stream?.filter)

  await overlay('red')
  await shows('300 333')
  await library.sender.evaluate(async () => {
    await [...window.bench.session.publishers.values()][0]?.stream?.removeFilter()
  })
  await shows('333 333')
  expect(await isSame()).toBe(true)
  await until('no program is left', () => processors().length === 0)
}, 120_000)
