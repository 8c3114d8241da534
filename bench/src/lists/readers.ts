import { Agent, request } from 'undici'
import { serveHelper } from '../helper/serve.js'
import { READERS } from './api.js'

async function read(url: string, secret: string, readers: number, seconds: number) {
  const authorization = `Basic ${Buffer.from(`SERVICEAPP:${secret}`).toString('base64')}`
  const dispatcher = new Agent({ connections: readers })
  const end = performance.now() + seconds * 1_000
  let [lists, bytes] = [0, 0]
  const reader = async (): Promise<void> => {
    while (performance.now() < end) {
      const { statusCode, body } = await request(`${url}/service/api/sessions`, {
        dispatcher,
        headers: { authorization },
      })
      if (statusCode !== 200) throw new Error(`GET sessions answered ${statusCode}: ${await body.text()}`)
      for await (const piece of body) bytes += (piece as Buffer).length
      lists++
    }
  }
  await Promise.all(Array.from({ length: readers }, reader))
  await dispatcher.close()
  return { lists, megabytes: bytes / 1e6 }
}

serveHelper(READERS, { read: ({ url, secret, readers, seconds }) => read(url, secret, readers, seconds) })
