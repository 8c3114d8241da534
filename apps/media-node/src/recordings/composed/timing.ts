/** The longest wait for the first bytes of a recording, ms. */
export const START_TIMEOUT_MS = 15_000
/** The interval of attempts to open streams that could not be opened, and to get missing pictures, ms. */
export const RETRY_MS = 1_000
/** The longest wait for the first picture of replaced media, the sound of which is not heard until then. */
export const SUCCESSION_MS = 5_000
