import type { INestApplicationContext } from '@nestjs/common'
import { ModulesContainer } from '@nestjs/core'
import { withTimeout } from '@session-service/server-kit'

const HOOKS = ['onModuleInit', 'onApplicationBootstrap'] as const

/** Gives each bootstrap hook of the application a time-out, ms: a hook that hangs fails the start with its name. */
export function boundHooks(app: INestApplicationContext, ms: number): void {
  const instances = new Set<object>()
  for (const { providers, controllers } of app.get(ModulesContainer).values())
    for (const { instance } of [...providers.values(), ...controllers.values()])
      if (typeof instance === 'object' && instance !== null) instances.add(instance)
  for (const instance of instances) for (const hook of HOOKS) bound(instance as Record<string, unknown>, hook, ms)
}

function bound(instance: Record<string, unknown>, hook: (typeof HOOKS)[number], ms: number): void {
  const own = instance[hook]
  if (typeof own !== 'function') return
  instance[hook] = () =>
    withTimeout(() => own.call(instance) as Promise<void> | void, ms, `${instance.constructor.name}.${hook}`)
}
