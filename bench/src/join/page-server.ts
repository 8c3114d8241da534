import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'

const HOST = '127.0.0.1'

export interface PageServer<P extends string> extends AsyncDisposable {
  /** Returns the address of a page with its parameters. */
  address(page: P, parameters: Record<string, string>): string
}

interface PagesOptions<P extends string> {
  /** Folder of the page modules. */
  folder: string
  pages: readonly P[]
  /** Called when a page posts to `/report/<event>`. */
  onReport?: (event: string) => void
}

const REPORT_PATH = '/report/'

/** Serves pages with one script each, bundled and minified in the same way as the client library. */
export async function servePages<P extends string>(options: PagesOptions<P>): Promise<PageServer<P>> {
  const { folder, pages, onReport } = options
  const scripts = new Map<string, string>(
    await Promise.all(pages.map(async (page) => [`/${page}.js`, await bundle(join(folder, `${page}.js`))] as const)),
  )
  const server = createServer(({ url = '/' }, answer) => {
    const [path = '/'] = url.split('?')
    if (path.startsWith(REPORT_PATH)) onReport?.(path.slice(REPORT_PATH.length))
    const script = scripts.get(path)
    const page = pages.find((name) => path === `/${name}`)
    if (script) answer.setHeader('content-type', 'text/javascript').end(script)
    else if (page) answer.setHeader('content-type', 'text/html').end(html(page))
    else answer.writeHead(404).end()
  }).listen(0, HOST)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    address: (page, parameters) => `http://${HOST}:${port}/${page}?${new URLSearchParams(parameters).toString()}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const html = (page: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>${page}</title>` +
  `<body><script type="module" src="/${page}.js"></script></body></html>`

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: ['es2022'],
    minify: true,
    write: false,
    logLevel: 'warning',
  })
  return outputFiles.map(({ text }) => text).join('')
}
