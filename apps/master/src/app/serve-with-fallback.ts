import { ConfigError } from '@session-service/config'
import { messageOf, redactText, type ServiceLogger } from '@session-service/server-kit'
import { type Candidate, changedNames, type Rollback } from '../api/configuration/generations.js'

/** Attempts for a configuration that has served before: a slow disk or a busy port is not its fault. */
const ATTEMPTS_ONCE_SERVED = 2
const MAX_REASON = 500

interface FallbackSteps<T> {
  /** Starts the application; closes everything that it opened when it rejects. */
  serve(candidate: Candidate): Promise<T>
  earlier(candidate: Candidate): Promise<Candidate[]>
  mayRollBack(candidate: Candidate): Promise<boolean>
  /** Whether the configuration may have caused the failure, and not the database or the bus. */
  isBlamed(error: unknown): boolean
  logger: Pick<ServiceLogger, 'error' | 'warn'>
}

export interface Served<T> {
  instance: T
  candidate: Candidate
  /** Present when the latest configuration could not be served. */
  rollback: Rollback | undefined
}

/** The changed properties that the failure names; all changed ones when it names none. */
export function propertiesAtFault(error: unknown, changed: readonly string[]): string[] {
  const problems = error instanceof ConfigError ? error.problems : []
  const named = changed.filter((name) => problems.some((problem) => problem.startsWith(`${name}:`)))
  return named.length > 0 ? named : [...changed]
}

function reasonOf(error: unknown): string {
  const text = error instanceof ConfigError ? error.problems.join('; ') : messageOf(error)
  return redactText(text).slice(0, MAX_REASON)
}

/**
 * Serves the latest configuration; where that fails, the last earlier one that this master proves to work.
 * @throws the failure of the latest when none works: the environment is the cause then, not an override
 */
export async function serveWithFallback<T>(latest: Candidate, steps: FallbackSteps<T>): Promise<Served<T>> {
  const first = await attempt(latest, steps)
  if ('instance' in first) return { ...first, candidate: latest, rollback: undefined }
  const { failure } = first
  const earlier = await steps.earlier(latest)
  if (earlier.length === 0 || !(await steps.mayRollBack(latest))) throw failure
  steps.logger.error(
    { err: failure, restart: latest.generation },
    'the configuration of the latest restart cannot be served',
  )
  for (const restored of earlier) {
    try {
      const instance = await steps.serve(restored)
      const properties = propertiesAtFault(failure, changedNames(latest.stored, restored.stored))
      return {
        instance,
        candidate: restored,
        rollback: { failed: latest, restored, properties, reason: reasonOf(failure) },
      }
    } catch (error) {
      steps.logger.warn(
        { err: error, restart: restored.generation },
        'an earlier configuration cannot be served either',
      )
    }
  }
  throw failure
}

async function attempt<T>(
  candidate: Candidate,
  steps: FallbackSteps<T>,
): Promise<{ instance: T } | { failure: unknown }> {
  const attempts = candidate.hasServed ? ATTEMPTS_ONCE_SERVED : 1
  let failure: unknown
  for (let nth = 1; nth <= attempts; nth += 1) {
    try {
      return { instance: await steps.serve(candidate) }
    } catch (error) {
      if (!steps.isBlamed(error)) throw error
      failure = error
    }
  }
  return { failure }
}
