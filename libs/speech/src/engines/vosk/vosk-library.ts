import koffi, { type LibraryHandle } from 'koffi'
import { messageOf } from '@session-service/server-kit/async'

/** A pointer of C; null and zero stand for no object. */
export type Handle = bigint | null

/**
 * The functions of libvosk that are needed. All of them run on threads, because synchronous calls block the event loop
 * for up to 700 ms.
 */
export interface VoskLibrary {
  /** 0: also messages of what it reads; -1: none. */
  setLogLevel(level: number): void
  newModel(folder: string): Promise<Handle>
  freeModel(model: Handle): Promise<void>
  newRecognizer(model: Handle, sampleRate: number): Promise<Handle>
  freeRecognizer(recognizer: Handle): Promise<void>
  setWords(recognizer: Handle, on: number): Promise<void>
  /** 1: the utterance has ended, 0: it goes on, -1: failed. */
  accept(recognizer: Handle, samples: Int16Array, length: number): Promise<number>
  result(recognizer: Handle): Promise<string>
  partialResult(recognizer: Handle): Promise<string>
  finalResult(recognizer: Handle): Promise<string>
}

/** @throws Error when the file cannot be loaded */
export function openVoskLibrary(file: string): VoskLibrary {
  const library = load(file)
  return {
    setLogLevel: library.func('void vosk_set_log_level(int level)') as (level: number) => void,
    newModel: threaded(library, 'void *vosk_model_new(const char *folder)'),
    freeModel: threaded(library, 'void vosk_model_free(void *model)'),
    newRecognizer: threaded(library, 'void *vosk_recognizer_new(void *model, float rate)'),
    freeRecognizer: threaded(library, 'void vosk_recognizer_free(void *recognizer)'),
    setWords: threaded(library, 'void vosk_recognizer_set_words(void *recognizer, int on)'),
    accept: threaded(
      library,
      'int vosk_recognizer_accept_waveform_s(void *recognizer, const int16_t *data, int length)',
    ),
    result: threaded(library, 'const char *vosk_recognizer_result(void *recognizer)'),
    partialResult: threaded(library, 'const char *vosk_recognizer_partial_result(void *recognizer)'),
    finalResult: threaded(library, 'const char *vosk_recognizer_final_result(void *recognizer)'),
  }
}

function load(file: string): LibraryHandle {
  try {
    return koffi.load(file)
  } catch (error) {
    throw new Error(`the library of Vosk ${file} cannot be loaded: ${messageOf(error)}`, { cause: error })
  }
}

type Callback<R> = (error: Error | null, result: R) => void

/** The arguments stay referenced until the call has ended: C reads samples in place. */
function threaded<R>(library: LibraryHandle, declaration: string): (...args: unknown[]) => Promise<R> {
  const native = library.func(declaration) as unknown as { async: (...args: [...unknown[], Callback<R>]) => void }
  return (...args) =>
    new Promise<R>((resolve, reject) => {
      native.async(...args, (error, result) => {
        args.length = 0
        if (error) reject(error)
        else resolve(result)
      })
    })
}
