import koffi, { type LibraryHandle } from 'koffi'
import { SAMPLE_RATE } from '../engines/engine.js'

const FILE = 'libopus.so.0'
/** 120 ms, the longest packet of Opus. */
const MAX_SAMPLES = 0.12 * SAMPLE_RATE
const RESET_STATE = 4028

type Native = (...args: unknown[]) => number

interface Library {
  create: (rate: number, channels: number, error: Int32Array) => unknown
  decode: Native
  control: Native
  destroy: (state: unknown) => void
}

let loaded: Library | undefined

function load(): LibraryHandle {
  try {
    return koffi.load(FILE)
  } catch (error) {
    throw new Error(`${FILE} cannot be loaded: install the package libopus0`, { cause: error })
  }
}

/** The system's libopus, loaded once. */
function library(): Library {
  if (loaded) return loaded
  const lib = load()
  return (loaded = {
    create: lib.func('void *opus_decoder_create(int32_t rate, int channels, void *error)') as Library['create'],
    decode: lib.func(
      'int opus_decode(void *state, const void *data, int32_t length, void *pcm, int samples, int fec)',
    ) as Native,
    control: lib.func('int opus_decoder_ctl(void *state, int request, ...)') as Native,
    destroy: lib.func('void opus_decoder_destroy(void *state)') as Library['destroy'],
  })
}

/** Decodes the packets of one stream to 16 kHz mono; libopus resamples and mixes the channels. */
export class OpusDecoder {
  #state: unknown
  readonly #library = library()
  readonly #output = new Int16Array(MAX_SAMPLES)

  constructor() {
    const error = new Int32Array(1)
    this.#state = this.#library.create(SAMPLE_RATE, 1, error)
    if (error[0] !== 0 || this.#state == null) throw new Error(`libopus: error ${error[0]} creating a decoder`)
  }

  /** Undefined for a corrupt packet. */
  decode(payload: Uint8Array): Int16Array | undefined {
    return this.#run(payload, MAX_SAMPLES, 0)
  }

  /** Recovers the end of lost audio from the redundancy in the next packet, or conceals it. */
  recover(next: Uint8Array, samples: number): Int16Array | undefined {
    return this.#run(next, samples, 1)
  }

  /** Continues the audio over a loss. */
  conceal(samples: number): Int16Array | undefined {
    return this.#run(null, samples, 0)
  }

  /** The next packet does not follow the last one. */
  reset(): void {
    this.#library.control(this.#state, RESET_STATE)
  }

  /** Cannot be used afterwards. */
  close(): void {
    if (this.#state != null) this.#library.destroy(this.#state)
    this.#state = undefined
  }

  #run(data: Uint8Array | null, samples: number, fec: 0 | 1): Int16Array | undefined {
    if (this.#state == null) throw new Error('the decoder is closed')
    const count = this.#library.decode(this.#state, data, data?.length ?? 0, this.#output, samples, fec)
    return count > 0 ? this.#output.slice(0, count) : undefined
  }
}
