import { property, type PropertyType } from '../property/property.js'
import { baseUrl, boolean, choice, headerLines, text, textMatching } from '../property/types.js'

const storage = <T>(type: PropertyType<T>, value: NoInfer<T>, details: { meaning: string; secret?: boolean }) =>
  property('master', type, { default: value, ...details })

/** Object storage of finished recordings. */
export const STORAGE = {
  SERVICE_PRO_RECORDING_STORAGE: storage(choice('local', 's3'), 'local', {
    meaning: 'Storage of finished recordings: the folder SERVICE_RECORDING_PATH, or an S3-compatible object storage',
  }),
  SERVICE_PRO_AWS_S3_BUCKET: storage(
    textMatching(
      /^(?:[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/[\w.~-]+)*)?$/,
      'a bucket, optionally with a folder: `bucket/folder`',
    ),
    '',
    { meaning: 'Bucket of the recordings, optionally with a folder; mandatory with the storage `s3`' },
  ),
  SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT: storage(baseUrl('http', 'https'), '', {
    meaning: 'URL of the object storage; empty: AWS',
  }),
  SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS: storage(boolean, false, {
    meaning: 'Put the bucket into the path of the URL instead of the host name, as most storages other than AWS need',
  }),
  SERVICE_PRO_AWS_S3_HEADERS: storage(headerLines, [], {
    secret: true,
    meaning: 'Additional headers of uploads, such as `x-amz-storage-class: STANDARD_IA`',
  }),
  SERVICE_PRO_AWS_REGION: storage(text, '', {
    meaning: 'Region of the bucket; empty: the region of the machine, or `us-east-1`',
  }),
  SERVICE_PRO_AWS_ACCESS_KEY: storage(text, '', {
    secret: true,
    meaning: 'Access key of the object storage; empty: the credentials of the machine',
  }),
  SERVICE_PRO_AWS_SECRET_KEY: storage(text, '', {
    secret: true,
    meaning: 'Secret key of SERVICE_PRO_AWS_ACCESS_KEY; mandatory with it',
  }),
}
