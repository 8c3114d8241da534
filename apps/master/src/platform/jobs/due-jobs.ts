import { firstRow, type Queryable } from '../database/sql.js'
import type { RegisteredJob } from './job-registry.js'

/** The jobs that have work, or that do not say what their work is. One statement answers for all of them. */
export async function dueJobs(queryable: Queryable, jobs: readonly RegisteredJob[]): Promise<RegisteredJob[]> {
  const questions = jobs.flatMap(({ name, due }) => (due === undefined ? [] : [{ name, due }]))
  if (questions.length === 0) return [...jobs]
  const answers = await firstRow<{ due: string[] }>(
    queryable,
    `SELECT array_remove(ARRAY[${questions.map(({ due }, at) => `CASE WHEN EXISTS (${due}) THEN $${at + 1}::text END`).join(',\n')}], NULL) AS due`,
    questions.map(({ name }) => name),
  )
  const due = new Set(answers?.due)
  return jobs.filter((job) => job.due === undefined || due.has(job.name))
}
