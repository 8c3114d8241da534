// The dependency rule of the house. What is imported for its types alone counts too, except where a rule says otherwise.
const OURS = '^(libs|apps|tools|bench)/'
const inLib = (name) => `^libs/${name}/`
const TESTS = String.raw`\.test\.ts$|/fixtures/`

/** `lib` may depend on `allowed` of ours and nothing else. */
const libraryRule = (lib, allowed, comment) => ({
  name: `${lib}-depends-on-${allowed.join('-and-') || 'nothing-of-ours'}`,
  comment,
  severity: 'error',
  from: { path: inLib(lib), pathNot: TESTS },
  to: { path: OURS, pathNot: [lib, ...allowed].map(inLib) },
})

/** Lowest first: a folder never imports a later one, not even its types. */
const CLIENT_LAYERS = ['platform', 'signalling', 'media', 'streams', 'session']
const clientFolder = (name) => `^libs/client/src/${name}/`

/** Lowest first, each exactly this folder: a folder never imports a later one, not even its types. */
const MASTER_LAYERS = [
  'platform/limits',
  'platform/database/migrations',
  'platform/database',
  'platform/config',
  'platform/bus',
  'platform/authentication',
  'platform/http',
  'platform/jobs',
  'platform/http/idempotency',
  'platform',
  'events',
  'events/webhook',
  'events/cdr',
  'events/history',
  'events/search',
  'tokens',
  'media-nodes/driver',
  'media-nodes/drivers/kubernetes',
  'media-nodes/drivers',
  'media-nodes',
  'placement',
  'autoscaling',
  'sessions',
  'connections',
  'network-quality',
  'streams',
  'filters',
  'signals',
  'speech-to-text',
  'recordings/repository',
  'recordings/muxing',
  'recordings/storage',
  'recordings/finalize',
  'recordings/layouts',
  'recordings/lifecycle',
  'recordings/api',
  'participation/location',
  'ip-cameras',
  'recovery',
  'participation',
  'signalling/ice',
  'signalling/sockets',
  'signalling/rpc-handlers',
  'signalling/gateway',
  'monitoring',
  'api/configuration',
  'api/health',
  'api/docs',
  'api/media-nodes',
  'api/sessions',
  'api/dashboard/views',
  'api/dashboard/live',
  'api/dashboard',
  'api/deprecated',
  'app',
]
const masterFolder = (name) => `^apps/master/src/${name}/[^/]+$`

/** Lowest first, each exactly this folder, as above. The files at the top of the media node are above all of them. */
const MEDIA_NODE_LAYERS = [
  'address',
  'node',
  'native-program',
  'workers',
  'routers',
  'tracks',
  'rooms',
  'tap',
  'media-processor',
  'recordings/recorder',
  'recordings/supervision',
  'recordings/jobs',
  'recordings/composed',
  'recordings/deferred',
  'recordings/individual',
  'recordings/custom',
  'recordings',
  'speech-to-text',
  'transcoding',
  'filters',
  'adaptive-bitrate',
  'network-quality',
  'media-statistics',
  'ip-cameras',
  'cluster',
  'monitoring',
  'lifecycle',
  'registration',
  'commands',
  '',
]
const mediaNodeFolder = (name) => `^apps/media-node/src/${name && `${name}/`}[^/]+$`

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Types may name each other; modules that run may not wait for each other.',
      severity: 'error',
      from: { path: OURS },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'resolvable', severity: 'error', from: { path: OURS }, to: { couldNotResolve: true } },
    {
      name: 'declared-packages',
      comment: 'A package is in the package.json of the workspace that imports it.',
      severity: 'error',
      from: { path: '^(libs|apps|bench|tools/launcher)/', pathNot: TESTS },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    libraryRule('contract', [], 'The contract is schemas, without I/O.'),
    libraryRule('config', []),
    libraryRule(
      'local-stack',
      ['contract', 'config'],
      'Starts processes; knows them by their environment, and the bus by its subjects.',
    ),
    libraryRule('messaging', ['contract', 'config', 'server-kit']),
    libraryRule('client', ['contract'], 'Runs in browsers.'),
    ...CLIENT_LAYERS.slice(0, -1).map((layer, at) => ({
      name: `client-${layer}-imports-lower-layers-only`,
      severity: 'error',
      from: { path: clientFolder(layer), pathNot: TESTS },
      to: { path: CLIENT_LAYERS.slice(at + 1).map(clientFolder) },
    })),
    ...MASTER_LAYERS.slice(0, -1).map((layer, at) => ({
      name: `master-${layer.replaceAll('/', '-')}-imports-lower-layers-only`,
      severity: 'error',
      from: { path: masterFolder(layer), pathNot: TESTS },
      to: { path: MASTER_LAYERS.slice(at + 1).map(masterFolder) },
    })),
    ...MEDIA_NODE_LAYERS.slice(0, -1).map((layer, at) => ({
      name: `media-node-${layer.replaceAll('/', '-')}-imports-lower-layers-only`,
      severity: 'error',
      from: { path: mediaNodeFolder(layer), pathNot: TESTS },
      to: { path: MEDIA_NODE_LAYERS.slice(at + 1).map(mediaNodeFolder) },
    })),
    {
      name: 'media-node-folders-have-a-layer',
      comment: 'A new folder of the media node is added to MEDIA_NODE_LAYERS.',
      severity: 'error',
      from: { path: '^apps/media-node/src/', pathNot: [TESTS, ...MEDIA_NODE_LAYERS.map(mediaNodeFolder)] },
      to: {},
    },
    {
      name: 'master-folders-have-a-layer',
      comment: 'A new folder of the master is added to MASTER_LAYERS.',
      severity: 'error',
      from: {
        path: '^apps/master/src/',
        pathNot: [...MASTER_LAYERS.map(masterFolder), '^apps/master/src/(main.ts|system/)', TESTS],
      },
      to: {},
    },
    {
      name: 'dashboard-depends-on-contract',
      comment: 'A page, which uses the types and small constants of the contract, and the style of pages.',
      severity: 'error',
      from: { path: '^apps/dashboard/', pathNot: TESTS },
      to: { path: OURS, pathNot: ['^apps/dashboard/', inLib('contract')] },
    },
    libraryRule('rest-client', ['contract']),
    libraryRule('synthetic-participant', ['contract', 'local-stack']),
    libraryRule('server-kit', ['contract', 'config']),
    libraryRule('speech', ['server-kit'], 'Loaded by a child process for each model.'),
    {
      name: 'speech-without-nest',
      comment:
        'Each language model has a process, which must start quickly: server-kit/async and server-kit/processes.',
      severity: 'error',
      from: { path: inLib('speech'), pathNot: TESTS },
      to: { path: ['^libs/server-kit/src/index.ts$', '(^|/)node_modules/@nestjs/'] },
    },
    {
      name: 'testing-depends-on-libraries',
      severity: 'error',
      from: { path: inLib('testing'), pathNot: TESTS },
      to: { path: OURS, pathNot: '^libs/' },
    },
    {
      name: 'nothing-depends-on-testing',
      comment: 'Only tests, and the benchmarks, which need participants.',
      severity: 'error',
      from: { path: '^(libs|apps|tools)/', pathNot: [TESTS, inLib('testing'), inLib('synthetic-participant')] },
      to: { path: [inLib('testing'), inLib('synthetic-participant')] },
    },
    {
      name: 'libraries-know-no-app',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^(apps|tools|bench)/' },
    },
    {
      name: 'an-app-never-imports-another-app',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'a-feature-keeps-its-entities',
      comment:
        'The repositories that other features may inject are in the exports of their Nest module. An entity names another for a foreign key, and the data source lists all.',
      severity: 'error',
      from: {
        path: '^apps/([^/]+)/src/([^/]+)/',
        pathNot: ['^apps/master/src/app/entities.ts$', String.raw`\.entity\.ts$`, TESTS],
      },
      to: {
        path: String.raw`^apps/$1/src/[^/]+/.*\.entity\.ts$`,
        pathNot: '^apps/$1/src/$2/',
        // The shape of a row may be named; to read or write one, its owner is asked.
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'one-door-to-mediasoup',
      comment: 'Everything else imports its types.',
      severity: 'error',
      from: {
        path: '^(apps|libs|tools)/',
        pathNot: ['^apps/media-node/src/workers/worker-pool', TESTS, inLib('synthetic-participant')],
      },
      to: { path: '(^|/)node_modules/mediasoup/', dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '/dist/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    // The exports of our packages point to what is built; the rule is about where it is written.
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['types', 'import', 'node', 'default'] },
  },
}
