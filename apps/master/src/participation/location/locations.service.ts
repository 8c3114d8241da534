import { ConfigError } from '@session-service/config'
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import { type CityResponse, open, type Reader, validate } from 'maxmind'
import { messageOf } from '@session-service/server-kit'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'

const UNKNOWN = 'unknown'

/** Looks up the location of an address in a database on the operator's disk, without network access. */
@Injectable()
export class LocationsService implements OnModuleInit {
  #database: Reader<CityResponse> | undefined

  constructor(@Inject(MASTER_CONFIG) private readonly config: Pick<MasterConfig, 'SERVICE_GEOIP_DATABASE'>) {}

  async onModuleInit(): Promise<void> {
    const file = this.config.SERVICE_GEOIP_DATABASE
    if (file === '') return
    try {
      this.#database = await open<CityResponse>(file)
    } catch (error) {
      throw new ConfigError([`SERVICE_GEOIP_DATABASE: cannot be read as an MMDB database: ${messageOf(error)}`])
    }
  }

  /** `City, Country`, the country alone when the city is unknown, else `unknown`. */
  of(ip: string): string {
    const found = validate(ip) ? this.#database?.get(ip) : undefined
    const names = [found?.city?.names.en, found?.country?.names.en].filter(Boolean)
    return names.length > 0 ? names.join(', ') : UNKNOWN
  }
}
