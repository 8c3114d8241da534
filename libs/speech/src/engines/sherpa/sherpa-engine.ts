import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Semaphore } from '@session-service/server-kit/async'
import type { OfflineFiles, SherpaFiles } from '../../models/model-files.js'
import { readModel } from '../../models/model-folder.js'
import type { SpeechEngine, SpeechModel, SpeechStream } from '../engine.js'
import { checkSymbols } from '../symbols.js'
import { warmUp } from '../warm-up.js'
import { OfflineSpeechStream } from './offline-stream.js'
import { OnlineSpeechStream } from './online-stream.js'
import { offlineConfig, onlineConfig, VAD_BUFFER_S, vadConfig } from './sherpa-config.js'
import { openSherpaLibrary, type SherpaLibrary } from './sherpa-library.js'

/**
 * sherpa-onnx: streaming transducers, and Moonshine and Whisper with a voice-activity detector. A damaged model may abort
 * the process.
 */
export class SherpaEngine implements SpeechEngine {
  readonly name = 'sherpa'

  async load(folder: string, language: string): Promise<SpeechModel> {
    const { files } = await readModel(folder, language)
    if (files.engine !== 'sherpa') throw new Error(`the model of ${language} is one of ${files.engine}, not of sherpa`)
    await checkSymbols(join(folder, files.tokens))
    const model = await loadModel(openSherpaLibrary(), folder, files)
    await warmUp(model)
    return model
  }
}

function loadModel(library: SherpaLibrary, folder: string, files: SherpaFiles): Promise<SpeechModel> {
  if (files.kind !== 'transducer') return loadOffline(library, folder, files)
  const recognizer = new library.OnlineRecognizer(onlineConfig(folder, files))
  return Promise.resolve(modelOf(() => new OnlineSpeechStream(recognizer)))
}

async function loadOffline(library: SherpaLibrary, folder: string, files: OfflineFiles): Promise<SpeechModel> {
  const recognizer = await library.OfflineRecognizer.createAsync(offlineConfig(folder, files))
  // More threads than processors only take turns.
  const threads = new Semaphore(availableParallelism())
  const vad = vadConfig(folder, files)
  return modelOf(() => new OfflineSpeechStream(recognizer, new library.Vad(vad, VAD_BUFFER_S), threads))
}

/** The library frees its objects with the garbage collection. */
const modelOf = (openStream: () => SpeechStream): SpeechModel => {
  let open: (() => SpeechStream) | undefined = openStream
  return {
    open: () => (open ? Promise.resolve(open()) : Promise.reject(new Error('the model is closed'))),
    close: () => {
      open = undefined
      return Promise.resolve()
    },
  }
}
