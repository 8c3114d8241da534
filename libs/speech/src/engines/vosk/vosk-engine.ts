import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Semaphore } from '@session-service/server-kit/async'
import { SAMPLE_RATE, type SpeechEngine, type SpeechModel, type SpeechStream } from '../engine.js'
import { checkSymbols } from '../symbols.js'
import { warmUp } from '../warm-up.js'
import { checkGraph } from './fst-size.js'
import { type Handle, openVoskLibrary, type VoskLibrary } from './vosk-library.js'
import { VoskStream } from './vosk-stream.js'

const GRAPHS = ['HCLG.fst', 'HCLr.fst', 'Gr.fst']
const LOG_ALL = 0
const LOG_NOTHING = -1

interface VoskOptions {
  /** The path of libvosk.so. */
  library: string
}

/** Streaming recognition with word times. */
export class VoskEngine implements SpeechEngine {
  readonly name = 'vosk'
  readonly #options: VoskOptions

  constructor(options: VoskOptions) {
    this.#options = options
  }

  async load(folder: string, language: string): Promise<SpeechModel> {
    await checkSymbols(join(folder, 'graph/words.txt'))
    for (const graph of GRAPHS) checkGraph(join(folder, 'graph', graph))
    const library = openVoskLibrary(this.#options.library)
    // The reason of a failure is a message only.
    library.setLogLevel(LOG_ALL)
    const handle = await library.newModel(folder)
    if (!handle) throw new Error(`Vosk cannot read the model of ${language}: files are missing or damaged`)
    library.setLogLevel(LOG_NOTHING)
    const model = new VoskModel(library, handle)
    await warmUp(model)
    return model
  }
}

class VoskModel implements SpeechModel {
  readonly #library: VoskLibrary
  readonly #handle: Handle
  /** More threads than processors only take turns. */
  readonly #threads = new Semaphore(availableParallelism())
  #isClosed = false

  constructor(library: VoskLibrary, handle: Handle) {
    this.#library = library
    this.#handle = handle
  }

  async open(): Promise<SpeechStream> {
    if (this.#isClosed) throw new Error('the model is closed')
    const recognizer = await this.#library.newRecognizer(this.#handle, SAMPLE_RATE)
    if (!recognizer) throw new Error('Vosk cannot create a recognizer')
    await this.#library.setWords(recognizer, 1)
    return new VoskStream(this.#library, recognizer, this.#threads)
  }

  /** Recognizers hold the model themselves until they are freed. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#library.freeModel(this.#handle)
  }
}
