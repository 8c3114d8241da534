import { Injectable, type OnModuleInit } from '@nestjs/common'
import { DiscoveryService } from '@nestjs/core'
import { providersWith } from '../platform/discovery/providers-with.js'
import type { ChangedRights } from './connection.records.js'

/** The former and the requested role of a participant, which may have changed again since. */
export interface ChangedRole extends Pick<ChangedRights, 'roomId' | 'role'> {
  connectionId: string
  former: Pick<ChangedRights, 'role'>
}

/** Implemented by a feature that notifies participants according to their roles. */
export interface RoleChangeHandler {
  /** Runs after the commit and the notification of the new role. It never rejects. */
  roleChanged(changed: ChangedRole): Promise<void>
}

/** Marks a provider as a RoleChangeHandler. */
export const RoleChangeHook = DiscoveryService.createDecorator()

/** Calls the handlers of all features when the roles of participants change. */
@Injectable()
export class RoleChangeHooks implements OnModuleInit {
  #handlers: readonly RoleChangeHandler[] = []

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    this.#handlers = providersWith(this.discovery, RoleChangeHook)
  }

  async roleChanged(changed: ChangedRole): Promise<void> {
    for (const handler of this.#handlers) await handler.roleChanged(changed)
  }
}
