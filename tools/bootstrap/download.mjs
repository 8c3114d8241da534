// Run by the pinned Node, which knows proxies (NODE_USE_ENV_PROXY): node download.mjs <url> <file> [ms without a byte]
import { createWriteStream } from 'node:fs'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pathToFileURL } from 'node:url'

/** Fetches `url` into `file`; gives up when nothing has come for `idleMs`, however long the whole takes. */
export async function download(url, file, idleMs) {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(new Error(`no answer for ${idleMs / 1000} s`)), idleMs)
  const alive = new Transform({
    transform(chunk, _encoding, done) {
      timer.refresh()
      done(null, chunk)
    },
  })
  try {
    const response = await fetch(url, { signal: abort.signal, redirect: 'follow' })
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`)
    await pipeline(Readable.fromWeb(response.body), alive, createWriteStream(file), { signal: abort.signal })
  } catch (error) {
    throw abort.signal.aborted ? abort.signal.reason : error
  } finally {
    clearTimeout(timer)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [url, file, idleMs = '15000'] = process.argv.slice(2)
  try {
    await download(url, file, Number(idleMs))
  } catch (error) {
    console.error([error.message, error.cause?.code ?? error.cause?.message].filter(Boolean).join(': '))
    process.exitCode = 1
  }
}
