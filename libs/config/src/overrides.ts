import { ConfigError, type Environment, loadMasterConfig } from './load.js'
import { type MasterConfig, PROPERTIES, PROPERTY_NAMES, type PropertyName } from './table.js'
import { path } from './property/types.js'

type PathName = PropertyName & keyof MasterConfig
const PATHS = PROPERTY_NAMES.filter((name): name is PathName => PROPERTIES[name].type === path)

/** Whether the path is the root or below it; both are normalized. */
export const isWithin = (root: string, folder: string): boolean =>
  folder === root || folder.startsWith(root.endsWith('/') ? root : `${root}/`)

/** The folders that may contain an overridden path: the right to restart must not give access to the whole disk. */
const pathRoots = (environment: MasterConfig, name: PathName): string[] =>
  [pathOf(environment, name), ...environment.SERVICE_RESTART_PATHS].filter((root) => root !== '')

function pathOf(config: MasterConfig, name: PathName): string {
  const value = config[name]
  return typeof value === 'string' ? value : ''
}

/** The paths of the configuration that come from an override, each with its allowed roots. */
export const overriddenPaths = (
  env: Environment,
  overrides: Environment,
  config: MasterConfig,
): { name: string; folder: string; roots: string[] }[] => {
  const names = PATHS.filter((name) => overrides[name]?.trim())
  if (names.length === 0) return []
  const environment = loadMasterConfig(env)
  return names.map((name) => ({ name, folder: pathOf(config, name), roots: pathRoots(environment, name) }))
}

/**
 * The configuration from an environment and overrides. @throws ConfigError, also for a path outside of the roots
 * that the environment allows
 */
export function overriddenConfig(env: Environment, overrides: Environment): MasterConfig {
  const config = loadMasterConfig({ ...env, ...overrides })
  const outside = overriddenPaths(env, overrides, config).filter(
    ({ folder, roots }) => !roots.some((root) => isWithin(root, folder)),
  )
  if (outside.length > 0)
    throw new ConfigError(
      outside.map(
        ({ name, folder, roots }) =>
          `${name}: must be at or below ${roots.join(' or ')} (SERVICE_RESTART_PATHS of the environment allows more), not "${folder}"`,
      ),
    )
  return config
}
