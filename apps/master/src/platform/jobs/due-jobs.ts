import type { RegisteredJob } from './job-registry.js'

/** A SELECT of the names of the jobs that have work, or that do not declare what their work is. */
export function dueJobsSelect(jobs: readonly Pick<RegisteredJob, 'name' | 'due'>[]): string {
  const names = jobs.map(({ name, due }) => {
    const select = `SELECT '${name.replaceAll("'", "''")}' AS name`
    return due === undefined ? select : `${select} WHERE EXISTS (${due})`
  })
  return names.length > 0 ? names.join('\nUNION ALL ') : 'SELECT NULL AS name WHERE false'
}
