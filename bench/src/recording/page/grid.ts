import type { Session } from '@session-service/client'
import { parameter } from '../../join/page/stopwatch.js'

interface Library {
  Session: typeof Session
}

/** `<x>,<y>,<width>,<height>` of each picture in the order of the streams, separated by `;`. */
const boxes = parameter('boxes')
  .split(';')
  .map((box) => box.split(',').map(Number))

document.documentElement.style.cssText = document.body.style.cssText =
  'margin:0;width:100%;height:100%;overflow:hidden;background:black'

const style = document.createElement('style')
style.textContent = 'video { display: block; width: 100%; height: 100%; object-fit: fill }'
document.head.append(style)

/** Adds the box of a picture, at the same position as in the native composition. */
function addBox(nth: number): HTMLElement {
  const [x, y, width, height] = boxes[nth] ?? []
  const box = document.createElement('div')
  box.style.cssText = `position:absolute;overflow:hidden;left:${x}px;top:${y}px;width:${width}px;height:${height}px`
  document.body.append(box)
  return box
}

const isPlaying = (video: HTMLVideoElement): boolean => video.videoWidth > 0 && video.currentTime > 0

function reportOncePlaying(): void {
  const shown = [...document.querySelectorAll('video')]
  if (shown.length === boxes.length && shown.every(isPlaying)) void fetch('/report/playing', { method: 'POST' })
  else requestAnimationFrame(reportOncePlaying)
}

const { Session: OurSession } = (await import(parameter('library'))) as Library
const session = new OurSession()
let count = 0
session.on('streamCreated', ({ stream }) => {
  void session.subscribe(stream, addBox(count++))
})
await session.connect(parameter('token'))
reportOncePlaying()
