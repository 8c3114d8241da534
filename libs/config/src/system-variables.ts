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
  'NODE_COMPILE_CACHE',
  'NODE_EXTRA_CA_CERTS',
] as const

/**
 * The environment of processes of the service for the C library: the threads of V8 take memory from one pool, because each
 * would keep up to 2 MiB that it freed. The programs that they start do not inherit it.
 */
export const MEMORY_VARIABLES = { MALLOC_ARENA_MAX: '1' } as const
