import type { MasterConfig } from '@session-service/config'
import { DiscoveryService, MetadataScanner } from '@nestjs/core'
import { Job, type JobRun, type JobScope } from './job.js'

export interface RegisteredJob {
  name: string
  scope: JobScope
  everyMs: number
  due?: string
  isSlow?: boolean
  run: (run: JobRun) => Promise<void>
}

type JobMethod = (run: JobRun) => Promise<void> | void

/** The methods of all providers that are decorated with `Job` and that the configuration switches on. */
export function registeredJobs(discovery: DiscoveryService, config: MasterConfig): RegisteredJob[] {
  const scanner = new MetadataScanner()
  return discovery.getProviders().flatMap((wrapper) => {
    const instance = wrapper.instance as Record<string, JobMethod> | null | undefined
    if (!wrapper.metatype || !instance) return []
    return scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object | null).flatMap((method) => {
      const options = discovery.getMetadataByDecorator(Job, wrapper, method)
      if (!options) return []
      const everyMs = typeof options.everyMs === 'function' ? options.everyMs(config) : options.everyMs
      if (everyMs === undefined) return []
      return [{ ...options, everyMs, run: async (run: JobRun) => instance[method]?.(run) }]
    })
  })
}
