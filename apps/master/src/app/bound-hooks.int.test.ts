import { Injectable, Module, type OnApplicationBootstrap, type OnModuleInit, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { expect, it } from '@jest/globals'
import { boundHooks } from './bound-hooks.js'

const forever = (): Promise<void> => new Promise(() => undefined)
const done: string[] = []

@Injectable()
class Quick implements OnModuleInit, OnApplicationBootstrap {
  readonly #name = 'quick'
  async onModuleInit(): Promise<void> {
    done.push(`${this.#name} init`)
  }
  onApplicationBootstrap(): void {
    done.push(`${this.#name} bootstrap`)
  }
}

@Injectable()
class HangingInit implements OnModuleInit {
  onModuleInit(): Promise<void> {
    return forever()
  }
}

@Injectable()
class HangingBootstrap implements OnApplicationBootstrap {
  onApplicationBootstrap(): Promise<void> {
    return forever()
  }
}

@Module({ providers: [Quick] })
class Healthy {}
@Module({ providers: [Quick, HangingInit] })
class StuckAtInit {}
@Module({ providers: [Quick, HangingBootstrap] })
class StuckAtBootstrap {}

const start = async (module: Type): Promise<void> => {
  const app = await NestFactory.create(module, new FastifyAdapter(), { logger: false, abortOnError: false })
  boundHooks(app, 100)
  await app.init()
  await app.close()
}

it('a bootstrap hook that hangs fails the start with its name', async () => {
  await expect(start(StuckAtInit)).rejects.toThrow('HangingInit.onModuleInit did not finish within 100 ms')
  await expect(start(StuckAtBootstrap)).rejects.toThrow(
    'HangingBootstrap.onApplicationBootstrap did not finish within 100 ms',
  )
})

it('hooks that finish in time run unchanged', async () => {
  done.length = 0
  await start(Healthy)
  expect(done).toEqual(['quick init', 'quick bootstrap'])
})
