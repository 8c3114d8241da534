import type { z } from 'zod'
import { ChildProgram, type ChildExit } from '@session-service/server-kit'
import { parseJson } from '@session-service/config'

/** The event in a line of a native program; undefined for other output. */
export function readEvent<T>(schema: z.ZodType<T>, line: string): T | undefined {
  return schema.safeParse(parseJson(line)).data
}

const STOP_TIMEOUT_MS = 2_500

/** A program of `apps/media-node` in C: commands are lines on its standard input, events are lines of JSON. */
export abstract class NativeProgram<Event> {
  /** Resolves with the reason of its exit; undefined when it was stopped. */
  readonly exited: Promise<string | undefined>
  readonly #child: ChildProgram

  /** @param command the path of the program */
  protected constructor(
    command: string,
    schema: z.ZodType<Event>,
    onEvent: (event: Event) => void,
    args: readonly string[] = [],
  ) {
    const onLine = (line: string): void => {
      const event = readEvent(schema, line)
      if (event !== undefined) onEvent(event)
    }
    this.#child = new ChildProgram({ command, args, onLine })
    this.exited = this.#child.exited.then(({ failure }) => failure)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** The last lines of standard error. */
  get lastLines(): readonly string[] {
    return this.#child.lastLines
  }

  stop(): Promise<ChildExit> {
    return this.#child.stop([{ afterMs: STOP_TIMEOUT_MS, signal: 'SIGKILL' }], 'stop')
  }

  /** Kills a program that hangs. */
  kill(reason: string): void {
    this.#child.kill(reason)
  }

  /** Words are separated by tabs. */
  protected command(...words: readonly (string | number | boolean)[]): void {
    if (words.some((word) => /[\t\n\r\0]/.test(String(word)))) throw new Error('a command has a control character')
    this.#child.write(words.join('\t'))
  }
}
