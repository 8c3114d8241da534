import { run, which } from './exec.mjs'
import { Stop } from './stop.mjs'

const exists = async ({ env, signal }) => (await run('getent', ['passwd', 'postgres'], { env, signal })).code === 0

/** Whether `ensurePostgresUser` would create the user. */
export const lacksPostgresUser = async (context) =>
  context.uid === 0 && context.platform.os === 'linux' && !(await exists(context))

/** Postgres refuses to run as root: under root there must be another user to run it as. */
export async function ensurePostgresUser(context) {
  const { env, uid, platform, report, signal } = context
  if (uid !== 0 || platform.os !== 'linux') return
  await report.step('user postgres', async () => {
    if (await exists(context)) return { ready: true, note: 'for the database' }
    const useradd = which('useradd', env)
    if (!useradd)
      throw new Stop(
        'Postgres does not run as root and there is no useradd here: create a user "postgres" or start as another user.',
      )
    const args = [
      '--system',
      '--user-group',
      '--no-create-home',
      '--home-dir',
      '/nonexistent',
      '--shell',
      '/usr/sbin/nologin',
      'postgres',
    ]
    const { code, output } = await run(useradd, args, { env, signal })
    if (code !== 0 && !(await exists(context)))
      throw new Stop(`the user "postgres", which Postgres needs under root, could not be created: ${output.trim()}`)
    return { note: 'created, for the database' }
  })
}
