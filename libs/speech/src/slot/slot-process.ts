// The process of a slot: it holds one language model, and ends with the node.
import { AudioReceiver } from '../audio/audio-receiver.js'
import type { AudioSource } from '../engines/audio-source.js'
import { FileSource } from './file-source.js'
import { slotCommand, type SlotEvent, type SourceOptions } from './slot-protocol.js'
import { SlotServer } from './slot-server.js'

/** Nothing has to be saved, and a thread of an engine may be busy: the quickest end is the best. */
const end = (): void => {
  process.kill(process.pid, 'SIGKILL')
}

/** The node is gone when a message cannot be sent. */
const send = (event: SlotEvent): void => {
  process.send?.(event, undefined, undefined, (error) => error && end())
}

const openSource = (options: SourceOptions): AudioSource => {
  if (options.kind === 'file') return new FileSource(options)
  const { kind: _, ...format } = options
  return new AudioReceiver(format)
}

const server = new SlotServer(send, openSource)

process.on('disconnect', end)
process.on('message', (message) => {
  const command = slotCommand.safeParse(message)
  if (!command.success) throw new Error(`unknown command: ${command.error.message}`)
  void server.handle(command.data)
})
if (!process.connected) end()
