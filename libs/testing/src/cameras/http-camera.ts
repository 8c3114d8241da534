import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'

const TYPES: Readonly<Record<string, string>> = {
  '.mp4': 'video/mp4',
  '.ts': 'video/mp2t',
  '.m3u8': 'application/vnd.apple.mpegurl',
}
const BOUNDARY = 'picture'

/** Answers of certain paths, instead of the files of the folder. */
export type HttpRoutes = Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>>

/** A camera for tests that serves the files of a folder over HTTP, and `/mjpeg`. */
export class HttpCamera {
  /** `tls`: files of a key and a certificate. */
  static async start(
    folder: string,
    routes: HttpRoutes = {},
    tls?: { key: string; cert: string },
  ): Promise<HttpCamera> {
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      const path = new URL(request.url ?? '/', 'http://camera').pathname
      const route = routes[path]
      if (route) return route(request, response)
      if (path === '/mjpeg') return sendPictures(response)
      void sendFile(join(folder, path), request, response)
    }
    const server = tls
      ? createTlsServer({ key: readFileSync(tls.key), cert: readFileSync(tls.cert) }, handle)
      : createServer(handle)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new HttpCamera(server, tls ? 'https' : 'http')
  }

  readonly #server: Server
  readonly #scheme: string

  private constructor(server: Server, scheme: string) {
    this.#server = server
    this.#scheme = scheme
  }

  url(path: string): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${path}`
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }
}

async function sendFile(path: string, { headers }: IncomingMessage, response: ServerResponse): Promise<void> {
  const data = await readFile(path).catch(() => undefined)
  if (!data) return void response.writeHead(404).end()
  const [, first, last] = /bytes=(\d+)-(\d*)/.exec(headers.range ?? '') ?? []
  const type = { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream', 'accept-ranges': 'bytes' }
  if (first === undefined) return void response.writeHead(200, { ...type, 'content-length': data.length }).end(data)
  const end = last === undefined || last === '' ? data.length - 1 : Number(last)
  const part = data.subarray(Number(first), end + 1)
  const range = { 'content-range': `bytes ${first}-${end}/${data.length}`, 'content-length': part.length }
  response.writeHead(206, { ...type, ...range }).end(part)
}

function sendPictures(response: ServerResponse): void {
  const source = ['-re', '-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=15']
  const output = ['-q:v', '8', '-f', 'mpjpeg', '-boundary_tag', BOUNDARY, '-']
  const ffmpeg = spawn('ffmpeg', ['-nostdin', '-v', 'quiet', ...source, ...output], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  response.writeHead(200, { 'content-type': `multipart/x-mixed-replace; boundary=${BOUNDARY}` })
  ffmpeg.stdout.pipe(response)
  response.once('close', () => ffmpeg.kill('SIGKILL'))
}
