import { detectAccess, missingPackages } from './apt.mjs'
import { cameraPackages } from './cameras.mjs'
import { which } from './exec.mjs'
import { mediaProcessorPackages } from './media-processor.mjs'
import { lacksPostgresUser } from './os-user.mjs'
import { findChromium, findFfmpeg, findFirefox, findTurnServer } from './programs.mjs'
import { compositorPackages } from './recording.mjs'
import { screenPackages } from './screen.mjs'
import { speechPackages } from './speech.mjs'
import { workerBuildPackages } from './worker.mjs'

/**
 * Everything that the bootstrap is going to change as root: `{ access, packages, workerPackages, user }`.
 * `workerPackages` are installed only if no prebuilt mediasoup-worker can be used; `user`: whether the user postgres is
 * created.
 */
export async function rootChanges(context, needs) {
  const { env } = context
  const access = await detectAccess(context)
  const wanted = [
    ...(needs.chromium && !findChromium(env) ? ['chromium'] : []),
    ...(needs.firefox && !findFirefox(env) ? ['firefox-esr'] : []),
    ...(needs.coturn && !findTurnServer(env) ? ['coturn'] : []),
    ...(needs.recording && !findFfmpeg(env) ? ['ffmpeg'] : []),
    ...(needs.recording ? compositorPackages(context) : []),
    ...(needs.cameras ? cameraPackages(context) : []),
    ...(needs.mediaProcessor ? mediaProcessorPackages(context) : []),
    ...(needs.screen ? screenPackages(env, { optional: needs.screen === 'wanted' }) : []),
    ...(needs.speech ? speechPackages(env, needs.speech) : []),
  ]
  const missing = access === 'none' ? [] : await lacking(context, wanted)
  const forWorker = needs.worker && access !== 'none' ? await lacking(context, workerBuildPackages(context)) : []
  return {
    access,
    packages: missing,
    workerPackages: forWorker.filter((name) => !missing.includes(name)),
    user: needs.postgres && (await lacksPostgresUser(context)),
  }
}

const lacking = async (context, packages) =>
  packages.length > 0 && which('dpkg-query', context.env) ? missingPackages(context, [...new Set(packages)]) : []

/** One line for each change, none when nothing is changed. */
export function describeRootChanges({ access, packages, workerPackages, user }) {
  const install = (names) =>
    access === 'ask'
      ? `needs root: sudo apt-get install -y ${names.join(' ')}`
      : `as root: apt-get install ${names.join(' ')}`
  return [
    ...(packages.length > 0 ? [install(packages)] : []),
    ...(workerPackages.length > 0
      ? [`${install(workerPackages)} (only to compile mediasoup-worker where no prebuilt one can be used)`]
      : []),
    ...(user ? ['as root: useradd postgres (a system user that runs the database)'] : []),
  ]
}
