// What the images contain beside the packages of the system. Paths are relative to the project; images keep them in /app.

/** Programs that the bootstrap prepares, by the variable that names them, with their paths in images. */
export const PROGRAMS = {
  MEDIASOUP_WORKER_BIN: 'app/bin/mediasoup-worker',
  COMPOSITOR_BIN: 'app/bin/compositor',
  CAMERA_BIN: 'app/bin/camera-reader',
  MEDIA_PROCESSOR_BIN: 'app/bin/media-processor',
  VOSK_LIBRARY: 'usr/local/lib/libvosk.so',
  VOSK_MODELS: 'opt/service/speech-to-text/models',
}

/**
 * `app`: the package of the program; `entries`: what its bundles were built from; `files`: files and folders that are
 * copied, `[from, to]` or both in one; `traced`: packages of npm outside of the bundle, of which the reachable files are
 * copied; `whole`: packages that load files by computed names; `programs`: variables of PROGRAMS; `optional`: of these
 * the ones that do not exist for every processor; `slot`: the process of language models.
 */
export const IMAGES = {
  master: {
    app: 'apps/master',
    entries: [
      'apps/master/dist/main.js',
      'libs/client/dist/bundle.js',
      'libs/client/dist/recorder-bundle.js',
      'apps/dashboard/dist/main.js',
    ],
    files: [
      'apps/master/package.json',
      'apps/master/dist/bundle',
      ['libs/client/package.json', 'node_modules/@session-service/client/package.json'],
      ['libs/client/dist/bundle', 'node_modules/@session-service/client/dist/bundle'],
      ['apps/dashboard/package.json', 'node_modules/@session-service/dashboard/package.json'],
      ['apps/dashboard/dist/public', 'node_modules/@session-service/dashboard/dist/public'],
      ...['package.json', 'LICENSE', 'NOTICE', 'swagger-ui.css', 'swagger-ui-bundle.js'].map(
        (file) => `node_modules/swagger-ui-dist/${file}`,
      ),
      'node_modules/swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt',
    ],
    traced: ['pg', 'reflect-metadata'],
  },
  'media-node': {
    app: 'apps/media-node',
    entries: ['apps/media-node/dist/main.js'],
    files: ['apps/media-node/package.json', 'apps/media-node/dist/bundle'],
    traced: ['reflect-metadata'],
    programs: ['MEDIASOUP_WORKER_BIN'],
  },
  'media-node-full': {
    app: 'apps/media-node',
    entries: ['apps/media-node/dist/main.js', 'libs/speech/dist/slot/slot-process.js'],
    files: ['apps/media-node/package.json', 'apps/media-node/dist/bundle', 'libs/speech/package.json'],
    traced: ['reflect-metadata'],
    whole: ['koffi', 'sherpa-onnx-node'],
    programs: Object.keys(PROGRAMS),
    optional: ['VOSK_LIBRARY', 'VOSK_MODELS'],
    slot: 'libs/speech/dist/slot/slot-process.js',
  },
  playground: {
    app: 'apps/playground',
    entries: ['apps/playground/dist/server/main.js', 'apps/playground/dist/page/main.js'],
    files: ['apps/playground/package.json', 'apps/playground/dist/bundle', 'apps/playground/dist/public'],
    traced: [],
  },
}
