/** Environment variables of the system that a process of the service needs in addition to its properties. */
export const SYSTEM_VARIABLES = [
  'PATH',
  'HOME',
  'TMPDIR',
  'LANG',
  'TZ',
  'MEDIASOUP_WORKER_BIN',
  'CHROMIUM_BIN',
  'COMPOSITOR_BIN',
  'CAMERA_BIN',
  'MEDIA_PROCESSOR_BIN',
  // 1: the threads of V8 take memory from one pool, instead of keeping what they freed, each some MiB.
  'MALLOC_ARENA_MAX',
  'NODE_COMPILE_CACHE',
  'NODE_EXTRA_CA_CERTS',
] as const
