import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '@session-service/config'
import { afterAll, expect, it } from '@jest/globals'
import { mmdb } from './fixtures/mmdb.js'
import { LocationsService } from './locations.service.js'

const folder = mkdtempSync(join(tmpdir(), 'location-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function locations(content?: Buffer | string): Promise<LocationsService> {
  const file = content === undefined ? '' : join(folder, 'city.mmdb')
  if (content !== undefined) writeFileSync(file, content)
  const service = new LocationsService({ SERVICE_GEOIP_DATABASE: file })
  await service.onModuleInit()
  return service
}
const named = (name: string) => ({ names: { en: name } })

it.each([
  ['192.0.2.7', 'Madrid, Spain'],
  ['192.0.2.8', 'Spain'],
  ['192.0.2.9', 'unknown'],
  ['203.0.113.1', 'unknown'],
  ['127.0.0.1', 'unknown'],
  ['::1', 'unknown'],
  ['unknown', 'unknown'],
])('the location of %s is %s', async (ip, place) => {
  const service = await locations(
    mmdb({
      '192.0.2.7': { city: named('Madrid'), country: named('Spain') },
      '192.0.2.8': { country: named('Spain') },
      '192.0.2.9': { continent: named('Europe') },
    }),
  )
  expect(service.of(ip)).toBe(place)
})

it('answers unknown without a database', async () => {
  expect((await locations()).of('192.0.2.7')).toBe('unknown')
})

it('refuses to start when the file is not an MMDB database', async () => {
  await expect(locations('no database')).rejects.toThrow(ConfigError)
  await expect(locations('no database')).rejects.toThrow(/SERVICE_GEOIP_DATABASE: cannot be read as an MMDB database/)
})
