export const PURPOSES = ['start', 'test', 'check', 'bench']

/**
 * What a purpose needs beside Node and the npm packages.
 * A server that the environment names is used by `start` in place of one of our own. Recording is 'wanted' where the
 * rest is worth starting without it.
 */
export function needsOf(purpose, env = {}) {
  if (purpose === 'check')
    return {
      worker: false,
      nats: false,
      postgres: false,
      chromium: false,
      recording: false,
      screen: false,
      coturn: false,
      build: false,
    }
  const all = {
    worker: true,
    nats: true,
    postgres: true,
    chromium: true,
    recording: 'needed',
    screen: 'needed',
    coturn: true,
    build: true,
  }
  if (purpose !== 'start') return all
  const recording = { true: 'needed', false: false }[env.SERVICE_RECORDING] ?? 'wanted'
  const screen = recording && 'wanted'
  return { ...all, nats: !env.NATS_URL, postgres: !env.DATABASE_URL, chromium: false, recording, screen, coturn: false }
}
