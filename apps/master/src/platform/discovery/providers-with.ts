import type { DiscoverableDecorator } from '@nestjs/core'
import { DiscoveryService } from '@nestjs/core'

/** The instances of all providers whose class has the decorator; complete from `onModuleInit` on. */
export function providersWith<T>(discovery: DiscoveryService, decorator: DiscoverableDecorator<unknown>): T[] {
  return discovery
    .getProviders({ metadataKey: decorator.KEY })
    .flatMap(({ instance }) => (instance ? [instance as T] : []))
}
