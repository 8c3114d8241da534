import { isAlive } from '../invariants.js'
import type { Stack } from '../stack/stack.js'

interface Listed {
  content: { id: string }[]
}

/** Active rows without a live owner, which no process would ever end. */
export async function rowsWithoutOwner({ postgres }: Stack): Promise<string[]> {
  const rows = await postgres.query(`
    SELECT 'connection ' || c.id || ' of master ' || coalesce(c.master_id, 'none') AS leftover FROM connection c
      WHERE c.status = 'active' AND c.evict_at IS NULL AND NOT EXISTS (SELECT 1 FROM master m WHERE m.id = c.master_id)
    UNION ALL SELECT 'stream ' || p.id FROM stream p
      WHERE NOT EXISTS (SELECT 1 FROM connection c WHERE c.id = p.connection_id AND c.status = 'active')
    UNION ALL SELECT 'subscription of ' || u.connection_id FROM subscription u
      WHERE NOT EXISTS (SELECT 1 FROM connection c WHERE c.id = u.connection_id AND c.status = 'active')
    UNION ALL SELECT 'session ' || s.id || ' on no node' FROM session s
      WHERE s.media_node_id IS NULL AND EXISTS (SELECT 1 FROM stream p WHERE p.session_id = s.id)`)
  return rows.map(({ leftover }) => String(leftover))
}

/** The differences between the sessions that each master lists and those in the database. */
export async function listedWrongly({ masterUrls, secret, postgres }: Stack): Promise<string[]> {
  const problems: string[] = []
  for (const url of masterUrls) {
    const stored = (await postgres.query('SELECT id FROM session')).map(({ id }) => String(id))
    const authorization = `Basic ${Buffer.from(`SERVICEAPP:${secret}`).toString('base64')}`
    const answer = await fetch(`${url}/service/api/sessions`, { headers: { authorization } })
    if (answer.status !== 200) {
      problems.push(`${url} lists no sessions: ${answer.status}`)
      continue
    }
    const listed = ((await answer.json()) as Listed).content.map(({ id }) => id)
    const [a, b] = [new Set(stored), new Set(listed)]
    problems.push(...[...a].filter((id) => !b.has(id)).map((id) => `${url} does not list ${id}`))
    problems.push(...[...b].filter((id) => !a.has(id)).map((id) => `${url} lists ${id}, which does not exist`))
  }
  return problems
}

/** Running children of processes that have exited. */
export const orphansAmong = (children: ReadonlyMap<number, number>, running: ReadonlySet<number>): number[] =>
  [...children].filter(([pid, parent]) => !running.has(parent) && isAlive(pid)).map(([pid]) => pid)

/** The log lines that contain a secret. */
export function secretsIn(lines: readonly string[], { secret, postgres }: Stack): string[] {
  const password = decodeURIComponent(new URL(postgres.url).password)
  const secrets = [secret, ...(password.length > 5 ? [password] : [])]
  return lines.filter((line) => secrets.some((each) => line.includes(each)) || /\btok_[A-Za-z0-9]/.test(line))
}
