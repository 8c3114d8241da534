import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readH264 } from '@session-service/synthetic-participant'

/** The encodings of the peer for each kind: the same as of the program that reads cameras. */
const VIDEO_BPS = 1_613_000
const ENCODE_VIDEO = `-c:v libx264 -preset superfast -tune zerolatency -profile:v baseline -pix_fmt yuv420p -b:v ${VIDEO_BPS} -g 50`
const ENCODE_AUDIO = '-c:a libopus -b:a 64k -ar 48000 -ac 2'
/** By default it looks at several seconds of media before it begins. */
const PROMPT = ['-fflags', 'nobuffer', '-analyzeduration', '100000', '-probesize', '100000']
export const PEERS = {
  copied: '-c copy',
  audio: `-c:v copy ${ENCODE_AUDIO}`,
  video: `${ENCODE_VIDEO} -c:a copy`,
} as const

/** An `ffmpeg` that reads a camera and sends RTP to a port of this process, as the program of a media node does. */
export class Peer {
  static async start(url: string, options: string): Promise<Peer> {
    const [video, audio] = await Promise.all([listen(), listen()])
    const output = (kind: 'v' | 'a', socket: Socket): string[] => {
      const to = `rtp://127.0.0.1:${socket.address().port}?pkt_size=1200`
      return ['-map', `0:${kind}`, ...options.split(' '), '-f', 'rtp', to]
    }
    const args = ['-nostdin', '-v', 'error', ...PROMPT, '-rtsp_transport', 'tcp', '-i', url]
    const startedAt = performance.now()
    const child = spawn('ffmpeg', [...args, ...output('v', video), ...output('a', audio)], { stdio: 'ignore' })
    await once(child, 'spawn')
    return new Peer(child, [video, audio], startedAt)
  }

  /** The time from its start to its first key frame, ms. */
  firstPictureMs: number | undefined
  packets = 0

  private constructor(
    readonly child: ChildProcess,
    private readonly sockets: readonly Socket[],
    startedAt: number,
  ) {
    sockets[0]?.on('message', (packet) => {
      this.packets++
      if (this.firstPictureMs === undefined && readH264(packet.subarray(12))?.key)
        this.firstPictureMs = performance.now() - startedAt
    })
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  async stop(): Promise<void> {
    const isRunning = this.child.exitCode === null && this.child.signalCode === null
    if (isRunning && this.child.kill('SIGKILL')) await once(this.child, 'exit')
    for (const socket of this.sockets) socket.close()
  }
}

async function listen(): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 2_000_000 })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return socket
}
