import { columns } from '../platform/database/sql.js'
import { StreamEntity } from './stream.entity.js'

/** The select list of a StreamInfo, from a stream row `p`. */
export const STREAM_INFO = `p.id AS "streamId", ${columns(StreamEntity, 'p', ['connectionId', 'createdAt', 'mediaOptions'])}`
