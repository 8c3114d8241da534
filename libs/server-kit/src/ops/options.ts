import { ConfigurableModuleBuilder } from '@nestjs/common'

export interface OpsOptions {
  host: string
  port: number
  /** Each resolves when what it is named after can be used now; it has two seconds. */
  readiness: Readonly<Record<string, () => Promise<void>>>
  /** False for an application that has an HTTP adapter but never listens. */
  http?: boolean
}

export const { ConfigurableModuleClass: OpsModuleBase, MODULE_OPTIONS_TOKEN: OPS_OPTIONS } =
  new ConfigurableModuleBuilder<OpsOptions>()
    .setClassMethodName('forRoot')
    .setExtras({ isGlobal: true }, (definition, { isGlobal }) => ({ ...definition, global: isGlobal }))
    .build()
