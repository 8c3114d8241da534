import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { ServiceError } from '@session-service/contract'
import { Controller, Get, Inject, StreamableFile } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { PathParam } from '../../platform/http/parsing/parameters.js'
import { CDR_FILE, cdrFiles } from './cdr-file.js'

/** The call records of this master's folder. */
@Controller('service/cdr')
export class CdrController {
  constructor(@Inject(MASTER_CONFIG) private readonly config: MasterConfig) {}

  @Get()
  list(): Promise<string[]> {
    return cdrFiles(this.config.SERVICE_CDR_PATH)
  }

  @Get(':file')
  async read(@PathParam('file') name: string): Promise<StreamableFile> {
    // Only names of the list, so that none leads out of the folder.
    const exists = CDR_FILE.test(name) && (await cdrFiles(this.config.SERVICE_CDR_PATH)).includes(name)
    if (!exists) throw new ServiceError('NOT_FOUND', `no call records with the name ${name.slice(0, 100)}`)
    return new StreamableFile(createReadStream(join(this.config.SERVICE_CDR_PATH, name)), {
      type: 'text/plain; charset=utf-8',
    })
  }
}
