import { type Environment, PROPERTIES, SYSTEM_VARIABLES } from '@session-service/config'

/**
 * Takes the configuration out of the environment of this process, so that no program it starts inherits secrets.
 * Gives all that was there before. What no property is stays, for libraries read it.
 */
export function takeProperties(env: NodeJS.ProcessEnv): Environment {
  return take(env, (name) => !(name in PROPERTIES))
}

const isSystemVariable = (name: string): boolean => SYSTEM_VARIABLES.some((known) => known === name)

/** As `takeProperties`, but leaves only what every program needs of the system, and what `isInherited` names. */
export function takeAllBut(env: NodeJS.ProcessEnv, isInherited: (name: string) => boolean): Environment {
  return take(env, (name) => isSystemVariable(name) || isInherited(name))
}

function take(env: NodeJS.ProcessEnv, isKept: (name: string) => boolean): Environment {
  const all = { ...env }
  for (const name of Object.keys(env)) if (!isKept(name)) delete env[name]
  return all
}
