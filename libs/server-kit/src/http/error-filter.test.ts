import 'reflect-metadata'
import { expect, it } from '@jest/globals'
import { ExecutionContextHost } from '@nestjs/core/internal'
import { ServiceError } from '@session-service/contract'
import { lastValueFrom } from 'rxjs'
import { HttpErrorFilter } from './error-filter.js'

it('passes errors of bus handlers on unchanged', async () => {
  const host = new ExecutionContextHost([{}, {}])
  host.setType('rpc')
  const error = new ServiceError('NO_CAPACITY', 'all full')
  const outcome = new HttpErrorFilter().catch(error, host)
  expect(outcome && (await lastValueFrom(outcome).catch((caught: unknown) => caught))).toBe(error)
})
