import { type Environment, PROPERTIES, SYSTEM_VARIABLES } from '@session-service/config'

/**
 * Removes the properties from the environment of this process, so that no child process inherits secrets, and returns
 * the complete previous environment. Other variables stay, because libraries read them.
 */
export function takeProperties(env: NodeJS.ProcessEnv): Environment {
  return take(env, (name) => !(name in PROPERTIES))
}

const isSystemVariable = (name: string): boolean => SYSTEM_VARIABLES.some((known) => known === name)

/** As `takeProperties`, but keeps only variables of the system and those for which `isInherited` is true. */
export function takeAllBut(env: NodeJS.ProcessEnv, isInherited: (name: string) => boolean): Environment {
  return take(env, (name) => isSystemVariable(name) || isInherited(name))
}

function take(env: NodeJS.ProcessEnv, isKept: (name: string) => boolean): Environment {
  const all = { ...env }
  for (const name of Object.keys(env)) if (!isKept(name)) delete env[name]
  return all
}
