import { DeprecatedController } from './deprecated.controller.js'
import { DeprecatedRecordingsController } from './deprecated-recordings.controller.js'
import { DeprecatedSessionsController } from './deprecated-sessions.controller.js'

/** The paths of before `/service/api`, there only while SUPPORT_DEPRECATED_API is on. */
export const DEPRECATED_CONTROLLERS = [
  DeprecatedSessionsController,
  DeprecatedRecordingsController,
  DeprecatedController,
] as const
