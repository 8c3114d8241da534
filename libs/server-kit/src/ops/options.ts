import { ConfigurableModuleBuilder } from '@nestjs/common'

export interface OpsOptions {
  host: string
  port: number
  /** Checks by the name of a dependency. Each resolves when the dependency is usable; a check times out after 2 s. */
  readiness: Readonly<Record<string, () => Promise<void>>>
  /** False for an application with an HTTP adapter that never listens. */
  http?: boolean
}

export const { ConfigurableModuleClass: OpsModuleBase, MODULE_OPTIONS_TOKEN: OPS_OPTIONS } =
  new ConfigurableModuleBuilder<OpsOptions>()
    .setClassMethodName('forRoot')
    .setExtras({ isGlobal: true }, (definition, { isGlobal }) => ({ ...definition, global: isGlobal }))
    .build()
