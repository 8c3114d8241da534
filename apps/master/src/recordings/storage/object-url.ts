import type { MasterConfig } from '@session-service/config'

type BucketConfig = Pick<
  MasterConfig,
  | 'SERVICE_PRO_AWS_S3_BUCKET'
  | 'SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT'
  | 'SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS'
  | 'SERVICE_PRO_AWS_REGION'
>

/** The region of the bucket, with the defaults of AWS tools. */
export const regionOf = ({ SERVICE_PRO_AWS_REGION: region }: Pick<BucketConfig, 'SERVICE_PRO_AWS_REGION'>): string =>
  region || process.env.AWS_REGION || 'us-east-1'

/** The URL of an object. Access is controlled by the storage. */
export function objectUrl(config: BucketConfig, key: string): string {
  const [bucket = ''] = config.SERVICE_PRO_AWS_S3_BUCKET.split('/')
  const endpoint = config.SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT || `https://s3.${regionOf(config)}.amazonaws.com`
  const path = key.split('/').map(encodeURIComponent).join('/')
  if (config.SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS) return `${endpoint}/${bucket}/${path}`
  return `${endpoint.replace('://', `://${bucket}.`)}/${path}`
}
