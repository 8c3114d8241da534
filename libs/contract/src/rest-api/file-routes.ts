import { z } from 'zod'
import { faults, type Route } from './route.js'

const FILE = '/service/recordings/{recordingId}/{file}'
const NO_FILE = 'No such file of a finished recording'
const Content = z.string().meta({ format: 'binary' })
const kind = (contentType: string) => ({ description: 'The file', schema: Content, contentType })

/** The files at the `url` of a recording: part of the document, but not of the clients of the JSON operations. */
export const FILE_ROUTES = {
  getRecordingFile: {
    method: 'GET',
    path: FILE,
    tag: 'Recordings',
    summary: 'Download a file of a recording',
    answers: {
      200: kind('video/mp4'),
      206: { ...kind('video/mp4'), description: 'The range that the `Range` header names' },
      304: { description: 'Unchanged since the `ETag` or the time that the request names' },
      ...faults({ 404: NO_FILE, 416: 'The range lies outside the file' }),
    },
  },
} as const satisfies Record<string, Route>

export const FILE_TEXTS: Readonly<Record<keyof typeof FILE_ROUTES, string>> = {
  getRecordingFile:
    '`<name>.mp4` or `<name>.webm` of composed recordings, `<name>.zip` of INDIVIDUAL ones, `<id>.jpg` the thumbnail, `<name>.vtt` (with several languages `<name>-<lang>.vtt`) the subtitles of composed recordings of sessions with transcripts. Without credentials where `SERVICE_RECORDING_PUBLIC_ACCESS` is true.',
}
