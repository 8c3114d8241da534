import { ServiceError } from '@session-service/contract'

export const NO_COMPOSITOR = 'the media node has no compositor: COMPOSITOR_BIN names none'

/** The path of the compositor. @throws ServiceError DISABLED */
export function requireCompositor(): string {
  const program = process.env.COMPOSITOR_BIN
  if (program) return program
  throw new ServiceError('DISABLED', NO_COMPOSITOR)
}
