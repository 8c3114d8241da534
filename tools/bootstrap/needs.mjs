export const PURPOSES = ['start', 'test', 'check', 'bench', 'image']

const NOTHING = {
  worker: false,
  nats: false,
  postgres: false,
  chromium: false,
  firefox: false,
  recording: false,
  cameras: false,
  mediaProcessor: false,
  screen: false,
  coturn: false,
  prometheus: false,
  speech: false,
  build: false,
}
const EVERYTHING = {
  worker: true,
  nats: true,
  postgres: true,
  chromium: true,
  firefox: 'wanted',
  recording: 'needed',
  cameras: 'needed',
  mediaProcessor: 'needed',
  screen: 'needed',
  coturn: true,
  prometheus: 'wanted',
  speech: 'wanted',
  build: true,
}

/** The needs of images. Their system packages are those of their own stages. */
const IMAGE = {
  ...NOTHING,
  worker: true,
  recording: 'needed',
  cameras: 'needed',
  mediaProcessor: 'needed',
  speech: 'engine',
  build: true,
}

/**
 * The needs of a purpose beside Node and the npm packages. `start` uses a server that the environment names instead of
 * starting one. Recording, cameras, the media processor, Firefox, Prometheus and speech are 'wanted' where the rest works without them. `named`: the
 * needs of the named benchmarks, and those that options of "start" add: 'speech' is the engine Vosk with its English model.
 */
export function needsOf(purpose, env = {}, named) {
  if (purpose === 'check') return NOTHING
  if (purpose === 'image') return IMAGE
  if (purpose === 'bench' && named) {
    const needs = Object.entries(EVERYTHING).filter(([need]) => named.includes(need))
    return { ...NOTHING, build: true, ...Object.fromEntries(needs) }
  }
  if (purpose !== 'start') return EVERYTHING
  const recording = { true: 'needed', false: false }[env.SERVICE_RECORDING] ?? 'wanted'
  const screen = recording && 'wanted'
  return {
    ...EVERYTHING,
    nats: !env.NATS_URL,
    postgres: !env.DATABASE_URL,
    chromium: false,
    firefox: false,
    recording,
    cameras: 'wanted',
    mediaProcessor: 'wanted',
    screen,
    coturn: false,
    prometheus: false,
    speech: named?.includes('speech') ? 'vosk' : false,
  }
}
