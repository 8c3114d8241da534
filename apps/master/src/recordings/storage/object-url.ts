import type { MasterConfig } from '@session-service/config'

type Place = Pick<
  MasterConfig,
  | 'SERVICE_PRO_AWS_S3_BUCKET'
  | 'SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT'
  | 'SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS'
  | 'SERVICE_PRO_AWS_REGION'
>

/** Where the bucket is, if nothing else says so. */
export const regionOf = ({ SERVICE_PRO_AWS_REGION: region }: Pick<Place, 'SERVICE_PRO_AWS_REGION'>): string =>
  region || process.env.AWS_REGION || 'us-east-1'

/** The address of an object, for whoever the storage itself lets in. */
export function objectUrl(config: Place, key: string): string {
  const [bucket = ''] = config.SERVICE_PRO_AWS_S3_BUCKET.split('/')
  const endpoint = config.SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT || `https://s3.${regionOf(config)}.amazonaws.com`
  const path = key.split('/').map(encodeURIComponent).join('/')
  if (config.SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS) return `${endpoint}/${bucket}/${path}`
  return `${endpoint.replace('://', `://${bucket}.`)}/${path}`
}
