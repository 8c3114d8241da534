import { ServiceError } from '@session-service/contract'

/** Paths of the programs in C; undefined where the environment names none. */
export const mediaProcessor = (): string | undefined => process.env.MEDIA_PROCESSOR_BIN
export const cameraReader = (): string | undefined => process.env.CAMERA_BIN

/** The path of the compositor. @throws ServiceError DISABLED */
export function requireCompositor(): string {
  const program = process.env.COMPOSITOR_BIN
  if (program) return program
  throw new ServiceError('DISABLED', 'the media node has no compositor: COMPOSITOR_BIN names none')
}
