// The command lines of the programs that build images.

/** In the order of their build: later ones reuse stages of earlier ones. */
export const TARGETS = ['master', 'media-node', 'media-node-full', 'playground']

/** The names of the images by target; the full media node is a variant of one image. */
export const imageNames = (prefix, tag) =>
  Object.fromEntries(
    TARGETS.map((target) => {
      const isFull = target.endsWith('-full')
      return [target, `${prefix}session-service/${isFull ? 'media-node' : target}:${tag}${isFull ? '-full' : ''}`]
    }),
  )

/** Words of `build` that all programs have. */
const common = ({ name, file, context, target, args = {}, labels = {}, ca, platform }) => [
  ...(target ? ['--target', target] : []),
  ...Object.entries(args).flatMap(([key, value]) => (value === undefined ? [] : ['--build-arg', `${key}=${value}`])),
  ...Object.entries(labels).flatMap(([key, value]) =>
    value === undefined ? [] : ['--label', `org.opencontainers.image.${key}=${value}`],
  ),
  ...(ca ? ['--secret', `id=ca,src=${ca}`] : []),
  ...(platform ? ['--platform', platform] : []),
  ...['-t', name, '-f', file, context],
]

const DOCKER = {
  build: (options) => ['build', ...common(options)],
  exists: (name) => ['image', 'inspect', name],
}

const megabytes = (bytes) => `${Math.round(Number(bytes) / 1e6)} MB`

/** chroot needs no container runtime. Where overlay does not work either, as in containers, set STORAGE_DRIVER=vfs. */
const BUILDAH = {
  build: (options) => ['bud', '--isolation', 'chroot', '--layers', ...common(options)],
  exists: (name) => ['inspect', '--type', 'image', name],
}

/**
 * `{ command, env, build(options), exists(name), copyOut(name, from, to, output, options), size(name, output) }`: `build` and
 * `exists` give the words after the command.
 */
export function builderOf(tool, { storage, env }) {
  if (tool === 'docker' || tool === 'podman')
    return {
      command: tool,
      env,
      ...DOCKER,
      copyOut: copyFromContainer(tool),
      size: (name, output) => megabytes(output(tool, ['image', 'inspect', '--format', '{{.Size}}', name])),
    }
  if (tool !== 'buildah') throw new Error(`--tool: ${tool} is none of docker, podman, buildah`)
  const global = storage ? ['--root', `${storage}/images`, '--runroot', `${storage}/run`] : []
  const settings = { BUILDAH_ISOLATION: 'chroot', ...env }
  return {
    command: tool,
    env: settings,
    global,
    // One line for each name of the image.
    size: (name, output) =>
      output(tool, [...global, 'images', '--format', '{{.Size}}', name], { env: settings }).split('\n')[0],
    build: (options) => [...global, ...BUILDAH.build(options)],
    exists: (name) => [...global, ...BUILDAH.exists(name)],
    copyOut: copyFromWorkingContainer(global),
  }
}

const copyFromContainer = (tool) => (name, from, to, output, options) => {
  const container = output(tool, ['create', name], options)
  try {
    output(tool, ['cp', `${container}:${from}`, to], options)
  } finally {
    output(tool, ['rm', container], options)
  }
}

const copyFromWorkingContainer = (global) => (name, from, to, output, options) => {
  const container = output('buildah', [...global, 'from', '--pull-never', name], options)
  try {
    const mounted = output('buildah', [...global, 'mount', container], options)
    output('cp', [`${mounted}${from}`, to], options)
  } finally {
    output('buildah', [...global, 'rm', container], options)
  }
}
