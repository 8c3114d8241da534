/** At most this many groups of receivers start between two key frames. */
const LANES = 4

/** The number of layers of a camera's video, as `camera/camera.h` describes them. They are no qualities. */
export const LAYER_COUNT = 2 * LANES + 2
export const LIVE_LAYER = LAYER_COUNT - 1
/** The worker skips no layer below the wanted one, so the lowest lane is used last. */
export const LANE_LAYERS: readonly number[] = Array.from({ length: LANES }, (_, at) => LIVE_LAYER - 2 * (at + 1))
