import type { INestApplicationContext } from '@nestjs/common'
import { ModulesContainer } from '@nestjs/core'
import { withDeadline } from '../platform/config/deadline.js'

const HOOKS = ['onModuleInit', 'onApplicationBootstrap'] as const

/** Gives each bootstrap hook of the application a deadline, ms: a hook that hangs fails the start and is named. */
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
    withDeadline(`${instance.constructor.name}.${hook}`, ms, () => own.call(instance) as Promise<void> | void)
}
