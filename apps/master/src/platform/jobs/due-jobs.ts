import type { RegisteredJob } from './job-registry.js'

/** A SELECT of the names of the jobs that have work, of those that declare what their work is. */
export function dueJobsSelect(jobs: readonly Pick<RegisteredJob, 'name' | 'due'>[]): string {
  const names = jobs.flatMap(({ name, due }) =>
    due === undefined ? [] : [`SELECT '${name.replaceAll("'", "''")}' AS name WHERE EXISTS (${due})`],
  )
  return names.length > 0 ? names.join('\nUNION ALL ') : 'SELECT NULL AS name WHERE false'
}
