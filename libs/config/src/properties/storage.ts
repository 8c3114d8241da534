import { property, type PropertyType } from '../property.js'
import { boolean, choice, headerLines, text, textMatching, url } from '../types.js'

const storage = <T>(type: PropertyType<T>, value: NoInfer<T>, details: { meaning: string; secret?: boolean }) =>
  property('master', type, { default: value, ...details })

/** Where finished recordings are kept, if not on the masters' disk. */
export const STORAGE = {
  SERVICE_PRO_RECORDING_STORAGE: storage(choice('local', 's3'), 'local', {
    meaning: 'Where finished recordings are kept: in SERVICE_RECORDING_PATH, or in an object storage that speaks S3',
  }),
  SERVICE_PRO_AWS_S3_BUCKET: storage(
    textMatching(
      /^(?:[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/[\w.~-]+)*)?$/,
      'a bucket, perhaps with a folder: `bucket/folder`',
    ),
    '',
    { meaning: 'Bucket of the recordings, perhaps with a folder in it; mandatory when they are kept in S3' },
  ),
  SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT: storage(url('http', 'https'), '', {
    meaning: 'Address of the object storage, if it is not the one of AWS',
  }),
  SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS: storage(boolean, false, {
    meaning: 'Whether the bucket is part of the path rather than of the host name, as most other storages want it',
  }),
  SERVICE_PRO_AWS_S3_HEADERS: storage(headerLines, [], {
    secret: true,
    meaning: 'Headers of every upload, such as `x-amz-storage-class: STANDARD_IA`',
  }),
  SERVICE_PRO_AWS_REGION: storage(text, '', {
    meaning: 'Region of the bucket; otherwise the one of the machine, or `us-east-1`',
  }),
  SERVICE_PRO_AWS_ACCESS_KEY: storage(text, '', {
    secret: true,
    meaning: 'Access key of the object storage; without one the credentials of the machine are used',
  }),
  SERVICE_PRO_AWS_SECRET_KEY: storage(text, '', {
    secret: true,
    meaning: 'Secret of SERVICE_PRO_AWS_ACCESS_KEY; mandatory with it',
  }),
}
