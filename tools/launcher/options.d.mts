export interface LauncherOptions {
  nodes: number
  /** Port of REST and signalling; undefined: SERVICE_PORT or the default. */
  port: number | undefined
  playground: boolean
  /** The language of captions whose model the bootstrap fetched. */
  speech: string | undefined
  reset: boolean
  help: boolean
  /** Data folder; undefined: .local in the project. */
  data: string | undefined
}

export class OptionError extends Error {
  override readonly name: 'OptionError'
}

export const HELP: string
export function parseOptions(args: readonly string[]): LauncherOptions
